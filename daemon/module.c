/* Modules in folders. */
#include "daemon/module.h"

#include "base/memory.h"
#include "base/table.h"
#include "daemon/install.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#define NAME_MAX_BYTES 64
#define PATH_BYTES 4096

/* The digest of a file as it was when it was looked at last. A change within the clock tick of that look goes unseen here; it does
 * not where the file is opened, so an executor refuses what was compiled with an old digest. */
struct known {
        dev_t device;
        ino_t inode;
        off_t bytes;
        struct timespec modified, changed;
        uint64_t digest;
        char path[];
};

struct pw_modules {
        struct pw_text_list folders;
        struct pw_table known; /* by path */
};

static bool add_folder(struct pw_modules *modules, const char *folder)
{
        uint32_t count = modules->folders.count;

        modules->folders.items[count] = strdup(folder);
        if (!modules->folders.items[count])
                return false;
        modules->folders.count++;
        return true;
}

enum pw_status pw_modules_new(struct pw_daemon *daemon, struct pw_modules **ret_modules, struct pw_error *ret_err)
{
        const struct pw_text_list *given = &daemon->settings.modules;
        struct pw_modules *modules = calloc(1, sizeof *modules);
        char installed[4096];
        bool ok = modules && (modules->folders.items = calloc(given->count + 1, sizeof(char *)));

        for (uint32_t i = 0; ok && i < given->count; i++)
                ok = add_folder(modules, given->items[i]);
        for (uint32_t i = 0; ok && i < given->count; i++)
                if (access(given->items[i], R_OK | X_OK) < 0)
                        pw_log(&daemon->log, PW_LOG_WARNING, "folder of modules cannot be read folder=%s reason=\"%s\"",
                               given->items[i], strerror(errno));
        pw_install_path(PW_INSTALL_MODULES, installed, sizeof installed);
        if (!ok || !add_folder(modules, installed)) {
                pw_modules_free(modules);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the folders of modules");
        }
        *ret_modules = modules;
        return PW_OK;
}

enum pw_status pw_modules_refresh(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_modules *fresh;
        enum pw_status status = pw_modules_new(daemon, &fresh, ret_err);

        if (status != PW_OK)
                return status;
        pw_modules_free(daemon->modules);
        daemon->modules = fresh;
        return PW_OK;
}

void pw_modules_free(struct pw_modules *modules)
{
        struct known *known;

        if (!modules)
                return;
        for (uint32_t i = 0; i < modules->folders.count; i++)
                free(modules->folders.items[i]);
        free(modules->folders.items);
        for (uint32_t i = 0; (known = pw_table_next(&modules->known, &i));)
                free(known);
        pw_table_done(&modules->known);
        free(modules);
}

static enum pw_status digest_of(int fd, const char *path, uint64_t *ret_digest, struct pw_error *ret_err)
{
        struct stat info;
        void *bytes;

        if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size <= 0)
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s: not a file with something in it", path);
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
                return pw_error_errno(ret_err, errno, "map %s", path);
        *ret_digest = XXH3_64bits(bytes, (size_t)info.st_size);
        munmap(bytes, (size_t)info.st_size);
        return PW_OK;
}

static enum pw_status not_found(const struct pw_modules *modules, const char *name, struct pw_error *ret_err)
{
        char folders[300] = "";
        size_t used = 0;

        for (uint32_t i = 0; i < modules->folders.count && used < sizeof folders; i++)
                used += (size_t)snprintf(folders + used, sizeof folders - used, "%s%s", i ? ", " : "", modules->folders.items[i]);
        return pw_error_set(ret_err, PW_NOT_FOUND, "module %s: no %s.so in %s (pathwaysd --modules DIR adds a folder)", name, name,
                            folders);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
        return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_as_known(const struct known *known, const char *path, const struct stat *info)
{
        return known && !strcmp(known->path, path) && known->device == info->st_dev && known->inode == info->st_ino &&
               known->bytes == info->st_size && same_time(&known->modified, &info->st_mtim) &&
                       same_time(&known->changed, &info->st_ctim);
}

/* Without memory for it the file is read again the next time. */
static void remember(struct pw_modules *modules, const char *path, const struct stat *info, uint64_t digest)
{
        struct known *known = malloc(sizeof *known + strlen(path) + 1), *old = pw_table_get(&modules->known, pw_text_key(path));

        if (!known)
                return;
        *known = (struct known){ info->st_dev, info->st_ino, info->st_size, info->st_mtim, info->st_ctim, digest };
        strcpy(known->path, path);
        if (pw_table_put(&modules->known, pw_text_key(path), known))
                free(old);
        else
                free(known);
}

static enum pw_status check_name(const char *name, struct pw_error *ret_err)
{
        size_t length = strlen(name);
        bool plain = length >= 1 && length <= NAME_MAX_BYTES;

        for (const char *c = name; plain && *c; c++)
                plain = isalnum((unsigned char)*c) || *c == '_' || *c == '-';
        if (!plain)
                return pw_error_set(ret_err, PW_INVALID, "module name: 1 to %d letters, digits, _ and -", NAME_MAX_BYTES);
        return PW_OK;
}

/* The file of module `name`, in the first folder that has it. */
static enum pw_status find(const struct pw_modules *modules, const char *name, char path[PATH_BYTES], struct stat *ret_info,
                           struct pw_error *ret_err)
{
        enum pw_status status = check_name(name, ret_err);

        if (status != PW_OK)
                return status;
        for (uint32_t i = 0; i < modules->folders.count; i++) {
                snprintf(path, PATH_BYTES, "%s/%s.so", modules->folders.items[i], name);
                if (!stat(path, ret_info))
                        return PW_OK;
                if (errno != ENOENT)
                        return pw_error_errno(ret_err, errno, "open module %s", path);
        }
        return not_found(modules, name, ret_err);
}

static enum pw_status open_at(const char *path, int *ret_fd, uint64_t *ret_digest, struct pw_error *ret_err)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        enum pw_status status =
                fd < 0 ? pw_error_errno(ret_err, errno, "open module %s", path) : digest_of(fd, path, ret_digest, ret_err);

        if (status == PW_OK)
                *ret_fd = fd;
        else if (fd >= 0)
                close(fd);
        return status;
}

enum pw_status pw_module_open(struct pw_modules *modules, const char *name, int *ret_fd, uint64_t *ret_digest,
                              struct pw_error *ret_err)
{
        char path[PATH_BYTES];
        struct stat info;
        enum pw_status status = find(modules, name, path, &info, ret_err);

        return status == PW_OK ? open_at(path, ret_fd, ret_digest, ret_err) : status;
}

enum pw_status pw_module_digest(struct pw_modules *modules, const char *name, uint64_t *ret_digest, struct pw_error *ret_err)
{
        char path[PATH_BYTES];
        struct stat info;
        const struct known *known;
        pw_auto_close int fd = -1;
        enum pw_status status = find(modules, name, path, &info, ret_err);

        if (status != PW_OK)
                return status;
        known = pw_table_get(&modules->known, pw_text_key(path));
        if (is_as_known(known, path, &info)) {
                *ret_digest = known->digest;
                return PW_OK;
        }
        status = open_at(path, &fd, ret_digest, ret_err);
        if (status == PW_OK)
                remember(modules, path, &info, *ret_digest);
        return status;
}

void pw_module_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ModuleRequest *request)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Module body = PATHWAYS__WIRE__MODULE__INIT;
        struct pw_error err;
        uint64_t digest;
        pw_auto_close int fd = -1;
        enum pw_status status = pw_module_open(session->daemon->modules, request->module, &fd, &digest, &err);

        if (status != PW_OK) {
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        body.module = request->module;
        body.digest = digest;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_MODULE;
        reply.module = &body;
        pw_session_reply(session, id, &reply, &fd, 1);
}

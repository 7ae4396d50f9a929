/* Modules in folders. */
#include "daemon/module.h"

#include "base/memory.h"
#include "daemon/install.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#define NAME_MAX_BYTES 64

struct pw_modules {
        struct pw_text_list folders;
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
                        pw_log(&daemon->log, PW_LOG_WARNING, "folder of modules cannot be read folder=%s reason=\"%s\"", given->items[i], strerror(errno));
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
        if (!modules)
                return;
        for (uint32_t i = 0; i < modules->folders.count; i++)
                free(modules->folders.items[i]);
        free(modules->folders.items);
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
        return pw_error_set(ret_err, PW_NOT_FOUND, "module %s: no %s.so in %s (pathwaysd --modules DIR adds a folder)", name, name, folders);
}

enum pw_status pw_module_open(struct pw_modules *modules, const char *name, int *ret_fd, uint64_t *ret_digest, struct pw_error *ret_err)
{
        size_t length = strlen(name);
        bool plain = length >= 1 && length <= NAME_MAX_BYTES;

        for (const char *c = name; plain && *c; c++)
                plain = isalnum((unsigned char)*c) || *c == '_' || *c == '-';
        if (!plain)
                return pw_error_set(ret_err, PW_INVALID, "module name: 1 to %d letters, digits, _ and -", NAME_MAX_BYTES);
        for (uint32_t i = 0; i < modules->folders.count; i++) {
                char path[4096];
                enum pw_status status;
                int fd;

                snprintf(path, sizeof path, "%s/%s.so", modules->folders.items[i], name);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0 && errno == ENOENT)
                        continue;
                if (fd < 0)
                        return pw_error_errno(ret_err, errno, "open module %s", path);
                status = digest_of(fd, path, ret_digest, ret_err);
                if (status != PW_OK)
                        close(fd);
                else
                        *ret_fd = fd;
                return status;
        }
        return not_found(modules, name, ret_err);
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

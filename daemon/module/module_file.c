/* Finding, opening and copying files of modules. */
#include "daemon/module/module_file.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <xxhash.h>

#define NAME_MAX_BYTES 64
#define PATH_BYTES 4096
#define CHUNK_BYTES (256 * 1024)
#define SETTLED_S 2  /* longer than a tick of any clock that file systems take their times from */
#define TRIES 3

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

static enum pw_status not_found(const struct pw_module_query *query, struct pw_error *ret_err)
{
        char folders[300] = "";
        size_t used = 0;

        for (uint32_t i = 0; i < query->folders->count && used < sizeof folders; i++)
                used += (size_t)snprintf(folders + used, sizeof folders - used, "%s%s", i ? ", " : "", query->folders->items[i]);
        return pw_error_set(ret_err, PW_NOT_FOUND, "module %s: no %s.so in %s (pathwaysd --modules DIR adds a folder)", query->name,
                            query->name, folders);
}

/* --- opening ------------------------------------------------------------------------------------------------------------- */

/* The rights of this thread alone: capabilities on files go with the user and come back with it. */
static void take_rights(uid_t uid, gid_t gid)
{
        setfsgid(gid);
        setfsuid(uid);
}

static int open_beneath(const char *folder, const char *file)
{
        struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, /* nor does a FIFO make it wait */
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
        pw_auto_close int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        long fd = dir < 0 ? -1 : syscall(SYS_openat2, dir, file, &how, sizeof how);

        return (int)fd;
}

/* Nobody but root and the daemon's user can have put something there. */
static bool is_ours(const char *folder)
{
        struct stat info;

        return stat(folder, &info) == 0 && (info.st_uid == 0 || info.st_uid == geteuid()) && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* -1: see errno. */
static int open_in(const struct pw_module_query *query, const char *folder, bool *ret_changed)
{
        char file[NAME_MAX_BYTES + 4];
        bool change = query->change_user && !is_ours(folder);
        int fd, number;

        snprintf(file, sizeof file, "%s.so", query->name);
        if (change)
                take_rights(query->uid, query->gid);
        fd = open_beneath(folder, file);
        number = errno;
        if (change)
                take_rights(geteuid(), getegid());
        errno = number;
        *ret_changed = change;
        return fd;
}

static enum pw_status not_opened(int number, const char *path, bool changed, struct pw_error *ret_err)
{
        if (number == EXDEV || number == ELOOP)
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s: a link that leads out of its folder", path);
        if (number == EACCES && changed)
                return pw_error_set(ret_err, PW_BAD_MODULE,
                                    "module %s: may not be read by --executor-user, whose rights count in a folder that others "
                                    "may write", path);
        return pw_error_errno(ret_err, number, "open module %s", path);
}

static enum pw_status find(const struct pw_module_query *query, char path[PATH_BYTES], int *ret_fd, struct pw_error *ret_err)
{
        bool changed;

        for (uint32_t i = 0; i < query->folders->count; i++) {
                snprintf(path, PATH_BYTES, "%s/%s.so", query->folders->items[i], query->name);
                *ret_fd = open_in(query, query->folders->items[i], &changed);
                if (*ret_fd >= 0)
                        return PW_OK;
                if (errno != ENOENT)
                        return not_opened(errno, path, changed, ret_err);
        }
        return not_found(query, ret_err);
}

/* --- its mark ------------------------------------------------------------------------------------------------------------- */

static enum pw_status stat_file(int fd, const char *path, struct pw_module_mark *ret_mark, struct pw_error *ret_err)
{
        struct timespec now;
        struct stat info;
        char has[16], most[16];

        clock_gettime(CLOCK_REALTIME, &now);
        if (fstat(fd, &info) < 0)
                return pw_error_errno(ret_err, errno, "look at module %s", path);
        if (!S_ISREG(info.st_mode) || info.st_size <= 0)
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s: not a file with something in it", path);
        if ((uint64_t)info.st_size > PW_MODULE_BYTES_MAX)
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s: has %s, and a module at most %s", path,
                                    pw_size_format((uint64_t)info.st_size, has), pw_size_format(PW_MODULE_BYTES_MAX, most));
        *ret_mark = (struct pw_module_mark){ .device = info.st_dev, .inode = info.st_ino, .bytes = info.st_size,
                                             .modified = info.st_mtim, .changed = info.st_ctim,
                                             .settled = info.st_ctim.tv_sec + SETTLED_S < now.tv_sec };
        return PW_OK;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
        return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same(const struct pw_module_mark *a, const struct pw_module_mark *b)
{
        return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes && same_time(&a->modified, &b->modified) &&
               same_time(&a->changed, &b->changed);
}

/* --- copying ------------------------------------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *bytes, size_t count)
{
        while (count) {
                ssize_t wrote = write(fd, bytes, count);

                if (wrote <= 0)
                        return false;
                bytes += wrote;
                count -= (size_t)wrote;
        }
        return true;
}

/* At most as much as a module may have, however long the file has become. False: see errno. */
static bool copy_all(int from, int to, XXH3_state_t *state, uint64_t *ret_bytes)
{
        pw_auto_free char *chunk = malloc(CHUNK_BYTES);
        ssize_t got = 0;

        *ret_bytes = 0;
        while (chunk && *ret_bytes <= PW_MODULE_BYTES_MAX && (got = read(from, chunk, CHUNK_BYTES)) > 0) {
                *ret_bytes += (uint64_t)got;
                XXH3_64bits_update(state, chunk, (size_t)got);
                if (!write_all(to, chunk, (size_t)got))
                        return false;
        }
        return chunk && got >= 0;
}

/* The longest name of a memfd, without what memfd_create() puts before it. */
#define COPY_NAME_BYTES 249u

/* Called as the file, which errors of the loader name; by its last part where the system has no room for more. */
static const char *copy_name(const char *path) { return strlen(path) <= COPY_NAME_BYTES ? path : strrchr(path, '/') + 1; }

static enum pw_status copy(int fd, const char *path, struct pw_module_file *file, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        pw_auto_close int memfd = memfd_create(copy_name(path), MFD_CLOEXEC | MFD_ALLOW_SEALING);
        XXH3_state_t *state = XXH3_createState();
        bool copied = memfd >= 0 && state && XXH3_64bits_reset(state) == XXH_OK && copy_all(fd, memfd, state, ret_bytes);
        int number = state ? errno : ENOMEM;

        file->mark.digest = copied ? XXH3_64bits_digest(state) : 0;
        XXH3_freeState(state);
        if (!copied)
                return pw_error_errno(ret_err, number, "copy module %s", path);
        if (fchmod(memfd, 0444) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
                return pw_error_errno(ret_err, errno, "seal the copy of module %s", path);
        file->fd = memfd;
        memfd = -1;
        return PW_OK;
}

/* PW_NOT_READY: it changed meanwhile. */
static enum pw_status read_once(const struct pw_module_query *query, struct pw_module_file *file, struct pw_error *ret_err)
{
        char path[PATH_BYTES];
        pw_auto_close int fd = -1;
        struct pw_module_mark after;
        uint64_t bytes = 0;
        enum pw_status status = find(query, path, &fd, ret_err);

        if (status == PW_OK)
                status = stat_file(fd, path, &file->mark, ret_err);
        if (status != PW_OK)
                return status;
        if (query->known.settled && is_same(&query->known, &file->mark)) {
                file->mark = query->known;
                return PW_OK;
        }
        status = copy(fd, path, file, &bytes, ret_err);
        if (status == PW_OK)
                status = stat_file(fd, path, &after, ret_err);
        if (status == PW_OK && (!is_same(&file->mark, &after) || bytes != (uint64_t)after.bytes))
                status = pw_error_set(ret_err, PW_NOT_READY, "module %s: is being written", path);
        if (status != PW_OK && file->fd >= 0) {
                close(file->fd);
                file->fd = -1;
        }
        return status;
}

enum pw_status pw_module_file_read(const struct pw_module_query *query, struct pw_module_file *ret_file, struct pw_error *ret_err)
{
        struct pw_module_file file = { .fd = -1 };
        struct pw_error err;
        enum pw_status status = check_name(query->name, &err);

        if (status == PW_OK)
                status = PW_NOT_READY;
        for (int i = 0; i < TRIES && status == PW_NOT_READY; i++)
                status = read_once(query, &file, &err);
        if (status == PW_OK)
                *ret_file = file;
        else
                status = pw_error_set(ret_err, status == PW_NOT_READY ? PW_BAD_MODULE : status, "%s", err.text);
        return status;
}

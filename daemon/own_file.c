/* Files of the daemon's own. */
#include "daemon/own_file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static enum pw_status check_folder(int fd, const char *folder, struct pw_error *ret_err)
{
        struct stat stat;

        if (fstat(fd, &stat) < 0)
                return pw_error_errno(ret_err, errno, "look at %s", folder);
        if (stat.st_uid != 0 && stat.st_uid != geteuid())
                return pw_error_set(ret_err, PW_DENIED,
                                    "%s: belongs to user %u, who could put links there; choose a folder of user %u", folder,
                                    (unsigned)stat.st_uid, (unsigned)geteuid());
        if (stat.st_mode & S_IWOTH && !(stat.st_mode & S_ISVTX))
                return pw_error_set(ret_err, PW_DENIED,
                                    "%s: everybody may write to it; `chmod o-w` it, or choose another folder", folder);
        return PW_OK;
}

static enum pw_status check_file(int fd, const char *folder, const char *name, struct pw_error *ret_err)
{
        struct stat stat;

        if (fstat(fd, &stat) < 0)
                return pw_error_errno(ret_err, errno, "look at %s/%s", folder, name);
        if (!S_ISREG(stat.st_mode) || stat.st_nlink > 1)
                return pw_error_set(ret_err, PW_DENIED, "%s/%s: %s; remove it", folder, name,
                                    S_ISREG(stat.st_mode) ? "is linked to from elsewhere, too" : "is no regular file");
        if (stat.st_uid != geteuid())
                return pw_error_set(ret_err, PW_DENIED, "%s/%s: belongs to user %u; remove it", folder, name,
                                    (unsigned)stat.st_uid);
        if ((stat.st_mode & 07777) != 0600 && fchmod(fd, 0600) < 0)
                return pw_error_errno(ret_err, errno, "chmod %s/%s", folder, name);
        return PW_OK;
}

enum pw_status pw_own_file(const char *folder, const char *name, int *ret_fd, struct pw_error *ret_err)
{
        pw_auto_close int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
        enum pw_status status;

        if (at < 0)
                return pw_error_errno(ret_err, errno, "open %s", folder);
        status = check_folder(at, folder, ret_err);
        if (status != PW_OK)
                return status;
        fd = openat(at, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
        if (fd < 0 && errno == ELOOP)
                return pw_error_set(ret_err, PW_DENIED, "%s/%s: is a link, which is not followed; remove it", folder, name);
        if (fd < 0)
                return pw_error_errno(ret_err, errno, "open %s/%s", folder, name);
        status = check_file(fd, folder, name, ret_err);
        if (status == PW_OK) {
                *ret_fd = fd;
                fd = -1;
        }
        return status;
}

enum pw_status pw_old_socket_remove(const char *path, struct pw_error *ret_err)
{
        struct stat stat;

        if (lstat(path, &stat) < 0)
                return errno == ENOENT ? PW_OK : pw_error_errno(ret_err, errno, "look at %s", path);
        if (!S_ISSOCK(stat.st_mode))
                return pw_error_set(ret_err, PW_EXISTS, "%s: is there, and no socket; remove it, or choose another path", path);
        return unlink(path) == 0 || errno == ENOENT ? PW_OK : pw_error_errno(ret_err, errno, "remove %s", path);
}

enum pw_status pw_own_folder(const char *path, struct pw_error *ret_err)
{
        pw_auto_free char *copy = strdup(path);

        if (!copy)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for %s", path);
        for (char *at = copy + 1; *at; at++) {
                if (*at != '/')
                        continue;
                *at = 0;
                if (mkdir(copy, 0755) < 0 && errno != EEXIST)
                        return pw_error_errno(ret_err, errno, "mkdir %s", copy);
                *at = '/';
        }
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
                return pw_error_errno(ret_err, errno, "mkdir %s", copy);
        return PW_OK;
}

/* Nothing more than to reach what lies in it. */
static enum pw_status let_pass(int fd, const char *folder, gid_t gid, struct pw_error *ret_err)
{
        struct stat stat;
        bool is_theirs;

        if (fstat(fd, &stat) < 0)
                return pw_error_errno(ret_err, errno, "look at %s", folder);
        is_theirs = stat.st_gid == gid;
        if (!is_theirs && stat.st_mode & S_IXOTH)
                return PW_OK;
        if (!is_theirs && !(stat.st_mode & S_IRWXG)) {
                if (fchown(fd, (uid_t)-1, gid) < 0)
                        return pw_error_errno(ret_err, errno, "chgrp %s", folder);
                is_theirs = true;
        }
        if (fchmod(fd, (stat.st_mode & 07777) | (is_theirs ? S_IXGRP : S_IXOTH)) < 0)
                return pw_error_errno(ret_err, errno, "chmod %s", folder);
        return PW_OK;
}

/* What is root's, as the daemon is, was made for another user of executors, or by a daemon that ended before it was given away. */
static enum pw_status give(int fd, const char *path, uid_t uid, gid_t gid, struct pw_error *ret_err)
{
        struct stat stat;

        if (fstat(fd, &stat) < 0)
                return pw_error_errno(ret_err, errno, "look at %s", path);
        if (stat.st_uid != uid && stat.st_uid != geteuid())
                return pw_error_set(ret_err, PW_DENIED, "%s: belongs to user %u; remove it", path, (unsigned)stat.st_uid);
        if (stat.st_uid != uid && fchown(fd, uid, gid) < 0)
                return pw_error_errno(ret_err, errno, "chown %s", path);
        if ((stat.st_mode & 07777) != 0700 && fchmod(fd, 0700) < 0)
                return pw_error_errno(ret_err, errno, "chmod %s", path);
        return PW_OK;
}

enum pw_status pw_own_folder_for(const char *folder, const char *name, uid_t uid, gid_t gid, struct pw_error *ret_err)
{
        pw_auto_close int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
        pw_auto_free char *path = NULL;
        enum pw_status status;

        if (asprintf(&path, "%s/%s", folder, name) < 0)
                path = NULL;
        if (!path)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for %s/%s", folder, name);
        if (at < 0)
                return pw_error_errno(ret_err, errno, "open %s", folder);
        status = check_folder(at, folder, ret_err);
        if (status == PW_OK && mkdirat(at, name, 0700) < 0 && errno != EEXIST)
                status = pw_error_errno(ret_err, errno, "mkdir %s", path);
        if (status != PW_OK)
                return status;
        fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
                return pw_error_set(ret_err, PW_DENIED, "%s: is a link or a file, and no folder; remove it", path);
        if (fd < 0)
                return pw_error_errno(ret_err, errno, "open %s", path);
        status = give(fd, path, uid, gid, ret_err);
        return status == PW_OK && uid != geteuid() ? let_pass(at, folder, gid, ret_err) : status;
}

/* Secrets out of files. */
#include "daemon/transport/proof/secret.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>

static enum pw_status check(int fd, const char *option, const char *path, struct pw_error *ret_err)
{
        struct stat stat;

        if (fstat(fd, &stat) < 0)
                return pw_error_errno(ret_err, errno, "look at %s", path);
        if (!S_ISREG(stat.st_mode))
                return pw_error_set(ret_err, PW_BAD_CONFIG, "%s %.200s: is no regular file", option, path);
        if (stat.st_uid != 0 && stat.st_uid != geteuid())
                return pw_error_set(ret_err, PW_DENIED, "%s %.200s: belongs to user %u; `chown` it to user %u", option, path,
                                    (unsigned)stat.st_uid, (unsigned)geteuid());
        if (stat.st_mode & 077)
                return pw_error_set(ret_err, PW_DENIED, "%s %.200s: has mode %04o, so others may use it too; `chmod 600` it, and "
                                    "choose a new secret if they may have read it", option, path, (unsigned)stat.st_mode & 07777);
        return PW_OK;
}

static enum pw_status read_all(int fd, const char *option, const char *path, struct pw_secret *secret, struct pw_error *ret_err)
{
        ssize_t bytes = 1;

        secret->bytes = malloc(PW_SECRET_MAX + 1);
        if (!secret->bytes)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for %s", path);
        while (bytes > 0 && secret->count <= PW_SECRET_MAX) {
                bytes = TEMP_FAILURE_RETRY(read(fd, secret->bytes + secret->count, PW_SECRET_MAX + 1 - secret->count));
                if (bytes < 0)
                        return pw_error_errno(ret_err, errno, "read %s", path);
                secret->count += (uint32_t)bytes;
        }
        if (!secret->count || secret->count > PW_SECRET_MAX)
                return pw_error_set(ret_err, PW_BAD_CONFIG, "%s %.200s: %s", option, path,
                                    secret->count ? "is longer than 64 KiB" : "is empty; `head -c 32 /dev/urandom` makes a secret");
        return PW_OK;
}

enum pw_status pw_secret_read(const char *option, const char *path, struct pw_secret *ret_secret, struct pw_error *ret_err)
{
        struct pw_secret secret = { .count = 0 };
        pw_auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        enum pw_status status;

        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
                return pw_error_set(ret_err, PW_BAD_CONFIG, "%s %.200s: there is no such file", option, path);
        if (fd < 0)
                return pw_error_errno(ret_err, errno, "open %s", path);
        status = check(fd, option, path, ret_err);
        if (status == PW_OK)
                status = read_all(fd, option, path, &secret, ret_err);
        if (status == PW_OK)
                *ret_secret = secret;
        else
                pw_secret_done(&secret);
        return status;
}

void pw_secret_done(struct pw_secret *secret)
{
        if (secret->bytes)
                OPENSSL_cleanse(secret->bytes, PW_SECRET_MAX + 1);
        free(secret->bytes);
        *secret = (struct pw_secret){ .count = 0 };
}

/* What metadata is told of this host. */
#include "daemon/meta/own.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

/* --- the password ------------------------------------------------------------------------------------------------------------- */

static enum pw_status check_file(int fd, const char *path, struct pw_error *ret_err)
{
        struct stat stat;

        if (fstat(fd, &stat) < 0)
                return pw_error_errno(ret_err, errno, "--redis-password-file %s", path);
        if (!S_ISREG(stat.st_mode))
                return pw_error_set(ret_err, PW_INVALID, "--redis-password-file %s: it is no file", path);
        if (stat.st_mode & (S_IRWXG | S_IRWXO))
                return pw_error_set(ret_err, PW_DENIED,
                                    "--redis-password-file %s: others may read it, its mode is %04o; chmod 600 it", path,
                                    (unsigned)stat.st_mode & 07777u);
        return PW_OK;
}

/* Its first line. */
static enum pw_status read_password(const char *path, char ret_password[PW_OWN_PASSWORD_BYTES], struct pw_error *ret_err)
{
        pw_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        enum pw_status status;
        ssize_t bytes;

        if (fd < 0)
                return pw_error_errno(ret_err, errno, "--redis-password-file %s", path);
        status = check_file(fd, path, ret_err);
        if (status != PW_OK)
                return status;
        bytes = TEMP_FAILURE_RETRY(read(fd, ret_password, PW_OWN_PASSWORD_BYTES - 1));
        if (bytes < 0)
                return pw_error_errno(ret_err, errno, "--redis-password-file %s", path);
        ret_password[bytes] = 0;
        if (bytes == PW_OWN_PASSWORD_BYTES - 1 && !strchr(ret_password, '\n'))
                ret_password[0] = 0;
        ret_password[strcspn(ret_password, "\r\n")] = 0;
        if (*ret_password)
                return PW_OK;
        return pw_error_set(ret_err, PW_INVALID, "--redis-password-file %s: its first line has not 1 to %u bytes", path,
                            PW_OWN_PASSWORD_BYTES - 2);
}

/* --- names -------------------------------------------------------------------------------------------------------------------- */

/* What a state dir is kept under; "unknown" where the machine has no id, as in some containers: a copy is then not noticed here,
 * but by the other hosts. */
static void read_machine(char ret_machine[PW_HOST_NAME_MAX + 1])
{
        FILE *file = fopen("/etc/machine-id", "re");
        char text[PW_HOST_NAME_MAX + 1] = "";

        if (file) {
                if (fscanf(file, "%64s", text) != 1)
                        *text = 0;
                fclose(file);
        }
        for (const char *c = text; *c; c++)
                if (!isalnum((unsigned char)*c))
                        *text = 0;
        snprintf(ret_machine, PW_HOST_NAME_MAX + 1, "%s", *text ? text : "unknown");
}

enum pw_status pw_own_host_name(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        char *name = daemon->carried.host_name;

        if (daemon->settings.host_name)
                snprintf(name, PW_HOST_NAME_MAX + 1, "%s", daemon->settings.host_name);
        else if (gethostname(name, PW_HOST_NAME_MAX + 1) < 0)
                return pw_error_errno(ret_err, errno, "the machine's name; give one by --host-name");
        name[PW_HOST_NAME_MAX] = 0;
        return PW_OK;
}

/* Divided by commas; "-": none. */
static enum pw_status join_addresses(const struct pw_text_list *addresses, char ret_text[PW_HOST_ADDRESS_MAX + 1],
                                     struct pw_error *ret_err)
{
        size_t at = 0;

        snprintf(ret_text, PW_HOST_ADDRESS_MAX + 1, "-");
        for (uint32_t i = 0; addresses && i < addresses->count; i++) {
                at += (size_t)snprintf(ret_text + at, PW_HOST_ADDRESS_MAX + 1 - at, "%s%s", i ? "," : "", addresses->items[i]);
                if (at > PW_HOST_ADDRESS_MAX)
                        return pw_error_set(ret_err, PW_INVALID, "addresses of this host: %u bytes at most, all together",
                                            PW_HOST_ADDRESS_MAX);
        }
        return PW_OK;
}

enum pw_status pw_own_cluster_read(struct pw_daemon *daemon, const struct pw_text_list *addresses, struct pw_own_cluster *ret_own,
                                   struct pw_error *ret_err)
{
        const struct pw_settings *settings = &daemon->settings;
        struct pw_carried *carried = &daemon->carried;
        enum pw_status status;

        memset(ret_own, 0, sizeof *ret_own);
        if (!strcmp(settings->metadata, "embedded"))
                return PW_OK;
        if (getrandom(&carried->instance, sizeof carried->instance, 0) != sizeof carried->instance)
                return pw_error_errno(ret_err, errno, "getrandom");
        carried->cluster = settings->cluster;
        read_machine(carried->machine);
        status = join_addresses(addresses, ret_own->addresses, ret_err);
        if (status == PW_OK && settings->redis_password_file)
                status = read_password(settings->redis_password_file, ret_own->password, ret_err);
        ret_own->cluster = (struct pw_meta_cluster){
                .loop = daemon->loop.base, .address = settings->metadata, .user = settings->redis_user,
                .password = settings->redis_password_file ? ret_own->password : NULL, .plaintext = settings->redis_plaintext,
                .name = settings->cluster, .host_name = carried->host_name, .machine = carried->machine,
                .own_address = ret_own->addresses, .instance = carried->instance, .lease_us = settings->lease_us,
                .new_cluster = settings->new_cluster,
        };
        return status;
}

void pw_own_cluster_done(struct pw_own_cluster *own)
{
        explicit_bzero(own, sizeof *own);
}

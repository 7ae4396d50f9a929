/* Operators: by user, or by group. */
#include "daemon/settings/operators.h"

#include "base/memory.h"

#include <errno.h>
#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENTRY_BYTES_MAX (16u << 20) /* of a group with all its members */

enum pw_status pw_operators_find(const char *name, int64_t *ret_operators, struct pw_error *ret_err)
{
        struct group entry, *group = NULL;
        pw_auto_free char *buffer = NULL;
        int number = ERANGE;

        for (size_t bytes = 4096; name && number == ERANGE && bytes <= ENTRY_BYTES_MAX; bytes *= 4) {
                char *grown = realloc(buffer, bytes);

                if (!grown)
                        return pw_error_set(ret_err, PW_NO_MEMORY, "--operators %s: out of memory", name);
                buffer = grown;
                number = getgrnam_r(name, &entry, buffer, bytes, &group);
        }
        if (name && !group)
                return pw_error_set(ret_err, PW_NOT_FOUND, "--operators %s: there is no such group; make it with groupadd", name);
        *ret_operators = group ? (int64_t)group->gr_gid : -1;
        return PW_OK;
}

/* What the kernel noted when it connected: its group, and those it has besides. */
static bool is_member(int fd, gid_t group)
{
        struct ucred peer;
        socklen_t bytes = sizeof peer;
        pw_auto_free gid_t *groups = NULL;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.gid == group)
                return true;
        bytes = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &bytes) == 0 || errno != ERANGE || !(groups = malloc(bytes)) ||
            getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
                return false;
        for (uint32_t i = 0; i < bytes / sizeof *groups; i++)
                if (groups[i] == group)
                        return true;
        return false;
}

bool pw_operators_has(const struct pw_daemon *daemon, int fd, uid_t uid)
{
        return uid == 0 || uid == geteuid() || (daemon->operators >= 0 && is_member(fd, (gid_t)daemon->operators));
}

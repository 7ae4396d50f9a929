/* Run dir and state dir. */
#include "daemon/rundir.h"

#include "base/memory.h"
#include "daemon/own_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

static enum pw_status no_memory(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the names of its folders");
}

static enum pw_status choose_run_dir(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        const char *runtime = daemon->environment.runtime_dir;

        if (daemon->settings.run_dir)
                daemon->run_dir = strdup(daemon->settings.run_dir);
        else if (geteuid() == 0)
                daemon->run_dir = strdup("/run/pathways");
        else if (!runtime)
                return pw_error_set(ret_err, PW_INVALID,
                                    "XDG_RUNTIME_DIR names no folder: give --run-dir DIR, and to clients "
                                    "PATHWAYS_SOCKET=DIR/pathwaysd.sock");
        else if (asprintf(&daemon->run_dir, "%s/pathways", runtime) < 0)
                daemon->run_dir = NULL;
        if (!daemon->run_dir || asprintf(&daemon->socket_path, "%s/pathwaysd.sock", daemon->run_dir) < 0)
                return no_memory(ret_err);
        return PW_OK;
}

static enum pw_status choose_state_dir(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        const char *state = daemon->environment.state_home, *home = daemon->environment.home;
        int printed = 0;

        if (daemon->settings.state_dir)
                printed = asprintf(&daemon->state_dir, "%s", daemon->settings.state_dir);
        else if (geteuid() == 0)
                printed = asprintf(&daemon->state_dir, "/var/lib/pathways");
        else if (state)
                printed = asprintf(&daemon->state_dir, "%s/pathways", state);
        else if (home)
                printed = asprintf(&daemon->state_dir, "%s/.local/state/pathways", home);
        else
                return pw_error_set(ret_err, PW_INVALID,
                                    "pathwaysd: neither XDG_STATE_HOME nor HOME names a folder; name one with --state-dir");
        return printed < 0 ? no_memory(ret_err) : PW_OK;
}

static enum pw_status lock(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        char text[32] = "";
        int length;
        enum pw_status status = pw_own_file(daemon->run_dir, "pathwaysd.lock", &daemon->lock_fd, ret_err);

        if (status != PW_OK)
                return status;
        if (flock(daemon->lock_fd, LOCK_EX | LOCK_NB) < 0) {
                if (pread(daemon->lock_fd, text, sizeof text - 1, 0) <= 0)
                        strcpy(text, "unknown");
                text[strcspn(text, "\n")] = 0;
                return pw_error_set(ret_err, PW_EXISTS,
                                    "run dir %s: a living pathwaysd has it (pid %s); stop that one or choose another --run-dir",
                                    daemon->run_dir, text);
        }
        length = snprintf(text, sizeof text, "%d\n", (int)getpid());
        if (ftruncate(daemon->lock_fd, 0) < 0 || pwrite(daemon->lock_fd, text, (size_t)length, 0) != length)
                return pw_error_errno(ret_err, errno, "write %s/pathwaysd.lock", daemon->run_dir);
        return PW_OK;
}

enum pw_status pw_rundir_take(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        enum pw_status status = choose_run_dir(daemon, ret_err);

        if (status == PW_OK)
                status = choose_state_dir(daemon, ret_err);
        if (status != PW_OK)
                return status;
        if (mkdir(daemon->run_dir, 0755) < 0 && errno != EEXIST)
                return pw_error_errno(ret_err, errno, "mkdir %s", daemon->run_dir);
        return lock(daemon, ret_err);
}

void pw_rundir_leave(struct pw_daemon *daemon)
{
        pw_close_fd(&daemon->lock_fd);
        free(daemon->run_dir);
        free(daemon->state_dir);
        free(daemon->socket_path);
}

/* Processes of the workers. */
#include "examples/parameter-server/start.h"

#include "examples/common/failure.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* The piece of options->sockets that is for `worker`, without the commas; `sockets` has none: empty. */
static int socket_of(const char *sockets, uint32_t worker, const char **ret_socket)
{
        uint32_t count = 1;

        for (const char *c = sockets; *c; c++)
                count += *c == ',';
        for (uint32_t skipped = 0; skipped < worker % count; skipped++)
                sockets = strchr(sockets, ',') + 1;
        *ret_socket = sockets;
        return (int)strcspn(sockets, ",");
}

enum pw_status start_worker(const struct options *options, const char *run, uint32_t worker, pid_t *ret_pid, struct pw_error *err)
{
        const char *sockets = options->sockets ? options->sockets : options->socket ? options->socket : "", *socket;
        char number[16], devices[16], patience[16], path[4096];
        int length = socket_of(sockets, worker, &socket);

        snprintf(number, sizeof number, "%u", worker);
        snprintf(devices, sizeof devices, "%u", options->devices);
        snprintf(patience, sizeof patience, "%u", options->patience);
        snprintf(path, sizeof path, "%.*s", length, socket);
        const char *const args[] = { "parameter-server", "--worker", number, "--run", run, "--devices", devices,
                                     "--patience", patience, length ? "--socket" : NULL, path, NULL };
        int error = posix_spawn(ret_pid, "/proc/self/exe", NULL, NULL, (char *const *)args, environ);
        return error ? failure(err, PW_SYSTEM, "a worker cannot be started", strerror(error)) : PW_OK;
}

void start_await(pid_t pid)
{
        while (pid && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

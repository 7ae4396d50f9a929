/* pathways-executor: the process that owns one device, or the one that describes functions. pathwaysd starts it. */
#include "base/log.h"
#include "base/memory.h"
#include "executor/attach.h"
#include "executor/describe.h"

#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
        bool describe;
        const char *measure; /* options of a device; NULL: that is not what is asked */
        const char *name;    /* how the log calls it */
        long device, fd;
        bool journal;        /* it is journald's */
        struct pw_log log;
};

static bool arguments_parse(int argc, char **argv, struct arguments *ret_arguments)
{
        static const struct option options[] = {
                { "describe", no_argument, NULL, 'e' }, { "device", required_argument, NULL, 'd' },
                { "fd", required_argument, NULL, 'f' }, { "measure", required_argument, NULL, 'm' },
                { "name", required_argument, NULL, 'n' }, { "journal", no_argument, NULL, 'j' }, { NULL, 0, NULL, 0 },
        };
        struct arguments arguments = { .device = -1, .fd = -1, .name = "executor" };
        int option;

        while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
                if (option == 'e')
                        arguments.describe = true;
                else if (option == 'd')
                        arguments.device = strtol(optarg, NULL, 10);
                else if (option == 'm')
                        arguments.measure = optarg;
                else if (option == 'f')
                        arguments.fd = strtol(optarg, NULL, 10);
                else if (option == 'n')
                        arguments.name = optarg;
                else if (option == 'j')
                        arguments.journal = true;
                else
                        return false;
        }
        *ret_arguments = arguments;
        return optind == argc && arguments.fd >= 0 &&
               arguments.describe + (arguments.measure != NULL) + (arguments.device >= 0) == 1;
}

static enum pw_status device_serve(const struct arguments *arguments, struct pw_error *ret_err)
{
        struct pw_attached *attached;
        struct pw_launch *launch;
        enum pw_status status = pw_attach((int)arguments->fd, (uint32_t)arguments->device, &arguments->log, &attached, ret_err);

        if (status != PW_OK)
                return status;
        launch = pw_launch_new(pw_attached_params(attached));
        if (!launch) {
                pw_detach(attached);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the launch loop");
        }
        for (;;) { /* until the daemon ends this process, or is gone */
                pw_launch_turn(launch);
                pw_launch_wait(launch);
        }
}

/* An error of the device that sticks: said, as any other is. */
__attribute__((noreturn)) static void lost(void *context, const char *how)
{
        const struct arguments *arguments = context;

        dprintf((int)arguments->fd, "%d %s", PW_SYSTEM, how);
        _exit(1);
}

static enum pw_status free_bytes(const struct arguments *arguments, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        struct pw_device_options options;
        const struct pw_device_kind *kind;
        struct pw_exec_device *device;
        enum pw_status status = pw_device_options_parse(arguments->measure, &options, ret_err);

        if (status != PW_OK)
                return status;
        kind = pw_device_kind(options.kind);
        if (!kind || !kind->free_bytes)
                return pw_error_set(ret_err, PW_INVALID,
                                    "a device of kind %s does not say what it has: give --device-memory a size", options.kind);
        options.params.log = &arguments->log;
        options.params.lost = lost;
        options.params.context = (void *)(uintptr_t)arguments;
        status = kind->open(&options.params, &device, ret_err);
        if (status != PW_OK)
                return status;
        *ret_bytes = kind->free_bytes(device);
        kind->close(device);
        return PW_OK;
}

/* Said over its socket. */
static int measure(const struct arguments *arguments)
{
        struct pw_error err;
        uint64_t bytes;

        if (free_bytes(arguments, &bytes, &err) == PW_OK)
                return dprintf((int)arguments->fd, "%d %llu", PW_OK, (unsigned long long)bytes) < 0;
        return dprintf((int)arguments->fd, "%d %s", err.status, err.text) < 0;
}

/* What a function forks ends with the executor, also where no daemon is left to see to that. */
static pid_t parent; /* of who is forked next: each process notes itself, the child reads its copy */

static void note_parent(void) { parent = getpid(); }

static void end_with_parent(void)
{
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* it was faster */
                _exit(1);
}

/* Whom a process runs as; -1: it is gone. */
static long user_of(long pid)
{
        char path[40];
        struct stat about;

        snprintf(path, sizeof path, "/proc/%ld", pid);
        return stat(path, &about) ? -1 : (long)about.st_uid;
}

static long tracer(void)
{
        char line[100];
        long pid = 0;
        FILE *status = fopen("/proc/self/status", "re");

        while (status && fgets(line, sizeof line, status))
                sscanf(line, "TracerPid: %ld", &pid);
        if (status)
                fclose(status);
        return pid;
}

/* No other process of this user may look into this one from here on, and none that does so already; an operator may. Nothing of a
 * tenant is mapped yet. Where the daemon is of the same user there is nothing to keep from it. */
static bool is_private(void)
{
        long self = (long)geteuid(), tracing;

        if (prctl(PR_SET_DUMPABLE, 0UL))
                return false;
        tracing = tracer();
        return !tracing || user_of(tracing) != self || user_of(getppid()) == self;
}

static void log_begin(struct arguments *arguments)
{
        arguments->log = (struct pw_log){ .fd = pw_log_unblocked(STDERR_FILENO), .level = PW_LOG_INFO, .who = arguments->name,
                                          .journal = arguments->journal };
        if (arguments->log.fd < 0) /* it is of the daemon's user alone */
                arguments->log.fd = STDERR_FILENO;
}

int main(int argc, char **argv)
{
        struct arguments arguments;
        struct pw_error err;
        enum pw_status status;

        if (!arguments_parse(argc, argv, &arguments)) {
                fprintf(stderr, "usage: pathways-executor {--device N | --describe | --measure OPTIONS} --fd N [--name TEXT] "
                                "[--journal]\n"
                                "pathwaysd starts it; there is no reason to do so by hand\n");
                return 2;
        }
        if (geteuid() == 0) {
                fprintf(stderr, "pathways-executor runs code of modules, and never as root: see pathwaysd --executor-user\n");
                return 1;
        }
        log_begin(&arguments);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_TIMERSLACK, 1UL);
        if (!is_private()) {
                fprintf(stderr,
                        "pathways-executor: another process of its user traces it: values of all tenants lie in its memory\n");
                return 1;
        }
        fcntl((int)arguments.fd, F_SETFD, FD_CLOEXEC); /* what a function executes has no way to the daemon */
        pthread_atfork(note_parent, NULL, end_with_parent);
        if (arguments.measure)
                return measure(&arguments);
        status = arguments.describe ? pw_describe_serve((int)arguments.fd, &err) : device_serve(&arguments, &err);
        if (status == PW_DAEMON_GONE)
                return 0;
        pw_log(&arguments.log, PW_LOG_ERROR, "executor ended status=%s text=\"%s\"", pw_status_name(status), err.text);
        return 1;
}

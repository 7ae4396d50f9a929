/* Settings that change while the daemon runs: read by a thread, as a file, a user or a group may be told by a server that does not
 * answer; applied by the loop. */
#include "daemon/settings/reload.h"

#include "base/memory.h"
#include "daemon/module/module.h"
#include "daemon/notify.h"
#include "daemon/settings/operators.h"
#include "daemon/settings/quota.h"
#include "daemon/settings/weight.h"
#include "daemon/thread.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALUE_BYTES 200

/* What a thread reads: its own until it has sent it through `fd`, which is its own too. */
struct reading {
        int fd, argc;
        char **argv;
        struct pw_settings settings;
        struct pw_error err;           /* of the file */
        enum pw_status status, found;  /* likewise; of the group of operators */
        struct pw_error operators_err;
        int64_t operators;
        struct pw_quotas_unknown unknown;
};

struct pw_reload {
        struct pw_daemon *daemon;
        int fds[2];
        struct event *read;
        struct reading *now;  /* that is applied */
        bool under_way, again; /* again: asked for meanwhile */
};

static enum pw_status log_level(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        return pw_settings_log_level(&daemon->settings, &daemon->log.level, ret_err);
}

static enum pw_status operators(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        const struct reading *now = daemon->reload->now;

        if (now->found != PW_OK)
                return pw_error_set(ret_err, now->found, "%s", now->operators_err.text);
        daemon->operators = now->operators;
        return PW_OK;
}

static enum pw_status quotas(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        enum pw_status status = pw_quotas_apply(daemon, ret_err);

        pw_quotas_warn(daemon, &daemon->reload->now->unknown);
        return status;
}

static enum pw_status admit_deadline(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        (void)ret_err;
        pw_scheduler_admit_us(daemon->scheduler, daemon->settings.admit_us);
        return PW_OK;
}

static enum pw_status socket_mode(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        return chmod(daemon->socket_path, daemon->settings.socket_mode) == 0 ? PW_OK : pw_error_errno(ret_err, errno, "chmod %s",
                                                                                                      daemon->socket_path);
}

/* What is read wherever it is used needs no more than the new value. */
static enum pw_status nothing_more(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        (void)daemon;
        (void)ret_err;
        return PW_OK;
}

/* What can change while the daemon runs; the help of these options says so. */
static const struct live { const char *name; enum pw_status (*apply)(struct pw_daemon *daemon,
                                                                     struct pw_error *ret_err); } lives[] = {
        { "admit-deadline", admit_deadline }, { "log-level", log_level },   { "modules", pw_modules_refresh },
        { "operators", operators },             { "quota", quotas },
        { "shutdown", nothing_more },         { "socket-mode", socket_mode },
        { "weight", pw_weights_apply },
};

static const struct live *find_live(const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(lives); i++)
                if (!strcmp(lives[i].name, name))
                        return &lives[i];
        return NULL;
}

/* Says what became of one option that changed. True: it needs a restart. */
static bool change(struct pw_daemon *daemon, const struct pw_option *option, struct pw_settings *fresh)
{
        const struct live *live = find_live(option->name);
        char before[VALUE_BYTES], after[VALUE_BYTES];
        struct pw_error err;

        pw_option_format(option, &daemon->settings, before, sizeof before);
        pw_option_format(option, fresh, after, sizeof after);
        if (!live) {
                pw_log(&daemon->log, PW_LOG_WARNING, "setting needs a restart key=%s is=\"%s\" file=\"%s\"", option->name, before,
                       after);
                return true;
        }
        pw_option_swap(option, &daemon->settings, fresh);
        if (live->apply(daemon, &err) != PW_OK) {
                pw_option_swap(option, &daemon->settings, fresh);
                pw_log(&daemon->log, PW_LOG_ERROR, "setting not applied key=%s is=\"%s\" file=\"%s\" reason=\"%s\"", option->name,
                       before, after, err.text);
                return false;
        }
        pw_log(&daemon->log, PW_LOG_INFO, "setting applied key=%s was=\"%s\" is=\"%s\"", option->name, before, after);
        return false;
}

static void apply(struct pw_daemon *daemon, struct pw_settings *fresh)
{
        uint32_t changed = 0, restart = 0;

        for (uint32_t i = 0; i < pw_settings_options.count; i++) {
                const struct pw_option *option = &pw_settings_options.items[i];

                if (!strcmp(option->name, "host-memory") &&
                    (!fresh->host_memory || fresh->host_memory == daemon->memory.asked_bytes))
                        continue; /* measured at the start */
                if (pw_option_same(option, &daemon->settings, fresh))
                        continue;
                changed++;
                restart += change(daemon, option, fresh);
        }
        pw_log(&daemon->log, PW_LOG_INFO, "config read again file=%s changed=%u need_restart=%u", daemon->settings.config, changed,
               restart);
}

static void free_reading(struct reading *reading)
{
        if (reading->status == PW_OK)
                pw_settings_done(&reading->settings);
        pw_quotas_unknown_done(&reading->unknown);
        free(reading);
}

/* Nobody waits for it: the daemon may be gone when it has its answers. */
static void *read_anew(void *argument)
{
        struct reading *reading = argument;
        int fd = reading->fd;

        reading->status = pw_settings_load(&reading->settings, reading->argc, reading->argv, &reading->err);
        if (reading->status == PW_OK) {
                reading->found = pw_operators_find(reading->settings.operators, &reading->operators, &reading->operators_err);
                pw_quotas_look_up(&reading->settings.quotas, &reading->unknown);
        }
        if (write(fd, &reading, sizeof reading) != sizeof reading)
                free_reading(reading);
        close(fd);
        return NULL;
}

static enum pw_status start_reading(struct pw_reload *reload, struct pw_error *ret_err)
{
        struct reading *reading = calloc(1, sizeof *reading);
        int number;

        if (!reading)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        reading->status = PW_NOT_READY;
        reading->argc = reload->daemon->argc;
        reading->argv = reload->daemon->argv;
        reading->fd = fcntl(reload->fds[1], F_DUPFD_CLOEXEC, 0);
        number = reading->fd < 0 ? errno : pw_thread_start(read_anew, reading, 0);
        if (!number)
                return PW_OK;
        pw_close_fd(&reading->fd);
        free_reading(reading);
        return pw_error_errno(ret_err, number, "a thread that reads it");
}

static void begin(struct pw_reload *reload)
{
        struct pw_daemon *daemon = reload->daemon;
        struct pw_error err;

        reload->again = false;
        pw_daemon_notify(daemon, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)pw_now_us());
        reload->under_way = start_reading(reload, &err) == PW_OK;
        if (reload->under_way)
                return;
        pw_log(&daemon->log, PW_LOG_ERROR, "config not read again, the settings stay as they are reason=\"%s\"", err.text);
        if (daemon->phase == PW_SERVING)
                pw_daemon_notify(daemon, "READY=1");
}

static void on_read(evutil_socket_t fd, short what, void *context)
{
        struct pw_reload *reload = context;
        struct pw_daemon *daemon = reload->daemon;
        struct reading *reading;

        (void)what;
        if (read(fd, &reading, sizeof reading) != sizeof reading)
                return;
        reload->under_way = false;
        reload->now = reading;
        if (reading->status == PW_OK)
                apply(daemon, &reading->settings);
        else
                pw_log(&daemon->log, PW_LOG_ERROR, "config not read again, the settings stay as they are reason=\"%s\"",
                       reading->err.text);
        reload->now = NULL;
        free_reading(reading);
        if (reload->again)
                begin(reload);
        else if (daemon->phase == PW_SERVING)
                pw_daemon_notify(daemon, "READY=1");
}

static struct pw_reload *new_reload(struct pw_daemon *daemon)
{
        struct pw_reload *reload = calloc(1, sizeof *reload);

        if (!reload)
                return NULL;
        reload->daemon = daemon;
        reload->fds[0] = reload->fds[1] = -1;
        if (pipe2(reload->fds, O_CLOEXEC | O_NONBLOCK) == 0)
                reload->read = event_new(daemon->loop.base, reload->fds[0], EV_READ | EV_PERSIST, on_read, reload);
        if (reload->read && event_add(reload->read, NULL) == 0)
                return reload;
        pw_reload_free(reload);
        return NULL;
}

void pw_reload(struct pw_daemon *daemon)
{
        if (!daemon->settings.config) {
                pw_log(&daemon->log, PW_LOG_WARNING, "config not read again reason=\"there is none: --config names one\"");
                return;
        }
        if (!daemon->reload)
                daemon->reload = new_reload(daemon);
        if (!daemon->reload)
                pw_log(&daemon->log, PW_LOG_ERROR, "config not read again, the settings stay as they are reason=\"out of memory\"");
        else if (daemon->reload->under_way)
                daemon->reload->again = true;
        else
                begin(daemon->reload);
}

void pw_reload_free(struct pw_reload *reload)
{
        struct reading *reading;

        if (!reload)
                return;
        while (reload->fds[0] >= 0 && read(reload->fds[0], &reading, sizeof reading) == sizeof reading)
                free_reading(reading);
        if (reload->read)
                event_free(reload->read);
        pw_close_fd(&reload->fds[0]);
        pw_close_fd(&reload->fds[1]);
        free(reload);
}

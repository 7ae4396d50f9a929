/* Settings that change while the daemon runs. */
#include "daemon/reload.h"

#include "base/memory.h"
#include "daemon/module.h"
#include "daemon/notify.h"
#include "daemon/operators.h"
#include "daemon/quota.h"

#include <errno.h>
#include <sys/stat.h>

#define VALUE_BYTES 200

static enum pw_status log_level(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        return pw_settings_log_level(&daemon->settings, &daemon->log.level, ret_err);
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
        { "operators", pw_operators_find },     { "quota", pw_quotas_apply },
        { "shutdown", nothing_more },         { "socket-mode", socket_mode },
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

                if (!strcmp(option->name, "host-memory") && (!fresh->host_memory || fresh->host_memory == daemon->asked_memory))
                        continue; /* measured at the start */
                if (pw_option_same(option, &daemon->settings, fresh))
                        continue;
                changed++;
                restart += change(daemon, option, fresh);
        }
        pw_log(&daemon->log, PW_LOG_INFO, "config read again file=%s changed=%u need_restart=%u", daemon->settings.config, changed,
               restart);
}

void pw_reload(struct pw_daemon *daemon)
{
        struct pw_settings fresh;
        struct pw_error err;

        if (!daemon->settings.config) {
                pw_log(&daemon->log, PW_LOG_WARNING, "config not read again reason=\"there is none: --config names one\"");
                return;
        }
        pw_notify(daemon, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)pw_now_us());
        if (pw_settings_load(&fresh, daemon->argc, daemon->argv, &err) == PW_OK) {
                apply(daemon, &fresh);
                pw_settings_done(&fresh);
        } else {
                pw_log(&daemon->log, PW_LOG_ERROR, "config not read again, the settings stay as they are reason=\"%s\"", err.text);
        }
        if (daemon->phase == PW_SERVING)
                pw_notify(daemon, "READY=1");
}

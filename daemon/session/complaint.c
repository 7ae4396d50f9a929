/* Warnings that clients cause. */
#include "daemon/session/complaint.h"

#include <stdarg.h>
#include <stdio.h>

void pw_complain(struct pw_daemon *daemon, uid_t uid, const char *format, ...)
{
        char line[900];
        va_list args;

        if (!pw_log_limits_pass(&daemon->complaints, uid, pw_now_us()))
                return;
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
        pw_log(&daemon->log, PW_LOG_WARNING, "%s", line);
}

uint64_t pw_complaints_next_us(const struct pw_daemon *daemon) { return daemon->complaints.next_us; }

void pw_complaints_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        uint32_t who, more;

        while ((more = pw_log_limits_over(&daemon->complaints, now_us, &who))) {
                if (who == PW_LOG_OTHERS)
                        pw_log(&daemon->log, PW_LOG_WARNING, "%u more like this uid=others", more);
                else
                        pw_log(&daemon->log, PW_LOG_WARNING, "%u more like this uid=%u", more, who);
        }
}

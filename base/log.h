/* The daemon's log: one line an event, key=value, to stderr. Libraries stay silent and give an error.
 *
 * Threads: any; a line is one write. The writer is handed over explicitly, there is no global one.
 */
#ifndef PW_BASE_LOG_H
#define PW_BASE_LOG_H

#include <stdint.h>

enum pw_log_level { PW_LOG_ERROR = 3, PW_LOG_WARNING = 4, PW_LOG_INFO = 6, PW_LOG_DEBUG = 7 }; /* as syslog's, for journald */

struct pw_log {
        int fd;
        enum pw_log_level level;
        const char *who; /* "pathwaysd", "executor h0:2" */
};

/* pw_log(log, PW_LOG_INFO, "executor started device=%u pid=%d", ...): the first words say what, then key=value. A value with
 * spaces is quoted by the caller. */
void pw_log(const struct pw_log *log, enum pw_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif

/* The log of the daemon and its executors: one line an event, key=value, to stderr. Libraries stay silent and give an error.
 *
 * Threads: any; a line is one write. The writer is handed over explicitly, there is no global one.
 */
#ifndef PW_BASE_LOG_H
#define PW_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum pw_log_level { PW_LOG_ERROR = 3, PW_LOG_WARNING = 4, PW_LOG_INFO = 6, PW_LOG_DEBUG = 7 }; /* as syslog's, for journald */

struct pw_log {
        int fd;          /* writing to it does not block: pw_log_unblocked() */
        enum pw_log_level level;
        const char *who; /* "pathwaysd", "executor h0:2" */
        bool journal;    /* lines begin with "<6>", the level as journald reads it */
        _Atomic uint64_t *lost; /* counts lines that could not be written; NULL: nobody does */
};

/* A descriptor of its own for what `fd` writes to, which does not block; flags of `fd` are shared with other processes, so it is
 * left as it is, but appends from now on where that is a plain file: others write through it. -1: it cannot be opened anew. A
 * socket cannot, and need not: its lines are sent without blocking anyway.   Own: the caller's. */
int pw_log_unblocked(int fd);

/* pw_log(log, PW_LOG_INFO, "executor started device=%u pid=%d", ...): the first words say what, then key=value. A value with
 * spaces is quoted by the caller. `log` NULL: nobody reads it. */
void pw_log(const struct pw_log *log, enum pw_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif

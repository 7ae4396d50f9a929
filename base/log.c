/* One line of the log:  2025-06-01T12:00:00.123456Z info pathwaysd: executor started device=2 pid=4711 */
#include "base/log.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1024

static const char *level_text(enum pw_log_level level)
{
        switch (level) {
        case PW_LOG_ERROR: return "error";
        case PW_LOG_WARNING: return "warning";
        case PW_LOG_INFO: return "info";
        case PW_LOG_DEBUG: return "debug";
        }
        return "?";
}

/* Time, level and who; returns the length. The time is for people alone: nothing is decided by a clock that can jump. */
static size_t format_head(const struct pw_log *log, enum pw_log_level level, char line[LINE_BYTES])
{
        struct timespec now;
        struct tm utc;

        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &utc);
        size_t used = log->journal ? (size_t)snprintf(line, LINE_BYTES, "<%d>", (int)level) : 0;
        used += strftime(line + used, LINE_BYTES - used, "%Y-%m-%dT%H:%M:%S", &utc);
        used += (size_t)snprintf(line + used, LINE_BYTES - used, ".%06ldZ %s %.64s: ", now.tv_nsec / 1000, level_text(level),
                                 log->who);
        return used;
}

int pw_log_unblocked(int fd)
{
        char path[40];
        struct stat seen;
        int flags = fcntl(fd, F_GETFL);

        /* who inherits `fd` writes to the same file: behind our lines, not over them */
        if (flags >= 0 && !fstat(fd, &seen) && S_ISREG(seen.st_mode))
                fcntl(fd, F_SETFL, flags | O_APPEND);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static ssize_t write_line(int fd, const char *line, size_t bytes)
{
        ssize_t sent = send(fd, line, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

        return sent < 0 && errno == ENOTSOCK ? write(fd, line, bytes) : sent;
}

void pw_log(const struct pw_log *log, enum pw_log_level level, const char *format, ...)
{
        int saved_errno = errno;
        char line[LINE_BYTES];
        va_list args;

        if (!log || level > log->level)
                return;
        size_t head = format_head(log, level, line);
        size_t room = sizeof line - head;
        va_start(args, format);
        int length = vsnprintf(line + head, room, format, args);
        va_end(args);
        size_t used = head + (length < 0 ? 0 : (size_t)length);
        if (used > sizeof line - 1) {
                used = sizeof line - 1;
                memcpy(line + used - 3, "...", 3);
        }
        line[used] = 0;
        /* what came from users may hold line ends, and what a terminal obeys; a line is one event */
        pw_text_make_plain(line + head);
        line[used++] = '\n';
        /* Who reads the log may be gone, or stopped, its disk may be full: the daemon goes on without the line, and counts it. */
        if (write_line(log->fd, line, used) != (ssize_t)used && log->lost)
                atomic_fetch_add_explicit(log->lost, 1, memory_order_relaxed);
        errno = saved_errno;
}

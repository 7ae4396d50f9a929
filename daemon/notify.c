/* Datagrams to systemd. */
#include "daemon/notify.h"

#include "base/memory.h"

#include <errno.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

void pw_daemon_notify(const struct pw_daemon *daemon, const char *format, ...)
{
        const char *path = daemon->environment.notify_socket;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        pw_auto_close int fd = -1;
        char text[512];
        va_list args;
        int length;

        if (!path)
                return;
        va_start(args, format);
        length = vsnprintf(text, sizeof text, format, args);
        va_end(args);
        if (length < 0 || (size_t)length >= sizeof text)
                return;
        memcpy(address.sun_path, path, strlen(path));
        if (*path == '@') /* abstract: the address is as long as the name */
                address.sun_path[0] = 0;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || sendto(fd, text, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) < 0)
                pw_log(&daemon->log, PW_LOG_DEBUG, "systemd not told socket=%s reason=\"%s\"", path, strerror(errno));
}

static void on_watchdog(evutil_socket_t fd, short what, void *context)
{
        (void)fd;
        (void)what;
        pw_daemon_notify(context, "WATCHDOG=1");
}

enum pw_status pw_notify_watchdog(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        uint64_t us = daemon->environment.watchdog_us / 2;
        struct timeval period = { (time_t)(us / 1000000), (suseconds_t)(us % 1000000) };

        if (!us || !daemon->environment.notify_socket)
                return PW_OK;
        daemon->loop.watchdog = event_new(daemon->loop.base, -1, EV_PERSIST, on_watchdog, daemon);
        if (!daemon->loop.watchdog || event_add(daemon->loop.watchdog, &period) < 0)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the watchdog");
        return PW_OK;
}

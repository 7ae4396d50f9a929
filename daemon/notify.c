/* Datagrams to systemd. */
#include "daemon/notify.h"

#include "base/memory.h"

#include <errno.h>
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

void pw_watchdog_start(struct pw_daemon *daemon)
{
        if (daemon->environment.watchdog_us && daemon->environment.notify_socket)
                daemon->loop.watchdog_us = pw_now_us() + daemon->environment.watchdog_us / 2;
}

uint64_t pw_watchdog_next_us(const struct pw_daemon *daemon) { return daemon->loop.watchdog_us; }

void pw_watchdog_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        pw_daemon_notify(daemon, "WATCHDOG=1");
        daemon->loop.watchdog_us = now_us + daemon->environment.watchdog_us / 2;
}

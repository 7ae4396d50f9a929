/* What systemd is told of the service, sd_notify(3)'s datagrams: ready, reloading, stopping, alive. Without $NOTIFY_SOCKET nothing
 * is sent. Nobody waits for an answer, and a message that cannot be sent is not sent again.
 */
#ifndef PW_DAEMON_NOTIFY_H
#define PW_DAEMON_NOTIFY_H

#include "daemon/daemon.h"

/* Lines of sd_notify(3), "READY=1\nSTATUS=...".   Blocks: never. */
void pw_daemon_notify(const struct pw_daemon *daemon, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Where systemd wants to hear from the loop: say twice per period that it turns; when next (UINT64_MAX: never), and the word. */
void pw_watchdog_start(struct pw_daemon *daemon);
uint64_t pw_watchdog_next_us(const struct pw_daemon *daemon);
void pw_watchdog_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif

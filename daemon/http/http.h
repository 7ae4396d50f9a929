/* /metrics and /health over HTTP, on the daemon's loop, for monitoring on this host (or a proxy on it).
 *
 * Whoever connects is a stranger: a connection serves one request, has a few seconds from first to last byte, a small header and no
 * body; beyond a number of connections others wait in the socket's queue. What takes time to count is counted at most so often that
 * it stays below a hundredth of the loop's time, however often it is asked for.
 */
#ifndef PW_DAEMON_HTTP_HTTP_H
#define PW_DAEMON_HTTP_HTTP_H

#include "daemon/daemon.h"

struct pw_http;

/* Listen where --http says. Errors: PW_INVALID (address), PW_SYSTEM (in use, no right to it), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_http_new(struct pw_daemon *daemon, struct pw_http **ret_http, struct pw_error *ret_err);
/* Where it listens: port 0 was replaced by the one that it has. "" for NULL. */
const char *pw_http_address(const struct pw_http *http);
void pw_http_free(struct pw_http *http);
/* When connections are to be ended or accepted again, and doing that. */
uint64_t pw_http_next_us(const struct pw_daemon *daemon); /* UINT64_MAX: never */
void pw_http_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif

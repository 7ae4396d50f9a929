/* Draining this host, as an operator asks: cluster/drain/drain.h decides, others do it.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_DRAINING_H
#define PW_DAEMON_PEER_DRAINING_H

#include "daemon/daemon.h"

struct pw_dsession;
struct pw_peers;

/* What a client asks: hosts by "anna" or "h1"; `to`, "": whichever is there. */
struct pw_draining_request { uint64_t id; const char *host, *to; int64_t timeout_us; };
/* Answered when the host has drained, or by the deadline, or at once that it cannot be. */
void pw_draining_begin(struct pw_dsession *session, const struct pw_draining_request *request);
/* `host` asks for an operator of its own: answered likewise. */
struct pw_peer_page;
void pw_draining_asked(struct pw_peers *peers, uint32_t host, const struct pw_peer_page *question);
void pw_draining_session_end(struct pw_dsession *session);
/* Is new work taken? Errors: PW_BUSY (it drains: who takes over is said). */
PW_MUST_CHECK enum pw_status pw_draining_check(const struct pw_daemon *daemon, struct pw_error *ret_err);
/* Who takes over from this host, or from another one; 0: it does not drain. `ret_done`: nobody holds anything here any more. */
uint32_t pw_draining_successor(const struct pw_daemon *daemon, uint32_t host, bool *ret_done);

/* The core. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_draining_open(struct pw_peers *peers, struct pw_error *ret_err);
void pw_draining_met(struct pw_peers *peers, uint32_t host);
void pw_draining_ended(struct pw_peers *peers, uint32_t host);
void pw_draining_heard(struct pw_peers *peers, uint32_t host); /* it drains */
void pw_draining_turn(struct pw_peers *peers);
uint64_t pw_draining_next_us(const struct pw_peers *peers); /* CLOCK_BOOTTIME */
void pw_draining_done(struct pw_peers *peers);

#endif

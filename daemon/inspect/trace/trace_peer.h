/* Traces between hosts: a session of one is told what another one did.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_INSPECT_TRACE_TRACE_PEER_H
#define PW_DAEMON_INSPECT_TRACE_TRACE_PEER_H

#include <stdint.h>

struct pw_daemon;
struct pw_peer_page;

/* A question of `host` for what a trace of one of its sessions has: answered at once. */
void pw_trace_asked(struct pw_daemon *daemon, uint32_t host, const struct pw_peer_page *question);
/* What its sessions traced here nobody wants any more; 0: what those of all other hosts did. */
void pw_traces_host_ended(struct pw_daemon *daemon, uint32_t host);

#endif

/* Listings of other hosts, a page at a time: sessions of this host ask for them, and others for those of this one.
 *
 * Of each other host a few pages are under way at a time, the rest wait here: so beats and what programs wait for are never behind
 * much of them. A question ends in its answer, with the term of the link, or when the other host, which is there, has not answered
 * for long. A host that was given up is not asked: it says so itself when it is back.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_PAGING_H
#define PW_DAEMON_PEER_PAGING_H

#include "daemon/peer/page/page_codec.h"
#include "daemon/peer/peers_private.h"
#include "daemon/session/output.h"

/* The session wants a page of `host`, a number that is known here: answered once, by pw_session_reply_listing() or an error. Of the
 * request all but its host counts. Errors told: PW_HOST_LOST, PW_DEADLINE, PW_DENIED (a tenant that has no name between hosts),
 * what the other host says. */
void pw_paging_ask(struct pw_dsession *session, uint64_t request, uint32_t host, const Pathways__Wire__ListRequest *list);
/* The same, of what `host` did since it was asked last, in times of its own with what they are here. Errors told besides:
 * PW_NOT_READY: its clock is not known yet, ask again; PW_GONE: the trace ended there. */
void pw_paging_ask_trace(struct pw_dsession *session, uint64_t request, uint32_t host, const Pathways__Wire__TraceRequest *trace);
/* An operator wants `host` to drain, `to`: who takes over there, "": anybody. Answered when it has, or by the deadline. */
void pw_paging_ask_drain(struct pw_dsession *session, uint64_t request, uint32_t host, const char *to, int64_t timeout_us);
void pw_paging_session_end(const struct pw_dsession *session);

/* Who makes pages of this host's listings: handed in, before peers begin. */
struct pw_page_maker {
        /* Answered by pw_paging_answer(), later or at once, unless it ends first; borrowed for the call. */
        void (*asked)(struct pw_daemon *daemon, uint32_t host, const struct pw_peer_page *question);
        /* Nobody wants what `host` asked for any more; 0: what all did. */
        void (*ended)(struct pw_daemon *daemon, uint32_t host);
};
void pw_paging_made_by(struct pw_daemon *daemon, const struct pw_page_maker *maker);
void pw_paging_answer(struct pw_daemon *daemon, uint32_t host, const struct pw_peer_page *answer);

/* `host` asks, or answers. Errors: PW_PROTOCOL: give it up. */
PW_MUST_CHECK enum pw_status pw_paging_hear(struct pw_peers *peers, uint32_t host, const uint8_t *bytes, uint32_t count,
                                            struct pw_error *ret_err);
/* The term with `host` has ended. */
void pw_paging_ended(struct pw_peers *peers, uint32_t host);
/* When one is not waited for any longer (CLOCK_MONOTONIC); UINT64_MAX: none is. */
uint64_t pw_paging_next_us(const struct pw_peers *peers);
void pw_paging_tick(struct pw_peers *peers, uint64_t now_us);
void pw_paging_done(struct pw_peers *peers);

#endif

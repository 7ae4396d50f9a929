/* What the daemon lists, as rows of typed cells: for the `pathways` command.
 */
#ifndef PW_LIBCLIENT_LISTING_H
#define PW_LIBCLIENT_LISTING_H

#include "pathways.h"
#include "wire/pathways.pb-c.h"

struct pw_listing; /* owns its rows */

/* Texts of rows are plain (base/text.h). Ask for rows of `what` ("objects"), those that `filter` (may be NULL) chooses, at most
 * `limit` (0: all of objects; of others as many as one answer holds).
 * Errors: PW_NOT_FOUND, PW_INVALID, PW_DENIED, PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_list(struct pw_session *session, const char *what, const char *filter, uint32_t limit,
                                     struct pw_listing **ret_listing, struct pw_error *ret_err);
/* The same of another host of the cluster, by name or as "h2", through the daemon of this one; NULL: of this one.
 * Errors: besides, PW_HOST_LOST (it is given up, or was before it answered), PW_DEADLINE (it is there, but did not answer for
 * 10 s), PW_UNSUPPORTED (a listing that each host gives for itself). */
struct pw_list_params { const char *host, *what, *filter; uint32_t limit; };
PW_MUST_CHECK enum pw_status pw_list_of(struct pw_session *session, const struct pw_list_params *params,
                                        struct pw_listing **ret_listing, struct pw_error *ret_err);
/* Of all hosts, in the order of their numbers, at most `limit` rows of each; `host`: of that one alone. Each row has a cell "host",
 * as "h2"; but where this daemon knows no other host, and none is named, there is none. The last pw_listing_silent() rows are of
 * hosts that did not answer: "host", and in "unanswered" a sentence. Errors: as above, of this host, or of the one that is named.
 * listing_hosts.c */
PW_MUST_CHECK enum pw_status pw_list_everywhere(struct pw_session *session, const struct pw_list_params *params,
                                                struct pw_listing **ret_listing, struct pw_error *ret_err);
void pw_listing_free(struct pw_listing *listing);
Pathways__Wire__Listing *pw_listing_rows(const struct pw_listing *listing);
size_t pw_listing_silent(const struct pw_listing *listing);
/* The last row is one more of these. */
void pw_listing_add_silent(struct pw_listing *listing);
/* The rows of `more` follow those of `listing`, and are no longer in `more`. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_listing_join(struct pw_listing *listing, struct pw_listing *more, struct pw_error *ret_err);
/* Cancel the run that makes an object, or the run of a number. Errors: PW_NOT_FOUND, PW_GONE, PW_INVALID. cancel.c */
PW_MUST_CHECK enum pw_status pw_cancel_object(struct pw_session *session, struct pw_id id, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_cancel_run(struct pw_session *session, uint64_t run, struct pw_error *ret_err);
/* Drain a host, as operators may: others take over what they hold of it, `to` (NULL: whichever is there) in place of it. Errors:
 * PW_DEADLINE (it goes on), PW_NOT_FOUND, PW_DENIED, PW_BUSY, PW_INVALID, PW_UNSUPPORTED, PW_DAEMON_GONE.
 * Blocks: until nobody holds anything there any more; timeout_us at most, negative: for ever. */
PW_MUST_CHECK enum pw_status pw_drain_host(struct pw_session *session, const char *host, const char *to, int64_t timeout_us,
                                           struct pw_error *ret_err);
/* As pw_name(), for `ttl_us`: then the name goes. */
PW_MUST_CHECK enum pw_status pw_name_for(struct pw_future *future, const char *name, int64_t ttl_us, struct pw_error *ret_err);
/* Drop names and leases of an object (force: every reference). Errors: PW_NOT_FOUND, PW_DENIED. */
PW_MUST_CHECK enum pw_status pw_free_object(struct pw_session *session, struct pw_id id, bool force, struct pw_error *ret_err);

/* One answer to "what did the devices do": the session's first call begins a trace. Waits until there is a batch, `wait_us` at
 * most; `last`: everything that is left, in as many calls as it takes until the answer says `end`. Errors: PW_DAEMON_GONE,
 * PW_NO_MEMORY. */
struct pw_trace_chunk; /* owns its message */
PW_MUST_CHECK enum pw_status pw_trace_next(struct pw_session *session, int64_t wait_us, bool last, struct pw_trace_chunk **ret_part,
                                           struct pw_error *ret_err);
/* The same of another host of the cluster, by name or as "h2", through the daemon of this one; NULL: of this one. It does not wait
 * there. goes_on: not the first of that host's. Errors: besides, PW_NOT_READY (its clock is not measured yet: ask again),
 * PW_HOST_LOST, PW_DEADLINE, PW_GONE, as pw_list_of(). */
struct pw_trace_params { const char *host; int64_t wait_us; bool goes_on, last; };
PW_MUST_CHECK enum pw_status pw_trace_next_of(struct pw_session *session, const struct pw_trace_params *params,
                                              struct pw_trace_chunk **ret_part, struct pw_error *ret_err);
void pw_trace_chunk_free(struct pw_trace_chunk *part);
const Pathways__Wire__Trace *pw_trace_chunk_message(const struct pw_trace_chunk *part);

#endif

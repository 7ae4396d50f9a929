/* Who pulls from whom, as the home of an object decides: a value that many want spreads as a tree.
 *
 * Sources are the home's own value, whole replicas, and pulls under way. A *member* is a pull or a replica of another host. A pull
 * under way is named only to members that came after it, and a whole replica waits for nobody: so there is no cycle, however often
 * sources change, and whatever members have heard of it. Each source has a bounded number of askers; of those that may be named the
 * one nearest to a whole value is taken, then the one with the fewest askers. Who finds all of them taken waits, in the order in
 * which members came.
 *
 * A source that somebody reports is not named to it again; one on another host is named to nobody any more (until it is whole), and
 * its other askers get another. So do those of a member that leaves, or whose host's term ends. A member that has no source left
 * is told so, and is a member no more. A replica of an earlier term is made known again, when this host has what it is of.
 *
 * The home is whoever lends the object: references are cluster/borrow/lend.h's, and a member holds one.
 * Events are calls, effects are actions. Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_PULL_SPREAD_H
#define PW_CLUSTER_PULL_SPREAD_H

#include "base/hash.h"
#include "cluster/pull/pull_message.h"

struct pw_pull_spread; /* of a host */
struct pw_observer;

enum pw_member_state {
        PW_MEMBER_NONE = 0,
        PW_MEMBER_WAITING, /* for a source with a place */
        PW_MEMBER_PULLING, /* a source is named to it */
        PW_MEMBER_WHOLE,   /* it has all */
        PW_MEMBER_STATES
};
enum pw_member_event {
        PW_MEMBER_WANT = 0, PW_MEMBER_NAME, PW_MEMBER_LOSE, PW_MEMBER_FILL, PW_MEMBER_LEAVE, PW_MEMBER_EVENTS
};

struct pw_pull_spread_params {
        uint32_t own;        /* number of this host */
        uint32_t askers;     /* of a source at a time */
        struct pw_hash_secret secret;
        const struct pw_observer *observer; /* NULL: nobody watches; borrowed */
};
PW_MUST_CHECK enum pw_status pw_pull_spread_new(const struct pw_pull_spread_params *params, struct pw_pull_spread **ret_spread,
                                           struct pw_error *ret_err);
void pw_pull_spread_free(struct pw_pull_spread *spread);

/* This host has the value of `id`, offered by `number`; who was sent to what it offered before is sent to this. Errors:
 * PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_pull_spread_offer(struct pw_pull_spread *spread, struct pw_id id, uint64_t number,
                                                  struct pw_error *ret_err);
/* It has it no more, for that reason, an error: what those are told for whom there is no other source. */
void pw_pull_spread_withdraw(struct pw_pull_spread *spread, struct pw_id id, enum pw_status status);

/* WANT, REPORT, WHOLE, HAVE, LEAVE. A WANT of what nobody offers is answered by why, or PW_GONE. Errors: PW_PROTOCOL, PW_NO_MEMORY:
 * nothing has changed; give the host up. */
PW_MUST_CHECK enum pw_status pw_pull_spread_receive(struct pw_pull_spread *spread, uint32_t host,
                                                    const struct pw_pull_message *message, struct pw_error *ret_err);
/* The term with `host` has ended. */
void pw_pull_spread_ended(struct pw_pull_spread *spread, uint32_t host);

/* `message` to `host`, on its link. `answers`: a work is done with it. */
struct pw_pull_spread_action { uint32_t host; bool answers; struct pw_pull_message message; };
bool pw_pull_spread_next(struct pw_pull_spread *spread, struct pw_pull_spread_action *ret_action);

struct pw_pull_spread_row {
        struct pw_id id;
        uint32_t host, source;   /* source: of PULLING */
        uint64_t number, source_number;
        enum pw_member_state state;
        uint32_t depth, askers;  /* depth: sends between it and a whole value */
};
void pw_pull_spread_each(const struct pw_pull_spread *spread, void (*row)(void *, const struct pw_pull_spread_row *),
                         void *context);
uint32_t pw_pull_spread_objects(const struct pw_pull_spread *spread); /* that are offered, or have members */

#endif

/* What names and leases hold on this host, handed on to who takes over while it drains.
 *
 * Each is an item, by a number of the driver's, with the id of what it holds. The other host is asked to take it: it gets the
 * object, holds it by a name or lease of its own, and only then says so; what it holds then this host lets go of. So one of the two
 * holds it at every moment. Who says no, or nothing before the term ends, is asked again, and so is another one that takes over
 * instead; who takes what it has taken already says yes. An item that ends here meanwhile is forgotten, whatever is answered.
 *
 * What there is is looked at now and then: all of it is seen, and what was not seen is not there any more. A few are asked for at a
 * time.
 *
 * Events are calls, effects are actions. Times are those of CLOCK_BOOTTIME. Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_DRAIN_HAND_H
#define PW_CLUSTER_DRAIN_HAND_H

#include "base/id.h"

struct pw_hand;

struct pw_hand_params {
        uint32_t window;    /* items that are asked for at a time */
        uint64_t pause_us;  /* before one that was refused is asked for again */
};
PW_MUST_CHECK enum pw_status pw_hand_new(const struct pw_hand_params *params, struct pw_hand **ret_hand, struct pw_error *ret_err);
void pw_hand_free(struct pw_hand *hand);

/* `host` takes over from now on; 0: nobody. What another one was asked for is asked again. */
void pw_hand_to(struct pw_hand *hand, uint32_t host);
void pw_hand_ended(struct pw_hand *hand, uint32_t host); /* its term has */

/* All that there is, one after the other; nobody is asked for what is not ready. Errors: PW_NO_MEMORY: look again. */
void pw_hand_look(struct pw_hand *hand);
PW_MUST_CHECK enum pw_status pw_hand_see(struct pw_hand *hand, uint64_t number, struct pw_id id, bool is_ready,
                                         struct pw_error *ret_err);
void pw_hand_looked(struct pw_hand *hand);

/* `host` says of what it was asked for: PW_OK, it has it; PW_EXISTS: it is not this host's to hand on any more; else why not. */
void pw_hand_answered(struct pw_hand *hand, uint32_t host, uint64_t number, enum pw_status status, uint64_t now_us);

enum pw_hand_action_kind {
        PW_HAND_ASK = 1, /* `host`, to take item `number` */
        PW_HAND_LET_GO,  /* of item `number`: it is the other host's */
};
struct pw_hand_action { enum pw_hand_action_kind kind; uint32_t host; uint64_t number; struct pw_id id; };
/* The next action; false: none. All are done before the next event. */
bool pw_hand_next(struct pw_hand *hand, uint64_t now_us, struct pw_hand_action *ret_action);
uint64_t pw_hand_next_us(const struct pw_hand *hand); /* when one that was refused is asked for again; UINT64_MAX: none is */

uint64_t pw_hand_count(const struct pw_hand *hand); /* those that are here still */

#endif

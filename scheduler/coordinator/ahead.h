/* Runs of several hosts that took over the blocks of others which were not admitted then: they are admitted behind them, and lose
 * what they have on a host with them.
 */
#ifndef PW_SCHEDULER_COORDINATOR_AHEAD_H
#define PW_SCHEDULER_COORDINATOR_AHEAD_H

#include "scheduler/coordinator/live.h"

/* On one host; of its `ahead`. */
struct pw_taken {
        struct pw_list link;   /* in `behind` of `from` */
        struct pw_live *by;
        struct pw_live *from;  /* NULL: that is admitted by now */
};

/* A host says whose, by their slots. False: one of them has no rooms there any more, so neither has this one. Errors: *ret_status
 * is PW_NO_MEMORY. */
bool pw_ahead_note(struct pw_live *live, uint32_t host, const struct pw_core_body *body, enum pw_status *ret_status);
void pw_ahead_forget(struct pw_live *live, uint32_t host);
/* Did it take over from `from` there? */
bool pw_ahead_is(const struct pw_live_host *host, const struct pw_live *from);
/* One of those that are not admitted; with `host` other than PW_NODE_NONE, that has no rooms there. NULL: none. */
const struct pw_live *pw_ahead_first(const struct pw_live *live, uint32_t host);
/* The run is admitted, or over: nobody comes behind it any more. */
void pw_ahead_leave(struct pw_live *live);

/* It may go on asking for rooms: pw_gathering_go_on(). */
void pw_ahead_wake(struct pw_live *live);
void pw_ahead_wake_behind(struct pw_live *live); /* likewise who took over from it */

#endif

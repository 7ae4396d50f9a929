/* Waiting for any number of entries with one sleep: on the bells of their segments, for which see hint.h.
 *
 *      pw_wide_begin(&wide, &place, bells, first);
 *      do
 *              pw_wide_arm(&wide);
 *      while (!what_was_waited_for_is_there() && pw_wide_sleep(&wide, deadline_ns) == PW_OK);
 *      pw_wide_end(&wide);
 *
 * Arming comes before the look: who swaps an entry after it finds the waiter counted and the bell armed, and rings. Between two
 * armings a bell costs its ringers one system call, however many entries they decide.
 */
#ifndef PW_PLANE_WIDE_H
#define PW_PLANE_WIDE_H

#include "plane/hint.h"

struct pw_wide {
        const struct pw_wait_place *place;
        uint64_t bells;                  /* bit i: bell i */
        uint32_t armed[PW_HINT_BELLS];   /* each as it was before the look */
        bool unwoken;                    /* the last sleep ended for a second look */
};
static inline uint64_t pw_wide_bell(uint32_t segment) { return UINT64_C(1) << segment % PW_HINT_BELLS; }

/* Count the caller in every bucket. `first`: one of the entries, for the note in place->notes[0].   Threads: the lane's. */
void pw_wide_begin(struct pw_wide *wide, const struct pw_wait_place *place, uint64_t bells, const struct pw_wait_item *first);
void pw_wide_arm(struct pw_wide *wide);
/* Until a bell rings that was not rung when it was armed, or it is time for a second look. Returns PW_OK (look again), PW_DEADLINE,
 * PW_DAEMON_GONE.   Blocks: yes. */
enum pw_status pw_wide_sleep(struct pw_wide *wide, int64_t deadline_ns);
void pw_wide_end(const struct pw_wide *wide);

#endif

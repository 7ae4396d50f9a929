/* How an executor waits: a few turns spinning, then yielding while what it waits for can be near
 * and nobody else computes there (base/yield.h), then asleep on its bell.
 */
#ifndef PW_EXECUTOR_WAIT_H
#define PW_EXECUTOR_WAIT_H

#include "executor/launch.h"

#define PW_YIELD_NS 50000u /* how long a wait yields before it sleeps */

/* Sleep at last, even if nothing is heard for long: `word` will reach `at_least`, and who stores that reads `sleepers` then. */
void pw_wait_slow(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least, _Atomic uint64_t *sleepers);

static inline uint64_t pw_wait_load(const _Atomic uint64_t *word)
{
        return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)word, memory_order_acquire);
}
/* Wait until *word >= at_least. */
static inline void pw_wait_for(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least,
                               _Atomic uint64_t *sleepers)
{
        if (pw_wait_load(word) < at_least)
                pw_wait_slow(launch, word, at_least, sleepers);
}
/* Wait until `word`, of the board of `device`, says that this came so far in gang `seq`, where the own device is a member too.
 * False: it never will, for the device is done with that gang, its board written over, or its process ended there. */
PW_MUST_CHECK bool pw_wait_member_slow(struct pw_launch *launch, uint32_t device, const _Atomic uint64_t *word, uint64_t seq);
PW_MUST_CHECK static inline bool pw_wait_member(struct pw_launch *launch, uint32_t device, const _Atomic uint64_t *word,
                                                uint64_t seq)
{
        return pw_wait_load(word) >= seq || pw_wait_member_slow(launch, device, word, seq);
}
/* The same, while what is under way on the own device goes on and is published: behind it something is to be launched. */
PW_MUST_CHECK bool pw_wait_member_ahead(struct pw_launch *launch, uint32_t device, const _Atomic uint64_t *word, uint64_t seq);
/* Wait until `device` is done with gang `seq` of its island. */
static inline void pw_wait_done(struct pw_launch *launch, uint32_t device, uint64_t seq)
{
        const struct pw_device_board *board = launch->given.boards[device];

        if (pw_wait_load(&board->done.seq) >= seq)
                return;
        pw_wait_slow(launch, &board->done.seq, seq, &launch->given.bells->sleepers[device].bits);
        launch->given.kind->not_before(launch->given.handle, pw_wait_load(&board->done.at_ns));
}
/* Wait until *word >= at_least, something rang or the device may have done something, yielding only until `yield_until_ns`. */
void pw_wait_rung(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least, _Atomic uint64_t *sleepers,
                  uint64_t yield_until_ns);

#endif

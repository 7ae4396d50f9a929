/* Floors that need other processes: what the machine does with bare shared memory.
 */
#ifndef PW_TESTS_BENCH_PAIR_H
#define PW_TESTS_BENCH_PAIR_H

#include "base/error.h"

/* Burn the processor for so long. */
void pw_pair_burn(double seconds);
/* How two processes wait for each other over one word: look so often, with a pause between, then sleep in a futex; or never
 * sleep. */
struct pw_pair_trips {
        uint32_t count, looks;
        bool sleeps;
        double begin_burns, answer_burns; /* seconds that each of them burns before it sets its word; not counted */
};
/* Mean time of a round trip. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_pair_round_trip(const struct pw_pair_trips *trips, double *ret_us, struct pw_error *ret_err);
/* Cells of 16 bytes per second that go through a ring to another process and back through a second one, `ahead` under way. */
PW_MUST_CHECK enum pw_status pw_pair_rings(uint32_t cells, uint32_t ahead, double *ret_per_s, struct pw_error *ret_err);
/* All-reduces of one number per second among `members` processes, each adding in rank order: spin 200 turns, then yield. */
PW_MUST_CHECK enum pw_status pw_pair_reduce(uint32_t members, uint32_t rounds, double *ret_per_s, struct pw_error *ret_err);
/* Mean time in which two processes at once each copy `bytes` into memory that was touched, half of them out of the other's. */
PW_MUST_CHECK enum pw_status pw_pair_copies(uint64_t bytes, uint32_t rounds, double *ret_seconds, struct pw_error *ret_err);

#endif

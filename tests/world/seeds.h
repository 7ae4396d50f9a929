/* Which seeds a test plays. */
#ifndef PW_TESTS_WORLD_SEEDS_H
#define PW_TESTS_WORLD_SEEDS_H

#include <stdint.h>

/* `count` from `first` on and `fresh` others, new each time, unless the environment says otherwise: PW_WORLD_SEED=n that one alone,
 * PW_WORLD_SEEDS=n so many, PW_WORLD_SKIP=n those behind the first n. */
struct world_seeds { uint64_t first, count, fresh, fresh_first; };
struct world_seeds world_seeds(uint64_t first, uint64_t count, uint64_t fresh);
uint64_t world_seed(const struct world_seeds *seeds, uint64_t i); /* i < count + fresh */

#endif

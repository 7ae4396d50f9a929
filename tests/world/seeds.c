#include "tests/world/seeds.h"

#include <stdlib.h>
#include <sys/random.h>

struct world_seeds world_seeds(uint64_t first, uint64_t count, uint64_t fresh)
{
        const char *one = getenv("PW_WORLD_SEED"), *many = getenv("PW_WORLD_SEEDS"), *skip = getenv("PW_WORLD_SKIP");

        if (one)
                return (struct world_seeds){ strtoull(one, NULL, 10), 1, 0, 0 };
        struct world_seeds seeds = { first + (skip ? strtoull(skip, NULL, 10) : 0), many ? strtoull(many, NULL, 10) : count,
                                     many ? 0 : fresh, 0 };
        if (getrandom(&seeds.fresh_first, sizeof seeds.fresh_first, 0) != (ssize_t)sizeof seeds.fresh_first)
                seeds.fresh = 0;
        seeds.fresh_first >>= 16; /* short enough to be typed again */
        return seeds;
}

uint64_t world_seed(const struct world_seeds *seeds, uint64_t i)
{
        return i < seeds->count ? seeds->first + i : seeds->fresh_first + (i - seeds->count);
}

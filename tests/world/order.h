/* What tests of order and of losses share.
 */
#ifndef PW_TESTS_WORLD_ORDER_H
#define PW_TESTS_WORLD_ORDER_H

#include "tests/world/world.h"

#include "base/memory.h"
#include "scheduler/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct world world;

static inline void begin(uint32_t islands, uint32_t devices_per_island, uint32_t ahead)
{
        world_init(&world, 1,
                   &(struct world_options){ .islands = islands, .devices_per_island = devices_per_island, .ahead = ahead,
                                           .capacity = 1 << 20, .donations = 1 });
}

/* The device steps until it is at that gang, with what it has launched ahead of it done. */
static inline void reach(uint32_t device, uint64_t seq)
{
        while (atomic_load(&world.executors[device].board->running) != seq)
                assert_true(world_step(&world, device));
}

static inline struct world_object *run_on(struct world_program *program, struct world_object *input, bool sequential)
{
        return world_submit(&world, program, (struct world_object *[]){ input }, sequential)->results[0];
}

#endif

/* What tests of admission and of waiting share.
 */
#ifndef PW_TESTS_WORLD_ADMISSION_H
#define PW_TESTS_WORLD_ADMISSION_H

#include "tests/world/world.h"

#include "scheduler/state.h"

#include "base/memory.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct world world;

static struct world_program *step, *large, *block; /* 1 KiB; 4 KiB; 1 KiB beside a block of 8 KiB */

static inline void begin(uint64_t capacity)
{
        world_init(&world, 1, &(struct world_options){ .tenants = 2, .islands = 1, .devices_per_island = 1, .ahead = 8,
                                                       .capacity = capacity });
        step = &world.programs[0];
        large = &world.programs[1];
        block = &world.programs[2];
        world_make_chain(&world, step, "step", 1, 236);
        world_make_chain(&world, large, "large", 1, 1004);
        if (capacity >= 12 << 10) /* else it is refused: it could never fit */
                world_make_chain(&world, block, "block", 3, 1004);
}

static inline struct world_object *submit(struct world_program *program)
{
        struct world_object *input = world_put(&world, program, 0, true);
        struct world_object *result = world_submit(&world, program, &input, false)->results[0];

        if (input->held)
                world_drop(&world, input);
        return result;
}

static inline enum pw_run_state state_of(const struct world_object *result)
{
        return result->maker->run ? result->maker->run->state : PW_RUN_ENDED;
}

#endif

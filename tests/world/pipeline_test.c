/* Pipelines whose stages lie in different islands, each with a quota, and two programs that fit into memory alone but not together:
 * whatever the seed, all runs end with what the programs say, none at a deadline, and nobody ever waits for what does not come. */
#include "tests/world/world.h"

#include "program/image/image.h"
#include "program/lower/lower.h"
#include "scheduler/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct world world;
static uint64_t queued, behind; /* looks at which a run waited for room; a run was behind another in one block */

static void look(void)
{

        queued += world.scheduler->queue_count > 0;
        for (uint32_t i = 0; i < world.scheduler->own->run_capacity; i++)
                behind += world.scheduler->own->runs[i] && world.scheduler->own->runs[i]->ahead_count > 0;
}

/* Something moves in each round, or nothing is left: devices in any order, messages late. */
static void round_of(uint32_t rounds)
{
        while (rounds-- && world.runs_open) {
                for (uint32_t i = 0; i < world.device_count * 2; i++)
                        world_step(&world, world_random(&world, world.device_count));
                world.now_us += world_random(&world, 20);
                world_daemon(&world);
                look();
                if (!world_random(&world, 8))
                        world_check(&world);
        }
}

static void drop_decided(bool all)
{
        struct world_object *object;

        pw_list_each(&world.objects, object, struct world_object, link)
                if (object->held && (all || (object->result && object->decided)))
                        world_drop(&world, object);
        world_daemon(&world);
}

static void submit(struct world_program *program)
{
        struct world_object *inputs[WORLD_INPUTS];

        for (uint32_t i = 0; i < program->row->input_count; i++)
                inputs[i] = world_put(&world, program, i, true);
        world_submit(&world, program, inputs, false);
        for (uint32_t i = 0; i < program->row->input_count; i++)
                if (inputs[i]->held)
                        world_drop(&world, inputs[i]);
}

static uint64_t peak_of(const struct world_program *program)
{
        uint64_t peak = 0;

        assert_int_equal(pw_image_peak(program->row->image, program->row->slices, &peak, NULL), PW_OK);
        return peak;
}

static const struct pw_image_stage *stage(const struct pw_program_row *row, uint32_t index)
{
        return pw_image_stage(row->image, index);
}

static bool expect_quota(void *context, const struct pw_program_row *row)
{
        (void)context;
        for (uint32_t s = 0; s < row->image->stage_count; s++)
                assert_true(stage(row, s)->rooms * stage(row, s)->blocks <= stage(row, s)->quota);
        return true;
}

static void play(uint64_t seed)
{
        struct world_options options = { .islands = 2 + (uint32_t)(seed % 3), .devices_per_island = 2,
                                         .ahead = 4 + (uint32_t)(seed % 5),
                                         .capacity = 1 << 20, .donations = -1, .slow_messages = true };
        uint64_t peaks[2], most;

        world_init(&world, seed, &options);
        for (uint32_t i = 0; i < 2; i++) {
                world_make_pipeline(&world, &world.programs[i]);
                peaks[i] = peak_of(&world.programs[i]);
        }
        most = peaks[0] > peaks[1] ? peaks[0] : peaks[1];
        /* Either of them fits, and a result or two of the other; not both. */
        for (uint32_t d = 0; d < world.device_count; d++)
                world_shrink(&world, d, most + world_random(&world, 3) * 448);
        assert_false(pw_scheduler_programs(world.scheduler, &(struct pw_program_walk){ 0 }, UINT32_MAX, expect_quota, NULL));
        for (uint32_t i = 0; i < 12; i++) {
                submit(&world.programs[world_random(&world, 2)]);
                round_of(world_random(&world, 3));
                if (world_random(&world, 2))
                        drop_decided(false);
        }
        for (uint32_t turns = 0; world.runs_open; turns++) {
                uint64_t ended = world.ended;
                round_of(200);
                drop_decided(false);
                if (turns > 40 && ended == world.ended)
                        world_fail(&world, "%u runs do not end", world.runs_open);
        }
        if (world.failed)
                world_fail(&world, "%lu results are errors", (unsigned long)world.failed);
        world_check(&world);
        drop_decided(true);
        world_done(&world);
}

static void test_pipelines(void **state)
{
        struct world_seeds seeds = world_seeds(1, 200, 20);

        (void)state;
        for (uint64_t i = 0; i < seeds.count + seeds.fresh; i++)
                play(world_seed(&seeds, i));
        printf("%lu seeds, %lu others from %lu on, %lu looks at which a run waited for room, %lu at one behind another\n",
               (unsigned long)seeds.count, (unsigned long)seeds.fresh, (unsigned long)seeds.fresh_first, (unsigned long)queued,
               (unsigned long)behind);
        assert_true(seeds.count == 1 || (queued && behind));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_pipelines) };

        return WORLD_RUN_TESTS(tests);
}

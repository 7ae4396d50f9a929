/* Resolved nodes that are kept: their bytes are bounded, what runs again and again stays among them whatever runs once, and a node
 * with more waits than are kept waits all the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/fixture_test.h"

#define LARGE 4000u /* nodes */
#define SMALL 100u
#define LARGE_COUNT 6u

static struct build *chain(uint32_t nodes, uint32_t device_count)
{
        static const uint32_t devices[] = { 0, 1 };
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, device_count, 0), values[2];

        for (uint32_t i = 0; i < 2; i++)
                values[i] = build_value(build, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        build_input(build, values[0]);
        for (uint32_t i = 1; i < nodes; i++)
                build_call(build, &(struct build_call){ .function = "pw/nop", .inputs = { values[(i + 1) % 2] }, .input_count = 1,
                                                        .output = values[i % 2] });
        build_result(build, values[(nodes - 1) % 2]);
        return build;
}

/* Each node once, as a run does it. Returns how many were resolved. */
static uint32_t pass(struct pw_programs *programs, const struct run *run, uint32_t nodes)
{
        struct pw_exec_program *program;
        struct pw_error err;
        uint32_t resolved = 0;

        assert_int_equal(pw_programs_get(programs, run_record(run, 0), &program, &err), PW_OK);
        for (uint32_t n = 0; n < nodes; n++) {
                struct pw_program_node *node;
                assert_int_equal(pw_program_node_get(programs, program, n, &node, &err), PW_OK);
                assert_true(programs->node_bytes <= PW_NODES_BYTES + node->bytes);
                assert_true(node->index == n && node->program == program && node->role == PW_ROLE_RECEIVER);
                resolved += !node->tried;
                node->tried = true;
        }
        return resolved;
}

static void test_bound(void **state)
{
        static struct program large[LARGE_COUNT];
        static struct run large_runs[LARGE_COUNT];
        struct pw_programs *programs = calloc(1, sizeof *programs);
        struct program small;
        struct run small_run;
        struct world world;
        uint32_t again = 0, passes = 0;
        (void)state;

        assert_non_null(programs);
        world_init(&world, 1, 1);
        *programs = (struct pw_programs){ .islands = world.islands, .host = WORLD_HOST };
        pw_exec_programs_init(programs);
        program_init(&small, &world, chain(SMALL, 1));
        run_init(&small_run, &small, &input_one);
        for (uint32_t i = 0; i < LARGE_COUNT; i++) {
                program_init(&large[i], &world, chain(LARGE, 1));
                run_init(&large_runs[i], &large[i], &input_one);
                assert_int_equal(pass(programs, &large_runs[i], LARGE), LARGE);
        }
        for (uint32_t i = 0; i < 200; i++) /* it comes when there is no room, and stays soon */
                pass(programs, &small_run, SMALL);
        assert_int_equal(pass(programs, &small_run, SMALL), 0);
        for (uint32_t i = 0; i < 4 * LARGE_COUNT; i++, passes++) {
                pass(programs, &large_runs[i % LARGE_COUNT], LARGE);
                again += pass(programs, &small_run, SMALL);
        }
        if (again > passes * SMALL / 20)
                fail_msg("%u of %u nodes of a program that runs again and again were resolved again", again, passes * SMALL);
        pw_exec_programs_done(programs);
        assert_int_equal(programs->node_bytes, 0);
        free(programs);
        world_done(&world);
        program_done(&small);
        for (uint32_t i = 0; i < LARGE_COUNT; i++)
                program_done(&large[i]);
}

/* The list of what the calls read, values 0 and 1, serves as one of nodes 0 and 1. */
static void test_many_waits(void **state)
{
        struct trial trial;
        struct pw_image *image;
        struct pw_image_node *last;
        (void)state;

        trial_init(&trial, 2, 1, chain(2 * PW_NODE_WAITS_MAX, 2));
        image = pw_board_line(trial.world.islands[trial.program.island], trial.program.line);
        last = (struct pw_image_node *)(uintptr_t)pw_image_node(image, image->node_count - 1);
        last->waits = pw_image_node(image, 0)->outputs;
        last->wait_count = PW_NODE_WAITS_MAX;
        for (uint32_t i = 0; i < last->wait_count; i++)
                assert_true(PW_IMAGE_AT(image, uint32_t, last->waits)[i] < 2);
        world_start_all(&trial.world);
        for (uint32_t i = 0; i < 3; i++)
                trial_run(&trial, &input_one);
        for (uint32_t d = 0; d < 2; d++)
                assert_int_equal(run_head(&trial.run, 0, d)->status, PW_OK);
        trial_done(&trial);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_bound), cmocka_unit_test(test_many_waits) };

        return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}

/* Marks, heads of rooms and counts of a device that is not to be believed: two executors beside it come to the end of every gang,
 * with a value or a known error, and live; once it does what it should, what it wrote before is in nobody's way.
 *
 * Three devices run load, call, all-reduce, call; the all-reduce eagerly, by rooms or in parts. The third has no process at first:
 * an input writes what that one would publish. */
#include "executor/fixture_test.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEVICES 3u
#define LIAR 2u
#define GANGS 4u
#define STEPS_MAX 24

/* Of arrival, or of the part that it made. */
static void any_mark(struct world *world, struct fuzz_bytes *bytes)
{
        uint8_t how = (uint8_t)fuzz_take(bytes, 1);
        uint64_t seq = 1 + how % GANGS;
        struct pw_device_board *board = world->boards[LIAR];
        struct pw_mark *mark = how & 0x20 ? &board->parts.made : &board->marks[seq % PW_ORDER_LOG];

        mark->status = how & 0x40 ? (uint32_t)fuzz_take(bytes, 4) : (uint32_t)fuzz_take(bytes, 1) % 4;
        mark->at_ns = fuzz_take(bytes, 8);
        for (uint32_t i = 0; i < PW_MARK_BYTES; i++)
                mark->value[i] = (uint8_t)fuzz_take(bytes, 1);
        atomic_store(&mark->seq, how & 0x80 ? fuzz_take(bytes, 8) : seq);
        if (how & 0x10)
                atomic_store(&board->parts.taken, seq);
}

static void any_head(struct run *run, struct fuzz_bytes *bytes)
{
        uint8_t how = (uint8_t)fuzz_take(bytes, 1);
        struct pw_room_head *head = (struct pw_room_head *)(uintptr_t)run_head(run, how & 1, LIAR);
        uint64_t at = fuzz_take(bytes, 1) % (sizeof *head - 8);

        if (how & 2)
                *head = (struct pw_room_head){ .seq = fuzz_take(bytes, 1), .status = (uint32_t)fuzz_take(bytes, 2),
                                               .run = run->number,
                                               .cause_node = (uint32_t)fuzz_take(bytes, 4),
                                               .cause_device = { (uint16_t)fuzz_take(bytes, 2), (uint16_t)fuzz_take(bytes, 2) } };
        else
                for (uint32_t i = 0; i < 8; i++)
                        ((uint8_t *)head)[at + i] = (uint8_t)fuzz_take(bytes, 1);
}

static void any_count(struct world *world, struct fuzz_bytes *bytes)
{
        struct pw_device_board *board = world->boards[LIAR];
        uint8_t how = (uint8_t)fuzz_take(bytes, 1);
        uint64_t value = how & 0x80 ? fuzz_take(bytes, 8) : fuzz_take(bytes, 1) % 8;

        if (how & 1)
                atomic_store(&board->done.seq, value);
        if (how & 2)
                atomic_store(&board->done.count, value);
        if (how & 4)
                atomic_store(&board->running, value);
        pw_bells_ring(world->bells, &world->bells->sleepers[LIAR].bits, how >> 3);
}

/* The all-reduce is its node 2. */
static struct build *any_program(uint8_t how)
{
        struct build *build = build_failing(DEVICES, "broken/fail", 99, how & 1);

        if (!(how & 1) && how & 2)
                build->nodes[2].phase = PW_PHASE_PARTS;
        return build;
}

/* Its process is as one that was slow: it begins with the first gang. */
static void start_honest(struct world *world)
{
        struct pw_device_board *board = world->boards[LIAR];

        atomic_store(&board->running, 0);
        atomic_store(&board->done.count, 0);
        atomic_store(&board->done.seq, 0);
        world_start(world, LIAR);
}

static void expect_alive(const struct world *world)
{
        for (uint32_t d = 0; d < DEVICES; d++)
                if (waitpid(world->pids[d], NULL, WNOHANG) != 0) {
                        fprintf(stderr, "the executor of device %u has ended\n", d);
                        abort();
                }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        double one = 1.0;
        struct fuzz_bytes left = { bytes, count };
        struct input input = { .inline_value = &one, .bytes = 8, .shard_count = 1, .mesh = { 1 } };
        struct program program;
        struct world world;
        struct run lied, good;

        world_init(&world, DEVICES, 1);
        program_init(&program, &world, any_program((uint8_t)fuzz_take(&left, 1)));
        run_init(&lied, &program, &input);
        run_order_all(&lied);
        for (uint32_t d = 0; d < LIAR; d++)
                world_start(&world, d);
        for (int step = 0; step < STEPS_MAX && left.left; step++)
                switch (fuzz_take(&left, 1) % 4) {
                case 0: any_count(&world, &left); break;
                case 1: any_head(&lied, &left); break;
                default: any_mark(&world, &left);
                }
        start_honest(&world);
        run_wait(&lied);
        for (uint32_t d = 0; d < LIAR; d++)
                assert(pw_status_known(run_head(&lied, 1, d)->status));
        run_init(&good, &program, &input);
        run_order_all(&good);
        run_wait(&good);
        for (uint32_t d = 0; d < DEVICES; d++)
                assert(run_head(&good, 1, d)->status == PW_OK && *(const double *)run_data(&good, 1, d) == 2.0 * DEVICES);
        expect_alive(&world);
        world_done(&world);
        program_done(&program);
        return 0;
}

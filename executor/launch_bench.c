/* How fast executors run gangs when nothing else does anything: a chain on one device; pairs of all-reduce and add over eight.
 *
 * Prints gangs (or pairs) per second. Not a test: run it by hand. `launch_bench [devices]`
 */
#include "executor/fixture_test.h"
#include "plane/hint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>

#define NODES 1000u

static uint32_t all_devices[PW_DEVICES_MAX];

/* Order `rounds` times all nodes of a run, as far ahead as the log allows. Returns seconds. */
static double order_rounds(const struct run *run, uint32_t rounds)
{
        struct world *world = run->program->world;
        struct pw_island_board *board = world->islands[0];
        struct pw_order batch[64];
        uint64_t head = atomic_load(&board->head), end = head + (uint64_t)rounds * NODES,
                 members = (UINT64_C(1) << world->device_count) - 1;
        int64_t start = pw_now_ns();

        while (head < end) {
                uint64_t behind = UINT64_MAX;
                for (uint32_t d = 0; d < world->device_count; d++)
                        behind = pw_min_u64(behind, atomic_load(&world->boards[d]->done.seq));
                if (head + pw_array_count(batch) - behind > PW_ORDER_REACH) {
                        sched_yield();
                        continue;
                }
                for (uint32_t i = 0; i < pw_array_count(batch); i++)
                        batch[i] = (struct pw_order){ run->lines[0], (uint32_t)((head + i) % NODES), members };
                pw_order_append_many(board, batch, pw_array_count(batch));
                pw_bells_ring(world->bells, &world->bells->order_sleepers[0].bits, members);
                head += pw_array_count(batch);
        }
        for (uint32_t d = 0; d < world->device_count; d++)
                while (atomic_load(&world->boards[d]->done.seq) < head)
                        sched_yield();
        return (double)(pw_now_ns() - start) / 1e9;
}

static void measure(const char *name, struct build *build, uint32_t device_count, uint32_t rounds, uint32_t per_node)
{
        double one = 1.0, seconds, best = 0;
        struct input input = INPUT(one);
        struct program program;
        struct world world;
        struct run run;

        world_init(&world, device_count, 1);
        program_init(&program, &world, build);
        run_init(&run, &program, &input);
        world_start_all(&world);
        order_rounds(&run, 1);
        for (uint32_t i = 0; i < 5; i++) {
                seconds = order_rounds(&run, rounds);
                if (rounds * NODES / seconds > best)
                        best = rounds * NODES / seconds;
        }
        printf("%-12s %2u devices  %10.0f per s\n", name, device_count, best / per_node);
        world_done(&world);
        program_done(&program);
}

static struct build *chain(void)
{
        struct build *build = build_new();
        uint32_t slice = build_slice(build, all_devices, 1, 0), values[2];

        for (uint32_t i = 0; i < 2; i++)
                values[i] = build_value(build, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        build_input(build, values[0]);
        for (uint32_t i = 1; i < NODES; i++)
                build_call(build, &(struct build_call){ .function = "pw/nop", .inputs = { values[(i + 1) % 2] }, .input_count = 1,
                                                        .output = values[i % 2] });
        return build;
}

static struct build *pairs(uint32_t device_count)
{
        struct build *build = build_new();
        uint32_t slice = build_slice(build, all_devices, device_count, 0);
        uint32_t part = build_value(build, slice, PW_F64, PW_SCALAR, PW_PARTIAL(PW_SUM));
        uint32_t whole = build_value(build, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
        uint32_t one = build_value(build, slice, PW_F64, PW_SCALAR, PW_BROADCAST);

        build_input(build, one);
        build_call(build, &(struct build_call){ .function = "pw/nop", .inputs = { one }, .input_count = 1, .output = part });
        for (uint32_t i = 2; i < NODES; i += 2) {
                build_transfer(build, &(struct build_transfer){ .from = part, .to = whole, .eager = true });
                build_call(build, &(struct build_call){
                                          .function = "pw/add", .inputs = { whole, one }, .input_count = 2, .output = part });
        }
        return build;
}

int main(int argc, char **argv)
{
        uint32_t device_count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 8;

        for (uint32_t d = 0; d < PW_DEVICES_MAX; d++)
                all_devices[d] = d;
        setbuf(stdout, NULL);
        measure("chain", chain(), 1, 1000, 1);
        for (uint32_t d = 2; d <= device_count; d *= 2)
                measure("pairs", pairs(d), d, 50, 2);
        return 0;
}

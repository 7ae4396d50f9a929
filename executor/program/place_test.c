/* Places that cannot be: rooms outside of their segments, rooms that do not hold what the image writes there, inputs shorter than
 * their shape. Such a run ends typed, nothing of it is read or written, and the next one goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/fixture_test.h"

#define DEVICES 2u

static struct pw_run_room *room_of(const struct run *run, bool block, uint32_t index, uint32_t place)
{
        struct pw_run_record *record = run_record(run, 0);
        const uint32_t *lists = PW_RUN_AT(record, uint32_t, block ? record->blocks : record->results);

        return PW_RUN_AT(record, struct pw_run_room, lists[index]) + place;
}

static struct pw_run_shard *shard_of(const struct run *run)
{
        struct pw_run_record *record = run_record(run, 0);

        return PW_RUN_AT(record, struct pw_run_shard, PW_RUN_AT(record, struct pw_run_input, record->inputs)->shards);
}

static void result_short(struct run *run) { room_of(run, false, 1, 0)->bytes -= 1; }
static void result_behind(struct run *run) { room_of(run, false, 1, 0)->offset = ROOMS_BYTES - 64; }
static void result_far(struct run *run) { room_of(run, false, 0, 0)->offset = UINT64_MAX - 63; }
static void block_short(struct run *run) { room_of(run, true, 0, 0)->bytes -= 64; }
static void block_behind(struct run *run) { room_of(run, true, 0, 0)->offset = ROOMS_BYTES; }
static void input_short(struct run *run) { shard_of(run)->bytes = 7; }
static void input_behind(struct run *run) { shard_of(run)->offset = SEGMENT_BYTES - 7; }
static void input_far(struct run *run) { shard_of(run)->offset = UINT64_MAX - 7; }
static void input_many(struct run *run)
{
        struct pw_run_record *record = run_record(run, 0);

        PW_RUN_AT(record, struct pw_run_input, record->inputs)->shard_count = 0;
}
static void input_inline(struct run *run) /* an inline value is there as far as its 24 bytes go; 8 are asked for: it is well */
{
        struct pw_run_record *record = run_record(run, 0);
        struct pw_run_input *input = PW_RUN_AT(record, struct pw_run_input, record->inputs);
        double one = 1.0;

        input->is_inline = 1;
        memcpy(input->value, &one, sizeof one);
}

/* Of each place of the run: nobody wrote there. */
static bool is_untouched(const struct run *run, uint32_t place)
{
        return run_head(run, 0, place)->seq == 0 && run_head(run, 1, place)->seq == 0;
}

static uint32_t refusals(const struct world *world, uint32_t device)
{
        struct pw_report report;
        uint32_t head = atomic_load(&world->boards[device]->report_head), count = 0;

        while (pw_report_pop(world->boards[device], &head, &report))
                count += report.status == PW_PROTOCOL && report.result == PW_NODE_NONE;
        return count;
}

static void test_records(void **state)
{
        static const struct { void (*spoil)(struct run *); bool well, untouched; } cases[] = {
                { result_short, false, true }, { result_behind, false, false }, { result_far, false, false },
                { block_short, false, true },  { block_behind, false, true },   { input_short, false, false },
                { input_behind, false, false }, { input_far, false, false },    { input_many, false, false },
                { input_inline, true, false },
        };
        struct trial trial;
        (void)state;

        trial_start(&trial, DEVICES, 1, build_failing(DEVICES, "broken/fail", 99, true));
        for (uint32_t i = 0; i < pw_array_count(cases); i++) {
                struct input input = { .bytes = 8 };
                struct run bad, good;

                *(double *)input_in_host(&input, &trial.world) = 1.0;
                run_init(&bad, &trial.program, &input);
                run_init(&good, &trial.program, &input);
                cases[i].spoil(&bad);
                run_order_all(&bad);
                run_order_all(&good);
                run_wait(&good);
                if ((refusals(&trial.world, 0) > 0) == cases[i].well)
                        fail_msg("case %d is %s", (int)i, cases[i].well ? "refused" : "not refused");
                if (cases[i].untouched)
                        assert_true(is_untouched(&bad, 0));
                for (uint32_t d = 0; d < DEVICES; d++)
                        assert_true(*(const double *)run_data(&good, 1, d) == 2.0 * DEVICES);
        }
        trial_done(&trial);
}

/* An image whose values are longer than their rooms, or lie behind their block. */
static void test_images(void **state)
{
        struct trial trial;
        (void)state;

        for (uint32_t i = 0; i < 2; i++) {
                struct build *build = build_failing(1, "broken/fail", 99, true);
                struct run run;

                if (i)
                        build->values[0].shard_bytes = 4;
                trial_init(&trial, 1, 1, build);
                if (!i) {
                        struct pw_image *image = pw_board_line(trial.world.islands[trial.program.island], trial.program.line);
                        ((struct pw_image_value *)(uintptr_t)pw_image_value(image, 0))->offset += UINT64_C(1) << 40;
                }
                world_start_all(&trial.world);
                run_init(&run, &trial.program, &input_one);
                run_order_all(&run);
                run_wait(&run);
                assert_true(refusals(&trial.world, 0) > 0);
                assert_true(is_untouched(&run, 0));
                trial_done(&trial);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_records), cmocka_unit_test(test_images) };

        return world_tests(tests);
}

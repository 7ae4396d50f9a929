/* Results in shards, as one process gets them: gathered, reduced, in order. */
#include "libclient/program/program_fixture_test.h"

/* --- sharded results --------------------------------------------------------------------------------------------------------- */

/* The one result of a run of one step. */
static struct pw_future *run_once(struct world *world)
{
        struct pw_program *program = step(world, 0);
        struct pw_future *weights = put_weights(world), *images = put_images(world), *result;
        assert_int_equal(pw_run(program, PW_FUTURES(weights, images), &result, NULL), PW_OK);
        pw_unref(weights);
        pw_unref(images);
        pw_program_free(program);
        return result;
}

static void expect_gathered(struct pw_future *future, const int32_t want[5])
{
        struct pw_view view;
        assert_int_equal(pw_get(future, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(view.bytes, 5 * sizeof(int32_t));
        assert_int_equal(view.dtype, PW_I32);
        assert_int_equal(view.dims.dim[0], 5);
        assert_memory_equal(view.data, want, view.bytes);
        pw_view_done(&view);
}

static void expect_shard(struct pw_future *future, uint32_t shard, uint64_t count, int32_t first)
{
        struct pw_view view;
        assert_int_equal(pw_get_shard(future, shard, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(view.bytes, count * sizeof(int32_t));
        assert_int_equal(view.dims.dim[0], count);
        assert_int_equal(*(const int32_t *)view.data, first);
        pw_view_done(&view);
}

static void test_split_is_gathered(void **state)
{
        struct pw_future *result = run_once(*state);
        struct pw_view view;
        struct pw_info info;
        expect_gathered(result, (const int32_t[]){ 1, 2, 3, 10, 20 });
        expect_shard(result, 0, 3, 1);
        expect_shard(result, 1, 2, 10);
        assert_int_equal(pw_get_shard(result, 2, PW_FOREVER, &view, NULL), PW_INVALID);
        assert_int_equal(pw_future_info(result, &info, NULL), PW_OK);
        assert_int_equal(info.shard_count, 2);
        assert_int_equal(info.bytes, 20);
        pw_unref(result);
}

static void test_partial_is_reduced(void **state)
{
        struct pw_future *result = run_once(*state);
        expect_gathered(result, (const int32_t[]){ 11, 22, 33, 44, 55 });
        expect_shard(result, 1, 5, 10);
        pw_unref(result);
}

static void test_broadcast_is_shard_0(void **state)
{
        struct pw_future *result = run_once(*state);
        expect_gathered(result, (const int32_t[]){ 1, 2, 3, 4, 5 });
        pw_unref(result);
}

static void test_short_shard(void **state)
{
        struct pw_future *result = run_once(*state);
        struct pw_view view;
        assert_int_equal(pw_get(result, PW_FOREVER, &view, NULL), PW_PROTOCOL);
        pw_unref(result);
}

/* Values of one column whose sum is another one in every other order of the shards. */
#define COLUMNS 6u

static const float in_order[4][COLUMNS] = {
        { 1e8f, 1, 1e8f, 3e7f, 1, 1e-8f },
        { 3, 1e8f, 5, 7, 1e-8f, 1 },
        { -1e8f, -1e8f, 9, -3e7f, 1e8f, -1 },
        { 7, 3, -1e8f, 1, -1e8f, 5e-8f },
};

static void test_partial_is_summed_in_order(void **state)
{
        struct pw_future *result = run_once(*state);
        struct pw_view view;
        assert_int_equal(pw_get(result, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(view.bytes, COLUMNS * sizeof(float));
        for (uint32_t i = 0; i < COLUMNS; i++) {
                volatile float sum = in_order[0][i];
                for (uint32_t shard = 1; shard < 4; shard++)
                        sum = sum + in_order[shard][i];
                assert_true(((const float *)view.data)[i] == sum);
        }
        pw_view_done(&view);
        pw_unref(result);
}

/* The device of shard 0 is lost while the value is gathered: when it comes to shard 2, what it read of shard 0 may be anything. */
static struct { struct fake_daemon *fake; uint8_t *page; int times; } losing;

static void on_read(int signal)
{
        (void)signal;
        losing.times++;
        fake_lose(losing.fake, 1);
        mprotect(losing.page, 4096, PROT_READ);
}

static void test_gathers_again_after_a_loss(void **state)
{
        struct world *world = *state;
        struct pw_future *result = run_once(world);
        struct sigaction before, action = { .sa_handler = on_read };
        struct pw_view view;
        assert_int_equal(pw_get_shard(result, 2, PW_FOREVER, &view, NULL), PW_OK);
        losing.fake = world->fake;
        losing.page = (uint8_t *)(uintptr_t)view.data;
        losing.times = 0;
        pw_view_done(&view);
        assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
        assert_int_equal(mprotect(losing.page, 4096, PROT_NONE), 0);
        assert_int_equal(pw_get(result, PW_FOREVER, &view, NULL), PW_OK);
        assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
        assert_int_equal(losing.times, 1);
        for (int32_t i = 0; i < 4; i++)
                assert_int_equal(((const int32_t *)view.data)[i], i + 1);
        pw_view_done(&view);
        pw_unref(result);
}

static int setup_in_order(void **state)
{
        static const struct fake_value value = { .dtype = PW_F32, .dims = { 1, { COLUMNS } }, .mesh = { 4, 1 }, .shard_count = 4,
                                                 .sharding = { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_BROADCAST } },
                                                 .shard_bytes = sizeof in_order[0],
                                                 .data = in_order };
        return start(state, &(struct fake_params){ .value = &value });
}

/* Split over the rows of the mesh, the same in each column: shards 0 and 1, 2 and 3 hold the same. */
static int setup_losing(void **state)
{
        static const int32_t shards[4][2] = { { 77, 77 }, { 1, 2 }, { 3, 4 }, { 3, 4 } };
        static const struct fake_value value = { .dtype = PW_I32, .dims = { 1, { 4 } }, .mesh = { 2, 2 }, .shard_count = 4,
                                                 .sharding = { { PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST } },
                                                 .shard_bytes = sizeof shards[0], .data = shards };
        return start(state, &(struct fake_params){ .value = &value });
}

static int setup_split(void **state) { return start(state, &(struct fake_params){ .sharded = true, .sharding = PW_SPLIT(0) }); }

static int setup_partial(void **state)
{
        return start(state, &(struct fake_params){ .sharded = true, .sharding = PW_PARTIAL(PW_SUM) });
}

static int setup_broadcast(void **state) { return start(state, &(struct fake_params){ .sharded = true }); }

static int setup_short(void **state)
{
        return start(state, &(struct fake_params){ .sharded = true, .sharding = PW_SPLIT(0), .short_shard = true });
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_split_is_gathered, setup_split, teardown),
                cmocka_unit_test_setup_teardown(test_partial_is_reduced, setup_partial, teardown),
                cmocka_unit_test_setup_teardown(test_partial_is_summed_in_order, setup_in_order, teardown),
                cmocka_unit_test_setup_teardown(test_gathers_again_after_a_loss, setup_losing, teardown),
                cmocka_unit_test_setup_teardown(test_broadcast_is_shard_0, setup_broadcast, teardown),
                cmocka_unit_test_setup_teardown(test_short_shard, setup_short, teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

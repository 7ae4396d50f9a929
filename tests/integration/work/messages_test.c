/* Work grows with hosts, not with shards: messages of a run and bytes of a program are the same for 2 devices and for 64.
 */
#include "tests/integration/trace.h"

#include <stdlib.h>

#define ELEMENTS 1024 /* the part of each of 64 devices is too large to travel in a mark, so all use the same transfers */

struct costs { int64_t program_bytes, prepares, orders, notices; };

static struct pw_program *trace(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "test/messages");
        struct pw_value *rows = pw_input(program, slice, PW_F64, PW_DIMS(ELEMENTS), PW_SPLIT(0), 0), *sum;
        const struct pw_sharding others[] = { PW_PARTIAL(PW_SUM), PW_SPLIT(0) };

        sum = pw_call_with(program, slice, "parts/stats", PW_ARGS(rows), PW_SPLIT(0),
                           &(struct pw_call_params){ .output_count = 3, .output_shardings = others });
        pw_result(program, it_grow(program, slice, pw_output(sum, 1), PW_BROADCAST, 1));
        pw_result(program, PW_AS(sum, PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static struct costs counters(struct pw_session *session)
{
        struct pw_listing *status = it_list(session, "status", NULL);
        struct costs costs = { 0, it_number(status, 0, "prepare_messages"), it_number(status, 0, "order_messages"),
                               it_number(status, 0, "notice_messages") };

        pw_listing_free(status);
        return costs;
}

static struct costs run(struct pw_session *session, struct pw_program *program, struct pw_future *input)
{
        struct costs before = counters(session), after;
        struct pw_future *results[2];

        it_ok(pw_run(program, PW_FUTURES(input), results, IT_ERR));
        assert_true(it_get_scalar(results[0]) == (ELEMENTS - 1) * (ELEMENTS / 2) + 1);
        it_ok(pw_wait(results, 2, 2, IT_LONG, NULL, IT_ERR));
        after = counters(session);
        pw_unref(results[0]);
        pw_unref(results[1]);
        return (struct costs){ 0, after.prepares - before.prepares, after.orders - before.orders, after.notices - before.notices };
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* What is ordered in one turn goes in one batch, and where a turn ends is chance: so the least of 20 runs is told. */
static struct costs measure(struct it_host *host, uint32_t devices, uint32_t islands)
{
        struct pw_slice *slice = it_slice(host->session, devices, islands);
        struct pw_program *program = trace(host->session, slice);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(ELEMENTS), 0);
        struct costs costs = run(host->session, program, input);
        int64_t prepares = costs.prepares;

        for (int i = 0; i < 20; i++) {
                struct costs again = run(host->session, program, input);

                assert_int_equal(again.prepares, prepares);
                costs.orders = least(costs.orders, again.orders);
                costs.notices = least(costs.notices, again.notices);
        }
        costs.program_bytes = it_listed(host->session, "programs", "bytes");
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        return costs;
}

static bool is_without_programs(const struct pw_listing *programs, void *context)
{
        (void)context;
        return it_rows(programs) == 0;
}

static void compare(struct it_host *host, uint32_t least_devices, uint32_t islands)
{
        struct costs few = measure(host, least_devices, islands), many;

        it_until(host->session, "programs", is_without_programs, NULL);
        many = measure(host, 64, islands);
        assert_true(few.program_bytes > 0);
        assert_int_equal(few.program_bytes, many.program_bytes);
        assert_int_equal(few.prepares, 1); /* one message to the host, whatever its islands */
        assert_int_equal(few.prepares, many.prepares);
        assert_true(few.orders > 0);
        assert_int_equal(few.orders, many.orders);
        assert_int_equal(few.notices, many.notices);
        assert_true(islands == 1 || few.notices > 0);
        it_until(host->session, "programs", is_without_programs, NULL);
}

static void in_one_island(void **state) { compare(*state, 2, 1); }
/* With one device in each island there is nothing to reduce inside: that program is smaller. */
static void over_two_islands(void **state) { compare(*state, 4, 2); }

static int setup(void **state, const char *islands)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:64", "--islands", islands, "--host-memory", "256MiB",
                                            "--device-memory", "1MiB"));
}

static int setup_1(void **state) { return setup(state, "1"); }
static int setup_2(void **state) { return setup(state, "2"); }

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(in_one_island, setup_1, it_teardown),
                cmocka_unit_test_setup_teardown(over_two_islands, setup_2, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

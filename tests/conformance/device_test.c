/* What every kind of device keeps, whether it does what is launched at once or later: functions run in order over their task,
 * status and text come back, sleep_us takes its time. A kind that is not there on this host (PW_NOT_FOUND) is skipped,
 * and so is one that runs functions by kernels: launch_cost_test.c and tests/gpu/ try that.
 */
#include "base/memory.h"
#include "executor/device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

static uint64_t clock_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#define LATE_US 300

/* Run `check` on each kind that opens, as it is and with a delay, each with memory of the processor's and without: it takes such
 * addresses all the same. */
static void each_kind(void (*check)(const struct pw_device_kind *kind, struct pw_exec_device *device))
{
        const struct pw_device_kind *kind;

        for (uint32_t i = 0; (kind = pw_device_kind_at(i / 4)); i++) {
                struct pw_device_params params = { .launch_delay_us = i % 2 * LATE_US, .apart = i / 2 % 2 };
                struct pw_exec_device *device;
                struct pw_error err;
                enum pw_status status = kind->open(&params, &device, &err);
                if (status == PW_NOT_FOUND)
                        continue;
                assert_int_equal(status, PW_OK);
                if (!(kind->caps(device) & PW_DEVICE_KERNELS))
                        check(kind, device);
                kind->close(device);
        }
}

static bool is_late(const struct pw_device_kind *kind, const struct pw_exec_device *device)
{
        return !(kind->caps(device) & PW_DEVICE_SYNCHRONOUS);
}

/* A call, the memory of its task, and how it ended where that was at once. */
struct call {
        struct pw_device_call call;
        struct pw_task task;
        uint32_t rests[1];
        struct pw_device_end end;
};

/* `task` with one output at most, of which `rest` bytes of room lie behind. */
static void launch(const struct pw_device_kind *kind, struct pw_exec_device *device, struct call *call,
                   const struct pw_function *function, uint32_t rest)
{
        static const struct pw_guard_key key = { { 7, 11 } };

        call->rests[0] = rest;
        call->call = (struct pw_device_call){ .function = function, .task = &call->task, .rests = call->rests,
                                              .guard = pw_guard_make(&key, 13) };
        assert_int_equal(kind->launch(device, &call->call, &call->end), PW_OK);
}

/* How that ended, or on a device that does it later the oldest that is under way. */
static struct pw_device_end ended(const struct pw_device_kind *kind, struct pw_exec_device *device, const struct call *call)
{
        struct pw_device_end end = call->end;

        while (is_late(kind, device) && !kind->done(device, &end)) {
                uint64_t next_ns = kind->next_ns(device);
                struct timespec until = { .tv_sec = (time_t)(next_ns / 1000000000), .tv_nsec = (long)(next_ns % 1000000000) };

                assert_true(next_ns != UINT64_MAX);
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
        return end;
}

static void expect_nothing(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        struct pw_device_end end;

        assert_false(kind->done(device, &end));
        assert_true(kind->next_ns(device) == UINT64_MAX);
        kind->idle(device);
}

static void check_table(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        assert_ptr_equal(pw_device_kind(kind->name), kind);
        assert_non_null(kind->about);
        assert_non_null(kind->launch);
        assert_non_null(kind->moved);
        assert_non_null(kind->ended_ns);
        assert_non_null(kind->not_before);
        expect_nothing(kind, device);
}

static void test_table(void **state)
{
        (void)state;
        assert_null(pw_device_kind("abacus"));
        each_kind(check_table);
}

/* --- functions --------------------------------------------------------------------------------------------------------------- */

static enum pw_status append(struct pw_task *task)
{
        uint32_t *list = pw_task_out(task, 0);

        list[++list[0]] = task->shard;
        return PW_OK;
}

static enum pw_status refuse(struct pw_task *task) { return pw_task_fail(task, "shard %u refuses", task->shard); }

/* A list, and room behind it. */
#define LIST { .bytes = 101 * sizeof(uint32_t), .dtype = PW_I32 }
#define REST (uint32_t)(27 * sizeof(uint32_t))

static void check_order(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        static const struct pw_function function = PW_FUNCTION(append);
        uint32_t list[128] = { 0 };
        struct pw_task_value output = LIST;
        struct call calls[100];

        output.data = list;
        for (uint32_t i = 0; i < 100; i++) {
                calls[i].task = (struct pw_task){ .outputs = &output, .output_count = 1, .shard = i };
                launch(kind, device, &calls[i], &function, REST);
                if (!is_late(kind, device))
                        assert_int_equal(list[0], i + 1);
        }
        for (uint32_t i = 0; i < 100; i++) {
                struct pw_device_end end = ended(kind, device, &calls[i]);

                assert_true(end.status == PW_OK && end.guard == PW_GUARD_WHOLE);
                assert_true(list[0] > i);
        }
        expect_nothing(kind, device);
        assert_int_equal(list[0], 100);
        for (uint32_t i = 0; i < 100; i++)
                assert_int_equal(list[i + 1], i);
}

static void check_status(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        static const struct pw_function function = PW_FUNCTION(refuse);
        char text[64] = "";
        struct call call = { .task = { .shard = 3, .error_text = text, .error_text_bytes = sizeof text } };

        launch(kind, device, &call, &function, 0);
        assert_int_equal(ended(kind, device, &call).status, PW_FAILED);
        assert_string_equal(text, "shard 3 refuses");
        expect_nothing(kind, device); /* said once */
}

static enum pw_status spill(struct pw_task *task)
{
        memset(pw_task_out(task, 0), 1, task->outputs[0].bytes + task->shard);
        return PW_OK;
}

/* Writing behind an output is found out, in its room or past it; not what lay there before. */
static void check_guards(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        static const struct { uint32_t beyond; enum pw_guard_state state; } cases[] = {
                { 0, PW_GUARD_WHOLE }, { 1, PW_GUARD_TOUCHED }, { REST, PW_GUARD_PASSED }, { 0, PW_GUARD_WHOLE },
        };
        static const struct pw_function function = PW_FUNCTION(spill);
        uint32_t list[128] = { 0 };
        struct pw_task_value output = LIST;
        struct call calls[pw_array_count(cases)];

        output.data = list;
        for (uint32_t i = 0; i < pw_array_count(cases); i++) {
                calls[i].task = (struct pw_task){ .outputs = &output, .output_count = 1, .shard = cases[i].beyond };
                launch(kind, device, &calls[i], &function, REST);
        }
        for (uint32_t i = 0; i < pw_array_count(cases); i++)
                assert_int_equal(ended(kind, device, &calls[i]).guard, cases[i].state);
}

static bool may_not(const struct pw_device_call *call)
{
        return call->task->shard != 1;
}

/* Who can ask as a function begins does not run what may not. */
static void check_asks(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        static const struct pw_function function = PW_FUNCTION(append);
        uint32_t list[128] = { 0 };
        struct pw_task_value output = LIST;
        struct call calls[3];

        output.data = list;
        for (uint32_t i = 0; i < 3; i++) {
                calls[i] = (struct call){ .task = { .outputs = &output, .output_count = 1, .shard = i }, .rests = { REST } };
                calls[i].call = (struct pw_device_call){ .function = &function, .task = &calls[i].task, .rests = calls[i].rests,
                                                         .may_run = may_not };
                assert_int_equal(kind->launch(device, &calls[i].call, &calls[i].end), PW_OK);
        }
        for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(ended(kind, device, &calls[i]).status, PW_OK);
        assert_true(list[0] == 2 && list[1] == 0 && list[2] == 2);
}

static enum pw_status nothing(struct pw_task *task)
{
        (void)task;
        return PW_OK;
}

static bool may_never(const struct pw_device_call *call)
{
        (void)call;
        return false;
}

/* Rooms that are to be set to 0 are, whether the function runs or not; others stay, and so does one that an input has too. */
static void check_zeroes(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        static const struct pw_function function = PW_FUNCTION(nothing);

        for (uint32_t i = 0; i < 2; i++) {
                struct { uint64_t value, rest[2]; } rooms[3] = { { 1, { 1, 1 } }, { 2, { 2, 2 } }, { 3, { 3, 3 } } };
                struct pw_task_value values[3];
                uint32_t rests[3] = { sizeof rooms->rest, sizeof rooms->rest, sizeof rooms->rest };
                struct call call = { .task = { .inputs = &values[2], .input_count = 1, .outputs = values, .output_count = 3 } };

                for (uint32_t k = 0; k < 3; k++)
                        values[k] = (struct pw_task_value){ .data = &rooms[k].value, .bytes = sizeof rooms[k].value };
                call.call = (struct pw_device_call){ .function = &function, .task = &call.task, .rests = rests, .zeroes = 5,
                                                     .may_run = i ? may_never : NULL };
                assert_int_equal(kind->launch(device, &call.call, &call.end), PW_OK);
                assert_int_equal(ended(kind, device, &call).status, PW_OK);
                assert_true(rooms[0].value == 0 && rooms[1].value == 2 && rooms[2].value == 3);
        }
}

/* What is under way when a device is closed never runs. */
static void check_close(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        static const struct pw_function function = PW_FUNCTION(append);
        struct pw_exec_device *other;
        uint32_t list[128] = { 0 };
        struct pw_task_value output = LIST;
        struct call calls[10];
        struct pw_error err;

        if (!is_late(kind, device))
                return;
        output.data = list;
        assert_int_equal(kind->open(&(struct pw_device_params){ .launch_delay_us = LATE_US }, &other, &err), PW_OK);
        for (uint32_t i = 0; i < 10; i++) {
                calls[i].task = (struct pw_task){ .outputs = &output, .output_count = 1 };
                launch(kind, other, &calls[i], &function, REST);
        }
        kind->close(other);
        assert_int_equal(list[0], 0);
}

static void test_functions(void **state)
{
        (void)state;
        each_kind(check_order);
        each_kind(check_status);
        each_kind(check_guards);
        each_kind(check_asks);
        each_kind(check_zeroes);
        each_kind(check_close);
}

/* --- time -------------------------------------------------------------------------------------------------------------------- */

static enum pw_status nap(struct pw_task *task)
{
        task->services->sleep_us(task, 2000);
        return PW_OK;
}

/* Ten launches and the wait for them; returns microseconds. */
static uint64_t launch_ten(const struct pw_device_kind *kind, struct pw_exec_device *device, const struct pw_function *function)
{
        uint64_t start = clock_us();
        struct call calls[10];

        for (uint32_t i = 0; i < 10; i++) {
                calls[i].task = (struct pw_task){ .shard = i };
                launch(kind, device, &calls[i], function, 0);
        }
        for (uint32_t i = 0; i < 10; i++)
                assert_int_equal(ended(kind, device, &calls[i]).status, PW_OK);
        kind->idle(device);
        return clock_us() - start;
}

static void check_sleep(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        static const struct pw_function function = PW_FUNCTION(nap);

        assert_true(launch_ten(kind, device, &function) >= 10 * 2000);
        assert_true(launch_ten(kind, device, &function) >= 10 * 2000);
}

static void test_sleep(void **state)
{
        (void)state;
        each_kind(check_sleep);
}

/* An emulated device takes the time that its options say, and late wake-ups do not add up. */
static void test_emulated_times(void **state)
{
        const struct pw_device_kind *kind = pw_device_kind("emulated");
        static const struct pw_function function = PW_FUNCTION(nothing), napping = PW_FUNCTION(nap);
        struct pw_exec_device *device;
        struct pw_error err;
        uint64_t start, us;
        (void)state;

        assert_int_equal(
                kind->open(&(struct pw_device_params){ .launch_delay_us = 3000, .copy_bandwidth = 1000000 }, &device, &err), PW_OK);
        us = launch_ten(kind, device, &function);
        assert_true(us >= 10 * 3000);
        assert_true(us < 20 * 10 * 3000);
        us = launch_ten(kind, device, &napping);
        assert_true(us >= 10 * 5000);
        start = clock_us();
        kind->moved(device, 20000); /* at 1 MB/s */
        assert_true(clock_us() - start >= 20000);
        start = clock_us();
        kind->moved(device, 0);
        assert_true(clock_us() - start < 20000);
        kind->close(device);
}

/* A delay begins when its input was there, however late that was noticed: 1 ms of the 2 is over. A loaded host may take longer. */
static void test_emulated_clock(void **state)
{
        const struct pw_device_kind *kind = pw_device_kind("emulated");
        static const struct pw_function napping = PW_FUNCTION(nap);
        struct call call = { .rests = { 0 } };
        struct pw_exec_device *device;
        struct pw_error err;
        uint64_t came, took = UINT64_MAX;
        (void)state;

        for (uint32_t i = 0; i < 100 && took >= 3000; i++) {
                assert_int_equal(kind->open(&(struct pw_device_params){ 0 }, &device, &err), PW_OK);
                came = clock_us() - 1000;
                kind->not_before(device, came * 1000);
                launch(kind, device, &call, &napping, 0);
                took = clock_us() - came;
                assert_true(took >= 2000);
                assert_true(kind->ended_ns(device, (clock_us() + 1) * 1000) >= (came + 2000) * 1000); /* it counts ns */
                kind->idle(device);
                assert_true(kind->ended_ns(device, 1000) == 1000); /* the host's clock again */
                kind->close(device);
        }
        assert_true(took < 3000);
}

/* Nor does what one says of it go back: a delay begins no earlier than what was said before to have ended. */
static void test_emulated_clock_goes_on(void **state)
{
        const struct pw_device_kind *kind = pw_device_kind("emulated");
        static const struct pw_function napping = PW_FUNCTION(nap);
        struct call call = { .rests = { 0 } };
        struct pw_exec_device *device;
        struct pw_error err;
        uint64_t told;
        (void)state;

        assert_int_equal(kind->open(&(struct pw_device_params){ 0 }, &device, &err), PW_OK);
        told = kind->ended_ns(device, clock_us() * 1000);
        kind->not_before(device, told - 1500000);
        launch(kind, device, &call, &napping, 0);
        assert_true(kind->ended_ns(device, (clock_us() + 1) * 1000) >= told + 2000000);
        kind->close(device);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table), cmocka_unit_test(test_functions), cmocka_unit_test(test_sleep),
                cmocka_unit_test(test_emulated_times), cmocka_unit_test(test_emulated_clock),
                cmocka_unit_test(test_emulated_clock_goes_on),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Calls on a GPU that may end together: which do, when each is launched, and what is said of them then. What they do there is work
 * that this test puts on their stream, which waits until it is let go.
 */
#include "base/memory.h"
#include "executor/device/cuda_private.h"
#include "tests/fake_cuda/enqueue.h"
#include "tests/integration/gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARENA_BYTES (UINT64_C(4) << 20)
#define ROOM_BYTES 512u
#define VALUE_BYTES 64u
#define OUTPUTS_MOST 24u

static struct it_gpus gpus;
static uint64_t (*calls_of)(const char *name);
static enum pw_cuda_result (*enqueue)(struct CUstream_st *stream, const struct fake_enqueued *work);
static bool (*read_at)(struct CUstream_st *stream, void *to, unsigned long long from, size_t bytes);
static bool (*write_at)(struct CUstream_st *stream, unsigned long long to, const void *from, size_t bytes);

static atomic_uint rung, let_go;
static void ring(void *context)
{
        (void)context;
        atomic_fetch_add(&rung, 1);
}
__attribute__((noreturn)) static void lost(void *context, const char *how)
{
        (void)context;
        fail_msg("the device is lost: %s", how);
        abort();
}

/* --- what calls do ------------------------------------------------------------------------------------------------------------ */

struct step {
        uint32_t holds, fault;  /* until it is let go; that its kernel says */
        uint64_t spills, at;    /* bytes behind output `at` that it writes, and the guards with them */
        bool refuses;
        uint64_t seen;          /* of input 0, as it ran */
};
struct call {
        struct step step;
        struct pw_device_call call;
        struct pw_task task;
        struct pw_task_value input, outputs[OUTPUTS_MOST];
        uint32_t rests[OUTPUTS_MOST];
        char text[200];
        struct CUstream_st *stream;
        uint32_t *fault;
};
static uint32_t launched; /* functions */

static void drop(void *argument) { (void)argument; }

static enum pw_cuda_result run(void *argument)
{
        static const uint8_t spilt[ROOM_BYTES] = { 1, 2, 3 };
        struct call *call = argument;
        const struct step *step = &call->step;
        const struct pw_task_value *output = &call->outputs[step->at];
        bool can = read_at(call->stream, &call->step.seen, (uintptr_t)call->input.data, sizeof call->step.seen);

        while (step->holds && !atomic_load(&let_go))
                sched_yield();
        if (step->fault)
                can = can && write_at(call->stream, (uintptr_t)call->fault, &step->fault, sizeof step->fault);
        if (step->spills)
                can = can && write_at(call->stream, (uintptr_t)output->data + output->bytes, spilt, step->spills);
        return can ? PW_CUDA_SUCCESS : PW_CUDA_ILLEGAL_ADDRESS;
}

static enum pw_status work(struct pw_task *task)
{
        struct call *call = *(struct call *const *)task->params;

        launched++;
        if (call->step.refuses)
                return pw_task_fail(task, "it will not");
        call->stream = task->stream;
        call->fault = task->fault;
        return enqueue(task->stream, &(struct fake_enqueued){ run, drop, call }) == PW_CUDA_SUCCESS ? PW_OK : PW_SYSTEM;
}

static const char *const faults[] = { "the first fault", "the second fault" };
static const struct pw_function works = { .name = "works", .cuda = work, .faults = faults, .fault_count = 2 };
static const struct pw_function others = { .name = "others", .cuda = work };

/* --- the scene ---------------------------------------------------------------------------------------------------------------- */

struct site {
        const struct pw_device_kind *kind;
        const struct pw_device_memory *memory;
        struct pw_exec_device *device;
        uint8_t *base;
        struct call calls[PW_GUARD_RING];
        uint32_t count;
};

static struct site opened; /* device NULL: none is */

static struct site *site_open(void)
{
        struct pw_device_params params = { .ring = ring, .lost = lost };
        struct pw_error err;
        void *library;
        int fd;

        memset(&opened, 0, sizeof opened);
        atomic_store(&rung, 0);
        atomic_store(&let_go, 0);
        launched = 0;
        opened.kind = pw_device_kind("cuda");
        snprintf(params.library, sizeof params.library, "%s", gpus.driver);
        if (opened.kind->open(&params, &opened.device, &err) != PW_OK)
                fail_msg("%s", err.text);
        library = dlopen(gpus.driver, RTLD_NOW | RTLD_NOLOAD);
        *(void **)&calls_of = dlsym(library, "fake_cuda_calls");
        *(void **)&enqueue = dlsym(library, "fake_cuda_enqueue");
        *(void **)&read_at = dlsym(library, "fake_cuda_read");
        *(void **)&write_at = dlsym(library, "fake_cuda_write");
        assert_true(calls_of && enqueue && read_at && write_at);
        opened.memory = opened.kind->memory(opened.device);
        assert_int_equal(opened.memory->make(opened.device, ARENA_BYTES, &fd, &err), PW_OK);
        assert_int_equal(opened.memory->map(opened.device, &(struct pw_arena){ fd, true, ARENA_BYTES }, &opened.base, &err), PW_OK);
        close(fd);
        return &opened;
}

static void site_close(struct site *site)
{
        atomic_store(&let_go, 1);
        site->kind->close(site->device);
        site->device = NULL;
}

/* Also of a test that failed. */
static int leave(void **state)
{
        (void)state;
        if (opened.device)
                site_close(&opened);
        return 0;
}

static void output_add(struct call *call, uint8_t *data)
{
        uint32_t i = call->task.output_count++;

        call->outputs[i] = (struct pw_task_value){ .data = data, .bytes = VALUE_BYTES, .dtype = PW_F64, .dims = PW_DIMS(8) };
        call->rests[i] = ROOM_BYTES - VALUE_BYTES;
}

/* The next call, from one room to another and back, as all before it. */
static struct call *call_make(struct site *site)
{
        struct call *call = &site->calls[site->count % PW_GUARD_RING];
        static const struct call *params[PW_GUARD_RING];
        uint32_t i = site->count++;

        *call = (struct call){ .text = "" };
        params[i % PW_GUARD_RING] = call;
        call->input = (struct pw_task_value){ .data = site->base + (size_t)(i & 1) * ROOM_BYTES, .bytes = VALUE_BYTES,
                                              .dtype = PW_F64, .dims = PW_DIMS(8) };
        call->task = (struct pw_task){ .input_count = 1, .inputs = &call->input, .outputs = call->outputs,
                                       .params = &params[i % PW_GUARD_RING], .params_bytes = sizeof call, .error_text = call->text,
                                       .error_text_bytes = sizeof call->text };
        call->call = (struct pw_device_call){ .function = &works, .task = &call->task, .rests = call->rests, .serial = 1, .kin = 1,
                                              .guard = { { 0x1111 + i, 0x2222 + i } } };
        output_add(call, site->base + (size_t)!(i & 1) * ROOM_BYTES);
        return call;
}

/* Functions that are launched when this call was. */
static uint32_t launch(struct site *site, struct call *call)
{
        assert_int_equal(site->kind->launch(site->device, &call->call, NULL), PW_OK);
        return launched;
}

/* One that holds the device, `ahead` others of its kin, and launched they are: the next ones are kept. */
static void begin_batches(struct site *site, uint32_t ahead)
{
        struct call *first = call_make(site);

        first->step.holds = 1;
        assert_int_equal(launch(site, first), 1);
        for (uint32_t i = 0; i < ahead; i++)
                launch(site, call_make(site));
        assert_int_equal(launched, 1 + ahead);
}

static struct pw_device_end await(struct site *site)
{
        struct pw_device_end end;

        atomic_store(&let_go, 1);
        while (!site->kind->done(site->device, &end))
                sched_yield();
        return end;
}

static void await_well(struct site *site, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                struct pw_device_end end = await(site);
                assert_int_equal(end.status, PW_OK);
                assert_int_equal(end.guard, PW_GUARD_WHOLE);
        }
}

static bool asked(struct site *site) { return site->kind->done(site->device, &(struct pw_device_end){ .status = PW_OK }); }

/* --- when they are launched --------------------------------------------------------------------------------------------------- */

/* At once where nothing is under way, then twice as many each time, and no more than there may be. One kernel and one event for all
 * that end together. */
static void as_many_as_may_be(void **state)
{
        static const uint32_t batches[] = { 1, 2, 4, 8, 8, 8, 8, 8, 8, 8 };
        struct site *site = site_open();
        uint64_t kernels = calls_of("cuLaunchKernel"), events = calls_of("cuEventRecord");
        uint32_t sum = 0;

        (void)state;
        for (size_t i = 0; i < pw_array_count(batches); i++) {
                for (uint32_t k = 0; k < batches[i]; k++) {
                        struct call *call = call_make(site);
                        call->step.holds = !site->count;
                        assert_int_equal(launched, sum);
                        launch(site, call);
                }
                sum += batches[i];
                assert_int_equal(launched, sum);
                assert_int_equal(calls_of("cuLaunchKernel") - kernels, i + 1);
                assert_int_equal(calls_of("cuEventRecord") - events, i);
        }
        assert_int_equal(launch(site, call_make(site)), 63);
        assert_int_equal(site->kind->launch(site->device, &site->calls[0].call, NULL), PW_LIMIT);
        await_well(site, 64);
        assert_int_equal(launched, 64);
}

/* Who is asked twice how the last batch is doing, with no call between, has nothing else to come. */
static void asked_twice(void **state)
{
        struct site *site = site_open();

        (void)state;
        begin_batches(site, 0);
        assert_false(asked(site));
        assert_int_equal(launch(site, call_make(site)), 1);
        assert_false(asked(site));
        assert_int_equal(launched, 1);
        assert_false(asked(site));
        assert_int_equal(launched, 2);
        launch(site, call_make(site));
        for (uint32_t i = 0; i < 10; i++)
                assert_false(asked(site)); /* the device has another one to do yet */
        assert_int_equal(launched, 2);
        await_well(site, 3);
        assert_int_equal(launched, 3);
}

/* What is kept is launched when all else has ended, too, at the first look. */
static void nothing_else_is_under_way(void **state)
{
        struct site *site = site_open();

        (void)state;
        begin_batches(site, 0);
        assert_false(asked(site));
        assert_false(asked(site)); /* its end is launched */
        assert_int_equal(launch(site, call_make(site)), 1);
        atomic_store(&let_go, 1);
        while (!pw_guard_end_is(__atomic_load_n(&site->device->page->ends[1], __ATOMIC_ACQUIRE), 1))
                sched_yield();
        assert_true(asked(site));
        assert_int_equal(launched, 1);
        assert_false(asked(site));
        assert_int_equal(launched, 2);
        await_well(site, 1);
}

/* Who reads, or sleeps, has launched all, and is rung when the first has ended. */
static void none_is_left_to_a_sleeper(void **state)
{
        static const uint32_t together[] = { 1, 2, 1, 1 };
        struct site *site = site_open();
        uint8_t bytes[VALUE_BYTES];
        struct pw_device_end end;
        struct pw_error err;

        (void)state;
        begin_batches(site, 2);
        assert_int_equal(launch(site, call_make(site)), 3);
        assert_int_equal(site->memory->copy_out(site->device, bytes, site->base + 4096, sizeof bytes, &err), PW_OK);
        assert_int_equal(launched, 4);
        assert_int_equal(launch(site, call_make(site)), 4);
        assert_int_equal(site->kind->next_ns(site->device), PW_DEVICE_RINGS);
        assert_int_equal(launched, 5);
        atomic_store(&let_go, 1);
        for (uint32_t i = 0; i < pw_array_count(together); i++) {
                while (atomic_load(&rung) <= i)
                        sched_yield();
                for (uint32_t k = together[i]; k; k--) {
                        assert_true(site->kind->done(site->device, &end));
                        assert_int_equal(end.together, k);
                }
                assert_int_equal(site->kind->next_ns(site->device), i == 3 ? UINT64_MAX : PW_DEVICE_RINGS);
        }
}

static uint32_t launched_before_move;
static enum pw_status move(const struct pw_device_call *call)
{
        (void)call;
        launched_before_move = launched;
        return PW_OK;
}

/* Those that are kept are launched ahead of what cannot end with them. */
static void what_ends_a_batch(void **state)
{
        static const struct { uint64_t kin; const struct pw_function *function; uint32_t launched; } cases[] = {
                { 1, &works, 1 }, { 2, &works, 2 }, { 2, &others, 3 }, { 0, &others, 5 }, { 1, &works, 5 },
        };
        static const struct pw_device_call moves = { .move = move };
        struct site *site = site_open();

        (void)state;
        begin_batches(site, 0);
        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct call *call = call_make(site);
                call->call.kin = cases[i].kin;
                call->call.function = cases[i].function;
                assert_int_equal(launch(site, call), cases[i].launched);
        }
        assert_int_equal(site->kind->launch(site->device, &moves, NULL), PW_OK);
        assert_int_equal(launched_before_move, 6);
        assert_int_equal(launch(site, call_make(site)), 6);
        assert_int_equal(launch(site, call_make(site)), 8); /* a move is one */
        await_well(site, 9);
}

/* A guard that is set ahead of an earlier call spoils nothing that it reads or writes, and its own guard is there when it is looked
 * at: else they end apart. */
static void rooms_that_touch(void **state)
{
        enum { INPUT = 2048 };
        static const struct { uint32_t first_in, first_out, second_out; bool together; } cases[] = {
                { INPUT, 4096, 8192, true },          { INPUT, 4096, 4096, true },
                { INPUT, 4096, INPUT - 64, false },   { INPUT, 4096, INPUT - 448, false },
                { INPUT, 4096, INPUT - 512, true },   { INPUT, 4096, INPUT, true },
                { INPUT, 4096, 4096 + 64, false },    { INPUT, 4096, 4096 - 64, false },
                { INPUT, 4096, 4096 + 448, false },   { INPUT, 4096, 4096 + 512, true },
        };
        static const uint64_t value = 0x5555555555555555;

        (void)state;
        for (size_t i = 0; i < pw_array_count(cases); i++) {
                struct site *site = site_open();
                struct call *first, *second;
                begin_batches(site, 0);
                first = call_make(site);
                second = call_make(site);
                first->input.data = site->base + cases[i].first_in;
                first->outputs[0].data = site->base + cases[i].first_out;
                second->outputs[0].data = site->base + cases[i].second_out;
                /* the fake's memory is of this process, for who asks on a stream: what the first reads is there before all */
                assert_true(write_at(site->calls[0].stream, (uintptr_t)first->input.data, &value, sizeof value));
                assert_int_equal(launch(site, first), 1);
                assert_int_equal(launch(site, second), cases[i].together ? 3 : 2);
                await_well(site, 3);
                assert_int_equal(first->step.seen, value);
                site_close(site);
        }
}

/* --- what is said of them ----------------------------------------------------------------------------------------------------- */

/* Four that end together behind two that do: what one does to guards is said of all four. */
static void guards_are_of_all(void **state)
{
        static const struct { uint64_t spills; enum pw_guard_state guard; } cases[] = {
                { 8, PW_GUARD_TOUCHED }, { ROOM_BYTES - VALUE_BYTES, PW_GUARD_PASSED }
        };

        (void)state;
        for (size_t i = 0; i < 4 * pw_array_count(cases); i++) {
                struct site *site = site_open();
                begin_batches(site, 2);
                for (uint32_t k = 0; k < 4; k++) {
                        struct call *call = call_make(site);
                        call->step.spills = k == i / 2 ? cases[i % 2].spills : 0;
                        launch(site, call);
                }
                assert_int_equal(launched, 7);
                await_well(site, 3);
                for (uint32_t k = 0; k < 4; k++) {
                        struct pw_device_end end = await(site);
                        assert_int_equal(end.guard, cases[i % 2].guard);
                        assert_int_equal(end.output, 0);
                        assert_int_equal(end.together, 4 - k);
                }
                site_close(site);
        }
}

/* What a kernel says, and what a function does, is its own. */
static void faults_are_its_own(void **state)
{
        struct site *site = site_open();
        struct call *calls[4];

        (void)state;
        begin_batches(site, 2);
        for (uint32_t i = 0; i < 4; i++) {
                calls[i] = call_make(site);
                calls[i]->step.fault = i == 1 ? 2 : 0;
                calls[i]->step.refuses = i == 2;
                launch(site, calls[i]);
        }
        await_well(site, 4);
        assert_int_equal(await(site).status, PW_FAILED);
        assert_string_equal(calls[1]->text, "the second fault");
        assert_int_equal(await(site).status, PW_FAILED);
        assert_string_equal(calls[2]->text, "it will not");
        await_well(site, 1);
}

/* As many end together as there are places for their rooms, of which those that are the same take one; one that has more ends
 * alone. */
static void many_rooms(void **state)
{
        struct site *site = site_open();
        uint32_t room = 8;

        (void)state;
        begin_batches(site, 2);
        for (uint32_t i = 0; i < 5; i++) {
                struct call *call = call_make(site);
                while (call->task.output_count < (i < 3 ? 3 : OUTPUTS_MOST))
                        output_add(call, site->base + (size_t)room++ * ROOM_BYTES);
                call->step.spills = i == 2 || i == 3;
                call->step.at = i < 3 ? 2 : OUTPUTS_MOST - 3;
                assert_int_equal(launch(site, call), i < 3 ? 3 : 3 + i);
        }
        await_well(site, 3);
        for (uint32_t i = 0; i < 5; i++) {
                struct pw_device_end end = await(site);
                assert_int_equal(end.guard, i < 4 ? PW_GUARD_TOUCHED : PW_GUARD_WHOLE);
                assert_int_equal(end.output, i < 3 ? 2 : i < 4 ? OUTPUTS_MOST - 3 : 0);
        }
}

static int begin(void **state)
{
        (void)state;
        if (it_gpus_given())
                it_skip("only the fake driver does what it is told");
        it_gpus_init(&gpus, "delay_us = 5\n");
        return 0;
}

static int end(void **state)
{
        (void)state;
        it_gpus_done(&gpus);
        return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, leave)

int main(void)
{
        const struct CMUnitTest tests[] = { TEST(asked_twice), TEST(as_many_as_may_be), TEST(nothing_else_is_under_way),
                                            TEST(none_is_left_to_a_sleeper), TEST(what_ends_a_batch), TEST(rooms_that_touch),
                                            TEST(guards_are_of_all), TEST(faults_are_its_own), TEST(many_rooms) };

        return cmocka_run_group_tests_name("calls that end together", tests, begin, end);
}

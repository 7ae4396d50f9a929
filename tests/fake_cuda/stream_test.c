/* Streams and events of the fake: what is done late, in which order, and what waits. A gate holds a stream for as long as a test
 * wants it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_cuda/enqueue.h"
#include "tests/fake_cuda/fixture.h"

#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

/* What is at `address`, by a stream of its own. */
static uint64_t value_at(const struct fake *fake, unsigned long long address)
{
        struct CUstream_st *stream;
        uint64_t value;

        GOOD(fake->driver->cuStreamCreate(&stream, PW_CUDA_STREAM_NON_BLOCKING));
        GOOD(fake->driver->cuMemcpyDtoHAsync(&value, address, sizeof value, stream));
        GOOD(fake->driver->cuStreamDestroy(stream));
        return value;
}

static void is_late(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long address;

        GOOD(cuda->cuMemAlloc(&address, 64));
        GOOD(cuda->cuStreamQuery(fake->stream));
        gate_close(fake, fake->stream);
        GOOD(cuda->cuMemsetD32Async(address, 7, 2, fake->stream));
        GOOD(cuda->cuStreamWriteValue64(fake->stream, address + 8, 9, 0));
        GIVES(INVALID_VALUE, cuda->cuStreamWriteValue64(fake->stream, address + 4, 9, 0));
        GIVES(NOT_READY, cuda->cuStreamQuery(fake->stream));
        assert_int_equal(value_at(fake, address), 0);
        gate_open(fake);
        GOOD(cuda->cuStreamSynchronize(fake->stream));
        GOOD(cuda->cuStreamQuery(fake->stream));
        assert_int_equal(value_at(fake, address), (UINT64_C(7) << 32) + 7);
        assert_int_equal(value_at(fake, address + 8), 9);
}

static void test_late(void **state)
{
        (void)state;
        fake_try("", is_late);
}

static uint64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* 200 pieces of up to 2 ms, 1 ms each in the mean. */
static void is_delayed(struct fake *fake)
{
        unsigned long long address;
        uint64_t begin_us;

        GOOD(fake->driver->cuMemAlloc(&address, 64));
        begin_us = now_us();
        for (int i = 0; i < 200; i++)
                GOOD(fake->driver->cuMemsetD8Async(address, 7, 8, fake->stream));
        GOOD(fake->driver->cuStreamSynchronize(fake->stream));
        assert_true(now_us() - begin_us > 100000);
}

static void test_delay(void **state)
{
        (void)state;
        fake_try("delay_us = 1000\nseed = 3\n", is_delayed);
}

/* An event stands for its last record; a wait that was asked for before that, for the one before. */
static void has_events(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct CUstream_st *second, *third;
        struct CUevent_st *event;

        GOOD(cuda->cuStreamCreate(&second, 0));
        GOOD(cuda->cuStreamCreate(&third, 0));
        GOOD(cuda->cuEventCreate(&event, PW_CUDA_EVENT_DISABLE_TIMING));
        GOOD(cuda->cuEventQuery(event)); /* never recorded */
        GOOD(cuda->cuEventSynchronize(event));
        gate_close(fake, fake->stream);
        GOOD(cuda->cuStreamWaitEvent(second, event, 0));
        GOOD(cuda->cuStreamSynchronize(second));
        GOOD(cuda->cuEventRecord(event, fake->stream));
        GIVES(NOT_READY, cuda->cuEventQuery(event));
        GOOD(cuda->cuStreamWaitEvent(second, event, 0));
        GOOD(cuda->cuEventRecord(event, third));
        GOOD(cuda->cuEventSynchronize(event));
        GIVES(NOT_READY, cuda->cuStreamQuery(second));
        GIVES(NOT_READY, cuda->cuStreamQuery(fake->stream));
        GOOD(cuda->cuEventDestroy(event));
        GIVES(INVALID_HANDLE, cuda->cuEventQuery(event));
        GIVES(NOT_READY, cuda->cuStreamQuery(second));
        gate_open(fake);
        GOOD(cuda->cuStreamSynchronize(second));
        GOOD(cuda->cuStreamQuery(fake->stream));
}

static void test_events(void **state)
{
        (void)state;
        fake_try("", has_events);
}

static void events_of_two(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct CUstream_st *stream;
        struct CUevent_st *event;
        struct CUctx_st *other;

        GOOD(cuda->cuEventCreate(&event, 0));
        GOOD(cuda->cuDevicePrimaryCtxRetain(&other, 1));
        GOOD(cuda->cuCtxSetCurrent(other));
        GOOD(cuda->cuStreamCreate(&stream, 0));
        GIVES(INVALID_HANDLE, cuda->cuEventRecord(event, stream));
        GOOD(cuda->cuCtxSetCurrent(fake->context));
        gate_close(fake, fake->stream);
        GOOD(cuda->cuEventRecord(event, fake->stream));
        GOOD(cuda->cuStreamWaitEvent(stream, event, 0));
        GIVES(NOT_READY, cuda->cuStreamQuery(stream));
        gate_open(fake);
        GOOD(cuda->cuStreamSynchronize(stream));
        GOOD(cuda->cuEventQuery(event));
}

static void test_two_devices(void **state)
{
        (void)state;
        fake_try("", events_of_two);
}

/* What is copied is what is there when it is copied. */
static void copies_pinned(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long address;
        uint64_t *value;

        GOOD(cuda->cuMemAlloc(&address, 64));
        GOOD(cuda->cuMemHostAlloc((void **)&value, 2 * sizeof *value, 0));
        value[0] = 1;
        gate_close(fake, fake->stream);
        GOOD(cuda->cuMemcpyHtoDAsync(address, value, sizeof *value, fake->stream));
        GOOD(cuda->cuMemcpyDtoHAsync(&value[1], address, sizeof *value, fake->stream));
        assert_int_equal(value[1], 0);
        value[0] = 2;
        gate_open(fake);
        GOOD(cuda->cuStreamSynchronize(fake->stream));
        assert_int_equal(value[1], 2);
}

/* Once the copy was asked for. */
static void *opens_later(void *argument)
{
        void *found = fake_symbol(argument, "fake_cuda_calls");
        uint64_t (*calls)(const char *name);

        memcpy(&calls, &found, sizeof found);
        while (!calls("cuMemcpyHtoDAsync"))
                sched_yield();
        for (int i = 0; i < 100; i++)
                sched_yield();
        gate_open(argument);
        return NULL;
}

/* The call returns when the copy is done, and so behind all before it. */
static void copies_pageable(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long address;
        uint64_t value = 1;
        pthread_t opener;

        GOOD(cuda->cuMemAlloc(&address, 64));
        gate_close(fake, fake->stream);
        assert_int_equal(pthread_create(&opener, NULL, opens_later, fake), 0);
        GOOD(cuda->cuMemcpyHtoDAsync(address, &value, sizeof value, fake->stream));
        assert_int_equal(*fake->word, 1);
        value = 2;
        pthread_join(opener, NULL);
        assert_int_equal(value_at(fake, address), 1);
}

static void test_copies(void **state)
{
        (void)state;
        fake_try("", copies_pinned);
        fake_try("", copies_pageable);
}

static void uses_stream_0(struct fake *fake)
{
        unsigned long long address;

        GOOD(fake->driver->cuMemAlloc(&address, 64));
        fake->driver->cuMemsetD8Async(address, 0, 8, NULL);
}

static void waits_stream_0(struct fake *fake) { fake->driver->cuStreamSynchronize(NULL); }

static void test_stream_0(void **state)
{
        (void)state;
        fake_dies("", uses_stream_0, SIGABRT, "fake CUDA: cuMemsetD8Async on stream 0");
        fake_dies("", waits_stream_0, SIGABRT, "fake CUDA: cuStreamSynchronize on stream 0");
}

/* Memory that went before the copy was done: it sticks, for all of the context and for nobody else. */
static void breaks(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long handle, address = fake_map(fake, 2 * MIB, &handle), other;
        struct CUstream_st *second;
        struct CUevent_st *event;
        struct CUctx_st *sound;

        GOOD(cuda->cuStreamCreate(&second, 0));
        GOOD(cuda->cuEventCreate(&event, 0));
        gate_close(fake, second);
        GOOD(cuda->cuEventRecord(event, second));
        GOOD(cuda->cuStreamWaitEvent(fake->stream, event, 0));
        GOOD(cuda->cuMemsetD8Async(address, 1, 8, fake->stream));
        gate_open(fake);
        GOOD(cuda->cuMemUnmap(address, 2 * MIB));
        GIVES(ILLEGAL_ADDRESS, cuda->cuStreamSynchronize(fake->stream));
        GIVES(ILLEGAL_ADDRESS, cuda->cuStreamQuery(second));
        GIVES(ILLEGAL_ADDRESS, cuda->cuEventSynchronize(event));
        GIVES(ILLEGAL_ADDRESS, cuda->cuMemAlloc(&other, 8));
        GOOD(cuda->cuDevicePrimaryCtxRetain(&sound, 1));
        GOOD(cuda->cuCtxSetCurrent(sound));
        GOOD(cuda->cuMemAlloc(&other, 8));
}

static void test_breaks(void **state)
{
        (void)state;
        fake_try("delay_us = 20000\n", breaks);
}

static void writes_no_values(struct fake *fake)
{
        unsigned long long address;

        GOOD(fake->driver->cuMemAlloc(&address, 64));
        GIVES(NOT_SUPPORTED, fake->driver->cuStreamWriteValue64(fake->stream, address, 9, 0));
}

static void test_no_values(void **state)
{
        (void)state;
        fake_try("refuse_write_value = 1\n", writes_no_values);
}

/* What another fake would put in a stream: it adds 1 to a word, and counts how it was called. */
struct other {
        struct CUstream_st *stream;
        unsigned long long address;
        uint32_t runs, drops;
        bool reached;
};
/* How the functions are found: as another fake does it. */
#define FIELD(name, type, parameters) type(*name) parameters;
static struct { FAKE_ENQUEUE_MAP(FIELD) } driver;
#undef FIELD

static enum pw_cuda_result other_run(void *argument)
{
        struct other *other = argument;
        uint32_t word = 0;

        other->runs++;
        other->reached = driver.fake_cuda_goes_on(other->stream) &&
                         driver.fake_cuda_read(other->stream, &word, other->address, sizeof word);
        word++;
        other->reached = other->reached && driver.fake_cuda_write(other->stream, other->address, &word, sizeof word);
        return other->reached ? PW_CUDA_SUCCESS : PW_CUDA_ILLEGAL_ADDRESS;
}

static void other_drop(void *argument) { ((struct other *)argument)->drops++; }

static void has_work_of_others(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct other other = { .stream = fake->stream };
        const struct fake_enqueued work = { other_run, other_drop, &other };
        uint32_t word = 0;
        void *found;

#define FIND(name, type, parameters) found = fake_symbol(fake, #name), memcpy(&driver.name, &found, sizeof found);
        FAKE_ENQUEUE_MAP(FIND)
#undef FIND
        assert_int_equal(driver.fake_cuda_device(), 0);
        assert_int_equal(driver.fake_cuda_stream_device(fake->stream), 0);
        assert_int_equal(driver.fake_cuda_stream_device((struct CUstream_st *)&word), -1);
        GIVES(INVALID_HANDLE, driver.fake_cuda_enqueue((struct CUstream_st *)&word, &work));
        GOOD(cuda->cuMemAlloc(&other.address, sizeof word));
        assert_true(driver.fake_cuda_reaches(0, other.address, sizeof word, true));
        assert_false(driver.fake_cuda_reaches(0, other.address, sizeof word + 1, false));
        gate_close(fake, fake->stream);
        GOOD(cuda->cuMemsetD32Async(other.address, 6, 1, fake->stream));
        GOOD(driver.fake_cuda_enqueue(fake->stream, &work));
        GIVES(NOT_READY, cuda->cuStreamQuery(fake->stream));
        assert_int_equal(other.runs, 0);
        gate_open(fake);
        GOOD(cuda->cuStreamSynchronize(fake->stream));
        GOOD(cuda->cuMemcpyDtoHAsync(&word, other.address, sizeof word, fake->stream));
        assert_int_equal(word, 7);
        assert_int_equal(other.runs, 1);
        assert_int_equal(other.drops, 1);
        /* The second is not run: the error of the first sticks. */
        other.address += 1 << 20;
        gate_close(fake, fake->stream);
        GOOD(driver.fake_cuda_enqueue(fake->stream, &work));
        GOOD(driver.fake_cuda_enqueue(fake->stream, &work));
        gate_open(fake);
        GIVES(ILLEGAL_ADDRESS, cuda->cuStreamSynchronize(fake->stream));
        while (__atomic_load_n(&other.drops, __ATOMIC_SEQ_CST) < 3)
                sched_yield();
        assert_int_equal(other.runs, 2);
        GIVES(ILLEGAL_ADDRESS, driver.fake_cuda_enqueue(fake->stream, &work));
}

static void test_work_of_others(void **state)
{
        (void)state;
        fake_try("", has_work_of_others);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_late),        cmocka_unit_test(test_delay),  cmocka_unit_test(test_events),
                cmocka_unit_test(test_two_devices), cmocka_unit_test(test_copies), cmocka_unit_test(test_stream_0),
                cmocka_unit_test(test_breaks),      cmocka_unit_test(test_no_values),
                cmocka_unit_test(test_work_of_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

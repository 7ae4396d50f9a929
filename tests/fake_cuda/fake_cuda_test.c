/* The driver's library, its devices and contexts, and what a configuration says of calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_cuda/fixture.h"

#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static void opens(struct fake *fake)
{
        struct pw_cuda_driver *driver;
        struct pw_error err;

        assert_int_equal(fake->driver->version, 13000);
        assert_int_equal(pw_cuda_driver_open("libcuda.so.none", &driver, &err), PW_NOT_FOUND);
        assert_non_null(strstr(err.text, "libcuda.so.none"));
        assert_non_null(strstr(err.text, "let --cuda-driver name"));
        assert_int_equal(pw_cuda_driver_open("libm.so.6", &driver, &err), PW_UNSUPPORTED);
        assert_non_null(strstr(err.text, "libm.so.6: has no cuInit: "));
        assert_int_equal(pw_cuda_driver_open("libm.so.6", &driver, NULL), PW_UNSUPPORTED);
}

static void test_open(void **state)
{
        (void)state;
        fake_try_bare("", opens);
}

/* The one of the fixture is new enough; the version is asked for again. */
static void opens_old(struct fake *fake)
{
        struct pw_cuda_driver *driver;
        struct pw_error err;

        assert_int_equal(pw_cuda_driver_open(fake->library, &driver, &err), PW_SYSTEM);
        assert_string_equal(err.text, "the version of the CUDA driver: an error of the fake (CUDA_ERROR_OPERATING_SYSTEM, 304)");
}

static void test_open_fails(void **state)
{
        (void)state;
        fake_try_bare("fail = cuDriverGetVersion@2=304\n", opens_old);
        fake_dies("driver = 11080\n", opens, SIGABRT,
                  "driver too old: has CUDA 11.8, needs 12.0: install a newer NVIDIA driver");
}

static void errors_map(struct fake *fake)
{
        struct pw_error err;

        assert_int_equal(pw_cuda_error(fake->driver, PW_CUDA_OUT_OF_MEMORY, "4 MiB", &err), PW_NO_SPACE);
        assert_string_equal(err.text, "4 MiB: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
        assert_int_equal(pw_cuda_error(fake->driver, PW_CUDA_ILLEGAL_ADDRESS, "x", NULL), PW_DEVICE_LOST);
        assert_int_equal(pw_cuda_error(fake->driver, PW_CUDA_ECC_UNCORRECTABLE, "x", NULL), PW_DEVICE_LOST);
        assert_int_equal(pw_cuda_error(fake->driver, PW_CUDA_INVALID_VALUE, "x", NULL), PW_SYSTEM);
        assert_int_equal(pw_cuda_error(fake->driver, (enum pw_cuda_result)12345, "x", &err), PW_SYSTEM);
        assert_string_equal(err.text, "x: unknown error (CUDA, 12345)");
        assert_true(pw_cuda_is_sticky(PW_CUDA_LAUNCH_FAILED));
        assert_false(pw_cuda_is_sticky(PW_CUDA_NOT_READY));
        assert_false(pw_cuda_is_sticky(PW_CUDA_SUCCESS));
}

static void test_errors(void **state)
{
        (void)state;
        fake_try_bare("", errors_map);
}

static void has_devices(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct pw_cuda_uuid uuid[2];
        int value, device;
        size_t bytes;
        char name[64];

        GIVES(NOT_INITIALIZED, cuda->cuDeviceGetCount(&value));
        GOOD(cuda->cuInit(0));
        GOOD(cuda->cuDeviceGetCount(&value));
        assert_int_equal(value, 3);
        GIVES(INVALID_DEVICE, cuda->cuDeviceGet(&device, 3));
        GOOD(cuda->cuDeviceGet(&device, 2));
        GOOD(cuda->cuDeviceGetAttribute(&value, PW_CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
        assert_int_equal(value, 8);
        GOOD(cuda->cuDeviceGetAttribute(&value, PW_CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
        assert_int_equal(value, 6);
        GOOD(cuda->cuDeviceGetAttribute(&value, PW_CUDA_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device));
        assert_int_equal(value, 0);
        GIVES(INVALID_VALUE, cuda->cuDeviceGetAttribute(&value, (enum pw_cuda_attribute)9999, device));
        GOOD(cuda->cuDeviceTotalMem(&bytes, device));
        assert_int_equal(bytes, 64 * MIB);
        GOOD(cuda->cuDeviceGetName(name, sizeof name, device));
        assert_string_equal(name, "Fake GPU 2");
        GOOD(cuda->cuDeviceGetUuid(&uuid[0], 0));
        GOOD(cuda->cuDeviceGetUuid(&uuid[1], 1));
        assert_memory_not_equal(uuid[0].bytes, uuid[1].bytes, sizeof uuid[0].bytes);
}

static void test_devices(void **state)
{
        (void)state;
        fake_try_bare("devices = 3\ncapacity = 67108864\narch = 86\nrefuse_write_value = 1\n", has_devices);
}

static void *has_no_context(void *argument)
{
        const struct fake *fake = argument;
        struct CUstream_st *stream;
        size_t free_bytes, total;

        GIVES(INVALID_CONTEXT, fake->driver->cuMemGetInfo(&free_bytes, &total));
        GIVES(INVALID_CONTEXT, fake->driver->cuStreamCreate(&stream, 0));
        GIVES(INVALID_CONTEXT, fake->driver->cuStreamQuery(fake->stream));
        return NULL;
}

static void has_contexts(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct CUctx_st *again, *other;
        struct CUstream_st *stream;
        unsigned long long address;
        size_t free_bytes, total;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, has_no_context, fake), 0);
        pthread_join(thread, NULL);
        GOOD(cuda->cuDevicePrimaryCtxSetFlags(0, PW_CUDA_CONTEXT_BLOCKING_SYNC));
        GOOD(cuda->cuDevicePrimaryCtxRetain(&again, 0));
        assert_ptr_equal(again, fake->context);
        GOOD(cuda->cuDevicePrimaryCtxRetain(&other, 1));
        GOOD(cuda->cuCtxSetCurrent(other));
        GOOD(cuda->cuStreamCreate(&stream, 0));
        GIVES(INVALID_HANDLE, cuda->cuLaunchKernel(fake_function(fake, "forever"), 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        GOOD(cuda->cuCtxSetCurrent(fake->context));
        GOOD(cuda->cuDevicePrimaryCtxRelease(0));
        GOOD(cuda->cuMemAlloc(&address, 8));
        GOOD(cuda->cuDevicePrimaryCtxRelease(0));
        GIVES(CONTEXT_IS_DESTROYED, cuda->cuMemAlloc(&address, 8));
        GIVES(INVALID_CONTEXT, cuda->cuDevicePrimaryCtxRelease(0));
        GIVES(INVALID_CONTEXT, cuda->cuCtxSetCurrent(fake->context));
        GOOD(cuda->cuDevicePrimaryCtxRetain(&again, 0));
        GOOD(cuda->cuCtxSetCurrent(again));
        GOOD(cuda->cuMemGetInfo(&free_bytes, &total));
        assert_int_equal(free_bytes, total); /* what it had has gone with it */
        GIVES(INVALID_HANDLE, cuda->cuStreamQuery(fake->stream));
}

static void test_contexts(void **state)
{
        (void)state;
        fake_try("hang = forever\n", has_contexts);
}

/* A child of a process that had one has none. */
static void forks(struct fake *fake)
{
        int status, count;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (!pid)
                _exit(fake->driver->cuDeviceGetCount(&count) == PW_CUDA_NOT_INITIALIZED ? 0 : 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static void test_fork(void **state)
{
        (void)state;
        fake_try("", forks);
}

/* The third fails with what passes, the fifth with what sticks. */
static void fails(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        uint64_t (*calls)(const char *name);
        unsigned long long address;
        void *found = fake_symbol(fake, "fake_cuda_calls");

        memcpy(&calls, &found, sizeof found);
        GOOD(cuda->cuMemAlloc(&address, 8));
        GOOD(cuda->cuMemAlloc(&address, 8));
        GIVES(OUT_OF_MEMORY, cuda->cuMemAlloc(&address, 8));
        GOOD(cuda->cuMemAlloc(&address, 8));
        GOOD(cuda->cuStreamQuery(fake->stream));
        GIVES(ECC_UNCORRECTABLE, cuda->cuMemAlloc(&address, 8));
        GIVES(ECC_UNCORRECTABLE, cuda->cuStreamQuery(fake->stream));
        assert_int_equal(calls("cuMemAlloc"), 5);
        assert_int_equal(calls("cuMemAlloc_v2"), 5);
        assert_int_equal(calls("cuMemFree"), 0);
}

static void test_fail(void **state)
{
        (void)state;
        fake_try("fail = cuMemAlloc@3=2, cuMemAlloc_v2@5=214\n", fails);
}

/* On demand; at the end the same is appended again. */
static void counts(struct fake *fake)
{
        char path[96], text[4096], line[64];
        void *found = fake_symbol(fake, "fake_cuda_counts");
        void (*write_counts)(void);
        FILE *file;

        memcpy(&write_counts, &found, sizeof found);
        GOOD(fake->driver->cuStreamQuery(fake->stream));
        GOOD(fake->driver->cuStreamQuery(fake->stream));
        write_counts();
        snprintf(path, sizeof path, "%s/counts", fake->folder);
        file = fopen(path, "re");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        snprintf(line, sizeof line, "%d cuStreamQuery 2\n", (int)getpid());
        assert_non_null(strstr(text, line));
        assert_null(strstr(text, "cuStreamWaitEvent"));
}

static void test_counts(void **state)
{
        (void)state;
        fake_try("counts = counts\n", counts);
        fake_dies("cuonts = counts\n", counts, SIGABRT, "fake_cuda.conf: no key cuonts");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_open),     cmocka_unit_test(test_open_fails), cmocka_unit_test(test_errors),
                cmocka_unit_test(test_devices),  cmocka_unit_test(test_contexts),   cmocka_unit_test(test_fork),
                cmocka_unit_test(test_fail),     cmocka_unit_test(test_counts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

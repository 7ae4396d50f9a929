/* Modules and kernels of the fake. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_cuda/fixture.h"

#include "base/memory.h"
#include "tests/fake_cuda/kernels.h"

#include <signal.h>

#define COUNT 100u

/* The arguments are the caller's again when the launch returns. */
static void scales(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long from, to;
        uint32_t count = COUNT, values[COUNT];
        struct pair factor = { 3, 1 };
        void *args[] = { &to, &from, &count, &factor };

        GOOD(cuda->cuMemAlloc(&from, sizeof values));
        GOOD(cuda->cuMemAlloc(&to, sizeof values));
        for (uint32_t i = 0; i < COUNT; i++)
                values[i] = i;
        GOOD(cuda->cuMemcpyHtoDAsync(from, values, sizeof values, fake->stream));
        gate_close(fake, fake->stream);
        fake_launch(fake, "scale", fake->stream, args);
        factor = (struct pair){ 0, 0 };
        count = 0;
        memset(args, 0, sizeof args);
        gate_open(fake);
        GOOD(cuda->cuMemcpyDtoHAsync(values, to, sizeof values, fake->stream));
        for (uint32_t i = 0; i < COUNT; i++)
                assert_int_equal(values[i], 3 * i + 1);
}

static void test_launch(void **state)
{
        (void)state;
        fake_try("", scales);
}

static void launches_wrongly(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct CUfunc_st *gate = fake_function(fake, "gate"), *function;
        unsigned long long word = (uintptr_t)fake->word;
        void *args[] = { &word };

        *fake->word = 1;
        GIVES(NOT_FOUND, cuda->cuModuleGetFunction(&function, fake->module, "gat"));
        GIVES(INVALID_VALUE, cuda->cuLaunchKernel(gate, 0, 1, 1, 1, 1, 1, 0, fake->stream, args, NULL));
        GIVES(INVALID_VALUE, cuda->cuLaunchKernel(gate, 1, 1, 1, 1025, 1, 1, 0, fake->stream, args, NULL));
        GIVES(INVALID_VALUE, cuda->cuLaunchKernel(gate, 1, 65536, 1, 1, 1, 1, 0, fake->stream, args, NULL));
        GIVES(INVALID_VALUE, cuda->cuLaunchKernel(gate, 1, 1, 1, 1, 1, 65, 0, fake->stream, args, NULL));
        GIVES(INVALID_VALUE, cuda->cuLaunchKernel(gate, 1, 1, 1, 1, 1, 1, 1 << 20, fake->stream, args, NULL));
        GIVES(INVALID_VALUE, cuda->cuLaunchKernel(gate, 1, 1, 1, 1, 1, 1, 0, fake->stream, NULL, NULL));
        GOOD(cuda->cuLaunchKernel(gate, 1, 1, 1, 1024, 1, 1, 0, fake->stream, args, NULL));
        GOOD(cuda->cuModuleUnload(fake->module));
        GIVES(INVALID_HANDLE, cuda->cuModuleUnload(fake->module));
        GIVES(INVALID_HANDLE, cuda->cuModuleGetFunction(&function, fake->module, "gate"));
        GOOD(cuda->cuStreamSynchronize(fake->stream));
}

static void test_wrong(void **state)
{
        (void)state;
        fake_try("", launches_wrongly);
}

/* What loading `text` gives, and `says` in its log. */
static void load(const struct fake *fake, const char *text, enum pw_cuda_result result, const char *says)
{
        enum pw_cuda_jit_option options[] = { PW_CUDA_JIT_ERROR_LOG_BUFFER, PW_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
        char log[256] = "";
        void *values[] = { log, (void *)sizeof log };
        struct CUmod_st *module;

        assert_int_equal(fake->driver->cuModuleLoadDataEx(&module, text, 2, options, values), result);
        assert_int_equal((uintptr_t)values[1], strlen(log));
        if (!strstr(log, says))
                fail_msg("it said: %s", log);
}

static void loads(struct fake *fake)
{
        load(fake, "\x7f" "ELF", PW_CUDA_INVALID_IMAGE, "");
        load(fake, "// nothing", PW_CUDA_INVALID_PTX, "missing .version");
        load(fake, ".version 8.0\n", PW_CUDA_INVALID_PTX, "missing .target");
        load(fake, ".version 8.0\n.target sm_86\n", PW_CUDA_SUCCESS, "");
        load(fake, "// .target sm_99\n.version 8.0 /* .target sm_99 */\n.target sm_86, debug\n", PW_CUDA_SUCCESS, "");
        load(fake, ".version 8.0\n.target sm_89\n", PW_CUDA_INVALID_PTX,
             "line 2; fatal   : SM version specified by .target is higher");
        load(fake, ".version 8.0\n.target sm_999\n", PW_CUDA_INVALID_PTX, "line 2; fatal   : Unsupported .target 'sm_999'");
        load(fake, ".version 8.0\n.target sm_80a\n", PW_CUDA_INVALID_PTX, "'sm_80a' cannot be compiled to architecture 'sm_86'");
        load(fake, ".version 8.4\n.target sm_80\n", PW_CUDA_SUCCESS, "");
        load(fake, ".version 8.5\n.target sm_80\n", PW_CUDA_UNSUPPORTED_PTX_VERSION,
             "line 1; fatal   : Unsupported .version 8.5; current version is '8.4'");
        load(fake, KERNELS_HEAD ".entry half(.param .u64 x", PW_CUDA_INVALID_PTX, "entry 'half'");
}

static void test_load(void **state)
{
        (void)state;
        fake_try("arch = 86\ndriver = 12040\n", loads);
}

static void has_no_host_form(struct fake *fake) { fake_function(fake, "forever"); }

static void test_no_host_form(void **state)
{
        (void)state;
        fake_dies("", has_no_host_form, SIGABRT, "entry forever has no host form");
        fake_dies("kernels = none.so\n", has_no_host_form, SIGABRT, "kernels = none.so: ");
}

static void traps(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long address;

        fake_launch(fake, "wrong", fake->stream, NULL);
        GIVES(LAUNCH_FAILED, cuda->cuStreamSynchronize(fake->stream));
        GIVES(LAUNCH_FAILED, cuda->cuStreamQuery(fake->stream));
        GIVES(LAUNCH_FAILED, cuda->cuMemAlloc(&address, 8));
        GIVES(LAUNCH_FAILED, cuda->cuMemHostUnregister(fake->word));
}

static void is_illegal(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long nowhere = 4096;

        fake_launch(fake, "gate", fake->stream, (void *[]){ &nowhere });
        GIVES(ILLEGAL_ADDRESS, cuda->cuStreamSynchronize(fake->stream));
        GIVES(ILLEGAL_ADDRESS, cuda->cuStreamQuery(fake->stream));
}

static void test_sticks(void **state)
{
        (void)state;
        fake_try("trap = wrong\n", traps);
        fake_try("", is_illegal);
}

/* It never ends, and nothing behind it begins; the process can. */
static void hangs(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct CUstream_st *second;
        unsigned long long address;

        GOOD(cuda->cuMemAlloc(&address, 64));
        GOOD(cuda->cuStreamCreate(&second, 0));
        fake_launch(fake, "forever", fake->stream, NULL);
        GOOD(cuda->cuMemsetD8Async(address, 7, 8, fake->stream));
        for (int i = 0; i < 100; i++) {
                GOOD(cuda->cuMemsetD8Async(address, 8, 8, second));
                GOOD(cuda->cuStreamSynchronize(second));
        }
        GIVES(NOT_READY, cuda->cuStreamQuery(fake->stream));
        GOOD(cuda->cuDevicePrimaryCtxRelease(0));
}

static void test_hang(void **state)
{
        (void)state;
        fake_try("hang = forever\n", hangs);
}

/* Loading waits for what the device does. */
static void loads_late(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        struct CUmod_st *module;
        unsigned long long address;

        GOOD(cuda->cuMemAlloc(&address, 64));
        for (int i = 0; i < 20; i++)
                GOOD(cuda->cuMemsetD8Async(address, 7, 8, fake->stream));
        GOOD(cuda->cuModuleLoadDataEx(&module, KERNELS_PTX, 0, NULL, NULL));
        GOOD(cuda->cuStreamQuery(fake->stream));
}

static void test_load_late(void **state)
{
        (void)state;
        fake_try("delay_us = 1000\n", loads_late);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_launch),       cmocka_unit_test(test_wrong),  cmocka_unit_test(test_load),
                cmocka_unit_test(test_no_host_form), cmocka_unit_test(test_sticks), cmocka_unit_test(test_hang),
                cmocka_unit_test(test_load_late),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

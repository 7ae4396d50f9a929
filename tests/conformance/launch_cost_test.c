/* What a call on a GPU costs its host: calls of the driver, none that blocks, no memory of the heap, and how long. The figures are
 * printed; the device is that of the fake driver, so they say nothing of a real one's. And that what comes between two calls spoils
 * nothing of either.
 */
#include "base/memory.h"
#include "executor/device/cuda/cuda_driver.h"
#include "executor/device/device.h"
#include "tests/integration/gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ARENA_BYTES (UINT64_C(4) << 20)
#define CALLS_MOST 3.0
#define KIN_MOST 1.5 /* where several end together */
#define CALLS 64u

static struct it_gpus gpus;
static const struct pw_module *module; /* pw */

static void no_ring(void *context) { (void)context; }
__attribute__((noreturn)) static void lost(void *context, const char *how)
{
        (void)context;
        fail_msg("the device is lost: %s", how);
        abort();
}

/* --- counting ----------------------------------------------------------------------------------------------------------------- */

static uint64_t (*calls_of)(const char *name);

static const char *const names[] = {
#define NAME(field, symbol, parameters) #field,
        PW_CUDA_FUNCTION_MAP(NAME)
#undef NAME
};
/* Those that wait for the device, or may. */
static const char *const blocking[] = { "cuStreamSynchronize", "cuEventSynchronize", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc",
                                        "cuMemHostRegister", "cuModuleLoadDataEx", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync" };

static uint64_t all_calls(void)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < pw_array_count(names); i++)
                sum += calls_of(names[i]);
        return sum;
}

static uint64_t blocking_calls(void)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < pw_array_count(blocking); i++)
                sum += calls_of(blocking[i]);
        return sum;
}

static uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- a call ------------------------------------------------------------------------------------------------------------------- */

struct call { struct pw_device_call call; struct pw_task task; struct pw_task_value values[2]; uint32_t rests[1]; };

static const struct pw_function *function_of(const char *name)
{
        for (uint32_t i = 0; i < module->function_count; i++)
                if (!strcmp(module->functions[i].name, name))
                        return &module->functions[i];
        fail_msg("the module pw has no %s", name);
        return NULL;
}

static void make_call(struct call *call, uint8_t *base, const double *factor)
{
        static char text[200];

        *call = (struct call){ .rests = { 512 - 64 } };
        call->values[0] = (struct pw_task_value){ .data = base, .bytes = 64, .dtype = PW_F64, .dims = PW_DIMS(8) };
        call->values[1] = (struct pw_task_value){ .data = base + 512, .bytes = 64, .dtype = PW_F64, .dims = PW_DIMS(8) };
        call->task = (struct pw_task){ .input_count = 1, .output_count = 1, .inputs = call->values, .outputs = call->values + 1,
                                       .params = factor, .params_bytes = sizeof *factor, .error_text = text,
                                       .error_text_bytes = sizeof text };
        call->call = (struct pw_device_call){ .function = function_of("scale"), .task = &call->task, .rests = call->rests,
                                              .codes = module->codes, .code_count = module->code_count,
                                              .serial = 1 };
}

static struct pw_device_end await(const struct pw_device_kind *kind, struct pw_exec_device *device)
{
        struct pw_device_end end;

        while (!kind->done(device, &end))
                usleep(50);
        return end;
}

struct site {
        const struct pw_device_kind *kind;
        const struct pw_device_memory *memory;
        struct pw_exec_device *device;
        int fd;
        uint8_t *base;
};

static void site_open(struct site *site)
{
        struct pw_device_params params = { .ring = no_ring, .lost = lost };
        struct pw_error err;
        void *library;

        site->kind = pw_device_kind("cuda");
        snprintf(params.library, sizeof params.library, "%s", gpus.driver);
        if (site->kind->open(&params, &site->device, &err) != PW_OK)
                fail_msg("%s", err.text);
        library = dlopen(gpus.driver, RTLD_NOW | RTLD_NOLOAD);
        *(void **)&calls_of = dlsym(library, "fake_cuda_calls");
        assert_non_null(calls_of);
        site->memory = site->kind->memory(site->device);
        assert_int_equal(site->memory->make(site->device, ARENA_BYTES, &site->fd, &err), PW_OK);
        assert_int_equal(site->memory->map(site->device, &(struct pw_arena){ site->fd, true, ARENA_BYTES }, &site->base, &err),
                         PW_OK);
}

static void site_close(struct site *site)
{
        site->memory->unmap(site->device, site->base, ARENA_BYTES);
        close(site->fd);
        site->kind->close(site->device);
}

static void launch(struct site *site, struct call *call)
{
        assert_int_equal(site->kind->launch(site->device, &call->call, NULL), PW_OK);
}

static void cost(uint64_t kin, double most)
{
        static struct call calls[CALLS];
        const double factor = 3;
        uint64_t before, blocked, heap, took_ns;
        struct site site;

        site_open(&site);
        make_call(&calls[0], site.base, &factor); /* the first time of its code */
        launch(&site, &calls[0]);
        assert_int_equal(await(site.kind, site.device).status, PW_OK);

        for (uint32_t i = 0; i < CALLS; i++) {
                make_call(&calls[i], site.base, &factor);
                calls[i].call.kin = kin;
        }
        before = all_calls();
        blocked = blocking_calls();
        heap = mallinfo2().uordblks;
        took_ns = now_ns();
        for (uint32_t i = 0; i < CALLS; i++)
                launch(&site, &calls[i]);
        took_ns = now_ns() - took_ns;
        printf("a call on a GPU: %.2f calls of the driver, %lu that block, %ld bytes of the heap for %u, "
               "%.2f us of the fake's own\n",
               (double)(all_calls() - before) / CALLS, (unsigned long)(blocking_calls() - blocked),
               (long)(mallinfo2().uordblks - heap), CALLS, (double)took_ns / 1000 / CALLS);
        assert_true((double)(all_calls() - before) <= CALLS * most);
        assert_int_equal(blocking_calls(), blocked);
        assert_int_equal(site.kind->launch(site.device, &calls[0].call, NULL), PW_LIMIT); /* as many as may be are under way */
        for (uint32_t i = 0; i < CALLS; i++)
                assert_int_equal(await(site.kind, site.device).status, PW_OK);
        site_close(&site);
}

static void test_cost(void **state)
{
        (void)state;
        cost(0, CALLS_MOST);
        cost(1, KIN_MOST);
}

/* The guard right behind the second output is at the end of the room that the first one is in, which it takes over. */
static void test_rooms_that_overlap(void **state)
{
        const double factor = 3;
        struct call calls[2];
        struct site site;

        (void)state;
        site_open(&site);
        for (uint32_t i = 0; i < pw_array_count(calls); i++) {
                make_call(&calls[i], site.base, &factor);
                calls[i].call.guard = (struct pw_guard){ { 0x1111 + i, 0x2222 + i } };
        }
        calls[1].values[1].data = site.base + 1024 - 16 - 64;
        launch(&site, &calls[0]);
        launch(&site, &calls[1]);
        for (uint32_t i = 0; i < pw_array_count(calls); i++)
                assert_int_equal(await(site.kind, site.device).guard, PW_GUARD_WHOLE);
        site_close(&site);
}

static int begin(void **state)
{
        char path[600];
        void *library;

        (void)state;
        it_gpus_init(&gpus, "delay_us = 5\n");
        library = dlopen(it_built("executor/modules/.libs/pw.so", path), RTLD_NOW | RTLD_LOCAL);
        module = library ? dlsym(library, PW_MODULE_SYMBOL) : NULL;
        return module ? 0 : -1;
}

static int end(void **state)
{
        (void)state;
        it_gpus_done(&gpus);
        return 0;
}

#define LOADS 300u     /* of a module */
#define CODES_STAY 257u /* and that of the executor's guards among them */

static void call_of(struct site *site, uint64_t serial, const struct pw_code *code)
{
        const double factor = (double)serial;
        struct call call;

        make_call(&call, site->base, &factor);
        call.call.serial = serial;
        call.call.codes = code ? code : call.call.codes;
        launch(site, &call);
        assert_int_equal(await(site->kind, site->device).status, PW_OK);
}

/* Of more loads of modules than may stay, those go that were used longest ago. */
static void test_code_goes(void **state)
{
        uint64_t loads, of_first;
        struct site site;

        (void)state;
        site_open(&site);
        call_of(&site, 1, NULL);
        loads = calls_of("cuModuleLoadDataEx");
        for (uint32_t round = 0; round < 2; round++) {
                for (uint64_t serial = 2; serial < LOADS; serial++) {
                        call_of(&site, serial, NULL);
                        of_first = calls_of("cuModuleLoadDataEx");
                        call_of(&site, 1, NULL);
                        assert_int_equal(calls_of("cuModuleLoadDataEx"), of_first);
                        assert_true(of_first - calls_of("cuModuleUnload") <= CODES_STAY);
                }
        }
        assert_int_equal(calls_of("cuModuleLoadDataEx"), loads + 2 * (LOADS - 2));
        site_close(&site);
}

/* A load of a module has code of its own, though that lies where another one's did. */
static void test_code_of_two_loads(void **state)
{
        const struct pw_code code = module->codes[0];
        struct site site;
        uint64_t loads;

        (void)state;
        site_open(&site);
        call_of(&site, 1, &code);
        loads = calls_of("cuModuleLoadDataEx");
        call_of(&site, 2, &code);
        call_of(&site, 1, &code);
        assert_int_equal(calls_of("cuModuleLoadDataEx"), loads + 1);
        site_close(&site);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_cost), cmocka_unit_test(test_rooms_that_overlap),
                                            cmocka_unit_test(test_code_goes), cmocka_unit_test(test_code_of_two_loads) };

        return cmocka_run_group_tests_name("calls on a GPU", tests, begin, end);
}

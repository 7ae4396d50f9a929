/* The module pw's forms for GPUs, held against its functions: the same bits, but for which NaN it is, for every dtype. */
#include "base/memory.h"
#include "tests/kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define SEEDS 3000u
#define ROOM 4096u /* bytes of an input or output */
#define INPUTS 4u
#define MODULE "executor/modules/.libs/pw.so"

/* A call, twice: by the function, and by its form for GPUs. */
struct call {
        const struct pw_function *function;
        uint64_t seed, state;
        struct pw_task task;
        struct pw_task_value inputs[INPUTS], outputs[2][INPUTS];
        uint8_t rooms[3][INPUTS][ROOM] __attribute__((aligned(256))); /* inputs, outputs of either */
};

static uint32_t draw(struct call *call, uint32_t below) { return (uint32_t)(kernels_random(&call->state) % below); }

static struct pw_task_value value_of(void *room, enum pw_dtype dtype, const struct pw_dims *dims)
{
        struct pw_task_value value = { .data = room, .dtype = dtype, .dims = *dims, .bytes = pw_dtype_bytes(dtype) };

        for (uint32_t d = 0; d < dims->rank; d++)
                value.bytes *= dims->dim[d];
        assert_in_range(value.bytes, 0, ROOM - 8);
        return value;
}

/* `counts`: of inputs and of outputs, which are like input 0. Inputs are of any bytes. */
static void init(struct call *call, const char *name, uint64_t seed, const uint32_t counts[2])
{
        *call = (struct call){ .seed = seed, .state = seed, .function = kernels_function(MODULE, name) };
        enum pw_dtype dtype = (enum pw_dtype)(PW_U8 + draw(call, PW_U64));
        struct pw_dims dims = { .rank = draw(call, 3), .dim = { draw(call, 22), draw(call, 22) } };

        call->task = (struct pw_task){ .input_count = counts[0], .output_count = counts[1], .services = &kernel_services };
        for (uint32_t i = 0; i < INPUTS; i++) {
                for (uint32_t byte = 0; byte < ROOM; byte++)
                        call->rooms[0][i][byte] = (uint8_t)draw(call, 256);
                call->inputs[i] = value_of(call->rooms[0][i], dtype, &dims);
                for (uint32_t form = 0; form < 2; form++)
                        call->outputs[form][i] = value_of(call->rooms[1 + form][i], dtype, &dims);
        }
        call->task.inputs = call->inputs;
}

static bool is_nan(enum pw_dtype dtype, const void *at)
{
        switch (dtype) {
        case PW_F16: return (*(const uint16_t *)at & 0x7fff) > 0x7c00;
        case PW_BF16: return (*(const uint16_t *)at & 0x7fff) > 0x7f80;
        case PW_F32: return *(const float *)at != *(const float *)at;
        case PW_F64: return *(const double *)at != *(const double *)at;
        default: return false;
        }
}

/* All of the outputs' rooms has to be the same. */
static void check(const struct call *call)
{
        enum pw_dtype dtype = (enum pw_dtype)call->outputs[0][0].dtype;
        uint32_t each = (uint32_t)pw_dtype_bytes(dtype);

        for (uint32_t i = 0; i < INPUTS; i++)
                for (uint32_t at = 0; at < ROOM; at += each) {
                        const uint8_t *want = call->rooms[1][i] + at, *got = call->rooms[2][i] + at;
                        if (memcmp(want, got, each) && !(is_nan(dtype, want) && is_nan(dtype, got)))
                                fail_msg("seed %llu: %s gives another output %u, element %u", (unsigned long long)call->seed,
                                         call->function->name, i, at / each);
                }
}

static void compare(struct call *call)
{
        call->task.outputs = call->outputs[0];
        assert_int_equal(call->function->run(&call->task), PW_OK);
        call->task.outputs = call->outputs[1];
        assert_int_equal(call->function->cuda(&call->task), PW_OK);
        check(call);
}

/* Output 0 takes the room of input 0. */
static void compare_in_place(struct call *call)
{
        for (uint32_t form = 0; form < 2; form++) {
                call->task.outputs = call->outputs[form];
                memcpy(call->rooms[1 + form][0], call->rooms[0][0], call->inputs[0].bytes);
                call->inputs[0].data = call->rooms[1 + form][0];
                assert_int_equal((form ? call->function->cuda : call->function->run)(&call->task), PW_OK);
        }
        check(call);
}

static void test_nop(void **state)
{
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
                init(&call, "nop", seed, (uint32_t[]){ (uint32_t)seed % 4 + 1, (uint32_t)(seed / 4) % 4 + 1 });
                compare(&call);
                call.outputs[1][0] = call.inputs[0]; /* in place: nothing is moved onto itself */
                call.task.services = NULL;
                call.task.output_count = 1;
                assert_int_equal(call.function->cuda(&call.task), PW_OK);
        }
}

static void test_fill(void **state)
{
        static const double values[] = { 0, 1, -1, 0.5, -2.75, 300, 70000, -1e10, 1e19, 1e300, -1e300, 1e-7, 65504, 65520 };
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                double value = values[seed % pw_array_count(values)];
                init(&call, "fill", seed, (uint32_t[]){ 1, 1 + (uint32_t)seed % 3 });
                call.task.params = &value;
                call.task.params_bytes = sizeof value;
                compare(&call);
        }
}

static void test_add(void **state)
{
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                init(&call, "add", seed, (uint32_t[]){ 1 + (uint32_t)seed % INPUTS, 1 });
                if (call.inputs[0].dtype != PW_BOOL)
                        (seed % 3 ? compare : compare_in_place)(&call);
        }
}

static void test_scale(void **state)
{
        static const double factors[] = { 0, 1, -1, 3, 0.5, -0.5, 1.1, 1e10, 1e300, -1e-300, 9007199254740993.0, -0x1p63, 0x1p63 };
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                double factor = factors[seed % pw_array_count(factors)];
                init(&call, "scale", seed, (uint32_t[]){ 1, 1 });
                call.task.params = &factor;
                call.task.params_bytes = sizeof factor;
                if (call.inputs[0].dtype != PW_BOOL)
                        (seed % 3 ? compare : compare_in_place)(&call);
        }
}

static void test_matmul(void **state)
{
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS / 3; seed++) {
                init(&call, "matmul", seed, (uint32_t[]){ 2, 1 });
                uint64_t m = draw(&call, 20), k = draw(&call, 20), n = draw(&call, 20);
                enum pw_dtype dtype = draw(&call, 2) ? PW_F32 : PW_F64;
                call.inputs[0] = value_of(call.rooms[0][0], dtype, &PW_DIMS(m, k));
                call.inputs[1] = value_of(call.rooms[0][1], dtype, &PW_DIMS(k, n));
                for (uint32_t i = 0; i < 2; i++)
                        call.outputs[i][0] = value_of(call.rooms[1 + i][0], dtype, &PW_DIMS(m, n));
                for (uint64_t i = 0; seed % 2 && i < 1000; i++) /* small numbers, whose sums are finite */
                        if (dtype == PW_F32)
                                ((float *)(void *)call.rooms[0][i % 2])[i / 2] = (float)draw(&call, 2000) / 7 - 140;
                        else
                                ((double *)(void *)call.rooms[0][i % 2])[i / 2] = (double)draw(&call, 2000) / 7 - 140;
                compare(&call);
        }
}

static uint64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void test_durations(void **state)
{
        static const char *const names[] = { "sleep_us", "spin_us" };
        static struct call call;
        (void)state;

        for (uint32_t i = 0; i < 2; i++) {
                uint64_t us = 3000, start;
                init(&call, names[i], i + 1, (uint32_t[]){ 1, 1 });
                call.task.params = &us;
                call.task.params_bytes = sizeof us;
                call.task.outputs = call.outputs[1];
                start = now_us();
                assert_int_equal(call.function->cuda(&call.task), PW_OK);
                assert_in_range(now_us() - start, us, UINT64_MAX);
                assert_memory_equal(call.outputs[1][0].data, call.inputs[0].data, call.inputs[0].bytes);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nop),   cmocka_unit_test(test_fill),   cmocka_unit_test(test_add),
                cmocka_unit_test(test_scale), cmocka_unit_test(test_matmul), cmocka_unit_test(test_durations),
        };

        kernels_open("libpw_fake_kernels.so");
        return cmocka_run_group_tests(tests, NULL, NULL);
}

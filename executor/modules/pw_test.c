/* The module `pw`: shapes, values of every dtype, in place, what it refuses. */
#include "base/half.h"
#include "base/memory.h"
#include "executor/program/module.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

static enum pw_status open_module(void *context, const char *name, uint64_t digest, int *ret_fd, struct pw_error *ret_err)
{
        const char *top = getenv("PW_BUILD");
        char path[4096];
        (void)context, (void)digest;

        snprintf(path, sizeof path, "%s/executor/modules/.libs/%s.so", top ? top : ".", name);
        *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
        return *ret_fd >= 0 ? PW_OK : pw_error_set(ret_err, PW_NOT_FOUND, "no %s", path);
}

static const struct pw_surroundings around = { .module = open_module };

static int load(void **state)
{
        struct pw_exec_modules *modules = calloc(1, sizeof *modules);

        pw_modules_init(modules, &around);
        *state = modules;
        return 0;
}

static int unload(void **state)
{
        pw_modules_done(*state);
        free(*state);
        return 0;
}

static const struct pw_function *find(void **state, const char *name)
{
        struct pw_found_function found;
        struct pw_error err;

        if (pw_modules_find(*state, "pw", name, 1, &found, &err) != PW_OK)
                fail_msg("%s", err.text);
        return found.function;
}

struct shard { enum pw_dtype dtype; struct pw_dims dims; };

/* The shape of the output; its status. */
static enum pw_status shape(const struct pw_function *function, const struct shard *inputs, uint32_t count, const void *params,
                            uint64_t params_bytes, struct shard *ret_output)
{
        char text[200];
        struct pw_shape_value given[PW_TASK_ARGS_MAX], output;
        struct pw_shape_task task = { .input_count = count, .output_count = 1, .inputs = given, .outputs = &output,
                                      .params = params, .params_bytes = params_bytes, .error_text = text,
                                      .error_text_bytes = sizeof text };
        enum pw_status status;

        for (uint32_t i = 0; i < count; i++)
                given[i] = (struct pw_shape_value){ .dtype = inputs[i].dtype, .dims = inputs[i].dims };
        status = function->shape(&task);
        if (status == PW_OK)
                *ret_output = (struct shard){ (enum pw_dtype)output.dtype, output.dims };
        return status;
}

static struct pw_task_value value(const struct shard *shard, void *data)
{
        uint64_t elements = 1;

        for (uint32_t d = 0; d < shard->dims.rank; d++)
                elements *= shard->dims.dim[d];
        return (struct pw_task_value){ .data = data, .bytes = elements * pw_dtype_bytes(shard->dtype), .dtype = shard->dtype,
                                       .dims = shard->dims };
}

/* Run over `inputs` of `data`, one output of the shape that the function gives. */
static void run(const struct pw_function *function, const struct shard *inputs, void *const *data, uint32_t count,
                const void *params, uint64_t params_bytes, void *ret_output)
{
        struct pw_task_value values[PW_TASK_ARGS_MAX], output;
        struct pw_task task = { .input_count = count, .output_count = 1, .inputs = values, .outputs = &output, .params = params,
                                .params_bytes = params_bytes };
        struct shard shard;

        assert_int_equal(shape(function, inputs, count, params, params_bytes, &shard), PW_OK);
        for (uint32_t i = 0; i < count; i++)
                values[i] = value(&inputs[i], data[i]);
        output = value(&shard, ret_output);
        assert_int_equal(function->run(&task), PW_OK);
}

/* --- numbers of every dtype --------------------------------------------------------------------------------------------------- */

static double element(enum pw_dtype dtype, const void *data, uint32_t i)
{
        switch (dtype) {
        case PW_U8: return ((const uint8_t *)data)[i];
        case PW_BOOL: return ((const uint8_t *)data)[i];
        case PW_U16: return ((const uint16_t *)data)[i];
        case PW_U32: return ((const uint32_t *)data)[i];
        case PW_U64: return (double)((const uint64_t *)data)[i];
        case PW_I8: return ((const int8_t *)data)[i];
        case PW_I32: return ((const int32_t *)data)[i];
        case PW_I64: return (double)((const int64_t *)data)[i];
        case PW_F16: return pw_f16_to_float(((const uint16_t *)data)[i]);
        case PW_BF16: return pw_bf16_to_float(((const uint16_t *)data)[i]);
        case PW_F32: return (double)((const float *)data)[i];
        default: return ((const double *)data)[i];
        }
}

static void test_fill_add_scale(void **state)
{
        (void)state;
        for (uint32_t dtype = PW_U8; dtype <= PW_U64; dtype++) {
                if (dtype == PW_BOOL)
                        continue;
                struct { double value; uint64_t dtype, rank, dim[2]; } params = { 3.0, dtype, 2, { 5, 7 } };
                struct shard shard = { (enum pw_dtype)dtype, PW_DIMS(5, 7) };
                uint64_t a[64], b[64];
                double factor = 4.0;
                run(find(state, "fill"), NULL, NULL, 0, &params, sizeof params, a);
                run(find(state, "add"), (struct shard[]){ shard, shard, shard }, (void *[]){ a, a, a }, 3, NULL, 0, b);
                run(find(state, "scale"), &shard, (void *[]){ b }, 1, &factor, sizeof factor, b); /* in place */
                for (uint32_t i = 0; i < 35; i++) {
                        assert_true(element(shard.dtype, a, i) == 3.0);
                        assert_true(element(shard.dtype, b, i) == 36.0);
                }
                params.value = 2.0;
                run(find(state, "fill"), &shard, (void *[]){ a }, 1, &params, 8, b);
                assert_true(element(shard.dtype, b, 34) == 2.0);
        }
}

/* Whole numbers: no digit of 64 bits is lost, sums and products wrap around, and a number that does not fit becomes the nearest. */
static void test_whole_numbers(void **state)
{
        static const struct { enum pw_dtype dtype; double fill; uint64_t want; } fills[] = {
                { PW_U8, 300, UINT8_MAX },
                { PW_U8, -1, 0 },
                { PW_I8, -200, 0x80 },
                { PW_I8, 1e9, INT8_MAX },
                { PW_U16, 1e9, UINT16_MAX },
                { PW_U16, 2.9, 2 },
                { PW_U32, 1e19, UINT32_MAX },
                { PW_U32, 4294967295.0, UINT32_MAX },
                { PW_U64, 1e30, UINT64_MAX },
                { PW_U64, 0x1p63, UINT64_C(1) << 63 },
                { PW_I64, 1e30, INT64_MAX },
                { PW_I32, -1e10, 0x80000000u },
                { PW_I32, (double)NAN, 0 },
                { PW_U64, (double)NAN, 0 },
        };
        static const struct { enum pw_dtype dtype; double factor; uint64_t from, want; } scales[] = {
                { PW_U64, 3, (UINT64_C(1) << 53) + 1, (UINT64_C(3) << 53) + 3 }, { PW_U64, -1, 1, UINT64_MAX },
                { PW_I64, 3, (UINT64_C(1) << 53) + 1, (UINT64_C(3) << 53) + 3 }, { PW_U16, 2, 0x8001, 2 },
                { PW_U32, 0.5, 7, 3 }, { PW_U8, 1.5, 200, UINT8_MAX }, { PW_I8, -0.5, 0x80, 64 },
        };
        uint64_t a, b;

        for (uint32_t i = 0; i < pw_array_count(fills); i++) {
                struct { double value; uint64_t dtype, rank; } params = { fills[i].fill, fills[i].dtype, 0 };
                a = 0;
                run(find(state, "fill"), NULL, NULL, 0, &params, sizeof params, &a);
                if (a != fills[i].want)
                        fail_msg("fill %u: %llx, not %llx", i, (unsigned long long)a, (unsigned long long)fills[i].want);
        }
        for (uint32_t i = 0; i < pw_array_count(scales); i++) {
                struct shard shard = { scales[i].dtype, PW_SCALAR };
                a = scales[i].from;
                b = 0;
                run(find(state, "scale"), &shard, (void *[]){ &a }, 1, &scales[i].factor, 8, &b);
                if (b != scales[i].want)
                        fail_msg("scale %u: %llx, not %llx", i, (unsigned long long)b, (unsigned long long)scales[i].want);
        }
        a = UINT64_MAX;
        run(find(state, "add"), (struct shard[]){ { PW_U64, PW_SCALAR }, { PW_U64, PW_SCALAR } }, (void *[]){ &a, &a }, 2,
            NULL, 0, &b);
        assert_true(b == UINT64_MAX - 1);
}

/* Bools are filled, and neither added nor scaled. */
static void test_bools(void **state)
{
        struct { double value; uint64_t dtype, rank; } params = { 0.5, PW_BOOL, 0 };
        struct shard shard = { PW_BOOL, PW_SCALAR }, out;
        uint8_t flag = 7;

        run(find(state, "fill"), NULL, NULL, 0, &params, sizeof params, &flag);
        assert_int_equal(flag, 1);
        params.value = 0;
        run(find(state, "fill"), &shard, (void *[]){ &flag }, 1, &params, 8, &flag);
        assert_int_equal(flag, 0);
        assert_int_equal(shape(find(state, "add"), &shard, 1, NULL, 0, &out), PW_SHAPE);
        assert_int_equal(shape(find(state, "scale"), &shard, 1, &params.value, 8, &out), PW_SHAPE);
        params.dtype = PW_U64 + 1;
        assert_int_equal(shape(find(state, "fill"), NULL, 0, &params, sizeof params, &out), PW_SHAPE);
}

static void test_matmul(void **state)
{
        static const float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 1, 0, 2, 1, 0, 3 };
        static const double c[] = { 1.5 }, d[] = { 1, 2, 3 };
        float product[4];
        double row[3], zeros[3];
        (void)state;

        run(find(state, "matmul"), (struct shard[]){ { PW_F32, PW_DIMS(2, 3) }, { PW_F32, PW_DIMS(3, 2) } },
            (void *[]){ (void *)(uintptr_t)a, (void *)(uintptr_t)b }, 2, NULL, 0, product);
        assert_memory_equal(product, ((float[]){ 5, 11, 14, 23 }), sizeof product);
        run(find(state, "matmul"), (struct shard[]){ { PW_F64, PW_DIMS(1, 1) }, { PW_F64, PW_DIMS(1, 3) } },
            (void *[]){ (void *)(uintptr_t)c, (void *)(uintptr_t)d }, 2, NULL, 0, row);
        assert_memory_equal(row, ((double[]){ 1.5, 3, 4.5 }), sizeof row);
        run(find(state, "matmul"), (struct shard[]){ { PW_F64, PW_DIMS(1, 0) }, { PW_F64, PW_DIMS(0, 3) } },
            (void *[]){ row, row }, 2, NULL, 0, zeros);
        assert_memory_equal(zeros, ((double[]){ 0, 0, 0 }), sizeof zeros);
}

static void test_nop(void **state)
{
        struct shard shard, in = { PW_OPAQUE, PW_DIMS(11) };
        char from[] = "ten and one", to[11];
        (void)state;

        run(find(state, "nop"), &in, (void *[]){ from }, 1, NULL, 0, to);
        assert_memory_equal(from, to, sizeof to);
        assert_int_equal(shape(find(state, "nop"), NULL, 0, NULL, 0, &shard), PW_OK);
        assert_int_equal(shard.dims.rank, 1);
        assert_int_equal(shard.dims.dim[0], 0);
        assert_int_equal(find(state, "nop")->in_place, 1);
}

static void test_what_it_refuses(void **state)
{
        struct shard bytes = { PW_OPAQUE, PW_DIMS(4) }, a = { PW_F32, PW_DIMS(4) }, b = { PW_F32, PW_DIMS(5) }, out;
        struct { double value; uint64_t dtype, rank; } fill = { 1.0, PW_F32, 1 };
        (void)state;

        assert_int_equal(shape(find(state, "add"), (struct shard[]){ a, b }, 2, NULL, 0, &out), PW_SHAPE);
        assert_int_equal(shape(find(state, "add"), &bytes, 1, NULL, 0, &out), PW_SHAPE);
        assert_int_equal(shape(find(state, "add"), NULL, 0, NULL, 0, &out), PW_SHAPE);
        assert_int_equal(shape(find(state, "scale"), &a, 1, NULL, 0, &out), PW_SHAPE);
        assert_int_equal(shape(find(state, "fill"), NULL, 0, &fill, 8, &out), PW_SHAPE);
        assert_int_equal(shape(find(state, "fill"), NULL, 0, &fill, sizeof fill, &out), PW_SHAPE); /* its one dim is missing */
        assert_int_equal(shape(find(state, "fill"), &bytes, 1, &fill, 8, &out), PW_SHAPE);
        assert_int_equal(shape(find(state, "matmul"), (struct shard[]){ a, b }, 2, NULL, 0, &out), PW_SHAPE);
        for (uint32_t i = 0; i < 4; i++) { /* of dims that fit: two f32 or two f64 */
                static const enum pw_dtype dtypes[4][2] = { { PW_F32, PW_F64 }, { PW_F64, PW_F32 }, { PW_I32, PW_I32 },
                                                            { PW_F32, PW_F32 } };
                struct shard both[] = { { dtypes[i][0], PW_DIMS(2, 3) }, { dtypes[i][1], PW_DIMS(3, 2) } };
                assert_int_equal(shape(find(state, "matmul"), both, 2, NULL, 0, &out), i < 3 ? PW_SHAPE : PW_OK);
        }
        assert_int_equal(shape(find(state, "sleep_us"), &a, 1, NULL, 0, &out), PW_SHAPE);
}

/* Who computes one value has one output: another one's room would be nobody's bytes. */
static void test_one_output(void **state)
{
        static const char *const names[] = { "add", "scale", "matmul" };
        double factor = 2;

        for (uint32_t i = 0; i < pw_array_count(names); i++)
                for (uint32_t outputs = 0; outputs <= 2; outputs++) {
                        char text[200];
                        struct pw_shape_value square = { .dtype = PW_F32, .dims = PW_DIMS(2, 2) };
                        struct pw_shape_task task = { .input_count = i == 1 ? 1 : 2, .output_count = outputs, .params = &factor,
                                                      .params_bytes = i == 1 ? sizeof factor : 0, .error_text = text,
                                                      .error_text_bytes = sizeof text,
                                                      .inputs = (struct pw_shape_value[]){ square, square },
                                                      .outputs = (struct pw_shape_value[]){ square, square } };

                        assert_int_equal(find(state, names[i])->shape(&task), outputs == 1 ? PW_OK : PW_SHAPE);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fill_add_scale), cmocka_unit_test(test_whole_numbers), cmocka_unit_test(test_bools),
                 cmocka_unit_test(test_matmul), cmocka_unit_test(test_nop),
                cmocka_unit_test(test_what_it_refuses), cmocka_unit_test(test_one_output),
        };
        return cmocka_run_group_tests(tests, load, unload);
}

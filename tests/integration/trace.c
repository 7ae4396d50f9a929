/* Short ways to slices, values and calls. */
#include "tests/integration/trace.h"

#include <stdlib.h>

struct pw_slice *it_mesh(struct pw_session *session, uint32_t rows, uint32_t columns, uint32_t islands)
{
        struct pw_slice_params params = { .device_count = rows * columns, .mesh = { rows, columns }, .island_count = islands };
        struct pw_slice *slice = NULL;

        it_ok(pw_slice_open(session, &params, &slice, IT_ERR));
        return slice;
}

struct pw_slice *it_slice(struct pw_session *session, uint32_t devices, uint32_t islands)
{
        struct pw_slice_params params = { .device_count = devices, .island_count = islands };
        struct pw_slice *slice = NULL;

        it_ok(pw_slice_open(session, &params, &slice, IT_ERR));
        return slice;
}

struct pw_future *it_put_f64(struct pw_session *session, struct pw_dims dims, double start)
{
        struct pw_put_params params = { .dtype = PW_F64, .dims = dims };
        struct pw_future *future = NULL;
        uint64_t count = 1;
        void *data;

        for (uint32_t i = 0; i < dims.rank; i++)
                count *= dims.dim[i];
        it_ok(pw_create(session, count * sizeof(double), &params, &future, &data, IT_ERR));
        for (uint64_t i = 0; i < count; i++)
                ((double *)data)[i] = start + (double)i;
        it_ok(pw_seal(future, IT_ERR));
        return future;
}

struct pw_future *it_put_scalar(struct pw_session *session, double value) { return it_put_f64(session, PW_SCALAR, value); }

double it_get_scalar(struct pw_future *future)
{
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_true(view.bytes >= sizeof(double));
        double value = *(const double *)view.data;
        pw_view_done(&view);
        return value;
}

void it_expect_f64(struct pw_future *future, const double *expected, uint64_t count)
{
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.dtype, PW_F64);
        assert_int_equal(view.bytes, count * sizeof(double));
        for (uint64_t i = 0; i < count; i++)
                if (((const double *)view.data)[i] != expected[i])
                        fail_msg("element %d of %d is %g, not %g", (int)i, (int)count, ((const double *)view.data)[i], expected[i]);
        pw_view_done(&view);
}

struct pw_value *it_grow(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, struct pw_sharding sharding,
                         double by)
{
        return pw_call_with(program, slice, "parts/grow", PW_ARGS(value), sharding,
                            &(struct pw_call_params){ .params = &by, .params_bytes = sizeof by });
}

struct pw_value *it_sleep(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, struct pw_sharding sharding,
                          uint64_t us)
{
        return pw_call_with(program, slice, "pw/sleep_us", PW_ARGS(value), sharding,
                            &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
}

struct pw_value *it_break(struct pw_program *program, struct pw_slice *slice, const char *function, struct pw_value *value,
                          struct pw_sharding sharding, uint64_t shard)
{
        return pw_call_with(program, slice, function, PW_ARGS(value), sharding,
                            &(struct pw_call_params){ .params = &shard, .params_bytes = sizeof shard });
}

struct pw_program *it_one_node(struct pw_session *session, struct pw_slice *slice, const char *function, struct pw_dims dims,
                               const struct pw_call_params *params)
{
        struct pw_program *program = pw_program_new(session, "test/one");
        struct pw_sharding sharding = dims.rank ? PW_SPLIT(0) : PW_BROADCAST;
        struct pw_value *input = pw_input(program, slice, PW_F64, dims, sharding, 0);

        pw_result(program, pw_call_with(program, slice, function, PW_ARGS(input), sharding, params));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

struct pw_future *it_run_1(struct pw_program *program, struct pw_future *input)
{
        struct pw_future *result = NULL;

        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        return result;
}

struct pw_future *it_put_same(struct pw_session *session, uint64_t count, double number)
{
        double *values = malloc(count * sizeof *values);
        struct pw_future *future;

        assert_non_null(values);
        for (uint64_t i = 0; i < count; i++)
                values[i] = number;
        it_ok(pw_put(session, values, count * sizeof *values,
                     &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(count) }, &future, IT_ERR));
        free(values);
        return future;
}

void it_expect_same(struct pw_future *future, uint64_t count, double number)
{
        const double *data;
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, count * sizeof *data);
        data = view.data;
        for (uint64_t i = 0; i < count; i++)
                if (data[i] != number)
                        fail_msg("element %llu is %g, not %g", (unsigned long long)i, data[i], number);
        pw_view_done(&view);
}

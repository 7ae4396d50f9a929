/* Reductions of what devices hold of a value: over several axes at once, in the value's own type, or refused.
 */
#include "tests/integration/trace.h"

#include <string.h>

/* A value that is partial over both axes is completed by one operation: by two it would have no one whole. */
static void partial_over_both_axes(void **state)
{
        static const enum pw_op ops[] = { PW_SUM, PW_MAX };
        struct it_host *host = *state;
        struct pw_slice *slice = it_mesh(host->session, 2, 2, 1);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(2), 1), *result;

        for (int i = 0; i < 2; i++) {
                struct pw_sharding partial = PW_SHARDING(PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_PARTIAL(ops[i]));
                struct pw_program *program = pw_program_new(host->session, "test/partial");

                pw_result(program, pw_call(program, slice, "pw/nop",
                                           PW_ARGS(pw_input(program, slice, PW_F64, PW_DIMS(2), PW_BROADCAST, 0)), partial));
                if (i) {
                        it_fails(pw_compile(program, IT_ERR), PW_SHAPE, "partial by another op than the axis before");
                } else {
                        it_ok(pw_compile(program, IT_ERR));
                        result = it_run_1(program, input);
                        it_expect_f64(result, (const double[]){ 4, 8 }, 2);
                        pw_unref(result);
                }
                pw_program_free(program);
        }
        pw_unref(input);
        pw_slice_close(slice);
}

struct reduction { enum pw_dtype dtype; enum pw_op op; uint64_t from, want; };

/* What each of four devices holds, reduced: in the value's own type. */
static void reduce_four(struct it_host *host, struct pw_slice *slice, const struct reduction *reduction)
{
        struct pw_program *program = pw_program_new(host->session, "test/reduce");
        uint64_t bytes = pw_dtype_bytes(reduction->dtype);
        struct pw_future *input, *result;
        struct pw_view view;

        it_ok(pw_put(host->session, &reduction->from, bytes, &(struct pw_put_params){ .dtype = reduction->dtype }, &input, IT_ERR));
        pw_result(program, pw_as(pw_call(program, slice, "pw/nop",
                                         PW_ARGS(pw_input(program, slice, reduction->dtype, PW_SCALAR, PW_BROADCAST, 0)),
                                         PW_PARTIAL(reduction->op)),
                                 PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.dtype, reduction->dtype);
        if (memcmp(view.data, &reduction->want, bytes))
                fail_msg("op %d of %s: wrong", (int)reduction->op, pw_dtype_text(reduction->dtype));
        pw_view_done(&view);
        pw_unref(input);
        pw_unref(result);
        pw_program_free(program);
}

/* Whole numbers are reduced as such: no digit of 64 bits is lost, sums and products wrap around. Of bools there is "or" and
 * "and". */
static void whole_numbers_and_bools(void **state)
{
        static const struct reduction reductions[] = {
                { PW_U8, PW_SUM, 70, 280 & 0xff },
                { PW_U16, PW_SUM, 0x8001, 4 },
                { PW_U32, PW_PROD, 0x10001, 0x40001 }, /* its square is 0x20001 in 32 bits */
                { PW_U64, PW_SUM, (UINT64_C(1) << 53) + 1, (UINT64_C(1) << 55) + 4 },
                { PW_I64, PW_SUM, (UINT64_C(1) << 53) + 1, (UINT64_C(1) << 55) + 4 },
                { PW_U64, PW_MAX, UINT64_MAX, UINT64_MAX },
                { PW_BOOL, PW_MAX, 1, 1 },
                { PW_BOOL, PW_MIN, 0, 0 },
        };
        struct it_host *host = *state;

        for (uint32_t islands = 1; islands <= 2; islands++) {
                struct pw_slice *slice = it_slice(host->session, 4, islands);

                for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
                        reduce_four(host, slice, &reductions[i]);
                pw_slice_close(slice);
        }
}

static void no_sum_of_bools(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = pw_program_new(host->session, "test/bools");
        struct pw_value *flag = pw_input(program, slice, PW_BOOL, PW_DIMS(3), PW_BROADCAST, 0);

        flag = pw_call(program, slice, "pw/nop", PW_ARGS(flag), PW_PARTIAL(PW_SUM));
        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(flag), PW_BROADCAST));
        it_fails(pw_compile(program, IT_ERR), PW_SHAPE, "call 1|argument 0|bools have no sum");
        pw_program_free(program);
        pw_slice_close(slice);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(partial_over_both_axes),
                IT_TEST(whole_numbers_and_bools),
                IT_TEST(no_sum_of_bools),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Shapes: what is asked, and what the answers add up to. */
#include "base/memory.h"
#include "base/size.h"
#include "program/graph/graph_make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct pw_make_slice places;

/* One call of "t/like0" over 4 devices. */
static struct pw_graph *make(struct pw_dims dims, struct pw_sharding input, struct pw_sharding output)
{
        struct pw_graph *graph = pw_graph_new("t");

        pw_make_slice(graph, &places, &(struct pw_make_slice_params){ { 4, 0 }, 0, 0, 1 });
        pw_make_input(graph, 0, dims, input, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", output, 0);
        assert_true(pw_graph_add_result(graph, 1));
        assert_int_equal(pw_graph_check(graph, NULL), PW_OK);
        return graph;
}

static void check_whole(struct pw_sharding input, struct pw_sharding output, struct pw_dims expected)
{
        struct pw_graph *graph = make(PW_DIMS(10, 3), input, output);
        struct pw_error err;

        assert_int_equal(pw_make_shapes(graph, &err), PW_OK);
        assert_true(graph->values[1].shaped);
        assert_true(pw_dims_equal(&graph->values[1].dims, &expected));
        assert_int_equal(graph->values[1].dtype, PW_I32);
        assert_int_equal(graph->calls[0].digest, 7);
        assert_int_equal(graph->calls[0].time_limit_us, 5);
        pw_graph_free(graph);
}

static void test_whole(void **state)
{
        (void)state;
        check_whole(PW_SPLIT(0), PW_SPLIT(0), PW_DIMS(10, 3)); /* 3, 3, 2, 2 rows */
        check_whole(PW_BROADCAST, PW_BROADCAST, PW_DIMS(10, 3));
        check_whole(PW_BROADCAST, PW_PARTIAL(PW_SUM), PW_DIMS(10, 3));
        check_whole(PW_BROADCAST, PW_SPLIT(1), PW_DIMS(10, 12));
        check_whole(PW_SPLIT(1), PW_SPLIT(1), PW_DIMS(10, 3)); /* 1, 1, 1, 0 columns */
}

/* Places whose shards differ by a row are asked about apart. */
static void test_classes(void **state)
{
        struct pw_graph *graph = make(PW_DIMS(10, 3), PW_SPLIT(0), PW_SPLIT(0));
        struct pw_function_facts facts = { .digest = 1 };
        struct pw_shape_query query;
        struct pw_error err;

        (void)state;
        for (uint64_t rows = 3; rows >= 2; rows--) {
                assert_int_equal(pw_graph_next_shape(graph, &query, &err), PW_OK);
                assert_string_equal(query.function, "t/like0");
                assert_int_equal(query.task.input_count, 1);
                assert_int_equal(query.task.inputs[0].dims.dim[0], rows);
                assert_int_equal(query.task.params_bytes, 4);
                query.task.outputs[0].dtype = PW_F32;
                query.task.outputs[0].dims = PW_DIMS(rows);
                facts.scratch_bytes = 100 * rows;
                assert_int_equal(pw_graph_answer(graph, &query, &facts, &err), PW_OK);
        }
        assert_int_equal(graph->calls[0].scratch_bytes, 300); /* every device has as much as the largest shard needs */
        assert_int_equal(pw_graph_next_shape(graph, &query, &err), PW_NOT_READY);
        assert_int_equal(graph->values[1].dims.dim[0], 10);
        assert_int_equal(graph->values[1].dims.rank, 1);
        assert_int_equal(graph->values[1].dtype, PW_F32);
        assert_int_equal(pw_graph_answer(graph, &query, &facts, &err), PW_INVALID);
        pw_graph_free(graph);
}

/* On two axes: classes of both, and a nested split. */
static void test_two_axes(void **state)
{
        struct pw_sharding nested = PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(0));
        struct pw_graph *graph = pw_graph_new("t");
        struct pw_shape_query query;
        struct pw_error err;
        uint32_t asked = 0;

        (void)state;
        pw_make_slice(graph, &places, &(struct pw_make_slice_params){ { 2, 3 }, 0, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(13, 2), nested, 0); /* 3 2 2, 2 2 2 */
        PW_MAKE_CALL(graph, 0, "t/like0", nested, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(0)), 1);
        assert_true(pw_graph_add_result(graph, 2));
        assert_int_equal(pw_graph_check(graph, &err), PW_OK);
        while (pw_graph_next_shape(graph, &query, &err) == PW_OK) {
                struct pw_function_facts facts = { .digest = 1 };
                asked++;
                query.task.outputs[0].dtype = PW_I32;
                query.task.outputs[0].dims = query.task.inputs[0].dims;
                assert_int_equal(pw_graph_answer(graph, &query, &facts, &err), PW_OK);
        }
        assert_int_equal(asked, 4);
        assert_int_equal(graph->values[2].dims.dim[0], 13);
        pw_graph_free(graph);
}

/* Answer the questions about a call over 4 devices with these outputs in turn; expect this error. */
struct wrong { uint32_t dtypes[2]; struct pw_dims dims[2]; struct pw_function_facts facts[2]; };
static void expect_error(struct pw_sharding output, const struct wrong *wrong, enum pw_status status, const char *text)
{
        struct pw_graph *graph = make(PW_DIMS(10, 3), PW_SPLIT(0), output);
        enum pw_status answer = PW_OK;
        struct pw_shape_query query;
        struct pw_error err;

        for (uint32_t i = 0; i < 2 && answer == PW_OK; i++) {
                assert_int_equal(pw_graph_next_shape(graph, &query, &err), PW_OK);
                query.task.outputs[0].dtype = wrong->dtypes[i];
                query.task.outputs[0].dims = wrong->dims[i];
                answer = pw_graph_answer(graph, &query, &wrong->facts[i], &err);
        }
        assert_int_equal(answer, status);
        assert_string_equal(err.text, text);
        pw_graph_free(graph);
}

static void test_refusals(void **state)
{
        const uint32_t f = PW_F32;
        struct pw_dims deep = { .rank = 9 };

        (void)state;
        expect_error(PW_SPLIT(0), &(struct wrong){ { f, f }, { PW_DIMS(3, 3), PW_DIMS(5, 3) }, { { 0 } } }, PW_SHAPE,
                     "call 0, t/like0: output 0: its shards do not fit together: place 0 makes [3, 3], split(0) of [16, 3] gives "
                     "it [4, 3]");
        expect_error(PW_BROADCAST, &(struct wrong){ { f, f }, { PW_DIMS(3, 3), PW_DIMS(2, 3) }, { { 0 } } }, PW_SHAPE,
                     "call 0, t/like0: output 0: its shards do not fit together: place 2 makes [2, 3], broadcast of [3, 3] gives "
                     "it [3, 3]");
        expect_error(PW_SPLIT(0), &(struct wrong){ { f, PW_I32 }, { PW_DIMS(3), PW_DIMS(2) }, { { 0 } } }, PW_SHAPE,
                     "call 0, t/like0: output 0: its shards do not fit together: place 0 makes f32 [10], place 2 i32 [2]");
        expect_error(PW_SPLIT(1), &(struct wrong){ { f, f }, { PW_DIMS(3), PW_DIMS(3) }, { { 0 } } }, PW_SHAPE,
                     "call 0, t/like0: output 0: sharding over axis 0 of the mesh: split(1) of a value of rank 1");
        expect_error(PW_SPLIT(0), &(struct wrong){ { 77, f }, { PW_DIMS(3), PW_DIMS(2) }, { { 0 } } }, PW_SHAPE,
                     "call 0, t/like0: output 0: there is no dtype with the number 77");
        expect_error(PW_SPLIT(0), &(struct wrong){ { f, f }, { deep, deep }, { { 0 } } }, PW_SHAPE,
                     "call 0, t/like0: output 0: rank 9 is above 8");
        expect_error(PW_SPLIT(0), &(struct wrong){ { PW_U8, PW_U8 }, { PW_DIMS(UINT64_MAX), PW_DIMS(UINT64_MAX) }, { { 0 } } },
                     PW_TOO_LARGE, "call 0, t/like0: output 0: its whole size is more than 64 bits can count");
        expect_error(PW_SPLIT(0), &(struct wrong){ { f, f }, { PW_DIMS(3), PW_DIMS(2) }, { { .in_place = 2 }, { .in_place = 2 } } },
                     PW_BAD_MODULE, "call 0, t/like0: it updates input 1 in place, but has 1 arguments");
        expect_error(PW_SPLIT(0), &(struct wrong){ { f, f }, { PW_DIMS(3), PW_DIMS(2) }, { { .digest = 2 }, { .digest = 3 } } },
                     PW_BAD_MODULE, "call 0, t/like0: its module was replaced while the program was compiled; compile it again");
}

/* A conversion takes the dims of its source, which its sharding must fit. */
static void test_as(void **state)
{
        struct pw_graph *graph = make(PW_DIMS(10, 3), PW_SPLIT(0), PW_SPLIT(0));
        struct pw_error err;

        (void)state;
        pw_make_as(graph, 1, 0, PW_SPLIT(5));
        assert_int_equal(pw_graph_check(graph, &err), PW_OK);
        assert_int_equal(pw_make_shapes(graph, &err), PW_SHAPE);
        assert_string_equal(err.text,
                            "value 2, made from value 1: sharding over axis 0 of the mesh: split(5) of a value of rank 2");
        pw_graph_free(graph);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole),
                cmocka_unit_test(test_classes),
                cmocka_unit_test(test_two_axes),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_as),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Graphs: each way to be wrong is refused, by name. */
#include "base/memory.h"
#include "pathways.h"
#include "program/graph/graph_make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct pw_make_slice places[2];

/* A step of digits on 4 devices, with room to break it: values weights 0, images 1, gradient 2, next 3. */
static struct pw_graph *make_step(void)
{
        struct pw_graph *graph = pw_graph_new("digits/step");

        pw_make_slice(graph, &places[0], &(struct pw_make_slice_params){ { 4, 0 }, 0, 0, 2 });
        pw_make_slice(graph, &places[1], &(struct pw_make_slice_params){ { 1, 0 }, 0, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(65, 10), PW_BROADCAST, PW_DONATED);
        pw_make_input(graph, 0, PW_DIMS(96, 65), PW_SPLIT(0), 0);
        PW_MAKE_CALL(graph, 0, "digits/gradient", PW_PARTIAL(PW_SUM), 0, 1);
        PW_MAKE_CALL(graph, 0, "digits/update", PW_BROADCAST, 0, 2);
        assert_true(pw_graph_add_result(graph, 3));
        return graph;
}

static void test_good(void **state)
{
        struct pw_graph *graph = make_step();
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_graph_check(graph, &err), PW_OK);
        assert_int_equal(graph->calls[1].outputs[0], 3);
        graph->calls[0].output_count = 0; /* as many as values name */
        assert_int_equal(pw_graph_check(graph, &err), PW_OK);
        assert_int_equal(graph->calls[0].output_count, 1);
        pw_graph_free(graph);
        pw_graph_free(NULL);
}

static void no_results(struct pw_graph *graph) { graph->result_count = 0; }
static void far_result(struct pw_graph *graph) { graph->results[0] = 99; }
static void no_slice(struct pw_graph *graph) { graph->values[1].slice = 2; }
static void bad_mesh(struct pw_graph *graph) { graph->slices[0].mesh[0] = 3; }
static void no_kind(struct pw_graph *graph) { graph->values[1].kind = (enum pw_value_kind)9; }
static void no_axis(struct pw_graph *graph) { graph->values[1].sharding = PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0)); }
static void no_output_axis(struct pw_graph *graph)
{
        graph->values[2].sharding = PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_PARTIAL(PW_SUM));
}
static void no_dim(struct pw_graph *graph) { graph->values[1].sharding = PW_SPLIT(2); }
static void no_op(struct pw_graph *graph) { graph->values[2].sharding = PW_PARTIAL(9); }
static void no_dtype(struct pw_graph *graph) { graph->values[1].dtype = (enum pw_dtype)40; }
static void too_many_bytes(struct pw_graph *graph) { graph->values[1].dims = PW_DIMS(UINT64_MAX, 65); }
static void partial_input(struct pw_graph *graph) { graph->values[1].sharding = PW_PARTIAL(PW_SUM); }
static void no_call(struct pw_graph *graph) { graph->values[3].call = 7; }
static void no_output(struct pw_graph *graph) { graph->values[3].output = 1; }
static void output_twice(struct pw_graph *graph) { graph->values[3].call = 0; }
static void output_missing(struct pw_graph *graph) { graph->calls[0].output_count = 2; }
static void output_elsewhere(struct pw_graph *graph) { graph->values[3].slice = 1; }
static void no_name(struct pw_graph *graph) { memcpy(graph->calls[0].function, "digits", 7); }
static void two_slashes(struct pw_graph *graph) { memcpy(graph->calls[0].function, "a/b/c", 6); }
static void far_arg(struct pw_graph *graph) { graph->calls[1].args[1] = 55; }
static void cycle(struct pw_graph *graph) { graph->calls[0].args[1] = 3; }
static void own_output(struct pw_graph *graph) { graph->calls[1].args[1] = 3; }
static void arg_elsewhere(struct pw_graph *graph) { graph->values[1].slice = 1; }
static void call_elsewhere(struct pw_graph *graph) { graph->calls[1].slice = 5; }
static void too_many_outputs(struct pw_graph *graph) { graph->calls[1].output_count = PW_TASK_ARGS_MAX + 1; }
static void too_many_args(struct pw_graph *graph) { graph->calls[0].arg_count = PW_TASK_ARGS_MAX + 1; }
static void unused_donation(struct pw_graph *graph) { pw_make_input(graph, 0, PW_DIMS(1), PW_BROADCAST, PW_DONATED); }
static void as_of_later(struct pw_graph *graph) { pw_make_as(graph, 4, 0, PW_BROADCAST); }
static void as_of_nothing(struct pw_graph *graph) { pw_make_as(graph, 44, 0, PW_BROADCAST); }
static void as_to_partial(struct pw_graph *graph) { pw_make_as(graph, 3, 0, PW_PARTIAL(PW_SUM)); }
static void as_to_other_op(struct pw_graph *graph) { pw_make_as(graph, 2, 0, PW_PARTIAL(PW_MAX)); }

static const struct {
        void (*spoil)(struct pw_graph *graph);
        enum pw_status status;
        const char *text;
} refusals[] = {
        { no_results, PW_BAD_PROGRAM, "it has no results: name one with pw_result()" },
        { far_result, PW_BAD_PROGRAM, "result 0: value 99 is not there, there are 4" },
        { no_slice, PW_BAD_PROGRAM, "input 1: it is on slice 2, there are 2" },
        { bad_mesh, PW_BAD_PROGRAM, "slice 0: its mesh does not fit its 4 devices" },
        { no_kind, PW_BAD_PROGRAM, "value 1: there is no kind 9 of values" },
        { no_axis, PW_SHAPE, "input 1: sharding over axis 1: the mesh has no such axis" },
        { no_output_axis, PW_SHAPE, "call 0, digits/gradient, output 0: sharding over axis 1: the mesh has no such axis" },
        { no_dim, PW_SHAPE, "input 1: sharding over axis 0 of the mesh: split(2) of a value of rank 2" },
        { no_op, PW_SHAPE, "call 0, digits/gradient, output 0: sharding over axis 0 of the mesh: there is no op 9" },
        { no_dtype, PW_SHAPE, "input 1: there is no dtype with the number 40" },
        { too_many_bytes, PW_TOO_LARGE,
          "input 1: a value of i32 [18446744073709551615, 65] has more bytes than 64 bits can count" },
        { partial_input, PW_SHAPE, "input 1: an input is a whole value: it cannot be partial" },
        { no_call, PW_BAD_PROGRAM, "value 3: it is of call 7, there are 2" },
        { no_output, PW_BAD_PROGRAM, "call 1, digits/update, output 1: digits/update has no output 1" },
        { output_twice, PW_BAD_PROGRAM, "call 0, digits/gradient, output 0: output 0 of digits/gradient is named twice" },
        { output_missing, PW_BAD_PROGRAM, "call 0, digits/gradient: no value names its output 1" },
        { output_elsewhere, PW_BAD_PROGRAM,
          "call 1, digits/update, output 0: it is not on the slice of digits/update, which makes it" },
        { no_name, PW_BAD_PROGRAM, "call 0, digits: a function is called \"module/function\"" },
        { two_slashes, PW_BAD_PROGRAM, "call 0, a/b/c: a function is called \"module/function\"" },
        { far_arg, PW_BAD_PROGRAM, "call 1, digits/update: argument 1: value 55 is not there, there are 4" },
        { cycle, PW_BAD_PROGRAM, "call 0, digits/gradient: argument 1: value 3 is made later: a cycle" },
        { own_output, PW_BAD_PROGRAM, "call 1, digits/update: argument 1: value 3 is made later: a cycle" },
        { arg_elsewhere, PW_BAD_PROGRAM,
          "call 0, digits/gradient: argument 1: it lies on another slice than the call; move it with pw_move()" },
        { call_elsewhere, PW_BAD_PROGRAM, "call 1, digits/update: it is on slice 5, there are 2" },
        { too_many_outputs, PW_BAD_PROGRAM, "call 1, digits/update: 257 outputs; 256 at most" },
        { too_many_args, PW_BAD_PROGRAM, "call 0, digits/gradient: 257 arguments; a function takes 256 at most" },
        { unused_donation, PW_BAD_PROGRAM, "input 2: it is donated, but nothing reads it" },
        { as_of_later, PW_BAD_PROGRAM, "value 4: it is made from value 4, which is made later: a cycle" },
        { as_of_nothing, PW_BAD_PROGRAM, "value 4: it is made from value 44, there are 5" },
        { as_to_partial, PW_SHAPE, "value 4: no transfer makes a value partial over axis 0 of the mesh" },
        { as_to_other_op, PW_SHAPE,
          "value 4: what is partial over axis 0 of the mesh stays so only with the same op and as many devices" },
};

static void test_refusals(void **state)
{
        (void)state;
        for (size_t i = 0; i < pw_array_count(refusals); i++) {
                struct pw_graph *graph = make_step();
                struct pw_error err = { .text = "" };
                refusals[i].spoil(graph);
                assert_int_equal(pw_graph_check(graph, NULL), refusals[i].status);
                assert_int_equal(pw_graph_check(graph, &err), refusals[i].status);
                assert_int_equal(err.status, refusals[i].status);
                assert_string_equal(err.text, refusals[i].text);
                pw_graph_free(graph);
        }
}

static void test_two_ops(void **state)
{
        struct pw_graph *graph = pw_graph_new(NULL);
        struct pw_sharding mixed = PW_SHARDING(PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_PARTIAL(PW_MAX));
        struct pw_error err;

        (void)state;
        pw_make_slice(graph, &places[0], &(struct pw_make_slice_params){ { 2, 2 }, 0, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(4), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "m/f", mixed, 0);
        assert_true(pw_graph_add_result(graph, 1));
        assert_int_equal(pw_graph_check(graph, &err), PW_SHAPE);
        assert_string_equal(err.text,
                            "call 0, m/f, output 0: sharding over axis 1 of the mesh: partial by another op than the axis before");
        pw_graph_free(graph);
}

static void test_limits(void **state)
{
        struct pw_graph *graph = pw_graph_new("wide");

        (void)state;
        for (uint32_t i = 0; i < PW_GRAPH_VALUES_MAX; i++)
                assert_non_null(pw_graph_add_value(graph));
        assert_null(pw_graph_add_value(graph));
        for (uint32_t i = 0; i < PW_GRAPH_SLICES_MAX; i++)
                assert_true(pw_graph_add_slice(graph, &(struct pw_slice_map){ .id = i }));
        assert_false(pw_graph_add_slice(graph, &(struct pw_slice_map){ .id = 1 }));
        pw_graph_free(graph);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_good),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_two_ops),
                cmocka_unit_test(test_limits),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

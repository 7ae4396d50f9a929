/* Programs of many values, of shapes that a hostile client would choose: four times as many take four times as long to lower, and
 * not sixteen times. Measured in processor time, so that what else the machine does is no matter. */
#include "base/memory.h"
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "program/lower/lower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define FEW 3500u
#define TIMES 4u
#define MOST 10.0 /* times as long: 16 where each looks at each */

static struct pw_make_slice places[2];

static struct pw_graph *make(void)
{
        struct pw_graph *graph = pw_graph_new("test");

        for (uint32_t i = 0; i < 2; i++)
                pw_make_slice(graph, &places[i], &(struct pw_make_slice_params){ { 2, 0 }, 2 * i, i, 1 });
        return graph;
}

static uint32_t input(struct pw_graph *graph, uint32_t flags)
{
        return pw_make_input(graph, 0, PW_DIMS(100), (struct pw_sharding)PW_BROADCAST, flags);
}

static void add_stages(struct pw_graph *graph, uint32_t count, uint32_t quota)
{
        for (uint32_t s = 0; s < count; s++)
                assert_true(pw_graph_add_stage(graph, "stage", quota));
}

static uint32_t call_in(struct pw_graph *graph, uint32_t stage, uint32_t value)
{
        uint32_t output = PW_MAKE_CALL(graph, 0, "m/f", PW_BROADCAST, value);

        graph->calls[graph->call_count - 1].stage = 1 + stage;
        return output;
}

/* One output of each of many stages, all moved to another slice, where all other calls read them. */
static struct pw_graph *moved(uint32_t count)
{
        struct pw_graph *graph = make();
        uint32_t stages = count / 5, first = input(graph, 0), moved, last = 0;

        add_stages(graph, stages, 1);
        for (uint32_t s = 0; s < stages; s++)
                last = call_in(graph, s, first);
        moved = graph->value_count;
        for (uint32_t s = 0; s < stages; s++)
                (void)pw_make_as(graph, last - stages + 1 + s, 1, (struct pw_sharding)PW_BROADCAST);
        for (uint32_t i = 0; i < count - 2 * stages; i++)
                last = PW_MAKE_CALL(graph, 1, "m/f", PW_BROADCAST, moved + i % stages);
        assert_true(pw_graph_add_result(graph, last));
        return graph;
}

/* A chain of layouts, and calls of a stage that read its end, with every argument. */
static struct pw_graph *layouts(uint32_t count)
{
        struct pw_graph *graph = make();
        uint32_t value = input(graph, 0), args[PW_TASK_ARGS_MAX], last = 0;

        add_stages(graph, 1, 4);
        value = call_in(graph, 0, value);
        for (uint32_t i = 0; i < count / 2; i++)
                value = pw_make_as(graph, value, 0, (struct pw_sharding)PW_BROADCAST);
        for (uint32_t a = 0; a < PW_TASK_ARGS_MAX; a++)
                args[a] = value;
        for (uint32_t i = 0; i < count / 2; i++) {
                last = pw_make_call(graph, &(struct pw_make_call){ 0, "m/f", args, PW_TASK_ARGS_MAX,
                                                                   (const struct pw_sharding[]){ PW_BROADCAST }, 1 });
                graph->calls[graph->call_count - 1].stage = 1;
        }
        assert_true(pw_graph_add_result(graph, last));
        return graph;
}

/* The same value as every result, and of donated inputs one each. */
static struct pw_graph *results(uint32_t count)
{
        struct pw_graph *graph = make();
        uint32_t value = PW_MAKE_CALL(graph, 0, "m/f", PW_BROADCAST, input(graph, 0));

        for (uint32_t i = 0; i < count / 2; i++)
                assert_true(pw_graph_add_result(graph, input(graph, PW_DONATED)) && pw_graph_add_result(graph, value));
        return graph;
}

/* As many stages as there may be. */
static struct pw_graph *stages(uint32_t count)
{
        struct pw_graph *graph = make();
        uint32_t stage_count = count / 4, value = input(graph, 0), last = 0;

        add_stages(graph, stage_count, 2);
        for (uint32_t i = 0; i < count; i++)
                last = call_in(graph, i % stage_count, value);
        assert_true(pw_graph_add_result(graph, last));
        return graph;
}

/* All outputs of one stage in flight at once. */
static struct pw_graph *in_flight(uint32_t count)
{
        struct pw_graph *graph = make();
        uint32_t value = input(graph, 0), first = graph->value_count, last = 0;

        add_stages(graph, 1, UINT32_MAX);
        for (uint32_t i = 0; i < count / 2; i++)
                (void)call_in(graph, 0, value);
        for (uint32_t i = 0; i < count / 2; i++)
                last = PW_MAKE_CALL(graph, 0, "m/f", PW_BROADCAST, first + i);
        assert_true(pw_graph_add_result(graph, last));
        return graph;
}

/* One value in every layout that there is, each asked for again and again. */
static struct pw_graph *again(uint32_t count)
{
        struct pw_graph *graph = make();
        uint32_t value = pw_make_input(graph, 0, (struct pw_dims){ .rank = 8, .dim = { 2, 2, 2, 2, 2, 2, 2, 2 } },
                                       (struct pw_sharding)PW_BROADCAST, 0);

        for (uint32_t i = 0; i < count; i++)
                assert_true(pw_graph_add_result(graph, pw_make_as(graph, value, i / 8 % 2, (struct pw_sharding)PW_SPLIT(i % 8))));
        return graph;
}

static double cpu_s(void)
{
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double lower_s(struct pw_graph *(*of)(uint32_t count), uint32_t count)
{
        struct pw_graph *graph = of(count);
        struct pw_image *image = NULL;
        struct pw_error err = { 0 };
        double since_s;

        if (pw_graph_check(graph, &err) != PW_OK || pw_make_shapes(graph, &err) != PW_OK)
                fail_msg("%s", err.text);
        since_s = cpu_s();
        if (pw_lower(graph, &image, &err) != PW_OK)
                fail_msg("%s", err.text);
        since_s = cpu_s() - since_s;
        free(image);
        pw_graph_free(graph);
        return since_s;
}

static void time_grows_with_the_program(void **state)
{
        static const struct { const char *name; struct pw_graph *(*of)(uint32_t count); } graphs[] = {
                { "moved", moved }, { "layouts", layouts }, { "results", results },
                { "stages", stages }, { "in flight", in_flight }, { "again", again },
        };

        (void)state;
        for (uint32_t g = 0; g < pw_array_count(graphs); g++) {
                double few_s = lower_s(graphs[g].of, FEW), many_s = lower_s(graphs[g].of, FEW * TIMES);
                for (int i = 0; i < 2 && many_s > MOST * few_s; i++) { /* the first ones find memory cold */
                        few_s = lower_s(graphs[g].of, FEW);
                        many_s = lower_s(graphs[g].of, FEW * TIMES);
                }
                fprintf(stderr, "%s: %.1f ms for %u, %.1f ms for %u\n", graphs[g].name, few_s * 1e3, FEW, many_s * 1e3,
                        FEW * TIMES);
                assert_true(many_s <= MOST * few_s);
        }
}

/* A value moved between slices of many devices, from each to each other one: `moves` times. */
static enum pw_status lower_wide(uint32_t moves, struct pw_error *ret_err)
{
        static struct pw_make_slice wide[PW_GRAPH_SLICES_MAX];
        struct pw_graph *graph = pw_graph_new("test");
        struct pw_image *image = NULL;
        uint32_t values[PW_GRAPH_SLICES_MAX];
        enum pw_status status;

        for (uint32_t i = 0; i < PW_GRAPH_SLICES_MAX; i++) {
                pw_make_slice(graph, &wide[i], &(struct pw_make_slice_params){ { 2, PW_MAKE_DEVICES / 2 }, 0, 0, 1 + i % 16 });
                values[i] = pw_make_input(graph, i, PW_DIMS(2, PW_MAKE_DEVICES), (struct pw_sharding)PW_SPLIT(1), 0);
        }
        for (uint32_t i = 0; i < moves; i++) {
                uint32_t from = i / PW_GRAPH_SLICES_MAX % PW_GRAPH_SLICES_MAX, to = i % PW_GRAPH_SLICES_MAX;
                (void)pw_make_as(graph, values[from], to, (struct pw_sharding)PW_SPLIT(1));
        }
        assert_true(pw_graph_add_result(graph, graph->value_count - 1));
        assert_int_equal(pw_graph_check(graph, NULL), PW_OK);
        assert_int_equal(pw_make_shapes(graph, NULL), PW_OK);
        status = pw_lower(graph, &image, ret_err);
        free(image);
        pw_graph_free(graph);
        return status;
}

/* Who reads whom is found out once for two slices, and there are limits to how often. */
static void transfers_between_many_devices_are_bounded(void **state)
{
        double since_s = cpu_s();
        struct pw_error err = { 0 };

        (void)state;
        assert_int_equal(lower_wide(640, &err), PW_OK);
        fprintf(stderr, "640 moves over %u devices: %.1f ms\n", PW_MAKE_DEVICES, (cpu_s() - since_s) * 1e3);
        since_s = cpu_s();
        assert_int_equal(lower_wide(PW_GRAPH_SLICES_MAX * PW_GRAPH_SLICES_MAX, &err), PW_TOO_LARGE);
        fprintf(stderr, "from each to each: %.1f ms, %s\n", (cpu_s() - since_s) * 1e3, err.text);
        assert_non_null(strstr(err.text, "looks at who reads whom"));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(time_grows_with_the_program),
                                            cmocka_unit_test(transfers_between_many_devices_are_bounded) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a compiled program and a host's plan of it take does not grow with the devices of its slices, and the time to compile
 * it does not but for what looks at their places once.
 *
 * Time is processor time, of programs so long that a look at all places for each node would take a hundred times as long. */
#include "base/memory.h"
#include "pathways.h"
#include "plane/board/board.h"
#include "program/image/image.h"
#include "program/image/plan.h"
#include "tests/program/wide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define STEPS 400u      /* of a long program */
#define MARGIN 20.0     /* times as long, at most */

/* --- compiled ----------------------------------------------------------------------------------------------------------------- */

struct compiled {
        uint32_t bytes, nodes;
        uint64_t plan_bytes; /* of the first host */
        double lower_s, plan_s;
};

/* Devices of an island of the first host that a slice has. */
static uint64_t members_of(const struct pw_graph *graph, uint32_t slice, uint32_t island)
{
        uint64_t members = 0;

        for (uint32_t i = 0; i < graph->slices[slice].device_count; i++)
                if (graph->slices[slice].places[i].host == WIDE_FIRST_HOST && graph->slices[slice].places[i].island == island)
                        members |= UINT64_C(1) << graph->slices[slice].places[i].device;
        return members;
}

/* What the first host plans is about its own devices. */
static void check_plan(const struct pw_graph *graph, const struct pw_image *image, const struct pw_plan *plan)
{
        assert_true(plan->column_count && plan->column_count <= WIDE_PER_HOST / WIDE_PER_ISLAND);
        for (uint32_t c = 0; c < plan->column_count; c++) {
                const struct pw_plan_island *column = &plan->columns[c];
                assert_int_equal(column->island, c);
                assert_true(column->gang_count);
                for (uint32_t g = 0; g < column->gang_count && g < 10; g++) {
                        const struct pw_image_node *node = pw_image_node(image, column->gangs[g].node);
                        uint64_t receivers = members_of(graph, node->slice, c), senders = members_of(graph, node->source_slice, c);
                        assert_int_equal(column->gangs[g].members, node->phase == PW_PHASE_SEND   ? senders
                                                                   : node->phase == PW_PHASE_RECV ? receivers
                                                                                                  : receivers | senders);
                }
        }
}

static struct compiled compile(wide_maker *make, uint32_t count, uint32_t steps)
{
        struct pw_graph *graph = pw_graph_new("wide");
        struct compiled compiled;
        struct pw_plan plan = { 0 };
        struct pw_image *image;
        double start_s;

        make(graph, count, steps);
        start_s = wide_cpu_s();
        image = wide_lower(graph, steps);
        compiled.lower_s = wide_cpu_s() - start_s;
        start_s = wide_cpu_s();
        assert_true(pw_plan_init(&plan, image, graph->slices, WIDE_FIRST_HOST));
        compiled.plan_s = wide_cpu_s() - start_s;
        check_plan(graph, image, &plan);
        compiled.bytes = image->bytes;
        compiled.nodes = image->node_count;
        compiled.plan_bytes = pw_plan_bytes(&plan, image);
        pw_plan_done(&plan);
        free(image);
        pw_graph_free(graph);
        return compiled;
}

static void print(const char *name, uint32_t count, const struct compiled *of)
{
        fprintf(stderr, "%s, %u devices: %u nodes, %u bytes, in %.2f ms; plan of a host %lu bytes, in %.2f ms\n", name,
                count, of->nodes, of->bytes, of->lower_s * 1e3, (unsigned long)of->plan_bytes, of->plan_s * 1e3);
}

static void compile_all(uint32_t steps)
{
        for (uint32_t p = 0; p < WIDE_PROGRAMS; p++) {
                struct compiled few = compile(wide_programs[p].make, wide_programs[p].first, steps);
                few = compile(wide_programs[p].make, wide_programs[p].first, steps); /* memory was cold */
                print(wide_programs[p].name, wide_programs[p].first, &few);
                for (uint32_t i = 0; i < WIDE_COUNTS; i++) {
                        struct compiled wide = compile(wide_programs[p].make, wide_counts[i], steps);
                        print(wide_programs[p].name, wide_counts[i], &wide);
                        if (steps == STEPS)
                                assert_true(wide.lower_s <= MARGIN * few.lower_s && wide.plan_s <= MARGIN * few.plan_s);
                        if (wide_counts[i] < wide_programs[p].first) {
                                assert_true(wide.bytes <= few.bytes);
                                continue;
                        }
                        assert_int_equal(wide.bytes, few.bytes);
                        assert_int_equal(wide.nodes, few.nodes);
                        assert_int_equal(wide.plan_bytes, few.plan_bytes);
                }
        }
}

static void test_one_step(void **state)
{
        (void)state;
        compile_all(1);
}

/* A long program looks at its places no more often than a short one. */
static void test_many_steps(void **state)
{
        (void)state;
        compile_all(STEPS);
}

/* What is behind a slice of a program: {host, device}, and as many as may be. */
static void test_limits(void **state)
{
        struct pw_graph *graph = pw_graph_new("wide");
        static struct pw_slice_place places[PW_SLICE_DEVICES_MAX + 1];
        struct pw_error err;

        (void)state;
        assert_true(pw_graph_add_slice(graph,
                                       &(struct pw_slice_map){ .mesh = { PW_SLICE_DEVICES_MAX + 1 }, .places = places,
                                                                      .device_count = PW_SLICE_DEVICES_MAX + 1 }));
        assert_int_equal(pw_graph_check(graph, &err), PW_TOO_LARGE);
        assert_string_equal(err.text, "slice 0: 4097 devices; a slice has 4096 at most");
        places[0] = (struct pw_slice_place){ 7, 0, PW_DEVICES_MAX };
        graph->slices[0].device_count = graph->slices[0].mesh[0] = 1;
        assert_int_equal(pw_graph_check(graph, &err), PW_INVALID);
        assert_string_equal(err.text,
                            "slice 0, place 0: device 64 in island 0 of host 7; a host has 64 devices in 16 islands at most");
        pw_graph_free(graph);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_step), cmocka_unit_test(test_many_steps),
                                            cmocka_unit_test(test_limits) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

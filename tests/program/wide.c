#include "tests/program/wide.h"

#include "base/memory.h"
#include "base/size.h"
#include "pathways.h"
#include "program/image/image.h"
#include "program/lower/lower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

const uint32_t wide_counts[WIDE_COUNTS] = { 2, 8, 64, 512, 4096 };

double wide_cpu_s(void)
{
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- programs ----------------------------------------------------------------------------------------------------------------- */

static struct pw_make_slice rooms[WIDE_SLICES];

/* A slice over `mesh`, of devices from `first` on, all hosts' together. */
static void add_slice(struct pw_graph *graph, uint32_t rows, uint32_t columns, uint32_t first)
{
        struct pw_make_slice *slice = &rooms[graph->slice_count];
        struct pw_slice_map map = { .id = 1 + graph->slice_count, .mesh = { rows, columns },
                                    .device_count = rows * (columns ? columns : 1), .places = slice->places };

        for (uint32_t i = 0; i < map.device_count; i++) {
                uint32_t device = first + i;
                slice->places[i] = (struct pw_slice_place){ (uint16_t)(WIDE_FIRST_HOST + device / WIDE_PER_HOST),
                                                            (uint16_t)(device % WIDE_PER_HOST / WIDE_PER_ISLAND),
                                                            (uint16_t)(device % WIDE_PER_HOST) };
        }
        assert_true(pw_graph_add_slice(graph, &map));
}

/* A training step: what each device makes of its part is reduced, and updates what all of them have. */
static void training(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        uint32_t weights, rows;

        add_slice(graph, count, 0, 0);
        weights = pw_make_input(graph, 0, PW_DIMS(65, 10), (struct pw_sharding)PW_BROADCAST, PW_DONATED);
        for (uint32_t i = 0; i < steps; i++) {
                rows = pw_make_input(graph, 0, PW_DIMS(96 * 4096 + 5, 65), (struct pw_sharding)PW_SPLIT(0), 0);
                rows = PW_MAKE_CALL(graph, 0, "digits/like0", PW_PARTIAL(PW_SUM), weights, rows);
                weights = PW_MAKE_CALL(graph, 0, "digits/update", PW_BROADCAST, weights, rows);
        }
        assert_true(pw_graph_add_result(graph, weights));
}

/* Two halves of the devices, one behind the other. */
static void pipeline(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        uint32_t value = PW_NODE_NONE;

        add_slice(graph, count / 2, 0, 0);
        add_slice(graph, count / 2, 0, count / 2);
        assert_true(pw_graph_add_stage(graph, "first", 2) && pw_graph_add_stage(graph, "second", 2));
        for (uint32_t i = 0; i < steps; i++) {
                value = pw_make_input(graph, 0, PW_DIMS(4096, 3), (struct pw_sharding)PW_SPLIT(0), 0);
                value = PW_MAKE_CALL(graph, 0, "p/one", PW_SPLIT(0), value);
                graph->calls[graph->call_count - 1].stage = 1;
                value = pw_make_as(graph, value, 1, (struct pw_sharding)PW_SPLIT(0));
                value = PW_MAKE_CALL(graph, 1, "p/two", PW_SPLIT(0), value);
                graph->calls[graph->call_count - 1].stage = 2;
                assert_true(pw_graph_add_result(graph, value));
        }
}

/* Every transfer there is inside a slice, and to one of other devices that has another number of them. */
static void transfers(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        static const struct pw_sharding layouts[] = { PW_BROADCAST, PW_SPLIT(0), PW_SPLIT(1), PW_SPLIT(0), PW_BROADCAST };
        uint32_t value, terms, whole;

        add_slice(graph, count, 0, 0);
        add_slice(graph, (count + 1) / 2, 0, 0);
        value = whole = pw_make_input(graph, 0, PW_DIMS(8192, 8192), layouts[0], 0);
        for (uint32_t i = 0; i < steps; i++) {
                for (uint32_t k = 1; k < pw_array_count(layouts); k++)
                        value = pw_make_as(graph, value, 0, layouts[k]);
                terms = PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_SUM), whole, value);
                value = pw_make_as(graph, terms, 0, layouts[1]);                           /* reduce-scatter */
                value = pw_make_as(graph, value, 1, layouts[1]);                           /* M to N */
                value = pw_make_as(graph, value, 0, layouts[1]);
                value = pw_make_as(graph, terms, 0, layouts[0]);                           /* all-reduce */
        }
        assert_true(pw_graph_add_result(graph, value));
}

/* Rows of a mesh lie in an island each: what moves along rows stays in them, what moves along columns crosses hosts. */
static void meshes(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        static const struct pw_sharding both = { { PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1) } };
        static const struct pw_sharding row = { { PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST } };
        static const struct pw_sharding column = { { PW_AXIS_BROADCAST, PW_AXIS_SPLIT(1) } };
        static const struct pw_sharding terms = { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_PARTIAL(PW_SUM) } };
        uint32_t value, whole;

        add_slice(graph, count < 4 ? 1 : count / 4, count < 4 ? count : 4, 0);
        whole = pw_make_input(graph, 0, PW_DIMS(8192, 8192), (struct pw_sharding)PW_BROADCAST, 0);
        value = pw_make_input(graph, 0, PW_DIMS(8192, 8192), both, 0);
        for (uint32_t i = 0; i < steps; i++) {
                (void)pw_make_as(graph, value, 0, row);
                (void)pw_make_as(graph, value, 0, column);
                value = pw_make_call(graph,
                                     &(struct pw_make_call){ 0, "m/like0", (const uint32_t[]){ whole, value }, 2, &terms, 1 });
                value = pw_make_as(graph, value, 0, both);
        }
        assert_true(pw_graph_add_result(graph, value));
}

/* Each step makes a result of all devices. */
void wide_results(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        uint32_t input;

        add_slice(graph, count, 0, 0);
        input = pw_make_input(graph, 0, PW_DIMS(8192, 3), (struct pw_sharding)PW_SPLIT(0), 0);
        for (uint32_t i = 0; i < steps; i++)
                assert_true(pw_graph_add_result(graph, PW_MAKE_CALL(graph, 0, "r/one", PW_SPLIT(0), input)));
}

const struct wide_program wide_programs[WIDE_PROGRAMS] = {
        { "training", training, 8 }, { "pipeline", pipeline, 16 }, { "transfers", transfers, 16 }, { "meshes", meshes, 8 },
};

struct pw_image *wide_lower(struct pw_graph *graph, uint32_t steps)
{
        struct pw_image *image = NULL;
        struct pw_error err = { 0 };
        struct pw_image_row row;

        if (pw_graph_check(graph, &err) != PW_OK || pw_make_shapes(graph, &err) != PW_OK ||
            pw_lower(graph, &image, &err) != PW_OK ||
            (steps == 1 && pw_image_check(image, graph->slices, graph->slice_count, &err) != PW_OK))
                fail_msg("%s", err.text);
        for (uint32_t n = 0; n < image->node_count; n++)
                pw_image_row(image, n, &row);
        return image;
}

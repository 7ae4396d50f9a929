/* Graphs for tests. */
#include "program/graph/graph_make.h"

#include "base/memory.h"
#include "plane/board/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

void pw_make_slice(struct pw_graph *graph, struct pw_make_slice *slice, const struct pw_make_slice_params *params)
{
        struct pw_slice_map map = { .id = 100 + graph->slice_count, .places = slice->places };

        memcpy(map.mesh, params->mesh, sizeof map.mesh);
        map.device_count = pw_mesh_count(params->mesh);
        for (uint32_t i = 0; i < map.device_count; i++) {
                uint32_t island = params->first_island + i * params->island_count / map.device_count;
                uint32_t device = params->first + i;
                slice->places[i] = (struct pw_slice_place){ (uint16_t)(device / PW_DEVICES_MAX), (uint16_t)island,
                                                            (uint16_t)(device % PW_DEVICES_MAX) };
        }
        assert_true(pw_graph_add_slice(graph, &map));
}

uint32_t pw_make_input(struct pw_graph *graph, uint32_t slice, struct pw_dims dims, struct pw_sharding sharding,
                       uint32_t flags)
{
        struct pw_graph_value *value = pw_graph_add_value(graph);

        assert_non_null(value);
        *value = (struct pw_graph_value){ .kind = PW_VALUE_INPUT,
                                          .slice = slice,
                                          .dtype = PW_I32,
                                          .dims = dims,
                                          .sharding = sharding,
                                          .flags = flags };
        return graph->value_count - 1;
}

uint32_t pw_make_as(struct pw_graph *graph, uint32_t source, uint32_t slice, struct pw_sharding sharding)
{
        struct pw_graph_value *value = pw_graph_add_value(graph);

        assert_non_null(value);
        *value = (struct pw_graph_value){ .kind = PW_VALUE_AS, .slice = slice, .sharding = sharding, .source = source };
        return graph->value_count - 1;
}

uint32_t pw_make_call(struct pw_graph *graph, const struct pw_make_call *made)
{
        struct pw_graph_call *call = pw_graph_add_call(graph, made->function, made->args, made->arg_count, "seed", 4);
        uint32_t first = graph->value_count;

        assert_non_null(call);
        call->slice = made->slice;
        call->output_count = made->output_count;
        for (uint32_t i = 0; i < made->output_count; i++) {
                struct pw_graph_value *value = pw_graph_add_value(graph);
                assert_non_null(value);
                *value = (struct pw_graph_value){ .kind = PW_VALUE_CALL,
                                                  .slice = made->slice,
                                                  .sharding = made->shardings[i],
                                                  .call = graph->call_count - 1,
                                                  .output = i };
        }
        return first;
}

/* Fill in what the function makes of its inputs. Returns in_place. */
static uint32_t describe(struct pw_shape_query *query)
{
        const char *name = strchr(query->function, '/') + 1;
        uint32_t number = 0, in_place = 0;
        bool vector = sscanf(name, "vec%u", &number) == 1;

        if (sscanf(name, "place%u", &number) == 1)
                in_place = number + 1;
        else if (!strncmp(name, "update", 6))
                in_place = 1;
        else if (!vector && sscanf(name, "like%u", &number) != 1)
                number = 0;
        if (!vector && number >= query->task.input_count) /* like none: what it makes is nothing */
                return in_place;
        for (uint32_t i = 0; i < query->task.output_count; i++) {
                query->task.outputs[i].dtype = vector ? PW_I32 : query->task.inputs[number].dtype;
                query->task.outputs[i].dims = vector ? PW_DIMS(number) : query->task.inputs[number].dims;
        }
        return in_place;
}

static uint64_t scratch_of(const struct pw_shape_query *query)
{
        const char *part = strstr(query->function, "+scratch");

        return part ? strtoull(part + strlen("+scratch"), NULL, 10) : 0;
}

enum pw_status pw_make_shapes(struct pw_graph *graph, struct pw_error *ret_err)
{
        struct pw_shape_query query;
        enum pw_status status;

        while ((status = pw_graph_next_shape(graph, &query, ret_err)) == PW_OK) {
                struct pw_function_facts facts = { .in_place = describe(&query), .time_limit_us = 5, .digest = 7,
                                                   .scratch_bytes = scratch_of(&query) };
                status = pw_graph_answer(graph, &query, &facts, ret_err);
                if (status != PW_OK)
                        return status;
        }
        return status == PW_NOT_READY ? PW_OK : status;
}

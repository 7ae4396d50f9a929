/* The traced program as a container: items are appended in the order of the trace. */
#include "program/graph/graph.h"

#include "base/memory.h"
#include "program/graph/shape.h"

#define BLOCK_BYTES 32u /* of the heap, at least */

struct pw_graph *pw_graph_new(const char *name)
{
        struct pw_graph *graph = calloc(1, sizeof *graph);

        if (!graph)
                return NULL;
        graph->name = strdup(name ? name : "");
        if (!graph->name) {
                free(graph);
                return NULL;
        }
        return graph;
}

void pw_graph_free(struct pw_graph *graph)
{
        if (!graph)
                return;
        for (uint32_t i = 0; i < graph->call_count; i++) {
                struct pw_graph_call *call = &graph->calls[i];
                pw_call_shapes_free(call->shapes);
                free(call->function);
                free(call->args);
                free(call->outputs);
                free(call->params);
        }
        for (uint32_t i = 0; i < graph->stage_count; i++)
                free(graph->stages[i].name);
        free(graph->stages);
        free(graph->name);
        free(graph->values);
        free(graph->calls);
        free(graph->results);
        free(graph->slices);
        free(graph);
}

uint64_t pw_graph_bytes(const struct pw_graph *graph)
{
        uint64_t bytes = graph ? sizeof *graph : 0;

        for (uint32_t i = 0; graph && i < graph->call_count; i++) {
                const struct pw_graph_call *call = &graph->calls[i];
                uint32_t output_count = call->output_count ? call->output_count : PW_TASK_ARGS_MAX;
                bytes += BLOCK_BYTES * 4 + call->arg_count * sizeof *call->args + call->params_bytes +
                         pw_min_u64(output_count, PW_TASK_ARGS_MAX) * sizeof *call->outputs;
        }
        for (uint32_t i = 0; graph && i < graph->stage_count; i++)
                bytes += BLOCK_BYTES + strlen(graph->stages[i].name);
        return graph ? bytes + graph->value_capacity * sizeof *graph->values + graph->call_capacity * sizeof *graph->calls : 0;
}

struct pw_graph_value *pw_graph_add_value(struct pw_graph *graph)
{
        if (graph->value_count >= PW_GRAPH_VALUES_MAX ||
            !pw_grow((void **)&graph->values, &graph->value_capacity, graph->value_count + 1, sizeof *graph->values))
                return NULL;
        return &graph->values[graph->value_count++];
}

/* `bytes` bytes of `data` in memory of its own; *ret_copy is NULL for none. False: out of memory. */
static bool copy_bytes(const void *data, size_t bytes, void **ret_copy)
{
        void *copy = NULL;

        if (bytes) {
                copy = malloc(bytes);
                if (!copy)
                        return false;
                memcpy(copy, data, bytes);
        }
        *ret_copy = copy;
        return true;
}

struct pw_graph_call *pw_graph_add_call(struct pw_graph *graph, const char *function, const uint32_t *args,
                                        uint32_t arg_count, const void *params, uint32_t params_bytes)
{
        struct pw_graph_call call = { .arg_count = arg_count, .params_bytes = params_bytes };

        if (graph->call_count >= PW_GRAPH_VALUES_MAX ||
            !pw_grow((void **)&graph->calls, &graph->call_capacity, graph->call_count + 1, sizeof *graph->calls))
                return NULL;
        call.function = strdup(function);
        if (!call.function || !copy_bytes(args, arg_count * sizeof *args, (void **)&call.args) ||
            !copy_bytes(params, params_bytes, &call.params)) {
                free(call.function);
                free(call.args);
                return NULL;
        }
        graph->calls[graph->call_count] = call;
        return &graph->calls[graph->call_count++];
}

bool pw_graph_add_result(struct pw_graph *graph, uint32_t value)
{
        if (graph->result_count >= PW_GRAPH_VALUES_MAX - 1 ||
            !pw_grow((void **)&graph->results, &graph->result_capacity, graph->result_count + 1,
                     sizeof *graph->results))
                return false;
        graph->results[graph->result_count++] = value;
        return true;
}

bool pw_graph_add_stage(struct pw_graph *graph, const char *name, uint32_t quota)
{
        char *copy = strdup(name);

        if (!copy || graph->stage_count >= PW_GRAPH_STAGES_MAX ||
            !pw_grow((void **)&graph->stages, &graph->stage_capacity, graph->stage_count + 1, sizeof *graph->stages)) {
                free(copy);
                return false;
        }
        graph->stages[graph->stage_count++] = (struct pw_graph_stage){ .name = copy, .quota = quota };
        return true;
}

bool pw_graph_add_slice(struct pw_graph *graph, const struct pw_slice_map *slice)
{
        if (graph->slice_count >= PW_GRAPH_SLICES_MAX ||
            !pw_grow((void **)&graph->slices, &graph->slice_capacity, graph->slice_count + 1, sizeof *graph->slices))
                return false;
        graph->slices[graph->slice_count++] = *slice;
        return true;
}

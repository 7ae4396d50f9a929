/* Is a traced program well formed? What a client sends is not trusted: every index is looked at here, once. */
#include "program/graph/graph.h"

#include "base/memory.h"
#include "base/size.h"
#include "pathways.h"
#include "plane/board/board.h"
#include "program/lower/transfer.h"

#include <inttypes.h>

/* Before the dims are known, a sharding is checked as that of a value of the highest rank. */
static const struct pw_dims any_dims = { .rank = PW_RANK_MAX };

static enum pw_status check_slice(const struct pw_graph *graph, uint32_t i, struct pw_error *ret_err)
{
        const struct pw_slice_map *slice = &graph->slices[i];

        if (slice->device_count > PW_SLICE_DEVICES_MAX)
                return pw_error_set(ret_err, PW_TOO_LARGE, "slice %" PRIu32 ": %" PRIu32 " devices; a slice has %u at most", i,
                                    slice->device_count, PW_SLICE_DEVICES_MAX);
        if (!slice->device_count || pw_mesh_count(slice->mesh) != slice->device_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM,
                                    "slice %" PRIu32 ": its mesh does not fit its %" PRIu32 " devices", i,
                                    slice->device_count);
        return pw_slice_check(slice, i, ret_err);
}

enum pw_status pw_slice_check(const struct pw_slice_map *slice, uint32_t number, struct pw_error *ret_err)
{
        for (uint32_t place = 0; place < slice->device_count; place++)
                if (slice->places[place].device >= PW_DEVICES_MAX || slice->places[place].island >= PW_ISLANDS_MAX)
                        return pw_error_set(ret_err, PW_INVALID,
                                            "slice %" PRIu32 ", place %" PRIu32 ": device %u in island %u of host %u; a host has "
                                            "%u devices in %u islands at most", number, place, slice->places[place].device,
                                            slice->places[place].island, slice->places[place].host, PW_DEVICES_MAX,
                                            PW_ISLANDS_MAX);
        return PW_OK;
}

static enum pw_status check_input(const struct pw_graph *graph, const struct pw_graph_value *value,
                                  struct pw_error *ret_err)
{
        const uint32_t *mesh = graph->slices[value->slice].mesh;
        uint64_t bytes;
        enum pw_status status = pw_dims_bytes(value->dtype, &value->dims, &bytes, ret_err);

        if (status == PW_OK)
                status = pw_sharding_check(&value->sharding, &value->dims, mesh, ret_err);
        if (status == PW_OK && pw_sharding_has_partial(&value->sharding, mesh))
                return pw_error_set(ret_err, PW_SHAPE, "an input is a whole value: it cannot be partial");
        return status;
}

static enum pw_status check_output(struct pw_graph *graph, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_graph_value *value = &graph->values[index];
        struct pw_graph_call *call;

        if (value->call >= graph->call_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "it is of call %" PRIu32 ", there are %" PRIu32,
                                    value->call, graph->call_count);
        call = &graph->calls[value->call];
        if (value->output >= call->output_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "%s has no output %" PRIu32, call->function,
                                    value->output);
        if (call->outputs[value->output] != PW_GRAPH_VALUES_MAX)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "output %" PRIu32 " of %s is named twice", value->output,
                                    call->function);
        if (value->slice != call->slice)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "it is not on the slice of %s, which makes it",
                                    call->function);
        call->outputs[value->output] = index;
        return pw_sharding_check(&value->sharding, &any_dims, graph->slices[value->slice].mesh, ret_err);
}

static enum pw_status check_as(const struct pw_graph *graph, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_graph_value *value = &graph->values[index], *source;
        struct pw_transfer_ends ends;
        enum pw_status status;

        if (value->source >= graph->value_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "it is made from value %" PRIu32 ", there are %" PRIu32,
                                    value->source, graph->value_count);
        if (value->source >= index)
                return pw_error_set(ret_err, PW_BAD_PROGRAM,
                                    "it is made from value %" PRIu32 ", which is made later: a cycle", value->source);
        source = &graph->values[value->source];
        status = pw_sharding_check(&value->sharding, &any_dims, graph->slices[value->slice].mesh, ret_err);
        if (status != PW_OK)
                return status;
        ends = (struct pw_transfer_ends){ &source->sharding, &graph->slices[source->slice], &value->sharding,
                                          &graph->slices[value->slice], NULL, false, false };
        return pw_transfer_check(&ends, ret_err);
}

static enum pw_status check_value(struct pw_graph *graph, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_graph_value *value = &graph->values[index];

        if (value->slice >= graph->slice_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "it is on slice %" PRIu32 ", there are %" PRIu32,
                                    value->slice, graph->slice_count);
        switch (value->kind) {
        case PW_VALUE_INPUT: return check_input(graph, value, ret_err);
        case PW_VALUE_CALL: return check_output(graph, index, ret_err);
        case PW_VALUE_AS: return check_as(graph, index, ret_err);
        }
        return pw_error_set(ret_err, PW_BAD_PROGRAM, "there is no kind %d of values", (int)value->kind);
}

static enum pw_status check_values(struct pw_graph *graph, struct pw_error *ret_err)
{
        uint32_t inputs = 0;

        for (uint32_t i = 0; i < graph->value_count; i++) {
                const struct pw_graph_value *value = &graph->values[i];
                enum pw_status status = check_value(graph, i, ret_err);
                if (status != PW_OK && value->kind == PW_VALUE_CALL && value->call < graph->call_count)
                        pw_error_prefix(ret_err, "call %" PRIu32 ", %s, output %" PRIu32, value->call,
                                        graph->calls[value->call].function, value->output);
                else if (status != PW_OK && value->kind == PW_VALUE_INPUT)
                        pw_error_prefix(ret_err, "input %" PRIu32, inputs);
                else if (status != PW_OK)
                        pw_error_prefix(ret_err, "value %" PRIu32, i);
                if (status != PW_OK)
                        return status;
                inputs += value->kind == PW_VALUE_INPUT;
        }
        return PW_OK;
}

/* "module/function", both there, one slash. */
static bool is_function_name(const char *text)
{
        const char *slash = strchr(text, '/');

        return slash && slash != text && slash[1] && !strchr(slash + 1, '/');
}

static enum pw_status check_arg(const struct pw_graph *graph, const struct pw_graph_call *call, uint32_t i,
                                struct pw_error *ret_err)
{
        uint32_t arg = call->args[i];

        if (arg >= graph->value_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM,
                                    "argument %" PRIu32 ": value %" PRIu32 " is not there, there are %" PRIu32, i, arg,
                                    graph->value_count);
        for (uint32_t j = 0; j < call->output_count; j++)
                if (arg >= call->outputs[j])
                        return pw_error_set(ret_err, PW_BAD_PROGRAM,
                                            "argument %" PRIu32 ": value %" PRIu32 " is made later: a cycle", i, arg);
        if (graph->values[arg].slice != call->slice)
                return pw_error_set(
                        ret_err, PW_BAD_PROGRAM,
                        "argument %" PRIu32 ": it lies on another slice than the call; move it with pw_move()", i);
        return PW_OK;
}

static enum pw_status check_call(const struct pw_graph *graph, struct pw_graph_call *call, struct pw_error *ret_err)
{
        if (!is_function_name(call->function))
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "a function is called \"module/function\"");
        if (call->arg_count > PW_TASK_ARGS_MAX)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "%" PRIu32 " arguments; a function takes %d at most",
                                    call->arg_count, PW_TASK_ARGS_MAX);
        if (!call->output_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "no value names an output of it");
        for (uint32_t i = 0; i < call->output_count; i++)
                if (call->outputs[i] == PW_GRAPH_VALUES_MAX)
                        return pw_error_set(ret_err, PW_BAD_PROGRAM, "no value names its output %" PRIu32, i);
        for (uint32_t i = 0; i < call->arg_count; i++) {
                enum pw_status status = check_arg(graph, call, i, ret_err);
                if (status != PW_OK)
                        return status;
        }
        return PW_OK;
}

static enum pw_status check_calls(struct pw_graph *graph, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < graph->call_count; i++) {
                enum pw_status status = check_call(graph, &graph->calls[i], ret_err);
                if (status == PW_OK)
                        continue;
                pw_error_prefix(ret_err, "call %" PRIu32 ", %s", i, graph->calls[i].function);
                return status;
        }
        return PW_OK;
}

/* As many outputs as values name, where the call does not say how many. */
static void count_outputs(struct pw_graph *graph, const bool *counts)
{
        for (uint32_t i = 0; i < graph->value_count; i++) {
                const struct pw_graph_value *value = &graph->values[i];
                if (value->kind == PW_VALUE_CALL && value->call < graph->call_count && counts[value->call] &&
                    value->output < PW_TASK_ARGS_MAX && value->output >= graph->calls[value->call].output_count)
                        graph->calls[value->call].output_count = value->output + 1;
        }
}

static enum pw_status begin_call(const struct pw_graph *graph, struct pw_graph_call *call, struct pw_error *ret_err)
{
        if (call->slice >= graph->slice_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "it is on slice %" PRIu32 ", there are %" PRIu32, call->slice,
                                    graph->slice_count);
        if (call->output_count > PW_TASK_ARGS_MAX)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "%" PRIu32 " outputs; %d at most", call->output_count,
                                    PW_TASK_ARGS_MAX);
        free(call->outputs);
        call->outputs = malloc((call->output_count + 1) * sizeof *call->outputs);
        if (!call->outputs)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t i = 0; i < call->output_count; i++)
                call->outputs[i] = PW_GRAPH_VALUES_MAX;
        return PW_OK;
}

/* Outputs are found anew; calls without a slice or with too many outputs are refused before anything indexes by them. */
static enum pw_status begin_calls(struct pw_graph *graph, struct pw_error *ret_err)
{
        pw_auto_free bool *counts = calloc(graph->call_count + 1, sizeof *counts);

        if (!counts)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t i = 0; i < graph->call_count; i++)
                counts[i] = !graph->calls[i].output_count;
        count_outputs(graph, counts);
        for (uint32_t i = 0; i < graph->call_count; i++) {
                enum pw_status status = begin_call(graph, &graph->calls[i], ret_err);
                if (status == PW_OK)
                        continue;
                pw_error_prefix(ret_err, "call %" PRIu32 ", %s", i, graph->calls[i].function);
                return status;
        }
        return PW_OK;
}

static enum pw_status check_results(const struct pw_graph *graph, struct pw_error *ret_err)
{
        if (!graph->result_count)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "it has no results: name one with pw_result()");
        for (uint32_t i = 0; i < graph->result_count; i++)
                if (graph->results[i] >= graph->value_count)
                        return pw_error_set(ret_err, PW_BAD_PROGRAM,
                                            "result %" PRIu32 ": value %" PRIu32 " is not there, there are %" PRIu32, i,
                                            graph->results[i], graph->value_count);
        return PW_OK;
}

/* A donated input that nothing reads is given away for nothing: surely a mistake. */
static enum pw_status check_donations(const struct pw_graph *graph, struct pw_error *ret_err)
{
        pw_auto_free bool *used = calloc(graph->value_count + 1, sizeof *used);
        uint32_t inputs = 0;

        if (!used)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t i = 0; i < graph->call_count; i++)
                for (uint32_t j = 0; j < graph->calls[i].arg_count; j++)
                        used[graph->calls[i].args[j]] = true;
        for (uint32_t i = 0; i < graph->value_count; i++)
                if (graph->values[i].kind == PW_VALUE_AS)
                        used[graph->values[i].source] = true;
        for (uint32_t i = 0; i < graph->result_count; i++)
                used[graph->results[i]] = true;
        for (uint32_t i = 0; i < graph->value_count; i++) {
                const struct pw_graph_value *value = &graph->values[i];
                if (value->kind == PW_VALUE_INPUT && (value->flags & PW_DONATED) && !used[i])
                        return pw_error_set(ret_err, PW_BAD_PROGRAM,
                                            "input %" PRIu32 ": it is donated, but nothing reads it", inputs);
                inputs += value->kind == PW_VALUE_INPUT;
        }
        return PW_OK;
}

/* A stage lies on one slice: its outputs in flight share rooms. */
static enum pw_status check_stages(struct pw_graph *graph, struct pw_error *ret_err)
{
        for (uint32_t s = 0; s < graph->stage_count; s++)
                if (!graph->stages[s].quota)
                        return pw_error_set(ret_err, PW_BAD_PROGRAM, "stage %s: a quota of 0", graph->stages[s].name);
        for (uint32_t c = 0; c < graph->call_count; c++) {
                const struct pw_graph_call *call = &graph->calls[c];
                struct pw_graph_stage *stage;
                if (!call->stage)
                        continue;
                if (call->stage > graph->stage_count)
                        return pw_error_set(ret_err, PW_BAD_PROGRAM, "call %" PRIu32 ", %s: there is no stage %" PRIu32, c,
                                            call->function, call->stage - 1);
                stage = &graph->stages[call->stage - 1];
                if (stage->used && stage->slice != call->slice)
                        return pw_error_set(ret_err, PW_BAD_PROGRAM, "call %" PRIu32 ", %s: stage %s has calls on another slice", c,
                                            call->function, stage->name);
                stage->used = true;
                stage->slice = call->slice;
        }
        return PW_OK;
}

enum pw_status pw_graph_check(struct pw_graph *graph, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < graph->slice_count && status == PW_OK; i++)
                status = check_slice(graph, i, ret_err);
        if (status == PW_OK)
                status = begin_calls(graph, ret_err);
        if (status == PW_OK)
                status = check_values(graph, ret_err);
        if (status == PW_OK)
                status = check_calls(graph, ret_err);
        if (status == PW_OK)
                status = check_stages(graph, ret_err);
        if (status == PW_OK)
                status = check_results(graph, ret_err);
        if (status == PW_OK)
                status = check_donations(graph, ret_err);
        return status;
}

/* Reading a traced program from its message, and answering with what it became. */
#include "daemon/work/graph_wire.h"

#include "base/memory.h"
#include "base/text.h"
#include "daemon/session/output.h"

#include <stdio.h>

static enum pw_status no_memory(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for the program, or it has more than %u values",
                            PW_GRAPH_VALUES_MAX);
}

/* The graph's index of slice `id`, added when first seen: nothing but its id is known of it here. */
static enum pw_status slice_index(struct pw_graph *graph, uint32_t id, uint32_t *ret_index, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < graph->slice_count; i++) {
                if (graph->slices[i].id == id) {
                        *ret_index = i;
                        return PW_OK;
                }
        }
        if (graph->slice_count >= PW_GRAPH_SLICES_MAX)
                return pw_error_set(ret_err, PW_TOO_LARGE, "a program over more than %u slices", PW_GRAPH_SLICES_MAX);
        if (!pw_graph_add_slice(graph, &(struct pw_slice_map){ .id = id }))
                return no_memory(ret_err);
        *ret_index = graph->slice_count - 1;
        return PW_OK;
}

static enum pw_status read_sharding(const Pathways__Wire__Value *wire, uint32_t index, struct pw_sharding *sharding,
                                    struct pw_error *ret_err)
{
        if (wire->n_sharding > PW_MESH_AXES_MAX)
                return pw_error_set(ret_err, PW_SHAPE, "value %u: a sharding of %zu axes, %d at most", index, wire->n_sharding,
                                    PW_MESH_AXES_MAX);
        for (size_t i = 0; i < wire->n_sharding; i++) {
                const Pathways__Wire__AxisSharding *axis = wire->sharding[i];

                if (axis->layout > UINT8_MAX || axis->dim > UINT8_MAX || axis->op > UINT8_MAX)
                        return pw_error_set(ret_err, PW_SHAPE, "value %u: sharding of axis %zu cannot be", index, i);
                sharding->axis[i] = (struct pw_axis_sharding){ (uint8_t)axis->layout, (uint8_t)axis->dim, (uint8_t)axis->op, 0 };
        }
        return PW_OK;
}

static enum pw_status read_value(struct pw_graph *graph, const Pathways__Wire__Value *wire, struct pw_error *ret_err)
{
        struct pw_graph_value *value = pw_graph_add_value(graph);
        uint32_t index = graph->value_count - 1;
        enum pw_status status;

        if (!value)
                return no_memory(ret_err);
        if (wire->producer_kind < PW_VALUE_INPUT || wire->producer_kind > PW_VALUE_AS)
                return pw_error_set(ret_err, PW_BAD_PROGRAM, "value %u: made in no way that is known", index);
        if (wire->n_dims > PW_RANK_MAX)
                return pw_error_set(ret_err, PW_SHAPE, "value %u: rank %zu, %d at most", index, wire->n_dims, PW_RANK_MAX);
        value->kind = (enum pw_value_kind)wire->producer_kind;
        value->dtype = (enum pw_dtype)wire->dtype;
        value->dims.rank = (uint32_t)wire->n_dims;
        if (wire->n_dims)
                memcpy(value->dims.dim, wire->dims, wire->n_dims * sizeof(uint64_t));
        value->flags = wire->flags;
        value->call = wire->call;
        value->output = wire->output;
        value->source = wire->source;
        status = read_sharding(wire, index, &value->sharding, ret_err);
        if (status == PW_OK)
                status = slice_index(graph, wire->slice, &graph->values[index].slice, ret_err);
        return status;
}

static enum pw_status read_call(struct pw_graph *graph, const Pathways__Wire__Call *wire, struct pw_error *ret_err)
{
        struct pw_graph_call *call;
        uint32_t slice;
        enum pw_status status = slice_index(graph, wire->slice, &slice, ret_err);

        if (status != PW_OK)
                return status;
        if (wire->params.len > UINT32_MAX)
                return pw_error_set(ret_err, PW_TOO_LARGE, "call %u, %s: parameters of %zu bytes", graph->call_count,
                                    wire->function, wire->params.len);
        call = pw_graph_add_call(graph, wire->function, wire->args, (uint32_t)wire->n_args, wire->params.data,
                                 (uint32_t)wire->params.len);
        if (!call)
                return no_memory(ret_err);
        call->slice = slice;
        call->output_count = wire->output_count;
        call->time_limit_us = wire->time_limit_us;
        call->stage = wire->stage;
        return PW_OK;
}

/* Names that are listed, logged and drawn: nothing that a terminal obeys. */
static enum pw_status check_name(const char *what, const char *name, struct pw_error *ret_err)
{
        size_t at = pw_text_plain_length(name);

        return name[at] ?
                pw_error_set(ret_err, PW_BAD_PROGRAM, "name of a %s: byte %zu, 0x%02x, is not a printable character", what, at,
                                       (unsigned char)name[at])
                        : PW_OK;
}

static enum pw_status check_names(const Pathways__Wire__ProgramCompile *request, struct pw_error *ret_err)
{
        enum pw_status status = check_name("program", request->name, ret_err);

        for (size_t i = 0; status == PW_OK && i < request->n_stages; i++)
                status = check_name("stage", request->stages[i]->name, ret_err);
        for (size_t i = 0; status == PW_OK && i < request->n_calls; i++)
                status = check_name("function", request->calls[i]->function, ret_err);
        return status;
}

static enum pw_status read_all(const Pathways__Wire__ProgramCompile *request, struct pw_graph *graph, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (size_t i = 0; status == PW_OK && i < request->n_values; i++)
                status = read_value(graph, request->values[i], ret_err);
        for (size_t i = 0; status == PW_OK && i < request->n_calls; i++)
                status = read_call(graph, request->calls[i], ret_err);
        for (size_t i = 0; status == PW_OK && i < request->n_stages; i++)
                if (!pw_graph_add_stage(graph, request->stages[i]->name, request->stages[i]->quota))
                        status = no_memory(ret_err);
        for (size_t i = 0; status == PW_OK && i < request->n_results; i++)
                if (!pw_graph_add_result(graph, request->results[i]))
                        status = no_memory(ret_err);
        return status;
}

enum pw_status pw_graph_read(const Pathways__Wire__ProgramCompile *request, struct pw_graph **ret_graph, struct pw_error *ret_err)
{
        enum pw_status status = check_names(request, ret_err);
        struct pw_graph *graph;

        if (status != PW_OK)
                return status;
        graph = pw_graph_new(request->name);
        if (!graph)
                return no_memory(ret_err);
        status = read_all(request, graph, ret_err);
        if (status != PW_OK) {
                pw_graph_free(graph);
                return status;
        }
        *ret_graph = graph;
        return PW_OK;
}

/* --- questions about shapes --------------------------------------------------------------------------------------------- */

void pw_question_fill(struct pw_question *question, const struct pw_shape_query *query)
{
        const struct pw_shape_task *task = &query->task;
        const char *slash = strchr(query->function, '/');
        Pathways__Wire__Describe *describe = &question->describe;

        pathways__wire__describe__init(describe);
        snprintf(question->module, sizeof question->module, "%.*s",
                 slash ? (int)pw_min_u64((uint64_t)(slash - query->function), sizeof question->module) : 0, query->function);
        describe->module = question->module;
        describe->function = (char *)(uintptr_t)(slash ? slash + 1 : query->function);
        describe->params = (ProtobufCBinaryData){ task->params_bytes, (uint8_t *)(uintptr_t)task->params };
        describe->output_count = task->output_count;
        describe->digest = query->digest;
        for (uint32_t i = 0; i < task->input_count; i++) {
                Pathways__Wire__Type *type = &question->types[i];

                pathways__wire__type__init(type);
                type->dtype = task->inputs[i].dtype;
                type->n_dims = task->inputs[i].dims.rank;
                type->dims = (uint64_t *)(uintptr_t)task->inputs[i].dims.dim;
                question->list[i] = type;
        }
        describe->inputs = question->list;
        describe->n_inputs = task->input_count;
}

/* --- the answer to a compilation ------------------------------------------------------------------------------------------- */

/* A type with everything that its message points to. */
struct typed {
        Pathways__Wire__ValueType type;
        Pathways__Wire__AxisSharding axes[PW_MESH_AXES_MAX], *axis_list[PW_MESH_AXES_MAX];
        uint64_t dims[PW_RANK_MAX];
};

static void write_type(struct typed *typed, const struct pw_image_value *value, uint32_t slice_id)
{
        pathways__wire__value_type__init(&typed->type);
        typed->type.dtype = value->dtype;
        typed->type.slice = slice_id;
        memcpy(typed->dims, value->dims.dim, sizeof typed->dims);
        typed->type.dims = typed->dims;
        typed->type.n_dims = value->dims.rank;
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++) {
                pathways__wire__axis_sharding__init(&typed->axes[i]);
                typed->axes[i].layout = value->sharding.axis[i].layout;
                typed->axes[i].dim = value->sharding.axis[i].dim;
                typed->axes[i].op = value->sharding.axis[i].op;
                typed->axis_list[i] = &typed->axes[i];
        }
        typed->type.sharding = typed->axis_list;
        typed->type.n_sharding = PW_MESH_AXES_MAX;
}

struct pw_outgoing *pw_graph_reply(uint64_t id, const struct pw_program_row *row)
{
        const struct pw_image *image = row->image;
        uint32_t count = image->input_count + image->result_count;
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Program body = PATHWAYS__WIRE__PROGRAM__INIT;
        pw_auto_free struct typed *types = calloc(count + 1, sizeof *types);
        pw_auto_free Pathways__Wire__ValueType **list = calloc(count + 1, sizeof *list);
        pw_auto_free protobuf_c_boolean *donated = calloc(image->input_count + 1, sizeof *donated);

        if (!types || !list || !donated)
                return NULL;
        for (uint32_t i = 0; i < count; i++) {
                uint32_t at = i < image->input_count
                                      ? PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[i].value
                                      : PW_IMAGE_AT(image, struct pw_image_result, image->results)[i - image->input_count].value;
                const struct pw_image_value *value = pw_image_value(image, at);

                write_type(&types[i], value, row->slices[value->slice].id);
                list[i] = &types[i].type;
        }
        for (uint32_t i = 0; i < image->input_count; i++)
                donated[i] = PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[i].donated != 0;
        body.program = row->program;
        body.n_inputs = image->input_count;
        body.inputs = list;
        body.n_results = image->result_count;
        body.results = list + image->input_count;
        body.peak_bytes = image->peak_bytes;
        body.donated = donated;
        body.n_donated = image->input_count;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_PROGRAM;
        reply.program = &body;
        reply.id = id;
        return pw_outgoing_new(PW_FRAME_REPLY, &reply.base);
}

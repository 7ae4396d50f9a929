/* Shapes of values, call after call: what to ask the describing executor, and what its answers add up to.
 *
 * A function is asked about shards, not values. Places of the mesh where every argument has the same shard dims form a
 * class, a few cells of the mesh, and one question is asked for each; the dims of a whole output follow from its sharding, and must
 * give back every answer. */
#include "program/graph/shape.h"

#include "base/memory.h"
#include "base/size.h"
#include "program/graph/cells.h"

#include <inttypes.h>

struct answer {
        enum pw_dtype dtype;
        struct pw_dims dims;
};

struct pw_call_shapes {
        struct pw_cells cells;   /* of the call's slice, in each of which arguments are equally large */
        uint32_t *class_of;      /* per cell */
        uint32_t *first_place;   /* per class: the lowest place of it */
        struct answer *answers;  /* per class, then output */
        struct pw_shape_value *asked; /* inputs, then outputs of the question that is asked now */
        uint32_t class_count, class_capacity, answered;
};

void pw_call_shapes_free(struct pw_call_shapes *shapes)
{
        if (!shapes)
                return;
        pw_cells_done(&shapes->cells);
        free(shapes->class_of);
        free(shapes->first_place);
        free(shapes->answers);
        free(shapes->asked);
        free(shapes);
}

/* The dims of the shard of argument `arg` at `place`. */
static struct pw_dims arg_dims(const struct pw_graph *graph, const struct pw_graph_call *call, uint32_t arg,
                               uint32_t place)
{
        const struct pw_graph_value *value = &graph->values[call->args[arg]];
        struct pw_sharding sharding = pw_sharding_completed(value->sharding);
        struct pw_box box;

        pw_shard_box(&value->dims, &sharding, graph->slices[call->slice].mesh, place, &box);
        return pw_box_dims(&box);
}

static bool same_class(const struct pw_graph *graph, const struct pw_graph_call *call, uint32_t a, uint32_t b)
{
        for (uint32_t i = 0; i < call->arg_count; i++) {
                struct pw_dims first = arg_dims(graph, call, i, a), second = arg_dims(graph, call, i, b);
                if (!pw_dims_equal(&first, &second))
                        return false;
        }
        return true;
}

static bool find_cells(const struct pw_graph *graph, const struct pw_graph_call *call, struct pw_cells *cells)
{
        bool found = pw_cells_init(cells, graph->slices[call->slice].mesh);

        for (uint32_t i = 0; found && i < call->arg_count; i++) {
                const struct pw_graph_value *value = &graph->values[call->args[i]];
                struct pw_sharding sharding = pw_sharding_completed(value->sharding);
                found = pw_cells_cut(cells, &value->dims, &sharding);
        }
        return found;
}

/* Sort every cell into a class. */
static bool find_classes(const struct pw_graph *graph, const struct pw_graph_call *call, struct pw_call_shapes *shapes)
{
        uint32_t cells;

        if (!find_cells(graph, call, &shapes->cells))
                return false;
        cells = pw_cells_count(&shapes->cells);
        shapes->class_of = calloc(cells, sizeof *shapes->class_of);
        if (!shapes->class_of)
                return false;
        for (uint32_t cell = 0; cell < cells; cell++) {
                uint32_t c = 0, place = pw_cells_first(&shapes->cells, cell);
                while (c < shapes->class_count && !same_class(graph, call, shapes->first_place[c], place))
                        c++;
                shapes->class_of[cell] = c;
                if (c < shapes->class_count)
                        continue;
                if (!pw_grow((void **)&shapes->first_place, &shapes->class_capacity, c + 1,
                             sizeof *shapes->first_place))
                        return false;
                shapes->first_place[shapes->class_count++] = place;
        }
        shapes->answers = calloc((size_t)shapes->class_count * call->output_count, sizeof *shapes->answers);
        shapes->asked = calloc((size_t)call->arg_count + call->output_count, sizeof *shapes->asked);
        return shapes->answers && shapes->asked;
}

static enum pw_status ask(struct pw_graph *graph, uint32_t index, struct pw_shape_query *ret_query,
                          struct pw_error *ret_err)
{
        struct pw_graph_call *call = &graph->calls[index];
        struct pw_shape_query query = { .call = index, .function = call->function };

        if (!call->shapes) {
                struct pw_call_shapes *shapes = calloc(1, sizeof *shapes);
                if (!shapes || !find_classes(graph, call, shapes)) {
                        pw_call_shapes_free(shapes);
                        return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
                }
                call->shapes = shapes;
        }
        query.variant = call->shapes->answered;
        query.task.input_count = call->arg_count;
        query.task.output_count = call->output_count;
        query.task.inputs = call->shapes->asked;
        query.task.outputs = memset(&call->shapes->asked[call->arg_count], 0, call->output_count * sizeof *query.task.outputs);
        query.task.params = call->params;
        query.task.params_bytes = call->params_bytes;
        for (uint32_t i = 0; i < call->arg_count; i++) {
                call->shapes->asked[i].dtype = graph->values[call->args[i]].dtype;
                call->shapes->asked[i].dims = arg_dims(graph, call, i, call->shapes->first_place[query.variant]);
        }
        *ret_query = query;
        return PW_OK;
}

static enum pw_status shape_as(struct pw_graph *graph, uint32_t index, struct pw_error *ret_err)
{
        struct pw_graph_value *value = &graph->values[index];
        const struct pw_graph_value *source = &graph->values[value->source];
        enum pw_status status;

        value->dtype = source->dtype;
        value->dims = source->dims;
        status = pw_sharding_check(&value->sharding, &value->dims, graph->slices[value->slice].mesh, ret_err);
        if (status != PW_OK)
                pw_error_prefix(ret_err, "value %" PRIu32 ", made from value %" PRIu32, index, value->source);
        return status;
}

enum pw_status pw_graph_next_shape(struct pw_graph *graph, struct pw_shape_query *ret_query, struct pw_error *ret_err)
{
        for (; graph->shaped_count < graph->value_count; graph->shaped_count++) {
                struct pw_graph_value *value = &graph->values[graph->shaped_count];
                enum pw_status status = PW_OK;
                if (value->shaped)
                        continue;
                if (value->kind == PW_VALUE_CALL)
                        return ask(graph, value->call, ret_query, ret_err);
                if (value->kind == PW_VALUE_AS)
                        status = shape_as(graph, graph->shaped_count, ret_err);
                if (status != PW_OK)
                        return status;
                value->shaped = true;
        }
        return PW_NOT_READY;
}

static bool is_split(const struct pw_graph_value *value, const uint32_t *mesh, uint32_t axis, uint32_t dim)
{
        return mesh[axis] > 1 && value->sharding.axis[axis].layout == PW_LAYOUT_SPLIT &&
               value->sharding.axis[axis].dim == dim;
}

static bool is_split_somewhere(const struct pw_graph_value *value, const uint32_t *mesh, uint32_t dim)
{
        bool split = false;

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                split = split || is_split(value, mesh, a, dim);
        return split;
}

/* One output of one call, all of whose classes are answered. */
struct settle {
        struct pw_graph_call *call;
        struct pw_graph_value *value;
        const struct pw_slice_map *slice;
        uint32_t output;
};

static const struct answer *answer_at(const struct settle *settle, uint32_t place)
{
        const struct pw_call_shapes *shapes = settle->call->shapes;

        return &shapes->answers[shapes->class_of[pw_cells_of(&shapes->cells, place)] * settle->call->output_count + settle->output];
}

/* The size of `dim` of the whole value: the sum of its shards over the axes that split it, at coordinate 0 of the
 * others. */
static enum pw_status sum_dim(const struct settle *settle, uint32_t dim, uint64_t *ret_size, struct pw_error *ret_err)
{
        const struct pw_cells *cells = &settle->call->shapes->cells;
        uint64_t size = 0;

        for (uint32_t cell = 0; cell < pw_cells_count(cells); cell++) {
                uint64_t rows = answer_at(settle, pw_cells_first(cells, cell))->dims.dim[dim];
                bool fits = true;
                for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++) {
                        uint32_t start, span = pw_cells_span(cells, cell, a, &start);
                        if (!is_split(settle->value, settle->slice->mesh, a, dim))
                                span = !start;
                        fits = fits && pw_mul_ok(rows, span, &rows);
                }
                if (!fits || !pw_add_ok(size, rows, &size))
                        return pw_error_set(ret_err, PW_TOO_LARGE, "its whole size is more than 64 bits can count");
        }
        *ret_size = size;
        return PW_OK;
}

static enum pw_status misfit(const struct settle *settle, const struct pw_dims *dims, uint32_t place, struct pw_error *ret_err)
{
        const struct answer *first = answer_at(settle, 0), *answer = answer_at(settle, place);
        char makes[128], gets[128], whole[128], sharding[64];
        struct pw_dims shard;
        struct pw_box box;

        if (answer->dims.rank != dims->rank || answer->dtype != first->dtype)
                return pw_error_set(ret_err, PW_SHAPE,
                                    "its shards do not fit together: place 0 makes %s %s, place %" PRIu32 " %s %s",
                                    pw_dtype_text(first->dtype), pw_dims_format(dims, whole, sizeof whole), place,
                                    pw_dtype_text(answer->dtype), pw_dims_format(&answer->dims, makes, sizeof makes));
        pw_shard_box(dims, &settle->value->sharding, settle->slice->mesh, place, &box);
        shard = pw_box_dims(&box);
        return pw_error_set(ret_err, PW_SHAPE,
                            "its shards do not fit together: place %" PRIu32 " makes %s, %s of %s gives it %s", place,
                            pw_dims_format(&answer->dims, makes, sizeof makes),
                            pw_sharding_format(&settle->value->sharding, settle->slice->mesh, sharding, sizeof sharding),
                            pw_dims_format(dims, whole, sizeof whole), pw_dims_format(&shard, gets, sizeof gets));
}

static bool fits_at(const struct settle *settle, const struct pw_dims *dims, uint32_t place)
{
        const struct answer *answer = answer_at(settle, place);
        struct pw_dims shard;
        struct pw_box box;

        if (answer->dims.rank != dims->rank || answer->dtype != answer_at(settle, 0)->dtype)
                return false;
        pw_shard_box(dims, &settle->value->sharding, settle->slice->mesh, place, &box);
        shard = pw_box_dims(&box);
        return pw_dims_equal(&shard, &answer->dims);
}

/* Does the layout of the whole give every place what the function makes there? It does where it does so at the first place of each
 * cell in which arguments and output are equally large. */
static enum pw_status check_fit(const struct settle *settle, const struct pw_dims *dims, struct pw_error *ret_err)
{
        __attribute__((cleanup(pw_cells_done))) struct pw_cells cells = { 0 };

        if (!pw_cells_copy(&cells, &settle->call->shapes->cells) || !pw_cells_cut(&cells, dims, &settle->value->sharding))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t cell = 0; cell < pw_cells_count(&cells); cell++) {
                uint32_t place = pw_cells_first(&cells, cell);
                if (!fits_at(settle, dims, place))
                        return misfit(settle, dims, place, ret_err);
        }
        return PW_OK;
}

static enum pw_status settle_output(const struct settle *settle, struct pw_error *ret_err)
{
        struct pw_graph_value *value = settle->value;
        struct pw_dims dims = answer_at(settle, 0)->dims;
        enum pw_status status = pw_sharding_check(&value->sharding, &dims, settle->slice->mesh, ret_err);
        uint64_t bytes;

        for (uint32_t i = 0; i < dims.rank && status == PW_OK; i++)
                if (is_split_somewhere(value, settle->slice->mesh, i))
                        status = sum_dim(settle, i, &dims.dim[i], ret_err);
        if (status == PW_OK)
                status = check_fit(settle, &dims, ret_err);
        if (status == PW_OK)
                status = pw_dims_bytes(answer_at(settle, 0)->dtype, &dims, &bytes, ret_err);
        if (status != PW_OK)
                return status;
        value->dtype = answer_at(settle, 0)->dtype;
        value->dims = dims;
        return PW_OK;
}

static enum pw_status settle_call(struct pw_graph *graph, struct pw_graph_call *call, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < call->output_count; i++) {
                struct settle settle = { call, &graph->values[call->outputs[i]], &graph->slices[call->slice], i };
                enum pw_status status = settle_output(&settle, ret_err);
                if (status != PW_OK) {
                        pw_error_prefix(ret_err, "output %" PRIu32, i);
                        return status;
                }
        }
        for (uint32_t i = 0; i < call->output_count; i++)
                graph->values[call->outputs[i]].shaped = true;
        pw_call_shapes_free(call->shapes);
        call->shapes = NULL;
        return PW_OK;
}

/* Does the function have a form for the devices of its slice? Where nothing is said of forms, executors look. */
static enum pw_status check_form(const struct pw_slice_map *slice, const struct pw_function_facts *facts, struct pw_error *ret_err)
{
        if (facts->forms[slice->kernels] || (!facts->forms[0] && !facts->forms[1]))
                return PW_OK;
        if (slice->kernels)
                return pw_error_set(ret_err, PW_UNSUPPORTED,
                                    "it has no form for GPUs (pw_function.cuda), and the slice has such: give its module one, or "
                                    "take a slice of another kind");
        return pw_error_set(ret_err, PW_UNSUPPORTED,
                            "it has a form for GPUs alone, and the slice has none: take a slice of kind cuda, or give its module a "
                            "form for the processor (pw_function.run)");
}

/* Keep one answer. What comes from user code is checked like anything else from outside. */
static enum pw_status keep_answer(struct pw_graph_call *call, const struct pw_shape_query *query,
                                  const struct pw_function_facts *facts, struct pw_error *ret_err)
{
        struct answer *answers = &call->shapes->answers[query->variant * call->output_count];
        uint64_t bytes;

        if (facts->in_place > call->arg_count)
                return pw_error_set(ret_err, PW_BAD_MODULE,
                                    "it updates input %" PRIu32 " in place, but has %" PRIu32 " arguments",
                                    facts->in_place - 1, call->arg_count);
        if (query->variant && facts->digest != call->digest)
                return pw_error_set(ret_err, PW_BAD_MODULE,
                                    "its module was replaced while the program was compiled; compile it again");
        for (uint32_t i = 0; i < call->output_count; i++) {
                enum pw_status status;
                answers[i].dtype = (enum pw_dtype)query->task.outputs[i].dtype;
                answers[i].dims = query->task.outputs[i].dims;
                status = pw_dims_bytes(answers[i].dtype, &answers[i].dims, &bytes, ret_err);
                if (status != PW_OK) {
                        pw_error_prefix(ret_err, "output %" PRIu32, i);
                        return status;
                }
        }
        call->in_place = facts->in_place;
        call->digest = facts->digest;
        call->scratch_bytes = pw_max_u64(query->variant ? call->scratch_bytes : 0, facts->scratch_bytes);
        if (!call->time_limit_us)
                call->time_limit_us = facts->time_limit_us;
        call->shapes->answered++;
        return PW_OK;
}

enum pw_status pw_graph_answer(struct pw_graph *graph, const struct pw_shape_query *query,
                               const struct pw_function_facts *facts, struct pw_error *ret_err)
{
        struct pw_graph_call *call = query->call < graph->call_count ? &graph->calls[query->call] : NULL;
        enum pw_status status;

        if (!call || !call->shapes || query->variant != call->shapes->answered)
                return pw_error_set(ret_err, PW_INVALID, "nothing was asked that this answers");
        status = check_form(&graph->slices[call->slice], facts, ret_err);
        if (status == PW_OK)
                status = keep_answer(call, query, facts, ret_err);
        if (status == PW_OK && call->shapes->answered == call->shapes->class_count)
                status = settle_call(graph, call, ret_err);
        if (status != PW_OK)
                pw_error_prefix(ret_err, "call %" PRIu32 ", %s", query->call, call->function);
        return status;
}

/* Graphs evaluated directly: every value has memory of its own, every conversion goes by way of the whole value. */
#include "tests/program/rooms_sim.h"

#include "base/memory.h"
#include "program/graph/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void pw_sim_function(const struct pw_sim_task *task)
{
        uint64_t most = 0;

        for (uint32_t o = 0; o < task->output_count; o++)
                most = pw_max_u64(most, task->output_counts[o]);
        for (uint64_t j = 0; j < most; j++) {
                uint32_t sum = 17;
                for (uint32_t k = 0; k < task->input_count; k++) {
                        const int32_t *in = task->inputs[k];
                        uint64_t count = task->input_counts[k];
                        sum *= 31;
                        if (k + 1 == task->in_place)
                                sum += j < count ? (uint32_t)in[j] : 0;
                        else if (count)
                                sum += (uint32_t)in[j % count] + (uint32_t)in[(j * 7 + 3) % count] * 5;
                }
                for (uint32_t o = 0; o < task->output_count; o++)
                        if (j < task->output_counts[o])
                                task->outputs[o][j] = (int32_t)(sum + o * 977);
        }
}

uint64_t pw_sim_whole_count(const struct pw_dims *dims)
{
        uint64_t count = 1;

        for (uint32_t i = 0; i < dims->rank; i++)
                count *= dims->dim[i];
        return count;
}

static struct pw_box box_at(const struct pw_sim_layout *layout, uint32_t place)
{
        struct pw_box box;

        pw_shard_box(&layout->dims, &layout->sharding, layout->slice->mesh, place, &box);
        return box;
}

uint64_t pw_sim_count(const struct pw_sim_layout *layout, uint32_t place)
{
        struct pw_box box = box_at(layout, place);

        return pw_box_elements(&box);
}

static bool is_laid(const struct pw_sim_layout *layout, uint32_t axis, enum pw_layout how)
{
        return layout->slice->mesh[axis] > 1 && layout->sharding.axis[axis].layout == how;
}

int32_t *pw_sim_gather(const struct pw_sim_layout *layout, uint32_t replica)
{
        int32_t *whole = calloc(pw_sim_whole_count(&layout->dims) + 1, sizeof *whole);
        struct pw_box all = { .rank = layout->dims.rank };
        uint32_t chosen[PW_MESH_AXES_MAX];

        memcpy(all.size, layout->dims.dim, sizeof all.size);
        pw_mesh_coords(layout->slice->mesh, replica, chosen);
        for (uint32_t place = 0; place < layout->slice->device_count; place++) {
                struct pw_box box = box_at(layout, place);
                uint32_t coords[PW_MESH_AXES_MAX];
                bool first = true, counts = true;
                enum pw_op op = PW_SUM;
                pw_mesh_coords(layout->slice->mesh, place, coords);
                for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++) {
                        if (is_laid(layout, i, PW_LAYOUT_BROADCAST))
                                counts = counts && coords[i] == chosen[i];
                        if (!is_laid(layout, i, PW_LAYOUT_PARTIAL))
                                continue;
                        first = first && !coords[i];
                        op = (enum pw_op)layout->sharding.axis[i].op;
                }
                if (counts && first)
                        pw_box_copy(whole, &all, layout->shards[place], &box, &box, sizeof *whole);
                else if (counts)
                        assert_int_equal(pw_box_reduce(whole, &all, layout->shards[place], &box, &box, PW_I32, op), PW_OK);
        }
        return whole;
}

/* Memory for the shards of the value. */
static void make_shards(struct pw_sim_layout *layout)
{
        layout->shards = calloc(layout->slice->device_count, sizeof *layout->shards);
        for (uint32_t place = 0; place < layout->slice->device_count; place++)
                layout->shards[place] = calloc(pw_sim_count(layout, place) + 1, sizeof **layout->shards);
}

static void free_shards(struct pw_sim_layout *layout)
{
        for (uint32_t place = 0; layout->shards && place < layout->slice->device_count; place++)
                free(layout->shards[place]);
        free(layout->shards);
}

/* Cut a whole value into shards. Of what stays partial, one place has it all and the others nothing. */
static void cut(struct pw_sim_layout *layout, const int32_t *whole)
{
        static const int32_t nothing[] = { [PW_SUM] = 0, [PW_MAX] = INT32_MIN, [PW_MIN] = INT32_MAX, [PW_PROD] = 1 };
        struct pw_box all = { .rank = layout->dims.rank };

        memcpy(all.size, layout->dims.dim, sizeof all.size);
        make_shards(layout);
        for (uint32_t place = 0; place < layout->slice->device_count; place++) {
                struct pw_box box = box_at(layout, place);
                uint32_t coords[PW_MESH_AXES_MAX];
                pw_mesh_coords(layout->slice->mesh, place, coords);
                pw_box_copy(layout->shards[place], &box, whole, &all, &box, sizeof *whole);
                for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                        if (is_laid(layout, i, PW_LAYOUT_PARTIAL) && coords[i])
                                for (uint64_t j = 0; j < pw_box_elements(&box); j++)
                                        layout->shards[place][j] = nothing[layout->sharding.axis[i].op];
        }
}

static void convert(const struct pw_sim_layout *from, struct pw_sim_layout *to)
{
        pw_auto_free int32_t *whole = pw_sim_gather(from, 0);

        cut(to, whole);
}

static void call_everywhere(const struct pw_graph *graph, const struct pw_graph_call *call, struct pw_sim_layout *values)
{
        struct pw_sim_layout args[PW_TASK_ARGS_MAX];

        for (uint32_t i = 0; i < call->arg_count; i++) {
                args[i] = values[call->args[i]];
                args[i].sharding = pw_sharding_completed(args[i].sharding);
                convert(&values[call->args[i]], &args[i]);
        }
        for (uint32_t i = 0; i < call->output_count; i++)
                make_shards(&values[call->outputs[i]]);
        for (uint32_t place = 0; place < graph->slices[call->slice].device_count; place++) {
                struct pw_sim_task task = { .input_count = call->arg_count,
                                            .output_count = call->output_count,
                                            .in_place = call->in_place };
                for (uint32_t i = 0; i < call->arg_count; i++) {
                        task.inputs[i] = args[i].shards[place];
                        task.input_counts[i] = pw_sim_count(&args[i], place);
                }
                for (uint32_t i = 0; i < call->output_count; i++) {
                        task.outputs[i] = values[call->outputs[i]].shards[place];
                        task.output_counts[i] = pw_sim_count(&values[call->outputs[i]], place);
                }
                pw_sim_function(&task);
        }
        for (uint32_t i = 0; i < call->arg_count; i++)
                free_shards(&args[i]);
}

static void evaluate(const struct pw_graph *graph, struct pw_sim_layout *values)
{
        uint32_t input = 0;

        for (uint32_t i = 0; i < graph->value_count; i++) {
                const struct pw_graph_value *value = &graph->values[i];
                if (value->kind == PW_VALUE_INPUT) {
                        uint64_t count = pw_sim_whole_count(&value->dims);
                        pw_auto_free int32_t *whole = calloc(count + 1, sizeof *whole);
                        for (uint64_t j = 0; j < count; j++)
                                whole[j] = pw_sim_input(input, j);
                        cut(&values[i], whole);
                        input++;
                } else if (value->kind == PW_VALUE_AS) {
                        convert(&values[value->source], &values[i]);
                } else if (!values[i].shards) {
                        call_everywhere(graph, &graph->calls[value->call], values);
                }
        }
}

int32_t **pw_sim_direct(const struct pw_graph *graph)
{
        struct pw_sim_layout *values = calloc(graph->value_count, sizeof *values);
        int32_t **results = calloc(graph->result_count, sizeof *results);

        for (uint32_t i = 0; i < graph->value_count; i++) {
                const struct pw_graph_value *value = &graph->values[i];
                values[i] = (struct pw_sim_layout){ value->dims, value->sharding, &graph->slices[value->slice], NULL };
        }
        evaluate(graph, values);
        for (uint32_t i = 0; i < graph->result_count; i++)
                results[i] = pw_sim_gather(&values[graph->results[i]], 0);
        for (uint32_t i = 0; i < graph->value_count; i++)
                free_shards(&values[i]);
        free(values);
        return results;
}

/* The module `parts`: functions whose values tell which device made them, for tests that compare them with a reference. All f64.
 *
 *   mark    input 0 plus, for each axis of the mesh, weight[axis] * (where this device is along it); params are the weights
 *   stats   outputs: twice input 0; the sum of the shard's elements, dims (1); how many they are, an i64, dims (1)
 *   grow    input 0 plus its params, one f64; updates a donated input 0 in place
 *   leave   its output is as it finds it
 */
#include "pathways_module.h"

static uint64_t elements(const struct pw_task_value *value) { return value->bytes / sizeof(double); }

static enum pw_status mark(struct pw_task *task)
{
        const double *weight = task->params, *in = pw_task_in(task, 0);
        double *out = pw_task_out(task, 0), add = 0;

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                add += weight[axis] * task->coords[axis];
        for (uint64_t i = 0; i < elements(&task->inputs[0]); i++)
                out[i] = in[i] + add;
        return PW_OK;
}

static enum pw_status stats(struct pw_task *task)
{
        const double *in = pw_task_in(task, 0);
        double *twice = pw_task_out(task, 0), sum = 0;
        int64_t count = (int64_t)elements(&task->inputs[0]);

        for (int64_t i = 0; i < count; i++) {
                twice[i] = 2 * in[i];
                sum += in[i];
        }
        memcpy(pw_task_out(task, 1), &sum, sizeof sum);
        memcpy(pw_task_out(task, 2), &count, sizeof count);
        return PW_OK;
}

static enum pw_status grow(struct pw_task *task)
{
        const double *by = task->params, *in = pw_task_in(task, 0);
        double *out = pw_task_out(task, 0);

        for (uint64_t i = 0; i < elements(&task->inputs[0]); i++)
                out[i] = in[i] + *by;
        return PW_OK;
}

static enum pw_status reverse(struct pw_task *task)
{
        for (uint32_t i = 0; i < task->output_count; i++) {
                uint32_t from = task->input_count - 1 - i;
                memcpy(pw_task_out(task, i), pw_task_in(task, from), elements(&task->inputs[from]) * sizeof(double));
        }
        return PW_OK;
}

static enum pw_status leave(struct pw_task *task)
{
        (void)task;
        return PW_OK;
}

/* --- the same on GPUs -------------------------------------------------------------------------------------------------------- */

static const char code[] =
#include "tests/integration/modules/parts.ptx.inc"
        ;
static const struct pw_code codes[] = { { "parts", code, sizeof code } };

static enum pw_status launch(struct pw_task *task, const char *name, const void *const *args, uint32_t arg_count)
{
        const struct pw_kernel kernel = { .code = "parts", .name = name, .grid = { 1 }, .block = { 64 }, .args = args,
                                          .arg_count = arg_count };

        return task->services->launch(task, &kernel);
}

static enum pw_status add_cuda(struct pw_task *task, double add)
{
        void *out = pw_task_out(task, 0);
        const void *in = pw_task_in(task, 0);
        uint64_t count = elements(&task->inputs[0]);
        const void *const args[] = { &out, &in, &count, &add };

        return launch(task, "parts_add", args, 4);
}

static enum pw_status mark_cuda(struct pw_task *task)
{
        const double *weight = task->params;
        double add = 0;

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                add += weight[axis] * task->coords[axis];
        return add_cuda(task, add);
}

static enum pw_status grow_cuda(struct pw_task *task) { return add_cuda(task, *(const double *)task->params); }

static enum pw_status stats_cuda(struct pw_task *task)
{
        void *twice = pw_task_out(task, 0), *sum = pw_task_out(task, 1), *all = pw_task_out(task, 2);
        const void *in = pw_task_in(task, 0);
        uint64_t count = elements(&task->inputs[0]);
        const void *const args[] = { &twice, &sum, &all, &in, &count };

        return launch(task, "parts_stats", args, 5);
}

static enum pw_status reverse_cuda(struct pw_task *task)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < task->output_count && status == PW_OK; i++) {
                const struct pw_task_value *from = &task->inputs[task->input_count - 1 - i];
                status = task->services->copy(task, pw_task_out(task, i), from->data, elements(from) * sizeof(double));
        }
        return status;
}

/* --- shapes ------------------------------------------------------------------------------------------------------------------- */

static enum pw_status mark_shape(struct pw_shape_task *task)
{
        if (task->input_count != 1 || task->inputs[0].dtype != PW_F64 || task->params_bytes != PW_MESH_AXES_MAX * sizeof(double))
                return pw_shape_fail(task, "takes one f64 and a weight for each axis");
        return pw_shape_as_input_0(task);
}

static enum pw_status stats_shape(struct pw_shape_task *task)
{
        if (task->input_count != 1 || task->inputs[0].dtype != PW_F64 || task->output_count != 3)
                return pw_shape_fail(task, "takes one f64 and has three outputs");
        task->outputs[0].dtype = task->outputs[1].dtype = PW_F64;
        task->outputs[2].dtype = PW_I64;
        task->outputs[0].dims = task->inputs[0].dims;
        task->outputs[1].dims = task->outputs[2].dims = (struct pw_dims){ .rank = 1, .dim = { 1 } };
        return PW_OK;
}

static enum pw_status grow_shape(struct pw_shape_task *task)
{
        if (task->input_count != 1 || task->inputs[0].dtype != PW_F64 || task->params_bytes != sizeof(double))
                return pw_shape_fail(task, "takes one f64 and how much to add");
        return pw_shape_as_input_0(task);
}

/* Reads the last inputs after it wrote the first outputs. */
static enum pw_status reverse_shape(struct pw_shape_task *task)
{
        if (task->input_count != task->output_count)
                return pw_shape_fail(task, "has as many outputs as inputs");
        for (uint32_t i = 0; i < task->output_count; i++)
                task->outputs[i] = task->inputs[task->input_count - 1 - i];
        return PW_OK;
}

PW_MODULE_WITH("parts", codes,
               PW_FUNCTION(mark, .cuda = mark_cuda, .shape = mark_shape),
               PW_FUNCTION(stats, .cuda = stats_cuda, .shape = stats_shape),
               PW_FUNCTION(reverse, .cuda = reverse_cuda, .shape = reverse_shape),
               PW_FUNCTION(leave, .cuda = leave, .shape = pw_shape_as_input_0),
               PW_FUNCTION(grow, .cuda = grow_cuda, .shape = grow_shape, .in_place = 1));

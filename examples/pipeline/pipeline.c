/* The module pipeline: the three functions by which a row finds its nearest neighbour.
 */
#include "pathways_module.h"

/* rows [rows, features] -> the same, each less its mean: how dark an image is as a whole does not matter */
static enum pw_status level(struct pw_task *task)
{
        const float *rows = pw_task_in(task, 0);
        uint64_t count = pw_task_dim(task, 0, 0), features = pw_task_dim(task, 0, 1);
        float *out = pw_task_out(task, 0);

        for (uint64_t row = 0; row < count; row++) {
                float sum = 0;
                for (uint64_t f = 0; f < features; f++)
                        sum += rows[row * features + f];
                for (uint64_t f = 0; f < features; f++)
                        out[row * features + f] = rows[row * features + f] - sum / (float)features;
        }
        return PW_OK;
}

/* rows [rows, features], known [known, features] -> squared distances [rows, known] */
static enum pw_status compare(struct pw_task *task)
{
        const float *rows = pw_task_in(task, 0), *known = pw_task_in(task, 1);
        uint64_t count = pw_task_dim(task, 0, 0), features = pw_task_dim(task, 0, 1), known_count = pw_task_dim(task, 1, 0);
        float *out = pw_task_out(task, 0);

        for (uint64_t i = 0; i < count * known_count; i++) {
                const float *a = rows + i / known_count * features, *b = known + i % known_count * features;
                float sum = 0;
                for (uint64_t f = 0; f < features; f++)
                        sum += (a[f] - b[f]) * (a[f] - b[f]);
                out[i] = sum;
        }
        return PW_OK;
}

/* distances [rows, known], classes [known] -> the class of the nearest, of each row [rows] */
static enum pw_status pick(struct pw_task *task)
{
        const float *distances = pw_task_in(task, 0);
        const uint8_t *classes = pw_task_in(task, 1);
        uint64_t count = pw_task_dim(task, 0, 0), known = pw_task_dim(task, 0, 1);
        uint8_t *out = pw_task_out(task, 0);

        for (uint64_t row = 0; row < count; row++) {
                uint64_t nearest = 0;
                for (uint64_t k = 1; k < known; k++)
                        if (distances[row * known + k] < distances[row * known + nearest])
                                nearest = k;
                out[row] = classes[nearest];
        }
        return PW_OK;
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

static enum pw_status level_shape(struct pw_shape_task *task)
{
        if (task->input_count != 1 || task->inputs[0].dtype != PW_F32 || task->inputs[0].dims.rank != 2)
                return pw_shape_fail(task, "wants rows of f32");
        task->outputs[0].dtype = PW_F32;
        task->outputs[0].dims = task->inputs[0].dims;
        return PW_OK;
}

static enum pw_status compare_shape(struct pw_shape_task *task)
{
        const struct pw_dims *rows = &task->inputs[0].dims, *known = &task->inputs[1].dims;

        if (task->input_count != 2 || task->inputs[0].dtype != PW_F32 || task->inputs[1].dtype != PW_F32 || rows->rank != 2 ||
            known->rank != 2 || rows->dim[1] != known->dim[1])
                return pw_shape_fail(task, "wants two tables of f32 with as many columns");
        task->outputs[0].dtype = PW_F32;
        task->outputs[0].dims = PW_DIMS(rows->dim[0], known->dim[0]);
        return PW_OK;
}

static enum pw_status pick_shape(struct pw_shape_task *task)
{
        const struct pw_dims *distances = &task->inputs[0].dims, *classes = &task->inputs[1].dims;

        if (task->input_count != 2 || task->inputs[0].dtype != PW_F32 || task->inputs[1].dtype != PW_U8 || distances->rank != 2 ||
            classes->rank != 1 || distances->dim[1] != classes->dim[0])
                return pw_shape_fail(task, "wants distances of f32 and a class of u8 for each of their columns");
        task->outputs[0].dtype = PW_U8;
        task->outputs[0].dims = PW_DIMS(distances->dim[0]);
        return PW_OK;
}

PW_MODULE("pipeline", PW_FUNCTION(level, .shape = level_shape), PW_FUNCTION(compare, .shape = compare_shape),
          PW_FUNCTION(pick, .shape = pick_shape));

/* The module kmeans: to which centre each row belongs, and the mean of the rows of each centre.
 *
 * Each function sees the shard of one device: its rows, and all centres. Sums, counts and distances are over those rows, so the sum
 * over all devices is that of the data, however many devices there are.
 */
#include "pathways_module.h"

#include <stdbool.h>

static double distance(const double *a, const double *b, uint64_t features)
{
        double sum = 0;

        for (uint64_t f = 0; f < features; f++)
                sum += (a[f] - b[f]) * (a[f] - b[f]);
        return sum;
}

/* The nearest centre, the first of those that are equally near. */
static uint64_t nearest(const double *centres, uint64_t count, const double *row, uint64_t features, double *ret_distance)
{
        uint64_t found = 0;

        *ret_distance = distance(centres, row, features);
        for (uint64_t c = 1; c < count; c++) {
                double other = distance(centres + c * features, row, features);
                if (other >= *ret_distance)
                        continue;
                *ret_distance = other;
                found = c;
        }
        return found;
}

/* centres [k, features], rows [rows, features] -> sums of the rows of each centre [k, features], how many they are [k], sum of
 * squared distances [] */
static enum pw_status assign(struct pw_task *task)
{
        const double *centres = pw_task_in(task, 0), *rows = pw_task_in(task, 1);
        uint64_t count = pw_task_dim(task, 0, 0), features = pw_task_dim(task, 0, 1);
        double *sums = pw_task_out(task, 0), *counts = pw_task_out(task, 1), *distances = pw_task_out(task, 2), far;

        memset(sums, 0, task->outputs[0].bytes);
        memset(counts, 0, task->outputs[1].bytes);
        *distances = 0;
        for (uint64_t row = 0; row < pw_task_dim(task, 1, 0); row++) {
                const double *at = rows + row * features;
                uint64_t centre = nearest(centres, count, at, features, &far);

                for (uint64_t f = 0; f < features; f++)
                        sums[centre * features + f] += at[f];
                counts[centre]++;
                *distances += far;
        }
        return PW_OK;
}

static bool is_matrix(const struct pw_shape_task *task, uint32_t input)
{
        return task->inputs[input].dtype == PW_F64 && task->inputs[input].dims.rank == 2;
}

static enum pw_status assign_shape(struct pw_shape_task *task)
{
        if (task->input_count != 2 || task->output_count != 3 || !is_matrix(task, 0) || !is_matrix(task, 1) ||
            task->inputs[0].dims.dim[1] != task->inputs[1].dims.dim[1])
                return pw_shape_fail(
                        task, "takes centres f64 [k, features] and rows f64 [rows, features]; gives sums, counts, distances");
        for (uint32_t i = 0; i < 3; i++)
                task->outputs[i].dtype = PW_F64;
        task->outputs[0].dims = task->inputs[0].dims;
        task->outputs[1].dims = (struct pw_dims){ .rank = 1, .dim = { task->inputs[0].dims.dim[0] } };
        task->outputs[2].dims = PW_SCALAR;
        return PW_OK;
}

/* centres, sums, counts -> centres, in their place where they were donated. A centre that no row is near stays where it is. */
static enum pw_status move(struct pw_task *task)
{
        const double *centres = pw_task_in(task, 0), *sums = pw_task_in(task, 1), *counts = pw_task_in(task, 2);
        uint64_t features = pw_task_dim(task, 0, 1);
        double *out = pw_task_out(task, 0);

        for (uint64_t i = 0; i < task->outputs[0].bytes / sizeof *out; i++)
                out[i] = counts[i / features] > 0 ? sums[i] / counts[i / features] : centres[i];
        return PW_OK;
}

static enum pw_status move_shape(struct pw_shape_task *task)
{
        if (task->input_count != 3 || !is_matrix(task, 0) || !is_matrix(task, 1) || task->inputs[2].dims.rank != 1 ||
            task->inputs[2].dims.dim[0] != task->inputs[0].dims.dim[0])
                return pw_shape_fail(task, "takes centres and sums f64 [k, features], and counts f64 [k]");
        return pw_shape_as_input_0(task);
}

PW_MODULE("kmeans",
          PW_FUNCTION(assign, .shape = assign_shape),
          PW_FUNCTION(move, .shape = move_shape, .in_place = 1));

/* The module tensor: a network with one hidden layer, cut into functions at the places where its values cross devices.
 *
 * A device sees its rows of the batch, its units of the hidden layer, and the weights of those units: none needs more. What must be
 * added up over units (scores) or over rows (gradients) is declared partial by the driver; no function here knows of other devices.
 * All values are double precision, so that how they are spread changes next to nothing.
 */
#include "examples/tensor/tensor.h"

#include "examples/tensor/tensor_cuda.h"
#include "pathways_module.h"

#include <math.h>
#include <stdbool.h>

static bool is_matrix(const struct pw_shape_task *task, uint32_t input)
{
        return task->inputs[input].dtype == PW_F64 && task->inputs[input].dims.rank == 2;
}

static enum pw_status gives(struct pw_shape_task *task, uint32_t output, uint64_t rows, uint64_t columns)
{
        task->outputs[output].dtype = PW_F64;
        task->outputs[output].dims = (struct pw_dims){ .rank = 2, .dim = { rows, columns } };
        return PW_OK;
}

/* out = a b */
static void multiply(double *out, const double *a, const double *b, uint64_t rows, uint64_t inner, uint64_t columns)
{
        memset(out, 0, rows * columns * sizeof *out);
        for (uint64_t r = 0; r < rows; r++)
                for (uint64_t i = 0; i < inner; i++)
                        for (uint64_t c = 0; c < columns; c++)
                                out[r * columns + c] += a[r * inner + i] * b[i * columns + c];
}

/* out = a' b, a [rows, left], b [rows, right] */
static void multiply_over_rows(double *out, const double *a, const double *b, uint64_t rows, uint64_t left, uint64_t right)
{
        memset(out, 0, left * right * sizeof *out);
        for (uint64_t r = 0; r < rows; r++)
                for (uint64_t i = 0; i < left; i++)
                        for (uint64_t c = 0; c < right; c++)
                                out[i * right + c] += a[r * left + i] * b[r * right + c];
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* x [rows, features], first [features, units] -> tanh(x first) [rows, units] */
static enum pw_status hidden(struct pw_task *task)
{
        uint64_t rows = pw_task_dim(task, 0, 0), units = pw_task_dim(task, 1, 1);
        double *out = pw_task_out(task, 0);

        multiply(out, pw_task_in(task, 0), pw_task_in(task, 1), rows, pw_task_dim(task, 0, 1), units);
        for (uint64_t i = 0; i < rows * units; i++)
                out[i] = tanh(out[i]);
        return PW_OK;
}

/* hidden [rows, units], second [units, classes] -> the part of the scores that comes from these units [rows, classes] */
static enum pw_status scores(struct pw_task *task)
{
        multiply(pw_task_out(task, 0), pw_task_in(task, 0), pw_task_in(task, 1), pw_task_dim(task, 0, 0), pw_task_dim(task, 0, 1),
                 pw_task_dim(task, 1, 1));
        return PW_OK;
}

static enum pw_status product_shape(struct pw_shape_task *task)
{
        if (task->input_count != 2 || !is_matrix(task, 0) || !is_matrix(task, 1) ||
            task->inputs[0].dims.dim[1] != task->inputs[1].dims.dim[0])
                return pw_shape_fail(task, "takes f64 [rows, n] and f64 [n, columns]");
        return gives(task, 0, task->inputs[0].dims.dim[0], task->inputs[1].dims.dim[1]);
}

/* --- loss --------------------------------------------------------------------------------------------------------- */

/* errors[0..classes) = d loss / d scores of one row; returns its loss, -log of the probability of `label`. */
static double softmax_loss(const double *row, double *errors, uint64_t classes, unsigned label)
{
        double largest = row[0], sum = 0;

        for (uint64_t c = 1; c < classes; c++)
                largest = row[c] > largest ? row[c] : largest;
        for (uint64_t c = 0; c < classes; c++) {
                errors[c] = exp(row[c] - largest);
                sum += errors[c];
        }
        for (uint64_t c = 0; c < classes; c++)
                errors[c] = errors[c] / sum - (c == label);
        return log(sum) - (row[label] - largest);
}

/* scores [rows, classes], labels [rows] -> errors [rows, classes], sum of losses [] */
static enum pw_status loss(struct pw_task *task)
{
        const double *rows = pw_task_in(task, 0);
        const uint8_t *labels = pw_task_in(task, 1);
        uint64_t classes = pw_task_dim(task, 0, 1);
        double *errors = pw_task_out(task, 0), *sum = pw_task_out(task, 1);

        *sum = 0;
        for (uint64_t row = 0; row < pw_task_dim(task, 0, 0); row++) {
                if (labels[row] >= classes)
                        return pw_task_fail(task, "row %llu has label %u, of %llu classes", (unsigned long long)row, labels[row],
                                            (unsigned long long)classes);
                *sum += softmax_loss(rows + row * classes, errors + row * classes, classes, labels[row]);
        }
        return PW_OK;
}

static enum pw_status loss_shape(struct pw_shape_task *task)
{
        if (task->input_count != 2 || task->output_count != 2 || !is_matrix(task, 0) || task->inputs[1].dtype != PW_U8 ||
            task->inputs[1].dims.rank != 1 || task->inputs[1].dims.dim[0] != task->inputs[0].dims.dim[0])
                return pw_shape_fail(task, "takes scores f64 [rows, classes] and labels u8 [rows]; gives errors and a loss");
        task->outputs[1].dtype = PW_F64;
        task->outputs[1].dims = PW_SCALAR;
        return gives(task, 0, task->inputs[0].dims.dim[0], task->inputs[0].dims.dim[1]);
}

/* --- back --------------------------------------------------------------------------------------------------------- */

/* errors [rows, classes], second [units, classes], hidden [rows, units] -> d loss / d (x first) [rows, units] */
static enum pw_status back(struct pw_task *task)
{
        const double *errors = pw_task_in(task, 0), *second = pw_task_in(task, 1), *units = pw_task_in(task, 2);
        uint64_t rows = pw_task_dim(task, 0, 0), classes = pw_task_dim(task, 0, 1), count = pw_task_dim(task, 1, 0);
        double *out = pw_task_out(task, 0);

        for (uint64_t row = 0; row < rows; row++)
                for (uint64_t u = 0; u < count; u++) {
                        double sum = 0, unit = units[row * count + u];
                        for (uint64_t c = 0; c < classes; c++)
                                sum += errors[row * classes + c] * second[u * classes + c];
                        out[row * count + u] = sum * (1 - unit * unit);
                }
        return PW_OK;
}

static enum pw_status back_shape(struct pw_shape_task *task)
{
        if (task->input_count != 3 || !is_matrix(task, 0) || !is_matrix(task, 1) || !is_matrix(task, 2) ||
            task->inputs[0].dims.dim[1] != task->inputs[1].dims.dim[1] ||
            task->inputs[1].dims.dim[0] != task->inputs[2].dims.dim[1] ||
            task->inputs[0].dims.dim[0] != task->inputs[2].dims.dim[0])
                return pw_shape_fail(task,
                                     "takes errors [rows, classes], weights [units, classes] and units [rows, units], all f64");
        return gives(task, 0, task->inputs[0].dims.dim[0], task->inputs[1].dims.dim[0]);
}

/* in [rows, n], errors [rows, m] -> the part of the gradient that comes from these rows [n, m] */
static enum pw_status gradient(struct pw_task *task)
{
        multiply_over_rows(pw_task_out(task, 0), pw_task_in(task, 0), pw_task_in(task, 1), pw_task_dim(task, 0, 0),
                           pw_task_dim(task, 0, 1), pw_task_dim(task, 1, 1));
        return PW_OK;
}

static enum pw_status gradient_shape(struct pw_shape_task *task)
{
        if (task->input_count != 2 || !is_matrix(task, 0) || !is_matrix(task, 1) ||
            task->inputs[0].dims.dim[0] != task->inputs[1].dims.dim[0])
                return pw_shape_fail(task, "takes f64 [rows, n] and f64 [rows, m]");
        return gives(task, 0, task->inputs[0].dims.dim[1], task->inputs[1].dims.dim[1]);
}

/* weights, gradient -> weights, in their place where they were donated */
static enum pw_status update(struct pw_task *task)
{
        const double *weights = pw_task_in(task, 0), *sums = pw_task_in(task, 1);
        double *out = pw_task_out(task, 0);
        struct tensor_update params;

        if (task->params_bytes != sizeof params)
                return pw_task_fail(task, "takes struct tensor_update as parameters");
        memcpy(&params, task->params, sizeof params);
        for (uint64_t i = 0; i < task->outputs[0].bytes / sizeof *out; i++)
                out[i] = weights[i] - params.rate / params.rows * sums[i];
        return PW_OK;
}

static enum pw_status update_shape(struct pw_shape_task *task)
{
        if (task->input_count != 2 || !is_matrix(task, 0) || !is_matrix(task, 1) ||
            memcmp(task->inputs[0].dims.dim, task->inputs[1].dims.dim, 2 * sizeof task->inputs[0].dims.dim[0]) != 0)
                return pw_shape_fail(task, "takes weights and a gradient, f64 of the same dims");
        return pw_shape_as_input_0(task);
}

PW_MODULE_WITH("tensor", tensor_codes,
               PW_FUNCTION(hidden, .shape = product_shape, .cuda = tensor_hidden_cuda),
               PW_FUNCTION(scores, .shape = product_shape, .cuda = tensor_scores_cuda),
               PW_FUNCTION(loss, .shape = loss_shape, .cuda = tensor_loss_cuda, .faults = tensor_faults, .fault_count = 1),
               PW_FUNCTION(back, .shape = back_shape, .cuda = tensor_back_cuda),
               PW_FUNCTION(gradient, .shape = gradient_shape, .cuda = tensor_gradient_cuda),
               PW_FUNCTION(update, .shape = update_shape, .cuda = tensor_update_cuda, .in_place = 1));

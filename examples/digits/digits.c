/* The module digits: gradients of softmax regression and of a network with one hidden layer, and the step down them.
 *
 * Each function sees the shard of one device: its rows of a batch, and all of the weights. Gradients and losses are sums over
 * those rows, so the sum over all devices is that of the batch, however many devices there are. Sums run in double precision:
 * how rows are spread over devices then changes next to nothing.
 */
#include "examples/digits/digits.h"

#include "examples/digits/digits_cuda.h"
#include "pathways_module.h"

#include <math.h>
#include <stdlib.h>

/* --- softmax ------------------------------------------------------------------------------------------------------ */

/* scores[0..classes) become d loss / d scores of one row; returns its loss, -log of the probability of `label`. */
static double softmax_loss(double *scores, uint64_t classes, unsigned label)
{
        double largest = scores[0], sum = 0;

        for (uint64_t c = 1; c < classes; c++)
                largest = scores[c] > largest ? scores[c] : largest;
        for (uint64_t c = 0; c < classes; c++) {
                scores[c] = exp(scores[c] - largest);
                sum += scores[c];
        }
        double loss = log(sum) - log(scores[label]);
        for (uint64_t c = 0; c < classes; c++)
                scores[c] = scores[c] / sum - (c == label);
        return loss;
}

/* out[c] = sum over r of in[r] * weights[r][c] */
static void apply(const float *weights, uint64_t rows, uint64_t columns, const double *in, double *out)
{
        for (uint64_t c = 0; c < columns; c++)
                out[c] = 0;
        for (uint64_t r = 0; r < rows; r++)
                for (uint64_t c = 0; c < columns; c++)
                        out[c] += in[r] * weights[r * columns + c];
}

/* sums[r][c] += in[r] * errors[c] */
static void add_outer(double *sums, const double *in, uint64_t rows, const double *errors, uint64_t columns)
{
        for (uint64_t r = 0; r < rows; r++)
                for (uint64_t c = 0; c < columns; c++)
                        sums[r * columns + c] += in[r] * errors[c];
}

static void round_to_float(float *out, const double *in, uint64_t count)
{
        for (uint64_t i = 0; i < count; i++)
                out[i] = (float)in[i];
}

static void widen(double *out, const float *in, uint64_t count)
{
        for (uint64_t i = 0; i < count; i++)
                out[i] = in[i];
}

static enum pw_status check_label(struct pw_task *task, uint64_t row, unsigned label, uint64_t classes)
{
        if (label < classes)
                return PW_OK;
        return pw_task_fail(task, "row %llu has label %u, of %llu classes", (unsigned long long)row, label,
                            (unsigned long long)classes);
}

/* --- softmax regression ------------------------------------------------------------------------------------------- */

/* weights [features, classes], images [rows, features], labels [rows] -> sum of gradients like weights, sum of losses */
static enum pw_status gradient(struct pw_task *task)
{
        const float *weights = pw_task_in(task, 0), *images = pw_task_in(task, 1);
        const uint8_t *labels = pw_task_in(task, 2);
        uint64_t features = pw_task_dim(task, 0, 0), classes = pw_task_dim(task, 0, 1), rows = pw_task_dim(task, 1, 0);
        double *memory = calloc(features * classes + features + classes, sizeof *memory), loss = 0;
        double *sums = memory, *in = sums + features * classes, *scores = in + features;
        enum pw_status status = PW_OK;

        if (!memory)
                return pw_task_fail(task, "out of memory");
        for (uint64_t row = 0; row < rows && status == PW_OK; row++) {
                status = check_label(task, row, labels[row], classes);
                if (status != PW_OK)
                        break;
                widen(in, images + row * features, features);
                apply(weights, features, classes, in, scores);
                loss += softmax_loss(scores, classes, labels[row]);
                add_outer(sums, in, features, scores, classes);
        }
        round_to_float(pw_task_out(task, 0), sums, features * classes);
        *(float *)pw_task_out(task, 1) = (float)loss;
        free(memory);
        return status;
}

/* The last two inputs are images and labels, the others weights; the outputs are like the weights, and then the loss. */
static enum pw_status gradient_shape(struct pw_shape_task *task)
{
        uint32_t layers = task->input_count < 3 ? 0 : task->input_count - 2;

        if (!layers || task->output_count != layers + 1)
                return pw_shape_fail(task,
                                     "takes weights, images and labels; gives a gradient for each of the weights, and the loss");
        const struct pw_dims *images = &task->inputs[layers].dims, *labels = &task->inputs[layers + 1].dims;
        if (images->rank != 2 || labels->rank != 1 || images->dim[0] != labels->dim[0] || task->inputs[layers].dtype != PW_F32 ||
            task->inputs[layers + 1].dtype != PW_U8)
                return pw_shape_fail(task, "takes images f32 [rows, features] and labels u8 [rows]");
        for (uint32_t i = 0; i < layers; i++) {
                if (task->inputs[i].dims.rank != 2 || task->inputs[i].dtype != PW_F32)
                        return pw_shape_fail(task, "input %u: weights are f32 of rank 2", i);
                task->outputs[i].dtype = PW_F32;
                task->outputs[i].dims = task->inputs[i].dims;
        }
        if (task->inputs[0].dims.dim[0] != images->dim[1])
                return pw_shape_fail(task, "the weights are for %llu features, the images have %llu",
                                     (unsigned long long)task->inputs[0].dims.dim[0], (unsigned long long)images->dim[1]);
        task->outputs[layers].dtype = PW_F32;
        task->outputs[layers].dims = PW_SCALAR;
        return PW_OK;
}

/* --- a network with one hidden layer ------------------------------------------------------------------------------ */

/* Sizes and scratch memory of one call; the hidden layer has a constant 1 behind its `hidden` units. */
struct network {
        uint64_t features, hidden, classes;
        double *in, *units, *scores, *errors; /* of one row; errors: d loss / d units */
        double *first_sums, *second_sums;
};

static double *network_init(struct network *network, const struct pw_task *task)
{
        uint64_t features = pw_task_dim(task, 0, 0), hidden = pw_task_dim(task, 0, 1), classes = pw_task_dim(task, 1, 1);
        uint64_t units = hidden + 1;
        double *memory = calloc(features + 2 * units + classes + features * hidden + units * classes, sizeof *memory);

        *network = (struct network){ .features = features, .hidden = hidden, .classes = classes };
        if (!memory)
                return NULL;
        network->in = memory;
        network->units = network->in + features;
        network->errors = network->units + units;
        network->scores = network->errors + units;
        network->first_sums = network->scores + classes;
        network->second_sums = network->first_sums + features * hidden;
        return memory;
}

/* One row, forward and back; returns its loss. */
static double network_row(struct network *network, const float *first, const float *second, unsigned label)
{
        uint64_t hidden = network->hidden, classes = network->classes;

        apply(first, network->features, hidden, network->in, network->units);
        for (uint64_t h = 0; h < hidden; h++)
                network->units[h] = tanh(network->units[h]);
        network->units[hidden] = 1;
        apply(second, hidden + 1, classes, network->units, network->scores);
        double loss = softmax_loss(network->scores, classes, label);
        for (uint64_t h = 0; h < hidden; h++) {
                double error = 0;
                for (uint64_t c = 0; c < classes; c++)
                        error += second[h * classes + c] * network->scores[c];
                network->errors[h] = error * (1 - network->units[h] * network->units[h]);
        }
        add_outer(network->first_sums, network->in, network->features, network->errors, hidden);
        add_outer(network->second_sums, network->units, hidden + 1, network->scores, classes);
        return loss;
}

/* first [features, hidden], second [hidden + 1, classes], images, labels -> sums of gradients like both, sum of losses */
static enum pw_status hidden_gradient(struct pw_task *task)
{
        const float *first = pw_task_in(task, 0), *second = pw_task_in(task, 1), *images = pw_task_in(task, 2);
        const uint8_t *labels = pw_task_in(task, 3);
        struct network network;
        double *memory = network_init(&network, task), loss = 0;
        enum pw_status status = PW_OK;

        if (!memory)
                return pw_task_fail(task, "out of memory");
        for (uint64_t row = 0; row < pw_task_dim(task, 2, 0) && status == PW_OK; row++) {
                status = check_label(task, row, labels[row], network.classes);
                if (status != PW_OK)
                        break;
                widen(network.in, images + row * network.features, network.features);
                loss += network_row(&network, first, second, labels[row]);
        }
        round_to_float(pw_task_out(task, 0), network.first_sums, network.features * network.hidden);
        round_to_float(pw_task_out(task, 1), network.second_sums, (network.hidden + 1) * network.classes);
        *(float *)pw_task_out(task, 2) = (float)loss;
        free(memory);
        return status;
}

static enum pw_status hidden_gradient_shape(struct pw_shape_task *task)
{
        if (task->input_count != 4 || task->inputs[1].dims.dim[0] != task->inputs[0].dims.dim[1] + 1)
                return pw_shape_fail(task, "takes weights [features, hidden] and [hidden + 1, classes], images and labels");
        return gradient_shape(task);
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

/* weights, gradient -> weights, in their place where they were donated */
static enum pw_status update(struct pw_task *task)
{
        const float *weights = pw_task_in(task, 0), *sums = pw_task_in(task, 1);
        float *out = pw_task_out(task, 0);
        struct digits_update params;

        if (task->params_bytes != sizeof params)
                return pw_task_fail(task, "takes struct digits_update as parameters");
        memcpy(&params, task->params, sizeof params);
        for (uint64_t i = 0; i < task->outputs[0].bytes / sizeof *out; i++)
                out[i] = weights[i] - params.rate / params.rows * sums[i];
        return PW_OK;
}

static enum pw_status update_shape(struct pw_shape_task *task)
{
        const struct pw_dims *weights = &task->inputs[0].dims, *sums = &task->inputs[1].dims;

        if (task->input_count != 2 || weights->rank != 2 || sums->rank != 2 || weights->dim[0] != sums->dim[0] ||
            weights->dim[1] != sums->dim[1] || task->inputs[0].dtype != PW_F32 || task->inputs[1].dtype != PW_F32)
                return pw_shape_fail(task, "takes weights and a gradient, f32 of the same dims");
        return pw_shape_as_input_0(task);
}

PW_MODULE_WITH("digits", digits_codes,
               PW_FUNCTION(gradient, .shape = gradient_shape, .cuda = digits_gradient_cuda,
                           .faults = digits_faults, .fault_count = 1),
               PW_FUNCTION(hidden_gradient, .shape = hidden_gradient_shape, .cuda = digits_hidden_gradient_cuda,
                           .faults = digits_faults, .fault_count = 1),
               PW_FUNCTION(update, .shape = update_shape, .cuda = digits_update_cuda, .in_place = 1));

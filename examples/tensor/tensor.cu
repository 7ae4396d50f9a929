/* Kernels of the module tensor: a thread computes one element of an output, in the order in which tensor.c adds it up, so that
 * sums are the same bits however many threads there are.
 */
#include "pathways_cuda.h"

#define LABEL_BEYOND 1u /* the first of tensor_faults */

/* Element (row, column) of a b, a [rows, inner], b [inner, columns] */
static __device__ double product(const double *a, const double *b, uint64_t at, uint64_t inner, uint64_t columns)
{
        uint64_t row = at / columns, column = at - row * columns;
        double sum = 0;

        for (uint64_t i = 0; i < inner; i++)
                sum += a[row * inner + i] * b[i * columns + column];
        return sum;
}

extern "C" __global__ void tensor_hidden(double *out, const double *x, const double *first, uint64_t rows, uint64_t features,
                                         uint64_t units)
{
        for (uint64_t at = pw_thread(); at < rows * units; at += pw_thread_count())
                out[at] = tanh(product(x, first, at, features, units));
}
PW_KERNEL(tensor_hidden)

extern "C" __global__ void tensor_scores(double *out, const double *hidden, const double *second, uint64_t rows, uint64_t units,
                                         uint64_t classes)
{
        for (uint64_t at = pw_thread(); at < rows * classes; at += pw_thread_count())
                out[at] = product(hidden, second, at, units, classes);
}
PW_KERNEL(tensor_scores)

/* --- loss --------------------------------------------------------------------------------------------------------- */

static __device__ double largest_of(const double *scores, uint64_t classes)
{
        double largest = scores[0];

        for (uint64_t c = 1; c < classes; c++)
                largest = scores[c] > largest ? scores[c] : largest;
        return largest;
}

static __device__ double sum_of(const double *scores, uint64_t classes, double largest)
{
        double sum = 0;

        for (uint64_t c = 0; c < classes; c++)
                sum += exp(scores[c] - largest);
        return sum;
}

static __device__ bool check_label(uint8_t label, uint64_t classes, uint32_t *fault)
{
        if (label < classes)
                return true;
        pw_fault(fault, LABEL_BEYOND);
        return false;
}

/* A thread for the errors of each row, and one for the loss of all. */
extern "C" __global__ void tensor_loss(double *errors, double *loss, const double *scores, const uint8_t *labels, uint64_t rows,
                                       uint64_t classes, uint32_t *fault)
{
        for (uint64_t row = pw_thread(); row < rows; row += pw_thread_count()) {
                const double *of_row = scores + row * classes;
                if (!check_label(labels[row], classes, fault))
                        continue;
                double largest = largest_of(of_row, classes), sum = sum_of(of_row, classes, largest);
                for (uint64_t c = 0; c < classes; c++)
                        errors[row * classes + c] = exp(of_row[c] - largest) / sum - (c == labels[row]);
        }
        if (pw_thread() != pw_thread_count() - 1)
                return;
        double whole = 0;
        for (uint64_t row = 0; row < rows && check_label(labels[row], classes, fault); row++) {
                const double *of_row = scores + row * classes;
                double largest = largest_of(of_row, classes);
                whole += log(sum_of(of_row, classes, largest)) - (of_row[labels[row]] - largest);
        }
        *loss = whole;
}
PW_KERNEL(tensor_loss)

/* --- back --------------------------------------------------------------------------------------------------------- */

extern "C" __global__ void tensor_back(double *out, const double *errors, const double *second, const double *hidden, uint64_t rows,
                                       uint64_t classes, uint64_t units)
{
        for (uint64_t at = pw_thread(); at < rows * units; at += pw_thread_count()) {
                uint64_t row = at / units, u = at - row * units;
                double sum = 0, unit = hidden[at];
                for (uint64_t c = 0; c < classes; c++)
                        sum += errors[row * classes + c] * second[u * classes + c];
                out[at] = sum * (1 - unit * unit);
        }
}
PW_KERNEL(tensor_back)

extern "C" __global__ void tensor_gradient(double *out, const double *in, const double *errors, uint64_t rows, uint64_t left,
                                           uint64_t right)
{
        for (uint64_t at = pw_thread(); at < left * right; at += pw_thread_count()) {
                uint64_t i = at / right, c = at - i * right;
                double sum = 0;
                for (uint64_t row = 0; row < rows; row++)
                        sum += in[row * left + i] * errors[row * right + c];
                out[at] = sum;
        }
}
PW_KERNEL(tensor_gradient)

extern "C" __global__ void tensor_step(double *out, const double *weights, const double *sums, uint64_t count, double step)
{
        for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())
                out[i] = weights[i] - step * sums[i];
}
PW_KERNEL(tensor_step)

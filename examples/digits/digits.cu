/* Kernels of the module digits: a thread computes one element of an output, or the loss, over all rows in their order. So sums
 * are the same bits however many threads there are, and nothing is kept between threads: each computes again what it needs of
 * a row. Like in digits.c they run in double precision; only the softmax goes about it in another way.
 */
#include "pathways_cuda.h"

#include "examples/digits/digits_cuda.h"

#define LABEL_BEYOND 1u /* the first of digits_faults */

/* What is long is called, and loops over inputs are not unrolled: the code stays short. */
#define CALLED static __device__ __attribute__((noinline))
#ifdef __CUDACC__
#define ROLLED _Pragma("unroll 1")
#else
#define ROLLED
#endif

/* --- what goes into a layer of weights --------------------------------------------------------------------------- */

/* A row of the images. */
struct image {
        const float *pixels;
        __device__ double at(uint64_t f) const { return pixels[f]; }
};

/* The units that a row makes of the first layer, and the constant 1 behind them. */
struct units {
        const float *pixels, *first;
        uint64_t features, hidden;
        __device__ double at(uint64_t h) const
        {
                double sum = 0;

                if (h == hidden)
                        return 1;
                ROLLED
                for (uint64_t f = 0; f < features; f++)
                        sum += (double)pixels[f] * first[f * hidden + h];
                return tanh(sum);
        }
};

/* --- softmax ------------------------------------------------------------------------------------------------------ */

/* What is asked of the errors of a row, d loss / d scores: a sum of them, each times a factor. The error of one class, */
struct one_class {
        uint64_t wanted;
        __device__ double of(uint64_t c) const { return c == wanted; }
};
/* or that of a unit, of which these are the weights. */
struct one_unit {
        const float *weights;
        __device__ double of(uint64_t c) const { return weights[c]; }
};

/* Of the scores that were seen: the largest one; sums of exp(score - largest), once with their factors; the label's score. */
struct seen { double largest, sum, weighted, label; };

CALLED void see(struct seen *seen, double score, double factor)
{
        if (score > seen->largest) {
                double less = exp(seen->largest - score);
                seen->sum = seen->sum * less + 1;
                seen->weighted = seen->weighted * less + factor;
                seen->largest = score;
        } else {
                double part = exp(score - seen->largest);
                seen->sum += part;
                seen->weighted += part * factor;
        }
}

/* Scores are sums over `count` elements of `in` times their weights [count, classes]; so many are computed together. */
#define TOGETHER 16u
template <typename In, typename Factor>
CALLED struct seen see_row(const In &in, uint64_t count, const float *weights, uint64_t classes, uint64_t label,
                           const Factor &factor)
{
        struct seen seen = { -__builtin_huge_val(), 0, 0, 0 };

        for (uint64_t first = 0; first < classes; first += TOGETHER) {
                double scores[TOGETHER] = { 0 };
                ROLLED
                for (uint64_t i = 0; i < count; i++) {
                        double element = in.at(i);
                        for (uint64_t t = 0; t < TOGETHER; t++)
                                if (first + t < classes)
                                        scores[t] += element * weights[i * classes + first + t];
                }
                for (uint64_t t = 0; t < TOGETHER; t++)
                        if (first + t < classes) {
                                see(&seen, scores[t], factor.of(first + t));
                                if (first + t == label)
                                        seen.label = scores[t];
                        }
        }
        return seen;
}

template <typename Factor> static __device__ double error_of(const struct seen &seen, uint64_t label, const Factor &factor)
{
        return seen.weighted / seen.sum - factor.of(label);
}
static __device__ double loss_of(const struct seen &seen) { return log(seen.sum) + seen.largest - seen.label; }

static __device__ bool check_label(uint8_t label, uint64_t classes, uint32_t *fault)
{
        if (label < classes)
                return true;
        pw_fault(fault, LABEL_BEYOND);
        return false;
}

/* --- the kernels -------------------------------------------------------------------------------------------------- */

extern "C" __global__ void digits_gradient(float *sums, float *loss, const float *weights, const float *images,
                                           const uint8_t *labels, const struct digits_sizes sizes, uint32_t *fault)
{
        uint64_t features = sizes.features, classes = sizes.classes, count = features * classes;

        for (uint64_t at = pw_thread(); at <= count; at += pw_thread_count()) {
                uint64_t f = at < count ? at / classes : 0;
                struct one_class one = { at - f * classes };
                double sum = 0;
                for (uint64_t row = 0; row < sizes.rows && check_label(labels[row], classes, fault); row++) {
                        struct image image = { images + row * features };
                        struct seen seen = see_row(image, features, weights, classes, labels[row], one);
                        sum += at < count ? image.at(f) * error_of(seen, labels[row], one) : loss_of(seen);
                }
                *(at < count ? sums + at : loss) = (float)sum;
        }
}
PW_KERNEL(digits_gradient)

/* d loss / d first[f][h], of one row. */
static __device__ double first_error(const struct units &in, const float *second, const struct digits_sizes &sizes, uint64_t label,
                                     uint64_t at)
{
        uint64_t f = at / sizes.hidden, h = at - f * sizes.hidden;
        struct one_unit one = { second + h * sizes.classes };
        double unit = in.at(h);

        return in.pixels[f] * error_of(see_row(in, sizes.hidden + 1, second, sizes.classes, label, one), label, one) *
               (1 - unit * unit);
}

/* d loss / d second[h][c], of one row. */
static __device__ double second_error(const struct units &in, const float *second, const struct digits_sizes &sizes,
                                      uint64_t label, uint64_t at)
{
        uint64_t h = at / sizes.classes;
        struct one_class one = { at - h * sizes.classes };

        return in.at(h) * error_of(see_row(in, sizes.hidden + 1, second, sizes.classes, label, one), label, one);
}

extern "C" __global__ void digits_hidden_gradient(float *first_sums, float *second_sums, float *loss, const float *first,
                                                  const float *second, const float *images, const uint8_t *labels,
                                                  const struct digits_sizes sizes, uint32_t *fault)
{
        uint64_t firsts = sizes.features * sizes.hidden, both = firsts + (sizes.hidden + 1) * sizes.classes;
        struct one_class none = { UINT64_MAX };

        for (uint64_t at = pw_thread(); at <= both; at += pw_thread_count()) {
                double sum = 0;
                for (uint64_t row = 0; row < sizes.rows && check_label(labels[row], sizes.classes, fault); row++) {
                        struct units in = { images + row * sizes.features, first, sizes.features, sizes.hidden };
                        if (at < firsts)
                                sum += first_error(in, second, sizes, labels[row], at);
                        else if (at < both)
                                sum += second_error(in, second, sizes, labels[row], at - firsts);
                        else
                                sum += loss_of(see_row(in, sizes.hidden + 1, second, sizes.classes, labels[row], none));
                }
                *(at < firsts ? first_sums + at : at < both ? second_sums + (at - firsts) : loss) = (float)sum;
        }
}
PW_KERNEL(digits_hidden_gradient)

extern "C" __global__ void digits_step(float *out, const float *weights, const float *sums, uint64_t count, float step)
{
        for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())
                out[i] = weights[i] - step * sums[i];
}
PW_KERNEL(digits_step)

/* The model as the driver sees it: which weights there are, how they begin, and what they say of a row.
 */
#ifndef DIGITS_MODEL_H
#define DIGITS_MODEL_H

#include "examples/common/data.h"
#include "pathways.h"

#define MODEL_LAYERS_MAX 2

struct model {
        uint32_t layers;                       /* 1: softmax regression; 2: with a hidden layer */
        const char *gradient;                  /* the function that makes one gradient per layer, and the loss */
        struct pw_dims dims[MODEL_LAYERS_MAX]; /* of the weights of each layer */
        size_t bytes[MODEL_LAYERS_MAX];
};

/* `hidden` 0: softmax regression. */
struct model model_of(const struct data *data, uint32_t hidden);
/* Zeros, but for the first of two layers, which begins with small random numbers that `seed` determines. */
void model_start(const struct model *model, uint32_t layer, uint64_t seed, float *weights);
/* The share of the rows that were never trained on whose class `weights` find; NaN: out of memory. */
double model_accuracy(const struct model *model, float *const weights[MODEL_LAYERS_MAX], const struct data *data);

#endif

/* The model as the driver sees it. */
#include "examples/digits/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct model model_of(const struct data *data, uint32_t hidden)
{
        struct model model = { .layers = hidden ? 2 : 1, .gradient = hidden ? "digits/hidden_gradient" : "digits/gradient" };

        model.dims[0] = PW_DIMS(data->features, hidden ? hidden : data->classes);
        model.dims[1] = PW_DIMS((uint64_t)hidden + 1, data->classes);
        for (uint32_t layer = 0; layer < model.layers; layer++)
                model.bytes[layer] = model.dims[layer].dim[0] * model.dims[layer].dim[1] * sizeof(float);
        return model;
}

/* splitmix64 (Steele, Lea, Flood 2014), as a number in [-1, 1) */
static double random_number(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15;

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

void model_start(const struct model *model, uint32_t layer, uint64_t seed, float *weights)
{
        memset(weights, 0, model->bytes[layer]);
        for (size_t i = 0; model->layers == 2 && layer == 0 && i < model->bytes[0] / sizeof *weights; i++)
                weights[i] = (float)(random_number(&seed) / sqrt((double)model->dims[0].dim[0]));
}

static void apply(const struct pw_dims *dims, const float *weights, const float *in, float *out)
{
        for (uint64_t c = 0; c < dims->dim[1]; c++) {
                double sum = 0;
                for (uint64_t r = 0; r < dims->dim[0]; r++)
                        sum += (double)in[r] * weights[r * dims->dim[1] + c];
                out[c] = (float)sum;
        }
}

static size_t largest(const float *scores, size_t count)
{
        size_t best = 0;

        for (size_t i = 1; i < count; i++)
                if (scores[i] > scores[best])
                        best = i;
        return best;
}

double model_accuracy(const struct model *model, float *const weights[MODEL_LAYERS_MAX], const struct data *data)
{
        uint64_t units = model->layers == 2 ? model->dims[0].dim[1] : 0;
        float *hidden = calloc(units + 1 + data->classes, sizeof *hidden), *scores = hidden + units + 1;
        size_t right = 0;

        if (!hidden)
                return NAN;
        for (size_t row = data->train_rows; row < data->rows; row++) {
                const float *in = data->images + row * data->features;
                if (model->layers == 2) {
                        apply(&model->dims[0], weights[0], in, hidden);
                        for (uint64_t h = 0; h < units; h++)
                                hidden[h] = tanhf(hidden[h]);
                        hidden[units] = 1;
                        in = hidden;
                }
                apply(&model->dims[model->layers - 1], weights[model->layers - 1], in, scores);
                right += largest(scores, data->classes) == data->labels[row];
        }
        free(hidden);
        return (double)right / (double)(data->rows - data->train_rows);
}

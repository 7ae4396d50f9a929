/* digits: trains a classifier of hand-written digits, data-parallel over the devices of a slice.
 *
 * One program, traced once, is one step of gradient descent. It is run for one batch after the other without waiting: each
 * run takes the weights of the one before, given away so that they are updated where they lie on the devices. Only losses
 * come back, and are read a window behind.
 */
#include "examples/common/data.h"
#include "examples/common/failure.h"
#include "examples/common/losses.h"
#include "examples/digits/digits.h"
#include "examples/digits/model.h"
#include "examples/digits/options.h"
#include "pathways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_EVERY 50 /* runs between copies of the weights in the host's memory */
#define INPUTS_MAX (MODEL_LAYERS_MAX + 2)

struct batch {
        struct pw_future *images, *labels;
};

struct training {
        struct options options;
        struct data data;
        struct model model;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_program *step;
        struct batch *batches;
        size_t batch_count, run_count;
        struct pw_future *weights[MODEL_LAYERS_MAX];
        float *copy[MODEL_LAYERS_MAX]; /* the weights, as they last came to the host */
        struct losses losses;
};

/* --- before the first run ----------------------------------------------------------------------------------------- */

static enum pw_status prepare(struct training *t, struct pw_error *err)
{
        char why[200];

        if (data_read(t->options.data, &t->data, why, sizeof why))
                return failure(err, PW_INVALID, t->options.data, why);
        t->model = model_of(&t->data, t->options.hidden);
        t->batch_count = t->data.train_rows / t->options.batch;
        t->run_count = t->batch_count * t->options.epochs;
        if (!t->batch_count)
                return failure(err, PW_INVALID, t->options.data, "has fewer rows to train on than one batch");
        t->batches = calloc(t->batch_count, sizeof *t->batches);
        for (uint32_t i = 0; i < t->model.layers; i++)
                t->copy[i] = calloc(1, t->model.bytes[i]);
        if (!t->batches || !t->copy[0] || (t->model.layers == 2 && !t->copy[1]))
                return failure(err, PW_NO_MEMORY, t->options.data, "out of memory");
        return losses_start(&t->losses, t->run_count, t->options.batch, err);
}

/* One step: gradients of each device's rows, summed over the devices, then the same update on each. */
static enum pw_status trace(struct training *t, struct pw_error *err)
{
        struct digits_update update = { t->options.rate, (float)t->options.batch };
        struct pw_call_params update_params = { .params = &update, .params_bytes = sizeof update };
        const struct pw_sharding sums[] = { PW_PARTIAL(PW_SUM), PW_PARTIAL(PW_SUM) };
        struct pw_call_params gradient_params = { .output_count = t->model.layers + 1, .output_shardings = sums };
        struct pw_value *args[INPUTS_MAX];
        uint32_t layers = t->model.layers;
        uint64_t rows = t->options.batch;

        t->step = pw_program_new(t->session, "digits/step");
        for (uint32_t i = 0; i < layers; i++)
                args[i] = pw_input(t->step, t->slice, PW_F32, t->model.dims[i], PW_BROADCAST, PW_DONATED);
        args[layers] = pw_input(t->step, t->slice, PW_F32, PW_DIMS(rows, t->data.features), PW_SPLIT(0), 0);
        args[layers + 1] = pw_input(t->step, t->slice, PW_U8, PW_DIMS(rows), PW_SPLIT(0), 0);
        struct pw_value *gradient =
                pw_call_with(t->step, t->slice, t->model.gradient, args, layers + 2, PW_PARTIAL(PW_SUM), &gradient_params);
        for (uint32_t i = 0; i < layers; i++)
                pw_result(t->step, pw_call_with(t->step, t->slice, "digits/update", PW_ARGS(args[i], pw_output(gradient, i)),
                                                PW_BROADCAST, &update_params));
        pw_result(t->step, PW_AS(pw_output(gradient, layers), PW_BROADCAST));
        return pw_compile(t->step, err);
}

static enum pw_status put_batches(struct training *t, struct pw_error *err)
{
        uint64_t rows = t->options.batch, features = t->data.features;
        struct pw_put_params images = { .dtype = PW_F32, .dims = PW_DIMS(rows, features) };
        struct pw_put_params labels = { .dtype = PW_U8, .dims = PW_DIMS(rows) };
        enum pw_status status = PW_OK;

        for (size_t b = 0; b < t->batch_count && status == PW_OK; b++) {
                status = pw_put(t->session, t->data.images + b * rows * features, rows * features * sizeof(float), &images,
                                &t->batches[b].images, err);
                if (status == PW_OK)
                        status = pw_put(t->session, t->data.labels + b * rows, rows, &labels, &t->batches[b].labels, err);
        }
        return status;
}

static enum pw_status put_weights(struct training *t, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < t->model.layers && status == PW_OK; i++) {
                struct pw_put_params params = { .dtype = PW_F32, .dims = t->model.dims[i] };
                model_start(&t->model, i, t->options.seed, t->copy[i]);
                status = pw_put(t->session, t->copy[i], t->model.bytes[i], &params, &t->weights[i], err);
        }
        return status;
}

static enum pw_status begin(struct training *t, struct pw_error *err)
{
        struct pw_slice_params slice = { .device_count = t->options.devices, .island_count = t->options.islands,
                                          .kind = t->options.device };
        uint64_t peak = 0;
        enum pw_status status = prepare(t, err);

        if (status == PW_OK)
                status = pw_connect(t->options.socket, &t->session, err);
        if (status == PW_OK)
                status = pw_slice_open(t->session, &slice, &t->slice, err);
        if (status == PW_OK)
                status = trace(t, err);
        if (status == PW_OK)
                status = pw_program_peak(t->step, &peak, err);
        if (status == PW_OK)
                status = put_batches(t, err);
        if (status == PW_OK)
                status = put_weights(t, err);
        if (status == PW_OK)
                printf("%zu rows to train on, %zu for the test, %zu features, %zu classes\n"
                       "%u device%s, %zu runs of %u rows, at most %.1f KiB of each device\n",
                       t->data.train_rows, t->data.rows - t->data.train_rows, t->data.features - 1, t->data.classes,
                       t->options.devices, t->options.devices == 1 ? "" : "s", t->run_count, t->options.batch, (double)peak / 1024);
        return status;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

static enum pw_status submit(struct training *t, size_t run, struct pw_error *err)
{
        const struct batch *batch = &t->batches[run % t->batch_count];
        struct pw_future *inputs[INPUTS_MAX], *results[MODEL_LAYERS_MAX + 1];
        uint32_t layers = t->model.layers;

        for (uint32_t i = 0; i < layers; i++)
                inputs[i] = pw_donate(&t->weights[i]);
        inputs[layers] = batch->images;
        inputs[layers + 1] = batch->labels;
        enum pw_status status = pw_run_with(t->step, inputs, layers + 2, NULL, results, err);
        if (status != PW_OK)
                return status;
        for (uint32_t i = 0; i < layers; i++)
                t->weights[i] = results[i];
        losses_add(&t->losses, results[layers]);
        return PW_OK;
}

static enum pw_status copy_weights(struct training *t, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < t->model.layers && status == PW_OK; i++) {
                struct pw_view view;
                status = pw_get(t->weights[i], PW_FOREVER, &view, err);
                if (status != PW_OK)
                        break;
                memcpy(t->copy[i], view.data, t->model.bytes[i]);
                pw_view_done(&view);
        }
        return status;
}

static enum pw_status train(struct training *t, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        for (size_t run = 0; run < t->run_count && status == PW_OK; run++) {
                status = losses_make_place(&t->losses, err);
                if (status == PW_OK)
                        status = submit(t, run, err);
                if (status == PW_OK && (run + 1) % COPY_EVERY == 0)
                        status = copy_weights(t, err);
        }
        if (status == PW_OK)
                status = losses_finish(&t->losses, err);
        if (status == PW_OK)
                status = copy_weights(t, err);
        return status;
}

/* --- after the last run ------------------------------------------------------------------------------------------- */

static void end(struct training *t)
{
        losses_done(&t->losses);
        for (uint32_t i = 0; i < MODEL_LAYERS_MAX; i++) {
                pw_unref(t->weights[i]);
                free(t->copy[i]);
        }
        for (size_t b = 0; t->batches && b < t->batch_count; b++) {
                pw_unref(t->batches[b].images);
                pw_unref(t->batches[b].labels);
        }
        pw_program_free(t->step);
        pw_slice_close(t->slice);
        pw_close(t->session);
        free(t->batches);
        data_done(&t->data);
}

int main(int argc, char **argv)
{
        struct training t = { 0 };
        struct pw_error err;

        options_read(argc, argv, &t.options);
        enum pw_status status = begin(&t, &err);
        if (status == PW_OK)
                status = train(&t, &err);
        if (status == PW_OK)
                status = losses_write(&t.losses, t.options.loss_file, &err);
        if (status == PW_OK)
                printf("accuracy %.3f on %zu rows never trained on\n", model_accuracy(&t.model, t.copy, &t.data),
                       t.data.rows - t.data.train_rows);
        else
                fprintf(stderr, "digits: %s\n", err.text);
        end(&t);
        return status == PW_OK ? 0 : 1;
}

/* tensor: trains a network of two layers that is spread over a mesh of devices, rows of data by columns of the network.
 *
 * Each device holds the weights of its column's units only, and sees the batch's rows of its row only. One program, traced once, is
 * one step; it is run for one batch after the other without waiting, the weights given away from run to run.
 */
#include "examples/common/data.h"
#include "examples/common/failure.h"
#include "examples/common/losses.h"
#include "examples/tensor/options.h"
#include "examples/tensor/tensor.h"
#include "pathways.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How values lie: what the devices of a row of the mesh (axis 0), then of a column (axis 1), hold. */
#define ROWS PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST)                  /* of a batch, whole */
#define ROWS_AND_UNITS PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1))         /* of the hidden layer */
#define ROWS_IN_PARTS PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_PARTIAL(PW_SUM))   /* of the scores: a sum over units */
#define FIRST PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_SPLIT(1))                 /* weights [features, units] */
#define FIRST_IN_PARTS PW_SHARDING(PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_SPLIT(1))  /* their gradient: a sum over rows */
#define SECOND PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0))                /* weights [units, classes] */
#define SECOND_IN_PARTS PW_SHARDING(PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_SPLIT(0))
#define SUM_OVER_ROWS PW_SHARDING(PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_BROADCAST)

struct batch { struct pw_future *rows, *labels; };

struct training {
        struct options options;
        struct data data;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_program *step;
        struct batch *batches;
        size_t batch_count, run_count;
        struct pw_future *weights[2];
        uint64_t weight_bytes[2];
        double *copy[2]; /* the weights in the host's memory */
        struct losses losses;
};

/* --- before the first run ----------------------------------------------------------------------------------------- */

static enum pw_status prepare(struct training *t, struct pw_error *err)
{
        uint64_t units = t->options.hidden;
        char why[200];

        if (data_read(t->options.data, &t->data, why, sizeof why))
                return failure(err, PW_INVALID, t->options.data, why);
        t->weight_bytes[0] = t->data.features * units * sizeof(double);
        t->weight_bytes[1] = units * t->data.classes * sizeof(double);
        t->batch_count = t->data.train_rows / t->options.batch;
        t->run_count = t->batch_count * t->options.epochs;
        if (!t->batch_count)
                return failure(err, PW_INVALID, t->options.data, "has fewer rows to train on than one batch");
        t->batches = calloc(t->batch_count, sizeof *t->batches);
        t->copy[0] = calloc(1, t->weight_bytes[0]);
        t->copy[1] = calloc(1, t->weight_bytes[1]);
        if (!t->batches || !t->copy[0] || !t->copy[1])
                return failure(err, PW_NO_MEMORY, t->options.data, "out of memory");
        return losses_start(&t->losses, t->run_count, t->options.batch, err);
}

/* Forward, back and the update. Arguments that are partial arrive completed: the scores by an all-reduce along the columns of the
 * mesh, the gradients by one along its rows. */
static enum pw_status trace(struct training *t, struct pw_error *err)
{
        struct tensor_update update = { t->options.rate, t->options.batch };
        struct pw_call_params update_params = { .params = &update, .params_bytes = sizeof update };
        struct pw_call_params loss_params = { .output_count = 2, .output_shardings = &SUM_OVER_ROWS };
        uint64_t rows = t->options.batch, units = t->options.hidden, features = t->data.features, classes = t->data.classes;
        struct pw_slice *slice = t->slice;
        struct pw_program *step = t->step = pw_program_new(t->session, "tensor/step");
        struct pw_value *first = pw_input(step, slice, PW_F64, PW_DIMS(features, units), FIRST, PW_DONATED);
        struct pw_value *second = pw_input(step, slice, PW_F64, PW_DIMS(units, classes), SECOND, PW_DONATED);
        struct pw_value *x = pw_input(step, slice, PW_F64, PW_DIMS(rows, features), ROWS, 0);
        struct pw_value *labels = pw_input(step, slice, PW_U8, PW_DIMS(rows), ROWS, 0);
        struct pw_value *hidden = pw_call(step, slice, "tensor/hidden", PW_ARGS(x, first), ROWS_AND_UNITS);
        struct pw_value *scores = pw_call(step, slice, "tensor/scores", PW_ARGS(hidden, second), ROWS_IN_PARTS);
        struct pw_value *errors =
                pw_call_with(step, slice, "tensor/loss", PW_ARGS(PW_AS(scores, ROWS), labels), ROWS, &loss_params);
        struct pw_value *back = pw_call(step, slice, "tensor/back", PW_ARGS(errors, second, hidden), ROWS_AND_UNITS);
        struct pw_value *first_sums = pw_call(step, slice, "tensor/gradient", PW_ARGS(x, back), FIRST_IN_PARTS);
        struct pw_value *second_sums = pw_call(step, slice, "tensor/gradient", PW_ARGS(hidden, errors), SECOND_IN_PARTS);

        pw_result(step,
                  pw_call_with(step, slice, "tensor/update", PW_ARGS(first, PW_AS(first_sums, FIRST)), FIRST, &update_params));
        pw_result(step,
                  pw_call_with(step, slice, "tensor/update", PW_ARGS(second, PW_AS(second_sums, SECOND)), SECOND, &update_params));
        pw_result(step, PW_AS(pw_output(errors, 1), PW_BROADCAST));
        return pw_compile(step, err);
}

static enum pw_status put_batches(struct training *t, struct pw_error *err)
{
        uint64_t rows = t->options.batch, features = t->data.features;
        struct pw_put_params images = { .dtype = PW_F64, .dims = PW_DIMS(rows, features) };
        struct pw_put_params labels = { .dtype = PW_U8, .dims = PW_DIMS(rows) };
        enum pw_status status = PW_OK;

        for (size_t b = 0; b < t->batch_count && status == PW_OK; b++) {
                void *room;
                status = pw_create(t->session, rows * features * sizeof(double), &images, &t->batches[b].rows, &room, err);
                if (status != PW_OK)
                        break;
                for (uint64_t i = 0; i < rows * features; i++)
                        ((double *)room)[i] = t->data.images[b * rows * features + i];
                status = pw_seal(t->batches[b].rows, err);
                if (status == PW_OK)
                        status = pw_put(t->session, t->data.labels + b * rows, rows, &labels, &t->batches[b].labels, err);
        }
        return status;
}

/* Small numbers, the same each time. */
static void start(double *weights, uint64_t bytes, uint64_t state)
{
        for (uint64_t i = 0; i < bytes / sizeof *weights; i++) {
                state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                weights[i] = ((double)(state >> 40) / (1 << 24) - 0.5) * 0.2;
        }
}

static enum pw_status put_weights(struct training *t, struct pw_error *err)
{
        struct pw_put_params params[2] = { { .dtype = PW_F64, .dims = PW_DIMS(t->data.features, t->options.hidden) },
                                           { .dtype = PW_F64, .dims = PW_DIMS(t->options.hidden, t->data.classes) } };
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < 2 && status == PW_OK; i++) {
                start(t->copy[i], t->weight_bytes[i], i + 1);
                status = pw_put(t->session, t->copy[i], t->weight_bytes[i], &params[i], &t->weights[i], err);
        }
        return status;
}

static enum pw_status begin(struct training *t, struct pw_error *err)
{
        uint32_t rows = t->options.data_devices, columns = t->options.tensor_devices;
        struct pw_slice_params slice = { .device_count = rows * columns, .mesh = { rows, columns }, .kind = t->options.device,
                                         .island_count = t->options.islands };
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
                printf("%u x %u devices, %u units, %zu runs of %u rows, at most %.1f KiB of each device\n", rows, columns,
                       t->options.hidden, t->run_count, t->options.batch, (double)peak / 1024);
        return status;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

static enum pw_status submit(struct training *t, size_t run, struct pw_error *err)
{
        const struct batch *batch = &t->batches[run % t->batch_count];
        struct pw_future *results[3];
        enum pw_status status = pw_run(
                t->step, PW_FUTURES(pw_donate(&t->weights[0]), pw_donate(&t->weights[1]), batch->rows, batch->labels), results,
                        err);

        if (status != PW_OK)
                return status;
        t->weights[0] = results[0];
        t->weights[1] = results[1];
        losses_add(&t->losses, results[2]);
        return PW_OK;
}

/* The weights are gathered from the columns of the mesh. */
static enum pw_status copy_weights(struct training *t, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < 2 && status == PW_OK; i++) {
                struct pw_view view;
                status = pw_get(t->weights[i], PW_FOREVER, &view, err);
                if (status != PW_OK)
                        break;
                memcpy(t->copy[i], view.data, t->weight_bytes[i]);
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
        }
        if (status == PW_OK)
                status = losses_finish(&t->losses, err);
        return status == PW_OK ? copy_weights(t, err) : status;
}

/* --- after the last run ------------------------------------------------------------------------------------------- */

static unsigned class_of(const struct training *t, const float *row)
{
        uint64_t units = t->options.hidden, classes = t->data.classes;
        double scores[256] = { 0 };
        unsigned found = 0;

        for (uint64_t u = 0; u < units; u++) {
                double sum = 0;
                for (uint64_t f = 0; f < t->data.features; f++)
                        sum += (double)row[f] * t->copy[0][f * units + u];
                for (uint64_t c = 0; c < classes; c++)
                        scores[c] += tanh(sum) * t->copy[1][u * classes + c];
        }
        for (unsigned c = 1; c < classes; c++)
                found = scores[c] > scores[found] ? c : found;
        return found;
}

static double accuracy(const struct training *t)
{
        size_t right = 0;

        for (size_t row = t->data.train_rows; row < t->data.rows; row++)
                right += class_of(t, t->data.images + row * t->data.features) == t->data.labels[row];
        return (double)right / (double)(t->data.rows - t->data.train_rows);
}

static void end(struct training *t)
{
        losses_done(&t->losses);
        for (size_t b = 0; t->batches && b < t->batch_count; b++) {
                pw_unref(t->batches[b].rows);
                pw_unref(t->batches[b].labels);
        }
        for (uint32_t i = 0; i < 2; i++) {
                pw_unref(t->weights[i]);
                free(t->copy[i]);
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
                printf("accuracy %.3f on %zu rows never trained on\n", accuracy(&t), t.data.rows - t.data.train_rows);
        else
                fprintf(stderr, "tensor: %s\n", err.text);
        end(&t);
        return status == PW_OK ? 0 : 1;
}

/* pipeline: says of each row that it was not shown the class of the nearest row that it was, by three stages on three devices.
 *
 * The rows come in microbatches. All of them are traced into one program, and it is the quotas of the stages that make a pipeline
 * of it: a stage goes on with the next microbatch while the others have those before, and never has more than `quota` outputs in
 * flight.
 */
#include "examples/common/arguments.h"
#include "examples/common/data.h"
#include "examples/common/failure.h"
#include "pathways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGES 3

struct options {
        uint32_t batch, quota, rounds;
        const char *data, *socket;
};

struct pipeline {
        struct options options;
        struct data data;
        struct pw_session *session;
        struct pw_slice *slices[STAGES];
        struct pw_program *program;
        size_t microbatches;
        struct pw_future **inputs;  /* known rows, their classes, then the microbatches */
        struct pw_future **results; /* classes, of each microbatch */
};

static void options_read(int argc, char **argv, struct options *ret)
{
        static const char purpose[] = "Classifies rows by their nearest neighbours in a pipeline on the pathwaysd of this host.";
        const struct argument arguments[] = {
                { "batch", "N", "rows of a microbatch (24)", .number = &ret->batch, .least = 1, .most = 1 << 20 },
                { "quota", "N", "outputs in flight of each stage (2)", .number = &ret->quota, .least = 1, .most = 1 << 20 },
                { "rounds", "N", "how often all microbatches go through (1)", .number = &ret->rounds, .least = 1, .most = 1 << 24 },
                ARGUMENT_DATA(&ret->data), ARGUMENT_SOCKET(&ret->socket), { 0 },
        };

        *ret = (struct options){ .batch = 24, .quota = 2, .rounds = 1, .data = "digits.csv.gz" };
        arguments_read(argc, argv, "pipeline", purpose, arguments);
}

/* --- before the first run ----------------------------------------------------------------------------------------- */

static enum pw_status prepare(struct pipeline *p, struct pw_error *err)
{
        char why[200];

        if (data_read(p->options.data, &p->data, why, sizeof why))
                return failure(err, PW_INVALID, p->options.data, why);
        p->microbatches = (p->data.rows - p->data.train_rows) / p->options.batch;
        if (!p->microbatches)
                return failure(err, PW_INVALID, p->options.data, "has fewer rows to classify than one microbatch");
        p->inputs = calloc(p->microbatches + 2, sizeof(struct pw_future *));
        p->results = calloc(p->microbatches, sizeof(struct pw_future *));
        return p->inputs && p->results ? PW_OK : failure(err, PW_NO_MEMORY, p->options.data, "out of memory");
}

static enum pw_status trace(struct pipeline *p, struct pw_error *err)
{
        static const char *const names[STAGES] = { "level", "compare", "pick" };
        uint64_t rows = p->options.batch, features = p->data.features, known_rows = p->data.train_rows;
        struct pw_program *program = p->program = pw_program_new(p->session, "pipeline/classify");
        struct pw_call_params in[STAGES] = { { .stage = pw_stage(program, names[0], p->options.quota) },
                                             { .stage = pw_stage(program, names[1], p->options.quota) },
                                             { .stage = pw_stage(program, names[2], p->options.quota) } };
        struct pw_value *known = pw_input(program, p->slices[1], PW_F32, PW_DIMS(known_rows, features), PW_BROADCAST, 0);
        struct pw_value *classes = pw_input(program, p->slices[2], PW_U8, PW_DIMS(known_rows), PW_BROADCAST, 0);

        known = pw_call(program, p->slices[1], "pipeline/level", PW_ARGS(known), PW_BROADCAST);
        for (size_t m = 0; m < p->microbatches; m++) {
                struct pw_value *value = pw_input(program, p->slices[0], PW_F32, PW_DIMS(rows, features), PW_BROADCAST, 0);
                value = pw_call_with(program, p->slices[0], "pipeline/level", PW_ARGS(value), PW_BROADCAST, &in[0]);
                value = pw_move(value, p->slices[1], PW_BROADCAST);
                value = pw_call_with(program, p->slices[1], "pipeline/compare", PW_ARGS(value, known), PW_BROADCAST, &in[1]);
                value = pw_move(value, p->slices[2], PW_BROADCAST);
                pw_result(program,
                          pw_call_with(program, p->slices[2], "pipeline/pick", PW_ARGS(value, classes), PW_BROADCAST, &in[2]));
        }
        return pw_compile(program, err);
}

static enum pw_status put(struct pipeline *p, struct pw_error *err)
{
        uint64_t features = p->data.features, rows = p->options.batch, known_rows = p->data.train_rows;
        struct pw_put_params known = { .dtype = PW_F32, .dims = PW_DIMS(known_rows, features) };
        struct pw_put_params classes = { .dtype = PW_U8, .dims = PW_DIMS(known_rows) };
        struct pw_put_params batch = { .dtype = PW_F32, .dims = PW_DIMS(rows, features) };
        enum pw_status status = pw_put(p->session, p->data.images, known_rows * features * sizeof(float), &known, &p->inputs[0],
                                       err);

        if (status == PW_OK)
                status = pw_put(p->session, p->data.labels, known_rows, &classes, &p->inputs[1], err);
        for (size_t m = 0; m < p->microbatches && status == PW_OK; m++)
                status = pw_put(p->session, p->data.images + (known_rows + m * rows) * features, rows * features * sizeof(float),
                                &batch, &p->inputs[2 + m], err);
        return status;
}

static enum pw_status begin(struct pipeline *p, struct pw_error *err)
{
        enum pw_status status = prepare(p, err);

        if (status == PW_OK)
                status = pw_connect(p->options.socket, &p->session, err);
        for (int s = 0; s < STAGES && status == PW_OK; s++)
                status = pw_slice_open(p->session, &(struct pw_slice_params){ .device_count = 1 }, &p->slices[s], err);
        if (status == PW_OK)
                status = put(p, err);
        return status == PW_OK ? trace(p, err) : status;
}

/* --- the runs ----------------------------------------------------------------------------------------------------- */

/* Rows whose class was found, of all microbatches. */
static enum pw_status look(struct pipeline *p, size_t *ret_right, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        *ret_right = 0;
        for (size_t m = 0; m < p->microbatches && status == PW_OK; m++) {
                const uint8_t *classes = p->data.labels + p->data.train_rows + m * p->options.batch;
                struct pw_view view;
                status = pw_get(p->results[m], PW_FOREVER, &view, err);
                for (size_t row = 0; status == PW_OK && row < p->options.batch; row++)
                        *ret_right += ((const uint8_t *)view.data)[row] == classes[row];
                if (status == PW_OK)
                        pw_view_done(&view);
        }
        for (size_t m = 0; m < p->microbatches; m++) {
                pw_unref(p->results[m]);
                p->results[m] = NULL;
        }
        return status;
}

static void end(struct pipeline *p)
{
        for (size_t i = 0; p->inputs && i < p->microbatches + 2; i++)
                pw_unref(p->inputs[i]);
        pw_program_free(p->program);
        for (int s = 0; s < STAGES; s++)
                pw_slice_close(p->slices[s]);
        pw_close(p->session);
        free(p->inputs);
        free(p->results);
        data_done(&p->data);
}

int main(int argc, char **argv)
{
        struct pipeline pipeline = { 0 };
        size_t right = 0, rows;
        struct pw_error err;

        options_read(argc, argv, &pipeline.options);
        enum pw_status status = begin(&pipeline, &err);
        for (uint32_t round = 0; round < pipeline.options.rounds && status == PW_OK; round++) {
                status = pw_run_with(pipeline.program, pipeline.inputs, pipeline.microbatches + 2, NULL, pipeline.results, &err);
                if (status == PW_OK)
                        status = look(&pipeline, &right, &err);
        }
        rows = pipeline.microbatches * pipeline.options.batch;
        if (status == PW_OK)
                printf("%.3f of %zu rows are of the class of their nearest neighbour\n", (double)right / (double)rows, rows);
        else
                fprintf(stderr, "pipeline: %s\n", err.text);
        end(&pipeline);
        return status == PW_OK ? 0 : 1;
}

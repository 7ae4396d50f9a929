/* The parts of the batches, as objects. */
#include "examples/parameter-server/parts.h"

#include "examples/common/failure.h"

#include <math.h>
#include <stdlib.h>

int parts_widen(struct data *data, uint32_t levels)
{
        size_t pixels = data->features - 1, features = pixels * levels + 1;
        float *images = calloc(data->rows, features * sizeof *images);

        if (!images)
                return -1;
        for (size_t row = 0; row < data->rows; row++) {
                const float *in = data->images + row * data->features;
                float *out = images + row * features;
                for (size_t p = 0; p < pixels; p++) {
                        long level = lroundf(in[p] * (float)levels);
                        if (level > 0 && level <= (long)levels)
                                out[p * levels + (size_t)level - 1] = 1;
                }
                out[features - 1] = 1;
        }
        free(data->images);
        data->images = images;
        data->features = features;
        return 0;
}

/* The features of which one of its rows has something. */
static void find_touched(struct part *part, const struct data *data)
{
        for (uint32_t f = 0; f < data->features; f++)
                for (uint64_t r = part->first; r < part->first + part->rows; r++)
                        if (data->images[r * data->features + f] != 0) {
                                part->features[part->touched++] = f;
                                break;
                        }
}

static enum pw_status put_images(struct part *part, struct pw_session *session, const struct data *data, struct pw_error *err)
{
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_DIMS(part->rows, part->touched) };
        void *room;
        enum pw_status status = pw_create(session, part->rows * part->touched * sizeof(float), &params, &part->images, &room, err);

        if (status != PW_OK)
                return status;
        float *image = room;
        for (uint64_t r = part->first; r < part->first + part->rows; r++)
                for (uint64_t t = 0; t < part->touched; t++)
                        *image++ = data->images[r * data->features + part->features[t]];
        return pw_seal(part->images, err);
}

static enum pw_status put_part(struct part *part, struct pw_session *session, const struct data *data, struct pw_error *err)
{
        struct pw_put_params params = { .dtype = PW_U8, .dims = PW_DIMS(part->rows) };

        part->features = calloc(data->features, sizeof *part->features);
        if (!part->features)
                return failure(err, PW_NO_MEMORY, "the parts of the batches", "out of memory");
        find_touched(part, data);
        enum pw_status status = put_images(part, session, data, err);
        return status == PW_OK ? pw_put(session, data->labels + part->first, part->rows, &params, &part->labels, err) : status;
}

enum pw_status parts_put(struct parts *parts, struct pw_session *session, const struct data *data, const struct options *options,
                         struct pw_error *err)
{
        uint64_t batch = options->batch, workers = options->workers;
        enum pw_status status = PW_OK;

        *parts = (struct parts){ .batches = (uint32_t)(data->train_rows / batch), .per_batch = options->workers };
        if (!parts->batches)
                return failure(err, PW_INVALID, "--batch", "there are fewer rows to train on than one batch has");
        if (workers > batch)
                return failure(err, PW_INVALID, "--workers", "there are more of them than rows of a batch");
        parts->count = parts->batches * parts->per_batch;
        parts->part = calloc(parts->count, sizeof *parts->part);
        if (!parts->part)
                return failure(err, PW_NO_MEMORY, "the parts of the batches", "out of memory");
        for (uint32_t i = 0; i < parts->count && status == PW_OK; i++) {
                struct part *part = &parts->part[i];
                part->first = batch * (i / workers) + batch * (i % workers) / workers;
                part->rows = batch * (i / workers) + batch * (i % workers + 1) / workers - part->first;
                status = put_part(part, session, data, err);
                parts->touched += (double)part->touched / parts->count;
        }
        return status;
}

void parts_done(struct parts *parts)
{
        for (uint32_t i = 0; parts->part && i < parts->count; i++) {
                pw_unref(parts->part[i].images);
                pw_unref(parts->part[i].labels);
                free(parts->part[i].features);
        }
        free(parts->part);
}

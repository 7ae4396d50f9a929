/* kmeans: finds clusters in the rows of a table, which are spread over the devices of a slice.
 *
 * One program, traced once, is one step of Lloyd's algorithm. It is run a number of times without waiting: each run takes the
 * centres of the one before, given away so that they are moved where they lie on the devices. The sum of distances comes back from
 * each run, and is read behind.
 */
#include "examples/common/arguments.h"
#include "examples/common/data.h"
#include "examples/common/failure.h"
#include "examples/common/losses.h"
#include "pathways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
        uint32_t devices, islands, clusters, steps;
        const char *data, *loss_file, *socket;
};

struct search {
        struct options options;
        struct data data;
        double *rows, *centres;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_program *step;
        struct pw_future *input, *moved; /* rows; centres */
        struct losses distances; /* of each run: the mean squared distance to the nearest centre */
};

static void options_read(int argc, char **argv, struct options *ret)
{
        const struct argument arguments[] = {
                { "devices", "N", "spread the rows over N devices (1)", .number = &ret->devices, .least = 1, .most = 1 << 20 },
                { "islands", "N", "of N islands (0: as few as possible)", .number = &ret->islands, .most = 1 << 20 },
                { "clusters", "N", "how many clusters (10)", .number = &ret->clusters, .least = 1, .most = 1 << 16 },
                { "steps", "N", "how often their centres are moved (40)", .number = &ret->steps, .least = 1, .most = 1 << 24 },
                ARGUMENT_DATA(&ret->data),
                { "loss-file", "FILE", "write the mean squared distance at each step, one to a line", .text = &ret->loss_file },
                ARGUMENT_SOCKET(&ret->socket),
                { 0 },
        };

        *ret = (struct options){ .devices = 1, .clusters = 10, .steps = 40, .data = "digits.csv.gz" };
        arguments_read(argc, argv, "kmeans", "Finds clusters in the rows of a table on the pathwaysd of this host.", arguments);
}

/* --- before the first run ----------------------------------------------------------------------------------------- */

/* The first centres are rows, as far apart in the file as they can be. */
static enum pw_status prepare(struct search *search, struct pw_error *err)
{
        struct data *data = &search->data;
        size_t clusters = search->options.clusters;
        char why[200];

        if (data_read(search->options.data, data, why, sizeof why))
                return failure(err, PW_INVALID, search->options.data, why);
        if (data->rows < clusters)
                return failure(err, PW_INVALID, search->options.data, "has fewer rows than clusters are wanted");
        search->rows = calloc(data->rows * data->features, sizeof *search->rows);
        search->centres = calloc(clusters * data->features, sizeof *search->centres);
        if (!search->rows || !search->centres)
                return failure(err, PW_NO_MEMORY, search->options.data, "out of memory");
        for (size_t i = 0; i < data->rows * data->features; i++)
                search->rows[i] = data->images[i];
        for (size_t c = 0; c < clusters; c++)
                memcpy(search->centres + c * data->features, search->rows + c * (data->rows / clusters) * data->features,
                       data->features * sizeof *search->rows);
        return losses_start(&search->distances, search->options.steps, data->rows, err);
}

/* One step: sums over each device's rows, summed over the devices, then the same move on each. */
static enum pw_status trace(struct search *search, struct pw_error *err)
{
        const struct pw_sharding sums[] = { PW_PARTIAL(PW_SUM), PW_PARTIAL(PW_SUM) };
        struct pw_call_params assign = { .output_count = 3, .output_shardings = sums };
        uint64_t rows = search->data.rows, features = search->data.features, clusters = search->options.clusters;
        struct pw_slice *slice = search->slice;
        struct pw_program *step = search->step = pw_program_new(search->session, "kmeans/step");
        struct pw_value *centres = pw_input(step, slice, PW_F64, PW_DIMS(clusters, features), PW_BROADCAST, PW_DONATED);
        struct pw_value *table = pw_input(step, slice, PW_F64, PW_DIMS(rows, features), PW_SPLIT(0), 0);
        struct pw_value *near = pw_call_with(step, slice, "kmeans/assign", PW_ARGS(centres, table), PW_PARTIAL(PW_SUM), &assign);

        pw_result(step, pw_call(step, slice, "kmeans/move", PW_ARGS(centres, near, pw_output(near, 1)), PW_BROADCAST));
        pw_result(step, PW_AS(pw_output(near, 2), PW_BROADCAST));
        return pw_compile(step, err);
}

static enum pw_status begin(struct search *search, struct pw_error *err)
{
        const struct options *options = &search->options;
        struct pw_slice_params slice = { .device_count = options->devices, .island_count = options->islands };
        enum pw_status status = prepare(search, err);
        uint64_t rows = search->data.rows, features = search->data.features;
        struct pw_put_params table = { .dtype = PW_F64, .dims = PW_DIMS(rows, features) };
        struct pw_put_params centres = { .dtype = PW_F64, .dims = PW_DIMS(options->clusters, features) };

        if (status == PW_OK)
                status = pw_connect(options->socket, &search->session, err);
        if (status == PW_OK)
                status = pw_slice_open(search->session, &slice, &search->slice, err);
        if (status == PW_OK)
                status = trace(search, err);
        if (status == PW_OK)
                status = pw_put(search->session, search->rows, rows * features * sizeof(double), &table, &search->input, err);
        if (status == PW_OK)
                status = pw_put(search->session, search->centres, options->clusters * features * sizeof(double), &centres,
                                &search->moved, err);
        if (status == PW_OK)
                printf("%zu rows of %zu features, %u clusters, %u device%s\n", search->data.rows, search->data.features - 1,
                       options->clusters, options->devices, options->devices == 1 ? "" : "s");
        return status;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

static enum pw_status submit(struct search *search, struct pw_error *err)
{
        struct pw_future *results[2];
        enum pw_status status = pw_run(search->step, PW_FUTURES(pw_donate(&search->moved), search->input), results, err);

        if (status != PW_OK)
                return status;
        search->moved = results[0];
        losses_add(&search->distances, results[1]);
        return PW_OK;
}

static enum pw_status find(struct search *search, struct pw_error *err)
{
        enum pw_status status = PW_OK;
        struct pw_view view;

        for (size_t run = 0; run < search->options.steps && status == PW_OK; run++) {
                status = losses_make_place(&search->distances, err);
                if (status == PW_OK)
                        status = submit(search, err);
        }
        if (status == PW_OK)
                status = losses_finish(&search->distances, err);
        if (status == PW_OK)
                status = pw_get(search->moved, PW_FOREVER, &view, err);
        if (status != PW_OK)
                return status;
        memcpy(search->centres, view.data, view.bytes);
        pw_view_done(&view);
        return PW_OK;
}

/* --- after the last run ------------------------------------------------------------------------------------------- */

static size_t cluster_of(const struct search *search, const double *row)
{
        size_t features = search->data.features, found = 0;
        double least = 0;

        for (size_t c = 0; c < search->options.clusters; c++) {
                double sum = 0;
                for (size_t f = 0; f < features; f++) {
                        double apart = row[f] - search->centres[c * features + f];
                        sum += apart * apart;
                }
                if (c && sum >= least)
                        continue;
                least = sum;
                found = c;
        }
        return found;
}

/* The share of the rows that are of the class which most rows of their cluster have; no step looked at classes. */
static double purity(const struct search *search)
{
        size_t classes = search->data.classes, agreed = 0;
        size_t *counts = calloc(search->options.clusters * classes, sizeof *counts);

        if (!counts)
                return 0;
        for (size_t row = 0; row < search->data.rows; row++)
                counts[cluster_of(search, search->rows + row * search->data.features) * classes + search->data.labels[row]]++;
        for (size_t c = 0; c < search->options.clusters; c++) {
                size_t most = 0;
                for (size_t k = 0; k < classes; k++)
                        most = counts[c * classes + k] > most ? counts[c * classes + k] : most;
                agreed += most;
        }
        free(counts);
        return (double)agreed / (double)search->data.rows;
}

static void end(struct search *search)
{
        losses_done(&search->distances);
        pw_unref(search->input);
        pw_unref(search->moved);
        pw_program_free(search->step);
        pw_slice_close(search->slice);
        pw_close(search->session);
        free(search->rows);
        free(search->centres);
        data_done(&search->data);
}

int main(int argc, char **argv)
{
        struct search search = { 0 };
        struct pw_error err;

        options_read(argc, argv, &search.options);
        enum pw_status status = begin(&search, &err);
        if (status == PW_OK)
                status = find(&search, &err);
        if (status == PW_OK)
                status = losses_write(&search.distances, search.options.loss_file, &err);
        if (status == PW_OK)
                printf("%.3f of the rows are of the class that most of their cluster have\n", purity(&search));
        else
                fprintf(stderr, "kmeans: %s\n", err.text);
        end(&search);
        return status == PW_OK ? 0 : 1;
}

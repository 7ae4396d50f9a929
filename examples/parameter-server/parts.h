/* The parts of the batches, as objects. A part's images have only the columns in which one of its rows has something: the features
 * that it touches. Their rows of the weights are all that a worker needs for it, and all that its gradient has.
 */
#ifndef PARAMETER_SERVER_PARTS_H
#define PARAMETER_SERVER_PARTS_H

#include "examples/common/data.h"
#include "examples/parameter-server/options.h"
#include "pathways.h"

struct part {
        uint64_t first, rows;     /* of the table */
        struct pw_future *images; /* f32 [rows, touched] */
        struct pw_future *labels; /* u8 [rows] */
        uint32_t *features;       /* [touched]: which feature each column is */
        uint64_t touched;
};

struct parts {
        struct part *part; /* number p of batch b is part[b * per_batch + p] */
        uint32_t batches, per_batch, count;
        double touched; /* features of a part, in the mean */
};

/* A feature for each of `levels` levels of each pixel, 1 where the pixel has that level and else 0; none for an empty pixel. The
 * constant stays. Returns 0; -1: out of memory. */
int parts_widen(struct data *data, uint32_t levels);
/* Batches of options->batch rows in the order of the table, each in options->workers parts; what does not fill a batch is left out.
 * Own:     ended by parts_done().
 * Errors:  PW_INVALID (not one batch, or more parts than rows), PW_NO_MEMORY, those of pw_put(). */
enum pw_status parts_put(struct parts *parts, struct pw_session *session, const struct data *data, const struct options *options,
                         struct pw_error *err);
void parts_done(struct parts *parts);

#endif

/* The losses of runs: of each run only a number comes back, read a window behind, so that runs overlap.
 */
#ifndef EXAMPLES_LOSSES_H
#define EXAMPLES_LOSSES_H

#include "examples/common/progress.h"
#include "pathways.h"

#include <stddef.h>

#define LOSSES_WINDOW 64 /* runs under way before the oldest loss is read */

struct losses {
        struct pw_future *under_way[LOSSES_WINDOW]; /* run r's in r % LOSSES_WINDOW, until it is read */
        double *mean;                               /* of each run that was read: its loss over the rows of a run */
        double rows;
        size_t total, added, read;
        struct progress progress;
};

/* For `total` runs of `rows` rows each. Own: ended by losses_done(). Errors: PW_NO_MEMORY. */
enum pw_status losses_start(struct losses *losses, size_t total, size_t rows, struct pw_error *err);
/* Wait for the oldest, where the window is full. Errors: those of that run. */
enum pw_status losses_make_place(struct losses *losses, struct pw_error *err);
/* `loss`, an F32 or F64, of the run just submitted, after losses_make_place(). Own: takes the reference. */
void losses_add(struct losses *losses, struct pw_future *loss);
/* Wait for all that were added. */
enum pw_status losses_finish(struct losses *losses, struct pw_error *err);
/* One to a line, into the file at `path`; NULL: nowhere. */
enum pw_status losses_write(const struct losses *losses, const char *path, struct pw_error *err);
void losses_done(struct losses *losses);

#endif

/* A bar with loss and runs per second: redrawn on a terminal, else a line for every tenth.
 */
#ifndef EXAMPLES_PROGRESS_H
#define EXAMPLES_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
        size_t total;
        double start, drawn; /* seconds */
        size_t tenths;       /* lines printed, where there is no terminal */
        bool terminal;
};

void progress_start(struct progress *progress, size_t total);
/* `done` runs have ended, the last with `loss`. */
void progress_show(struct progress *progress, size_t done, double loss);

#endif

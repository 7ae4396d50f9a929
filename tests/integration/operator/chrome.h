/* What a Chrome trace must hold to, so that Perfetto shows it as it was; and what is in it.
 */
#ifndef PW_TESTS_INTEGRATION_OPERATOR_CHROME_H
#define PW_TESTS_INTEGRATION_OPERATOR_CHROME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct it_chrome_bar {
        char name[128], category[16], status[32], stage[32];
        int64_t row, process, start_ns, end_ns, run, seq, node, bytes;
};
struct it_chrome {
        struct it_chrome_bar *bars; /* in the order of the file */
        size_t bar_count, runs_begun, runs_ended, moves, rows_named, states;
        int64_t lost;
        char problem[200];          /* what is wrong; "" : nothing */
};

/* Each event has ph, name, pid, tid and ts of the right types, bars dur, cat and args besides; bars of a row do not overlap, and
 * come in the order of time; rows with bars are named; an end of a run has its begin, its
 * states follow each other. False: `problem` says what is not so. */
bool it_chrome_read(const char *path, struct it_chrome *ret_chrome);
void it_chrome_free(struct it_chrome *chrome);

#endif

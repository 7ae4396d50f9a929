/* Reports of errors to the daemon, through the ring of the own board.
 */
#ifndef PW_EXECUTOR_REPORT_H
#define PW_EXECUTOR_REPORT_H

#include "executor/launch.h"

/* What a gang is about, for its reports. */
struct pw_report_about {
        const struct pw_run_view *view;
        uint32_t node;
        const struct pw_room_head *fault; /* status and cause */
};
/* The cause itself, in the function's or the executor's own words. Blocks: while the ring is full. */
void pw_report_cause(struct pw_launch *launch, const struct pw_report_about *about, const char *text);
/* Value `value` is in error here: one report for each result that it is. Blocks: likewise. */
void pw_report_value(struct pw_launch *launch, const struct pw_report_about *about, uint32_t value);

#endif

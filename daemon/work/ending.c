/* What an ended session has of work. Its tables stay as they are until all in them is gone: a cursor says how much of it is. */
#include "daemon/work/ending.h"

#include "base/memory.h"
#include "daemon/work/slice.h"

#define PROGRAM_COST 16u /* slices that are closed in the time in which a program is freed */

/* The number of the next in `table`, if there is time for it. */
static bool next(const struct pw_table *table, uint32_t *at, uint32_t part, uint32_t *ret_number)
{
        uint64_t number;

        if (!part || !pw_table_next_key(table, at, &number))
                return false;
        *ret_number = (uint32_t)number;
        return true;
}

bool pw_work_ending_go_on(struct pw_dsession *session, uint32_t *part)
{
        uint32_t number;

        while (next(&session->programs, &session->programs_at, *part, &number)) {
                pw_scheduler_program_free(session->daemon->scheduler, number);
                *part -= (uint32_t)pw_min_u64(*part, PROGRAM_COST);
        }
        for (; next(&session->slices, &session->slices_at, *part, &number); --*part)
                pw_slice_end(session, number);
        return *part;
}

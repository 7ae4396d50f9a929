/* The end of a session's lanes. */
#include "daemon/client/lane.h"

#include "daemon/memory/recount.h"

#define WIDE_COST 8u /* lanes whose notes are taken back in the time of a walk over all buckets */

static void free_lane(struct pw_dlane *lane)
{
        pw_list_remove(&lane->hot);
        if (lane->session->tenant->catcher == lane)
                lane->session->tenant->catcher = NULL;
        free(lane);
}

/* What its dead threads counted as waiting is taken back. */
bool pw_lanes_end(struct pw_dsession *session, uint32_t *part)
{
        struct pw_hint_marks marks = { .wide = 0 };
        uint32_t ended = 0;
        bool marked = false;

        for (; session->lane_count && *part; --*part, ended++) {
                uint32_t i = --session->lane_count;

                marked |= pw_hint_forget(session->tenant->hints, session->control->lanes[i].notes, PW_NOTES_MAX, &marks);
                free_lane(session->lanes[i]);
        }
        if (marks.wide)
                *part -= (uint32_t)pw_min_u64(*part, WIDE_COST);
        pw_hint_forget_wide(session->tenant->hints, &marks);
        if (ended)
                pw_recount_mark(session->daemon, session->tenant, marked ? &marks : NULL);
        if (session->lane_count)
                return false;
        free(session->lanes);
        session->lanes = NULL;
        return true;
}

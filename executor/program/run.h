/* Runs as one device sees them: where their rooms lie in this process.
 *
 * A view is made when the first gang of a run is met. Runs interleave, so views are found by the line of the run record; a line
 * that serves another run has another number there, and the view is filled anew.
 */
#ifndef PW_EXECUTOR_PROGRAM_RUN_H
#define PW_EXECUTOR_PROGRAM_RUN_H

#include "executor/program/program.h"
#include "executor/program/segments.h"

#define PW_RUNS_MAX 4096u /* views that are kept */
#define PW_RUNS_BYTES (UINT64_C(4) << 20) /* of the places that they know, but for those of the last one */

struct pw_run_view {
        uint64_t run;                   /* number; 0: not filled yet */
        uint32_t line;
        uint32_t base_capacity, input_capacity;
        uint64_t freed;                 /* programs->freed when `program` was got */
        struct pw_run_record *record;
        struct pw_exec_program *program;
        _Atomic uint64_t *seqs, *ahead_seqs;
        struct pw_place *bases;         /* own rooms: blocks, then results; NULL where the device has no part */
        struct pw_place *in_place;      /* per input: where it lies on this device, if its load is skipped; else NULL */
        uint64_t live_bytes, peak_bytes;/* of rooms on this device that hold values of the run: behind its last node; the most */
        enum pw_status refused;         /* other than PW_OK: its rooms cannot hold its values, so nothing of it runs here; why: */
        char why[160];
};

struct pw_runs {
        struct pw_table by_line;
        struct pw_run_view *last;       /* the one got last */
        uint64_t bytes;                 /* of places of all views */
        struct pw_programs *programs;   /* borrowed */
        struct pw_segments *segments;   /* borrowed */
};

void pw_runs_done(struct pw_runs *runs);
PW_MUST_CHECK enum pw_status pw_runs_open(struct pw_runs *runs, uint32_t line, struct pw_run_view **ret_view,
                                          struct pw_error *ret_err);
/* The view of the run whose record lies at `line`. Good until the next call. One whose rooms do not lie in their segments, or do
 * not hold its values, is there and says so in `refused`: no other place of it may be looked at then. Errors: PW_NO_MEMORY,
 * PW_PROTOCOL (not an image), what mapping its rooms gives. */
PW_MUST_CHECK static inline enum pw_status pw_runs_get(struct pw_runs *runs, uint32_t line, struct pw_run_view **ret_view,
                                                       struct pw_error *ret_err)
{
        struct pw_run_view *last = runs->last;

        if (!last || last->line != line || last->run != last->record->run || last->freed != runs->programs->freed)
                return pw_runs_open(runs, line, ret_view, ret_err);
        *ret_view = last;
        return PW_OK;
}
static inline struct pw_place pw_run_room(const struct pw_run_view *view, const struct pw_program_room *room)
{
        if (room->input >= 0 && view->in_place[room->input].data)
                return view->in_place[room->input];
        return pw_place_behind(&view->bases[room->base], room->offset);
}
/* The room of a value at place `place` of its slice, in whatever device's memory of this host. Errors: PW_PROTOCOL (it is not large
 * enough, or on another host), what mapping it gives. */
PW_MUST_CHECK enum pw_status pw_run_room_at(const struct pw_run_view *view, struct pw_segments *segments,
                                            const struct pw_program_room *room, uint32_t place,
                                            struct pw_place *ret_place, struct pw_error *ret_err);
static inline const struct pw_run_input *pw_run_input(const struct pw_run_view *view, uint32_t index)
{
        return PW_RUN_AT(view->record, struct pw_run_input, view->record->inputs) + index;
}

/* Where the shard of an input at `place` of its mesh is read. NULL: not on this host. */
const struct pw_run_shard *pw_run_shard(const struct pw_run_view *view, const struct pw_run_input *input, uint32_t place);
/* Find out where input `index` lies, if that is in place: at once for loads that ran before the view was made, and again when its
 * load runs, until when it may change. Errors: PW_PROTOCOL (its room is not large enough), what mapping it gives. */
PW_MUST_CHECK enum pw_status pw_run_place_input(struct pw_run_view *view, struct pw_segments *segments, uint32_t index,
                                                struct pw_error *ret_err);
/* Nothing of the run runs here from now on, as `err` says. */
void pw_run_refuse(struct pw_run_view *view, const struct pw_error *err);
/* Account the rooms that `node` makes alive, and those that are dead behind it: nothing is alive between two nodes only. */
void pw_run_account(struct pw_run_view *view, const struct pw_program_node *node);

#endif

/* Who waits for what. */
#include "daemon/inspect/waits.h"

#include "base/memory.h"
#include "daemon/name.h"
#include "daemon/program.h"
#include "daemon/room.h"

/* Control memory is the client's: what stands there is a claim. */
static void each_note(struct pw_dsession *session, uint32_t number, void (*row)(void *, const struct pw_wait_row *), void *context)
{
        struct pw_lane *lane = &session->control->lanes[number];

        for (uint32_t i = 0; i < PW_NOTES_MAX; i++) {
                uint64_t note = atomic_load(&lane->notes[i]);

                if (pw_note_state(note) == PW_NOTE_COUNTED || pw_note_state(note) == PW_NOTE_GOING)
                        row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_OBJECT, .session = session, .lane = number,
                                                            .thread = atomic_load(&lane->thread_id),
                                                            .segment = pw_note_segment(note),
                                                            .slot = pw_note_slot(note) });
        }
}

static void each_of(struct pw_dsession *session, void (*row)(void *, const struct pw_wait_row *), void *context)
{
        uint32_t count;

        if (session->ended || !session->control)
                return;
        count = (uint32_t)pw_min_u64(atomic_load(&session->control->lane_count), PW_LANES_MAX);
        for (uint32_t i = 0; i < count; i++)
                each_note(session, i, row, context);
}

void pw_waits_each(struct pw_daemon *daemon, struct pw_dsession *session, void (*row)(void *, const struct pw_wait_row *),
                   void *context)
{
        struct pw_dsession *other;

        if (session)
                each_of(session, row, context);
        for (uint32_t i = 0; !session && (other = pw_table_next(&daemon->sessions, &i));)
                each_of(other, row, context);
        pw_rooms_each_wait(daemon, session, row, context);
        pw_names_each_wait(daemon, session, row, context);
        pw_programs_each_wait(daemon, session, row, context);
}

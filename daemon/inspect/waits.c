/* Who waits for what. */
#include "daemon/inspect/waits.h"

#include "base/memory.h"
#include "daemon/client/object/name.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/room.h"
#include "daemon/peer/peers.h"
#include "daemon/work/program.h"

#define NOTES_US 3000u /* of a turn */

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

/* Lanes whose rings were looked at: to read a page of others would be to make it. */
static bool each_of(struct pw_dsession *session, uint64_t until_us, void (*row)(void *, const struct pw_wait_row *), void *context)
{
        for (uint32_t i = 0; !session->ended && i < session->lane_count; i++) {
                if (pw_now_us() > until_us)
                        return false;
                each_note(session, i, row, context);
        }
        return true;
}

bool pw_waits_each(struct pw_daemon *daemon, struct pw_dsession *session, void (*row)(void *, const struct pw_wait_row *),
                   void *context)
{
        uint64_t until_us = pw_now_us() + NOTES_US;
        struct pw_dsession *other;
        bool all = !session || each_of(session, until_us, row, context);

        for (uint32_t i = 0; all && !session && (other = pw_table_next(&daemon->registry.sessions, &i));)
                all = each_of(other, until_us, row, context);
        pw_rooms_each_wait(daemon, session, row, context);
        pw_fetches_each_wait(daemon, session, row, context);
        pw_names_each_wait(daemon, session, row, context);
        pw_programs_each_wait(daemon, session, row, context);
        pw_borrowing_each_wait(daemon, session, row, context);
        return all;
}

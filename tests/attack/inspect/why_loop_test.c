/* A client notes that its threads wait for its own objects that nobody sealed, and asks why; the daemon goes round no circle, goes
 * each way once, and answers within its time, however few rows are asked for.
 */
#include "tests/attack/attack.h"

#include "libclient/object/future.h"
#include "libclient/session.h"

#include <stdio.h>
#include <unistd.h>

#define OBJECTS 64u /* of each of two sessions, each of which waits for those of the other and its own */

static void forge_notes(struct pw_session *session, struct pw_future *const *futures, uint32_t count)
{
        uint32_t lanes = (uint32_t)it_environment("PW_WHY_LANES", PW_LANES_MAX);

        atomic_store(&session->control->lane_count, lanes);
        for (uint32_t lane = 0; lane < lanes; lane++)
                for (uint32_t i = 0; i < PW_NOTES_MAX; i++) {
                        struct pw_id id = pw_future_id(futures[(lane + i) % count]);

                        atomic_store(&session->control->lanes[lane].notes[i],
                                     pw_note_make(PW_NOTE_COUNTED, 0, pw_id_segment(id), pw_id_slot(id)));
                }
}

static void ask(struct pw_session *session, const char *what, uint32_t limit)
{
        int64_t since_us = it_now_us();
        struct pw_listing *listing;

        it_ok(pw_list(session, "why", what, limit, &listing, IT_ERR));
        assert_true(it_rows(listing) > 0);
        if (limit)
                assert_true(it_rows(listing) <= limit);
        it_within("an answer to why", since_us, 50000);
        pw_listing_free(listing);
}

static int wait_for_oneself(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_session *sessions[2] = { it_connect(host), it_connect(host) };
        struct pw_future *futures[2 * OBJECTS];
        char text[PW_ID_TEXT_BYTES];
        void *data;

        for (uint32_t i = 0; i < 2 * OBJECTS; i++)
                it_ok(pw_create(sessions[i & 1], 8, &(struct pw_put_params){ .dtype = PW_F64 }, &futures[i], &data, IT_ERR));
        forge_notes(sessions[0], futures, 2 * OBJECTS);
        forge_notes(sessions[1], futures, 2 * OBJECTS);
        snprintf(text, sizeof text, "pid %d", (int)getpid());
        for (uint32_t limit = 0; limit < 4; limit++)
                ask(sessions[0], text, limit);
        ask(sessions[0], pw_id_format(pw_future_id(futures[1]), text), 1);
        ask(sessions[0], text, 0);
        assert_int_equal(write(pipe, "d", 1), 1);
        for (uint32_t i = 0; i < 2 * OBJECTS; i++) {
                it_ok(pw_abort(futures[i], IT_ERR));
                pw_unref(futures[i]);
        }
        pw_close(sessions[0]);
        pw_close(sessions[1]);
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, wait_for_oneself, host);
        char byte;

        it_read(&child, &byte, 1);
        ask(host->session, "h0", 1);
        assert_int_equal(it_reap(&child, 0), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "why_loop", .rule = "a chain of causes visits nothing twice, and ends",
                                             .users = true, .run = run });
}

/* Very many lanes of a process that is killed: each noted as waiting in all buckets of the hint page; then each with references to
 * a value that nobody ever makes, published in the moment before. Its end goes in parts of turns, and has an end. */
#include "tests/attack/attack.h"

#include "libclient/session.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define SESSIONS 64u   /* as many end in a turn where they have few lanes; more lanes than are looked at in one */
#define CELLS 8u       /* in each lane */
#define GONE_US (25 * IT_SECOND) /* it takes a second: one by one the references would take minutes */
#define FENCE_US 15000 /* another tenant's, while notes are taken back: 140 ms where that is one turn */
#define READ_US 50000  /* while records are read */

struct plan { const struct it_host *host; uint32_t sessions, cells; };

static struct pw_cell unmade_value(struct pw_session *session)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__RoomRequest room = PATHWAYS__WIRE__ROOM_REQUEST__INIT;
        struct pw_answer answer;
        uint32_t slot;

        room.futures = true;
        room.count = 1;
        room.timeout_us = IT_LONG;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_ROOM;
        request.room = &room;
        it_ok(pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_ROOM, &answer, IT_ERR));
        slot = answer.reply->room->first_slot;
        pw_answer_done(&answer);
        return pw_cell_object(PW_RING_REF, session->futures->number, slot,
                              pw_word_generation(pw_entry_load((const struct pw_entry *)session->futures->map.base + slot)));
}

static void refer(struct pw_session *session, uint32_t cells)
{
        struct pw_cell cell = unmade_value(session);

        for (uint32_t i = 0; i < PW_LANES_MAX; i++) {
                struct pw_ring *ring = &session->control->lanes[i].ring;
                uint32_t tail = atomic_load(&ring->tail);

                for (uint32_t j = 0; j < cells; j++)
                        ring->cells[tail++ % PW_RING_CELLS] = cell;
                atomic_store(&ring->tail, tail);
        }
}

/* As a thread of each lane would that waits for very many values. */
static void count_waiters(struct pw_session *session)
{
        for (uint32_t i = 0; i < PW_LANES_MAX; i++)
                atomic_store(&session->control->lanes[i].notes[0], pw_note_make(PW_NOTE_COUNTED, PW_NOTE_EVERY, 0, 0));
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                atomic_store(&session->hints->waiters[i], UINT32_MAX / PW_HINT_WIDE * PW_HINT_WIDE);
}

/* Says that they are there, and when it may be killed: it told the daemon of its lanes itself, or will have told nobody. */
static int use_lanes(void *context, int pipe)
{
        const struct plan *plan = context;
        struct pw_session *sessions[SESSIONS];

        for (uint32_t i = 0; i < plan->sessions; i++)
                sessions[i] = it_connect(plan->host);
        for (uint32_t i = 0; i < plan->sessions; i++) {
                if (plan->cells)
                        refer(sessions[i], plan->cells);
                else
                        count_waiters(sessions[i]);
                atomic_store(&sessions[i]->control->lane_count, PW_LANES_MAX);
        }
        for (uint32_t i = 0; !plan->cells && i < plan->sessions; i++)
                it_ok(pw_session_fence(sessions[i], IT_ERR));
        if (write(pipe, "r", 1) != 1)
                return 1;
        kill(getpid(), SIGKILL);
        return 1;
}

static int64_t sessions_of(struct it_host *host)
{
        struct pw_listing *status = it_list(host->session, "status", NULL);
        int64_t count = it_number(status, 0, "sessions");

        pw_listing_free(status);
        return count;
}

static void kill_it(struct it_host *host, uint32_t cells)
{
        struct plan plan = { host, (uint32_t)it_environment("PW_DEAD_SESSIONS", SESSIONS), cells };
        int64_t before = sessions_of(host), since_us, longest_us = 0;
        struct it_child child;
        char byte;

        assert_in_range(plan.sessions, 1, SESSIONS);
        child = attack_fork(ATTACK_USER, use_lanes, &plan);
        it_read(&child, &byte, 1);
        assert_int_equal(it_reap_within(&child, IT_LONG), 128 + SIGKILL);
        since_us = it_now_us();
        do { /* each question is a fence of another tenant */
                int64_t from_us = it_now_us();

                it_ok(pw_session_fence(host->session, IT_ERR));
                it_within("the fence of another tenant", from_us, cells ? READ_US : FENCE_US);
                longest_us = it_now_us() - from_us > longest_us ? it_now_us() - from_us : longest_us;
                assert_true(it_now_us() - since_us < GONE_US);
        } while (sessions_of(host) > before);
        print_message("%u sessions with %u cells in each lane were gone after %lld us, the longest fence of another %lld us\n",
                      plan.sessions, cells, (long long)(it_now_us() - since_us), (long long)longest_us);
}

static void attack(struct it_host *host)
{
        kill_it(host, 0);
        kill_it(host, (uint32_t)it_environment("PW_DEAD_CELLS", CELLS));
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "dead_lanes",
                                             .rule = "what the dead left in lanes goes in parts, and has an end",
                                             .args = IT_ARGS("--devices", "emulated:4", "--islands", "2", "--host-memory", "2GiB",
                                                             "--device-memory", "16MiB"), /* pages of lanes are 400 MiB */
                                             .run = attack, .users = true, .alone = true });
}

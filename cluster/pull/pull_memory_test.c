/* Three hosts that pull from each other, without links between them: each allocation that fails costs what was asked, or the term
 * of two of them, and nothing else. */
#include "cluster/link/link.h"
#include "cluster/pull/pull.h"
#include "cluster/pull/source.h"
#include "cluster/pull/spread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS 4u /* 1 is the home; there is no 0 */
#define HOME 1u
#define CHUNKS 3u
#define FRAMES 256u

/* --- memory ----------------------------------------------------------------------------------------------------------------- */

static uint64_t allocations, fails_at; /* 0: none */

static bool is_there_memory(void) { return ++allocations != fails_at; }

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) { return is_there_memory() ? __real_malloc(bytes) : NULL; }
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes) { return is_there_memory() ? __real_calloc(count, bytes) : NULL; }
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes) { return is_there_memory() ? __real_realloc(memory, bytes) : NULL; }

/* --- hosts ------------------------------------------------------------------------------------------------------------------ */

static const struct pw_id id = { .place = 5, .epoch = 6, .generation = 7 };

/* A thread that receives. */
struct thread { uint64_t ask; uint32_t peer, chunk; };
struct side {
        struct pw_pulls *pulls;
        struct pw_pull_source *source;
        struct pw_pull_spread *spread;
        struct pw_pull *pull;
        struct thread threads[2 * PW_PULL_AHEAD_MAX];
        uint32_t chunks, users;  /* of the room: here; its holders */
        uint64_t number;
        bool is_offered, is_ready;
};
static struct {
        struct side sides[HOSTS];
        struct { uint32_t from, to; struct pw_link_frame *frame; } way[FRAMES];
        uint32_t first, count, over_count;
        bool over[HOSTS][HOSTS]; /* [lower][higher]: they give each other up */
} play;

static struct side *side(uint32_t host) { return &play.sides[host]; }

static void give_up(uint32_t a, uint32_t b) { play.over[a < b ? a : b][a < b ? b : a] = true; }

static bool begin(void)
{
        memset(&play, 0, sizeof play);
        for (uint32_t host = 1; host < HOSTS; host++) {
                struct pw_pulls_params params = { .ahead = 2, .streams = 1, .stall_us = 10, .deadline_us = 1000 };

                struct pw_pull_source_params source = { .sends = 2, .slots = 1 };
                struct pw_pull_spread_params spread = { .own = host, .askers = 1 };

                if (pw_pulls_new(&params, &side(host)->pulls, NULL) != PW_OK ||
                    pw_pull_source_new(&source, &side(host)->source, NULL) != PW_OK ||
                    pw_pull_spread_new(&spread, &side(host)->spread, NULL) != PW_OK)
                        return false;
        }
        return true;
}

static void done(void)
{
        for (; play.first < play.count; play.first++)
                pw_link_frame_free(play.way[play.first].frame);
        for (uint32_t host = 1; host < HOSTS; host++) {
                pw_pulls_free(side(host)->pulls);
                pw_pull_source_free(side(host)->source);
                pw_pull_spread_free(side(host)->spread);
        }
}

/* --- rooms ------------------------------------------------------------------------------------------------------------------ */

static void withdraw(uint32_t host)
{
        if (side(host)->is_offered)
                pw_pull_source_withdraw(side(host)->source, side(host)->number, PW_GONE);
        side(host)->is_offered = false;
}

static void drop(uint32_t host)
{
        withdraw(host);
        if (side(host)->pull)
                pw_pull_cancel(side(host)->pulls, side(host)->pull);
        side(host)->pull = NULL;
        side(host)->is_ready = false;
}

static void put(void)
{
        struct pw_offer_params params = { .id = id, .bytes = CHUNKS * PW_PULL_CHUNK_BYTES, .is_whole = true, .place = side(HOME) };

        if (side(HOME)->is_offered || side(HOME)->users ||
            pw_pull_source_offer(side(HOME)->source, &params, &side(HOME)->number, NULL) != PW_OK)
                return;
        side(HOME)->users = 1;
        side(HOME)->is_offered = true;
        if (pw_pull_spread_offer(side(HOME)->spread, id, side(HOME)->number, NULL) != PW_OK)
                withdraw(HOME);
}

static void want(uint32_t host)
{
        struct side *at = side(host);
        struct pw_offer_params offer = { .id = id, .bytes = CHUNKS * PW_PULL_CHUNK_BYTES, .place = at };
        struct pw_pull_request request = { .id = id, .home = HOME, .bytes = CHUNKS * PW_PULL_CHUNK_BYTES, .place = at };

        if (at->pull || at->users || pw_pull_source_offer(at->source, &offer, &at->number, NULL) != PW_OK)
                return;
        at->is_offered = true;
        at->users = 1;
        at->chunks = 0;
        request.number = at->number;
        if (pw_pull_begin(at->pulls, &request, &at->pull, NULL) == PW_OK)
                at->users++;
        else
                drop(host);
}

/* --- threads ---------------------------------------------------------------------------------------------------------------- */

static struct thread *thread_of(uint32_t host, uint64_t ask)
{
        for (uint32_t i = 0; i < 2 * PW_PULL_AHEAD_MAX; i++)
                if (side(host)->threads[i].ask == ask)
                        return &side(host)->threads[i];
        return NULL;
}

static void report(uint32_t host, struct thread *thread, enum pw_status status)
{
        uint64_t ask = thread->ask;

        assert_true(side(host)->users);
        thread->ask = 0;
        pw_pulls_reported(side(host)->pulls, ask, status, 0);
}

/* It is sent and received at once, if anybody receives it. */
static void send_chunk(uint32_t host, const struct pw_pull_source_action *action)
{
        struct thread *thread = thread_of(action->host, action->ask);

        assert_true(side(host)->users);
        pw_pull_source_sent(side(host)->source, action->send, PW_OK);
        if (thread && thread->peer == host && thread->chunk == action->chunk)
                report(action->host, thread, PW_OK);
}

/* --- what the cores say ----------------------------------------------------------------------------------------------------- */

static void say(uint32_t from, uint32_t to, const struct pw_pull_message *message)
{
        struct pw_link_frame *frame = pw_pull_encode(message);

        assert_true(play.count < FRAMES);
        if (!frame) {
                give_up(from, to);
                return;
        }
        play.way[play.count].from = from;
        play.way[play.count].to = to;
        play.way[play.count++].frame = frame;
}

static bool pull_acts(uint32_t host)
{
        struct pw_pulls_action action;
        struct thread *thread;

        if (!pw_pulls_next(side(host)->pulls, &action))
                return false;
        switch (action.kind) {
        case PW_PULLS_SAY: say(host, action.host, &action.message); break;
        case PW_PULLS_RECEIVE:
                thread = thread_of(host, 0);
                assert_non_null(thread);
                *thread = (struct thread){ action.ask, action.host, action.chunk };
                break;
        case PW_PULLS_STOP: report(host, thread_of(host, action.ask), PW_CANCELLED); break;
        case PW_PULLS_HERE:
                side(host)->chunks++;
                pw_pull_source_have(side(host)->source, side(host)->number, action.chunk);
                break;
        case PW_PULLS_READY:
                assert_int_equal(side(host)->chunks, CHUNKS);
                side(host)->is_ready = true;
                break;
        case PW_PULLS_FAILED:
                side(host)->pull = NULL;
                withdraw(host);
                break;
        case PW_PULLS_LET_GO: side(host)->users--; break;
        }
        return true;
}

static bool source_acts(uint32_t host)
{
        struct pw_pull_source_action action;

        if (!pw_pull_source_next(side(host)->source, &action))
                return false;
        switch (action.kind) {
        case PW_PULL_SOURCE_SAY: say(host, action.host, &action.message); break;
        case PW_PULL_SOURCE_SEND: send_chunk(host, &action); break;
        case PW_PULL_SOURCE_LET_GO: side(host)->users--; break;
        default: fail();
        }
        return true;
}

static bool spread_acts(uint32_t host)
{
        struct pw_pull_spread_action action;

        if (!pw_pull_spread_next(side(host)->spread, &action))
                return false;
        say(host, action.host, &action.message);
        return true;
}

static bool act(uint32_t host) { return pull_acts(host) || source_acts(host) || spread_acts(host); }

/* What was on its way between them is gone, and whose threads had to do with the other report. */
static bool end_terms(void)
{
        for (uint32_t a = 1; a < HOSTS; a++)
                for (uint32_t b = 1; b < HOSTS; b++) {
                        uint32_t low = a < b ? a : b, high = a < b ? b : a;

                        if (a == b || !play.over[low][high])
                                continue;
                        for (uint32_t i = play.first; i < play.count; i++)
                                if (play.way[i].from == a && play.way[i].to == b) {
                                        pw_link_frame_free(play.way[i].frame);
                                        play.way[i].frame = NULL;
                                }
                        pw_pulls_ended(side(a)->pulls, b);
                        pw_pull_source_ended(side(a)->source, b);
                        pw_pull_spread_ended(side(a)->spread, b);
                        if (a != high)
                                continue;
                        play.over[low][high] = false;
                        play.over_count++;
                        return true;
                }
        return false;
}

static void deliver(void)
{
        uint32_t from = play.way[play.first].from, to = play.way[play.first].to;
        struct pw_link_frame *frame = play.way[play.first++].frame;
        struct pw_pull_message message;
        enum pw_status status;

        if (!frame)
                return;
        assert_int_equal(pw_pull_decode(frame->data, frame->bytes, &message, NULL), PW_OK);
        pw_link_frame_free(frame);
        if (pw_pull_is_for_home(message.kind))
                status = pw_pull_spread_receive(side(to)->spread, from, &message, NULL);
        else if (pw_pull_is_for_source(message.kind))
                status = pw_pull_source_receive(side(to)->source, from, &message, NULL);
        else
                status = pw_pulls_receive(side(to)->pulls, from, &message, 0, NULL);
        if (status == PW_NO_MEMORY)
                give_up(from, to);
        else
                assert_int_equal(status, PW_OK);
}

/* Who has a source has asked it, even if there was no memory for that once. */
static void check_asked(void)
{
        struct pw_pull_row row;

        for (uint32_t host = 1; host < HOSTS; host++)
                if (side(host)->pull) {
                        pw_pull_row(side(host)->pull, &row);
                        assert_true(row.state != PW_PULL_PULLING || row.asked + row.stopping);
                }
}

static void go_on(void)
{
        for (bool again = true; again;) {
                again = false;
                for (uint32_t host = 1; host < HOSTS; host++) {
                        pw_pulls_turn(side(host)->pulls, 0);
                        while (act(host))
                                again = true;
                }
                again |= end_terms();
                if (again || play.first == play.count)
                        continue;
                deliver();
                again = true;
        }
        play.first = play.count = 0;
        check_asked();
}

/* --- the play --------------------------------------------------------------------------------------------------------------- */

static void renew(uint32_t host)
{
        if (side(host)->is_ready)
                pw_pull_renewed(side(host)->pulls, side(host)->pull, HOME);
}

static void all(void)
{
        put();
        want(2);
        want(3);
        go_on();
        give_up(HOME, 2);
        go_on();
        renew(2);
        go_on();
        drop(3);
        go_on();
        want(3);
        go_on();
}

static void drop_all(void)
{
        for (uint32_t host = 2; host < HOSTS; host++)
                drop(host);
        go_on();
        withdraw(HOME);
        pw_pull_spread_withdraw(side(HOME)->spread, id, PW_GONE);
        go_on();
        for (uint32_t host = 1; host < HOSTS; host++) {
                struct pw_pull_source_counts counts = pw_pull_source_count(side(host)->source);

                assert_int_equal(side(host)->users, 0);
                assert_int_equal(counts.offers + counts.waiting + counts.sending + counts.stopping + counts.refused, 0);
                assert_int_equal(pw_pull_spread_objects(side(host)->spread), 0);
        }
}

static void test_no_memory(void **state)
{
        uint64_t count;

        (void)state;
        allocations = fails_at = 0;
        assert_true(begin());
        all();
        assert_true(side(2)->is_ready && side(3)->is_ready);
        assert_int_equal(play.over_count, 1);
        drop_all();
        done();
        count = allocations;
        assert_true(count > 40);
        for (uint64_t n = 1; n <= count; n++) {
                allocations = 0;
                fails_at = n;
                if (begin())
                        all();
                fails_at = 0;
                if (side(HOSTS - 1)->spread) { /* now there is memory, */
                        put();
                        want(2);
                        want(3);
                        go_on();
                        assert_true(side(2)->is_ready && side(3)->is_ready); /* and nothing is in its way */
                        drop_all();
                }
                done();
        }
        print_message("%lu allocations, each failed once\n", (unsigned long)count);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_memory) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

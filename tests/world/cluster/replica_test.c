/* A replica from its open to its end, as a driver has it who does what cluster/pull/README.md says: hosts borrow, pull and lend one
 * object of the first, without links between them. What is said stands in the trace, in order. */
#include "cluster/borrow/borrow.h"
#include "cluster/borrow/lend.h"
#include "cluster/link/link.h"
#include "cluster/pull/pull.h"
#include "cluster/pull/source.h"
#include "cluster/pull/spread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS 4u /* from 1 on; there is no 0 */
#define HOME 1u
#define EPOCH 100u
#define BYTES (2 * (uint64_t)PW_PULL_CHUNK_BYTES)
#define FRAMES 64u

struct at {
        struct pw_borrow *borrow;
        struct pw_lend *lend;
        struct pw_pulls *pulls;
        struct pw_pull_source *source;
        struct pw_pull_spread *spread;
        struct pw_proxy *proxy;
        struct pw_pull *pull;
        uint64_t number;            /* of the room's offer */
        uint32_t users, loans;      /* users: of the room */
        bool is_ready;
};
static struct {
        struct at hosts[HOSTS];
        struct { uint32_t from, to; struct pw_link_frame *frame; } way[FRAMES];
        uint32_t first, count;
        char trace[4096];
} play;

static struct pw_id id(void) { return pw_id_make(HOME, EPOCH, 1, 2, 3); }
static struct at *at(uint32_t host) { return &play.hosts[host]; }

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
        size_t length = strlen(play.trace);
        va_list args;

        va_start(args, format);
        vsnprintf(play.trace + length, sizeof play.trace - length, format, args);
        va_end(args);
}

static void expect(const char *trace)
{
        assert_string_equal(play.trace, trace);
        play.trace[0] = 0;
}

/* --- the object at its home, replicas elsewhere ----------------------------------------------------------------------------- */

static void begin(void)
{
        struct pw_offer_params offer = { .id = id(), .bytes = BYTES, .is_whole = true, .place = at(HOME) };

        memset(&play, 0, sizeof play);
        for (uint32_t host = 1; host < HOSTS; host++) {
                struct pw_pulls_params pulls = { .ahead = 2, .streams = 1, .stall_us = 10, .deadline_us = 1000 };
                struct pw_pull_source_params source = { .sends = 2, .slots = 1 };
                struct pw_pull_spread_params spread = { .own = host, .askers = 1 };
                struct pw_borrow_params borrow = { .own = host, .lease_us = 1000 };

                assert_int_equal(pw_borrow_new(&borrow, &at(host)->borrow, NULL), PW_OK);
                assert_int_equal(pw_lend_new(NULL, &at(host)->lend, NULL), PW_OK);
                assert_int_equal(pw_pulls_new(&pulls, &at(host)->pulls, NULL), PW_OK);
                assert_int_equal(pw_pull_source_new(&source, &at(host)->source, NULL), PW_OK);
                assert_int_equal(pw_pull_spread_new(&spread, &at(host)->spread, NULL), PW_OK);
                for (uint32_t other = 1; other < HOSTS; other++)
                        if (other != host)
                                assert_int_equal(pw_borrow_met(at(host)->borrow, other, EPOCH, NULL), PW_OK);
        }
        assert_int_equal(pw_pull_source_offer(at(HOME)->source, &offer, &at(HOME)->number, NULL), PW_OK);
        assert_int_equal(pw_pull_spread_offer(at(HOME)->spread, id(), at(HOME)->number, NULL), PW_OK);
        at(HOME)->users = 1;
}

static void done(void)
{
        for (uint32_t host = 1; host < HOSTS; host++) {
                pw_borrow_free(at(host)->borrow);
                pw_lend_free(at(host)->lend);
                pw_pulls_free(at(host)->pulls);
                pw_pull_source_free(at(host)->source);
                pw_pull_spread_free(at(host)->spread);
        }
}

/* Somebody reads what is elsewhere. */
static void read_it(uint32_t host)
{
        struct pw_offer_params offer = { .id = id(), .bytes = BYTES, .place = at(host) };
        struct pw_pull_request request = { .id = id(), .bytes = BYTES, .place = at(host) };
        struct pw_proxy_row row;

        pw_proxy_row(at(host)->proxy, &row);
        assert_int_equal(row.state, PW_PROXY_ELSEWHERE);
        assert_int_equal(pw_pull_source_offer(at(host)->source, &offer, &at(host)->number, NULL), PW_OK);
        request.home = row.lender;
        request.number = at(host)->number;
        assert_int_equal(pw_pull_begin(at(host)->pulls, &request, &at(host)->pull, NULL), PW_OK);
        at(host)->users = 2;
}

static void drop(uint32_t host)
{
        if (at(host)->is_ready)
                pw_pull_spread_withdraw(at(host)->spread, id(), PW_GONE);
        pw_pull_source_withdraw(at(host)->source, at(host)->number, PW_GONE);
        if (at(host)->pull)
                pw_pull_cancel(at(host)->pulls, at(host)->pull);
        if (at(host)->proxy)
                pw_borrow_freed(at(host)->borrow, at(host)->proxy);
        at(host)->pull = NULL;
        at(host)->proxy = NULL;
        at(host)->is_ready = false;
}

static void open_it(uint32_t host)
{
        struct pw_borrow_request request = { .id = id(), .tenant = "ann", .opener = host, .until_us = 1000 };
        struct pw_proxy *proxy;

        assert_int_equal(pw_borrow_open(at(host)->borrow, &request, &proxy, NULL), PW_NOT_READY);
}

/* --- what the cores say ----------------------------------------------------------------------------------------------------- */

static void put(uint32_t from, uint32_t to, struct pw_link_frame *frame)
{
        assert_true(frame && play.count < FRAMES);
        play.way[play.count].from = from;
        play.way[play.count].to = to;
        play.way[play.count++].frame = frame;
}

static bool borrow_acts(uint32_t host)
{
        struct pw_borrow_action action;

        if (!pw_borrow_next(at(host)->borrow, &action))
                return false;
        switch (action.kind) {
        case PW_BORROW_SEND: put(host, action.host, action.frame); break;
        case PW_BORROW_MAKE: at(host)->proxy = action.proxy; break;
        case PW_BORROW_RENEWED: pw_pull_renewed(at(host)->pulls, at(host)->pull, action.host); break;
        case PW_BORROW_ANSWER: note("%u: %s\n", host, action.proxy ? "opened" : pw_status_name(action.status)); break;
        case PW_BORROW_LOSE: note("%u: lost\n", host); break;
        case PW_BORROW_WANT: case PW_BORROW_TELL: case PW_BORROW_FETCH: break;
        }
        return true;
}

static void hold(uint32_t host, const struct pw_lend_action *action)
{
        bool is_here = host == HOME || pw_borrow_whole(at(host)->borrow, id(), action->message->tenant);
        struct pw_talk_known known = { .state = PW_TALK_NONE, .status = PW_GONE };

        if (is_here)
                known = (struct pw_talk_known){ .state = PW_TALK_ELSEWHERE, .bytes = BYTES };
        at(host)->loans += is_here;
        assert_int_equal(pw_lend_held(at(host)->lend, action->session, action->number, &known, NULL), PW_OK);
}

static bool lend_acts(uint32_t host)
{
        struct pw_lend_action action;
        uint8_t found[PW_TALK_ID_BYTES];
        struct pw_talk_bytes ids = { found, 0 };

        if (!pw_lend_next(at(host)->lend, &action))
                return false;
        switch (action.kind) {
        case PW_LEND_HOLD: hold(host, &action); break;
        case PW_LEND_UNHOLD: at(host)->loans--; break;
        case PW_LEND_FIND:
                pw_talk_put_id(found, id());
                ids.count = pw_borrow_has(at(host)->borrow, id()) ? PW_TALK_ID_BYTES : 0;
                assert_int_equal(pw_lend_found(at(host)->lend, action.session, action.number, ids, NULL), PW_OK);
                break;
        case PW_LEND_SEND: put(host, action.host, action.frame); break;
        }
        return true;
}

static bool pull_acts(uint32_t host)
{
        struct pw_pulls_action action;

        if (!pw_pulls_next(at(host)->pulls, &action))
                return false;
        switch (action.kind) {
        case PW_PULLS_SAY: put(host, action.host, pw_pull_encode(&action.message)); break;
        case PW_PULLS_RECEIVE: case PW_PULLS_STOP: break; /* it is there as soon as it is sent */
        case PW_PULLS_HERE: pw_pull_source_have(at(host)->source, at(host)->number, action.chunk); break;
        case PW_PULLS_READY:
                note("%u: ready\n", host);
                at(host)->is_ready = true;
                pw_borrow_pulled(at(host)->borrow, at(host)->proxy);
                assert_int_equal(pw_pull_spread_offer(at(host)->spread, id(), at(host)->number, NULL), PW_OK);
                break;
        case PW_PULLS_FAILED: fail_msg("%u: %s", host, pw_status_name(action.status)); break;
        case PW_PULLS_LET_GO: at(host)->users--; break;
        }
        return true;
}

static bool source_acts(uint32_t host)
{
        struct pw_pull_source_action action;

        if (!pw_pull_source_next(at(host)->source, &action))
                return false;
        switch (action.kind) {
        case PW_PULL_SOURCE_SAY: put(host, action.host, pw_pull_encode(&action.message)); break;
        case PW_PULL_SOURCE_SEND:
                pw_pull_source_sent(at(host)->source, action.send, PW_OK);
                pw_pulls_reported(at(action.host)->pulls, action.ask, PW_OK, 0);
                break;
        case PW_PULL_SOURCE_LET_GO: at(host)->users--; break;
        default: fail_msg("%u stages", host);
        }
        return true;
}

static bool spread_acts(uint32_t host)
{
        struct pw_pull_spread_action action;

        if (!pw_pull_spread_next(at(host)->spread, &action))
                return false;
        put(host, action.host, pw_pull_encode(&action.message));
        return true;
}

static void hear_pull(uint32_t host, uint32_t from, const struct pw_link_frame *frame)
{
        static const char *const kinds[] = { [PW_PULL_MSG_WANT] = "want", "named", "report", "whole", "have", "leave", "ask",
                                             "stop", "wait", "refuse" };
        struct pw_pull_message message;
        enum pw_status status;

        assert_int_equal(pw_pull_decode(frame->data, frame->bytes, &message, NULL), PW_OK);
        if (message.kind == PW_PULL_MSG_NAMED)
                note("%u to %u: named %u\n", from, host, message.source);
        else
                note("%u to %u: %s\n", from, host, kinds[message.kind]);
        if (pw_pull_is_for_home(message.kind))
                status = pw_pull_spread_receive(at(host)->spread, from, &message, NULL);
        else if (pw_pull_is_for_source(message.kind))
                status = pw_pull_source_receive(at(host)->source, from, &message, NULL);
        else
                status = pw_pulls_receive(at(host)->pulls, from, &message, 0, NULL);
        assert_int_equal(status, PW_OK);
}

static void act(uint32_t host)
{
        while (borrow_acts(host) || lend_acts(host) || pull_acts(host) || source_acts(host) || spread_acts(host))
                ;
}

static void act_all(void)
{
        for (uint32_t host = 1; host < HOSTS; host++) {
                while (pw_borrow_turn(at(host)->borrow, 0, 8))
                        act(host);
                while (pw_lend_turn(at(host)->lend, 8))
                        act(host);
                act(host);
        }
}

static void hear_talk(uint32_t host, uint32_t from, const struct pw_link_frame *frame)
{
        static const char *const kinds[] = { [PW_TALK_OPEN] = "open", "opened", "told", "release", "search", "found" };
        struct pw_talk_message message;
        enum pw_status status;

        assert_int_equal(pw_talk_decode(frame->data, frame->bytes, &message, NULL), PW_OK);
        note("%u to %u: %s\n", from, host, kinds[message.kind]);
        if (pw_talk_is_for_lender(message.kind))
                status = pw_lend_receive(at(host)->lend, from, &message, NULL);
        else
                status = pw_borrow_receive(at(host)->borrow, from, &message, NULL);
        assert_int_equal(status, PW_OK);
        act(host); /* while the message is there */
}

static void go_on(void)
{
        for (act_all(); play.first < play.count; act_all()) {
                struct pw_link_frame *frame = play.way[play.first].frame;
                uint32_t from = play.way[play.first].from, to = play.way[play.first].to;

                play.first++;
                if (pw_pull_is_message(frame->data, frame->bytes))
                        hear_pull(to, from, frame);
                else
                        hear_talk(to, from, frame);
                pw_link_frame_free(frame);
        }
        play.first = play.count = 0;
}

static void end_term(uint32_t a, uint32_t b)
{
        for (uint32_t i = 0; i < 2; i++) {
                uint32_t host = i ? a : b, other = i ? b : a;

                pw_borrow_ended(at(host)->borrow, other);
                pw_lend_ended(at(host)->lend, other);
                pw_pulls_ended(at(host)->pulls, other);
                pw_pull_source_ended(at(host)->source, other);
                pw_pull_spread_ended(at(host)->spread, other);
        }
        go_on();
}

/* --- scenes ----------------------------------------------------------------------------------------------------------------- */

static void test_life(void **state)
{
        (void)state;
        begin();
        open_it(2);
        go_on();
        expect("2 to 1: open\n1 to 2: opened\n2: opened\n");
        read_it(2);
        go_on();
        expect("2 to 1: want\n1 to 2: named 1\n2 to 1: ask\n2 to 1: ask\n2: ready\n2 to 1: whole\n");
        drop(2);
        go_on();
        expect("2 to 1: release\n2 to 1: leave\n");
        assert_int_equal(at(2)->users + at(HOME)->loans, 0);
        assert_int_equal(pw_pull_spread_objects(at(2)->spread), 0);
        done();
}

/* The home is given up by all: who has it whole lends it, and says so to the home when that is back. */
static void test_lost_home(void **state)
{
        (void)state;
        begin();
        open_it(2);
        go_on();
        read_it(2);
        go_on();
        end_term(HOME, 2);
        end_term(HOME, 3);
        play.trace[0] = 0;
        open_it(3);
        go_on();
        expect("3 to 2: search\n2 to 3: found\n3 to 2: open\n2 to 3: opened\n3: opened\n");
        read_it(3);
        go_on();
        expect("3 to 2: want\n2 to 3: named 2\n3 to 2: ask\n3 to 2: ask\n3: ready\n3 to 2: whole\n");
        for (uint32_t host = 2; host < HOSTS; host++)
                assert_int_equal(pw_borrow_met(at(host)->borrow, HOME, EPOCH, NULL), PW_OK);
        go_on();
        expect("2 to 1: open\n1 to 2: opened\n2 to 1: have\n"); /* 3 holds it at 2, as before */
        end_term(2, 3);
        expect("3 to 1: open\n1 to 3: opened\n3 to 1: have\n");
        drop(2);
        drop(3);
        go_on();
        expect("2 to 1: release\n2 to 1: leave\n3 to 1: release\n3 to 1: leave\n");
        for (uint32_t host = 2; host < HOSTS; host++)
                assert_int_equal(at(host)->users + at(host)->loans + pw_pull_spread_objects(at(host)->spread), 0);
        assert_int_equal(at(HOME)->loans, 0);
        done();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_life), cmocka_unit_test(test_lost_home) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

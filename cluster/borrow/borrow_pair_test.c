/* A borrower and a lender, without a link between them: what cannot be is not believed and changes nothing, a tenant has nothing of
 * another's, and each allocation that fails costs what was asked, or the term, and nothing else. */
#include "cluster/borrow/borrow.h"
#include "cluster/borrow/lend.h"
#include "cluster/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOME 1u
#define OBJECTS 4u

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

/* --- the two ---------------------------------------------------------------------------------------------------------------- */

static struct {
        struct pw_borrow *borrow;
        struct pw_lend *lend;
        struct pw_link_frame *way[64]; /* to the lender, or from it */
        uint32_t first, count;
        struct pw_proxy *proxies[OBJECTS]; /* slots */
        uint32_t refs[OBJECTS], loans[OBJECTS], answers, refusals, losses, sent;
        struct pw_error err;               /* of the last answer */
        bool fails, is_over;               /* is_over: they gave each other up */
} pair;

static struct pw_id id_of(uint32_t i) { return pw_id_make(HOME, 0x65, 3, i, 1); }

static bool begin(void)
{
        memset(&pair, 0, sizeof pair);
        return pw_lend_new(NULL, &pair.lend, NULL) == PW_OK &&
               pw_borrow_new(&(struct pw_borrow_params){ .own = 2, .lease_us = 1000 }, &pair.borrow, NULL) == PW_OK;
}

static void done(void)
{
        for (; pair.first < pair.count; pair.first++)
                pw_link_frame_free(pair.way[pair.first]);
        pw_borrow_free(pair.borrow);
        pw_lend_free(pair.lend);
}

static void send_on(struct pw_link_frame *frame)
{
        assert_true(pair.count < 64);
        pair.sent++;
        pair.way[pair.count++] = frame;
}

static void lend_acts(void)
{
        struct pw_talk_known ready = { .state = PW_TALK_WHOLE, .bytes = 5, .value = { "value", 5 } };
        struct pw_lend_action action;

        while (pw_lend_next(pair.lend, &action)) {
                uint32_t i = pw_id_slot(action.id);

                switch (action.kind) {
                case PW_LEND_SEND: send_on(action.frame); break;
                case PW_LEND_FIND: break;
                case PW_LEND_UNHOLD: pair.loans[i]--; break;
                case PW_LEND_HOLD:
                        pair.loans[i]++;
                        if (pw_lend_held(pair.lend, action.session, action.number, &ready, NULL) == PW_OK)
                                break;
                        pw_lend_ended(pair.lend, 2);
                        pair.is_over = true;
                        assert_int_equal(pw_lend_held(pair.lend, action.session, action.number, &ready, NULL), PW_OK);
                }
        }
}

static void borrow_acts(void)
{
        struct pw_borrow_action action;
        struct pw_proxy_row row;

        while (pw_borrow_next(pair.borrow, &action))
                switch (action.kind) {
                case PW_BORROW_SEND: send_on(action.frame); break;
                case PW_BORROW_MAKE:
                        pw_proxy_row(action.proxy, &row);
                        pair.proxies[pw_id_slot(row.id)] = action.proxy;
                        break;
                case PW_BORROW_ANSWER:
                        pair.answers++;
                        pair.refusals += action.proxy == NULL;
                        if (action.proxy) {
                                pw_proxy_row(action.proxy, &row);
                                pair.refs[pw_id_slot(row.id)]++;
                        } else
                                (void)!pw_borrow_explain(&action, &pair.err);
                        break;
                case PW_BORROW_LOSE: pair.losses++; break;
                default: break;
                }
}

/* Host 3 is asked whether it has it, and has not. */
static enum pw_status answer_search(const struct pw_talk_message *search)
{
        enum pw_status status = pw_borrow_receive(pair.borrow, 3, &(struct pw_talk_message){ .kind = PW_TALK_FOUND,
                                                                                             .number = search->number }, NULL);

        if (status != PW_OK)
                pw_borrow_ended(pair.borrow, 3);
        return PW_OK;
}

/* Where one of them has no memory for what was said, they give each other up. */
static void give_up(void)
{
        for (; pair.first < pair.count; pair.first++)
                pw_link_frame_free(pair.way[pair.first]);
        pw_borrow_ended(pair.borrow, HOME);
        pw_lend_ended(pair.lend, 2);
        pair.is_over = false;
}

static void settle(void)
{
        while (pw_borrow_turn(pair.borrow, 0, 1))
                borrow_acts();
        borrow_acts();
        while (pw_lend_turn(pair.lend, 1))
                lend_acts();
        lend_acts();
}

static void deliver(void)
{
        while (pair.first < pair.count) {
                struct pw_link_frame *frame = pair.way[pair.first++];
                struct pw_talk_message message;
                enum pw_status status;

                assert_int_equal(pw_talk_decode(frame->data, frame->bytes, &message, NULL), PW_OK);
                if (message.kind == PW_TALK_SEARCH)
                        status = answer_search(&message);
                else if (pw_talk_is_for_lender(message.kind))
                        status = pw_lend_receive(pair.lend, 2, &message, NULL);
                else
                        status = pw_borrow_receive(pair.borrow, HOME, &message, NULL);
                assert_true(status == PW_OK || status == PW_NO_MEMORY);
                lend_acts();
                borrow_acts();
                pw_link_frame_free(frame);
                if (status != PW_OK || pair.is_over)
                        give_up();
        }
        pair.first = pair.count = 0;
}

static void go_on(void)
{
        borrow_acts();
        do {
                deliver();
                settle();
        } while (pair.count);
}

static enum pw_status open_as(uint32_t i, const char *tenant, uint64_t opener)
{
        struct pw_proxy *proxy;
        enum pw_status status = pw_borrow_open(pair.borrow, &(struct pw_borrow_request){ id_of(i), tenant, opener, UINT64_MAX, 0 },
                                               &proxy, &pair.err);

        pair.refs[i] += status == PW_OK;
        return status;
}

static void drop_all(void)
{
        for (uint32_t i = 0; i < OBJECTS; i++) {
                if (pair.refs[i])
                        pw_borrow_freed(pair.borrow, pair.proxies[i]);
                pair.refs[i] = 0;
        }
        go_on();
}

/* --- memory, again ---------------------------------------------------------------------------------------------------------- */

static void count_row(void *context, const struct pw_proxy_row *row)
{
        (void)row;
        ++*(uint32_t *)context;
}

static void count_loan(void *context, const struct pw_lend_row *row)
{
        (void)row;
        ++*(uint32_t *)context;
}

/* False: it did not even begin. */
static bool play(void)
{
        uint32_t waits = 0, left = 0;

        if (!begin())
                return false;
        (void)!pw_borrow_met(pair.borrow, HOME, 0x65, NULL);
        (void)!pw_borrow_met(pair.borrow, 3, 0x65, NULL);
        for (uint32_t i = 0; i < OBJECTS - 1; i++)
                waits += open_as(i, "ann", i + 1) == PW_NOT_READY;
        waits += open_as(0, "ann", 9) == PW_NOT_READY;
        go_on();
        give_up();
        settle();
        waits += open_as(OBJECTS - 1, "ann", 10) == PW_NOT_READY; /* searched, while its home is lost */
        go_on();
        (void)!pw_borrow_met(pair.borrow, HOME, 0x65, NULL);
        go_on();
        drop_all();
        give_up(); /* what was said while there was no memory for it */
        settle();
        assert_int_equal(pair.answers, waits);
        pw_borrow_each(pair.borrow, count_row, &left);
        pw_lend_each(pair.lend, count_loan, &left);
        assert_int_equal(left, 0);
        for (uint32_t i = 0; i < OBJECTS; i++)
                assert_int_equal(pair.loans[i], 0);
        return true;
}

static void test_no_memory(void **state)
{
        uint64_t needed;

        (void)state;
        allocations = fails_at = 0;
        assert_true(play());
        done();
        needed = allocations;
        assert_int_equal(pair.answers, 5);
        assert_int_equal(pair.refusals, 1);
        assert_int_equal(pair.err.status, PW_HOST_LOST);
        assert_int_equal(pair.losses, 0); /* all was whole */
        for (uint64_t n = 1; n <= needed; n++) {
                allocations = 0;
                fails_at = n;
                (void)play();
                done();
        }
        fails_at = 0;
        print_message("%lu allocations, each failed once\n", (unsigned long)needed);
        assert_true(needed > 50);
}

/* --- what cannot be --------------------------------------------------------------------------------------------------------- */

static void borrower_refuses(const struct pw_talk_message *message, const char *why)
{
        struct pw_error err = { 0 };

        assert_int_equal(pw_borrow_receive(pair.borrow, HOME, message, &err), PW_PROTOCOL);
        assert_string_equal(err.text, why);
}

static void test_not_asked(void **state)
{
        struct pw_talk_message opened = { .kind = PW_TALK_OPENED, .number = 1, .known = { .state = PW_TALK_PENDING } };
        struct pw_talk_message told = { .kind = PW_TALK_TOLD, .number = 1, .known = { .state = PW_TALK_ELSEWHERE } };

        (void)state;
        assert_true(begin());
        borrower_refuses(&opened, "host 1 was asked nothing, and says a message of kind 2");
        assert_int_equal(open_as(0, "ann", 1), PW_NOT_READY);
        borrower_refuses(&told, "host 1 tells what cannot be of 1"); /* before it was opened */
        assert_int_equal(pw_borrow_receive(pair.borrow, 3, &opened, NULL), PW_PROTOCOL);
        assert_int_equal(pw_borrow_met(pair.borrow, 3, 1, NULL), PW_OK);
        assert_int_equal(pw_borrow_receive(pair.borrow, 3, &opened, NULL), PW_PROTOCOL); /* it is there, and was not asked */
        go_on();
        borrower_refuses(&opened, "host 1 answers what it was not asked, 1"); /* twice */
        borrower_refuses(&told, "host 1 tells what cannot be of 1"); /* it is whole */
        told.number = 2;
        borrower_refuses(&told, "host 1 tells what cannot be of 2");
        borrower_refuses(&(struct pw_talk_message){ .kind = PW_TALK_FOUND, .number = 1 },
                         "host 1 answers a search that it was not asked, 1");
        borrower_refuses(&(struct pw_talk_message){ .kind = PW_TALK_RELEASE, .number = 1 },
                         "host 1 says to a borrower a message of kind 4");
        drop_all();
        told.number = 1;
        assert_int_equal(pw_borrow_receive(pair.borrow, HOME, &told, NULL), PW_OK); /* it was on its way: nothing */
        done();
}

/* Nor is it of the term that has ended since. */
static void test_not_of_this_term(void **state)
{
        struct pw_talk_message opened = { .kind = PW_TALK_OPENED, .number = 1, .known = { .state = PW_TALK_PENDING } };

        (void)state;
        assert_true(begin());
        assert_int_equal(open_as(0, "ann", 1), PW_NOT_READY);
        pw_borrow_ended(pair.borrow, HOME);
        assert_int_equal(pw_borrow_met(pair.borrow, HOME, 3, NULL), PW_OK);
        borrower_refuses(&opened, "host 1 answers what it was not asked, 1");
        done();
}

static void lender_refuses(const struct pw_talk_message *message, const char *why)
{
        struct pw_error err = { 0 };

        assert_int_equal(pw_lend_receive(pair.lend, 2, message, &err), PW_PROTOCOL);
        assert_string_equal(err.text, why);
}

static void test_not_held(void **state)
{
        struct pw_talk_message open = { .kind = PW_TALK_OPEN, .number = 7, .id = { 1, 1, 1 }, .tenant = { "ann", 3 } };
        struct pw_lend_action action;

        (void)state;
        assert_true(begin());
        lender_refuses(&(struct pw_talk_message){ .kind = PW_TALK_RELEASE, .number = 1 },
                       "host 2 releases what it does not hold, 1");
        assert_int_equal(pw_lend_receive(pair.lend, 2, &open, NULL), PW_OK);
        lender_refuses(&open, "host 2 asks once more with the number 7");
        lender_refuses(&(struct pw_talk_message){ .kind = PW_TALK_RELEASE, .number = 7 }, /* before it was answered */
                       "host 2 releases what it does not hold, 7");
        lender_refuses(&(struct pw_talk_message){ .kind = PW_TALK_OPENED, .number = 8 },
                       "host 2 says to a lender a message of kind 2");
        assert_true(pw_lend_next(pair.lend, &action) && action.kind == PW_LEND_HOLD);
        assert_false(pw_lend_next(pair.lend, &action));
        assert_int_equal(pw_lend_receive(pair.lend, 3, &open, NULL), PW_OK); /* another host's numbers are its own */
        done();
}

/* --- who has nothing -------------------------------------------------------------------------------------------------------- */

/* What one tenant's is, another's open does not find: the home is asked, and refuses. */
static void test_tenants(void **state)
{
        (void)state;
        assert_true(begin());
        assert_int_equal(open_as(0, "ann", 1), PW_NOT_READY);
        go_on();
        assert_int_equal(open_as(0, "ann", 2), PW_OK);
        assert_int_equal(open_as(0, "bo", 3), PW_NOT_READY);
        assert_null(pw_borrow_whole(pair.borrow, id_of(0), (struct pw_talk_bytes){ "bo", 2 }));
        assert_non_null(pw_borrow_whole(pair.borrow, id_of(0), (struct pw_talk_bytes){ "ann", 3 }));
        assert_true(pw_borrow_has(pair.borrow, id_of(0)));
        assert_int_equal(open_as(0, "", 4), PW_INVALID);
        assert_int_equal(open_as(1, "bo", 3), PW_EXISTS);
        done();
}

static bool is_lent(void)
{
        bool whole = pw_borrow_whole(pair.borrow, id_of(0), (struct pw_talk_bytes){ "ann", 3 });

        assert_int_equal(pw_borrow_has(pair.borrow, id_of(0)), whole);
        return whole;
}

/* Only what is whole is handed on: not what is pending or elsewhere, nor what was lost; and what is whole when the home is lost. */
static void test_whole_only(void **state)
{
        struct pw_talk_message message = { .kind = PW_TALK_OPENED, .number = 1, .known = { .state = PW_TALK_PENDING } };

        (void)state;
        for (uint32_t pulled = 0; pulled < 2; pulled++) {
                assert_true(begin());
                assert_int_equal(open_as(0, "ann", 1), PW_NOT_READY);
                borrow_acts();
                assert_false(is_lent());
                message.kind = PW_TALK_OPENED;
                message.known.state = PW_TALK_PENDING;
                assert_int_equal(pw_borrow_receive(pair.borrow, HOME, &message, NULL), PW_OK);
                borrow_acts();
                assert_false(is_lent());
                message.kind = PW_TALK_TOLD;
                message.known.state = PW_TALK_ELSEWHERE;
                assert_int_equal(pw_borrow_receive(pair.borrow, HOME, &message, NULL), PW_OK);
                assert_false(is_lent());
                if (pulled)
                        pw_borrow_pulled(pair.borrow, pair.proxies[0]);
                pw_borrow_ended(pair.borrow, HOME);
                settle();
                assert_int_equal(is_lent(), pulled);
                assert_int_equal(pair.losses, !pulled);
                done();
        }
}

/* A slot that becomes free after a term has ended, and before it was settled, says nothing in the next. */
static void test_freed_late(void **state)
{
        (void)state;
        assert_true(begin());
        assert_int_equal(open_as(0, "ann", 1), PW_NOT_READY);
        go_on();
        assert_int_equal(pair.refs[0], 1);
        pw_borrow_ended(pair.borrow, HOME);
        assert_int_equal(pw_borrow_met(pair.borrow, HOME, 0x65, NULL), PW_OK);
        pair.sent = 0;
        pw_borrow_freed(pair.borrow, pair.proxies[0]);
        borrow_acts();
        assert_int_equal(pair.sent, 0);
        done();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_memory), cmocka_unit_test(test_not_asked),
                                            cmocka_unit_test(test_not_of_this_term),
                                            cmocka_unit_test(test_not_held), cmocka_unit_test(test_tenants),
                                            cmocka_unit_test(test_freed_late), cmocka_unit_test(test_whole_only) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bulk streams between two hosts in one process: chunks arrive, are spoilt, stopped, and lost. */
#include "tests/conformance/transport/pair.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <xxhash.h>

#include <cmocka.h>

#define CHUNKS 4u

/* --- by beta's bulk ----------------------------------------------------------------------------------------------------------- */

/* A value in four chunks over two streams, asked for in one order and sent in another. */
static void test_value(void **state)
{
        static const uint32_t order[CHUNKS] = { 1, 0, 3, 2 };
        struct pair pair;

        (void)state;
        pair_make(&pair);
        for (uint32_t i = 0; i < CHUNKS; i++) {
                struct pw_bulk_job job = { i + 1, i + 1, pair.to + i * PW_PULL_CHUNK_BYTES, pw_pull_chunk_bytes(VALUE_BYTES, i) };

                pw_bulk_receive(pair.alpha->bulk, BETA, i == 3, &job);
        }
        for (uint32_t n = 0; n < CHUNKS; n++) {
                uint32_t i = order[n];
                struct pw_bulk_job job = { i + 9, i + 1, pair.from + i * PW_PULL_CHUNK_BYTES,
                                           pw_pull_chunk_bytes(VALUE_BYTES, i) };

                pw_bulk_send(pair.beta->bulk, ALPHA, i == 3, &job);
        }
        for (uint32_t i = 0; i < CHUNKS; i++) {
                assert_int_equal(pair_await(&pair, pair.alpha, i + 1), PW_OK);
                assert_int_equal(pair_await(&pair, pair.beta, i + 9), PW_OK);
        }
        assert_memory_equal(pair.from, pair.to, VALUE_BYTES);
        assert_int_equal(pair.alpha->traffic.bulk_in, VALUE_BYTES);
        assert_int_equal(pair.beta->traffic.bulk_out, VALUE_BYTES);
        assert_int_equal(pair.came_count, 2);
        pair_remove(&pair);
}

/* What was stopped before it began is done at once, and what comes of it nevertheless goes nowhere. */
static void test_stop_early(void **state)
{
        struct pair pair;

        (void)state;
        pair_make(&pair);
        pair_receive(&pair, 1, 5000);
        pw_bulk_stop_receiving(pair.alpha->bulk, BETA, 0, 1);
        pw_bulk_stop_receiving(pair.alpha->bulk, BETA, 0, 1);
        assert_int_equal(pair.alpha->told[1], 0);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_CANCELLED);
        pair_give(&pair, 9, 5000); /* of a stream that is not there yet */
        pw_bulk_stop_sending(pair.beta->bulk, 9);
        assert_int_equal(pair_await(&pair, pair.beta, 9), PW_CANCELLED);
        pair_give(&pair, 1, 5000);
        pair_receive(&pair, 2, 5000);
        pair.to[0] = 0xee;
        assert_int_equal(pair_await(&pair, pair.beta, 1), PW_OK);
        assert_int_equal(pair.to[0], 0xee);
        pair_give(&pair, 2, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 2), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 2), PW_OK);
        assert_memory_equal(pair.from, pair.to, 5000);
        assert_int_equal(pair.came_count, 1);
        pair_remove(&pair);
}

/* A ticket is shown in vain that is of another term, of another life of either host, or another host's. */
static void test_ticket(void **state)
{
        struct pair pair;
        struct pw_host *alpha;

        (void)state;
        pair_make(&pair);
        alpha = pw_hosts_get(&pair.beta->peers.hosts, ALPHA);
        for (uint32_t wrong = 0; wrong < 4; wrong++) {
                pair.beta->link->term += wrong == 0;
                pair.beta->link->epoch += wrong == 1;
                pair.beta->peers.own.peer.epoch += wrong == 2;
                strcpy(alpha->row.name, wrong == 3 ? "gamma" : "alpha");
                pair_receive(&pair, 1 + wrong, 5000);
                assert_int_equal(pair_await(&pair, pair.alpha, 1 + wrong), PW_DEADLINE);
                assert_int_equal(pair.came_count, 3 * (wrong + 1));
                assert_true(pw_list_empty(&pair.beta->bulk->lanes));
                pair.beta->link->term -= wrong == 0;
                pair.beta->link->epoch -= wrong == 1;
                pair.beta->peers.own.peer.epoch -= wrong == 2;
        }
        strcpy(alpha->row.name, "alpha");
        pair_receive(&pair, 9, 5000);
        pair_give(&pair, 9, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 9), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 9), PW_OK);
        pair_remove(&pair);
}

/* Nobody listens there; somebody does after a pause. */
static void test_no_listener(void **state)
{
        struct pair pair;

        (void)state;
        pair_make(&pair);
        pw_listener_free(pair.place.listener);
        pair_receive(&pair, 9, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 9), PW_DEADLINE);
        pair.patient = true;
        pair_receive(&pair, 1, 5000);
        pair_listen(&pair);
        place_glance(&pair.place);
        assert_int_equal(pair.alpha->told[1], 0);
        pw_bulk_turn(pair.alpha->bulk, pw_bulk_next_us(pair.alpha->bulk));
        pair_give(&pair, 1, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 1), PW_OK);
        pair_remove(&pair);
}

/* The end of a term ends what is asked, at both; the next term has streams of its own. */
static void test_ended(void **state)
{
        struct pair pair;

        (void)state;
        pair_make(&pair);
        pair_receive(&pair, 1, 5000);
        pair_give(&pair, 1, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 1), PW_OK);
        pair_receive(&pair, 2, 5000);
        pw_bulk_send(pair.beta->bulk, ALPHA, 5, &(struct pw_bulk_job){ 3, 3, pair.from, 5000 }); /* which never came */
        pw_bulk_ended(pair.alpha->bulk, BETA);
        pw_bulk_ended(pair.beta->bulk, ALPHA);
        assert_int_equal(pair_await(&pair, pair.alpha, 2), PW_SYSTEM);
        assert_int_equal(pair_await(&pair, pair.beta, 3), PW_SYSTEM);
        pair_await_over(&pair);
        pair_meet(&pair, 4);
        pair_receive(&pair, 4, 5000);
        pair_give(&pair, 4, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 4), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 4), PW_OK);
        pair_remove(&pair);
}

/* --- by hand ------------------------------------------------------------------------------------------------------------------ */

static void write_all(struct pw_pipe *pipe, const void *bytes, size_t count)
{
        struct iovec part = { (void *)(uintptr_t)bytes, count };
        enum pw_status status;
        size_t written;

        while (part.iov_len) {
                status = pipe->kind->write(pipe, &part, 1, &written, NULL);
                if (status == PW_NOT_READY) {
                        sched_yield();
                        continue;
                }
                assert_int_equal(status, PW_OK);
                part.iov_base = (uint8_t *)part.iov_base + written;
                part.iov_len -= written;
        }
}

static void write_head(struct pw_pipe *pipe, uint64_t ask, const uint8_t *bytes, uint32_t count)
{
        uint8_t head[PW_PULL_HEAD_BYTES];

        pw_pull_head_encode(&(struct pw_pull_head){ ask, XXH3_64bits(bytes, count), count }, head);
        write_all(pipe, head, sizeof head);
}

/* A byte that was spoilt on the way: the stream goes on, and what is asked again arrives. */
static void test_spoilt(void **state)
{
        struct pair pair;
        struct pw_pipe *pipe;

        (void)state;
        pair_make(&pair);
        pair.by_hand = true;
        pair_receive(&pair, 1, 5000);
        pipe = pair_await_came(&pair);
        write_head(pipe, 1, pair.from, 5000);
        write_all(pipe, pair.from, 4999);
        write_all(pipe, "\xff", 1);
        assert_int_not_equal(pair.from[4999], 0xff);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_PROTOCOL);
        pair_receive(&pair, 2, 5000);
        write_head(pipe, 2, pair.from, 5000);
        write_all(pipe, pair.from, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 2), PW_OK);
        assert_memory_equal(pair.from, pair.to, 5000);
        assert_int_equal(pair.came_count, 1);
        pw_pipe_free(pipe);
        pair_remove(&pair);
}

/* Stopped in its course: the rest of it goes nowhere, and the stream is good for what others asked of it. */
static void test_stop_midway(void **state)
{
        const uint32_t bytes = 600000, some = 1000;
        struct pair pair;
        struct pw_pipe *pipe;

        (void)state;
        pair_make(&pair);
        pair.by_hand = true;
        pair_receive(&pair, 1, bytes);
        pair_receive(&pair, 2, 5000);
        pipe = pair_await_came(&pair);
        write_head(pipe, 1, pair.from, bytes);
        write_all(pipe, pair.from, some);
        pair_await_begun(&pair, 1);
        pair.patient = true;
        pw_bulk_stop_receiving(pair.alpha->bulk, BETA, 0, 1);
        write_all(pipe, pair.from + some, bytes - some);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_CANCELLED);
        write_head(pipe, 2, pair.from, 5000);
        write_all(pipe, pair.from, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 2), PW_OK);
        assert_memory_equal(pair.from, pair.to, 5000);
        assert_memory_equal(pair.to + bytes - some, pair.to + VALUE_BYTES - some, some); /* nothing came there */
        assert_int_equal(pair.came_count, 1);
        pw_pipe_free(pipe);
        pair_remove(&pair);
}

/* Stopped while the other side keeps its thread waiting: by force, after a while. What is asked next has another stream at once. */
static void test_stop_stuck(void **state)
{
        struct pair pair;
        struct pw_pipe *pipe;

        (void)state;
        pair_make(&pair);
        pair.by_hand = true;
        pair_receive(&pair, 1, 5000);
        pair_receive(&pair, 2, 5000);
        pipe = pair_await_came(&pair);
        write_head(pipe, 1, pair.from, 5000);
        pair_await_begun(&pair, 1);
        pw_bulk_stop_receiving(pair.alpha->bulk, BETA, 0, 1);
        pw_bulk_turn(pair.alpha->bulk, pw_bulk_next_us(pair.alpha->bulk) - 1);
        place_glance(&pair.place);
        assert_int_equal(pair.alpha->told[1], 0);
        pw_bulk_turn(pair.alpha->bulk, pw_bulk_next_us(pair.alpha->bulk));
        pair_receive(&pair, 3, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_CANCELLED);
        assert_int_equal(pair_await(&pair, pair.alpha, 2), PW_SYSTEM);
        pw_pipe_free(pipe);
        pipe = pair_await_came(&pair);
        write_head(pipe, 3, pair.from, 5000);
        write_all(pipe, pair.from, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 3), PW_OK);
        assert_true(pw_bulk_next_us(pair.alpha->bulk) == UINT64_MAX);
        pw_pipe_free(pipe);
        pair_remove(&pair);
}

/* The other side hangs up in the middle: all that was asked of it is told, and the next is dialled anew. */
static void test_hang_up(void **state)
{
        struct pair pair;
        struct pw_pipe *pipe;

        (void)state;
        pair_make(&pair);
        pair.by_hand = true;
        pair_receive(&pair, 1, 5000);
        pair_receive(&pair, 2, 5000);
        pipe = pair_await_came(&pair);
        write_head(pipe, 1, pair.from, 5000);
        write_all(pipe, pair.from, 100);
        pair_await_begun(&pair, 1);
        pw_pipe_free(pipe);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_SYSTEM);
        assert_int_equal(pair_await(&pair, pair.alpha, 2), PW_SYSTEM);
        pair_receive(&pair, 3, 5000);
        pipe = pair_await_came(&pair);
        write_head(pipe, 3, pair.from, 5000);
        write_all(pipe, pair.from, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 3), PW_OK);
        pw_pipe_free(pipe);
        pair_remove(&pair);
}

/* A chunk of another length than was asked for: the stream is of no more use. */
static void test_length(void **state)
{
        struct pair pair;
        struct pw_pipe *pipe;

        (void)state;
        pair_make(&pair);
        pair.by_hand = true;
        pair_receive(&pair, 1, 5000);
        pipe = pair_await_came(&pair);
        write_head(pipe, 1, pair.from, 5001);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_SYSTEM);
        pw_pipe_free(pipe);
        pair_remove(&pair);
}

/* Alpha's stream is over, of which beta, who waits for something to send, has heard nothing: what alpha is sent before its next
 * stream has come goes over that. */
static void test_next_stream(void **state)
{
        struct pair pair;

        (void)state;
        pair_make(&pair);
        pair_receive(&pair, 1, 5000);
        pair_give(&pair, 1, 5000);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 1), PW_OK);
        pw_bulk_ended(pair.alpha->bulk, BETA);
        while (!pw_list_empty(&pair.alpha->bulk->lanes))
                pair_turn(&pair);
        pair_give(&pair, 2, 5000);
        pair_give(&pair, 3, 5000);
        while (pw_list_first(&pair.beta->bulk->lanes, struct pw_bulk_lane, link)->connection)
                pair_turn(&pair);
        pair_receive(&pair, 2, 5000);
        pair_receive(&pair, 3, 5000);
        for (uint64_t ask = 2; ask <= 3; ask++) {
                assert_int_equal(pair_await(&pair, pair.alpha, ask), PW_OK);
                assert_int_equal(pair_await(&pair, pair.beta, ask), PW_OK);
        }
        pair_remove(&pair);
}

/* The connection of the link broke, and its term goes on: who opens a stream waits until there is another one, which the other side
 * may see later. A host that is not met yet is dialled when it is. */
static void test_cut(void **state)
{
        struct pair pair;

        (void)state;
        pair_make(&pair);
        pair.alpha->link->state = pair.beta->link->state = PW_LINK_CUT;
        pair_receive(&pair, 1, 5000);
        pair_give(&pair, 1, 5000);
        place_glance(&pair.place);
        assert_int_equal(pair.alpha->told[1], 0);
        pair.alpha->link->state = PW_LINK_UP;
        pw_bulk_met(pair.alpha->bulk, BETA);
        assert_int_equal(pair_await(&pair, pair.alpha, 1), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 1), PW_OK);
        pw_bulk_ended(pair.alpha->bulk, BETA);
        pw_bulk_ended(pair.beta->bulk, ALPHA);
        pair_await_over(&pair);
        pair.alpha->link->state = pair.beta->link->state = PW_LINK_CALLING;
        pair_receive(&pair, 2, 5000);
        pair_give(&pair, 2, 5000);
        place_glance(&pair.place);
        assert_int_equal(pair.alpha->told[2], 0);
        pair_meet(&pair, 4);
        pw_bulk_met(pair.alpha->bulk, BETA);
        assert_int_equal(pair_await(&pair, pair.alpha, 2), PW_OK);
        assert_int_equal(pair_await(&pair, pair.beta, 2), PW_OK);
        pair_receive(&pair, 3, 5000);
        pair.alpha->link->state = PW_LINK_AWAY;
        pair_receive(&pair, 4, 5000);
        pw_bulk_ended(pair.alpha->bulk, BETA);
        assert_int_equal(pair_await(&pair, pair.alpha, 3), PW_SYSTEM);
        assert_int_equal(pair_await(&pair, pair.alpha, 4), PW_SYSTEM);
        pair_remove(&pair);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_value),       cmocka_unit_test(test_stop_early), cmocka_unit_test(test_ticket),
                cmocka_unit_test(test_no_listener), cmocka_unit_test(test_ended),      cmocka_unit_test(test_spoilt),
                cmocka_unit_test(test_stop_midway), cmocka_unit_test(test_stop_stuck), cmocka_unit_test(test_hang_up),
                cmocka_unit_test(test_length),      cmocka_unit_test(test_next_stream),
                cmocka_unit_test(test_cut),
        };

        signal(SIGPIPE, SIG_IGN); /* as pathwaysd does */
        alarm(120);
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Traces of values between hosts: a bar for the pull where they come to, and one where they are sent from. */
#include "tests/integration/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (5u << 20) /* in chunks, the last of which is smaller */

struct bar { char object[PW_ID_TEXT_BYTES]; char from[8], to[8]; uint64_t bytes, start_ns, end_ns; };

/* Asks until the trace of the session tells of such a move. */
static struct bar until_told(struct pw_session *session, const char *kind)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        struct bar bar = { .bytes = 0 };

        while (!bar.bytes) {
                struct pw_trace_chunk *part;
                const Pathways__Wire__Trace *trace;

                assert_true(it_now_us() < limit_us);
                it_ok(pw_trace_next(session, 10000, false, &part, IT_ERR));
                trace = pw_trace_chunk_message(part);
                for (size_t i = 0; i < trace->n_moves; i++) {
                        const Pathways__Wire__TraceMove *move = trace->moves[i];

                        assert_string_equal(move->kind, kind);
                        bar = (struct bar){ .bytes = move->bytes, .start_ns = move->start_ns, .end_ns = move->end_ns };
                        snprintf(bar.object, sizeof bar.object, "%s", move->object);
                        snprintf(bar.from, sizeof bar.from, "%s", move->from);
                        snprintf(bar.to, sizeof bar.to, "%s", move->to);
                }
                pw_trace_chunk_free(part);
        }
        return bar;
}

static void begin_trace(struct pw_session *session)
{
        struct pw_trace_chunk *part;

        it_ok(pw_trace_next(session, 0, false, &part, IT_ERR));
        pw_trace_chunk_free(part);
}

static void expect(const struct bar *bar, const char *object, const char *from, const char *to)
{
        assert_string_equal(bar->object, object);
        assert_string_equal(bar->from, from);
        assert_string_equal(bar->to, to);
        assert_int_equal(bar->bytes, BYTES - 100);
        assert_true(bar->start_ns < bar->end_ns);
}

static void bars_on_both_hosts(void **state)
{
        struct cluster *cluster = *state;
        void *bytes = calloc(1, BYTES);
        struct pw_future *made, *opened;
        char id[PW_ID_TEXT_BYTES];
        struct bar pull, sent;
        struct pw_view view;

        cluster->linked = true;
        cluster->lease = "10s";
        cluster_start(cluster, 0, true);
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
        it_ok(pw_put(cluster->hosts[0].session, bytes, BYTES - 100, NULL, &made, IT_ERR));
        pw_id_format(pw_future_id(made), id);
        begin_trace(cluster->hosts[0].session);
        begin_trace(cluster->hosts[1].session);
        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(made), &opened, IT_ERR));
        it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
        pull = until_told(cluster->hosts[1].session, "pull");
        sent = until_told(cluster->hosts[0].session, "send");
        expect(&pull, id, "h1", "h2");
        expect(&sent, id, "h1", "h2");
        /* here both have one clock: what is sent lies within what is pulled */
        assert_true(pull.start_ns <= sent.start_ns && sent.start_ns < pull.end_ns);
        pw_view_done(&view);
        pw_unref(opened);
        pw_unref(made);
        free(bytes);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(bars_on_both_hosts) };

        return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}

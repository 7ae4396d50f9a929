/* Two tenants on one host: who has every id and name of another tenant reads, holds, frees, ends and slows nothing of it.
 *
 * The first tenant is root, the second a user that nothing else runs as; without root there is nobody to become, so it is skipped.
 */
#include "tests/integration/other.h"
#include "tests/integration/trace.h"

#include "libclient/program/program.h"
#include "libclient/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUNS 100u /* more than are remembered once they have ended */

#define PROGRAM "test/one" /* it_one_node() */

#define ROUNDS 20

enum { READY, PENDING, RESULT, AWAITED, COUNT };

struct first {
        struct it_host *host;
        struct pw_id ids[COUNT];
        uint32_t slice; /* of its session */
        uint64_t run;  /* that waits for PENDING */
        char gang[64]; /* of the run that made RESULT */
};

/* --- what the second tenant tries ------------------------------------------------------------------------------------------- */

static void list_fails(struct pw_session *session, const char *what, const char *filter, enum pw_status status)
{
        struct pw_listing *listing;

        it_fails(pw_list(session, what, filter, 0, &listing, IT_ERR), status, NULL);
}

/* Nobody's rows but those of the second tenant, which has one object. */
static void list_has(struct pw_session *session, const char *what, const char *filter, size_t rows)
{
        struct pw_listing *listing = it_list(session, what, filter);

        if (it_rows(listing) != rows) {
                it_print(listing);
                fail_msg("%s has %d rows, not %d", what, (int)it_rows(listing), (int)rows);
        }
        pw_listing_free(listing);
}

static void try_id(struct pw_session *session, struct pw_id id)
{
        struct pw_future *future;
        char text[PW_ID_TEXT_BYTES];

        pw_id_format(id, text);
        it_fails(pw_open(session, id, &future, IT_ERR), PW_NOT_FOUND, "no such segment");
        it_fails(pw_free_object(session, id, false, IT_ERR), PW_GONE, "no such object");
        it_fails(pw_free_object(session, id, true, IT_ERR), PW_GONE, "no such object");
        it_fails(pw_cancel_object(session, id, IT_ERR), PW_GONE, "no such object");
        list_has(session, "objects", text, 0);
        list_fails(session, "object", text, PW_GONE);
        list_fails(session, "why", text, PW_GONE);
}

static void try_names(struct pw_session *session)
{
        struct pw_future *future;

        it_fails(pw_lookup(session, "pending", 0, &future, IT_ERR), PW_NOT_FOUND, "not bound");
        it_fails(pw_lookup(session, "pending", 1000, &future, IT_ERR), PW_DEADLINE, NULL);
        it_fails(pw_unname(session, "pending", IT_ERR), PW_NOT_FOUND, "not bound");
        list_fails(session, "object", "pending", PW_NOT_FOUND);
        list_fails(session, "why", "pending", PW_NOT_FOUND);
}

static void try_work(struct pw_session *session, const struct first *first)
{
        char run[40];

        it_fails(pw_cancel_run(session, first->run, IT_ERR), PW_NOT_FOUND, NULL);
        list_has(session, "programs", NULL, 0);
        list_has(session, "runs", NULL, 0);
        list_has(session, "gangs", NULL, 0);
        list_fails(session, "why", first->gang, PW_NOT_FOUND);
        snprintf(run, sizeof run, "run %llu", (unsigned long long)first->run);
        list_fails(session, "why", run, PW_NOT_FOUND);
}

/* A trace that ends tells of runs that go on: of its own tenant's. */
static void try_trace(struct pw_session *session)
{
        struct pw_trace_chunk *part;
        bool end;

        do {
                it_ok(pw_trace_next(session, 0, true, &part, IT_ERR));
                const Pathways__Wire__Trace *trace = pw_trace_chunk_message(part);
                assert_int_equal(trace->n_runs, 0);
                assert_int_equal(trace->n_programs, 0);
                assert_int_equal(trace->n_gangs, 0);
                assert_int_equal(trace->n_moves, 0);
                end = trace->end;
                pw_trace_chunk_free(part);
        } while (!end);
}

/* A program over devices that the first tenant opened. */
static void try_slice(struct pw_session *session, const struct first *first)
{
        struct pw_slice *slice = it_slice(session, 1, 1), borrowed = *slice;
        struct pw_program *program = pw_program_new(session, "borrowed");

        borrowed.number = first->slice;
        pw_result(program, pw_input(program, &borrowed, PW_F64, PW_DIMS(8), PW_BROADCAST, 0));
        it_fails(pw_compile(program, IT_ERR), PW_NOT_FOUND, "is not open in this session");
        pw_program_free(program);
        pw_slice_close(slice);
}

/* Records that libpathways would never write, with every id of the first tenant; then all that was written is read. */
static void forge(struct pw_session *session, const struct first *first)
{
        struct pw_client_lane *lane;

        it_ok(pw_lane_get(session, &lane, IT_ERR));
        for (uint32_t i = 0; i < COUNT; i++) {
                struct pw_cell cell = pw_cell_object(PW_RING_REF, pw_id_segment(first->ids[i]), pw_id_slot(first->ids[i]),
                                                     first->ids[i].generation);

                it_ok(pw_lane_await_ring(lane, 4, IT_ERR));
                pw_ring_write(&lane->writer, cell);
                cell = pw_cell_object(PW_RING_DROP, pw_id_segment(first->ids[i]), pw_id_slot(first->ids[i]),
                                      first->ids[i].generation);
                for (uint32_t drops = 0; drops < 3; drops++)
                        pw_ring_write(&lane->writer, cell);
                pw_lane_publish(lane, true);
        }
        it_ok(pw_session_fence(session, IT_ERR));
}

/* A run whose input is `id`, of the first tenant, given away or not; its result, whose slot is `result`. */
static void forge_run(struct pw_session *session, const struct pw_program *program, struct pw_id id, uint8_t flags,
                      struct pw_id result)
{
        struct pw_client_lane *lane;

        it_ok(pw_lane_get(session, &lane, IT_ERR));
        it_ok(pw_lane_await_ring(lane, 4, IT_ERR));
        pw_ring_write(&lane->writer, pw_cell_run(0, 1, 1, program->number));
        pw_ring_write(&lane->writer, (struct pw_cell){ 0, 0 });
        pw_ring_write(&lane->writer, pw_cell_object(flags, pw_id_segment(id), pw_id_slot(id), id.generation));
        pw_ring_write(&lane->writer, pw_cell_object(0, pw_id_segment(result), pw_id_slot(result), result.generation));
        pw_lane_publish(lane, true);
}

/* A slot for a result of its own, by a run that is never submitted. */
static struct pw_id own_result(struct pw_session *session)
{
        struct pw_slot_request request = { PW_ROW_FUTURES, 0, INT64_MAX, 0 };
        struct pw_client_lane *lane;
        struct pw_slot slot;

        it_ok(pw_lane_get(session, &lane, IT_ERR));
        it_ok(pw_lane_take(lane, &request, &slot, IT_ERR));
        return pw_id_make(session->host, session->epoch, session->futures->number, slot.slot, slot.generation);
}

/* What is not its own is gone for it: so says its result. */
static void forge_inputs(struct pw_session *session, const struct first *first)
{
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_DIMS(8), NULL);
        struct pw_view view;

        for (uint32_t i = 0; i < 2 * COUNT; i++) {
                struct pw_id result = own_result(session);
                struct pw_future *future;

                forge_run(session, program, first->ids[i / 2], i % 2 ? PW_RUN_INPUT_DONATED : 0, result);
                it_ok(pw_open(session, result, &future, IT_ERR));
                it_fails(pw_get(future, IT_LONG, &view, IT_ERR), PW_GONE, NULL);
                pw_unref(future);
        }
        pw_program_free(program);
        pw_slice_close(slice);
}

/* A result in a slot that is not its own: its session ends, nobody else's. */
static void forge_results(const struct first *first)
{
        for (uint32_t i = 0; i < COUNT; i++) {
                struct pw_session *session = it_connect(first->host);
                struct pw_slice *slice = it_slice(session, 1, 1);
                struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_DIMS(8), NULL);
                struct pw_future *input = it_put_f64(session, PW_DIMS(8), 1);

                forge_run(session, program, pw_future_id(input), 0, first->ids[i]);
                it_fails(pw_session_fence(session, IT_ERR), PW_DAEMON_GONE, NULL);
                pw_unref(input);
                pw_program_free(program);
                pw_slice_close(slice);
                pw_close(session);
        }
}

static void try_transfer(struct pw_session *session, const struct first *first, struct pw_future *mine)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Transfer transfer = PATHWAYS__WIRE__TRANSFER__INIT;
        Pathways__Wire__ObjectId id = pw_wire_id(first->ids[READY]);
        char to[32];

        snprintf(to, sizeof to, "pid %d", (int)getppid());
        it_fails(pw_transfer(mine, to, IT_ERR), PW_NOT_FOUND, to);
        snprintf(to, sizeof to, "pid %d", (int)getpid());
        transfer.object = &id;
        transfer.to = to;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_TRANSFER;
        request.transfer = &transfer;
        it_fails(pw_session_tell(session, &request, IT_ERR), PW_GONE, "no such object");
}

/* Its own name is as that of the first tenant. */
static int second(void *context, int pipe)
{
        const struct first *first = context;
        struct pw_session *session = it_connect_as_other(first->host, 0);
        struct pw_future *mine, *found;

        it_ok(pw_put(session, "mine", 4, NULL, &mine, IT_ERR));
        it_ok(pw_name(mine, "weights", IT_ERR));
        assert_int_equal(write(pipe, "", 1), 1);
        for (uint32_t i = 0; i < ROUNDS; i++) {
                for (uint32_t j = 0; j < COUNT; j++)
                        try_id(session, first->ids[j]);
                try_names(session);
                try_work(session, first);
                try_trace(session);
                try_slice(session, first);
                try_transfer(session, first, mine);
                forge(session, first);
                list_has(session, "objects", NULL, 1);
        }
        forge_inputs(session, first);
        forge_results(first);
        it_ok(pw_lookup(session, "weights", 0, &found, IT_ERR));
        assert_int_equal(pw_future_id(found).place, pw_future_id(mine).place);
        it_ok(pw_unname(session, "weights", IT_ERR));
        pw_unref(found);
        pw_unref(mine);
        pw_close(session);
        return 0;
}

/* --- what the first tenant has ---------------------------------------------------------------------------------------------- */

static int64_t refs_of(struct pw_session *session, struct pw_id id)
{
        char text[PW_ID_TEXT_BYTES];
        struct pw_listing *listing = it_list(session, "objects", pw_id_format(id, text));
        int64_t refs = it_number(listing, it_find(listing, "id", text), "refs");

        pw_listing_free(listing);
        return refs;
}

static void note_work(struct first *first)
{
        struct pw_session *session = first->host->session;
        struct pw_listing *runs = it_list(session, "runs", NULL), *gangs = it_list(session, "gangs", NULL);

        first->run = (uint64_t)it_number(runs, it_find(runs, "state", "waiting"), "run");
        size_t row = it_find(gangs, "program", "test/one"); /* of a run that has ended */
        snprintf(first->gang, sizeof first->gang, "gang %s %lld", it_text(gangs, row, "device"),
                 (long long)it_number(gangs, row, "seq"));
        pw_listing_free(runs);
        pw_listing_free(gangs);
}

static void put_meanwhile(struct pw_session *session)
{
        int64_t since_us = it_now_us();

        for (uint32_t i = 0; i < 2000; i++) {
                struct pw_future *future = it_put_scalar(session, i);

                assert_true(it_get_scalar(future) == i);
                pw_unref(future);
        }
        it_within("2000 values beside another tenant", since_us, IT_SECOND);
}

static void expect_name(struct pw_session *session, const char *name, struct pw_id id)
{
        struct pw_future *future;

        it_ok(pw_lookup(session, name, 0, &future, IT_ERR));
        assert_int_equal(pw_future_id(future).place, id.place);
        assert_int_equal(pw_future_id(future).generation, id.generation);
        pw_unref(future);
        it_ok(pw_unname(session, name, IT_ERR));
}

static void another_tenant_has_all_ids(void **state)
{
        struct it_host *host = *state;
        struct pw_session *session = host->session;
        struct pw_put_params params = { .dtype = PW_F64 };
        struct first first = { .host = host };
        struct pw_future *futures[COUNT];
        const double expected[] = { 7, 8, 9, 10, 11, 12, 13, 14 };
        int64_t refs[COUNT];
        void *data;
        char byte;

        if (it_alone(host))
                skip();
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_DIMS(8), NULL);
        struct pw_program *scalar = it_one_node(session, slice, "pw/nop", PW_SCALAR, NULL);
        futures[READY] = it_put_f64(session, PW_DIMS(8), 7);
        it_ok(pw_create(session, sizeof(double), &params, &futures[PENDING], &data, IT_ERR));
        for (uint32_t i = 0; i < RUNS; i++) { /* so many that the first are forgotten: nobody knows whose gangs those were */
                futures[RESULT] = it_run_1(program, futures[READY]);
                it_expect_f64(futures[RESULT], expected, 8);
                if (i + 1 < RUNS)
                        pw_unref(futures[RESULT]);
        }
        it_ok(pw_name(futures[READY], "weights", IT_ERR));
        it_ok(pw_name(futures[PENDING], "pending", IT_ERR));
        futures[AWAITED] = it_run_1(scalar, futures[PENDING]);
        for (uint32_t i = 0; i < COUNT; i++) {
                first.ids[i] = pw_future_id(futures[i]);
                refs[i] = refs_of(session, first.ids[i]);
        }
        note_work(&first);
        first.slice = slice->number;

        struct it_child child = it_fork(second, &first);
        it_read(&child, &byte, 1);
        put_meanwhile(session);
        assert_int_equal(it_reap(&child, 0), 0);

        for (uint32_t i = 0; i < COUNT; i++)
                assert_int_equal(refs_of(session, first.ids[i]), refs[i]);
        expect_name(session, "weights", first.ids[READY]);
        expect_name(session, "pending", first.ids[PENDING]);
        it_expect_f64(futures[READY], expected, 8);
        it_expect_f64(futures[RESULT], expected, 8);
        assert_int_equal(pw_poll(futures[AWAITED]), PW_NOT_READY);
        *(double *)data = 7;
        it_ok(pw_seal(futures[PENDING], IT_ERR));
        it_expect_f64(futures[AWAITED], expected, 1);
        for (uint32_t i = 0; i < COUNT; i++)
                pw_unref(futures[i]);
        pw_program_free(program);
        pw_program_free(scalar);
        pw_slice_close(slice);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(another_tenant_has_all_ids),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

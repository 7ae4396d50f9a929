/* Questions to the describing executor when it comes and goes. */
#include "daemon/work/shape/describe.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/session/output.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct pw_dsession *asked[8];
static uint32_t asked_count, killed, answered;

void pw_session_send(struct pw_dsession *session, struct pw_outgoing *out_take)
{
        free(out_take);
        asked[asked_count++] = session;
}
void pw_child_kill(struct pw_daemon *daemon, uint32_t number, enum pw_status status, const char *why)
{
        (void)daemon, (void)number, (void)status, (void)why;
        killed++;
}
uint64_t pw_now_us(void) { return 1000; }

static struct pw_outgoing *frame(void) { return malloc(16); }
static void done(void *context, enum pw_status status, const struct pw_function_facts *facts, const struct pw_error *err)
{
        (void)facts, (void)err;
        *(enum pw_status *)context = status;
        answered++;
}

static uint64_t next_id;
static struct pw_shape_value output; /* of every question */

static void ask(struct pw_daemon *daemon, struct pw_shape_query *query, enum pw_status *status)
{
        pw_describe_ask(daemon, &(struct pw_ask){ ++next_id, frame(), query, done, status });
}

/* Its socket is seen closed a turn before its process is: whoever asks in between waits for the next one. */
static void a_describer_is_not_asked_after_its_session(void **state)
{
        struct pw_daemon daemon = { 0 };
        struct pw_dsession *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
        struct pw_shape_query queries[] = { { .function = "m/one", .task = { .output_count = 1, .outputs = &output } },
                                            { .function = "m/two", .task = { .output_count = 1, .outputs = &output } },
                                            { .function = "m/three", .task = { .output_count = 1, .outputs = &output } } };
        enum pw_status statuses[3] = { 0 };

        (void)state;
        assert_int_equal(pw_describe_new(&daemon, &daemon.work.describe, NULL), PW_OK);
        pw_describe_up(&daemon, first);
        ask(&daemon, &queries[0], &statuses[0]);
        ask(&daemon, &queries[1], &statuses[1]);
        assert_int_equal(asked_count, 1);
        pw_describe_detached(&daemon);
        free(first);
        pw_describe_forget(&daemon, &statuses[0]); /* its client leaves too: the second is now the first */
        ask(&daemon, &queries[2], &statuses[2]);
        assert_int_equal(asked_count, 1);
        pw_describe_down(&daemon, PW_CRASHED, "SIGSEGV");
        assert_int_equal(answered, 0); /* neither had been asked */
        pw_describe_up(&daemon, second);
        assert_int_equal(asked_count, 2);
        assert_ptr_equal(asked[1], second);
        pw_describe_detached(&daemon);
        pw_describe_down(&daemon, PW_CRASHED, "SIGSEGV");
        assert_int_equal(answered, 1);
        assert_int_equal(statuses[1], PW_CRASHED);
        assert_int_equal(killed, 0);
        pw_describe_free(daemon.work.describe);
        free(second);
}

/* Who asked leaves, and the executor is still in that function: what was asked after it is neither asked nor blamed before. */
static void what_is_asked_is_waited_for(void **state)
{
        struct pw_daemon daemon = { .device_count = 1 };
        struct pw_dsession *describer = calloc(1, sizeof *describer);
        struct pw_shape_query *left = calloc(1, sizeof *left);
        struct pw_shape_query next = { .function = "m/next", .task = { .output_count = 1, .outputs = &output } };
        enum pw_status statuses[2] = { 0 };

        (void)state;
        asked_count = killed = answered = 0;
        left->function = "m/left";
        assert_int_equal(pw_describe_new(&daemon, &daemon.work.describe, NULL), PW_OK);
        pw_describe_up(&daemon, describer);
        ask(&daemon, left, &statuses[0]);
        assert_ptr_equal(pw_describe_now(&daemon).context, &statuses[0]);
        pw_describe_forget(&daemon, &statuses[0]);
        free(left);
        ask(&daemon, &next, &statuses[1]);
        assert_int_equal(asked_count, 1);
        assert_null(pw_describe_now(&daemon).context);
        assert_int_equal(pw_describe_now(&daemon).since_us, 1000);
        pw_describe_tick(&daemon, 1000 + pw_describe_now(&daemon).limit_us);
        assert_int_equal(killed, 1);
        pw_describe_detached(&daemon);
        pw_describe_down(&daemon, PW_TIME_LIMIT, "over its limit");
        assert_int_equal(answered, 0);
        pw_describe_up(&daemon, describer);
        assert_int_equal(asked_count, 2);
        assert_ptr_equal(pw_describe_now(&daemon).context, &statuses[1]);
        pw_describe_free(daemon.work.describe);
        free(describer);
}

/* A reply to the question asked last. */
static void answer(struct pw_daemon *daemon, uint64_t id, uint32_t outputs, uint32_t rank)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Described described = PATHWAYS__WIRE__DESCRIBED__INIT;
        Pathways__Wire__Type type = PATHWAYS__WIRE__TYPE__INIT, *types[] = { &type, &type };
        uint64_t dims[PW_RANK_MAX + 1] = { 4, 6, 1, 1, 1, 1, 1, 1, 1 };

        type.dtype = PW_F64;
        type.dims = dims;
        type.n_dims = rank;
        described.outputs = types;
        described.n_outputs = outputs;
        reply.id = id;
        reply.text = (char *)"";
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_DESCRIBED;
        reply.described = &described;
        pw_describe_answered(daemon, &reply);
}

/* What a shape function says is checked and used. */
static void answers_are_checked(void **state)
{
        struct pw_daemon daemon = { 0 };
        struct pw_dsession *describer = calloc(1, sizeof *describer);
        struct pw_shape_query query = { .function = "m/shape", .task = { .output_count = 1, .outputs = &output } };
        enum pw_status status = PW_OK;

        (void)state;
        asked_count = answered = 0;
        next_id = 0;
        assert_int_equal(pw_describe_new(&daemon, &daemon.work.describe, NULL), PW_OK);
        pw_describe_up(&daemon, describer);
        ask(&daemon, &query, &status);
        answer(&daemon, 99, 1, 2); /* to somebody else's question */
        assert_int_equal(answered, 0);
        answer(&daemon, 1, 2, 2);
        assert_int_equal(answered, 1);
        assert_int_equal(status, PW_PROTOCOL);
        ask(&daemon, &query, &status);
        answer(&daemon, 2, 1, PW_RANK_MAX + 1);
        assert_int_equal(answered, 2);
        assert_int_equal(status, PW_PROTOCOL);
        ask(&daemon, &query, &status);
        answer(&daemon, 3, 1, 2);
        assert_int_equal(answered, 3);
        assert_int_equal(status, PW_OK);
        assert_int_equal(query.task.outputs[0].dtype, PW_F64);
        assert_int_equal(query.task.outputs[0].dims.rank, 2);
        assert_int_equal(query.task.outputs[0].dims.dim[1], 6);
        answer(&daemon, 3, 1, 2); /* nothing is asked */
        assert_int_equal(answered, 3);
        assert_int_equal(asked_count, 3);
        pw_describe_detached(&daemon);
        pw_describe_free(daemon.work.describe);
        free(describer);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_describer_is_not_asked_after_its_session),
                cmocka_unit_test(what_is_asked_is_waited_for),
                cmocka_unit_test(answers_are_checked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

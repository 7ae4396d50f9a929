/* After fork: the parent goes on, the child is told so by every call, and may connect for itself. */
#include "tests/integration/harness.h"
#include "tests/integration/trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One of everything that the parent has. */
struct things {
        struct it_host *host;
        struct pw_session *session;
        struct pw_future *ready, *pending, *looked_at;
        struct pw_slice *slice;
        struct pw_program *program, *traced;
        struct pw_value *input;
        struct pw_view view;
};

static void make_things(struct things *things, struct it_host *host)
{
        void *data;

        *things = (struct things){ .host = host, .session = host->session };
        it_ok(pw_put(things->session, "a text that takes a room of its own", 36, NULL, &things->ready, IT_ERR));
        it_ok(pw_put(things->session, "another text that takes a room", 31, NULL, &things->looked_at, IT_ERR));
        it_ok(pw_get(things->looked_at, 0, &things->view, IT_ERR));
        it_ok(pw_create(things->session, 100, NULL, &things->pending, &data, IT_ERR));
        things->slice = it_slice(things->session, 2, 1);
        things->program = pw_program_new(things->session, "test/fork");
        things->input = pw_input(things->program, things->slice, PW_U8, PW_DIMS(36), PW_BROADCAST, PW_DONATED);
        pw_result(things->program, pw_call(things->program, things->slice, "pw/nop", PW_ARGS(things->input), PW_BROADCAST));
        it_ok(pw_compile(things->program, IT_ERR));
        things->traced = pw_program_new(things->session, "test/traced");
        pw_result(things->traced, pw_input(things->traced, things->slice, PW_U8, PW_DIMS(36), PW_BROADCAST, 0));
}

static int told(enum pw_status status, const struct pw_error *err, const char *call)
{
        if (status == PW_FORKED && (!err || err->status == PW_FORKED))
                return 0;
        fprintf(stderr, "in the child %s gave %s\n", call, pw_status_name(status));
        return 1;
}
#define TOLD(call) wrong += told(call, &err, #call)

static int use_session(struct things *t)
{
        struct pw_session *pw = t->session;
        struct pw_future *future;
        struct pw_slice *slice;
        struct pw_error err;
        void *data;
        int wrong = 0, fd;

        TOLD(pw_session_fd(pw, &fd, &err));
        TOLD(pw_notified(pw, &future, &err));
        TOLD(pw_put(pw, "x", 1, NULL, &future, &err));
        TOLD(pw_create(pw, 100, NULL, &future, &data, &err));
        TOLD(pw_open(pw, (struct pw_id){ 0 }, &future, &err));
        TOLD(pw_unname(pw, "name", &err));
        TOLD(pw_lookup(pw, "name", PW_FOREVER, &future, &err));
        TOLD(pw_slice_open(pw, &(struct pw_slice_params){ .device_count = 1 }, &slice, &err));
        TOLD(pw_compile(t->traced, &err));
        TOLD(pw_run_with(t->program, &t->ready, 1, NULL, &future, &err));
        return wrong;
}

static int use_futures(struct things *t, struct pw_future *f)
{
        struct pw_future *both[] = { f, t->ready };
        struct pw_error err;
        struct pw_info info;
        struct pw_view view;
        int wrong = 0;

        TOLD(pw_get(f, PW_FOREVER, &view, &err));
        TOLD(pw_get_shard(f, 0, PW_FOREVER, &view, &err));
        TOLD(pw_wait(both, 2, 1, PW_FOREVER, NULL, &err));
        TOLD(pw_future_info(f, &info, &err));
        TOLD(pw_name(f, "name", &err));
        TOLD(pw_lease(f, 1000, &err));
        TOLD(pw_transfer(f, "name weights", &err));
        TOLD(pw_cancel(f, &err));
        TOLD(pw_relocate(&f, NULL, &err));
        TOLD(pw_notify(f, &err));
        TOLD(pw_seal(f, &err));
        TOLD(pw_abort(f, &err));
        wrong += told(pw_poll(f), NULL, "pw_poll");
        pw_future_id(f);
        return wrong;
}

/* The child of a process that holds handles: everything is used, then given back, in vain but without harm. */
static int in_child(struct things *t)
{
        struct pw_session *own;
        struct pw_future *future;
        struct pw_error err;
        struct pw_view view;
        int wrong = use_session(t) + use_futures(t, t->ready) + use_futures(t, t->pending) + use_futures(t, t->looked_at);

        if (pw_connect(t->host->socket, &own, &err) != PW_OK || pw_put(own, "x", 1, NULL, &future, &err) != PW_OK ||
            pw_get(future, 0, &view, &err) != PW_OK || *(const char *)view.data != 'x')
                return fprintf(stderr, "in the child: %s\n", err.text);
        pw_view_done(&view);
        pw_view_done(&t->view);
        pw_unref(pw_ref(t->ready));
        pw_unref(t->ready);
        pw_unref(t->pending);
        pw_unref(t->looked_at);
        pw_program_free(t->program);
        pw_program_free(t->traced);
        pw_slice_device_count(t->slice);
        pw_slice_close(t->slice);
        pw_close(t->session);
        pw_unref(future);
        pw_close(own);
        return wrong;
}

static void a_child_is_told(void **state)
{
        struct it_host *host = *state;
        struct things things;
        struct pw_future *result;
        int status;

        make_things(&things, host);
        pid_t child = fork();
        if (child == 0) {
                alarm(25);
                _exit(in_child(&things) != 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        /* The parent has what it had. */
        assert_memory_equal(things.view.data, "another text", 12);
        pw_view_done(&things.view);
        assert_int_equal(pw_poll(things.pending), PW_NOT_READY);
        it_ok(pw_seal(things.pending, IT_ERR));
        it_ok(pw_run(things.program, PW_FUTURES(things.ready), &result, IT_ERR));
        it_ok(pw_get(result, IT_LONG, &things.view, IT_ERR));
        assert_memory_equal(things.view.data, "a text", 6);
        pw_view_done(&things.view);
        pw_unref(result);
        pw_unref(things.ready);
        pw_unref(things.pending);
        pw_unref(things.looked_at);
        pw_program_free(things.program);
        pw_program_free(things.traced);
        pw_slice_close(things.slice);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(a_child_is_told) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

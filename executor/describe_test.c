/* The describing executor, with a test in the daemon's place. */
#include "base/memory.h"
#include "executor/describe.h"
#include "libclient/socket/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct describer {
        int fd;
        pid_t pid;
        struct pw_decoder decoder;
};

static void request_send(struct describer *describer, const Pathways__Wire__Request *request)
{
        uint8_t message[4096];
        size_t bytes = pathways__wire__request__pack(request, message);
        struct pw_error err;

        assert_int_equal(pw_frame_send(describer->fd, PW_FRAME_REQUEST, message, (uint32_t)bytes, NULL, 0, &err), PW_OK);
}

static void reply_send(struct describer *describer, const Pathways__Wire__Reply *reply, int fd)
{
        uint8_t message[4096];
        size_t bytes = pathways__wire__reply__pack(reply, message);
        struct pw_error err;

        assert_int_equal(pw_frame_send(describer->fd, PW_FRAME_REPLY, message, (uint32_t)bytes, &fd, fd >= 0, &err), PW_OK);
}

static struct pw_frame frame_read(struct describer *describer, enum pw_frame_kind kind)
{
        struct pw_frame frame;
        struct pw_error err;
        enum pw_status status;
        size_t bytes;

        while ((status = pw_frame_next(&describer->decoder, &frame, &err)) == PW_NOT_READY)
                if (pw_decoder_read(&describer->decoder, describer->fd, true, &bytes, &err) != PW_OK)
                        fail_msg("%s", err.text);
        assert_int_equal(status, PW_OK);
        assert_int_equal(frame.kind, kind);
        return frame;
}

static Pathways__Wire__Request *request_read(struct describer *describer)
{
        struct pw_frame frame = frame_read(describer, PW_FRAME_REQUEST);

        return pathways__wire__request__unpack(NULL, frame.bytes, frame.payload);
}

static Pathways__Wire__Reply *reply_read(struct describer *describer, uint64_t id)
{
        struct pw_frame frame = frame_read(describer, PW_FRAME_REPLY);
        Pathways__Wire__Reply *reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);

        assert_int_equal(reply->id, id);
        return reply;
}

/* Answer the request for a module that must come now. */
static void module_answer(struct describer *describer, const char *expected)
{
        static const char *const folders[] = { "executor/modules", "tests/integration/modules" };
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Module module = PATHWAYS__WIRE__MODULE__INIT;
        Pathways__Wire__Request *request = request_read(describer);
        const char *top = getenv("PW_BUILD");
        char path[4096];
        int fd = -1;

        assert_int_equal(request->body_case, PATHWAYS__WIRE__REQUEST__BODY_MODULE);
        assert_string_equal(request->module->module, expected);
        assert_int_equal(request->module->digest, 77);
        for (uint32_t i = 0; i < pw_array_count(folders) && fd < 0; i++) {
                snprintf(path, sizeof path, "%s/%s/.libs/%s.so", top ? top : ".", folders[i], expected);
                fd = open(path, O_RDONLY | O_CLOEXEC);
        }
        reply.id = request->id;
        if (fd >= 0) {
                module.digest = request->module->digest;
                reply.body_case = PATHWAYS__WIRE__REPLY__BODY_MODULE;
                reply.module = &module;
        } else {
                reply.status = PW_NOT_FOUND;
                reply.text = (char *)(uintptr_t)"no such module";
        }
        reply_send(describer, &reply, fd);
        if (fd >= 0)
                close(fd);
        pathways__wire__request__free_unpacked(request, NULL);
}

static void describe(struct describer *describer, uint64_t id, const char *module, const char *function, uint32_t dtype)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Describe body = PATHWAYS__WIRE__DESCRIBE__INIT;
        Pathways__Wire__Type type = PATHWAYS__WIRE__TYPE__INIT, *types[] = { &type };
        uint64_t dims[] = { 4, 9 };

        type.dtype = dtype;
        type.dims = dims;
        type.n_dims = 2;
        body.module = (char *)(uintptr_t)module;
        body.function = (char *)(uintptr_t)function;
        body.digest = 77;
        body.inputs = types;
        body.n_inputs = 1;
        body.output_count = 1;
        request.id = id;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_DESCRIBE;
        request.describe = &body;
        request_send(describer, &request);
}

static void expect_error(struct describer *describer, uint64_t id, enum pw_status status, const char *text)
{
        Pathways__Wire__Reply *reply = reply_read(describer, id);

        assert_int_equal(reply->status, status);
        assert_non_null(strstr(reply->text, text));
        pathways__wire__reply__free_unpacked(reply, NULL);
}

static void expect_shape(struct describer *describer, uint64_t id, uint64_t time_limit_us, uint32_t in_place)
{
        Pathways__Wire__Reply *reply = reply_read(describer, id);

        assert_int_equal(reply->body_case, PATHWAYS__WIRE__REPLY__BODY_DESCRIBED);
        assert_int_equal(reply->described->n_outputs, 1);
        assert_int_equal(reply->described->outputs[0]->dtype, PW_F32);
        assert_int_equal(reply->described->outputs[0]->n_dims, 2);
        assert_int_equal(reply->described->outputs[0]->dims[1], 9);
        assert_int_equal(reply->described->time_limit_us, time_limit_us);
        assert_int_equal(reply->described->in_place, in_place);
        pathways__wire__reply__free_unpacked(reply, NULL);
}

/* --- starting ----------------------------------------------------------------------------------------------------------------- */

static int start(void **state)
{
        struct describer *describer = calloc(1, sizeof *describer);
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Welcome welcome = PATHWAYS__WIRE__WELCOME__INIT;
        Pathways__Wire__Request *hello;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        describer->pid = fork();
        if (!describer->pid) {
                struct pw_error err;
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
                close(pair[0]);
                _exit(pw_describe_serve(pair[1], &err) == PW_DAEMON_GONE ? 0 : 1);
        }
        close(pair[1]);
        describer->fd = pair[0];
        pw_decoder_init(&describer->decoder);
        hello = request_read(describer);
        assert_int_equal(hello->body_case, PATHWAYS__WIRE__REQUEST__BODY_HELLO);
        assert_string_equal(hello->hello->role, "describer");
        reply.id = hello->id;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_WELCOME;
        reply.welcome = &welcome;
        reply_send(describer, &reply, -1);
        pathways__wire__request__free_unpacked(hello, NULL);
        *state = describer;
        return 0;
}

static int stop(void **state)
{
        struct describer *describer = *state;

        close(describer->fd);
        pw_decoder_done(&describer->decoder);
        free(describer);
        return 0;
}

/* The socket ends: so does the process, with status 0. */
static int stop_clean(void **state)
{
        pid_t pid = ((struct describer *)*state)->pid;
        int status;

        stop(state);
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* --- tests -------------------------------------------------------------------------------------------------------------------- */

static void test_shapes(void **state)
{
        describe(*state, 41, "pw", "add", PW_F32);
        module_answer(*state, "pw");
        expect_shape(*state, 41, 0, 1);
        describe(*state, 42, "pw", "nop", PW_F32); /* the module is there now */
        expect_shape(*state, 42, 0, 1);
        describe(*state, 43, "broken", "loop", PW_F32);
        module_answer(*state, "broken");
        expect_shape(*state, 43, 200000, 0);
}

static void test_errors(void **state)
{
        describe(*state, 1, "pw", "scale", PW_F32);
        module_answer(*state, "pw");
        expect_error(*state, 1, PW_SHAPE, "params are one f64");
        describe(*state, 2, "pw", "subtract", PW_F32);
        expect_error(*state, 2, PW_NOT_FOUND, "module pw has no function subtract");
        describe(*state, 3, "pw", "add", 99);
        expect_error(*state, 3, PW_SHAPE, "dtype 99");
        describe(*state, 4, "nowhere", "add", PW_F32);
        module_answer(*state, "nowhere");
        expect_error(*state, 4, PW_NOT_FOUND, "no such module");
        describe(*state, 5, "other_abi", "nop", PW_F32);
        module_answer(*state, "other_abi");
        expect_error(*state, 5, PW_BAD_MODULE, "has ABI 6");
}

/* Questions that come while it waits for a module are answered afterwards, in their order. */
static void test_questions_meanwhile(void **state)
{
        describe(*state, 7, "pw", "add", PW_F32);
        describe(*state, 8, "broken", "fail", PW_F32);
        describe(*state, 9, "pw", "nop", PW_F32);
        module_answer(*state, "pw");
        expect_shape(*state, 7, 0, 1);
        module_answer(*state, "broken");
        expect_shape(*state, 8, 0, 0);
        expect_shape(*state, 9, 0, 1);
}

static void test_crash(void **state)
{
        struct describer *describer = *state;
        int status;

        describe(describer, 1, "broken", "shapeless", PW_F32);
        module_answer(describer, "broken");
        assert_int_equal(waitpid(describer->pid, &status, 0), describer->pid);
        assert_true(WIFSIGNALED(status));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_shapes, start, stop_clean),
                cmocka_unit_test_setup_teardown(test_errors, start, stop_clean),
                cmocka_unit_test_setup_teardown(test_questions_meanwhile, start, stop_clean),
                cmocka_unit_test_setup_teardown(test_crash, start, stop),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

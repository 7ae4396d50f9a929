/* Statuses of calls that no other test provokes, for the table of statuses in libpathways(3), see tests/check/outcomes.sh. */
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* --- connecting ---------------------------------------------------------------------------------------------------------- */

/* root may do everything: somebody else tries. */
static int without_rights(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_session *session;
        struct pw_error err;

        (void)pipe;
        if (geteuid() == 0 ? setresuid(65534, 65534, 65534) != 0 : chmod(host->folder, 0) != 0)
                return 1;
        enum pw_status status = pw_connect(host->socket, &session, &err);
        if (geteuid() != 65534 && chmod(host->folder, 0700) != 0)
                return 2;
        return status == PW_DENIED ? 0 : 3;
}

/* Answers whoever connects with what no daemon says. */
static int speak_nonsense(void *context, int pipe)
{
        const struct sockaddr_un *address = context;
        char nonsense[64] = "HTTP/1.1 400 Bad Request";
        int listener = socket(AF_UNIX, SOCK_STREAM, 0), peer;

        if (bind(listener, (const struct sockaddr *)address, sizeof *address) || listen(listener, 1) || write(pipe, "l", 1) != 1)
                return 1;
        peer = accept(listener, NULL, NULL);
        if (peer < 0 || send(peer, nonsense, sizeof nonsense, 0) < 0)
                return 2;
        for (;;)
                pause();
}

static void of_connecting(void **state)
{
        struct it_host *host = *state;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct it_child child = it_fork(without_rights, host);
        struct pw_session *session;
        char byte;

        assert_int_equal(it_reap_within(&child, IT_LONG), 0);
        snprintf(address.sun_path, sizeof address.sun_path, "%s/odd", host->folder);
        child = it_fork(speak_nonsense, &address);
        it_read(&child, &byte, 1);
        it_fails(pw_connect(address.sun_path, &session, IT_ERR), PW_PROTOCOL, "");
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        unlink(address.sun_path);
}

/* --- values, room and programs ---------------------------------------------------------------------------------------------- */

static void of_waiting(void **state)
{
        struct pw_session *pw = ((struct it_host *)*state)->session;
        struct pw_future *future;
        struct pw_view view;
        void *data;

        it_ok(pw_create(pw, 8, NULL, &future, &data, IT_ERR));
        it_fails(pw_get(future, 1000, &view, IT_ERR), PW_DEADLINE, "pathways why");
        it_fails(pw_get_shard(future, 0, 1000, &view, IT_ERR), PW_DEADLINE, "pathways why");
        it_fails(pw_get_shard(future, 0, 0, &view, IT_ERR), PW_NOT_READY, "not ready yet");
        it_ok(pw_abort(future, IT_ERR));
        it_fails(pw_get_shard(future, 0, 0, &view, IT_ERR), PW_CANCELLED, "");
        it_fails(pw_relocate(&future, NULL, IT_ERR), PW_CANCELLED, "");
        pw_unref(future);
}

static int setup_small(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:2", "--device-memory", "16MiB", "--host-memory", "96MiB"));
}

/* On devices it takes 16 MiB each; with what is there 16 MiB more fit into host memory. */
static void of_room(void **state)
{
        struct pw_session *pw = ((struct it_host *)*state)->session;
        struct pw_put_params soon = { .timeout_us = 1000 }, shaped = { .dtype = PW_F64, .dims = PW_DIMS(2) };
        struct pw_slice_params params = { .device_count = 2, .memory_bytes = 12 << 20 };
        struct pw_slice *slice = it_slice(pw, 1, 1), *second;
        struct pw_relocate_params there = { .slice = slice };
        struct pw_future *held, *future;
        void *bytes = calloc(1, 40 << 20), *data;

        assert_non_null(bytes);
        it_fails(pw_put(pw, bytes, UINT64_C(1) << 50, NULL, &future, IT_ERR), PW_TOO_LARGE, "capacity");
        it_fails(pw_create(pw, 8, &shaped, &future, &data, IT_ERR), PW_SHAPE, "16 bytes");
        it_ok(pw_put(pw, bytes, 40 << 20, NULL, &held, IT_ERR));
        it_fails(pw_put(pw, bytes, 40 << 20, &soon, &future, IT_ERR), PW_NO_SPACE, "MiB");
        it_fails(pw_relocate(&held, &there, IT_ERR), PW_TOO_LARGE, "MiB");
        pw_unref(held);
        it_ok(pw_put(pw, bytes, 10 << 20, NULL, &held, IT_ERR));
        there.sharding = PW_SPLIT(2);
        it_fails(pw_relocate(&held, &there, IT_ERR), PW_SHAPE, "");
        there.sharding = PW_BROADCAST;
        it_ok(pw_relocate(&held, &there, IT_ERR));
        it_fails(pw_slice_open(pw, &params, &second, IT_ERR), PW_NO_SPACE, "less than");
        pw_unref(held);
        pw_slice_close(slice);
        free(bytes);
}

static void of_program(void **state)
{
        struct pw_session *pw = ((struct it_host *)*state)->session;
        struct pw_slice *slice = it_slice(pw, 1, 1);
        struct pw_program *program = pw_program_new(pw, "outcomes/missing"), *large = pw_program_new(pw, "outcomes/large");
        struct pw_future *input = it_put_f64(pw, PW_DIMS(8), 1), *result;

        pw_result(program, pw_call(program, slice, "missing/nop", PW_NO_ARGS, PW_BROADCAST));
        it_fails(pw_compile(program, IT_ERR), PW_NOT_FOUND, "missing");
        pw_program_free(program);
        pw_result(large, pw_input(large, slice, PW_F64, PW_DIMS(UINT64_MAX, 2), PW_BROADCAST, 0));
        it_fails(pw_compile(large, IT_ERR), PW_TOO_LARGE, "pw_input()");
        pw_program_free(large);
        program = it_one_node(pw, slice, "pw/nop", PW_DIMS(4), NULL);
        it_fails(pw_run_with(program, PW_FUTURES(input), NULL, &result, IT_ERR), PW_SHAPE, "[8]");
        pw_program_free(program);
        program = pw_program_new(pw, "outcomes/donate");
        pw_result(program, pw_call(program, slice, "pw/nop",
                                   PW_ARGS(pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, PW_DONATED)), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        struct pw_future *none = NULL;
        it_fails(pw_run_with(program, PW_FUTURES(NULL), NULL, &result, IT_ERR), PW_INVALID, "input 0|NULL");
        it_fails(pw_run_with(program, PW_FUTURES(pw_donate(&none)), NULL, &result, IT_ERR), PW_DONATED_USE, "input 0");
        pw_program_free(program);
        pw_unref(input);
        pw_slice_close(slice);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(of_connecting), IT_TEST(of_waiting), cmocka_unit_test_setup_teardown(of_room, setup_small, it_teardown),
                        IT_TEST(of_program),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

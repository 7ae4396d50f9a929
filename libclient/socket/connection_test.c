/* The socket of a connection when its other side does not read: what was posted without waiting goes out when there is room, whole,
 * in order, and by itself. */
#include "libclient/socket/connection.h"
#include "libclient/socket/outgoing.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define POSTS 20000u /* of some bytes: more than a socket takes */
#define LARGE (1u << 20) /* more than a socket takes, too */
#define PATIENCE_MS 25000

struct peer { int fd; struct pw_decoder decoder; };

/* The next frame, a request; fails the test if none comes. Doorbells are skipped by the decoder. */
static Pathways__Wire__Request *next_request(struct peer *peer)
{
        struct pw_frame frame;
        size_t bytes;

        while (pw_frame_next(&peer->decoder, &frame, NULL) != PW_OK) {
                struct pollfd on = { .fd = peer->fd, .events = POLLIN };

                if (poll(&on, 1, PATIENCE_MS) != 1)
                        fail_msg("nothing comes");
                assert_int_equal(pw_decoder_read(&peer->decoder, peer->fd, false, &bytes, NULL), PW_OK);
        }
        assert_int_equal(frame.kind, PW_FRAME_REQUEST);
        return pathways__wire__request__unpack(NULL, frame.bytes, frame.payload);
}

static void *welcome(void *context)
{
        struct peer *peer = context;
        Pathways__Wire__Request *hello = next_request(peer);
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Welcome body = PATHWAYS__WIRE__WELCOME__INIT;
        uint8_t message[256];

        body.version = hello->hello->version;
        reply.id = hello->id;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_WELCOME;
        reply.welcome = &body;
        assert_true(pathways__wire__reply__get_packed_size(&reply) <= sizeof message);
        assert_int_equal(pw_frame_send(peer->fd, PW_FRAME_REPLY, message, (uint32_t)pathways__wire__reply__pack(&reply, message),
                                       NULL, 0, NULL),
                         PW_OK);
        pathways__wire__request__free_unpacked(hello, NULL);
        return NULL;
}

static struct pw_connection *connect_to(struct peer *peer)
{
        struct pw_connection *connection;
        struct pw_answer answer;
        struct pw_error err;
        pthread_t thread;
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        peer->fd = ends[1];
        pw_decoder_init(&peer->decoder);
        assert_int_equal(pthread_create(&thread, NULL, welcome, peer), 0);
        if (pw_connection_open(&(struct pw_connection_params){ .fd = ends[0], .role = "client" }, &connection, &answer,
                               &err) != PW_OK)
                fail_msg("%s", err.text);
        pw_answer_done(&answer);
        assert_int_equal(pthread_join(thread, NULL), 0);
        return connection;
}

static void end(struct peer *peer, struct pw_connection *connection)
{
        pw_connection_close(connection);
        pw_decoder_done(&peer->decoder);
        close(peer->fd);
}

static void test_posted_to_a_full_socket(void **state)
{
        struct pw_connection *connection;
        struct peer peer;
        char name[16];

        (void)state;
        connection = connect_to(&peer);
        for (uint32_t i = 0; i < POSTS; i++) {
                Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
                Pathways__Wire__NameRemove body = PATHWAYS__WIRE__NAME_REMOVE__INIT;

                snprintf(name, sizeof name, "%u", i);
                body.name = name;
                request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE;
                request.name_remove = &body;
                assert_int_equal(pw_connection_post_soon(connection, &request, NULL), PW_OK);
        }
        for (uint32_t i = 0; i < POSTS; i++) {
                Pathways__Wire__Request *request = next_request(&peer);

                snprintf(name, sizeof name, "%u", i);
                assert_string_equal(request->name_remove->name, name);
                pathways__wire__request__free_unpacked(request, NULL);
        }
        end(&peer, connection);
}

/* --- a message in pieces ------------------------------------------------------------------------------------------------------ */

struct call { struct pw_connection *connection; _Atomic pid_t task; };

static void *send_short(void *context)
{
        struct call *call = context;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameRemove body = PATHWAYS__WIRE__NAME_REMOVE__INIT;
        uint8_t message[64];

        body.name = (char *)(uintptr_t)"short";
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE;
        request.name_remove = &body;
        assert_true(pathways__wire__request__get_packed_size(&request) <= sizeof message);
        atomic_store(&call->task, gettid());
        assert_int_equal(pw_connection_send(call->connection, PW_FRAME_REQUEST, message,
                                            pathways__wire__request__pack(&request, message), NULL), PW_OK);
        return NULL;
}

/* It waits for room in the socket: nobody reads. */
static void await_asleep(struct call *call)
{
        char path[64], task_state = 0;

        while (!atomic_load(&call->task))
                sched_yield();
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)atomic_load(&call->task));
        while (task_state != 'S') {
                FILE *file = fopen(path, "re");

                assert_non_null(file);
                assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &task_state), 1);
                fclose(file);
        }
}

/* What was posted and went out in part is ended before anybody else's frame begins. */
static void test_sent_behind_a_part(void **state)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT, *got;
        Pathways__Wire__NameRemove body = PATHWAYS__WIRE__NAME_REMOVE__INIT;
        struct call call = { .task = 0 };
        struct peer peer;
        pthread_t thread;

        (void)state;
        call.connection = connect_to(&peer);
        body.name = malloc(LARGE + 1);
        assert_non_null(body.name);
        memset(body.name, 'x', LARGE);
        body.name[LARGE] = 0;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE;
        request.name_remove = &body;
        assert_int_equal(pw_connection_post_soon(call.connection, &request, NULL), PW_OK);
        assert_int_equal(pthread_create(&thread, NULL, send_short, &call), 0);
        await_asleep(&call);
        got = next_request(&peer);
        assert_true(!strcmp(got->name_remove->name, body.name)); /* else much would be printed */
        pathways__wire__request__free_unpacked(got, NULL);
        got = next_request(&peer);
        assert_string_equal(got->name_remove->name, "short");
        pathways__wire__request__free_unpacked(got, NULL);
        assert_int_equal(pthread_join(thread, NULL), 0);
        free(body.name);
        end(&peer, call.connection);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_posted_to_a_full_socket),
                                            cmocka_unit_test(test_sent_behind_a_part) };

        return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}

/* Sessions that ask for long listings, many at a time, and read none of the answers: what the daemon keeps for them has a bound, counted
 * at their tenant, and who reads is told what is the matter. (How long others wait meanwhile for listings of their own is not looked at.)
 */
#include "tests/attack/attack.h"
#include "tests/integration/other.h"
#include "tests/integration/trace.h"

#include "base/size.h"
#include "wire/frame.h"
#include "wire/pathways.pb-c.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define KEPT_MAX_BYTES (160 * PW_MIB) /* 64 MiB of replies, and what one listing takes while it is made */
#define NODES 8000u                   /* rows of one listing */
#define ASKED 30u                     /* listings of one session */

struct attacked { const struct it_host *host; uint32_t sessions; };

static int connect_raw(const struct it_host *host)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%s", host->socket);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        return fd;
}

static void send_request(int fd, Pathways__Wire__Request *request)
{
        uint8_t frame[512];
        uint32_t bytes = (uint32_t)pathways__wire__request__pack(request, frame + PW_FRAME_HEADER);

        pw_frame_header(frame, PW_FRAME_REQUEST, bytes, 0);
        (void)!send(fd, frame, PW_FRAME_HEADER + bytes, MSG_NOSIGNAL);
}

static void say_hello(int fd)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Hello hello = PATHWAYS__WIRE__HELLO__INIT;

        hello.version = PW_WIRE_VERSION;
        hello.layout = PW_LAYOUT_VERSION;
        hello.role = (char *)(uintptr_t)"client";
        request.id = 1;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_HELLO;
        request.hello = &hello;
        send_request(fd, &request);
}

static void ask(int fd, uint64_t id, char *filter)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;

        list.what = (char *)(uintptr_t)"programs";
        list.filter = filter;
        request.id = id;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request.list = &list;
        send_request(fd, &request);
}

static struct pw_program *large_program(struct pw_session *session)
{
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = pw_program_new(session, "large");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0), *value = input;

        for (uint32_t i = 0; i < NODES; i++)
                value = pw_call(program, slice, "pw/add", PW_ARGS(value, input), PW_BROADCAST);
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static int ask_and_read_nothing(void *context, int pipe)
{
        const struct attacked *attacked = context;
        struct pw_session *session = it_connect(attacked->host);
        char number[24];

        (void)large_program(session);
        struct pw_listing *programs = it_list(session, "programs", NULL);
        snprintf(number, sizeof number, "%lld", (long long)it_number(programs, 0, "program"));
        for (uint32_t i = 0; i < attacked->sessions; i++) {
                int fd = connect_raw(attacked->host);

                say_hello(fd);
                for (uint64_t id = 2; id < 2 + ASKED; id++)
                        ask(fd, id, number);
        }
        /* One that reads is answered, though perhaps that there is too much that others do not. */
        for (uint32_t i = 0; i < 3; i++) {
                struct pw_listing *listing;
                struct pw_error err;
                enum pw_status status = pw_list(session, "status", NULL, 0, &listing, &err);

                if (status == PW_OK)
                        pw_listing_free(listing);
                else
                        assert_int_equal(status, PW_LIMIT);
        }
        assert_int_equal(write(pipe, "a", 1), 1);
        pause();
        return 0;
}

#ifdef __SANITIZE_ADDRESS__
#define SESSIONS 4 /* a tenth as fast, and its memory is not judged */
#else
#define SESSIONS 16
#endif

static void run(struct it_host *host)
{
        struct attacked attacked = { host, (uint32_t)it_environment("PW_UNREAD", getenv("PW_ATTACK_SOCKET") ? 2 : SESSIONS) };
        uint64_t before = attack_private_bytes(host->pid), after;
        struct it_child child = attack_fork(ATTACK_USER, ask_and_read_nothing, &attacked);
        char byte;

        it_read(&child, &byte, 1);
        assert_true(it_look(host->session, "status", "host") >= 0);
        after = attack_private_bytes(host->pid);
        printf("unread: the daemon has %llu MiB more\n", (unsigned long long)((after - before) / PW_MIB));
        if (!getenv("PW_ATTACK_SOCKET"))
                assert_true(after < before + KEPT_MAX_BYTES);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "unread", .rule = "replies that a tenant's clients do not read take 64 MiB of the daemon at most",
                                             .users = true, .unwatched = true, .run = run });
}

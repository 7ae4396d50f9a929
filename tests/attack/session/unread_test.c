/* Sessions that ask for long listings, many at a time, and read none of the answers: what the daemon keeps for them has a bound,
 * counted at their tenant, and who reads is told what is the matter. (How long others wait meanwhile for listings of their own is
 * not looked at.)
 */
#include "tests/attack/attack.h"
#include "tests/integration/other.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include "base/memory.h"
#include "base/size.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEPT_MAX_BYTES (160 * PW_MIB) /* 64 MiB of replies, and what one listing takes while it is made */
#define NODES 8000u                   /* rows of one listing */
#define ASKED 30u                     /* listings of one session */
#define LEAVERS 3u
/* sessions that leave small replies unread, up to a MiB each, until they are not heard any more */
#define SMALL 96u
#define UNREAD_BYTES (100 * PW_MIB)   /* 64 MiB of replies, and what else is kept because of the tenant */
#define QUIET 5u                      /* looks in which none of them was heard */

struct attacked { const struct it_host *host; uint32_t sessions; int go_on; };

static void ask(int fd, uint64_t id, char *filter)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;
        uint8_t frame[512];

        list.what = (char *)(uintptr_t)"programs";
        list.filter = filter;
        request.id = id;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request.list = &list;
        (void)!send(fd, frame, raw_pack(&request, frame), MSG_NOSIGNAL);
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

/* Ends by what it says, while a reply waits that it has not read: what that was counted as is counted down again. (One that is
 * killed is found out by the reply, which then goes nowhere.) */
static void leave_unread(const struct it_host *host, char *number)
{
        char bytes[4096], text[200];

        for (uint32_t i = 0; i < LEAVERS; i++) {
                int fd = raw_connect(host);
                struct pollfd on = { .fd = fd, .events = POLLIN };

                assert_int_equal(raw_hello(fd, text), PW_OK);
                ask(fd, 2, number);
                assert_int_equal(poll(&on, 1, (int)(IT_LONG / 1000)), 1);
                memset(bytes, 0xff, sizeof bytes);
                assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
                while (recv(fd, bytes, sizeof bytes, 0) > 0)
                        ;
                close(fd);
        }
}

/* One that reads is answered, though perhaps that there is too much that others do not. */
static void look(struct pw_session *session)
{
        struct pw_listing *listing;
        struct pw_error err;
        enum pw_status status = pw_list(session, "status", NULL, 0, &listing, &err);

        if (status == PW_OK)
                pw_listing_free(listing);
        else
                assert_int_equal(status, PW_LIMIT);
}

/* As many lookups of a name that is not there as the daemon hears of each session. Returns when it hears none. */
static void leave_small_unread(const struct it_host *host, struct pw_session *session)
{
        const uint32_t count = attack_is_shared() ? 4 : SMALL;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameLookup lookup = PATHWAYS__WIRE__NAME_LOOKUP__INIT;
        uint8_t frames[64 * 512], frame[512];
        struct { int fd; size_t at; } sessions[SMALL];
        char name[201] = "", text[200];
        size_t bytes;

        memset(name, 'x', sizeof name - 1);
        lookup.name = name;
        request.id = 2;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP;
        request.name_lookup = &lookup;
        bytes = raw_pack(&request, frame);
        for (size_t i = 0; i < 64; i++)
                memcpy(frames + i * bytes, frame, bytes);
        for (uint32_t i = 0; i < count; i++) {
                sessions[i].fd = raw_connect(host);
                sessions[i].at = 0;
                assert_int_equal(raw_hello(sessions[i].fd, text), PW_OK);
        }
        for (uint32_t quiet = 0; quiet < QUIET; quiet++) {
                for (uint32_t i = 0; i < count; i++) {
                        ssize_t sent = send(sessions[i].fd, frames + sessions[i].at, 64 * bytes - sessions[i].at,
                                            MSG_DONTWAIT | MSG_NOSIGNAL);

                        if (sent <= 0)
                                continue; /* it is not heard, or was ended */
                        sessions[i].at = (sessions[i].at + (size_t)sent) % bytes;
                        quiet = 0;
                }
                look(session); /* all of them had their turn meanwhile */
        }
}

static int ask_and_read_nothing(void *context, int pipe)
{
        const struct attacked *attacked = context;
        struct pw_session *session = it_connect(attacked->host);
        char number[24], text[200];

        (void)large_program(session);
        struct pw_listing *programs = it_list(session, "programs", NULL);
        snprintf(number, sizeof number, "%lld", (long long)it_number(programs, 0, "program"));
        leave_unread(attacked->host, number);
        for (uint32_t i = 0; i < attacked->sessions; i++) {
                int fd = raw_connect(attacked->host);

                assert_int_equal(raw_hello(fd, text), PW_OK);
                for (uint64_t id = 2; id < 2 + ASKED; id++)
                        ask(fd, id, number);
        }
        for (uint32_t i = 0; i < 3; i++)
                look(session);
        assert_int_equal(write(pipe, "a", 1), 1);
        assert_int_equal(read(attacked->go_on, text, 1), 1);
        leave_small_unread(attacked->host, session);
        assert_int_equal(write(pipe, "s", 1), 1);
        pause();
        return 0;
}

#ifdef __SANITIZE_ADDRESS__
#define SESSIONS 4 /* a tenth as fast, and its memory is not judged */
#else
#define SESSIONS 16
#endif

static uint64_t most_kept(struct pw_session *session)
{
        struct pw_listing *owners = it_list(session, "owners", NULL);
        uint64_t most = 0;

        for (size_t i = 0; i < it_rows(owners); i++)
                most = pw_max_u64(most, (uint64_t)it_number(owners, i, "kept_bytes"));
        pw_listing_free(owners);
        return most;
}

static void run(struct it_host *host)
{
        int go_on[2] = { -1, -1 };
        struct attacked attacked = { host, (uint32_t)it_environment("PW_UNREAD", attack_is_shared() ? 2 : SESSIONS),
                                     pipe(go_on) ? -1 : go_on[0] };
        uint64_t before = attack_private_bytes(host->pid), after;
        struct it_child child = attack_fork(ATTACK_USER, ask_and_read_nothing, &attacked);
        char byte;

        it_read(&child, &byte, 1);
        assert_true(it_listed(host->session, "status", "host") >= 0);
        after = attack_private_bytes(host->pid);
        printf("unread: the daemon has %llu MiB more\n", (unsigned long long)((after - before) / PW_MIB));
        if (!attack_is_shared())
                assert_true(after < before + KEPT_MAX_BYTES);
        assert_int_equal(write(go_on[1], "g", 1), 1);
        it_read(&child, &byte, 1);
        printf("unread: with small ones %llu MiB are kept of a tenant\n", (unsigned long long)(most_kept(host->session) / PW_MIB));
        if (!attack_is_shared())
                assert_true(most_kept(host->session) < UNREAD_BYTES);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "unread", .rule =
                                             "replies that a tenant's clients do not read take 64 MiB of the daemon at most",
                                             .users = true, .unwatched = true, .run = run });
}

/* Very many slices of many sessions, each of which has as many as it may: more end in PW_LIMIT. Then as many programs of one.
 * Their process is killed: they are closed and freed in parts of turns, while others are served. */
#include "tests/attack/attack.h"

#include "libclient/session.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define SESSIONS 8u
#define SLICES 65536u   /* as many as a session may have */
#define REFUSED 10u
#define PROGRAMS 16384u /* likewise */
#define PART 2048u      /* programs: who makes them says so of each session and each part, none of which takes IT_LONG */
#define FENCE_US 5000   /* another tenant's, at it_slack() times that; 300 ms for slices that are closed in one turn */
#define GONE_US (25 * IT_SECOND)

struct plan { const struct it_host *host; uint32_t sessions, programs; };

static void fill(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__SliceOpen body;

        (void)context;
        (void)i;
        pathways__wire__slice_open__init(&body);
        body.device_count = 1;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_SLICE_OPEN;
        request->slice_open = &body;
}

static void open_slices(const struct it_host *host)
{
        char text[200];
        int fd = raw_connect(host);

        assert_int_equal(raw_hello(fd, text), PW_OK);
        assert_int_equal(raw_flood(&(struct raw_flood){ .fd = fd, .count = SLICES + REFUSED, .fill = fill, .limit_us = IT_LONG }),
                         SLICES);
}

static void expect_no_more(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "test/more");

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0)),
                                   PW_BROADCAST));
        it_fails(pw_compile(program, IT_ERR), PW_LIMIT, "16384 programs|pw_program_free");
        pw_program_free(program);
}

static void tell(int pipe) { assert_int_equal(write(pipe, "h", 1), 1); }

static int hold(void *context, int pipe)
{
        const struct plan *plan = context;
        struct pw_session *session = it_connect(plan->host);
        struct pw_slice *slice = it_slice(session, 1, 0);

        for (uint32_t i = 0; i < plan->sessions; i++) {
                open_slices(plan->host);
                tell(pipe);
        }
        for (uint32_t i = 0; i < plan->programs; i++) {
                it_one_node(session, slice, "pw/nop", PW_SCALAR, NULL);
                if ((i + 1) % PART == 0)
                        tell(pipe);
        }
        if (plan->programs == PROGRAMS)
                expect_no_more(session, slice);
        tell(pipe);
        pause();
        return 1;
}

static int64_t sessions_of(struct it_host *host)
{
        struct pw_listing *status = it_list(host->session, "status", NULL);
        int64_t count = it_number(status, 0, "sessions");

        pw_listing_free(status);
        return count;
}

static void kill_it(struct it_host *host, uint32_t sessions, uint32_t programs)
{
        struct plan plan = { host, sessions, programs };
        int64_t before = sessions_of(host), since_us, longest_us = 0;
        struct it_child child = attack_fork(ATTACK_USER, hold, &plan);
        char byte;

        for (uint32_t i = 0; i < sessions + programs / PART + 1; i++)
                it_read(&child, &byte, 1);
        since_us = it_now_us();
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        do { /* each question is a fence of another tenant */
                int64_t from_us = it_now_us();

                it_ok(pw_session_fence(host->session, IT_ERR));
                longest_us = it_now_us() - from_us > longest_us ? it_now_us() - from_us : longest_us;
                assert_true(it_now_us() - since_us < GONE_US);
        } while (sessions_of(host) > before);
        print_message("%u slices and %u programs were gone after %lld us, the longest fence of another %lld us\n",
                      sessions * SLICES, programs, (long long)(it_now_us() - since_us), (long long)longest_us);
        assert_true(longest_us < FENCE_US * it_slack());
}

static void attack(struct it_host *host)
{
        kill_it(host, (uint32_t)it_environment("PW_ENDING_SESSIONS", SESSIONS), 0);
        kill_it(host, 0, (uint32_t)it_environment("PW_ENDING_PROGRAMS", PROGRAMS));
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "endings",
                                             .rule = "a session may have so many slices and programs; they go in parts",
                                             .args = IT_ARGS("--devices", "emulated:4", "--islands", "2", "--host-memory", "1GiB",
                                                             "--device-memory", "16MiB"),
                                             .run = attack, .users = true, .alone = true });
}

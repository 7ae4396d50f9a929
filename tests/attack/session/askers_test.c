/* Forty users ask as fast as they can. A session of somebody else with a run asks some ten things, and so do executors for it: it
 * takes a few turns of the loop for each, not as many as there are users to be heard. */
#include "tests/attack/attack.h"
#include "tests/integration/operator/exposition.h"
#include "tests/integration/operator/http.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USERS 40u
#define FIRST_USER 65400u
#define TURNS_MAX 90 /* 52 as it is; 128 where users are heard for a millisecond of each turn */

static int ask(void *context, int pipe)
{
        char text[200];
        int fd = raw_connect(context);

        assert_int_equal(raw_hello(fd, text), PW_OK);
        assert_int_equal(write(pipe, "a", 1), 1);
        for (;;)
                raw_flood(&(struct raw_flood){ .fd = fd, .count = 10000, .fill = raw_fill_remove, .limit_us = 4 * IT_LONG });
        return 0;
}

static double turns(const char *address)
{
        static char text[HTTP_ANSWER_BYTES];

        assert_int_equal(http_ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", text), 200);
        return exposition_value(text, "pathways_turn_seconds_count");
}

/* Of a new session, whose memory no executor has mapped. */
static void run_once(struct it_host *host)
{
        struct pw_session *session = it_connect(host);
        struct pw_slice *slice = it_slice(session, 2, 1);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_DIMS(1 << 13), NULL);
        struct pw_future *input = it_put_f64(session, PW_DIMS(1 << 13), 1), *result = it_run_1(program, input);
        struct pw_view view;

        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(session);
}

/* What is counted is told anew after a second. */
static double turns_of_a_run(struct it_host *host, const char *address)
{
        double before = turns(address), after;
        int64_t until_us = it_now_us() + 4 * IT_SECOND;
        int runs = 0;

        do {
                run_once(host);
                runs++;
        } while (it_now_us() < until_us);
        after = turns(address);
        return (after - before) / runs;
}

static void attack(struct it_host *host)
{
        struct it_child children[USERS];
        char address[120], byte;
        double each;

        http_address(host, address);
        for (uint32_t i = 0; i < USERS; i++) {
                children[i] = attack_fork(FIRST_USER + i, ask, host);
                it_read(&children[i], &byte, 1);
        }
        each = turns_of_a_run(host, address);
        printf("askers: a session with a run takes %.0f turns beside %u users who ask\n", each, USERS);
        for (uint32_t i = 0; i < USERS; i++)
                it_reap(&children[i], SIGKILL);
        assert_true(each <= TURNS_MAX);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "askers",
                                             .rule = "users take turns within a time of each turn of the loop, executors first",
                                             .args = IT_ARGS("--devices", "emulated:2", "--host-memory", "256MiB",
                                                             "--device-memory", "16MiB", "--http", "127.0.0.1:0"),
                                             .users = true, .alone = true, .run = attack });
}

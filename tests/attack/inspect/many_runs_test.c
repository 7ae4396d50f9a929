/* Very many runs that wait for a value of the tenant's own, and listings of them: others' listings, and turns of the loop, stay
 * short.
 */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include "libclient/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct attacked { const struct it_host *host; uint32_t runs; };

static void list(struct pw_session *session, const char *what, const char *filter)
{
        struct pw_listing *listing = it_list(session, what, filter);

        if (!strcmp(what, "runs")) /* it comes in pages: all are there, in their order */
                for (size_t i = 1; i < it_rows(listing); i++)
                        assert_true(it_number(listing, i, "run") > it_number(listing, i - 1, "run"));
        pw_listing_free(listing);
}

static int submit_and_list(void *context, int pipe)
{
        const struct attacked *attacked = context;
        struct pw_session *session = it_connect(attacked->host);
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_future *input, **results = calloc(attacked->runs, sizeof *results);
        char text[PW_ID_TEXT_BYTES], run[40];
        uint32_t count = 0;
        void *data;

        it_ok(pw_create(session, 8, &(struct pw_put_params){ .dtype = PW_F64 }, &input, &data, IT_ERR));
        while (count < attacked->runs && pw_run_with(program, &input, 1, NULL, &results[count], NULL) == PW_OK)
                count++;
        assert_int_equal(write(pipe, &count, sizeof count), sizeof count);
        snprintf(run, sizeof run, "pid %d", (int)getpid());
        pw_id_format(pw_future_id(input), text);
        for (;;) {
                list(session, "runs", NULL);
                list(session, "programs", NULL);
                list(session, "gangs", NULL);
                list(session, "status", NULL);
                list(session, "why", "h0");
                list(session, "why", text);
                list(session, "why", run);
                list(session, "object", text);
        }
        return 0;
}

static void run(struct it_host *host)
{
        struct attacked attacked = { host, (uint32_t)it_environment("PW_MANY_RUNS", 60000) };
        struct it_child child = attack_fork(ATTACK_USER, submit_and_list, &attacked);
        int64_t longest_us = 0;
        uint32_t count;

        it_read(&child, &count, sizeof count);
        for (int i = 0; i < 200; i++) {
                int64_t since_us = it_now_us();
                struct pw_future *future;

                it_ok(pw_put(host->session, &i, sizeof i, NULL, &future, IT_ERR));
                pw_unref(future);
                it_ok(pw_session_fence(host->session, IT_ERR));
                longest_us = it_now_us() - since_us > longest_us ? it_now_us() - since_us : longest_us;
                it_within("many_runs: a fence beside them", since_us, 50000);
        }
        printf("many_runs: beside %u runs that wait, and listings of them, a fence took %lld us at most\n", count,
               (long long)longest_us);
        if (!attack_is_shared()) { /* all of them, while others come and go */
                struct pw_listing *runs = it_list(host->session, "runs", NULL);

                assert_true(it_rows(runs) >= count);
                pw_listing_free(runs);
        }
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "many_runs",
                                             .rule = "runs are listed in parts, and counted without looking at each",
                                             .users = true, .run = run });
}

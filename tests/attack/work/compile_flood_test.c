/* Twenty thousand requests to compile at once, each with parameters, each of which asks the describing executor, of one session
 * that does not wait for an answer; and clients that die while the describing executor is asked for them. */
#include "tests/attack/attack.h"

#include "libclient/session.h"
#include "tests/attack/post.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARAMS (16u << 10)
#define MOST (UINT64_C(64) << 20) /* of the daemon, more than before */

static void post(struct pw_session *session, const struct pw_slice *slice, uint64_t number)
{
        static uint8_t params[PARAMS];

        memcpy(params, &number, sizeof number);
        /* so it is asked about, and nothing is kept */
        attack_post_call(session, slice, &(struct attack_call){ "pw/there_is_none", params, sizeof params });
}

#define STEPS 100u /* after each of which the daemon is looked at */

static int flood(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 0);
        uint64_t count = it_environment("PW_COMPILE_FLOOD", 20000);

        for (uint64_t i = 0; i < count; i++) {
                post(session, slice, i);
                if (i % (count / STEPS) == 0 && write(pipe, "s", 1) != 1)
                        return 1;
        }
        it_ok(pw_session_fence(session, IT_ERR));
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

/* --- who dies meanwhile ------------------------------------------------------------------------------------------------------- */

#define POSTED 6u /* more than begin at a time */
#define DEATHS 2

/* The describing executor is in the first one's shape function until it is ended. */
static int post_and_wait(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 0);

        for (uint32_t i = 0; i < POSTED; i++)
                attack_post_call(session, slice,
                                 &(struct attack_call){ .function = "broken/endless", .params = &i, .params_bytes = sizeof i });
        it_ok(pw_session_fence(session, IT_ERR));
        if (write(pipe, "p", 1) != 1)
                return 1;
        pause();
        return 0;
}

static bool is_asked_about(struct pw_session *session, pid_t pid)
{
        struct pw_listing *listing;
        char filter[32];
        bool found = false;

        snprintf(filter, sizeof filter, "pid %d", (int)pid);
        listing = it_list(session, "why", filter);
        for (size_t row = 0; row < it_rows(listing); row++)
                found |= strstr(it_text(listing, row, "waits_for"), "broken/endless") != NULL;
        pw_listing_free(listing);
        return found;
}

static int compile_one(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 0);

        (void)pipe;
        pw_program_free(it_one_node(session, slice, "pw/nop", PW_SCALAR, NULL));
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

/* What was under way of a client that died makes room for what others of its user compile, wherever it was. */
static void die_and_compile(struct it_host *host)
{
        struct it_child child;
        char byte;

        for (int i = 0; i < DEATHS; i++) {
                child = attack_fork(ATTACK_USER, post_and_wait, host);
                it_read(&child, &byte, 1);
                for (int64_t since_us = it_now_us(); !is_asked_about(host->session, child.pid);)
                        if (it_now_us() > since_us + IT_LONG)
                                fail_msg("nothing is asked for client %d: what others of its user began goes on without them", i);
                assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        }
        child = attack_fork(ATTACK_USER, compile_one, host);
        assert_int_equal(it_reap_within(&child, IT_LONG), 0);
}

static void flood_and_look(struct it_host *host)
{
        uint64_t before = attack_private_bytes(host->pid), now, most = 0;
        struct it_child child = attack_fork(ATTACK_USER, flood, host);
        char byte;

        for (uint32_t i = 0; i < STEPS; i++) {
                it_read(&child, &byte, 1);
                now = attack_private_bytes(host->pid);
                most = now > most ? now : most;
        }
        assert_int_equal(it_reap_within(&child, 60 * IT_SECOND), 0);
        fprintf(stderr, "the daemon had %d KiB, at most %d KiB\n", (int)(before >> 10), (int)(most >> 10));
        if (most > before + MOST)
                fail_msg("the daemon has %d MiB more than before", (int)((most - before) >> 20));
}

static void run(struct it_host *host)
{
        flood_and_look(host);
        die_and_compile(host);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "compile_flood",
                                             .rule = "a session has few compilations under way, tenants take turns, and every "
                                                     "byte is charged",
                                             .alone = true, /* it is about how much the daemon has */
                                             .run = run });
}

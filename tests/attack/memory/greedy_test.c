/* A client has a part of the host's memory and asks for more than is left, without a deadline, from many threads: it waits for what
 * it holds itself, and others go on. */
#include "tests/attack/attack.h"
#include "tests/attack/bystander.h"

#include "base/size.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define HELD_BYTES (104 * PW_MIB)
#define WANTED_BYTES (120 * PW_MIB)
#define THREADS 16u
#define ROUNDS 6

static void *ask_for_ever(void *context)
{
        struct pw_future *future;
        void *data;
        struct pw_error err;

        if (pw_create(context, WANTED_BYTES, &(struct pw_put_params){ .timeout_us = PW_FOREVER }, &future, &data, &err) == PW_OK)
                pause();
        return NULL;
}

static int hold_and_ask(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        pthread_t threads[THREADS];
        void *data;

        it_ok(pw_create(session, HELD_BYTES, NULL, &future, &data, IT_ERR));
        it_ok(pw_seal(future, IT_ERR));
        for (uint32_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, ask_for_ever, session), 0);
        if (write(pipe, "h", 1) != 1)
                return 1;
        pause();
        return 0;
}

static bool some_wait(const struct pw_listing *status, void *context)
{
        (void)context;
        return it_number(status, 0, "puts_waiting") > 0;
}

static void attack_greedy(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, hold_and_ask, host);
        struct bystander *bystander;
        char byte;

        it_read(&child, &byte, 1);
        if (host->pidfd >= 0) /* its own daemon, which has no more than that */
                it_until(host->session, "status", some_wait, NULL);
        bystander = bystander_begin(host); /* a client that comes now, and has nothing yet */
        for (int i = 0; i < ROUNDS; i++) {
                struct pw_future *future;
                struct pw_view view;

                it_ok(pw_put(host->session, "ab", 2, &(struct pw_put_params){ .timeout_us = IT_LONG }, &future, IT_ERR));
                pw_unref(future);
                static char bytes[64 << 10];
                it_ok(pw_put(host->session, bytes, sizeof bytes, &(struct pw_put_params){ .timeout_us = IT_LONG },
                             &future, IT_ERR));
                it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
                pw_view_done(&view);
                pw_unref(future);
                bystander_round(bystander);
        }
        bystander_end(bystander);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "greedy",
                                             .rule = "who waits for room that others hold is passed by those for whom there is "
                                                     "enough",
                                             .args = IT_ARGS("--devices", "emulated:2", "--device-memory", "16MiB",
                                                             "--host-memory", "256MiB"),
                                             .users = true,
                                             .unwatched = true,
                                             .run = attack_greedy });
}

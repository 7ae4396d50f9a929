/* A tenant holds most of a device's memory, and has very many runs wait for the room that it holds itself. */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include "libclient/session.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct plan { const struct it_host *host; uint32_t runs; };

static struct pw_program *make(struct pw_session *session, uint64_t doubles)
{
        return it_one_node(session, it_slice(session, 1, 1), "pw/nop", PW_DIMS(doubles), NULL);
}

static int hold_and_ask(void *context, int pipe)
{
        const struct plan *plan = context;
        struct pw_session *session = it_connect(plan->host);
        struct pw_future **results = calloc(plan->runs, sizeof *results), *held[2], *input;
        const struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(1 << 20) };
        struct pw_program *program = make(session, 1 << 20); /* 8 MiB */
        uint32_t count = 0;
        void *data;

        it_ok(pw_create(session, 8 << 20, &params, &input, &data, IT_ERR));
        it_ok(pw_seal(input, IT_ERR));
        for (int i = 0; i < 2; i++)
                it_ok(pw_run(program, PW_FUTURES(input), &held[i], IT_ERR));
        it_ok(pw_wait(held, 2, 2, IT_LONG, NULL, IT_ERR));
        while (count < plan->runs && pw_run_with(program, &input, 1, NULL, &results[count], NULL) == PW_OK)
                count++;
        if (write(pipe, &count, sizeof count) != sizeof count)
                return 1;
        pause();
        return 0;
}

static void attack(struct it_host *host)
{
        struct plan plan = { host, (uint32_t)it_environment("PW_ASIDE_RUNS", 40000) };
        struct it_child child = attack_fork(ATTACK_USER, hold_and_ask, &plan);
        int64_t until_us;
        uint32_t count;

        it_read(&child, &count, sizeof count);
        print_message("deferred_runs: %u runs wait\n", count);
        for (until_us = it_now_us() + 2 * IT_SECOND; it_now_us() < until_us;)
                it_ok(pw_session_fence(host->session, IT_ERR));
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "deferred_runs",
                                             .rule = "who waits for room that sessions hold costs nothing where nothing changes",
                                             .args = IT_ARGS("--devices", "emulated:1", "--host-memory", "512MiB",
                                                             "--device-memory", "32MiB"),
                                             .run = attack, .users = true, .alone = true });
}

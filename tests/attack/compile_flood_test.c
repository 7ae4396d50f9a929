/* Twenty thousand requests to compile at once, each with parameters, each of which asks the describing executor, of one session that
 * does not wait for an answer. */
#include "tests/attack/attack.h"

#include "libclient/connection.h"
#include "libclient/program.h"
#include "libclient/session.h"
#include "tests/integration/trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARAMS (16u << 10)
#define MOST (UINT64_C(64) << 20) /* of the daemon, more than before */

static void post(struct pw_session *session, const struct pw_slice *slice, uint64_t number)
{
        static uint8_t params[PARAMS];
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ProgramCompile compile = PATHWAYS__WIRE__PROGRAM_COMPILE__INIT;
        Pathways__Wire__Value output = PATHWAYS__WIRE__VALUE__INIT, *values[] = { &output };
        Pathways__Wire__Call call = PATHWAYS__WIRE__CALL__INIT, *calls[] = { &call };
        uint32_t zero = 0;

        memcpy(params, &number, sizeof number);
        output.producer_kind = 2;
        output.slice = call.slice = slice->number;
        call.function = (char *)(uintptr_t)"pw/there_is_none"; /* so it is asked about, and nothing is kept */
        call.params = (ProtobufCBinaryData){ sizeof params, params };
        call.output_count = 1;
        compile.name = (char *)(uintptr_t)"flood";
        compile.values = values;
        compile.n_values = 1;
        compile.calls = calls;
        compile.n_calls = 1;
        compile.results = &zero;
        compile.n_results = 1;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE;
        request.program_compile = &compile;
        it_ok(pw_connection_post(session->connection, &request, IT_ERR));
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

int main(void)
{
        return attack_main(&(struct attack){ .name = "compile_flood",
                                             .rule = "a session has few compilations under way, tenants take turns, and every byte is charged",
                                             .alone = true, /* it is about how much the daemon has */
                                             .run = flood_and_look });
}

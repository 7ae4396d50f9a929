/* Requests to compile, by hand. */
#include "tests/attack/post.h"

#include "libclient/program/program.h"
#include "libclient/session.h"
#include "libclient/socket/connection.h"

void attack_post_call(struct pw_session *session, const struct pw_slice *slice, const struct attack_call *what)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ProgramCompile compile = PATHWAYS__WIRE__PROGRAM_COMPILE__INIT;
        Pathways__Wire__Value output = PATHWAYS__WIRE__VALUE__INIT, *values[] = { &output };
        Pathways__Wire__Call call = PATHWAYS__WIRE__CALL__INIT, *calls[] = { &call };
        uint32_t zero = 0;

        output.producer_kind = 2;
        output.slice = call.slice = slice->number;
        call.function = (char *)(uintptr_t)what->function;
        call.params = (ProtobufCBinaryData){ what->params_bytes, (uint8_t *)(uintptr_t)what->params };
        call.output_count = 1;
        compile.name = (char *)(uintptr_t)"posted";
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

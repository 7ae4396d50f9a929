/* Programs with many megabytes of parameters each, compiled, run once and kept, until the daemon takes no more: what they take is the
 * tenant's, in memory that executors share, and comes back when they are freed. */
#include "tests/attack/attack.h"

#include "libclient/program.h"
#include "libclient/session.h"
#include "tests/integration/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define PARAMS (32 * MIB)
#define DEVICES 4u
#define DAEMON_MOST (256 * MIB)
#define EXECUTOR_MOST (128 * MIB)

static struct pw_program *make(struct pw_session *session, struct pw_slice *slice, uint64_t number)
{
        struct pw_program *program = pw_program_new(session, "kept");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);
        uint8_t *params = malloc(PARAMS);

        memset(params, (int)(number & 0xff), PARAMS);
        memcpy(params, &number, sizeof number);
        pw_result(program, pw_call_with(program, slice, "pw/nop", PW_ARGS(x), PW_BROADCAST,
                                        &(struct pw_call_params){ .params = params, .params_bytes = PARAMS }));
        free(params);
        return program;
}

/* How many fit. The last one is refused. */
static uint32_t fill(struct pw_session *session, struct pw_slice *slice, struct pw_program **programs, uint32_t most)
{
        struct pw_future *input = it_put_f64(session, PW_DIMS(8), 1);
        uint32_t count = 0;

        for (; count < most; count++) {
                struct pw_error err;
                enum pw_status status;

                programs[count] = make(session, slice, count);
                status = pw_compile(programs[count], &err);
                if (status != PW_OK) {
                        fprintf(stderr, "%u programs, then: %s\n", count, err.text);
                        assert_int_equal(status, PW_NO_SPACE);
                        assert_non_null(strstr(err.text, "held by"));
                        pw_program_free(programs[count]);
                        break;
                }
                pw_unref(it_run_1(programs[count], input));
        }
        pw_unref(input);
        return count;
}

static int keep(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, DEVICES, 0);
        struct pw_program *programs[64];
        uint32_t most = (uint32_t)it_environment("PW_PROGRAMS_KEPT", 64);
        char byte = 'f';

        for (int round = 0; round < 2; round++) {
                uint32_t count = fill(session, slice, programs, most);
                assert_true(count >= 4 && count < most);
                it_ok(pw_session_fence(session, IT_ERR));
                if (write(pipe, &byte, 1) != 1)
                        return 1;
                if (round) /* the second time it ends with all of them */
                        break;
                for (uint32_t i = 0; i < count; i++)
                        pw_program_free(programs[i]);
                it_ok(pw_session_fence(session, IT_ERR));
        }
        pw_close(session);
        return 0;
}

static void look(struct it_host *host)
{
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        uint64_t daemon_bytes = attack_private_bytes(host->pid);
        pid_t executors[16];
        uint32_t count = attack_children(host->pid, executors, 16);

        for (size_t row = 0; row < it_rows(memory); row++)
                if (!strcmp(it_text(memory, row, "term"), "unaccounted"))
                        assert_int_equal(it_number(memory, row, "bytes"), 0);
        pw_listing_free(memory);
        fprintf(stderr, "the daemon has %d MiB of its own\n", (int)(daemon_bytes / MIB));
        assert_true(daemon_bytes < DAEMON_MOST);
        for (uint32_t i = 0; i < count; i++)
                assert_true(attack_private_bytes(executors[i]) < EXECUTOR_MOST);
}

static void keep_and_look(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, keep, host);
        char byte;

        for (int round = 0; round < 2; round++) {
                it_read(&child, &byte, 1);
                look(host);
        }
        assert_int_equal(it_reap(&child, 0), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "programs_kept",
                                             .rule = "programs and their parameters are charged to their tenant, and no process has a copy of its own",
                                             .args = IT_ARGS("--devices", "emulated:4", "--islands", "1", "--device-memory", "16MiB",
                                                             "--host-memory", "512MiB", "--quota", "*:host=320MiB"),
                                             .alone = true,
                                             .run = keep_and_look });
}

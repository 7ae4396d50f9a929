/* Programs with many megabytes of parameters each, compiled, run once and kept, until the daemon takes no more: what they take is
 * the tenant's, in memory that executors share, and comes back when they are freed. */
#include "tests/attack/attack.h"

#include "libclient/program/program.h"
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

/* It says what the memory is held by, and what to do. */
static void check_refusal(enum pw_status status, const struct pw_error *err)
{
        assert_int_equal(status, PW_NO_SPACE);
        if (!strstr(err->text, "programs") || !strstr(err->text, "pw_program_free") || !strstr(err->text, "--quota"))
                fail_msg("does not say what holds the memory: %s", err->text);
}

/* How many of `most` fit. The others are refused, each of them. */
static uint32_t fill(struct pw_session *session, struct pw_slice *slice, struct pw_program **programs, uint32_t most, int pipe)
{
        struct pw_future *input = it_put_f64(session, PW_DIMS(8), 1);
        struct pw_error err;
        uint32_t count = 0;

        for (uint32_t i = 0; i < most; i++) {
                if (write(pipe, "p", 1) != 1)
                        return 0;
                programs[count] = make(session, slice, i);
                enum pw_status status = pw_compile(programs[count], &err);

                if (status == PW_OK) {
                        assert_int_equal(count, i);
                        pw_unref(it_run_1(programs[count++], input));
                        continue;
                }
                if (count == i)
                        fprintf(stderr, "%u programs, then: %s\n", count, err.text);
                check_refusal(status, &err);
                pw_program_free(programs[count]);
        }
        pw_unref(input);
        return count;
}

static int keep(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, DEVICES, 0);
        uint32_t most = (uint32_t)it_environment("PW_PROGRAMS_KEPT", 16);
        struct pw_program **programs = calloc(most, sizeof(struct pw_program *));
        uint32_t fits = 0;
        char byte = 'f';

        assert_non_null(programs);
        for (int round = 0; round < 2; round++) {
                uint32_t count = fill(session, slice, programs, round ? fits + 2 : most, pipe);
                assert_true(count >= 4 && count < most && (!round || count == fits));
                fits = count;
                it_ok(pw_session_fence(session, IT_ERR));
                if (write(pipe, &byte, 1) != 1)
                        return 1;
                if (round) /* the second time it ends with all of them */
                        break;
                for (uint32_t i = 0; i < count; i++)
                        pw_program_free(programs[i]);
                it_ok(pw_session_fence(session, IT_ERR));
        }
        free(programs);
        pw_close(session);
        return 0;
}

static void look(struct it_host *host)
{
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        uint64_t daemon_bytes = attack_private_bytes(host->pid), most = 0;
        pid_t executors[16];
        uint32_t count = attack_children(host->pid, executors, 16);

        for (size_t row = 0; row < it_rows(memory); row++)
                if (!strcmp(it_text(memory, row, "term"), "unaccounted"))
                        assert_int_equal(it_number(memory, row, "bytes"), 0);
        pw_listing_free(memory);
        for (uint32_t i = 0; i < count; i++) {
                uint64_t bytes = attack_anonymous_bytes(executors[i]);
                most = bytes > most ? bytes : most;
        }
        fprintf(stderr, "the daemon has %d MiB of its own, an executor %d MiB at most\n", (int)(daemon_bytes / MIB),
                (int)(most / MIB));
        assert_true(daemon_bytes < DAEMON_MOST && most < EXECUTOR_MOST);
}

static void keep_and_look(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, keep, host);
        char byte;

        for (int round = 0; round < 2; round++) {
                do
                        it_read(&child, &byte, 1);
                while (byte == 'p');
                look(host);
        }
        assert_int_equal(it_reap(&child, 0), 0);
}

/* Of PW_PROGRAMS_KEPT programs as many fit as the tenant may have, five eighths of PW_PROGRAMS_MIB. */
int main(void)
{
        uint32_t host_mib = (uint32_t)it_environment("PW_PROGRAMS_MIB", 512);
        char memory[32], quota[48];

        snprintf(memory, sizeof memory, "%uMiB", host_mib);
        snprintf(quota, sizeof quota, "*:host=%uMiB", host_mib / 8 * 5);
        return attack_main(&(struct attack){ .name = "programs_kept",
                                             .rule = "programs and their parameters are charged to their tenant, and no process "
                                                     "has a copy of its own",
                                             .args = IT_ARGS("--devices", "emulated:4", "--islands", "1",
                                                             "--device-memory", "16MiB", "--host-memory", memory, "--quota", quota),
                                             .alone = true,
                                             .seconds = (uint32_t)it_environment("PW_PROGRAMS_KEPT", 0) + 120,
                                             .run = keep_and_look });
}

/* Two programs over the same devices, again and again: never a deadlock, and every device runs their gangs in one order.
 */
#include "tests/integration/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 20
#define LINKS 1000

/* A client: compiles, says so, starts when it is told to, waits for its value. */
struct client {
        struct it_host *host;
        struct pw_program *(*trace)(struct pw_session *session, bool other);
        bool other; /* the second of the two */
        double expected;
        int go;
};

static int run_when_told(void *context, int pipe)
{
        struct client *client = context;
        struct pw_session *session = it_connect(client->host);
        struct pw_program *program = client->trace(session, client->other);
        struct pw_future *input = it_put_scalar(session, 1), *result;
        char byte;

        assert_int_equal(write(pipe, "c", 1), 1);
        assert_int_equal(read(client->go, &byte, 1), 1);
        result = it_run_1(program, input);
        double value = it_get_scalar(result);
        if (value != client->expected)
                print_error("the value is %g, not %g\n", value, client->expected);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_close(session);
        return value == client->expected ? 0 : 1;
}

static void run_both(struct it_host *host, struct pw_program *(*trace)(struct pw_session *session, bool other), double expected)
{
        struct it_child children[2];
        struct client clients[2];
        int go[2][2];
        char byte;

        for (int i = 0; i < 2; i++) {
                assert_int_equal(pipe(go[i]), 0);
                clients[i] = (struct client){ host, trace, i, expected, go[i][0] };
                children[i] = it_fork(run_when_told, &clients[i]);
                it_read(&children[i], &byte, 1);
        }
        for (int i = 0; i < 2; i++)
                assert_int_equal(write(go[i][1], "g", 1), 1);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(it_reap(&children[i], 0), 0);
                close(go[i][0]);
                close(go[i][1]);
        }
}

/* --- the logs --------------------------------------------------------------------------------------------------------- */

struct log { int64_t *runs; char (*nodes)[64]; int64_t *seqs; size_t count; };

static struct log log_of(struct pw_session *session, int device)
{
        char name[16];
        struct log log;

        snprintf(name, sizeof name, "h0:%d", device);
        struct pw_listing *gangs = it_list(session, "gangs", name);
        log.count = it_rows(gangs);
        log.runs = calloc(log.count + 1, sizeof *log.runs);
        log.seqs = calloc(log.count + 1, sizeof *log.seqs);
        log.nodes = calloc(log.count + 1, sizeof *log.nodes);
        for (size_t i = 0; i < log.count; i++) {
                log.runs[i] = it_number(gangs, i, "run");
                log.seqs[i] = it_number(gangs, i, "seq");
                snprintf(log.nodes[i], sizeof log.nodes[i], "%s", it_text(gangs, i, "node"));
                assert_true(i == 0 || log.seqs[i] > log.seqs[i - 1]);
        }
        pw_listing_free(gangs);
        return log;
}

static void log_free(struct log *log)
{
        free(log->runs);
        free(log->seqs);
        free(log->nodes);
}

/* The same gangs under the same numbers on all devices of an island; both programs are in it. */
static void one_order(struct pw_session *session, int first, int devices)
{
        struct log log = log_of(session, first);
        size_t changes = 0;

        assert_true(log.count > 100);
        for (int d = first + 1; d < first + devices; d++) {
                struct log other = log_of(session, d);

                assert_int_equal(other.count, log.count);
                for (size_t i = 0; i < log.count; i++)
                        if (log.seqs[i] != other.seqs[i] || log.runs[i] != other.runs[i] ||
                            atoi(log.nodes[i]) != atoi(other.nodes[i]))
                                fail_msg("gang %d: device %d has run %d node %s, device %d has run %d node %s", (int)i, first,
                                         (int)log.runs[i], log.nodes[i], d, (int)other.runs[i], other.nodes[i]);
                log_free(&other);
        }
        for (size_t i = 1; i < log.count; i++)
                changes += log.runs[i] != log.runs[i - 1];
        assert_true(changes > 0);
        log_free(&log);
}

/* --- the programs ----------------------------------------------------------------------------------------------------- */

/* A chain of scalar all-reduces: each device brings an eighth. */
static struct pw_value *reduces(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, uint32_t devices,
                                int count)
{
        double factor = 1.0 / devices;

        for (int i = 0; i < count; i++)
                value = PW_AS(pw_call_with(program, slice, "pw/scale", PW_ARGS(value), PW_PARTIAL(PW_SUM),
                                           &(struct pw_call_params){ .params = &factor, .params_bytes = sizeof factor }),
                              PW_BROADCAST);
        return value;
}

static struct pw_program *all_reduces(struct pw_session *session, bool other)
{
        struct pw_slice *slice = it_slice(session, 8, 1);
        struct pw_program *program = pw_program_new(session, other ? "test/second" : "test/first");

        pw_result(program, reduces(program, slice, pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0), 8, LINKS));
        it_ok(pw_compile(program, IT_ERR));
        pw_slice_close(slice);
        return program;
}

/* From island 1 to island 2 and back, a hundred times; the other client begins in island 2. */
static struct pw_program *crossings(struct pw_session *session, bool other)
{
        struct pw_slice *slices[2];
        struct pw_program *program = pw_program_new(session, other ? "test/second" : "test/first");
        struct pw_value *value;

        for (int i = 0; i < 2; i++)
                it_ok(pw_slice_open(session, &(struct pw_slice_params){ .device_count = 4, .island = 1 + (i != other) }, &slices[i],
                                    IT_ERR));
        value = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        for (int i = 0; i < 100; i++) {
                value = reduces(program, slices[i % 2], value, 4, 5);
                value = pw_move(value, slices[1 - i % 2], PW_BROADCAST);
        }
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        pw_slice_close(slices[0]);
        pw_slice_close(slices[1]);
        return program;
}

static void one_island(void **state)
{
        struct it_host *host = *state;

        for (int round = 0; round < ROUNDS; round++) {
                run_both(host, all_reduces, 1);
                if (round % 2) /* histories hold two rounds */
                        one_order(host->session, 0, 8);
        }
}

static void two_islands_in_opposite_directions(void **state)
{
        struct it_host *host = *state;

        for (int round = 0; round < ROUNDS; round++) {
                run_both(host, crossings, 1);
                if (round % 2 == 0)
                        continue;
                one_order(host->session, 0, 4);
                one_order(host->session, 4, 4);
        }
}

static int setup(void **state, const char *islands)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:8", "--islands", islands, "--host-memory", "256MiB",
                                            "--device-memory", "4MiB"));
}
static int setup_1(void **state) { return setup(state, "1"); }
static int setup_2(void **state) { return setup(state, "2"); }

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(one_island, setup_1, it_teardown),
                cmocka_unit_test_setup_teardown(two_islands_in_opposite_directions, setup_2, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

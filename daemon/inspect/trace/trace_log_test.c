/* A tenant's trace has gangs of its own runs and no others; the operators' has all. */
#include "base/memory.h"
#include "base/transition.h"
#include "daemon/child/child.h"
#include "daemon/inspect/trace/trace_log.h"
#include "daemon/inspect/trace/trace_program.h"
#include "daemon/session/kept.h"
#include "scheduler/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GANGS 8u

/* --- what the log calls ------------------------------------------------------------------------------------------------------- */

enum { NONE, ANN, BO, ENDED }; /* programs: of whom; of one that has ended nobody knows whose it was */

/* Gangs by their seq: of run 100 + seq, of this program; `reused`: the record of the run is another one's by now. */
static const struct { uint32_t program; bool reused; } gangs[GANGS + 1] = {
        { NONE, false }, { ANN, false }, { NONE, false }, { BO, false }, { ANN, true }, { BO, true }, { ENDED, false },
                { ANN, false }, { BO, false },
};
static struct pw_run_record records[GANGS + 1];
static struct pw_image image;

bool pw_child_order(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, struct pw_child_order *ret_order)
{
        (void)daemon, (void)device;
        if (gangs[seq].program == NONE)
                return false;
        records[seq].run = 100 + seq + gangs[seq].reused;
        records[seq].program = records[seq].image_serial = gangs[seq].program;
        *ret_order = (struct pw_child_order){ &records[seq], &image, NULL };
        return true;
}
struct pw_program_row *pw_scheduler_program(struct pw_scheduler *scheduler, uint32_t program)
{
        static char ann[] = "ann", bo[] = "bo";
        static struct pw_program_row rows[] = { [ANN] = { .tenant = ann }, [BO] = { .tenant = bo } };

        (void)scheduler;
        return program == ENDED ? NULL : &rows[program];
}
struct pw_run *pw_scheduler_run(struct pw_scheduler *scheduler, uint64_t number)
{
        static struct pw_run run;

        run.row = pw_scheduler_program(scheduler, (uint32_t)number);
        return run.row ? &run : NULL;
}
struct pw_traced_program *pw_traced_program_new(const struct pw_image *of, uint64_t most_bytes)
{
        (void)of, (void)most_bytes;
        return calloc(1, sizeof(struct pw_traced_program));
}
void pw_traced_program_free(struct pw_traced_program *program) { free(program); }
enum pw_status pw_kept_ask(struct pw_daemon *daemon, const struct pw_tenant *tenant, enum pw_kept_kind kind, uint64_t bytes,
                           struct pw_error *ret_err)
{
        (void)daemon, (void)tenant, (void)kind, (void)bytes, (void)ret_err;
        return PW_OK;
}
static int64_t kept; /* of all */
void pw_kept_count(struct pw_daemon *daemon, const struct pw_tenant *tenant, enum pw_kept_kind kind, int64_t bytes)
{
        (void)daemon, (void)tenant, (void)kind;
        kept += bytes;
}
uint64_t pw_kept_heap_bytes(void *block)
{
        (void)block;
        return 0;
}

/* --- the test ----------------------------------------------------------------------------------------------------------------- */

static void expect_seqs(const struct pw_trace_log *log, const char *seqs, uint32_t programs)
{
        char text[40] = "";
        size_t at = 0;

        for (uint64_t i = log->gangs.first; i < log->gangs.end; i++)
                text[at++] = (char)('0' + ((const struct pw_traced_gang *)pw_trace_queue_at(&log->gangs, i))->seq);
        assert_string_equal(text, seqs);
        assert_int_equal(log->program_count, programs);
        assert_int_equal(log->lost, 0);
}

static const char *const states[] = { "waiting", "queued" }, *const causes[] = { "arrive" };
static const struct pw_transition_kind kind = { "run", 1, false, states, causes };

/* Of so many runs, from this one on. */
static void expect_states(const struct pw_trace_log *log, uint64_t first, uint64_t count)
{
        assert_int_equal(log->states.end, count);
        for (uint64_t i = 0; i < count; i++) {
                const struct pw_traced_state *state = pw_trace_queue_at(&log->states, i);

                assert_int_equal(state->run, first + i);
                assert_int_equal(state->at_us, 7);
                assert_string_equal(state->state, "queued");
                assert_string_equal(state->cause, "arrive");
        }
}

static void test_who_sees_what(void **state)
{
        static struct pw_device_board board;
        struct pw_child child = { .board = &board };
        struct pw_daemon daemon = { .children.all = &child, .device_count = 1 };
        struct pw_tenant tenants[3] = { { .name = (char[]){ "ann" } }, { .name = (char[]){ "bo" } },
                                        { .name = (char[]){ "root" } } };
        struct pw_trace_reader readers[3];
        struct pw_trace_log *logs[3];

        (void)state;
        pw_list_init(&daemon.inspection.trace_logs);
        for (int i = 0; i < 3; i++) {
                readers[i] = (struct pw_trace_reader){ &daemon, &tenants[i], i == 2 };
                assert_int_equal(pw_trace_log_join(&readers[i], &logs[i], NULL), PW_OK);
        }
        for (uint32_t seq = 1; seq <= GANGS; seq++)
                board.history[seq - 1] = (struct pw_history){ .seq = seq, .run = 100 + seq };
        atomic_store(&board.history_count, GANGS);
        pw_trace_logs_gangs(&daemon);
        expect_seqs(logs[0], "17", 1);
        expect_seqs(logs[1], "38", 1);
        expect_seqs(logs[2], "12345678", 3);
        for (uint64_t number = ANN; number <= ENDED; number++)
                pw_trace_logs_state(&daemon, &(struct pw_transition){ .kind = &kind, .id = { number }, .to = 1 }, 7);
        expect_states(logs[0], ANN, 1);
        expect_states(logs[1], BO, 1);
        expect_states(logs[2], ANN, 3);
        assert_true(kept > 0);
        for (int i = 0; i < 3; i++)
                pw_trace_log_leave(logs[i]);
        assert_int_equal(kept, 0);
        assert_true(pw_list_empty(&daemon.inspection.trace_logs));
}

/* More than is kept was done since the last look, as a board says that a function wrote: what was missed is counted by all who
 * trace, and what is there is told. */
static void test_what_is_missed_is_counted(void **state)
{
        static struct pw_device_board board;
        struct pw_child child = { .board = &board };
        struct pw_daemon daemon = { .children.all = &child, .device_count = 1 };
        struct pw_tenant tenants[2] = { { .name = (char[]){ "ann" } }, { .name = (char[]){ "root" } } };
        struct pw_trace_reader readers[2];
        struct pw_trace_log *logs[2];

        (void)state;
        pw_list_init(&daemon.inspection.trace_logs);
        for (int i = 0; i < 2; i++) {
                readers[i] = (struct pw_trace_reader){ &daemon, &tenants[i], i == 1 };
                assert_int_equal(pw_trace_log_join(&readers[i], &logs[i], NULL), PW_OK);
        }
        atomic_store(&board.history_count, PW_HISTORY);
        pw_trace_logs_gangs(&daemon);
        assert_int_equal(logs[0]->lost + logs[1]->lost, 0);
        atomic_store(&board.history_count, 2 * PW_HISTORY + 5);
        pw_trace_logs_gangs(&daemon);
        for (int i = 0; i < 2; i++)
                assert_int_equal(logs[i]->lost, 5);
        assert_int_equal(logs[1]->gangs.end, 2 * PW_HISTORY);
        for (int i = 0; i < 2; i++)
                pw_trace_log_leave(logs[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_who_sees_what),
                                            cmocka_unit_test(test_what_is_missed_is_counted) };

        return cmocka_run_group_tests_name("trace_log", tests, NULL, NULL);
}

/* The pipeline example, by the trace file that a person would open: no stage above its quota, and microbatches that overlap.
 */
#include "tests/integration/operator/chrome.h"
#include "tests/integration/operator/recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUOTA 2
#define QUOTA_TEXT "2"
#define MICROBATCHES 15 /* of a round: 360 rows by 24 */
#define ROUNDS 3
#define CALLS (MICROBATCHES * ROUNDS)

/* In the child, which becomes the example. */
static int become_pipeline(void *context, int pipe)
{
        const struct it_host *host = context;
        const char *source = getenv("PW_SRC");
        char program[600], data[600], said[128];

        (void)pipe;
        it_built("examples/pipeline/pipeline", program);
        snprintf(data, sizeof data, "%s/examples/digits/digits.csv.gz", source ? source : "/");
        snprintf(said, sizeof said, "%s/said", host->folder);
        int out = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
                return 126;
        execl(program, "pipeline", "--socket", host->socket, "--data", data, "--quota", QUOTA_TEXT, "--rounds", "3", (char *)NULL);
        return 127;
}

/* The calls of a stage, one for each microbatch, in the order in which its device ran them. */
struct stage { const struct it_chrome_bar *calls[CALLS]; int64_t taken_ns[CALLS]; int count; };

/* What the last stage makes is the caller's: it takes no credit, and its calls are known by their name alone. */
static bool is_call_of(const struct it_chrome_bar *bar, const char *stage)
{
        const char *function = strrchr(bar->name, '/');

        return !strcmp(bar->stage, stage) || (!bar->stage[0] && !strcmp(stage, "pick") && function && !strcmp(function, "/pick"));
}

static void find_calls(const struct it_chrome *chrome, const char *name, struct stage *ret_stage)
{
        *ret_stage = (struct stage){ .count = 0 };
        for (size_t i = 0; i < chrome->bar_count; i++) {
                const struct it_chrome_bar *bar = &chrome->bars[i];
                if (!is_call_of(bar, name))
                        continue;
                assert_string_equal(bar->category, "call");
                assert_in_range(ret_stage->count, 0, CALLS - 1);
                ret_stage->calls[ret_stage->count++] = bar;
        }
        assert_int_equal(ret_stage->count, CALLS);
}

/* The first transfer of which `row` has a bar that comes behind gang `seq` and before the next stage's call `before`. */
static const struct it_chrome_bar *transfer_in(const struct it_chrome *chrome, int64_t row, int64_t seq, int64_t before)
{
        for (size_t i = 0; i < chrome->bar_count; i++) {
                const struct it_chrome_bar *bar = &chrome->bars[i];
                if (bar->row == row && !strcmp(bar->category, "transfer") && bar->seq > seq && bar->seq < before)
                        return bar;
        }
        return NULL;
}

/* When the next stage had taken over what each call made: a device's transfers are in the row behind that of its calls, and of two
 * that took place at the next stage's device the one before a call of a microbatch brought it. */
static void find_transfers(const struct it_chrome *chrome, struct stage *stage, const struct stage *next)
{
        for (int m = 0; m < CALLS; m++) {
                const struct it_chrome_bar *bar =
                        transfer_in(chrome, next->calls[m]->row + 1, stage->calls[m]->seq, next->calls[m]->seq);
                if (!bar)
                        fail_msg("nothing brought microbatch %d to %s", m, next->calls[m]->name);
                assert_true(bar->start_ns <= next->calls[m]->start_ns);
                stage->taken_ns[m] = bar->end_ns;
        }
}

/* Outputs that were made and not yet taken over, at the end of each call. */
static void expect_quota(const struct stage *stage)
{
        for (int m = 0; m < CALLS; m++) {
                int in_flight = 0;
                for (int i = 0; i <= m; i++)
                        in_flight += stage->taken_ns[i] > stage->calls[m]->end_ns;
                if (in_flight > QUOTA)
                        fail_msg("stage %s has %d outputs in flight at the end of call %d", stage->calls[m]->stage, in_flight, m);
        }
}

/* How many calls of a stage ended while the next one had an earlier microbatch in hand. */
static int overlaps(const struct stage *stage, const struct stage *next)
{
        int count = 0;

        for (int m = 0; m < CALLS; m++)
                for (int i = 0; i < m; i++)
                        count += next->calls[i]->start_ns < stage->calls[m]->end_ns &&
                                 stage->calls[m]->end_ns < next->calls[i]->end_ns;
        return count;
}

static void quotas_hold_and_microbatches_overlap(void **state)
{
        struct it_host *host = *state;
        struct stage level, compare, pick;
        char path[120];
        struct it_command command = it_recording_begin(host, path);
        struct it_child child = it_fork(become_pipeline, host);

        assert_int_equal(it_reap(&child, 0), 0);
        struct it_chrome chrome = it_recording_end(&command, path);
        find_calls(&chrome, "level", &level);
        find_calls(&chrome, "compare", &compare);
        find_calls(&chrome, "pick", &pick);
        find_transfers(&chrome, &level, &compare);
        find_transfers(&chrome, &compare, &pick);
        expect_quota(&level);
        expect_quota(&compare);
        int overlapping = overlaps(&level, &compare);
        printf("%d of %d calls of the first stage ended while the second one had an earlier microbatch\n", overlapping, CALLS);
        assert_true(overlapping >= CALLS / 3);
        it_chrome_free(&chrome);
}

static int setup(void **state)
{
        char modules[600];

        it_built("examples/pipeline/.libs", modules);
        return it_setup_with(state, IT_ARGS("--devices", "emulated:4", "--islands", "1", "--modules", modules, "--host-memory",
                                            "1GiB", "--device-memory", "64MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(quotas_hold_and_microbatches_overlap, setup,
                                                                            it_teardown) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

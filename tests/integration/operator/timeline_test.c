/* `pathways trace`: a file that holds to the schema, with every gang in it once.
 */
#include "tests/integration/operator/recording.h"
#include "tests/integration/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 200

/* --- the judge ----------------------------------------------------------------------------------------------------------- */

#define ROW "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"ts\":0,\"args\":{\"name\":\"h0:0\"}}"
#define BAR(ts, dur) \
        "{\"ph\":\"X\",\"cat\":\"call\",\"name\":\"a/b\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
        ",\"args\":{\"run\":1,\"seq\":1,\"node\":0,\"bytes\":8,\"status\":\"PW_OK\"}}"
#define EDGE(phase) \
        "{\"ph\":\"" phase "\",\"cat\":\"run\",\"id\":\"1\",\"name\":\"a\",\"pid\":1000,\"tid\":0,\"ts\":1.5,\"args\":{}}"

#define STATE(name) \
        "{\"ph\":\"n\",\"cat\":\"run\",\"id\":\"1\",\"name\":\"" name \
        "\",\"pid\":1000,\"tid\":0,\"ts\":1.5,\"args\":{\"cause\":\"x\"}}"

static void the_judge_finds_what_is_wrong(void **state)
{
        static const struct { const char *events, *problem; } files[] = {
                { ROW "," BAR("1.250", "2.000") "," BAR("3.250", "0.001") "," EDGE("b") "," EDGE("e"), "" },
                { ROW "," BAR("1.250", "2.000") "," BAR("3.249", "0.001"), "overlaps" },
                { ROW "," BAR("1.250", "2.000") "," BAR("1.249", "0.001"), "goes back" },
                { BAR("1.250", "2.000"), "no name" },
                { ROW "," BAR("1.250", "-1"), "without dur" },
                { ROW "," BAR("\"1\"", "1"), "ts is" },
                { EDGE("e"), "without begin" },
                { EDGE("b") "," EDGE("b"), "second begin" },
                { STATE("queued") "," EDGE("b") "," STATE("admitted"), "" },
                { STATE("queued") "," STATE("queued"), "does not follow" },
                { "{\"ph\":\"X\"}", "name is" },
                { "{\"name\":\"x\"}", "ph is" },
        };
        struct it_host *host = *state;
        char path[120];

        snprintf(path, sizeof path, "%s/judged", host->folder);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                FILE *file = fopen(path, "we");
                struct it_chrome chrome;
                assert_non_null(file);
                fprintf(file, "{\"traceEvents\":[%s]}", files[i].events);
                fclose(file);
                assert_int_equal(it_chrome_read(path, &chrome), !*files[i].problem);
                if (!strstr(chrome.problem, files[i].problem))
                        fail_msg("%s: %s, not %s", files[i].events, chrome.problem, files[i].problem);
                it_chrome_free(&chrome);
        }
}

/* --- real runs ----------------------------------------------------------------------------------------------------------- */

/* Split over 8 devices in 2 islands, slept, brought together: calls in both islands, and transfers. */
static struct pw_program *sleeper(struct pw_session *session)
{
        struct pw_slice *slice = it_slice(session, 8, 2);
        struct pw_program *program = pw_program_new(session, "test/traced");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(64), PW_SPLIT(0), 0);

        value = it_sleep(program, slice, value, PW_SPLIT(0), 100);
        pw_result(program, it_grow(program, slice, PW_AS(value, PW_BROADCAST), PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        pw_slice_close(slice);
        return program;
}

static size_t count_named(const struct it_chrome *chrome, const char *name)
{
        size_t count = 0;

        for (size_t i = 0; i < chrome->bar_count; i++)
                count += !strcmp(chrome->bars[i].name, name);
        return count;
}

static void transfers_have_rows_of_their_own(const struct it_chrome *chrome)
{
        bool calls[64] = { false }, others[64] = { false };
        size_t transfers = 0;

        for (size_t i = 0; i < chrome->bar_count; i++) {
                const struct it_chrome_bar *bar = &chrome->bars[i];
                bool call = !strcmp(bar->category, "call");
                assert_true(bar->row < 64);
                (call ? calls : others)[bar->row] = true;
                transfers += !strcmp(bar->category, "transfer") && bar->bytes > 0;
                assert_true(bar->process == 1 || bar->process == 2);
        }
        for (int i = 0; i < 64; i++)
                assert_false(calls[i] && others[i]);
        assert_true(transfers > 0);
}

static void every_gang_is_there_once(void **state)
{
        struct it_host *host = *state;
        struct pw_program *program = sleeper(host->session);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(64), 0);
        char path[120];
        struct it_command command = it_recording_begin(host, path);

        for (int i = 0; i < RUNS; i++) {
                struct pw_future *result = it_run_1(program, input);
                assert_true(it_get_scalar(result) == 1);
                pw_unref(result);
        }
        struct it_chrome chrome = it_recording_end(&command, path);
        assert_int_equal(count_named(&chrome, "test/traced/pw/sleep_us"), 8 * RUNS);
        assert_int_equal(count_named(&chrome, "test/traced/parts/grow"), 8 * RUNS);
        assert_int_equal(chrome.runs_begun, RUNS);
        assert_int_equal(chrome.runs_ended, RUNS);
        assert_int_equal(chrome.moves, it_apart() ? RUNS : 0);
        assert_int_equal(chrome.states, 3 * RUNS);
        assert_int_equal(chrome.rows_named, 16);
        transfers_have_rows_of_their_own(&chrome);
        for (size_t i = 0; i < chrome.bar_count; i++) {
                assert_string_equal(chrome.bars[i].status, "PW_OK");
                if (strstr(chrome.bars[i].name, "sleep_us"))
                        assert_true(chrome.bars[i].end_ns - chrome.bars[i].start_ns >= 100000);
        }
        it_chrome_free(&chrome);
        pw_unref(input);
        pw_program_free(program);
}

/* More gangs than a history holds; each device's count grows by what the trace has of it. */
static void fast_runs_are_all_there(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_future *value = it_put_scalar(host->session, 1);
        int64_t before = it_listed(host->session, "devices", "gangs_done");
        char path[120];
        struct it_command command = it_recording_begin(host, path);

        for (int i = 0; i < 10000; i++) {
                struct pw_future *next = it_run_1(program, value);
                pw_unref(value);
                value = next;
        }
        assert_true(it_get_scalar(value) == 1);
        struct it_chrome chrome = it_recording_end(&command, path);
        assert_int_equal(chrome.bar_count, it_listed(host->session, "devices", "gangs_done") - before);
        assert_int_equal(chrome.runs_begun, 10000);
        it_chrome_free(&chrome);
        pw_unref(value);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void gangs_of_a_stage_name_it(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1), *other = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/staged");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        struct pw_future *input = it_put_scalar(host->session, 1), *result;
        size_t staged = 0;
        char path[120];
        struct it_command command;

        value = pw_call_with(program, slice, "pw/nop", PW_ARGS(value), PW_BROADCAST,
                             &(struct pw_call_params){ .stage = pw_stage(program, "first", 1) });
        pw_result(program, it_grow(program, other, pw_move(value, other, PW_BROADCAST), PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        command = it_recording_begin(host, path);
        result = it_run_1(program, input);
        assert_true(it_get_scalar(result) == 2);
        struct it_chrome chrome = it_recording_end(&command, path);
        for (size_t i = 0; i < chrome.bar_count; i++) {
                assert_string_equal(chrome.bars[i].stage, strstr(chrome.bars[i].name, "pw/nop") ? "first" : "");
                staged += chrome.bars[i].stage[0] != 0;
        }
        assert_int_equal(staged, 1);
        it_chrome_free(&chrome);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_slice_close(other);
}

static void failures_and_runs_that_go_on_show(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        uint64_t shard = 1;
        struct pw_program *program = it_one_node(host->session, slice, "broken/fail", PW_DIMS(4),
                                                 &(struct pw_call_params){ .params = &shard, .params_bytes = sizeof shard });
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(4), 0), *pending, *waits, *failed;
        size_t failures = 0;
        char path[120];
        void *data;
        struct it_command command = it_recording_begin(host, path);

        it_ok(pw_create(host->session, 32, &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(4) }, &pending, &data,
                        IT_ERR));
        waits = it_run_1(program, pending);
        failed = it_run_1(program, input);
        it_fails(pw_wait(&failed, 1, 1, IT_LONG, NULL, IT_ERR), PW_OK, NULL);
        struct it_chrome chrome = it_recording_end(&command, path);
        for (size_t i = 0; i < chrome.bar_count; i++)
                failures += strcmp(chrome.bars[i].status, "PW_OK") != 0;
        assert_int_equal(failures, 1);
        assert_int_equal(chrome.runs_begun, 2);
        assert_int_equal(chrome.runs_ended, 1);
        it_chrome_free(&chrome);
        it_ok(pw_abort(pending, IT_ERR));
        pw_unref(pending);
        pw_unref(waits);
        pw_unref(failed);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(the_judge_finds_what_is_wrong),
                IT_TEST(every_gang_is_there_once),
                IT_TEST(fast_runs_are_all_there),
                IT_TEST(gangs_of_a_stage_name_it),
                IT_TEST(failures_and_runs_that_go_on_show),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

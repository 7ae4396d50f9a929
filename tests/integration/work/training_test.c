/* The main job, examples/digits, on real devices of a real daemon: what it learns, how it repeats, what memory it takes.
 */
#include "tests/integration/trace.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS_MAX 4000

/* --- the driver ------------------------------------------------------------------------------------------------------- */

struct training { struct it_host *host; const char *devices, *islands, *hidden, *name; };

/* In the child, which becomes the driver. */
static int become_digits(void *context, int pipe)
{
        const struct training *training = context;
        const char *source = getenv("PW_SRC");
        char program[600], data[600], losses[128], said[128];

        (void)pipe;
        it_built("examples/digits/digits", program);
        snprintf(data, sizeof data, "%s/examples/digits/digits.csv.gz", source ? source : "/");
        snprintf(losses, sizeof losses, "%s/%s.losses", training->host->folder, training->name);
        snprintf(said, sizeof said, "%s/%s.said", training->host->folder, training->name);
        int out = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
                return 126;
        execl(program, "digits", "--socket", training->host->socket, "--data", data, "--loss-file", losses, "--devices",
              training->devices, "--islands", training->islands, "--hidden", training->hidden, "--epochs", "100", (char *)NULL);
        return 127;
}

static void read_file(const struct training *training, const char *kind, char *text, size_t bytes)
{
        char path[128];

        snprintf(path, sizeof path, "%s/%s.%s", training->host->folder, training->name, kind);
        FILE *file = fopen(path, "re");
        size_t length = file ? fread(text, 1, bytes - 1, file) : 0;
        if (file)
                fclose(file);
        text[length] = 0;
}

/* Trains; returns the loss of each run as text, which the caller frees. */
static char *train(const struct training *training)
{
        char *said = malloc(1 << 16), *losses = malloc(1 << 17), *accuracy;
        struct it_child child = it_fork(become_digits, (void *)(uintptr_t)training);

        assert_true(said && losses);
        int status = it_reap(&child, 0);
        read_file(training, "said", said, 1 << 16);
        read_file(training, "losses", losses, 1 << 17);
        if (status)
                fail_msg("digits ended with %d: %s", status, said);
        accuracy = strstr(said, "accuracy ");
        assert_non_null(accuracy);
        assert_true(strtod(accuracy + strlen("accuracy "), NULL) >= 0.90);
        free(said);
        return losses;
}

static size_t parse(const char *text, double losses[RUNS_MAX])
{
        size_t count = 0;
        char *end;

        for (double loss = strtod(text, &end); end != text && count < RUNS_MAX; loss = strtod(text, &end)) {
                losses[count++] = loss;
                text = end;
        }
        return count;
}

static void same_curve(const char *one, const char *other)
{
        static double a[RUNS_MAX], b[RUNS_MAX];
        size_t count = parse(one, a);

        assert_true(count >= 1400);
        assert_int_equal(parse(other, b), count);
        for (size_t i = 0; i < count; i++)
                if (!(fabs(a[i] - b[i]) <= 1e-5))
                        fail_msg("the loss of run %d is %.9g and %.9g", (int)i, a[i], b[i]);
}

static void learns_the_same(struct it_host *host, const char *hidden)
{
        const struct training ways[] = {
                { host, "1", "1", hidden, "one" },  { host, "2", "2", hidden, "two" },   { host, "4", "1", hidden, "four" },
                { host, "4", "2", hidden, "cross" }, { host, "4", "2", hidden, "again" },
        };
        char *losses[5];

        if (!getenv("PW_SRC"))
                fail_msg("PW_SRC does not say where the source tree is");
        for (int i = 0; i < 5; i++)
                losses[i] = train(&ways[i]);
        for (int i = 1; i < 5; i++)
                same_curve(losses[0], losses[i]);
        assert_string_equal(losses[3], losses[4]);
        for (int i = 0; i < 5; i++)
                free(losses[i]);
}

static void softmax_regression(void **state) { learns_the_same(*state, "0"); }
static void a_hidden_layer(void **state) { learns_the_same(*state, "16"); }

/* --- memory ----------------------------------------------------------------------------------------------------------- */

#define ROWS 96
#define FEATURES 65
#define CLASSES 10

/* The step of examples/digits/train.c. */
static struct pw_program *trace_step(struct pw_session *session, struct pw_slice *slice)
{
        static const struct { float rate, rows; } update = { 1.0f, ROWS };
        const struct pw_sharding sums[] = { PW_PARTIAL(PW_SUM) };
        struct pw_program *program = pw_program_new(session, "digits/step");
        struct pw_value *weights = pw_input(program, slice, PW_F32, PW_DIMS(FEATURES, CLASSES), PW_BROADCAST, PW_DONATED);
        struct pw_value *images = pw_input(program, slice, PW_F32, PW_DIMS(ROWS, FEATURES), PW_SPLIT(0), 0);
        struct pw_value *labels = pw_input(program, slice, PW_U8, PW_DIMS(ROWS), PW_SPLIT(0), 0);
        struct pw_value *gradient =
                pw_call_with(program, slice, "digits/gradient", PW_ARGS(weights, images, labels), PW_PARTIAL(PW_SUM),
                             &(struct pw_call_params){ .output_count = 2, .output_shardings = sums });

        pw_result(program, pw_call_with(program, slice, "digits/update", PW_ARGS(weights, gradient), PW_BROADCAST,
                                        &(struct pw_call_params){ .params = &update, .params_bytes = sizeof update }));
        pw_result(program, PW_AS(pw_output(gradient, 1), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static struct pw_future *put_zeros(struct pw_session *session, enum pw_dtype dtype, struct pw_dims dims)
{
        struct pw_put_params params = { .dtype = dtype, .dims = dims };
        uint64_t bytes = pw_dtype_bytes(dtype);
        struct pw_future *future;
        void *data;

        for (uint32_t i = 0; i < dims.rank; i++)
                bytes *= dims.dim[i];
        it_ok(pw_create(session, bytes, &params, &future, &data, IT_ERR));
        memset(data, 0, bytes);
        it_ok(pw_seal(future, IT_ERR));
        return future;
}

static void takes_what_it_says(struct it_host *host, uint32_t devices, uint32_t islands)
{
        struct pw_slice *slice = it_slice(host->session, devices, islands);
        struct pw_program *program = trace_step(host->session, slice);
        struct pw_future *weights = put_zeros(host->session, PW_F32, PW_DIMS(FEATURES, CLASSES)), *results[2];
        struct pw_future *images = put_zeros(host->session, PW_F32, PW_DIMS(ROWS, FEATURES));
        struct pw_future *labels = put_zeros(host->session, PW_U8, PW_DIMS(ROWS));
        int64_t peak = it_listed(host->session, "programs", "peak"), measured;

        assert_true(peak > 0);
        assert_int_equal(it_listed(host->session, "programs", "runs"), 0);
        assert_int_equal(it_listed(host->session, "programs", "measured_peak"), 0);
        for (int i = 0; i < 100; i++) {
                it_ok(pw_run(program, PW_FUTURES(pw_donate(&weights), images, labels), results, IT_ERR));
                weights = results[0];
                it_ok(pw_wait(&results[1], 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(results[1]);
                measured = it_listed(host->session, "programs", "measured_peak");
                assert_true(measured <= peak);
        }
        assert_true(measured > 0);
        if (devices == 1)
                assert_int_equal(measured, peak);
        assert_int_equal(it_listed(host->session, "programs", "peak"), peak);
        pw_unref(weights);
        pw_unref(images);
        pw_unref(labels);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void peak_on_one_device(void **state) { takes_what_it_says(*state, 1, 1); }
static void peak_on_two_devices(void **state) { takes_what_it_says(*state, 2, 1); }
static void peak_over_two_islands(void **state) { takes_what_it_says(*state, 4, 2); }

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(peak_on_one_device), IT_TEST(peak_on_two_devices), IT_TEST(peak_over_two_islands),
                IT_TEST(softmax_regression), IT_TEST(a_hidden_layer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

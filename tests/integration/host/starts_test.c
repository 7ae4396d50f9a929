/* Many starts of a host, each with sizes, quotas and delays of its own: pipelines whose quotas cross islands from both sides,
 * beside two programs that fit into a device's memory alone but not together. All runs end with what their programs say; none waits
 * for ever, none ends at its deadline. PW_STARTS is how many, PW_SEED the seed of the first: that of a failed one replays it with
 * PW_STARTS=1.
 */
#include "tests/integration/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define STAGES_MAX 6
#define MICROBATCHES_MAX 24
#define UNDER_WAY 12 /* runs of a client, at most */
#define MIB (UINT64_C(1) << 20)

struct start {
        struct it_host *host;
        uint64_t seed;
        uint32_t devices; /* in each of two islands */
        uint64_t device_bytes;
};

struct client {
        const struct start *start;
        const char *name;
        int (*work)(struct client *client);
        uint32_t island; /* where it begins */
        uint64_t seed;
        struct pw_session *session;
};

static uint64_t among(uint64_t *seed, uint64_t least, uint64_t most) { return least + it_random(seed) % (most - least + 1); }

/* All that a start does takes a second or two where it has a processor for itself. */
static int64_t patience_us(void) { return 2 * IT_SECOND * it_slack(); }

/* --- a client: runs in flight, in order -------------------------------------------------------------------------------- */

/* The value, or the end of this process, which then says why the result waits. */
static double value_of(struct client *client, struct pw_future *future)
{
        struct pw_error err = { PW_OK, "" };
        struct pw_listing *why = NULL;
        char id[PW_ID_TEXT_BYTES];
        struct pw_view view;
        enum pw_status status = pw_get(future, patience_us(), &view, &err);

        if (status != PW_OK) {
                print_error("%s: a result ends with %s: %s\n", client->name, pw_status_name(status), err.text);
                if (pw_list(client->session, "why", pw_id_format(pw_future_id(future), id), 0, &why, NULL) == PW_OK)
                        it_print(why);
                _exit(1);
        }
        double value = *(const double *)view.data;
        pw_view_done(&view);
        return value;
}

static void expect(struct client *client, struct pw_future *future, double expected)
{
        double value = value_of(client, future);

        if (value != expected) {
                print_error("%s: a result is %g, not %g\n", client->name, value, expected);
                _exit(1);
        }
        pw_unref(future);
}

static struct pw_run_params until_patience(void) { return (struct pw_run_params){ .deadline_us = patience_us() }; }

/* --- pipelines --------------------------------------------------------------------------------------------------------- */

struct pipeline {
        struct pw_slice *slices[STAGES_MAX];
        struct pw_program *program;
        int stages, microbatches;
        uint64_t elements;
};

static struct pw_value *through(struct pipeline *pipeline, int at, struct pw_value *value, struct pw_stage *stage, uint64_t us)
{
        struct pw_slice *slice = pipeline->slices[at];

        return pw_call_with(pipeline->program, slice, "pw/sleep_us", PW_ARGS(pw_move(value, slice, PW_BROADCAST)), PW_BROADCAST,
                            &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us, .stage = stage });
}

/* Stage after stage, each in the other island than the one before. False: the devices cannot hold one run of it. */
static bool trace_pipeline(struct client *client, struct pipeline *pipeline)
{
        struct pw_value *values[MICROBATCHES_MAX];
        struct pw_error err;

        pipeline->program = pw_program_new(client->session, client->name);
        for (int m = 0; m < pipeline->microbatches; m++)
                values[m] = pw_input(pipeline->program, pipeline->slices[0], PW_F64, PW_DIMS(pipeline->elements), PW_BROADCAST, 0);
        for (int s = 0; s < pipeline->stages; s++) {
                uint64_t us = among(&client->seed, 0, 3) * 100;
                char name[24];

                snprintf(name, sizeof name, "stage%d", s);
                struct pw_stage *stage = pw_stage(pipeline->program, name, (uint32_t)among(&client->seed, 1, 3));
                for (int m = 0; m < pipeline->microbatches; m++)
                        values[m] = through(pipeline, s, values[m], stage, us);
        }
        for (int m = 0; m < pipeline->microbatches; m++)
                pw_result(pipeline->program, values[m]);
        enum pw_status status = pw_compile(pipeline->program, &err);
        if (status != PW_OK && status != PW_TOO_LARGE)
                it_judge(status, &err, &(struct it_expected){ PW_OK, NULL, "pw_compile", __FILE__, __LINE__ });
        return status == PW_OK;
}

/* As large as `seed` says, if the devices can hold one run of it at all. */
static void make_pipeline(struct client *client, struct pipeline *pipeline)
{
        uint64_t peak;

        *pipeline = (struct pipeline){ .stages = (int)among(&client->seed, 2, STAGES_MAX),
                                       .microbatches =
                                               (int)(among(&client->seed, 0, 1) ? 1 : among(&client->seed, 2, MICROBATCHES_MAX)),
                                       .elements = among(&client->seed, 1, client->start->device_bytes / 2 / sizeof(double)) };
        for (int s = 0; s < pipeline->stages; s++)
                it_ok(pw_slice_open(client->session,
                                    &(struct pw_slice_params){ .device_count = 1, .island = 1 + (client->island + s) % 2 },
                                    &pipeline->slices[s], IT_ERR));
        while (!trace_pipeline(client, pipeline)) {
                pw_program_free(pipeline->program);
                pipeline->elements = pipeline->elements / 2 + 1;
        }
        it_ok(pw_program_peak(pipeline->program, &peak, IT_ERR));
        assert_true(peak <= client->start->device_bytes);
}

static void run_pipeline(struct pipeline *pipeline, struct client *client, double first, struct pw_future **ret_results)
{
        struct pw_run_params params = until_patience();
        struct pw_future *inputs[MICROBATCHES_MAX];

        for (int m = 0; m < pipeline->microbatches; m++)
                inputs[m] = it_put_f64(client->session, PW_DIMS(pipeline->elements), first + m);
        it_ok(pw_run_with(pipeline->program, inputs, (size_t)pipeline->microbatches, &params, ret_results, IT_ERR));
        for (int m = 0; m < pipeline->microbatches; m++)
                pw_unref(inputs[m]);
}

static int pipelines(struct client *client)
{
        struct pw_future *results[UNDER_WAY][MICROBATCHES_MAX];
        struct pipeline pipeline;
        int runs;

        make_pipeline(client, &pipeline);
        runs = pipeline.microbatches == 1 ? UNDER_WAY : (int)among(&client->seed, 1, 3);
        for (int r = 0; r < runs; r++)
                run_pipeline(&pipeline, client, 100 * r, results[r]);
        for (int r = 0; r < runs; r++)
                for (int m = 0; m < pipeline.microbatches; m++)
                        expect(client, results[r][m], 100 * r + m);
        pw_program_free(pipeline.program);
        for (int s = 0; s < pipeline.stages; s++)
                pw_slice_close(pipeline.slices[s]);
        return 0;
}

/* --- programs that fit alone but not together --------------------------------------------------------------------------- */

static struct pw_value *big(struct client *client, struct pw_program *program, struct pw_slice *slice)
{
        uint64_t bytes = client->start->device_bytes * among(&client->seed, 52, 95) / 100;
        struct { double value; uint64_t dtype, rank, dim; } fill = { 1, PW_F64, 1, bytes / sizeof(double) };

        return pw_call_with(program, slice, "pw/fill", PW_NO_ARGS, PW_BROADCAST,
                            &(struct pw_call_params){ .params = &fill, .params_bytes = sizeof fill });
}

/* More than half of a device in one island meets the value there, then more than half of one in the other. */
static struct pw_program *trace_big(struct client *client, struct pw_slice *slices[2])
{
        struct pw_program *program = pw_program_new(client->session, client->name);
        struct pw_value *first = big(client, program, slices[0]);
        struct pw_value *value = pw_input(program, slices[0], PW_F64, PW_SCALAR, PW_BROADCAST, PW_DONATED);

        for (int i = 0; i < 2; i++) {
                uint64_t us = among(&client->seed, 0, 20) * 100;

                value = pw_call_with(program, slices[i], "pw/sleep_us",
                                     PW_ARGS(pw_move(value, slices[i], PW_BROADCAST), i ? big(client, program, slices[i]) : first),
                                     PW_BROADCAST, &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        }
        pw_result(program, it_grow(program, slices[1], value, PW_BROADCAST, 1));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static int big_steps(struct client *client)
{
        struct pw_run_params params = until_patience();
        int chains = (int)among(&client->seed, 1, 3), steps = (int)among(&client->seed, 1, UNDER_WAY);
        struct pw_future *values[3];
        struct pw_slice *slices[2];
        struct pw_program *program;

        for (int i = 0; i < 2; i++)
                it_ok(pw_slice_open(client->session, &(struct pw_slice_params){ .device_count = 1,
                                                                                .island = 1 + (client->island + (uint32_t)i) % 2 },
                                    &slices[i], IT_ERR));
        program = trace_big(client, slices);
        for (int c = 0; c < chains; c++)
                values[c] = it_put_scalar(client->session, c);
        for (int s = 0; s < steps; s++)
                for (int c = 0; c < chains; c++)
                        it_ok(pw_run_with(program, PW_FUTURES(pw_donate(&values[c])), &params, &values[c], IT_ERR));
        for (int c = 0; c < chains; c++)
                expect(client, values[c], c + steps);
        pw_program_free(program);
        for (int i = 0; i < 2; i++)
                pw_slice_close(slices[i]);
        return 0;
}

/* --- a start ------------------------------------------------------------------------------------------------------------ */

static int be_a_client(void *context, int pipe)
{
        struct client *client = context;
        int status;

        (void)pipe;
        client->session = it_connect(client->start->host);
        status = client->work(client);
        pw_close(client->session);
        return status;
}

static void work(struct start *start)
{
        static const struct { const char *name; int (*work)(struct client *client); uint32_t island; } clients[] = {
                { "test/there", pipelines, 0 }, { "test/back", pipelines, 1 }, { "test/big", big_steps, 0 },
                { "test/gib", big_steps, 1 },
        };
        enum { COUNT = sizeof clients / sizeof *clients };
        struct it_child children[COUNT];
        int failed = 0;

        for (int i = 0; i < COUNT; i++) {
                struct client client = { .start = start, .name = clients[i].name, .work = clients[i].work,
                                         .island = clients[i].island,
                                         .seed = it_random(&start->seed) };
                children[i] = it_fork(be_a_client, &client);
        }
        for (int i = 0; i < COUNT; i++)
                failed += it_reap_within(&children[i], 2 * patience_us()) != 0;
        assert_int_equal(failed, 0);
}

static void start(void **state, uint64_t seed)
{
        struct start start = { .seed = seed };
        char devices[32], bytes[32], delay[32];

        start.devices = (uint32_t)among(&start.seed, 1, 3);
        start.device_bytes = among(&start.seed, 1, 16) * MIB;
        snprintf(devices, sizeof devices, "emulated:%u", 2 * start.devices);
        snprintf(bytes, sizeof bytes, "%" PRIu64, start.device_bytes);
        snprintf(delay, sizeof delay, "%uus", (unsigned)among(&start.seed, 0, 3) * 50);
        it_setup_with(state, IT_ARGS("--devices", devices, "--islands", "2", "--host-memory", "512MiB", "--device-memory", bytes,
                                     "--launch-delay", delay));
        start.host = *state;
        work(&start);
        it_teardown(state);
        *state = NULL;
}

static void many_starts(void **state)
{
        uint64_t starts = it_environment("PW_STARTS", 3), seed = it_environment("PW_SEED", 1);
        int64_t longest_us = 0;

        for (uint64_t i = 0; i < starts; i++) {
                int64_t since_us = it_now_us();

                print_message("PW_SEED=%" PRIu64 "\n", seed + i);
                start(state, seed + i);
                if (it_now_us() - since_us > longest_us)
                        longest_us = it_now_us() - since_us;
        }
        print_message("%" PRIu64 " starts, each done after at most %d ms\n", starts, (int)(longest_us / 1000));
}

static int end(void **state) { return *state ? it_teardown(state) : 0; }

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(many_starts, end) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

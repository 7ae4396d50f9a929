/* pathways run: one function, over inputs of zeros, as often as asked for. */
#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "cli/print/output.h"

#include <inttypes.h>
#include <time.h>

#define INPUTS_MAX 15u
#define PARAMS_MAX 32u

/* What is run, and what it holds. */
struct trial {
        struct pw_invocation *invocation;
        enum pw_dtype dtype;
        struct pw_dims dims;
        struct pw_sharding sharding, result_sharding;
        struct pw_slice *slice;
        struct pw_program *program;
        struct pw_future *inputs[INPUTS_MAX];
        uint32_t input_count;
        bool chained;              /* a result may be the next run's first input */
        struct pw_future **ahead;  /* results of runs that are under way: run r's in r % ahead_count */
        uint32_t ahead_count;
        double seconds;
};

static double now_seconds(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static enum pw_status read_settings(struct trial *trial, struct pw_error *ret_err)
{
        const struct pw_command_settings *settings = &trial->invocation->settings;
        enum pw_status status = pw_type_parse(settings, &trial->dtype, &trial->dims, ret_err);

        if (status == PW_OK)
                status = pw_sharding_parse("--sharding", settings->sharding, &trial->sharding, ret_err);
        trial->result_sharding = trial->sharding;
        if (status == PW_OK && settings->result)
                status = pw_sharding_parse("--result", settings->result, &trial->result_sharding, ret_err);
        if (status == PW_OK && settings->inputs > INPUTS_MAX)
                return pw_error_set(ret_err, PW_INVALID, "--inputs %" PRIu32 ": at most %u", settings->inputs, INPUTS_MAX);
        if (status == PW_OK && (!settings->repeat || !settings->ahead))
                return pw_error_set(ret_err, PW_INVALID, "--repeat and --ahead are at least 1");
        trial->ahead_count = settings->ahead < settings->repeat ? settings->ahead : settings->repeat;
        return status;
}

static enum pw_status make_program(struct trial *trial, struct pw_error *ret_err)
{
        const struct pw_command_settings *settings = &trial->invocation->settings;
        const char *function = trial->invocation->operands[0];
        struct pw_value *args[INPUTS_MAX];
        uint64_t numbers[PARAMS_MAX];
        uint32_t number_count = 0;
        struct pw_call_params params = { .params = numbers };
        struct pw_slice_params slice = { .device_count = settings->devices, .kind = settings->kind,
                                         .island_count = settings->islands };
        enum pw_status status = PW_OK;

        if (settings->params)
                status = pw_numbers_parse("--params-u64", settings->params, numbers, PARAMS_MAX, &number_count, ret_err);
        if (status == PW_OK)
                status = pw_slice_open(trial->invocation->session, &slice, &trial->slice, ret_err);
        if (status != PW_OK)
                return status;
        params.params_bytes = number_count * sizeof *numbers;
        trial->program = pw_program_new(trial->invocation->session, function);
        for (uint32_t i = 0; i < settings->inputs; i++)
                args[i] = pw_input(trial->program, trial->slice, trial->dtype, trial->dims, trial->sharding, 0);
        pw_result(trial->program, pw_call_with(trial->program, trial->slice, function, args, settings->inputs,
                                               trial->result_sharding, &params));
        return pw_compile(trial->program, ret_err);
}

static enum pw_status make_inputs(struct trial *trial, struct pw_error *ret_err)
{
        struct pw_put_params params = { .dtype = trial->dtype, .dims = trial->dims };
        uint64_t bytes;
        enum pw_status status = pw_dims_bytes(trial->dtype, &trial->dims, &bytes, ret_err);

        for (uint32_t i = 0; status == PW_OK && i < trial->invocation->settings.inputs; i++) {
                void *data;
                status = pw_create(trial->invocation->session, bytes, &params, &trial->inputs[i], &data, ret_err);
                if (status != PW_OK)
                        break;
                trial->input_count++;
                memset(data, 0, bytes);
                status = pw_seal(trial->inputs[i], ret_err);
        }
        return status;
}

static enum pw_status submit(struct trial *trial, struct pw_future **ret_result, struct pw_error *ret_err)
{
        return pw_run_with(trial->program, trial->inputs, trial->input_count, NULL, ret_result, ret_err);
}

/* Waits for a result, drops it, and gives the error that it is ready with. */
static enum pw_status finish(struct pw_future **result, struct pw_error *ret_err)
{
        struct pw_view view;
        enum pw_status status = PW_OK;

        if (*result)
                status = pw_get_shard(*result, 0, PW_FOREVER, &view, ret_err);
        if (*result && status == PW_OK)
                pw_view_done(&view);
        pw_unref(*result);
        *result = NULL;
        return status;
}

/* The first run: it loads modules, is not timed, and shows whether runs can be chained. */
static enum pw_status try_once(struct trial *trial, struct pw_error *ret_err)
{
        struct pw_future *result = NULL;
        struct pw_info info;
        enum pw_status status = submit(trial, &result, ret_err);

        if (status == PW_OK)
                status = pw_wait(&result, 1, 1, PW_FOREVER, NULL, ret_err);
        if (status == PW_OK)
                status = pw_future_info(result, &info, ret_err);
        if (status == PW_OK)
                trial->chained = trial->input_count && info.dtype == trial->dtype && pw_dims_equal(&info.dims, &trial->dims) &&
                                 !memcmp(&trial->sharding, &trial->result_sharding, sizeof trial->sharding);
        if (status != PW_OK) {
                pw_unref(result);
                return status;
        }
        return finish(&result, ret_err);
}

static void chain(struct trial *trial, struct pw_future *result)
{
        pw_unref(trial->inputs[0]);
        trial->inputs[0] = pw_ref(result);
}

static enum pw_status repeat(struct trial *trial, struct pw_error *ret_err)
{
        uint32_t count = trial->invocation->settings.repeat;
        enum pw_status status = PW_OK;
        double start = now_seconds();

        for (uint32_t run = 0; run < count && status == PW_OK; run++) {
                struct pw_future **place = &trial->ahead[run % trial->ahead_count];
                status = finish(place, ret_err);
                if (status == PW_OK)
                        status = submit(trial, place, ret_err);
                if (status == PW_OK && trial->chained)
                        chain(trial, *place);
        }
        for (uint32_t i = 0; i < trial->ahead_count && status == PW_OK; i++)
                status = finish(&trial->ahead[(count + i) % trial->ahead_count], ret_err);
        trial->seconds = now_seconds() - start;
        return status;
}

static enum pw_status report(struct trial *trial, struct pw_error *ret_err)
{
        struct pw_invocation *invocation = trial->invocation;
        const struct pw_command_settings *settings = &invocation->settings;
        uint64_t us = (uint64_t)(trial->seconds * 1e6);
        double rate = trial->seconds > 0 ? settings->repeat / trial->seconds : 0;
        char took[16];
        Pathways__Wire__Cell cells[] = {
                pw_cell_text("function", invocation->operands[0]), pw_cell_number("devices", settings->devices),
                pw_cell_number("runs", settings->repeat),          pw_cell_text("chained", trial->chained ? "yes" : "no"),
                pw_cell_number("took_us", us),                     pw_cell_real("runs_per_s", rate),
        };

        if (settings->json)
                return pw_output_cells(invocation, cells, pw_array_count(cells), ret_err);
        fprintf(invocation->out, "%" PRIu32 "%s run%s of %s on %" PRIu32 " device%s in %s: %.0f runs/s\n", settings->repeat,
                trial->chained && settings->repeat > 1 ? " chained" : "", settings->repeat == 1 ? "" : "s", invocation->operands[0],
                settings->devices, settings->devices == 1 ? "" : "s", pw_duration_format(us, took), rate);
        return PW_OK;
}

static void trial_done(struct trial *trial)
{
        for (uint32_t i = 0; trial->ahead && i < trial->ahead_count; i++)
                pw_unref(trial->ahead[i]);
        free(trial->ahead);
        for (uint32_t i = 0; i < trial->input_count; i++)
                pw_unref(trial->inputs[i]);
        pw_program_free(trial->program);
        pw_slice_close(trial->slice);
}

enum pw_status pw_command_run(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct trial trial = { .invocation = invocation };
        enum pw_status status = read_settings(&trial, ret_err);

        if (status == PW_OK) {
                trial.ahead = calloc(trial.ahead_count, sizeof *trial.ahead);
                if (!trial.ahead)
                        status = pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %" PRIu32 " results", trial.ahead_count);
        }
        if (status == PW_OK)
                status = make_program(&trial, ret_err);
        if (status == PW_OK)
                status = make_inputs(&trial, ret_err);
        if (status == PW_OK)
                status = try_once(&trial, ret_err);
        if (status == PW_OK)
                status = repeat(&trial, ret_err);
        if (status == PW_OK)
                status = report(&trial, ret_err);
        trial_done(&trial);
        return status;
}

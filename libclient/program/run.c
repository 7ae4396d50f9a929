/* Running: checks of the inputs, slots for the results, one RUN record in the lane's ring. */
#include "libclient/program/program.h"

#include "base/memory.h"
#include "libclient/object/unref.h"
#include "libclient/params.h"

#include <inttypes.h>

#define RESULTS_KEPT 16u
#define SLOTS_US (INT64_C(600) * 1000 * 1000) /* how long a run without a deadline waits for them: as long as to be admitted */

struct run {
        struct pw_program *program;
        struct pw_client_lane *lane;
        struct pw_future *const *inputs;
        uint32_t input_count;
        const struct pw_run_params *params;
        uint64_t *sole; /* a bit for each input that is given away: nobody else in the process holds it */
        struct pw_future **results;
};

/* --- inputs that are given away --------------------------------------------------------------------------------------------- */

/* What pw_donate() returns is where the caller's variable is, with the bit PW_FUTURE_GIVEN, which no address has. */
struct pw_future *pw_donate(struct pw_future **future)
{
        return future && !((uintptr_t)future & PW_FUTURE_GIVEN) ? (struct pw_future *)((uintptr_t)future | PW_FUTURE_GIVEN) : NULL;
}

/* The caller's variable, of an input that is given away; else NULL. */
static struct pw_future **place_of(const struct run *run, uint32_t i)
{
        uintptr_t input = (uintptr_t)run->inputs[i];
        return input & PW_FUTURE_GIVEN ? (struct pw_future **)(input - PW_FUTURE_GIVEN) : NULL;
}

static struct pw_future *input_of(const struct run *run, uint32_t i)
{
        struct pw_future **place = place_of(run, i);
        return place ? *place : run->inputs[i];
}

/* --- checks ----------------------------------------------------------------------------------------------------------------- */

static enum pw_status input_error(const struct run *run, uint32_t i, enum pw_status status, const char *why,
                                  struct pw_error *ret_err)
{
        return pw_error_set(ret_err, status, "%s: input %u: %s", run->program->name, i, why);
}

static enum pw_status type_error(const struct run *run, uint32_t i, const struct pw_info *got, struct pw_error *ret_err)
{
        const struct pw_value *want = run->program->inputs[i];
        char want_dims[128], got_dims[128];
        return pw_error_set(ret_err, PW_SHAPE, "%s: input %u takes %s %s, got %s %s", run->program->name, i,
                            pw_dtype_text(want->dtype), pw_dims_format(&want->dims, want_dims, sizeof want_dims),
                            pw_dtype_text(got->dtype), pw_dims_format(&got->dims, got_dims, sizeof got_dims));
}

/* Does what is known of a ready input fit what was declared? Bytes without dims need only be as many. */
static enum pw_status type_check(const struct run *run, uint32_t i, struct pw_error *ret_err)
{
        const struct pw_value *want = run->program->inputs[i];
        struct pw_info info;
        enum pw_status status = pw_future_info(input_of(run, i), &info, ret_err);
        if (status != PW_OK || info.status != PW_OK)
                return status; /* one that is ready with an error makes the results errors */
        if (info.dtype == want->dtype && pw_dims_equal(&info.dims, &want->dims))
                return PW_OK;
        uint64_t want_bytes;
        status = pw_dims_bytes(want->dtype, &want->dims, &want_bytes, ret_err);
        if (status != PW_OK)
                return status;
        if (info.dtype == PW_OPAQUE && info.bytes == want_bytes)
                return PW_OK;
        return type_error(run, i, &info, ret_err);
}

/* Of a variable that holds no future, and of an input that is NULL. */
static enum pw_status no_future_error(const struct run *run, uint32_t i, struct pw_error *ret_err)
{
        if (pw_future_is_given(input_of(run, i)))
                return input_error(run, i, PW_DONATED_USE, "pw_donate() of a variable that holds what pw_donate() returned",
                                   ret_err);
        if (place_of(run, i))
                return input_error(run, i, PW_DONATED_USE, "pw_donate() of what was given away before, or never there", ret_err);
        return input_error(run, i, PW_INVALID, "the future is NULL, as is one that was given away", ret_err);
}

static enum pw_status input_check(const struct run *run, uint32_t i, struct pw_error *ret_err)
{
        const struct pw_future *future = input_of(run, i);
        if (!pw_future_is_one(future))
                return no_future_error(run, i, ret_err);
        if (!future->lane)
                return pw_future_check(future, ret_err);
        if (pw_future_session(future) != run->program->session)
                return input_error(run, i, PW_INVALID, "the future is of another session", ret_err);
        return pw_word_state(pw_future_word(future)) == PW_ENTRY_READY ? type_check(run, i, ret_err) : PW_OK;
}

/* A future given away cannot be an input twice. */
static enum pw_status donations_check(const struct run *run, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < run->input_count; i++) {
                uint32_t uses = 0;
                for (uint32_t other = 0; place_of(run, i) && other < run->input_count; other++)
                        uses += input_of(run, other) == input_of(run, i);
                if (uses > 1)
                        return pw_error_set(ret_err, PW_DONATED_USE, "%s: a donated future is an input %u times",
                                            run->program->name, uses);
        }
        return PW_OK;
}

static enum pw_status run_check(const struct run *run, struct pw_error *ret_err)
{
        const struct pw_program *program = run->program;
        if (run->input_count != program->input_count)
                return pw_error_set(ret_err, PW_INVALID, "%s takes %u inputs, got %u", program->name, program->input_count,
                                    run->input_count);
        if (run->params && run->params->deadline_us < 0)
                return pw_error_set(ret_err, PW_INVALID, "%s: a deadline of %" PRId64 " us", program->name,
                                    run->params->deadline_us);
        if (run->params && run->params->priority)
                return pw_error_set(ret_err, PW_INVALID, "%s: priority %u is reserved: it has to be 0", program->name,
                                    run->params->priority);
        if (run->input_count && !run->inputs)
                return pw_error_set(ret_err, PW_INVALID, "%s: inputs is NULL", program->name);
        for (uint32_t i = 0; i < run->input_count; i++) {
                enum pw_status status = input_check(run, i, ret_err);
                if (status != PW_OK)
                        return status;
        }
        return donations_check(run, ret_err);
}

/* --- results ---------------------------------------------------------------------------------------------------------------- */

static enum pw_status result_make(const struct run *run, struct pw_slot_request *request, struct pw_future **ret_future,
                                  struct pw_error *ret_err)
{
        struct pw_slot slot;
        struct pw_future *future = pw_future_alloc(run->lane);
        if (!future)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a future");
        enum pw_status status = pw_lane_take(run->lane, request, &slot, ret_err);
        if (status != PW_OK) {
                pw_future_free(future, run->lane);
                return status;
        }
        pw_future_fill(future, run->lane->session->futures, slot.slot, slot.generation);
        *ret_future = future;
        return PW_OK;
}

static enum pw_status results_make(const struct run *run, struct pw_error *ret_err)
{
        int64_t deadline_us = run->params ? run->params->deadline_us : 0;
        struct pw_slot_request request = { PW_ROW_FUTURES, 0, deadline_us ? deadline_us : SLOTS_US, 0 };
        for (uint32_t i = 0; i < run->program->result_count; i++) {
                enum pw_status status = result_make(run, &request, &run->results[i], ret_err);
                if (status == PW_OK)
                        continue;
                while (i--)
                        pw_future_release(run->results[i]);
                if (status == PW_NO_SPACE)
                        pw_error_prefix(ret_err, "%s: slots for results", run->program->name);
                return status;
        }
        return PW_OK;
}

/* --- the record --------------------------------------------------------------------------------------------------------------- */

/* PW_RUN_INPUT_DONATED if the caller gives its reference away, the program wants that, and nobody else in the process has one. */
static uint8_t input_flag(const struct run *run, uint32_t i)
{
        bool sole = place_of(run, i) && (run->program->inputs[i]->flags & PW_DONATED) &&
                    (atomic_load(&input_of(run, i)->refs) & ~PW_REFS_ORPHAN) == 1;
        if (i % 64 == 0)
                run->sole[i / 64] = 0;
        run->sole[i / 64] |= (uint64_t)sole << i % 64;
        return sole ? PW_RUN_INPUT_DONATED : 0;
}

static void record_write(const struct run *run)
{
        struct pw_ring_writer *writer = &run->lane->writer;
        const struct pw_run_params *params = run->params;
        uint8_t flags = params && params->sequential ? PW_RUN_SEQUENTIAL : 0;
        uint32_t result_count = run->program->result_count;
        pw_ring_write(writer, pw_cell_run(flags, (uint16_t)run->input_count, (uint16_t)result_count, run->program->number));
        pw_ring_write(writer, (struct pw_cell){ params ? (uint64_t)params->deadline_us : 0, params ? params->priority : 0 });
        for (uint32_t i = 0; i < run->input_count; i++) {
                const struct pw_future *input = input_of(run, i);
                pw_ring_write(writer, pw_cell_object(input_flag(run, i), input->segment, input->slot, input->generation));
        }
        for (uint32_t i = 0; i < result_count; i++) {
                const struct pw_future *result = run->results[i];
                pw_ring_write(writer, pw_cell_object(0, result->segment, result->slot, result->generation));
        }
}

/* The references that were given away: with the record where nobody else had one, else dropped behind it. */
static void donations_end(const struct run *run)
{
        for (uint32_t i = 0; i < run->input_count; i++) {
                struct pw_future **place = place_of(run, i), *future = input_of(run, i);
                if (!place)
                        continue;
                *place = NULL;
                if (!(run->sole[i / 64] >> i % 64 & 1)) {
                        pw_future_release(future);
                        continue;
                }
                uint32_t old = atomic_exchange(&future->refs, 0);
                pw_future_free(future, run->lane);
                if (old & PW_REFS_ORPHAN)
                        pw_session_unref(run->program->session);
        }
}

static enum pw_status submit(struct run *run, struct pw_error *ret_err)
{
        enum pw_status status = pw_lane_get(run->program->session, &run->lane, ret_err);
        if (status == PW_OK)
                status = pw_lane_await_ring(run->lane, 2 + run->input_count + run->program->result_count, ret_err);
        if (status == PW_OK)
                status = results_make(run, ret_err);
        if (status != PW_OK)
                return status;
        record_write(run);
        pw_lane_publish(run->lane, true);
        donations_end(run);
        return PW_OK;
}

enum pw_status pw_run_sized(struct pw_program *program, struct pw_future *const *inputs, size_t input_count,
                            const struct pw_run_params *params, size_t params_bytes, struct pw_future **ret_results,
                            struct pw_error *ret_err)
{
        struct pw_run_params known;
        if (!PW_PARAMS_KNOWN(params, params_bytes)) {
                enum pw_status status = pw_params_convert(
                        &(struct pw_params){ "pw_run_with()", params, params_bytes, &known, sizeof known }, ret_err);
                if (status != PW_OK)
                        return status;
                params = &known;
        }
        struct run run = { .program = program, .inputs = inputs, .input_count = (uint32_t)pw_min_u64(input_count, UINT32_MAX),
                           .params = params };
        struct pw_future *kept[RESULTS_KEPT];
        uint64_t sole[PW_RING_CELLS / 64]; /* an input takes a cell, so there are fewer */
        run.sole = sole;
        if (!program)
                return pw_given_check(program, "the program", ret_err);
        if (!program->compiled)
                return pw_error_set(ret_err, PW_INVALID, "%s: not compiled: pw_compile() comes first",
                                    program->name ? program->name : "the program");
        enum pw_status status = pw_session_check(program->session, ret_err);
        if (status == PW_OK)
                status = run_check(&run, ret_err);
        if (status == PW_OK && program->result_count)
                status = pw_given_check(ret_results, "ret_results", ret_err);
        if (status != PW_OK)
                return status;
        pw_auto_free struct pw_future **many = NULL;
        if (program->result_count > RESULTS_KEPT)
                many = calloc(program->result_count, sizeof *many);
        run.results = program->result_count > RESULTS_KEPT ? many : kept;
        if (!run.results)
                return pw_error_set(ret_err, PW_NO_MEMORY, "%s: no memory for its results", program->name);
        status = submit(&run, ret_err);
        if (status == PW_OK)
                memcpy(ret_results, run.results, program->result_count * sizeof *run.results);
        return status;
}

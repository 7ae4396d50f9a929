/* Tracing: values, calls and results of a program, and the first error of it, which sticks. */
#include "libclient/program/program.h"

#include "base/layout.h"
#include "base/memory.h"
#include "libclient/params.h"
#include "pathways_module.h"

#include <inttypes.h>

/* What pw_program_new() returns where there can be no program; nobody writes to it. */
static struct pw_program no_memory = {
        .bad = { .program = &no_memory, .index = PW_VALUE_BAD },
        .bad_stage = { .program = &no_memory },
        .err = { .status = PW_NO_MEMORY, .text = "no memory for a program" },
};
static struct pw_program no_session = {
        .bad = { .program = &no_session, .index = PW_VALUE_BAD },
        .bad_stage = { .program = &no_session },
        .err = { .status = PW_INVALID, .text = "pw_program_new(): the session is NULL" },
};

static bool traceable(struct pw_program *program, const char *call)
{
        if (program->err.status != PW_OK)
                return false;
        if (program->compiled)
                pw_error_set(&program->err, PW_BAD_PROGRAM, "%s: %s after pw_compile()", program->name, call);
        return !program->compiled;
}

/* Note the first error; returns the value that stands for a failed call. */
__attribute__((format(printf, 3, 4))) static struct pw_value *fail(struct pw_program *program, enum pw_status status,
                                                                   const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (program->err.status == PW_OK)
                pw_error_setv(&program->err, status, format, args);
        va_end(args);
        return &program->bad;
}

struct pw_program *pw_program_new(struct pw_session *session, const char *name)
{
        if (!session)
                return &no_session;
        struct pw_program *program = calloc(1, sizeof *program);
        if (!program)
                return &no_memory;
        program->bad = (struct pw_value){ .program = program, .index = PW_VALUE_BAD };
        program->bad_stage = (struct pw_stage){ .program = program };
        program->session = pw_session_ref(session);
        program->name = strdup(name ? name : "program");
        if (!program->name)
                fail(program, PW_NO_MEMORY, "no memory for a program");
        else
                (void)!pw_session_check(session, &program->err);
        return program;
}

void pw_program_free(struct pw_program *program)
{
        if (!program || !program->session)
                return;
        if (program->compiled && pw_session_alive(program->session)) {
                Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
                Pathways__Wire__ProgramFree program_free = PATHWAYS__WIRE__PROGRAM_FREE__INIT;
                program_free.program = program->number;
                request.body_case = PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_FREE;
                request.program_free = &program_free;
                pw_session_post(program->session, &request);
        }
        for (uint32_t i = 0; i < program->value_count; i++)
                free(program->values[i]);
        for (uint32_t i = 0; i < program->call_count; i++) {
                free(program->calls[i].function);
                free(program->calls[i].args);
                free(program->calls[i].params);
        }
        for (uint32_t i = 0; i < program->stage_count; i++) {
                free(program->stages[i]->name);
                free(program->stages[i]);
        }
        free(program->stages);
        free(program->values);
        free(program->calls);
        free(program->inputs);
        free(program->results);
        free(program->name);
        pw_session_unref(program->session);
        free(program);
}

/* A new value of the program over `mesh`; NULL: out of memory, the error sticks. */
static struct pw_value *value_add(struct pw_program *program, const uint32_t *mesh, const struct pw_value *like)
{
        struct pw_value *value = malloc(sizeof *value);
        if (!value ||
            !pw_grow((void **)&program->values, &program->value_capacity, program->value_count + 1, sizeof *program->values)) {
                free(value);
                fail(program, PW_NO_MEMORY, "%s: no memory for a value", program->name);
                return NULL;
        }
        *value = *like;
        memcpy(value->mesh, mesh, sizeof value->mesh);
        value->program = program;
        value->index = program->value_count;
        program->values[program->value_count++] = value;
        return value;
}

static bool slice_fits(struct pw_program *program, const struct pw_slice *slice, const char *call)
{
        if (!slice)
                fail(program, PW_INVALID, "%s: %s: the slice is NULL", program->name, call);
        else if (slice->session != program->session)
                fail(program, PW_INVALID, "%s: %s: the slice is of another session", program->name, call);
        return program->err.status == PW_OK;
}

#define RUN_VALUES_MAX (PW_RING_CELLS - 2) /* inputs and results: a run is one record */
_Static_assert(RUN_VALUES_MAX <= UINT16_MAX, "the header of the record counts them");

/* One more input or result. */
static bool run_fits(struct pw_program *program, const char *call)
{
        if (program->input_count + program->result_count < RUN_VALUES_MAX)
                return true;
        fail(program, PW_LIMIT, "%s: %s: the program has %u inputs and %u results already, a run takes %u of both together at most",
             program->name, call, program->input_count, program->result_count, RUN_VALUES_MAX);
        return false;
}

struct pw_value *pw_input(struct pw_program *program, struct pw_slice *slice, enum pw_dtype dtype, struct pw_dims dims,
                          struct pw_sharding sharding, unsigned flags)
{
        char call[32];
        uint64_t bytes;
        struct pw_error err;
        if (!program)
                return NULL;
        if (!traceable(program, "pw_input()"))
                return &program->bad;
        snprintf(call, sizeof call, "pw_input() %u", program->input_count);
        if (!slice_fits(program, slice, call) || !run_fits(program, call))
                return &program->bad;
        if (pw_dims_bytes(dtype, &dims, &bytes, &err) != PW_OK ||
            pw_sharding_check(&sharding, &dims, slice->mesh, &err) != PW_OK)
                return fail(program, err.status, "%s: %s: %s", program->name, call, err.text);
        if (flags & ~(unsigned)PW_DONATED)
                return fail(program, PW_INVALID, "%s: %s: unknown flags %#x", program->name, call, flags);
        if (!pw_grow((void **)&program->inputs, &program->input_capacity, program->input_count + 1, sizeof *program->inputs))
                return fail(program, PW_NO_MEMORY, "%s: no memory for an input", program->name);
        struct pw_value like = { .kind = PW_TRACED_INPUT, .slice = slice->number,
                                 .sharding = sharding, .dtype = dtype, .dims = dims, .flags = flags,
                                 .input = program->input_count };
        struct pw_value *value = value_add(program, slice->mesh, &like);
        if (!value)
                return &program->bad;
        program->inputs[program->input_count++] = value;
        return value;
}

static struct pw_value *convert(struct pw_value *value, const uint32_t *mesh, struct pw_value like, const char *call)
{
        struct pw_program *program = value->program;
        if (value->index == PW_VALUE_BAD || !traceable(program, call))
                return &program->bad;
        like.kind = PW_TRACED_CONVERSION;
        like.source = value->index;
        struct pw_value *converted = value_add(program, mesh, &like);
        return converted ? converted : &program->bad;
}

struct pw_value *pw_as(struct pw_value *value, struct pw_sharding sharding)
{
        if (!value)
                return NULL;
        struct pw_value like = { .slice = value->slice, .sharding = sharding };
        return convert(value, value->mesh, like, "pw_as()");
}

struct pw_value *pw_move(struct pw_value *value, struct pw_slice *slice, struct pw_sharding sharding)
{
        if (!value)
                return NULL;
        if (value->program->err.status != PW_OK || !slice_fits(value->program, slice, "pw_move()"))
                return &value->program->bad;
        struct pw_value like = { .slice = slice->number, .sharding = sharding };
        return convert(value, slice->mesh, like, "pw_move()");
}

/* --- stages --------------------------------------------------------------------------------------------------------------- */

static struct pw_stage *stage_add(struct pw_program *program, const char *name, uint32_t quota)
{
        struct pw_stage *stage = malloc(sizeof *stage);
        char *copy = strdup(name);
        if (!stage || !copy ||
            !pw_grow((void **)&program->stages, &program->stage_capacity, program->stage_count + 1, sizeof *program->stages)) {
                free(stage);
                free(copy);
                fail(program, PW_NO_MEMORY, "%s: no memory for stage %s", program->name, name);
                return &program->bad_stage;
        }
        *stage = (struct pw_stage){ program, copy, program->stage_count, quota };
        return program->stages[program->stage_count++] = stage;
}

struct pw_stage *pw_stage(struct pw_program *program, const char *name, uint32_t quota)
{
        if (!program)
                return NULL;
        if (!traceable(program, "pw_stage()"))
                return &program->bad_stage;
        if (!name || !*name)
                fail(program, PW_INVALID, "%s: pw_stage() %u: it has no name", program->name, program->stage_count);
        else if (!quota)
                fail(program, PW_INVALID, "%s: stage %s: a quota of 0", program->name, name);
        else
                return stage_add(program, name, quota);
        return &program->bad_stage;
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

static bool function_possible(const char *function)
{
        const char *slash = function ? strchr(function, '/') : NULL;
        return slash && slash != function && slash[1] && !strchr(slash + 1, '/');
}

static bool args_fit(struct pw_program *program, const char *function, struct pw_value *const *args, size_t arg_count)
{
        if (arg_count > PW_TASK_ARGS_MAX)
                fail(program, PW_BAD_PROGRAM, "%s: call %u of %s: %zu arguments, at most %d are possible", program->name,
                     program->call_count, function, arg_count, PW_TASK_ARGS_MAX);
        else if (arg_count && !args)
                fail(program, PW_INVALID, "%s: call %u of %s: args is NULL", program->name, program->call_count, function);
        for (size_t i = 0; i < arg_count && program->err.status == PW_OK; i++) {
                if (!args[i])
                        fail(program, PW_INVALID, "%s: call %u of %s: argument %zu is NULL", program->name, program->call_count,
                             function, i);
                else if (args[i]->program != program)
                        fail(program, PW_BAD_PROGRAM, "%s: call %u of %s: argument %zu is a value of program %s", program->name,
                             program->call_count, function, i, args[i]->program->name ? args[i]->program->name : "(none)");
        }
        return program->err.status == PW_OK;
}

static bool params_fit(struct pw_program *program, const char *function, const struct pw_call_params *params)
{
        if (params->output_count > PW_OUTPUTS_MAX)
                fail(program, PW_BAD_PROGRAM, "%s: call %u of %s: %u outputs, at most %d are possible", program->name,
                     program->call_count, function, params->output_count, PW_OUTPUTS_MAX);
        else if (params->output_count > 1 && !params->output_shardings)
                fail(program, PW_INVALID, "%s: call %u of %s: no shardings for outputs 1 to %u", program->name, program->call_count,
                     function, params->output_count - 1);
        else if (params->params_bytes && !params->params)
                fail(program, PW_INVALID, "%s: call %u of %s: params is NULL for %" PRIu64 " bytes", program->name,
                     program->call_count, function, params->params_bytes);
        else if (params->stage && params->stage->program != program)
                fail(program, PW_BAD_PROGRAM, "%s: call %u of %s: its stage is of program %s", program->name, program->call_count,
                     function, params->stage->program->name ? params->stage->program->name : "(none)");
        return program->err.status == PW_OK;
}

/* Copy the call into the program. */
static bool call_add(struct pw_program *program, const struct pw_traced_call *like, struct pw_value *const *args,
                     const void *params)
{
        struct pw_traced_call call = *like;
        bool grown = pw_grow((void **)&program->calls, &program->call_capacity, program->call_count + 1, sizeof *program->calls);
        call.function = strdup(like->function);
        call.args = calloc(like->arg_count + 1, sizeof *call.args);
        call.params = malloc(like->params_bytes + 1);
        if (!grown || !call.function || !call.args || !call.params) {
                free(call.function);
                free(call.args);
                free(call.params);
                fail(program, PW_NO_MEMORY, "%s: no memory for a call of %s", program->name, like->function);
                return false;
        }
        for (uint32_t i = 0; i < like->arg_count; i++)
                call.args[i] = args[i]->index;
        if (like->params_bytes)
                memcpy(call.params, params, like->params_bytes);
        program->calls[program->call_count++] = call;
        return true;
}

/* The values of the outputs, one after the other. Returns that of output 0. */
static struct pw_value *outputs_add(struct pw_program *program, const struct pw_slice *slice, struct pw_sharding sharding,
                                    const struct pw_call_params *params)
{
        uint32_t output_count = program->calls[program->call_count - 1].output_count;
        struct pw_value *first = &program->bad;
        for (uint32_t i = 0; i < output_count; i++) {
                struct pw_value like = { .kind = PW_TRACED_CALL, .slice = slice->number,
                                         .sharding = i ? params->output_shardings[i - 1] : sharding,
                                         .call = program->call_count - 1, .output = i };
                struct pw_value *value = value_add(program, slice->mesh, &like);
                if (!value)
                        return &program->bad;
                if (i == 0)
                        first = value;
        }
        return first;
}

struct pw_value *pw_call_sized(struct pw_program *program, struct pw_slice *slice, const char *function,
                               struct pw_value *const *args, size_t arg_count, struct pw_sharding sharding,
                               const struct pw_call_params *params, size_t params_bytes)
{
        static const struct pw_call_params none = { .params = NULL };
        struct pw_call_params known;
        struct pw_error err;
        if (!program)
                return NULL;
        if (!traceable(program, "pw_call()"))
                return &program->bad;
        if (!function_possible(function))
                return fail(program, PW_INVALID, "%s: call %u: \"%s\" is not of the form module/function", program->name,
                            program->call_count, function ? function : "(null)");
        if (!params)
                params = &none;
        else if (!PW_PARAMS_KNOWN(params, params_bytes)) {
                if (pw_params_convert(&(struct pw_params){ "pw_call_with()", params, params_bytes, &known, sizeof known }, &err) !=
                    PW_OK)
                        return fail(program, err.status, "%s: call %u of %s: %s", program->name, program->call_count, function,
                                    err.text);
                params = &known;
        }
        if (!slice_fits(program, slice, function) || !args_fit(program, function, args, arg_count) ||
            !params_fit(program, function, params))
                return &program->bad;
        struct pw_traced_call like = { .function = (char *)(uintptr_t)function,
                                       .slice = slice->number,
                                       .arg_count = (uint32_t)arg_count,
                                       .output_count = params->output_count ? params->output_count : 1,
                                       .params_bytes = params->params_bytes,
                                       .time_limit_us = params->time_limit_us,
                                       .stage = params->stage ? 1 + params->stage->index : 0 };
        if (!call_add(program, &like, args, params->params))
                return &program->bad;
        return outputs_add(program, slice, sharding, params);
}

struct pw_value *pw_output(struct pw_value *output0, uint32_t index)
{
        if (!output0)
                return NULL;
        struct pw_program *program = output0->program;
        if (output0->index == PW_VALUE_BAD || !traceable(program, "pw_output()"))
                return &program->bad;
        if (output0->kind != PW_TRACED_CALL || output0->output != 0)
                return fail(program, PW_BAD_PROGRAM, "%s: pw_output() of a value that is not what a call returned", program->name);
        const struct pw_traced_call *call = &program->calls[output0->call];
        if (index >= call->output_count)
                return fail(program, PW_BAD_PROGRAM, "%s: pw_output() %u of %s, which has %u", program->name, index, call->function,
                            call->output_count);
        return program->values[output0->index + index];
}

void pw_result(struct pw_program *program, struct pw_value *value)
{
        char call[32];
        if (!program || !traceable(program, "pw_result()"))
                return;
        snprintf(call, sizeof call, "pw_result() %u", program->result_count);
        if (!value)
                fail(program, PW_INVALID, "%s: %s: the value is NULL", program->name, call);
        else if (value->program != program)
                fail(program, PW_BAD_PROGRAM, "%s: %s is a value of program %s", program->name, call,
                     value->program->name ? value->program->name : "(none)");
        else if (!run_fits(program, call))
                return;
        else if (!pw_grow((void **)&program->results, &program->result_capacity, program->result_count + 1,
                          sizeof *program->results))
                fail(program, PW_NO_MEMORY, "%s: no memory for a result", program->name);
        else
                program->results[program->result_count++] = value->index;
}

/* --- compiling ------------------------------------------------------------------------------------------------------------ */

enum pw_status pw_compile(struct pw_program *program, struct pw_error *ret_err)
{
        if (!program)
                return pw_given_check(program, "the program", ret_err);
        if (program->err.status == PW_OK && !program->compiled && !program->result_count)
                fail(program, PW_BAD_PROGRAM, "%s: the program has no results: call pw_result()", program->name);
        if (program->err.status != PW_OK)
                return pw_error_set(ret_err, program->err.status, "%s", program->err.text);
        if (program->compiled)
                return pw_session_check(program->session, ret_err);
        enum pw_status status = pw_program_send(program, ret_err);
        program->compiled = status == PW_OK;
        for (uint32_t i = 0; program->compiled && i < program->call_count; i++) { /* the daemon has them */
                free(program->calls[i].params);
                program->calls[i].params = NULL;
        }
        return status;
}

uint32_t pw_program_input_count(const struct pw_program *program) { return program ? program->input_count : 0; }
uint32_t pw_program_result_count(const struct pw_program *program) { return program ? program->result_count : 0; }

enum pw_status pw_program_peak(struct pw_program *program, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        enum pw_status status = pw_given_check(program, "the program", ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_bytes, "ret_bytes", ret_err);
        if (status != PW_OK)
                return status;
        if (!program->compiled)
                return pw_error_set(ret_err, PW_INVALID, "the peak is known once the program is compiled");
        status = pw_session_check(program->session, ret_err);
        if (status != PW_OK)
                return status;
        *ret_bytes = program->peak_bytes;
        return PW_OK;
}

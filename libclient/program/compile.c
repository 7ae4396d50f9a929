/* A trace as the message that asks the daemon to lower it. */
#include "libclient/program/program.h"

#include "base/memory.h"

/* The arrays that the message points into; all of them live as long as the request. */
struct message {
        Pathways__Wire__Value *values;
        Pathways__Wire__Value **value_list;
        Pathways__Wire__AxisSharding *axes;
        Pathways__Wire__AxisSharding **axis_list;
        Pathways__Wire__Call *calls;
        Pathways__Wire__Call **call_list;
        Pathways__Wire__Stage *stages;
        Pathways__Wire__Stage **stage_list;
};

static void message_done(struct message *message)
{
        free(message->values);
        free(message->value_list);
        free(message->axes);
        free(message->axis_list);
        free(message->calls);
        free(message->call_list);
        free(message->stages);
        free(message->stage_list);
}

static bool message_alloc(struct message *message, const struct pw_program *program)
{
        size_t value_count = program->value_count, call_count = program->call_count, axis_count = value_count * PW_MESH_AXES_MAX;
        message->values = calloc(value_count + 1, sizeof *message->values);
        message->value_list = calloc(value_count + 1, sizeof *message->value_list);
        message->axes = calloc(axis_count + 1, sizeof *message->axes);
        message->axis_list = calloc(axis_count + 1, sizeof *message->axis_list);
        message->calls = calloc(call_count + 1, sizeof *message->calls);
        message->call_list = calloc(call_count + 1, sizeof *message->call_list);
        message->stages = calloc(program->stage_count + 1, sizeof *message->stages);
        message->stage_list = calloc(program->stage_count + 1, sizeof *message->stage_list);
        return message->values && message->value_list && message->axes && message->axis_list && message->calls &&
               message->call_list && message->stages && message->stage_list;
}

static void fill_value(struct message *message, uint32_t index, struct pw_value *from)
{
        Pathways__Wire__Value *value = message->value_list[index] = &message->values[index];
        pathways__wire__value__init(value);
        value->producer_kind = from->kind;
        value->slice = from->slice;
        value->sharding = &message->axis_list[index * PW_MESH_AXES_MAX];
        value->n_sharding = PW_MESH_AXES_MAX;
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++) {
                Pathways__Wire__AxisSharding *axis = value->sharding[i] = &message->axes[index * PW_MESH_AXES_MAX + i];
                pathways__wire__axis_sharding__init(axis);
                axis->layout = from->sharding.axis[i].layout;
                axis->dim = from->sharding.axis[i].dim;
                axis->op = from->sharding.axis[i].op;
        }
        if (from->kind == PW_TRACED_INPUT) {
                value->dtype = from->dtype;
                value->dims = from->dims.dim;
                value->n_dims = from->dims.rank;
                value->scalar = from->dims.rank == 0;
                value->flags = from->flags;
        } else if (from->kind == PW_TRACED_CALL) {
                value->call = from->call;
                value->output = from->output;
        } else {
                value->source = from->source;
        }
}

static void fill_call(struct message *message, uint32_t index, const struct pw_traced_call *from)
{
        Pathways__Wire__Call *call = message->call_list[index] = &message->calls[index];
        pathways__wire__call__init(call);
        call->function = from->function;
        call->slice = from->slice;
        call->args = from->args;
        call->n_args = from->arg_count;
        call->params.data = from->params;
        call->params.len = from->params_bytes;
        call->output_count = from->output_count;
        call->time_limit_us = from->time_limit_us;
        call->stage = from->stage;
}

static void fill_stage(struct message *message, uint32_t index, const struct pw_stage *from)
{
        Pathways__Wire__Stage *stage = message->stage_list[index] = &message->stages[index];
        pathways__wire__stage__init(stage);
        stage->name = from->name;
        stage->quota = from->quota;
}

static enum pw_status send_message(struct pw_program *program, struct message *message, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ProgramCompile compile = PATHWAYS__WIRE__PROGRAM_COMPILE__INIT;
        compile.name = program->name;
        compile.values = message->value_list;
        compile.n_values = program->value_count;
        compile.calls = message->call_list;
        compile.n_calls = program->call_count;
        compile.stages = message->stage_list;
        compile.n_stages = program->stage_count;
        compile.results = program->results;
        compile.n_results = program->result_count;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE;
        request.program_compile = &compile;
        struct pw_answer answer;
        enum pw_status status = pw_session_call(program->session, &request, PATHWAYS__WIRE__REPLY__BODY_PROGRAM, &answer, ret_err);
        if (status != PW_OK)
                return status;
        program->number = answer.reply->program->program;
        program->peak_bytes = answer.reply->program->peak_bytes;
        pw_answer_done(&answer);
        return PW_OK;
}

enum pw_status pw_program_send(struct pw_program *program, struct pw_error *ret_err)
{
        struct message message = { .values = NULL };
        enum pw_status status = pw_session_check(program->session, ret_err);
        if (status != PW_OK)
                return status;
        if (message_alloc(&message, program)) {
                for (uint32_t i = 0; i < program->value_count; i++)
                        fill_value(&message, i, program->values[i]);
                for (uint32_t i = 0; i < program->call_count; i++)
                        fill_call(&message, i, &program->calls[i]);
                for (uint32_t i = 0; i < program->stage_count; i++)
                        fill_stage(&message, i, program->stages[i]);
                status = send_message(program, &message, ret_err);
        } else {
                status = pw_error_set(ret_err, PW_NO_MEMORY, "%s: no memory to send the program", program->name);
        }
        message_done(&message);
        return status;
}

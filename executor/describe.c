/* Describing functions: the outputs of a shard from its inputs. */
#include "executor/describe.h"

#include "base/memory.h"
#include "executor/program/module.h"
#include "libclient/socket/connection.h"

#define MODULE_REQUEST_ID 2u

struct describer {
        int fd;
        struct pw_decoder decoder;
        struct pw_surroundings around;
        struct pw_exec_modules modules;
        Pathways__Wire__Request **asked; /* questions that came while a module was waited for, oldest first */
        uint32_t asked_count, asked_capacity;
};

/* --- frames -------------------------------------------------------------------------------------------------------------- */

static enum pw_status request_send(const struct describer *describer, const Pathways__Wire__Request *request,
                                   struct pw_error *ret_err)
{
        size_t bytes = pathways__wire__request__get_packed_size(request);
        pw_auto_free uint8_t *message = malloc(bytes + 1);

        if (!message)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a request");
        pathways__wire__request__pack(request, message);
        return pw_frame_send(describer->fd, PW_FRAME_REQUEST, message, (uint32_t)bytes, NULL, 0, ret_err);
}

static enum pw_status reply_send(const struct describer *describer, const Pathways__Wire__Reply *reply, struct pw_error *ret_err)
{
        size_t bytes = pathways__wire__reply__get_packed_size(reply);
        pw_auto_free uint8_t *message = malloc(bytes + 1);

        if (!message)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a reply");
        pathways__wire__reply__pack(reply, message);
        return pw_frame_send(describer->fd, PW_FRAME_REPLY, message, (uint32_t)bytes, NULL, 0, ret_err);
}

/* The next frame that is not a doorbell. */
static enum pw_status frame_read(struct describer *describer, struct pw_frame *ret_frame, struct pw_error *ret_err)
{
        enum pw_status status;
        size_t bytes;

        for (;;) {
                status = pw_frame_next(&describer->decoder, ret_frame, ret_err);
                if (status == PW_OK && ret_frame->kind != PW_FRAME_DOORBELL)
                        return PW_OK;
                if (status == PW_NOT_READY)
                        status = pw_decoder_read(&describer->decoder, describer->fd, true, &bytes, ret_err);
                if (status != PW_OK)
                        return status;
        }
}

static enum pw_status question_keep(struct describer *describer, const struct pw_frame *frame, struct pw_error *ret_err)
{
        Pathways__Wire__Request *request = pathways__wire__request__unpack(NULL, frame->bytes, frame->payload);

        if (!request)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd sent a request that cannot be read");
        if (!pw_grow((void **)&describer->asked, &describer->asked_capacity, describer->asked_count + 1, sizeof(void *))) {
                pathways__wire__request__free_unpacked(request, NULL);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a question");
        }
        describer->asked[describer->asked_count++] = request;
        return PW_OK;
}

/* Ask and wait for the reply; questions that come meanwhile are kept. Own: the caller frees *ret_reply; *ret_fd is the
 * descriptor that came with it, or -1. */
static enum pw_status ask(struct describer *describer, const Pathways__Wire__Request *request, Pathways__Wire__Reply **ret_reply,
                          int *ret_fd, struct pw_error *ret_err)
{
        Pathways__Wire__Reply *reply = NULL;
        struct pw_frame frame;
        enum pw_status status = request_send(describer, request, ret_err);

        while (status == PW_OK && !reply) {
                status = frame_read(describer, &frame, ret_err);
                if (status != PW_OK)
                        break;
                if (frame.kind == PW_FRAME_REQUEST) {
                        status = question_keep(describer, &frame, ret_err);
                        continue;
                }
                reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);
                if (!reply || reply->id != request->id)
                        status = pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd sent a reply that nothing asked for");
        }
        if (status == PW_OK && reply->status)
                status = pw_error_set(ret_err, pw_status_known(reply->status) ? (enum pw_status)reply->status : PW_PROTOCOL, "%s",
                                      reply->text);
        if (status != PW_OK) {
                if (reply)
                        pathways__wire__reply__free_unpacked(reply, NULL);
                return status;
        }
        *ret_fd = -1;
        if (frame.fd_count) {
                *ret_fd = frame.fds[0];
                frame.fds[0] = -1;
        }
        *ret_reply = reply;
        return PW_OK;
}

/* --- surroundings -------------------------------------------------------------------------------------------------------- */

static enum pw_status ask_module(void *context, const char *name, uint64_t digest, int *ret_fd, struct pw_error *ret_err)
{
        Pathways__Wire__ModuleRequest body = PATHWAYS__WIRE__MODULE_REQUEST__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Reply *reply;
        enum pw_status status;
        int fd;

        body.module = (char *)(uintptr_t)name;
        body.digest = digest;
        request.id = MODULE_REQUEST_ID;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_MODULE;
        request.module = &body;
        status = ask(context, &request, &reply, &fd, ret_err);
        if (status != PW_OK)
                return status;
        if (reply->body_case == PATHWAYS__WIRE__REPLY__BODY_MODULE && fd >= 0) {
                *ret_fd = fd;
        } else {
                pw_close_fd(&fd);
                status = pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered a request for a module with something else");
        }
        pathways__wire__reply__free_unpacked(reply, NULL);
        return status;
}

static enum pw_status no_segment(void *context, uint32_t segment, struct pw_host_map *ret_map, struct pw_error *ret_err)
{
        (void)context;
        (void)ret_map;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "a describing executor maps no segment %u", segment);
}

static enum pw_status no_rooms(void *context, uint32_t segment, struct pw_rooms_map *ret_map, struct pw_error *ret_err)
{
        (void)ret_map;
        return no_segment(context, segment, NULL, ret_err);
}

static void no_doorbell(void *context) { (void)context; }

/* --- shapes -------------------------------------------------------------------------------------------------------------- */

/* What a task points to. */
struct task_room { struct pw_shape_value inputs[PW_TASK_ARGS_MAX], outputs[PW_TASK_ARGS_MAX]; };

static enum pw_status task_fill(const Pathways__Wire__Describe *describe, struct task_room *room, struct pw_shape_task *task,
                                struct pw_error *ret_err)
{
        if (describe->n_inputs > PW_TASK_ARGS_MAX || describe->output_count > PW_TASK_ARGS_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "%zu inputs and %u outputs: at most %d each", describe->n_inputs,
                                    describe->output_count, PW_TASK_ARGS_MAX);
        task->input_count = (uint32_t)describe->n_inputs;
        task->output_count = describe->output_count;
        task->inputs = room->inputs;
        task->outputs = memset(room->outputs, 0, task->output_count * sizeof room->outputs[0]);
        task->params = describe->params.data;
        task->params_bytes = describe->params.len;
        for (uint32_t i = 0; i < task->input_count; i++) {
                const Pathways__Wire__Type *type = describe->inputs[i];
                if (type->n_dims > PW_RANK_MAX || !pw_dtype_bytes(type->dtype))
                        return pw_error_set(ret_err, PW_SHAPE, "input %u: %zu dims of dtype %u", i, type->n_dims, type->dtype);
                room->inputs[i] = (struct pw_shape_value){ .dtype = type->dtype, .dims = { .rank = (uint32_t)type->n_dims } };
                if (type->n_dims)
                        memcpy(room->inputs[i].dims.dim, type->dims, type->n_dims * sizeof type->dims[0]);
        }
        return PW_OK;
}

static enum pw_status shape_run(const struct pw_function *function, struct pw_shape_task *task, struct pw_error *ret_err)
{
        char text[400] = "";
        struct pw_shape_task given = *task; /* the function may do with it what it likes */
        enum pw_status status;

        given.error_text = text;
        given.error_text_bytes = sizeof text;
        status = function->shape(&given);
        text[sizeof text - 1] = 0;
        if (status != PW_OK)
                return pw_error_set(ret_err, pw_status_of_call((uint32_t)status), "%s",
                                    text[0] ? text : pw_status_text(pw_status_of_call((uint32_t)status)));
        for (uint32_t i = 0; i < task->output_count; i++)
                if (!pw_dtype_bytes(task->outputs[i].dtype) || task->outputs[i].dims.rank > PW_RANK_MAX)
                        return pw_error_set(ret_err, PW_SHAPE, "its shape function gives output %u rank %u and dtype %u", i,
                                            task->outputs[i].dims.rank, task->outputs[i].dtype);
        if (function->in_place > task->input_count)
                return pw_error_set(ret_err, PW_SHAPE, "may work in place of input %u, got %u inputs", function->in_place - 1,
                                    task->input_count);
        task->scratch_bytes = given.scratch_bytes;
        return PW_OK;
}

/* The answer, borrowing from `task` and the arrays of `room`. */
struct answer_room {
        Pathways__Wire__Described described;
        Pathways__Wire__Type types[PW_TASK_ARGS_MAX], *type_list[PW_TASK_ARGS_MAX];
};
static void answer_fill(struct pw_shape_task *task, const struct pw_found_function *found, struct answer_room *room)
{
        pathways__wire__described__init(&room->described);
        for (uint32_t i = 0; i < task->output_count; i++) {
                pathways__wire__type__init(&room->types[i]);
                room->types[i].dtype = task->outputs[i].dtype;
                room->types[i].n_dims = task->outputs[i].dims.rank;
                room->types[i].dims = task->outputs[i].dims.dim;
                room->type_list[i] = &room->types[i];
        }
        room->described.n_outputs = task->output_count;
        room->described.outputs = room->type_list;
        room->described.time_limit_us = found->function->time_limit_us;
        room->described.in_place = found->function->in_place;
        room->described.on_processor = found->function->run != NULL;
        room->described.scratch_bytes = task->scratch_bytes;
        room->described.on_gpus = found->function->cuda != NULL;
}

static enum pw_status answer(struct describer *describer, const Pathways__Wire__Request *request, struct pw_error *ret_err)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        const Pathways__Wire__Describe *describe = request->describe;
        struct pw_shape_task task = { 0 };
        struct pw_found_function found = { NULL, NULL };
        struct answer_room room;
        struct task_room task_room;
        struct pw_error err;
        enum pw_status status = PW_UNSUPPORTED;

        if (request->body_case == PATHWAYS__WIRE__REQUEST__BODY_DESCRIBE)
                status = pw_modules_find(&describer->modules, describe->module, describe->function, describe->digest, &found,
                                         &err);
        else
                pw_error_set(&err, status, "a describing executor answers Describe");
        if (status == PW_OK)
                status = task_fill(describe, &task_room, &task, &err);
        if (status == PW_OK)
                status = shape_run(found.function, &task, &err);
        reply.id = request->id;
        if (status != PW_OK) {
                reply.status = status;
                reply.text = err.text;
        } else {
                answer_fill(&task, &found, &room);
                reply.body_case = PATHWAYS__WIRE__REPLY__BODY_DESCRIBED;
                reply.described = &room.described;
        }
        status = reply_send(describer, &reply, ret_err);
        pw_module_release(found.module);
        return status;
}

/* --- serving ------------------------------------------------------------------------------------------------------------- */

static enum pw_status hello(struct describer *describer, struct pw_error *ret_err)
{
        Pathways__Wire__Hello body = PATHWAYS__WIRE__HELLO__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Reply *welcome;
        enum pw_status status;
        int fd;

        body.version = PW_WIRE_VERSION;
        body.layout = PW_LAYOUT_VERSION;
        body.role = (char *)(uintptr_t)"describer";
        body.command = (char *)(uintptr_t)"pathways-executor";
        request.id = 1;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_HELLO;
        request.hello = &body;
        status = ask(describer, &request, &welcome, &fd, ret_err);
        if (status != PW_OK)
                return status;
        pw_close_fd(&fd);
        pathways__wire__reply__free_unpacked(welcome, NULL);
        return PW_OK;
}

static enum pw_status serve_next(struct describer *describer, struct pw_error *ret_err)
{
        Pathways__Wire__Request *request;
        enum pw_status status = PW_OK;
        struct pw_frame frame;

        if (!describer->asked_count) {
                status = frame_read(describer, &frame, ret_err);
                if (status == PW_OK && frame.kind != PW_FRAME_REQUEST)
                        status = pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd sent a reply that nothing asked for");
                if (status == PW_OK)
                        status = question_keep(describer, &frame, ret_err);
                if (status != PW_OK)
                        return status;
        }
        request = describer->asked[0];
        memmove(describer->asked, describer->asked + 1, --describer->asked_count * sizeof(void *));
        status = answer(describer, request, ret_err);
        pathways__wire__request__free_unpacked(request, NULL);
        pw_decoder_rest(&describer->decoder); /* it was as long as the parameters */
        return status;
}

enum pw_status pw_describe_serve(int fd, struct pw_error *ret_err)
{
        struct describer describer = { .fd = fd };
        enum pw_status status;

        describer.around = (struct pw_surroundings){ .context = &describer, .segment = no_segment, .rooms = no_rooms,
                                                     .module = ask_module,
                                                     .doorbell = no_doorbell };
        pw_modules_init(&describer.modules, &describer.around);
        pw_decoder_init(&describer.decoder);
        status = hello(&describer, ret_err);
        while (status == PW_OK)
                status = serve_next(&describer, ret_err);
        for (uint32_t i = 0; i < describer.asked_count; i++)
                pathways__wire__request__free_unpacked(describer.asked[i], NULL);
        free(describer.asked);
        pw_decoder_done(&describer.decoder);
        pw_modules_done(&describer.modules);
        return status;
}

/* From a frame to a program, step by step; pure. */
#include "daemon/work/compile.h"

#include "base/memory.h"
#include "daemon/session/output.h"
#include "daemon/work/graph_wire.h"
#include "daemon/work/program.h"
#include "program/lower/lower.h"

#include <stdio.h>

#define FIELDS_MAX 16u /* of a request, that are looked at; ours have two */
#define REQUEST_ID 1u

/* --- which request it is ------------------------------------------------------------------------------------------------ */

struct fields { const uint8_t *at, *end; };

static bool take_varint(struct fields *fields, uint64_t *ret_number)
{
        uint64_t number = 0;

        for (uint32_t shift = 0; shift < 64 && fields->at < fields->end; shift += 7) {
                uint8_t byte = *fields->at++;
                number |= (uint64_t)(byte & 0x7f) << shift;
                if (byte & 0x80)
                        continue;
                *ret_number = number;
                return true;
        }
        return false;
}

/* Its tag and, of a number, the number. */
static bool take_field(struct fields *fields, uint32_t *ret_tag, uint64_t *ret_number)
{
        uint64_t key, skip = 0;

        if (!take_varint(fields, &key))
                return false;
        *ret_tag = (uint32_t)(key >> 3);
        switch (key & 7) {
        case 0: return take_varint(fields, ret_number);
        case 1: skip = 8; break;
        case 2:
                if (!take_varint(fields, &skip))
                        return false;
                break;
        case 5: skip = 4; break;
        default: return false;
        }
        if (skip > (uint64_t)(fields->end - fields->at))
                return false;
        fields->at += skip;
        return true;
}

uint64_t pw_program_request_id(const struct pw_frame *frame, bool *ret_compiles)
{
        struct fields fields = { frame->payload, frame->payload + frame->bytes };
        uint64_t number = 0, id = 0;
        uint32_t tag;

        *ret_compiles = false;
        for (uint32_t i = 0; i < FIELDS_MAX && fields.at < fields.end && take_field(&fields, &tag, &number); i++) {
                if (tag == REQUEST_ID)
                        id = number;
                *ret_compiles |= tag == PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE;
        }
        return id;
}

/* --- life ------------------------------------------------------------------------------------------------------------------ */

void pw_compile_init(struct pw_compile *compile, uint8_t *buffer_take, const struct pw_frame *frame, uint64_t number)
{
        *compile = (struct pw_compile){ .buffer = buffer_take, .payload = frame->payload, .bytes = frame->bytes, .number = number };
}

static void drop_question(struct pw_compile *compile)
{
        free(compile->question);
        compile->question = NULL;
        compile->question_bytes = 0;
}

void pw_compile_done(struct pw_compile *compile)
{
        free(compile->buffer);
        pw_graph_free(compile->graph);
        free(compile->modules);
        free(compile->module_of);
        drop_question(compile);
        free(compile->ask);
        pw_program_unmake(compile->program);
        free(compile->reply);
        free(compile->image);
}

/* One of a single call has the name of its function, which what went wrong may begin with already. */
void pw_compile_fail(struct pw_compile *compile, enum pw_status status, const struct pw_error *err)
{
        const char *name = compile->graph ? compile->graph->name : compile->program ? compile->program->name : "program";
        size_t bytes = strlen(name);
        bool named = !strncmp(err->text, name, bytes) && err->text[bytes] == ':';
        struct pw_error copy = *err;

        pw_error_set(&compile->err, status, "%s%s%s", named ? "" : name, named ? "" : ": ", copy.text);
        compile->step = PW_COMPILE_FAILED;
}

static enum pw_status no_memory(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
}

/* --- read ------------------------------------------------------------------------------------------------------------------ */

static enum pw_status note_module(struct pw_compile *compile, uint32_t call, struct pw_error *ret_err)
{
        const char *function = compile->graph->calls[call].function, *slash = strchr(function, '/');
        char name[sizeof compile->modules->name];
        uint32_t i = 0;

        snprintf(name, sizeof name, "%.*s", slash ? (int)pw_min_u64((uint64_t)(slash - function), sizeof name) : 0, function);
        while (i < compile->module_count && strcmp(compile->modules[i].name, name) != 0)
                i++;
        if (i == PW_COMPILE_MODULES_MAX)
                return pw_error_set(ret_err, PW_TOO_LARGE, "call %u, %s: functions of more than %u modules", call, function,
                                    PW_COMPILE_MODULES_MAX);
        if (i == compile->module_count)
                strcpy(compile->modules[compile->module_count++].name, name);
        compile->module_of[call] = (uint8_t)i;
        return PW_OK;
}

static enum pw_status note_modules(struct pw_compile *compile, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        compile->modules = calloc(PW_COMPILE_MODULES_MAX, sizeof *compile->modules);
        compile->module_of = calloc((size_t)compile->graph->call_count + 1, sizeof *compile->module_of);
        if (!compile->modules || !compile->module_of)
                return no_memory(ret_err);
        for (uint32_t i = 0; status == PW_OK && i < compile->graph->call_count; i++)
                status = note_module(compile, i, ret_err);
        return status;
}

void pw_compile_read(struct pw_compile *compile)
{
        Pathways__Wire__Request *request = pathways__wire__request__unpack(NULL, compile->bytes, compile->payload);
        struct pw_error err;
        enum pw_status status;

        free(compile->buffer);
        compile->buffer = NULL;
        if (!request || request->body_case != PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE)
                status = pw_error_set(&err, PW_PROTOCOL, "a request that cannot be read");
        else
                status = pw_graph_read(request->program_compile, &compile->graph, &err);
        if (request)
                pathways__wire__request__free_unpacked(request, NULL);
        if (status == PW_OK)
                status = note_modules(compile, &err);
        compile->step = PW_COMPILE_RESOLVE;
        compile->bytes_kept = pw_graph_bytes(compile->graph);
        if (status != PW_OK)
                pw_compile_fail(compile, status, &err);
}

/* --- shape ----------------------------------------------------------------------------------------------------------------- */

static struct pw_shape_question question_of(const struct pw_compile *compile)
{
        struct pw_shape_question question = { compile->question, compile->question_bytes,
                                              compile->modules[compile->module_of[compile->query.call]].digest, 0 };

        question.key = pw_shapes_key(compile->secret, &question);
        return question;
}

void pw_compile_answer(struct pw_compile *compile, enum pw_status status, const struct pw_function_facts *facts,
                       const struct pw_error *err)
{
        compile->answered = true;
        if (status == PW_OK)
                compile->facts = *facts;
        else
                pw_compile_fail(compile, status, err);
}

/* Use the answer that came, and keep it. */
static enum pw_status use_answer(struct pw_compile *compile, struct pw_error *ret_err)
{
        compile->answered = false;
        if (compile->question) {
                struct pw_shape_question question = question_of(compile);
                pw_shapes_keep(compile->shapes, &question, &compile->query.task, &compile->facts);
        }
        return pw_graph_answer(compile->graph, &compile->query, &compile->facts, ret_err);
}

/* The answer is known, and used. */
static bool is_known(struct pw_compile *compile, const struct pw_question *message)
{
        struct pw_shape_question question;

        drop_question(compile);
        compile->question_bytes = pathways__wire__describe__get_packed_size(&message->describe);
        if (compile->question_bytes > PW_SHAPES_QUESTION_MAX)
                return false;
        compile->question = malloc(compile->question_bytes + 1);
        if (!compile->question)
                return false;
        pathways__wire__describe__pack(&message->describe, compile->question);
        question = question_of(compile);
        return pw_shapes_find(compile->shapes, &question, &compile->query.task, &compile->facts);
}

/* The frame that asks. */
static bool make_ask(struct pw_compile *compile, struct pw_question *message)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;

        compile->ask_id = compile->number << 24 | (++compile->asked_count & 0xffffff);
        request.id = compile->ask_id;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_DESCRIBE;
        request.describe = &message->describe;
        compile->ask = pw_outgoing_new(PW_FRAME_REQUEST, &request.base);
        return compile->ask;
}

/* The question that comes next, answered if the answer is known; PW_BUSY: it is to be asked. PW_NOT_READY: there is none. */
static enum pw_status next_question(struct pw_compile *compile, struct pw_error *ret_err)
{
        enum pw_status status = pw_graph_next_shape(compile->graph, &compile->query, ret_err);
        const struct pw_compile_module *module;
        struct pw_question message;

        if (status != PW_OK)
                return status;
        module = &compile->modules[compile->module_of[compile->query.call]];
        if (module->err.status != PW_OK)
                return pw_error_set(ret_err, module->err.status, "call %u, %s: %s", compile->query.call, compile->query.function,
                                    module->err.text);
        compile->query.digest = module->digest;
        pw_question_fill(&message, &compile->query);
        if (!is_known(compile, &message))
                return make_ask(compile, &message) ? PW_BUSY : no_memory(ret_err);
        return pw_graph_answer(compile->graph, &compile->query, &compile->facts, ret_err);
}

/* --- lower ----------------------------------------------------------------------------------------------------------------- */

static void find_limits(struct pw_compile *compile, const struct pw_image *image)
{
        for (uint32_t i = 0; i < image->node_count; i++) {
                uint64_t limit_us = pw_image_node(image, i)->time_limit_us;

                if (limit_us && (!compile->shortest_limit_us || limit_us < compile->shortest_limit_us))
                        compile->shortest_limit_us = limit_us;
        }
}

static enum pw_status lower(struct pw_compile *compile, const struct pw_program_of *of, struct pw_error *ret_err)
{
        struct pw_image *image;
        enum pw_status status = pw_lower(compile->graph, &image, ret_err);

        if (status != PW_OK)
                return status;
        find_limits(compile, image);
        status = pw_program_make(image, compile->graph->slices, of, &compile->program, ret_err);
        if (status != PW_OK) {
                free(image);
                return status;
        }
        pw_graph_free(compile->graph);
        compile->graph = NULL;
        compile->bytes_kept = pw_program_bytes(compile->program);
        compile->step = PW_COMPILE_INSTALL;
        return PW_OK;
}

void pw_compile_go_on(struct pw_compile *compile, const struct pw_program_of *of)
{
        struct pw_error err;
        enum pw_status status = PW_OK;

        if (!compile->checked)
                status = pw_graph_check(compile->graph, &err);
        compile->checked = true;
        if (compile->answered)
                status = use_answer(compile, &err);
        while (status == PW_OK)
                status = next_question(compile, &err);
        if (status == PW_NOT_READY)
                status = lower(compile, of, &err);
        compile->shapes_bytes = compile->shapes->bytes;
        if (status == PW_BUSY)
                compile->step = PW_COMPILE_ASK;
        else if (status != PW_OK)
                pw_compile_fail(compile, status, &err);
}

/* --- reply ----------------------------------------------------------------------------------------------------------------- */

void pw_compile_reply(struct pw_compile *compile)
{
        struct pw_error err;

        compile->step = PW_COMPILE_SEND;
        compile->reply = pw_graph_reply(compile->id, compile->program);
        if (compile->reply)
                return;
        (void)no_memory(&err);
        pw_compile_fail(compile, PW_NO_MEMORY, &err);
}

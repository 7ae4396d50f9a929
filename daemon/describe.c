/* The queue of questions, one asked at a time, so that a crash names its question. */
#include "daemon/describe.h"

#include "base/memory.h"
#include "daemon/child/child.h"

#include <stdio.h>
#include <xxhash.h>

#define LIMIT_US 2000000u

struct question {
        struct pw_list link;
        uint64_t id, key;
        struct pw_shape_query *query; /* NULL: whoever asked has left, and the answer is still to come */
        pw_described_fn done;
        void *context;
        Pathways__Wire__Describe describe;
        char module[128];
        Pathways__Wire__Type types[PW_TASK_ARGS_MAX], *type_list[PW_TASK_ARGS_MAX];
};

struct answer {
        uint32_t count;
        struct {
                uint32_t dtype;
                struct pw_dims dims;
        } outputs[PW_TASK_ARGS_MAX];
        struct pw_function_facts facts;
};

struct pw_describe {
        struct pw_list queue;     /* the first may be asked */
        uint64_t asked_us;        /* 0: the first is not asked */
        uint64_t next_id;
        struct pw_dsession *session;
        struct pw_table answers;  /* key -> struct answer */
};

enum pw_status pw_describe_new(struct pw_daemon *daemon, struct pw_describe **ret_describe, struct pw_error *ret_err)
{
        struct pw_describe *describe = calloc(1, sizeof *describe);

        (void)daemon;
        if (!describe)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory");
        pw_list_init(&describe->queue);
        *ret_describe = describe;
        return PW_OK;
}

void pw_describe_free(struct pw_describe *describe)
{
        struct question *question;
        void *answer;

        if (!describe)
                return;
        pw_list_each(&describe->queue, question, struct question, link)
                free(question);
        for (uint32_t i = 0; (answer = pw_table_next(&describe->answers, &i));)
                free(answer);
        pw_table_done(&describe->answers);
        free(describe);
}

static void use_answer(const struct question *question, const struct answer *answer)
{
        struct pw_shape_task *task = &question->query->task;

        for (uint32_t i = 0; i < answer->count && i < task->output_count; i++) {
                task->outputs[i].dtype = answer->outputs[i].dtype;
                task->outputs[i].dims = answer->outputs[i].dims;
        }
        question->done(question->context, PW_OK, &answer->facts, NULL);
}

/* Take it from the queue and answer it. */
static void finish(struct pw_describe *describe, struct question *question, const struct answer *answer, enum pw_status status,
                   const char *text)
{
        struct pw_error err;

        if (question->link.prev == &describe->queue)
                describe->asked_us = 0;
        pw_list_remove(&question->link);
        if (question->query && answer) {
                use_answer(question, answer);
        } else if (question->query) {
                pw_error_set(&err, status, "%s: %s", question->query->function, text);
                question->done(question->context, status, NULL, &err);
        }
        free(question);
}

static void fill(struct question *question, const struct pw_shape_query *query)
{
        const struct pw_shape_task *task = &query->task;
        Pathways__Wire__Describe *describe = &question->describe;
        const char *slash = strchr(query->function, '/');

        pathways__wire__describe__init(describe);
        snprintf(question->module, sizeof question->module, "%.*s", slash ? (int)(slash - query->function) : 0, query->function);
        describe->module = question->module;
        describe->function = (char *)(uintptr_t)(slash ? slash + 1 : query->function);
        describe->params = (ProtobufCBinaryData){ task->params_bytes, (uint8_t *)(uintptr_t)task->params };
        describe->output_count = task->output_count;
        describe->digest = query->digest;
        for (uint32_t i = 0; i < task->input_count; i++) {
                Pathways__Wire__Type *type = &question->types[i];

                pathways__wire__type__init(type);
                type->dtype = task->inputs[i].dtype;
                type->n_dims = task->inputs[i].dims.rank;
                type->dims = (uint64_t *)(uintptr_t)task->inputs[i].dims.dim;
                question->type_list[i] = type;
        }
        describe->inputs = question->type_list;
        describe->n_inputs = task->input_count;
}

/* The key of a question: its bytes, which name the version of its module. */
static enum pw_status key_of(struct question *question, struct pw_error *ret_err)
{
        size_t bytes = pathways__wire__describe__get_packed_size(&question->describe);
        pw_auto_free uint8_t *packed = malloc(bytes + 1);

        if (!packed)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory");
        pathways__wire__describe__pack(&question->describe, packed);
        question->key = XXH3_64bits(packed, bytes);
        return PW_OK;
}

/* Ask the first of the queue, if somebody is there to ask. */
static void ask_first(struct pw_describe *describe)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        struct question *question;

        if (!describe->session || describe->asked_us || pw_list_empty(&describe->queue))
                return;
        question = pw_list_first(&describe->queue, struct question, link);
        question->id = ++describe->next_id;
        request.id = question->id;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_DESCRIBE;
        request.describe = &question->describe;
        describe->asked_us = pw_now_us();
        pw_session_ask(describe->session, &request);
}

void pw_describe_ask(struct pw_daemon *daemon, struct pw_shape_query *query_keep, pw_described_fn done, void *context)
{
        struct pw_describe *describe = daemon->describe;
        struct question *question = calloc(1, sizeof *question);
        const struct answer *known;
        struct pw_error err;

        if (!question) {
                pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory");
                done(context, PW_NO_MEMORY, NULL, &err);
                return;
        }
        question->query = query_keep;
        question->done = done;
        question->context = context;
        fill(question, query_keep);
        pw_list_append(&describe->queue, &question->link);
        if (key_of(question, &err) != PW_OK) {
                finish(describe, question, NULL, err.status, err.text);
                return;
        }
        known = pw_table_get(&describe->answers, question->key);
        if (known)
                finish(describe, question, known, PW_OK, NULL);
        else
                ask_first(describe);
}

/* What is asked stays the first until it is answered: the executor does nothing else before, and its time counts on. */
void pw_describe_forget(struct pw_daemon *daemon, void *context)
{
        struct pw_describe *describe = daemon->describe;
        struct question *question;

        pw_list_each(&describe->queue, question, struct question, link) {
                if (question->context != context)
                        continue;
                question->query = question->context = NULL;
                if (describe->asked_us && question->link.prev == &describe->queue)
                        continue;
                pw_list_remove(&question->link);
                free(question);
        }
        ask_first(describe);
}

struct pw_describe_now pw_describe_now(const struct pw_daemon *daemon)
{
        const struct pw_describe *describe = daemon->describe;
        const struct question *question = pw_list_first(&describe->queue, struct question, link);

        if (!describe->asked_us || pw_list_empty(&describe->queue))
                return (struct pw_describe_now){ .limit_us = LIMIT_US };
        return (struct pw_describe_now){ question->context, describe->asked_us, LIMIT_US };
}

static struct answer *read_answer(const struct question *question, const Pathways__Wire__Described *body)
{
        struct answer *answer = calloc(1, sizeof *answer);

        if (!answer || body->n_outputs != question->describe.output_count) {
                free(answer);
                return NULL;
        }
        answer->count = (uint32_t)body->n_outputs;
        answer->facts = (struct pw_function_facts){ body->in_place, body->time_limit_us, question->describe.digest };
        for (uint32_t i = 0; i < answer->count; i++) {
                const Pathways__Wire__Type *type = body->outputs[i];

                if (type->n_dims > PW_RANK_MAX) {
                        free(answer);
                        return NULL;
                }
                answer->outputs[i].dtype = type->dtype;
                answer->outputs[i].dims.rank = (uint32_t)type->n_dims;
                if (type->n_dims)
                        memcpy(answer->outputs[i].dims.dim, type->dims, type->n_dims * sizeof(uint64_t));
        }
        return answer;
}

void pw_describe_answered(struct pw_daemon *daemon, const Pathways__Wire__Reply *reply)
{
        struct pw_describe *describe = daemon->describe;
        struct question *question = pw_list_first(&describe->queue, struct question, link);
        struct answer *answer = NULL;
        uint64_t key;

        if (pw_list_empty(&describe->queue) || question->id != reply->id)
                return; /* of somebody who left */
        key = question->key;
        if (reply->status == PW_OK && reply->body_case == PATHWAYS__WIRE__REPLY__BODY_DESCRIBED)
                answer = read_answer(question, reply->described);
        if (answer)
                finish(describe, question, answer, PW_OK, NULL);
        else
                finish(describe, question, NULL,
                       pw_status_known(reply->status) && reply->status ? (enum pw_status)reply->status : PW_PROTOCOL,
                       reply->text[0] ? reply->text : "its shape function gave no shapes that can be");
        if (answer && (pw_table_get(&describe->answers, key) || !pw_table_put(&describe->answers, key, answer)))
                free(answer);
        ask_first(describe);
}

void pw_describe_up(struct pw_daemon *daemon, struct pw_dsession *session)
{
        daemon->describe->session = session;
        daemon->describe->asked_us = 0;
        ask_first(daemon->describe);
}

void pw_describe_detached(struct pw_daemon *daemon)
{
        daemon->describe->session = NULL;
}

void pw_describe_down(struct pw_daemon *daemon, const char *how)
{
        struct pw_describe *describe = daemon->describe;
        char text[200];

        if (!describe->asked_us || pw_list_empty(&describe->queue))
                return;
        snprintf(text, sizeof text, "its shape function ended the describing executor (%s)", how);
        finish(describe, pw_list_first(&describe->queue, struct question, link), NULL, PW_CRASHED, text);
}

uint64_t pw_describe_next_us(const struct pw_daemon *daemon)
{
        return daemon->describe->asked_us ? daemon->describe->asked_us + LIMIT_US : UINT64_MAX;
}

void pw_describe_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        if (pw_describe_next_us(daemon) <= now_us)
                pw_child_kill(daemon, daemon->device_count, PW_TIME_LIMIT, "ran over the limit of 2 s for a shape function");
}

/* The queue of questions, one asked at a time, so that a crash names its question. */
#include "daemon/work/shape/describe.h"

#include "base/memory.h"
#include "base/text.h"
#include "daemon/child/child.h"
#include "daemon/session/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Of its own time: that its process waited for a processor is not counted, up to a wall time of */
#define LIMIT_US 2000000u
#define WALL_US (10u * LIMIT_US)
#define LOOK_AGAIN_US 10000u

struct question {
        struct pw_list link;
        struct pw_ask ask;
        bool left; /* whoever asked has left, and the answer is still to come */
};

/* What the first thread of the describing executor has had of a processor, ever, and for how long it waited for one before; nothing
 * where the system does not say: see sched-stats and proc(5). */
struct spent { uint64_t ran_us, queued_us; bool waits; };

struct pw_describe {
        struct pw_list queue;     /* the first may be asked */
        uint64_t asked_us;        /* 0: the first is not asked */
        struct spent spent;       /* by then */
        uint64_t look_us;         /* when its time may be over */
        struct pw_dsession *session;
        pid_t pid;                /* of the executor that attached last */
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

static void free_question(struct question *question)
{
        pw_list_remove(&question->link);
        free(question->ask.frame);
        free(question);
}

void pw_describe_free(struct pw_describe *describe)
{
        if (!describe)
                return;
        while (!pw_list_empty(&describe->queue))
                free_question(pw_list_first(&describe->queue, struct question, link));
        free(describe);
}

/* Take it from the queue and answer it. */
static void finish(struct pw_describe *describe, struct question *question, const struct pw_function_facts *facts,
                   enum pw_status status, const char *text)
{
        struct pw_ask ask = question->ask;
        bool left = question->left;
        struct pw_error err;

        if (question->link.prev == &describe->queue)
                describe->asked_us = 0;
        free_question(question);
        if (left)
                return;
        if (status != PW_OK)
                pw_error_set(&err, status, "call %u, %s: %s", ask.query->call, ask.query->function, text);
        ask.done(ask.context, status, facts, &err);
}

static bool read_text(int pid, const char *name, char *ret_text, size_t text_bytes)
{
        char path[40];
        pw_auto_close int fd = -1;
        ssize_t bytes;

        snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        bytes = fd < 0 ? -1 : read(fd, ret_text, text_bytes - 1);
        if (bytes <= 0)
                return false;
        ret_text[bytes] = 0;
        return true;
}

static struct spent look_at(const struct pw_describe *describe)
{
        unsigned long long ran_ns, queued_ns;
        const char *state;
        char text[512];
        struct spent spent = { 0, 0, false };

        if (!read_text(describe->pid, "schedstat", text, sizeof text) || sscanf(text, "%llu %llu", &ran_ns, &queued_ns) != 2)
                return spent;
        spent.ran_us = ran_ns / 1000;
        spent.queued_us = queued_ns / 1000;
        state = read_text(describe->pid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL; /* "pid (name) state ..." */
        spent.waits = state && state[1] == ' ' && state[2] == 'R';
        return spent;
}

/* A wait that goes on is not in what the system says yet: of who is to run now only what it ran counts until then. */
static uint64_t own_us(const struct pw_describe *describe, uint64_t took_us)
{
        struct spent now = look_at(describe);
        uint64_t own = took_us - pw_min_u64(now.queued_us - describe->spent.queued_us, took_us);

        return now.waits ? pw_min_u64(own, now.ran_us - describe->spent.ran_us) : own;
}

/* Ask the first of the queue, if somebody is there to ask. */
static void ask_first(struct pw_describe *describe)
{
        struct question *question;
        struct pw_outgoing *frame;

        if (!describe->session || describe->asked_us || pw_list_empty(&describe->queue))
                return;
        question = pw_list_first(&describe->queue, struct question, link);
        frame = question->ask.frame;
        question->ask.frame = NULL;
        describe->asked_us = pw_now_us();
        describe->look_us = describe->asked_us + LIMIT_US;
        describe->spent = look_at(describe);
        pw_session_send(describe->session, frame);
}

void pw_describe_ask(struct pw_daemon *daemon, const struct pw_ask *ask)
{
        struct pw_describe *describe = daemon->work.describe;
        struct question *question = calloc(1, sizeof *question);
        struct pw_error err;

        if (!question) {
                free(ask->frame);
                pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory");
                ask->done(ask->context, PW_NO_MEMORY, NULL, &err);
                return;
        }
        question->ask = *ask;
        pw_list_append(&describe->queue, &question->link);
        ask_first(describe);
}

/* What is asked stays the first until it is answered: the executor does nothing else before, and its time counts on. */
void pw_describe_forget(struct pw_daemon *daemon, void *context)
{
        struct pw_describe *describe = daemon->work.describe;
        struct question *question;

        pw_list_each(&describe->queue, question, struct question, link) {
                if (question->left || question->ask.context != context)
                        continue;
                question->left = true;
                if (!describe->asked_us || question->link.prev != &describe->queue)
                        free_question(question);
        }
        ask_first(describe);
}

struct pw_describe_now pw_describe_now(const struct pw_daemon *daemon)
{
        const struct pw_describe *describe = daemon->work.describe;
        const struct question *question = pw_list_first(&describe->queue, struct question, link);

        if (!describe->asked_us || pw_list_empty(&describe->queue))
                return (struct pw_describe_now){ .limit_us = LIMIT_US };
        return (struct pw_describe_now){ question->left ? NULL : question->ask.context, describe->asked_us, LIMIT_US };
}

/* Its outputs into the task. False: that cannot be an answer. */
static bool read_answer(struct pw_shape_task *task, const Pathways__Wire__Described *body)
{
        if (body->n_outputs != task->output_count)
                return false;
        for (uint32_t i = 0; i < task->output_count; i++) {
                const Pathways__Wire__Type *type = body->outputs[i];

                if (type->n_dims > PW_RANK_MAX)
                        return false;
                task->outputs[i].dtype = type->dtype;
                task->outputs[i].dims = (struct pw_dims){ .rank = (uint32_t)type->n_dims };
                if (type->n_dims)
                        memcpy(task->outputs[i].dims.dim, type->dims, type->n_dims * sizeof(uint64_t));
        }
        return true;
}

void pw_describe_answered(struct pw_daemon *daemon, const Pathways__Wire__Reply *reply)
{
        struct pw_describe *describe = daemon->work.describe;
        struct question *question = pw_list_first(&describe->queue, struct question, link);
        bool is_answer = reply->status == PW_OK && reply->body_case == PATHWAYS__WIRE__REPLY__BODY_DESCRIBED;
        struct pw_error said;

        if (pw_list_empty(&describe->queue) || !describe->asked_us || question->ask.id != reply->id)
                return; /* of somebody who left */
        if (is_answer && (question->left || read_answer(&question->ask.query->task, reply->described))) {
                const Pathways__Wire__Described *body = reply->described;
                uint64_t digest = question->left ? 0 : question->ask.query->digest;
                finish(describe, question, &(struct pw_function_facts){ .in_place = body->in_place,
                                                                        .time_limit_us = body->time_limit_us, .digest = digest,
                                                                        .scratch_bytes = body->scratch_bytes,
                                                                        .forms = { body->on_processor, body->on_gpus } },
                       PW_OK, NULL);
        } else {
                snprintf(said.text, sizeof said.text, "%s", reply->text);
                finish(describe, question, NULL,
                       pw_status_of_value(reply->status) ? (enum pw_status)reply->status : PW_PROTOCOL,
                       said.text[0] ? pw_text_make_plain(said.text) : "its shape function gave no shapes that can be");
        }
        ask_first(describe);
}

void pw_describe_up(struct pw_daemon *daemon, struct pw_dsession *session)
{
        daemon->work.describe->session = session;
        daemon->work.describe->pid = session->pid;
        daemon->work.describe->asked_us = 0;
        ask_first(daemon->work.describe);
}

void pw_describe_detached(struct pw_daemon *daemon)
{
        daemon->work.describe->session = NULL;
}

bool pw_describe_down(struct pw_daemon *daemon, enum pw_status status, const char *how)
{
        struct pw_describe *describe = daemon->work.describe;
        char text[200];

        if (!describe->asked_us || pw_list_empty(&describe->queue))
                return false;
        if (status == PW_TIME_LIMIT)
                snprintf(text, sizeof text, "its shape function %s", how);
        else
                snprintf(text, sizeof text, "its shape function ended the describing executor (%s)", how);
        finish(describe, pw_list_first(&describe->queue, struct question, link), NULL, status, text);
        return true;
}

uint64_t pw_describe_next_us(const struct pw_daemon *daemon)
{
        return daemon->work.describe->asked_us ? daemon->work.describe->look_us : UINT64_MAX;
}

void pw_describe_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_describe *describe = daemon->work.describe;
        uint64_t took_us, own;

        if (pw_describe_next_us(daemon) > now_us)
                return;
        took_us = now_us - describe->asked_us;
        own = own_us(describe, took_us);
        if (own < LIMIT_US && took_us < WALL_US)
                describe->look_us = now_us + pw_max_u64(LIMIT_US - own, LOOK_AGAIN_US);
        else
                pw_child_kill(daemon, daemon->device_count, PW_TIME_LIMIT,
                              own < LIMIT_US ? "was not done after 20 s, as the machine was too busy for a shape function" :
                              "ran over the limit of 2 s for a shape function");
}

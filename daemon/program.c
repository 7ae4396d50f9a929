/* Programs of sessions: compilation step by step, since shapes come from another process. */
#include "daemon/program.h"

#include "base/memory.h"
#include "daemon/describe.h"
#include "daemon/graph_wire.h"
#include "daemon/module.h"
#include "daemon/slice.h"
#include "scheduler/lower.h"

#include <stdio.h>

/* A compilation under way: the key in the session's table is the job, until it is answered. */
struct job {
        struct pw_list link; /* in daemon->jobs */
        struct pw_dsession *session;
        uint64_t id;         /* of the request */
        struct pw_graph *graph;
        struct pw_shape_query query;
        struct pw_module_uses *modules; /* versions that its calls run */
        struct pw_module_asker *asker;  /* NULL: waits for none */
        uint64_t asked_us;
        bool asking, answered;
        struct pw_error err;
        enum pw_status status;
};

static void free_job(struct job *job)
{
        pw_list_remove(&job->link);
        if (job->asker)
                pw_module_forget(job->asker);
        pw_module_uses_drop(job->session->daemon, job->modules);
        free(job->modules);
        pw_graph_free(job->graph);
        free(job);
}

/* Functions with time limits are looked after while runs are in flight. */
static void note_limits(struct pw_daemon *daemon, const struct pw_image *image)
{
        for (uint32_t i = 0; i < image->node_count; i++) {
                uint64_t limit_us = pw_image_node(image, i)->time_limit_us;

                if (limit_us && (!daemon->shortest_limit_us || limit_us < daemon->shortest_limit_us))
                        daemon->shortest_limit_us = limit_us;
        }
}

static enum pw_status add_program(struct job *job, uint32_t *ret_program, struct pw_error *ret_err)
{
        struct pw_dsession *session = job->session;
        struct pw_scheduler *scheduler = session->daemon->scheduler;
        struct pw_image *image;
        enum pw_status status = pw_lower(job->graph, &image, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_scheduler_program_add(scheduler, image, job->graph, session->tenant->name, session->number, ret_program,
                                          ret_err);
        if (status != PW_OK) {
                free(image);
                return status;
        }
        pw_scheduler_program(scheduler, *ret_program)->client = strdup(session->client); /* without memory: nameless */
        pw_scheduler_program(scheduler, *ret_program)->modules = job->modules;
        job->modules = NULL;
        note_limits(session->daemon, pw_scheduler_program(scheduler, *ret_program)->image);
        if (pw_table_put(&session->programs, *ret_program, session))
                return PW_OK;
        pw_scheduler_program_free(scheduler, *ret_program);
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
}

/* Named by its program; one of a single call has the name of its function, which what went wrong may begin with already. */
static void refuse(struct job *job, enum pw_status status)
{
        const char *name = job->graph ? job->graph->name : "program";
        size_t bytes = strlen(name);
        bool named = !strncmp(job->err.text, name, bytes) && job->err.text[bytes] == ':';
        struct pw_error err;

        pw_error_set(&err, status, "%s%s%s", named ? "" : name, named ? "" : ": ", job->err.text);
        pw_session_reply_error(job->session, job->id, status, err.text);
}

static void finish(struct job *job)
{
        uint32_t program = 0;
        enum pw_status status = job->status;

        pw_list_remove(&job->link); /* an answer may end the session, which frees the jobs that are in the list */
        if (status == PW_OK)
                status = add_program(job, &program, &job->err);
        if (status == PW_OK)
                pw_graph_reply(job->session, job->id, program, pw_scheduler_program(job->session->daemon->scheduler, program));
        else
                refuse(job, status);
        free_job(job);
}

static void run_job(struct job *job);

static void described(void *context, enum pw_status status, const struct pw_function_facts *facts, const struct pw_error *err)
{
        struct job *job = context;

        job->status = status == PW_OK ? pw_graph_answer(job->graph, &job->query, facts, &job->err) : status;
        if (status != PW_OK)
                job->err = *err;
        job->answered = true;
        if (!job->asking)
                run_job(job);
}

static void module_found(void *context, enum pw_status status, struct pw_module_version *version, const struct pw_error *err)
{
        struct job *job = context;

        job->asker = NULL;
        job->status = status;
        if (status != PW_OK)
                job->err = *err;
        else if (!pw_module_uses_take(&job->modules, version)) {
                pw_module_unuse(job->session->daemon, version);
                job->status = pw_error_set(&job->err, PW_NO_MEMORY, "pathwaysd is out of memory");
        }
        job->answered = true;
        if (!job->asking)
                run_job(job);
}

/* The version of the module of the question: the same for all calls of a program. False: it was asked for. */
static bool find_version(struct job *job)
{
        const char *function = job->query.function, *slash = strchr(function, '/');
        size_t length = slash ? (size_t)(slash - function) : 0;
        const struct pw_module_version *version = pw_module_uses_find(job->modules, function, length);
        char name[128];

        if (version) {
                job->query.digest = pw_module_digest(version);
                return true;
        }
        snprintf(name, sizeof name, "%.*s", (int)length, function);
        job->asker = pw_module_ask(job->session->daemon, name, module_found, job);
        return false;
}

/* Ask for one shape after the other; an answer that comes at once is gone on with here, not inside of the call. */
static void run_job(struct job *job)
{
        while (job->status == PW_OK) {
                enum pw_status more = pw_graph_next_shape(job->graph, &job->query, &job->err);

                if (more == PW_NOT_READY)
                        break;
                job->status = more;
                if (more != PW_OK)
                        break;
                job->asking = true;
                job->answered = false;
                job->asked_us = pw_now_us();
                if (find_version(job))
                        pw_describe_ask(job->session->daemon, &job->query, described, job);
                job->asking = false;
                if (!job->answered)
                        return;
        }
        finish(job);
}

void pw_program_compile(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ProgramCompile *request)
{
        struct job *job = calloc(1, sizeof *job);

        if (!job) {
                pw_session_reply_error(session, id, PW_NO_MEMORY, "pathwaysd is out of memory");
                return;
        }
        job->session = session;
        job->id = id;
        pw_list_init(&job->link);
        pw_list_append(&session->daemon->jobs, &job->link);
        job->status = pw_graph_read(session, request, &job->graph, &job->err);
        if (job->status == PW_OK)
                job->status = pw_graph_check(job->graph, &job->err);
        run_job(job);
}

void pw_programs_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                           void (*row)(void *, const struct pw_wait_row *), void *context)
{
        struct job *job;

        pw_list_each(&daemon->jobs, job, struct job, link)
                if (!session || job->session == session)
                        row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_SHAPE, .session = job->session, .name = job->query.function,
                                                            .since_us = job->asked_us, .until_us = UINT64_MAX });
}

struct pw_dsession *pw_program_described(const struct pw_daemon *daemon, const char **ret_function)
{
        const struct job *job = pw_describe_now(daemon).context;

        if (!job)
                return NULL;
        *ret_function = job->query.function;
        return job->session;
}

void pw_program_free_request(struct pw_dsession *session, uint64_t id, uint32_t program)
{
        if (!pw_table_remove(&session->programs, program)) {
                pw_session_reply_error(session, id, PW_NOT_FOUND, "the session has no such program");
                return;
        }
        pw_scheduler_program_free(session->daemon->scheduler, program);
        pw_session_reply_ok(session, id);
}

void pw_programs_session_end(struct pw_dsession *session)
{
        struct pw_daemon *daemon = session->daemon;
        const struct pw_table *table = &session->programs;
        struct job *job;

        pw_list_each(&daemon->jobs, job, struct job, link) {
                if (job->session != session)
                        continue;
                pw_describe_forget(daemon, job);
                free_job(job);
        }
        for (uint32_t i = 0; i < table->capacity; i++)
                if (table->cells[i].value)
                        pw_scheduler_program_free(daemon->scheduler, (uint32_t)table->cells[i].key);
        pw_table_done(&session->programs);
        session->programs = (struct pw_table){ 0 };
        pw_slices_session_end(session);
}

/* Programs of sessions, and their compilations between the loop and the threads; what a tenant has of these: compiling.c. */
#include "daemon/work/program.h"

#include "base/memory.h"
#include "daemon/session/kept.h"
#include "daemon/module/module.h"
#include "daemon/session/output.h"
#include "daemon/work/compile.h"
#include "daemon/work/compiling.h"
#include "daemon/work/shape/describe.h"
#include "daemon/work/place.h"

#include <malloc.h>

#define LARGE_BYTES (1u << 20)
#define BEGUN_MAX 4u /* of a tenant; one of them is at a thread */
#define PROGRAMS_MAX 16384u /* of a session, with those under way */

/* A compilation under way. */
struct job {
        struct pw_compile_work work; /* first: what a thread is handed */
        struct pw_compile compile;
        struct pw_list link;         /* in daemon->work.jobs */
        struct pw_list of_session;
        struct pw_daemon *daemon;
        struct pw_tenant *tenant;
        struct pw_compiling *compiling;
        struct pw_dsession *session; /* NULL: it has ended */
        uint32_t session_number;
        char client[48];
        uint64_t charged_bytes, since_us, asked_us; /* asked_us: 0: no question of it is asked */
        bool begun, installed;            /* installed: the scheduler has its program, and nobody else knows it */
        bool dropped;                     /* only what it has in memory is left, and that is at a thread */
        uint32_t *slices, slice_count;    /* held */
        struct pw_module_uses *modules;   /* versions that its calls run */
        struct pw_module_asker *asker;    /* NULL: waits for none */
        uint32_t module_next;             /* of the compilation's, the first that is not known yet */
};

/* --- life ---------------------------------------------------------------------------------------------------------------- */

static void charge(struct job *job, uint64_t bytes)
{
        pw_kept_count(job->daemon, job->tenant, PW_KEPT_COMPILING, (int64_t)bytes - (int64_t)job->charged_bytes);
        job->charged_bytes = bytes;
}

static void leave_session(struct job *job)
{
        if (!job->session)
                return;
        pw_list_remove(&job->of_session);
        job->session->job_count--;
        job->session = NULL;
}

static void begin_next(struct pw_daemon *daemon, struct pw_compiling *compiling);

static void end_job(struct job *job)
{
        charge(job, 0);
        pw_list_remove(&job->link);
        free(job);
}

/* What is kept of the program was made beside what was needed to make it: the whole pages of that go back, too. */
static void work_drop(struct pw_compile_work *work)
{
        struct job *job = (struct job *)work;

        pw_compile_done(&job->compile);
        malloc_trim(0);
        job->compile = (struct pw_compile){ .buffer = NULL };
}

static void dropped(struct pw_compile_work *work) { end_job((struct job *)work); }

static void drop_now(struct job *job)
{
        pw_compile_done(&job->compile);
        end_job(job);
}

/* To give many pages back takes the system longer than a turn may: it is charged until a thread has done that. */
static void drop(struct job *job)
{
        if (!job->daemon->work.compiler || job->charged_bytes < LARGE_BYTES) {
                drop_now(job);
                return;
        }
        job->dropped = true;
        job->work = (struct pw_compile_work){ .lane = pw_compiler_lane(job->daemon->work.compiler), .work = work_drop,
                                              .done = dropped };
        pw_list_init(&job->work.link);
        pw_compiler_ask(job->daemon->work.compiler, &job->work);
}

/* Nothing of it is at a thread. */
static void free_job(struct job *job)
{
        struct pw_daemon *daemon = job->daemon;
        struct pw_compiling *compiling = job->compiling;
        struct pw_dsession *session = job->session;

        for (uint32_t i = 0; i < job->slice_count; i++)
                pw_scheduler_slice_let_go(job->daemon->scheduler, job->slices[i]);
        if (job->asker)
                pw_module_forget(job->asker);
        pw_module_uses_drop(job->daemon, job->modules);
        free(job->modules);
        if (job->installed) {
                pw_scheduler_program_free(job->daemon->scheduler, job->compile.program->program);
                job->compile.program = NULL;
        }
        job->compiling->begun -= job->begun;
        leave_session(job);
        free(job->slices);
        drop(job);
        begin_next(daemon, compiling);
        if (session && !session->ended)
                pw_session_mind(session);
}

/* --- steps ----------------------------------------------------------------------------------------------------------------- */

static void hand_over(struct job *job, void (*work)(struct pw_compile_work *work))
{
        job->work.work = work;
        pw_compiler_ask(job->daemon->work.compiler, &job->work);
}

static void work_read(struct pw_compile_work *work) { pw_compile_read(&((struct job *)work)->compile); }

static void work_go_on(struct pw_compile_work *work)
{
        struct job *job = (struct job *)work;

        pw_compile_go_on(&job->compile,
                         &(struct pw_program_of){ job->tenant->name, job->session_number, job->daemon->host });
}

static void work_place(struct pw_compile_work *work)
{
        struct job *job = (struct job *)work;

        pw_boards_image_fill(job->daemon->boards, job->compile.program);
        pw_program_detach(job->daemon, job->compile.program);
        pw_compile_reply(&job->compile);
}

static void step(struct job *job);

/* Its slices, as they are now, stay until it is answered. */
static enum pw_status hold_slices(struct job *job, struct pw_error *ret_err)
{
        struct pw_graph *graph = job->compile.graph;

        job->slices = calloc(graph->slice_count + 1, sizeof *job->slices);
        if (!job->slices)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        for (uint32_t i = 0; i < graph->slice_count; i++) {
                uint32_t id = graph->slices[i].id;
                const struct pw_slice_map *slice =
                        pw_table_get(&job->session->slices, id) ? pw_scheduler_slice_hold(job->daemon->scheduler, id) : NULL;
                if (!slice)
                        return pw_error_set(ret_err, PW_NOT_FOUND, "slice %u is not open in this session", id);
                graph->slices[i] = *slice;
                job->slices[job->slice_count++] = id;
        }
        return PW_OK;
}

static void find_modules(struct job *job);

/* What is wrong with a module is told with the first call of it. */
static void module_found(void *context, enum pw_status status, struct pw_module_version *version, const struct pw_error *err)
{
        struct job *job = context;
        struct pw_compile_module *module = &job->compile.modules[job->module_next++];
        bool waited = job->asker;

        job->asker = NULL;
        if (status != PW_OK) {
                module->err = *err;
                module->err.status = status;
        } else if (pw_module_uses_take(&job->modules, version)) {
                module->digest = pw_module_digest(version);
        } else {
                pw_module_unuse(job->daemon, version);
                (void)pw_error_set(&module->err, PW_NO_MEMORY, "pathwaysd is out of memory");
        }
        if (waited)
                find_modules(job);
}

/* The version of each of its modules: the same for all of its calls. */
static void find_modules(struct job *job)
{
        while (job->module_next < job->compile.module_count) {
                job->asker = pw_module_ask(job->daemon, job->compile.modules[job->module_next].name, module_found, job);
                if (job->asker)
                        return;
        }
        hand_over(job, work_go_on);
}

static void resolve(struct job *job)
{
        struct pw_error err;
        enum pw_status status = hold_slices(job, &err);

        if (status == PW_OK) {
                find_modules(job);
                return;
        }
        pw_compile_fail(&job->compile, status, &err);
        step(job);
}

static void described(void *context, enum pw_status status, const struct pw_function_facts *facts, const struct pw_error *err)
{
        struct job *job = context;

        job->asked_us = 0;
        pw_compile_answer(&job->compile, status, facts, err);
        if (status == PW_OK)
                hand_over(job, work_go_on);
        else
                step(job);
}

static void ask(struct job *job)
{
        struct pw_compile *compile = &job->compile;
        struct pw_outgoing *frame = compile->ask;

        compile->ask = NULL;
        job->asked_us = pw_now_us();
        pw_describe_ask(job->daemon, &(struct pw_ask){ compile->ask_id, frame, &compile->query, described, job });
}

/* Functions with time limits are looked after while runs are in flight. */
static void note_limits(struct pw_daemon *daemon, uint64_t limit_us)
{
        if (limit_us && (!daemon->children.shortest_limit_us || limit_us < daemon->children.shortest_limit_us))
                daemon->children.shortest_limit_us = limit_us;
}

/* Until the client is told nobody but the job knows its number. */
static void install(struct job *job)
{
        struct pw_error err;
        enum pw_status status = pw_program_place(job->daemon, job->tenant, job->compile.program, &err);

        if (status == PW_OK)
                status = pw_scheduler_program_install(job->daemon->scheduler, job->compile.program, &err);
        if (status != PW_OK) {
                pw_program_unplace(job->daemon, job->compile.program);
                pw_compile_fail(&job->compile, status, &err);
                step(job);
                return;
        }
        job->installed = true;
        job->compile.program->modules = job->modules;
        job->modules = NULL;
        job->compile.program->client = strdup(job->client); /* without memory: nameless */
        note_limits(job->daemon, job->compile.shortest_limit_us);
        hand_over(job, work_place);
}

static void send_reply(struct job *job)
{
        struct pw_compile *compile = &job->compile;
        struct pw_dsession *session = job->session;

        if (!pw_table_put(&session->programs, compile->program->program, session)) {
                pw_compile_fail(compile, PW_NO_MEMORY, &(struct pw_error){ PW_NO_MEMORY, "pathwaysd is out of memory" });
                step(job);
                return;
        }
        job->installed = false; /* the session's now */
        compile->image = pw_boards_image_settle(job->daemon->boards, compile->program);
        compile->program = NULL;
        struct pw_outgoing *reply = compile->reply;
        compile->reply = NULL;
        free_job(job);
        pw_session_send(session, reply);
}

static void refuse(struct job *job)
{
        struct pw_dsession *session = job->session;
        struct pw_error err = job->compile.err;
        uint64_t id = job->compile.id;

        free_job(job);
        pw_session_reply_error(session, id, err.status, err.text);
}

/* Back from a thread, or from the describing executor. */
static void step(struct job *job)
{
        if (!job->session) {
                free_job(job);
                return;
        }
        switch (job->compile.step) {
        case PW_COMPILE_RESOLVE: resolve(job); break;
        case PW_COMPILE_ASK: ask(job); break;
        case PW_COMPILE_INSTALL: install(job); break;
        case PW_COMPILE_SEND: send_reply(job); break;
        default: refuse(job); break;
        }
}

static void done(struct pw_compile_work *work)
{
        struct job *job = (struct job *)work;

        if (work->work == work_go_on)
                pw_compiling_charge(job->daemon, job->tenant, job->compile.shapes_bytes);
        if (job->compile.bytes_kept)
                charge(job, job->compile.bytes_kept);
        step(job);
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

static void begin_next(struct pw_daemon *daemon, struct pw_compiling *compiling)
{
        struct job *job;

        if (!daemon->work.compiler || compiling->begun >= BEGUN_MAX || pw_list_empty(&compiling->waiting))
                return;
        job = pw_list_first(&compiling->waiting, struct job, work.link);
        pw_list_remove(&job->work.link);
        job->begun = true;
        compiling->begun++;
        hand_over(job, work_read);
}

static struct job *new_job(struct pw_dsession *session)
{
        struct job *job = calloc(1, sizeof *job);

        if (!job)
                return NULL;
        job->daemon = session->daemon;
        job->tenant = session->tenant;
        job->compiling = session->tenant->compiling;
        job->session = session;
        job->session_number = session->number;
        job->since_us = pw_now_us();
        memcpy(job->client, session->client, sizeof job->client);
        job->work = (struct pw_compile_work){ .lane = &job->compiling->lane, .done = done };
        pw_list_init(&job->work.link);
        pw_list_init(&job->link);
        pw_list_init(&job->of_session);
        return job;
}

static enum pw_status take(struct pw_dsession *session, uint64_t id, struct pw_frame *frame, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        enum pw_status status;
        struct job *job;
        uint8_t *buffer;
        uint64_t bytes;

        if (session->programs.count + session->job_count >= PROGRAMS_MAX)
                return pw_error_set(ret_err, PW_LIMIT,
                                    "the session has %u programs, as many as it may: free some (pw_program_free), or connect once "
                                    "more for others",
                                    session->programs.count + session->job_count);
        status = pw_kept_ask(daemon, session->tenant, PW_KEPT_COMPILING, frame->bytes, ret_err);
        if (status != PW_OK)
                return status;
        job = new_job(session);
        if (!job)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        status = pw_decoder_detach(&session->decoder, frame, &buffer, &bytes, ret_err);
        if (status != PW_OK) {
                free(job);
                return status;
        }
        pw_compile_init(&job->compile, buffer, frame, ++daemon->work.next_compilation);
        job->compile.id = id;
        job->compile.secret = &daemon->hash_secret;
        job->compile.shapes = &job->compiling->shapes;
        charge(job, bytes + sizeof *job);
        pw_list_append(&daemon->work.jobs, &job->link);
        pw_list_append(&session->jobs, &job->of_session);
        session->job_count++;
        pw_list_append(&job->compiling->waiting, &job->work.link);
        begin_next(daemon, job->compiling);
        pw_session_mind(session);
        return PW_OK;
}

void pw_program_take(struct pw_dsession *session, uint64_t id, const struct pw_frame *frame)
{
        struct pw_error err;
        struct pw_frame taken = *frame;
        enum pw_status status = take(session, id, &taken, &err);

        if (status != PW_OK)
                pw_session_reply_error(session, id, status, err.text);
}

void pw_programs_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                           void (*row)(void *, const struct pw_wait_row *), void *context)
{
        struct job *job;

        pw_list_each(&daemon->work.jobs, job, struct job, link)
                if (job->session && (!session || job->session == session))
                        row(context, &(struct pw_wait_row){ .kind = job->asked_us ? PW_WAIT_KIND_SHAPE : PW_WAIT_KIND_COMPILE,
                                                            .session = job->session,
                                                            .name = job->asked_us ? job->compile.query.function : NULL,
                                                            .since_us = job->asked_us ? job->asked_us : job->since_us,
                                                            .until_us = UINT64_MAX });
}

struct pw_dsession *pw_program_described(const struct pw_daemon *daemon, const char **ret_function)
{
        const struct job *job = pw_describe_now(daemon).context;

        if (!job)
                return NULL;
        *ret_function = job->compile.query.function;
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

/* --- ends --------------------------------------------------------------------------------------------------------------------- */

void pw_programs_session_end(struct pw_dsession *session)
{
        while (!pw_list_empty(&session->jobs)) {
                struct job *job = pw_list_first(&session->jobs, struct job, of_session);
                bool waits = !job->begun, asked = job->asked_us, looks = job->asker;

                leave_session(job);
                if (asked)
                        pw_describe_forget(session->daemon, job);
                if (waits)
                        pw_list_remove(&job->work.link);
                if (waits || asked || looks)
                        free_job(job);
        }
}

void pw_programs_done(struct pw_daemon *daemon)
{
        while (!pw_list_empty(&daemon->work.jobs)) {
                struct job *job = pw_list_first(&daemon->work.jobs, struct job, link);

                if (job->dropped)
                        drop_now(job);
                else
                        free_job(job);
        }
        pw_program_places_done(daemon);
}

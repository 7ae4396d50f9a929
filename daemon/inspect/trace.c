/* Traces: histories of devices and ends of runs, gathered for who asks. */
#include "daemon/inspect/trace.h"

#include "base/memory.h"
#include "daemon/child/child.h"

#include <inttypes.h>
#include <stdio.h>

#define BATCH 4096u             /* gangs of one answer */
#define GANGS_MAX (1u << 18)    /* that wait for the next question */
#define RUNS_MAX (1u << 16)
#define MOVES_MAX 1024u
#define WAIT_MAX_US 1000000u

/* A program as the trace came to know it. Its message refers to copies of its own. */
struct traced_program {
        struct traced_program *unsent; /* the next that was not told yet */
        Pathways__Wire__TraceProgram message;
        Pathways__Wire__TraceNode *nodes;
        char *texts;
        bool visible;
};

struct pw_trace {
        struct pw_list link;
        struct pw_dsession *session;
        uint64_t start_ns;
        uint64_t seen[PW_DEVICES_MAX]; /* of each history */
        struct pw_table programs;      /* serial of its image on the host -> struct traced_program */
        struct traced_program *unsent;
        uint32_t program_count;
        Pathways__Wire__TraceGang *gangs;
        uint32_t gang_first, gang_end, gang_capacity;
        Pathways__Wire__TraceRun *runs;
        uint32_t run_count, run_capacity;
        Pathways__Wire__TraceMove *moves;
        uint32_t move_count, move_capacity;
        uint64_t lost;
        uint64_t request, until_us;    /* the question that waits; until_us UINT64_MAX: none does */
        bool begun, last;
};

static struct pw_trace *trace_of(const struct pw_dsession *session)
{
        struct pw_trace *trace;

        pw_list_each(&session->daemon->traces, trace, struct pw_trace, link)
                if (trace->session == session)
                        return trace;
        return NULL;
}

static bool may_see(const struct pw_trace *trace, const char *tenant)
{
        return trace->session->operator_ || (tenant && !strcmp(tenant, trace->session->tenant->name));
}

/* --- programs ------------------------------------------------------------------------------------------------------------ */

static void free_program(struct traced_program *program)
{
        free(program->message.nodes);
        free(program->nodes);
        free(program->texts);
        free(program);
}

/* Of one shard of each value that the node writes; of a SEND, which writes none: reads. */
static uint64_t node_bytes(const struct pw_image *image, const struct pw_image_node *node)
{
        uint32_t count = node->output_count ? node->output_count : node->input_count;
        const uint32_t *values = PW_IMAGE_AT(image, uint32_t, node->output_count ? node->outputs : node->inputs);
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < count; i++)
                bytes += pw_image_value(image, values[i])->shard_bytes;
        return bytes;
}

/* The stage whose outputs in flight the node writes; "": none. */
static const char *node_stage(const struct pw_image *image, const struct pw_image_node *node)
{
        for (uint32_t i = 0; i < node->output_count; i++) {
                const struct pw_image_value *value = pw_image_value(image, PW_IMAGE_AT(image, uint32_t, node->outputs)[i]);
                uint32_t stage = value->place == PW_PLACE_BLOCK ? pw_image_block(image, value->index)->stage : 0;

                if (stage)
                        return pw_image_text(image, pw_image_stage(image, stage - 1)->name);
        }
        return "";
}

/* The image is copied whole, for its texts. */
static struct traced_program *new_program(const struct pw_image *image)
{
        static const char *const kinds[] = { "?", "call", "transfer", "load" };
        struct traced_program *program = calloc(1, sizeof *program);
        Pathways__Wire__TraceNode **pointers = calloc(image->node_count + 1, sizeof *pointers);

        if (!program || !pointers) {
                free(program);
                free(pointers);
                return NULL;
        }
        pathways__wire__trace_program__init(&program->message);
        program->message.nodes = pointers;
        program->nodes = calloc(image->node_count + 1, sizeof *program->nodes);
        program->texts = malloc(image->bytes);
        if (!program->nodes || !program->texts) {
                free_program(program);
                return NULL;
        }
        memcpy(program->texts, image, image->bytes);
        program->message.name = program->texts + image->name;
        for (uint32_t i = 0; i < image->node_count; i++) {
                const struct pw_image_node *node = pw_image_node(image, i);

                pathways__wire__trace_node__init(&program->nodes[i]);
                program->nodes[i].name = program->texts + node->name;
                program->nodes[i].kind = (char *)(uintptr_t)(node->kind < pw_array_count(kinds) ? kinds[node->kind] : kinds[0]);
                program->nodes[i].bytes = node_bytes(image, node);
                program->nodes[i].stage =
                        (char *)(uintptr_t)node_stage((const struct pw_image *)(const void *)program->texts, node);
                pointers[program->message.n_nodes++] = &program->nodes[i];
        }
        return program;
}

static struct traced_program *find_program(struct pw_trace *trace, const struct pw_child_order *order)
{
        struct traced_program *program = pw_table_get(&trace->programs, order->record->image_serial);
        const struct pw_program_row *row;

        if (program)
                return program;
        program = new_program(order->image);
        if (!program || !pw_table_put(&trace->programs, order->record->image_serial, program)) {
                if (program)
                        free_program(program);
                return NULL;
        }
        row = pw_scheduler_program(trace->session->daemon->scheduler, order->record->program);
        program->visible = may_see(trace, row ? row->tenant : NULL);
        program->message.program = ++trace->program_count;
        if (program->visible) {
                program->unsent = trace->unsent;
                trace->unsent = program;
        }
        return program;
}

/* --- gangs --------------------------------------------------------------------------------------------------------------- */

static Pathways__Wire__TraceGang *add_gang(struct pw_trace *trace)
{
        if (trace->gang_end == GANGS_MAX && trace->gang_first) {
                trace->gang_end -= trace->gang_first;
                memmove(trace->gangs, trace->gangs + trace->gang_first, trace->gang_end * sizeof *trace->gangs);
                trace->gang_first = 0;
        }
        if (trace->gang_end == GANGS_MAX ||
            !pw_grow((void **)&trace->gangs, &trace->gang_capacity, trace->gang_end + 1, sizeof *trace->gangs)) {
                trace->lost++;
                return NULL;
        }
        return &trace->gangs[trace->gang_end++];
}

/* Gangs of others are left out; one whose run record made place for another run goes to operators without a name. */
static void take_gang(struct pw_trace *trace, uint32_t device, const struct pw_history *past)
{
        struct pw_child_order order;
        struct traced_program *program = NULL;
        Pathways__Wire__TraceGang *gang;

        if (pw_child_order(trace->session->daemon, device, past->seq, &order) && order.record->run == past->run)
                program = find_program(trace, &order);
        if (program ? !program->visible : !trace->session->operator_)
                return;
        gang = add_gang(trace);
        if (!gang)
                return;
        pathways__wire__trace_gang__init(gang);
        gang->device = device;
        gang->program = program ? program->message.program : 0;
        gang->node = past->node;
        gang->run = past->run;
        gang->seq = past->seq;
        gang->start_ns = past->start_ns;
        gang->took_ns = past->end_ns - past->start_ns;
        gang->status = past->status;
}

static void take_device(struct pw_trace *trace, uint32_t device)
{
        struct pw_device_board *board = trace->session->daemon->children[device].board;
        uint64_t count = atomic_load(&board->history_count), seen = pw_min_u64(trace->seen[device], count);

        if (count - seen > PW_HISTORY) { /* overwritten, if the executor is to be believed */
                trace->lost += count - seen - PW_HISTORY;
                seen = count - PW_HISTORY;
        }
        for (; seen < count; seen++)
                take_gang(trace, device, &board->history[seen % PW_HISTORY]);
        trace->seen[device] = count;
}

/* --- runs ---------------------------------------------------------------------------------------------------------------- */

struct run_facts { uint64_t number, submitted_us, ended_us; const char *program, *client, *tenant; enum pw_status outcome; };

static void add_run(struct pw_trace *trace, const struct run_facts *facts)
{
        Pathways__Wire__TraceRun *run;

        if (!may_see(trace, facts->tenant))
                return;
        if (trace->run_count == RUNS_MAX ||
            !pw_grow((void **)&trace->runs, &trace->run_capacity, trace->run_count + 1, sizeof *run)) {
                trace->lost++;
                return;
        }
        run = &trace->runs[trace->run_count++];
        pathways__wire__trace_run__init(run);
        run->run = facts->number;
        run->program = strdup(facts->program ? facts->program : "");
        run->client = strdup(facts->client ? facts->client : "");
        run->submitted_ns = facts->submitted_us * 1000;
        run->ended_ns = facts->ended_us * 1000;
        run->status = facts->outcome;
}

static void add_live_run(void *context, const struct pw_run_row *row)
{
        add_run(context, &(struct run_facts){ row->number, row->submitted_us, 0, row->program, row->client, row->tenant, PW_OK });
}

void pw_traces_run_ended(struct pw_daemon *daemon, const struct pw_action *action, uint64_t now_us)
{
        const struct pw_run *run = action->run;
        struct pw_trace *trace;

        pw_list_each(&daemon->traces, trace, struct pw_trace, link)
                add_run(trace, &(struct run_facts){ run->number, run->submitted_us, now_us, run->row->name, run->client,
                                                    run->row->tenant, action->status });
}

/* --- moves --------------------------------------------------------------------------------------------------------------- */

static void add_move(struct pw_trace *trace, const struct pw_traced_move *from)
{
        Pathways__Wire__TraceMove *move;

        if (!may_see(trace, from->tenant))
                return;
        if (trace->move_count == MOVES_MAX ||
            !pw_grow((void **)&trace->moves, &trace->move_capacity, trace->move_count + 1, sizeof *move)) {
                trace->lost++;
                return;
        }
        move = &trace->moves[trace->move_count++];
        pathways__wire__trace_move__init(move);
        move->object = strdup(from->object);
        move->to = strdup(from->to);
        move->client = strdup(from->client);
        move->bytes = from->bytes;
        move->start_ns = from->start_us * 1000;
        move->end_ns = from->end_us * 1000;
}

void pw_traces_moved(struct pw_daemon *daemon, const struct pw_traced_move *move)
{
        struct pw_trace *trace;

        pw_list_each(&daemon->traces, trace, struct pw_trace, link)
                add_move(trace, move);
}

static void free_moves(struct pw_trace *trace)
{
        for (uint32_t i = 0; i < trace->move_count; i++) {
                free(trace->moves[i].object);
                free(trace->moves[i].to);
                free(trace->moves[i].client);
        }
        trace->move_count = 0;
}

/* --- answers ------------------------------------------------------------------------------------------------------------- */

static void free_runs(struct pw_trace *trace)
{
        for (uint32_t i = 0; i < trace->run_count; i++) {
                free(trace->runs[i].program);
                free(trace->runs[i].client);
        }
        trace->run_count = 0;
}

static void free_trace(struct pw_trace *trace)
{
        struct traced_program *program;

        for (uint32_t i = 0; (program = pw_table_next(&trace->programs, &i));)
                free_program(program);
        pw_table_done(&trace->programs);
        free_runs(trace);
        free_moves(trace);
        free(trace->runs);
        free(trace->moves);
        free(trace->gangs);
        pw_list_remove(&trace->link);
        free(trace);
}

/* The pointers that a message wants. */
struct parts {
        Pathways__Wire__TraceDevice devices[PW_DEVICES_MAX], *device_pointers[PW_DEVICES_MAX];
        char device_names[PW_DEVICES_MAX][24];
        Pathways__Wire__TraceGang *gangs[BATCH];
        Pathways__Wire__TraceRun *runs[RUNS_MAX];
        Pathways__Wire__TraceMove *moves[MOVES_MAX];
        Pathways__Wire__TraceProgram **programs;
};

static void put_devices(const struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        const struct pw_daemon *daemon = trace->session->daemon;

        message->devices = parts->device_pointers;
        for (uint32_t i = 0; i < daemon->device_count; i++) {
                pathways__wire__trace_device__init(&parts->devices[i]);
                snprintf(parts->device_names[i], sizeof parts->device_names[i], "h%u:%u", daemon->host, i);
                parts->devices[i].device = i;
                parts->devices[i].island = daemon->children[i].island;
                parts->devices[i].name = parts->device_names[i];
                parts->device_pointers[message->n_devices++] = &parts->devices[i];
        }
}

static bool put_programs(struct pw_trace *trace, struct parts *parts, Pathways__Wire__Trace *message)
{
        parts->programs = calloc(trace->program_count + 1, sizeof *parts->programs);
        message->programs = parts->programs;
        for (struct traced_program *program = trace->unsent; parts->programs && program; program = program->unsent)
                parts->programs[message->n_programs++] = &program->message;
        return parts->programs;
}

static void send_answer(struct pw_trace *trace, struct parts *parts)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Trace message = PATHWAYS__WIRE__TRACE__INIT;
        uint32_t count = (uint32_t)pw_min_u64(trace->gang_end - trace->gang_first, BATCH);

        if (!trace->begun)
                put_devices(trace, parts, &message);
        if (put_programs(trace, parts, &message))
                trace->unsent = NULL;
        for (uint32_t i = 0; i < count; i++)
                parts->gangs[i] = &trace->gangs[trace->gang_first + i];
        for (uint32_t i = 0; i < trace->run_count; i++)
                parts->runs[i] = &trace->runs[i];
        message.start_ns = trace->start_ns;
        message.gangs = parts->gangs;
        message.n_gangs = count;
        message.runs = parts->runs;
        message.n_runs = trace->run_count;
        for (uint32_t i = 0; i < trace->move_count; i++)
                parts->moves[i] = &trace->moves[i];
        message.moves = parts->moves;
        message.n_moves = trace->move_count;
        message.lost = trace->lost;
        message.end = trace->last && count == trace->gang_end - trace->gang_first;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_TRACE;
        reply.trace = &message;
        pw_session_reply(trace->session, trace->request, &reply, NULL, 0);
        free(parts->programs);
        trace->gang_first += count;
        trace->begun = true;
}

/* True: it was the last answer, the trace is gone. */
static bool answer(struct pw_trace *trace)
{
        struct parts *parts = malloc(sizeof *parts);
        bool end;

        trace->until_us = UINT64_MAX;
        if (!parts) {
                pw_session_reply_error(trace->session, trace->request, PW_NO_MEMORY, "pathwaysd is out of memory for the trace");
                free_trace(trace);
                return true;
        }
        send_answer(trace, parts);
        free(parts);
        free_runs(trace);
        free_moves(trace);
        end = trace->last && trace->gang_first == trace->gang_end;
        if (trace->gang_first == trace->gang_end)
                trace->gang_first = trace->gang_end = 0;
        if (end)
                free_trace(trace);
        return end;
}

static bool due(const struct pw_trace *trace, uint64_t now_us)
{
        return trace->until_us != UINT64_MAX && (trace->until_us <= now_us || trace->gang_end - trace->gang_first >= BATCH);
}

void pw_traces_collect(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_trace *trace;

        pw_list_each(&daemon->traces, trace, struct pw_trace, link) {
                for (uint32_t i = 0; i < daemon->device_count; i++)
                        take_device(trace, i);
                if (due(trace, now_us))
                        answer(trace);
        }
}

static struct pw_trace *begin(struct pw_dsession *session)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_trace *trace = calloc(1, sizeof *trace);

        if (!trace)
                return NULL;
        trace->session = session;
        trace->start_ns = pw_now_us() * 1000;
        trace->until_us = UINT64_MAX;
        for (uint32_t i = 0; i < daemon->device_count; i++)
                trace->seen[i] = atomic_load(&daemon->children[i].board->history_count);
        pw_list_append(&daemon->traces, &trace->link);
        return trace;
}

void pw_trace_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_trace *trace = trace_of(session);
        uint64_t now_us = pw_now_us();

        if (!trace)
                trace = begin(session);
        if (!trace || trace->until_us != UINT64_MAX) {
                pw_session_reply_error(session, id, trace ? PW_INVALID : PW_NO_MEMORY,
                                       trace ? "the trace is asked for already" : "pathwaysd is out of memory for a trace");
                return;
        }
        trace->request = id;
        trace->until_us = now_us + (request->wait_us > 0 ? pw_min_u64((uint64_t)request->wait_us, WAIT_MAX_US) : 0);
        if (request->last && !trace->last) {
                trace->last = true;
                for (uint32_t i = 0; i < daemon->device_count; i++)
                        take_device(trace, i);
                pw_scheduler_each_run(daemon->scheduler, add_live_run, trace);
        }
        if (trace->last || due(trace, now_us))
                answer(trace);
}

void pw_trace_session_end(struct pw_dsession *session)
{
        struct pw_trace *trace = trace_of(session);

        if (trace)
                free_trace(trace);
}

uint32_t pw_traces_count(const struct pw_daemon *daemon, const struct pw_tenant *tenant)
{
        const struct pw_list *node = daemon->traces.next;
        uint32_t count = 0;

        for (; node != &daemon->traces; node = node->next)
                count += !tenant || pw_list_item(node, const struct pw_trace, link)->session->tenant == tenant;
        return count;
}

uint64_t pw_traces_next_us(const struct pw_daemon *daemon)
{
        uint64_t next_us = UINT64_MAX;
        struct pw_trace *trace;

        pw_list_each(&daemon->traces, trace, struct pw_trace, link)
                next_us = pw_min_u64(next_us, trace->until_us);
        return next_us;
}

void pw_traces_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        if (pw_traces_next_us(daemon) <= now_us)
                pw_traces_collect(daemon, now_us);
}

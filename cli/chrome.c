/* A Chrome trace, event by event. Names are made into JSON once per program: there may be a million gangs in a second. */
#include "cli/chrome.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "cli/print/form.h"

#include <inttypes.h>

#define RUNS_PROCESS 1000u   /* islands are processes from 1 on */
#define HOST_PROCESSES 2000u /* behind those of the host before */

struct node { char *name, *stage; char kind[12]; uint64_t bytes; }; /* stage: NULL: none */
struct program { struct node *nodes; uint32_t node_count; };

/* A host of the cluster; the only one, where nothing is said of hosts. */
struct host {
        uint32_t number, place;   /* in the order in which they came */
        char prefix[16];          /* of what is named after it: "h2 ", "" */
        uint32_t islands[64];     /* per device */
        struct pw_table programs; /* by number */
        int64_t ahead_ns;         /* of its clock */
        uint64_t lost, bound_ns;
        bool begun;
};

struct pw_chrome {
        FILE *out;
        uint64_t start_ns;
        struct pw_table hosts;    /* number + 1 -> struct host */
        struct host *host;        /* whose parts are added; NULL: of the one that is none yet */
        uint64_t moves, bound_ns;
        struct pw_chrome_counts counts;
        bool any, begun;
};

struct pw_chrome *pw_chrome_new(FILE *out)
{
        struct pw_chrome *chrome = calloc(1, sizeof *chrome);

        if (!chrome)
                return NULL;
        chrome->out = out;
        fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
        return chrome;
}

static void free_program(struct program *program)
{
        for (uint32_t i = 0; i < program->node_count; i++) {
                free(program->nodes[i].name);
                free(program->nodes[i].stage);
        }
        free(program->nodes);
        free(program);
}

void pw_chrome_free(struct pw_chrome *chrome)
{
        struct program *program;
        struct host *host;

        if (!chrome)
                return;
        for (uint32_t h = 0; (host = pw_table_next(&chrome->hosts, &h));) {
                for (uint32_t i = 0; (program = pw_table_next(&host->programs, &i));)
                        free_program(program);
                pw_table_done(&host->programs);
                free(host);
        }
        pw_table_done(&chrome->hosts);
        free(chrome);
}

enum pw_status pw_chrome_host(struct pw_chrome *chrome, uint32_t number, bool several, struct pw_error *ret_err)
{
        struct host *host = pw_table_get(&chrome->hosts, (uint64_t)number + 1);

        if (!host) {
                host = calloc(1, sizeof *host);
                if (!host || !pw_table_put(&chrome->hosts, (uint64_t)number + 1, host)) {
                        free(host);
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a host");
                }
                host->number = number;
                host->place = chrome->hosts.count - 1;
                if (several)
                        snprintf(host->prefix, sizeof host->prefix, "h%" PRIu32 " ", number);
        }
        chrome->host = host;
        return PW_OK;
}

static void begin_event(struct pw_chrome *chrome)
{
        fputs(chrome->any ? ",\n" : "\n", chrome->out);
        chrome->any = true;
}

static void put_label(struct pw_chrome *chrome, const char *kind, uint32_t pid, uint32_t tid, const char *name)
{
        begin_event(chrome);
        fprintf(chrome->out,
                "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":0,\"args\":{\"name\":\"%s\"}}", kind,
                pid, tid, name);
}

/* --- rows ---------------------------------------------------------------------------------------------------------------- */

static uint32_t process_of(const struct pw_chrome *chrome, uint32_t island)
{
        return chrome->host->place * HOST_PROCESSES + island % (RUNS_PROCESS - 1) + 1;
}

static uint32_t runs_process(const struct pw_chrome *chrome) { return chrome->host->place * HOST_PROCESSES + RUNS_PROCESS; }

static uint32_t row_of(uint32_t device, bool transfers) { return 2 * device + 1 + transfers; }

static void put_device(struct pw_chrome *chrome, const Pathways__Wire__TraceDevice *device)
{
        char text[64];
        bool known = false;

        if (device->device >= pw_array_count(chrome->host->islands))
                return;
        for (uint32_t i = 0; i < device->device; i++)
                known = known || chrome->host->islands[i] == device->island;
        chrome->host->islands[device->device] = device->island;
        if (!known) {
                snprintf(text, sizeof text, "%sisland %" PRIu32, chrome->host->prefix, device->island);
                put_label(chrome, "process_name", process_of(chrome, device->island), 0, text);
        }
        put_label(chrome, "thread_name", process_of(chrome, device->island), row_of(device->device, false), device->name);
        snprintf(text, sizeof text, "%.40s transfers", device->name);
        put_label(chrome, "thread_name", process_of(chrome, device->island), row_of(device->device, true), text);
}

static bool add_node(struct program *program, const char *name, const Pathways__Wire__TraceNode *from)
{
        struct node *node = &program->nodes[program->node_count];
        size_t bytes = strlen(name) + strlen(from->name) + 2;
        pw_auto_free char *text = malloc(bytes);

        if (!text)
                return false;
        snprintf(text, bytes, "%s/%s", name, from->name);
        node->name = pw_json_text(text);
        if (!node->name)
                return false;
        node->stage = *from->stage ? pw_json_text(from->stage) : NULL;
        node->bytes = from->bytes;
        snprintf(node->kind, sizeof node->kind, "%s", from->kind);
        program->node_count++;
        return true;
}

static bool add_program(struct pw_chrome *chrome, const Pathways__Wire__TraceProgram *from)
{
        struct program *program;
        bool ok;

        if (pw_table_get(&chrome->host->programs, from->program))
                return true;
        program = calloc(1, sizeof *program);
        if (!program)
                return false;
        program->nodes = calloc(from->n_nodes + 1, sizeof *program->nodes);
        ok = program->nodes;
        for (size_t i = 0; ok && i < from->n_nodes; i++)
                ok = add_node(program, from->name, from->nodes[i]);
        ok = ok && pw_table_put(&chrome->host->programs, from->program, program);
        if (!ok)
                free_program(program);
        return ok;
}

/* --- bars ---------------------------------------------------------------------------------------------------------------- */

static void put_time(struct pw_chrome *chrome, const char *key, uint64_t ns)
{
        fprintf(chrome->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* Arithmetic is modulo 2^64: what hosts say of their clocks may be anything. */
static uint64_t since_start(const struct pw_chrome *chrome, uint64_t ns)
{
        int64_t since_ns = (int64_t)(ns - (uint64_t)chrome->host->ahead_ns - chrome->start_ns);

        return since_ns > 0 ? (uint64_t)since_ns : 0;
}

static void put_gang(struct pw_chrome *chrome, const Pathways__Wire__TraceGang *gang)
{
        static const struct node unknown = { .name = (char *)"\"?\"", .kind = "call" };
        const struct program *program = pw_table_get(&chrome->host->programs, gang->program);
        const struct node *node = program && gang->node < program->node_count ? &program->nodes[gang->node] : &unknown;
        uint64_t start_ns = since_start(chrome, gang->start_ns), end_ns = since_start(chrome, gang->start_ns + gang->took_ns);

        if (gang->device >= pw_array_count(chrome->host->islands))
                return;
        begin_event(chrome);
        fprintf(chrome->out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, node->kind,
                node->name, process_of(chrome, chrome->host->islands[gang->device]),
                row_of(gang->device, strcmp(node->kind, "call") != 0));
        put_time(chrome, "ts", start_ns);
        put_time(chrome, "dur", end_ns - start_ns);
        fprintf(chrome->out,
                ",\"args\":{\"run\":%" PRIu64 ",\"seq\":%" PRIu64 ",\"node\":%" PRIu32 ",\"bytes\":%" PRIu64
                "%s%s,\"status\":\"%s\"}}",
                gang->run, gang->seq, gang->node, node->bytes, node->stage ? ",\"stage\":" : "", node->stage ? node->stage : "",
                pw_status_name((enum pw_status)gang->status));
        chrome->counts.gangs++;
        chrome->counts.took_ns = pw_max_u64(chrome->counts.took_ns, end_ns);
}

/* An async event of a run: "b", "n" or "e". */
static void put_run_edge(struct pw_chrome *chrome, const char *phase, uint64_t run, const char *name, uint64_t ns)
{
        begin_event(chrome);
        fprintf(chrome->out, "{\"ph\":\"%s\",\"cat\":\"run\",\"id\":\"%s%" PRIu64 "\",\"name\":%s,\"pid\":%u,\"tid\":0", phase,
                chrome->host->prefix, run, name, runs_process(chrome));
        put_time(chrome, "ts", since_start(chrome, ns));
}

static bool put_run(struct pw_chrome *chrome, const Pathways__Wire__TraceRun *run)
{
        pw_auto_free char *name = pw_json_text(run->program), *client = pw_json_text(run->client);

        if (!name || !client)
                return false;
        put_run_edge(chrome, "b", run->run, name, run->submitted_ns);
        fprintf(chrome->out, ",\"args\":{\"run\":%" PRIu64 ",\"client\":%s,\"status\":\"%s\"}}", run->run, client,
                run->ended_ns ? pw_status_name((enum pw_status)run->status) : "PW_NOT_READY");
        chrome->counts.runs++;
        if (run->ended_ns) {
                put_run_edge(chrome, "e", run->run, name, run->ended_ns);
                fputs(",\"args\":{}}", chrome->out);
        }
        return true;
}

/* In the span of its run. */
static bool put_state(struct pw_chrome *chrome, const Pathways__Wire__TraceState *state)
{
        pw_auto_free char *name = pw_json_text(state->state), *cause = pw_json_text(state->cause);

        if (!name || !cause)
                return false;
        put_run_edge(chrome, "n", state->run, name, state->at_ns);
        fprintf(chrome->out, ",\"args\":{\"cause\":%s}}", cause);
        return true;
}

static bool put_move(struct pw_chrome *chrome, const Pathways__Wire__TraceMove *move)
{
        pw_auto_free char *object = pw_json_text(move->object), *to = pw_json_text(move->to), *client = pw_json_text(move->client);
        pw_auto_free char *from = pw_json_text(move->from), *kind = pw_json_text(*move->kind ? move->kind : "move");
        pw_auto_free char *why = pw_json_text(move->why);
        uint64_t number = ++chrome->moves;

        if (!object || !to || !client || !from || !kind || !why)
                return false;
        for (uint32_t end = 0; end < 2; end++) {
                begin_event(chrome);
                fprintf(chrome->out,
                        "{\"ph\":\"%s\",\"cat\":\"move\",\"id\":\"move %" PRIu64 "\",\"name\":%s,\"pid\":%u,\"tid\":0",
                        end ? "e" : "b", number, kind, runs_process(chrome));
                put_time(chrome, "ts", since_start(chrome, end ? move->end_ns : move->start_ns));
                fprintf(chrome->out, ",\"args\":{\"object\":%s,\"to\":%s,\"bytes\":%" PRIu64, object, to, move->bytes);
                fprintf(chrome->out, ",\"%s\":%s", *move->kind ? "from" : "client", *move->kind ? from : client);
                if (move->status)
                        fprintf(chrome->out, ",\"status\":\"%s\",\"why\":%s", pw_status_name((enum pw_status)move->status), why);
                fputs("}}", chrome->out);
        }
        return true;
}

static void begin_host(struct pw_chrome *chrome, const Pathways__Wire__Trace *part)
{
        char text[32];

        if (!chrome->begun)
                chrome->start_ns = part->start_ns - (uint64_t)part->ahead_ns;
        if (!chrome->host->begun) {
                snprintf(text, sizeof text, "%sruns", chrome->host->prefix);
                put_label(chrome, "process_name", runs_process(chrome), 0, text);
        }
        chrome->begun = chrome->host->begun = true;
        chrome->counts.lost += part->lost - chrome->host->lost;
        chrome->host->lost = part->lost;
        chrome->host->ahead_ns = part->ahead_ns;
        chrome->bound_ns = pw_max_u64(chrome->bound_ns, part->bound_ns);
}

enum pw_status pw_chrome_add(struct pw_chrome *chrome, const Pathways__Wire__Trace *part, struct pw_error *ret_err)
{
        bool ok = true;

        if (!chrome->host && pw_chrome_host(chrome, 0, false, ret_err) != PW_OK)
                return PW_NO_MEMORY;
        begin_host(chrome, part);
        for (size_t i = 0; i < part->n_devices; i++)
                put_device(chrome, part->devices[i]);
        for (size_t i = 0; ok && i < part->n_programs; i++)
                ok = add_program(chrome, part->programs[i]);
        for (size_t i = 0; ok && i < part->n_gangs; i++)
                put_gang(chrome, part->gangs[i]);
        for (size_t i = 0; ok && i < part->n_runs; i++)
                ok = put_run(chrome, part->runs[i]);
        for (size_t i = 0; ok && i < part->n_states; i++)
                ok = put_state(chrome, part->states[i]);
        for (size_t i = 0; ok && i < part->n_moves; i++)
                ok = put_move(chrome, part->moves[i]);
        return ok ? PW_OK : pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the names of a trace");
}

void pw_chrome_end(struct pw_chrome *chrome)
{
        fprintf(chrome->out,
                "\n],\"otherData\":{\"gangs\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"lost\":%" PRIu64
                ",\"clock_bound_us\":%" PRIu64 "}}\n",
                chrome->counts.gangs, chrome->counts.runs, chrome->counts.lost, (chrome->bound_ns + 999) / 1000);
}

struct pw_chrome_counts pw_chrome_counts(const struct pw_chrome *chrome) { return chrome->counts; }

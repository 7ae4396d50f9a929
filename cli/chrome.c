/* A Chrome trace, event by event. Names are made into JSON once per program: there may be a million gangs in a second. */
#include "cli/chrome.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "cli/print/form.h"

#include <inttypes.h>

#define RUNS_PROCESS 1000u /* islands are processes from 1 on */

struct node { char *name, *stage; char kind[12]; uint64_t bytes; }; /* stage: NULL: none */
struct program { struct node *nodes; uint32_t node_count; };

struct pw_chrome {
        FILE *out;
        uint64_t start_ns;
        uint32_t islands[64];     /* per device */
        struct pw_table programs; /* by number */
        uint64_t moves;
        struct pw_chrome_counts counts;
        bool any;
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

        if (!chrome)
                return;
        for (uint32_t i = 0; (program = pw_table_next(&chrome->programs, &i));)
                free_program(program);
        pw_table_done(&chrome->programs);
        free(chrome);
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

static uint32_t process_of(uint32_t island) { return island + 1; }
static uint32_t row_of(uint32_t device, bool transfers) { return 2 * device + 1 + transfers; }

static void put_device(struct pw_chrome *chrome, const Pathways__Wire__TraceDevice *device)
{
        char text[64];
        bool known = false;

        if (device->device >= pw_array_count(chrome->islands))
                return;
        for (uint32_t i = 0; i < device->device; i++)
                known = known || chrome->islands[i] == device->island;
        chrome->islands[device->device] = device->island;
        if (!known) {
                snprintf(text, sizeof text, "island %" PRIu32, device->island);
                put_label(chrome, "process_name", process_of(device->island), 0, text);
        }
        put_label(chrome, "thread_name", process_of(device->island), row_of(device->device, false), device->name);
        snprintf(text, sizeof text, "%.40s transfers", device->name);
        put_label(chrome, "thread_name", process_of(device->island), row_of(device->device, true), text);
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

        if (pw_table_get(&chrome->programs, from->program))
                return true;
        program = calloc(1, sizeof *program);
        if (!program)
                return false;
        program->nodes = calloc(from->n_nodes + 1, sizeof *program->nodes);
        ok = program->nodes;
        for (size_t i = 0; ok && i < from->n_nodes; i++)
                ok = add_node(program, from->name, from->nodes[i]);
        ok = ok && pw_table_put(&chrome->programs, from->program, program);
        if (!ok)
                free_program(program);
        return ok;
}

/* --- bars ---------------------------------------------------------------------------------------------------------------- */

static void put_time(struct pw_chrome *chrome, const char *key, uint64_t ns)
{
        fprintf(chrome->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static uint64_t since_start(const struct pw_chrome *chrome, uint64_t ns)
{
        return ns > chrome->start_ns ? ns - chrome->start_ns : 0;
}

static void put_gang(struct pw_chrome *chrome, const Pathways__Wire__TraceGang *gang)
{
        static const struct node unknown = { .name = (char *)"\"?\"", .kind = "call" };
        const struct program *program = pw_table_get(&chrome->programs, gang->program);
        const struct node *node = program && gang->node < program->node_count ? &program->nodes[gang->node] : &unknown;
        uint64_t start_ns = since_start(chrome, gang->start_ns), end_ns = since_start(chrome, gang->start_ns + gang->took_ns);

        if (gang->device >= pw_array_count(chrome->islands))
                return;
        begin_event(chrome);
        fprintf(chrome->out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, node->kind,
                node->name, process_of(chrome->islands[gang->device]), row_of(gang->device, strcmp(node->kind, "call") != 0));
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
        fprintf(chrome->out, "{\"ph\":\"%s\",\"cat\":\"run\",\"id\":\"%" PRIu64 "\",\"name\":%s,\"pid\":%u,\"tid\":0", phase, run,
                name, RUNS_PROCESS);
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
        uint64_t number = ++chrome->moves;

        if (!object || !to || !client || !from || !kind)
                return false;
        for (uint32_t end = 0; end < 2; end++) {
                begin_event(chrome);
                fprintf(chrome->out,
                        "{\"ph\":\"%s\",\"cat\":\"move\",\"id\":\"move %" PRIu64 "\",\"name\":%s,\"pid\":%u,\"tid\":0",
                        end ? "e" : "b", number, kind, RUNS_PROCESS);
                put_time(chrome, "ts", since_start(chrome, end ? move->end_ns : move->start_ns));
                fprintf(chrome->out, ",\"args\":{\"object\":%s,\"to\":%s,\"bytes\":%" PRIu64, object, to, move->bytes);
                if (*move->kind)
                        fprintf(chrome->out, ",\"from\":%s}}", from);
                else
                        fprintf(chrome->out, ",\"client\":%s}}", client);
        }
        return true;
}

enum pw_status pw_chrome_add(struct pw_chrome *chrome, const Pathways__Wire__Trace *part, struct pw_error *ret_err)
{
        bool ok = true;

        if (!chrome->start_ns)
                put_label(chrome, "process_name", RUNS_PROCESS, 0, "runs");
        chrome->start_ns = part->start_ns;
        chrome->counts.lost = part->lost;
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
        fprintf(chrome->out, "\n],\"otherData\":{\"gangs\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"lost\":%" PRIu64 "}}\n",
                chrome->counts.gangs, chrome->counts.runs, chrome->counts.lost);
}

struct pw_chrome_counts pw_chrome_counts(const struct pw_chrome *chrome) { return chrome->counts; }

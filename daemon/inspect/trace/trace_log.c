/* Logs of what happens, for traces. */
#include "daemon/inspect/trace/trace_log.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/transition.h"
#include "daemon/child/child.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/inspect/trace/trace_program.h"
#include "daemon/session/kept.h"

#include <stdio.h>

#define TRACES_MAX 8u           /* of a tenant */
#define GANGS_MAX (1u << 18)    /* that wait to be told of */
#define RUNS_MAX (1u << 16)
#define STATES_MAX (1u << 18)
#define MOVES_MAX 1024u
#define PROGRAMS_MAX 4096u
#define PROGRAM_BYTES_MAX (16 * PW_MIB)
#define NUMBERS_MAX 65536u      /* of programs that are known, told of or not */
#define LOG_BYTES (256 * PW_KIB) /* what one begins with */

/* --- queues --------------------------------------------------------------------------------------------------------------- */

static bool grow(struct pw_trace_log *log, struct pw_trace_queue *queue)
{
        struct pw_trace_queue larger = *queue;
        uint64_t more;

        larger.capacity = queue->capacity ? queue->capacity * 2 : 16;
        more = (uint64_t)(larger.capacity - queue->capacity) * queue->item_bytes;
        if (larger.capacity > queue->most ||
            (log->bytes + more > LOG_BYTES && pw_kept_ask(log->daemon, log->tenant, PW_KEPT_TRACES, more, NULL) != PW_OK) ||
            !(larger.items = malloc((size_t)larger.capacity * larger.item_bytes))) {
                queue->most = queue->capacity; /* it is not asked for again */
                return false;
        }
        for (uint64_t i = queue->first; i < queue->end; i++)
                memcpy(pw_trace_queue_at(&larger, i), pw_trace_queue_at(queue, i), queue->item_bytes);
        free(queue->items);
        *queue = larger;
        log->bytes += more;
        return true;
}

static void drop_first(struct pw_trace_log *log, struct pw_trace_queue *queue)
{
        void *item = pw_trace_queue_at(queue, queue->first++);

        if (queue == &log->runs) {
                log->bytes -= pw_kept_heap_bytes(((struct pw_traced_run *)item)->program);
                free(((struct pw_traced_run *)item)->program);
        } else if (queue == &log->programs) {
                struct pw_traced_program *program = *(struct pw_traced_program **)item;

                log->bytes -= program->bytes;
                log->program_bytes -= program->bytes;
                pw_traced_program_free(program);
        }
}

static void drop_told(struct pw_trace_log *log, struct pw_trace_queue *queue, uint64_t until)
{
        while (queue->first < queue->end && queue->first < until)
                drop_first(log, queue);
}

/* The place of a new last item; NULL: there is no memory for one. */
static void *push(struct pw_trace_log *log, struct pw_trace_queue *queue)
{
        if (queue->end - queue->first == queue->capacity && !grow(log, queue)) {
                if (!queue->capacity)
                        return NULL;
                drop_first(log, queue);
        }
        return pw_trace_queue_at(queue, queue->end++);
}

/* --- logs ----------------------------------------------------------------------------------------------------------------- */

static void settle(struct pw_trace_log *log)
{
        if (log->bytes != log->counted_bytes)
                pw_kept_count(log->daemon, log->tenant, PW_KEPT_TRACES, (int64_t)(log->bytes - log->counted_bytes));
        log->counted_bytes = log->bytes;
}

static struct pw_trace_log *find(const struct pw_trace_reader *reader)
{
        struct pw_trace_log *log;

        pw_list_each(&reader->daemon->inspection.trace_logs, log, struct pw_trace_log, link)
                if (reader->operator_ ? log->operators : !log->operators && log->tenant == reader->tenant)
                        return log;
        return NULL;
}

static enum pw_status begin(const struct pw_trace_reader *reader, struct pw_trace_log **ret_log, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = reader->daemon;
        enum pw_status status = pw_kept_ask(daemon, reader->tenant, PW_KEPT_TRACES, LOG_BYTES, ret_err);
        struct pw_trace_log *log;

        if (status != PW_OK)
                return status;
        log = calloc(1, sizeof *log);
        if (!log)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for a trace");
        *log = (struct pw_trace_log){ .daemon = daemon, .tenant = reader->tenant, .operators = reader->operator_,
                                      .bytes = sizeof *log,
                                      .gangs = { .item_bytes = sizeof(struct pw_traced_gang), .most = GANGS_MAX },
                                      .runs = { .item_bytes = sizeof(struct pw_traced_run), .most = RUNS_MAX },
                                      .states = { .item_bytes = sizeof(struct pw_traced_state), .most = STATES_MAX },
                                      .moves = { .item_bytes = sizeof(struct pw_trace_move), .most = MOVES_MAX },
                                      .programs = { .item_bytes = sizeof(struct pw_traced_program *), .most = PROGRAMS_MAX } };
        pw_trace_logs_gangs(daemon); /* what was done before is not for it */
        for (uint32_t i = 0; i < daemon->device_count; i++)
                daemon->inspection.traced[i] = atomic_load(&daemon->children.all[i].board->history_count);
        pw_list_append(&daemon->inspection.trace_logs, &log->link);
        settle(log);
        *ret_log = log;
        return PW_OK;
}

enum pw_status pw_trace_log_join(const struct pw_trace_reader *reader, struct pw_trace_log **ret_log, struct pw_error *ret_err)
{
        struct pw_trace_log *log = find(reader);
        enum pw_status status = log ? PW_OK : begin(reader, &log, ret_err);

        if (status != PW_OK)
                return status;
        if (log->traces == TRACES_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "%s %s has %u traces under way, which is as many as it may have: end one",
                                    log->operators ? "the operators, and of them" : "tenant", log->tenant->name, TRACES_MAX);
        log->traces++;
        pw_trace_log_forget(log);
        *ret_log = log;
        return PW_OK;
}

void pw_trace_log_leave(struct pw_trace_log *log)
{
        if (--log->traces)
                return;
        drop_told(log, &log->runs, UINT64_MAX);
        drop_told(log, &log->programs, UINT64_MAX);
        log->bytes = 0;
        settle(log);
        pw_table_done(&log->numbers);
        pw_table_done(&log->untold);
        free(log->gangs.items);
        free(log->runs.items);
        free(log->states.items);
        free(log->moves.items);
        free(log->programs.items);
        pw_list_remove(&log->link);
        free(log);
}

static bool put(struct pw_trace_log *log, struct pw_table *table, uint64_t serial, void *value)
{
        uint32_t cells = table->capacity;
        bool done = pw_table_put(table, serial, value);

        log->bytes += (uint64_t)(table->capacity - cells) * sizeof *table->cells;
        return done;
}

static void forget(struct pw_trace_log *log, struct pw_table *table)
{
        log->bytes -= (uint64_t)table->capacity * sizeof *table->cells;
        pw_table_done(table);
        *table = (struct pw_table){ 0 };
}

void pw_trace_log_forget(struct pw_trace_log *log)
{
        forget(log, &log->numbers);
        forget(log, &log->untold);
}

void pw_trace_log_told(struct pw_trace_log *log, const struct pw_trace_place *place)
{
        drop_told(log, &log->gangs, place->gang);
        drop_told(log, &log->runs, place->run);
        drop_told(log, &log->states, place->state);
        drop_told(log, &log->moves, place->move);
        if (log->programs.first < pw_min_u64(place->program, log->programs.end))
                forget(log, &log->untold);
        drop_told(log, &log->programs, place->program);
        settle(log);
}

/* --- gangs ---------------------------------------------------------------------------------------------------------------- */

/* False: there is no room for it. */
static bool add_program(struct pw_trace_log *log, uint64_t serial, const struct pw_image *image)
{
        struct pw_traced_program *program = NULL, **place;

        if (log->programs.end - log->programs.first < PROGRAMS_MAX)
                program = pw_traced_program_new(image, PROGRAM_BYTES_MAX - log->program_bytes);
        if (!program || pw_kept_ask(log->daemon, log->tenant, PW_KEPT_TRACES, program->bytes, NULL) != PW_OK ||
            !put(log, &log->numbers, serial, (void *)(uintptr_t)(log->program_count + 1)) || !(place = push(log, &log->programs))) {
                pw_table_remove(&log->numbers, serial);
                pw_traced_program_free(program);
                return false;
        }
        log->bytes += program->bytes;
        log->program_bytes += program->bytes;
        program->message.program = ++log->program_count;
        *place = program;
        return true;
}

/* The number under which the log tells of the program; 0: it does not. */
static uint32_t tell_program(struct pw_trace_log *log, const struct pw_child_order *order)
{
        uint64_t serial = order->record->image_serial;
        uint32_t number = (uint32_t)(uintptr_t)pw_table_get(&log->numbers, serial);

        if (number || pw_table_get(&log->untold, serial))
                return number;
        if (log->numbers.count == NUMBERS_MAX || log->untold.count == NUMBERS_MAX)
                pw_trace_log_forget(log);
        if (add_program(log, serial, order->image))
                return log->program_count;
        (void)!put(log, &log->untold, serial, log); /* without memory it is looked at again */
        return 0;
}

static void add_gang(struct pw_trace_log *log, uint16_t device, const struct pw_history *past, const struct pw_child_order *order)
{
        uint32_t program = order ? tell_program(log, order) : 0;
        struct pw_traced_gang *gang = push(log, &log->gangs);

        log->lost += !gang;
        if (gang)
                *gang = (struct pw_traced_gang){ .run = past->run, .seq = past->seq, .start_ns = past->start_ns,
                                                 .took_ns = past->end_ns - past->start_ns, .program = program, .node = past->node,
                                                 .status = past->status, .device = device };
}

static bool has(const struct pw_trace_log *log, const char *tenant)
{
        return log->operators || (tenant && !strcmp(tenant, log->tenant->name));
}

/* What gangs that follow each other have in common: nothing of a program is copied for who may not see it. */
struct reading { struct pw_daemon *daemon; uint32_t program; const char *tenant; };

/* Gangs of others are left out; one whose run record made place for another run goes to operators without a name. */
static void take_gang(struct reading *reading, uint32_t device, const struct pw_history *past)
{
        struct pw_child_order order;
        struct pw_trace_log *log;
        bool found = pw_child_order(reading->daemon, device, past->seq, &order) && order.record->run == past->run;

        if (found && (!reading->program || order.record->program != reading->program)) {
                const struct pw_program_row *row = pw_scheduler_program(reading->daemon->scheduler, order.record->program);

                reading->program = order.record->program;
                reading->tenant = row ? row->tenant : NULL;
        }
        pw_list_each(&reading->daemon->inspection.trace_logs, log, struct pw_trace_log, link)
                if (found ? has(log, reading->tenant) : log->operators)
                        add_gang(log, (uint16_t)device, past, found ? &order : NULL);
}

static void take_device(struct reading *reading, uint32_t device)
{
        const struct pw_device_board *board = reading->daemon->children.all[device].board;
        uint64_t count = atomic_load(&board->history_count);
        struct pw_trace_log *log;
        uint64_t seen = pw_min_u64(reading->daemon->inspection.traced[device], count), over = 0;

        if (count - seen > PW_HISTORY) { /* overwritten, if the executor is to be believed */
                over = count - seen - PW_HISTORY;
                seen = count - PW_HISTORY;
        }
        reading->daemon->inspection.traced[device] = count;
        if (over)
                pw_list_each(&reading->daemon->inspection.trace_logs, log, struct pw_trace_log, link)
                        log->lost += over;
        for (; seen < count; seen++)
                take_gang(reading, device, &board->history[seen % PW_HISTORY]);
}

void pw_trace_logs_gangs(struct pw_daemon *daemon)
{
        struct reading reading = { .daemon = daemon };
        struct pw_trace_log *log;

        if (pw_list_empty(&daemon->inspection.trace_logs))
                return;
        for (uint32_t i = 0; i < daemon->device_count; i++)
                take_device(&reading, i);
        pw_list_each(&daemon->inspection.trace_logs, log, struct pw_trace_log, link)
                settle(log);
}

/* --- runs, moves ---------------------------------------------------------------------------------------------------------- */

bool pw_traced_run_copy(struct pw_traced_run *ret_run, const struct pw_traced_run *from)
{
        const char *program = from->program ? from->program : "", *client = from->client ? from->client : "";
        size_t bytes = strlen(program) + 1;
        char *texts = malloc(bytes + strlen(client) + 1);

        if (!texts)
                return false;
        *ret_run = *from;
        ret_run->program = strcpy(texts, program);
        ret_run->client = strcpy(texts + bytes, client);
        return true;
}

void pw_trace_logs_run(struct pw_daemon *daemon, const struct pw_traced_run *run, const char *tenant)
{
        struct pw_traced_run copy, *place;
        struct pw_trace_log *log;

        pw_list_each(&daemon->inspection.trace_logs, log, struct pw_trace_log, link) {
                if (!has(log, tenant))
                        continue;
                if (!pw_traced_run_copy(&copy, run)) {
                        log->lost++;
                } else if ((place = push(log, &log->runs))) {
                        *place = copy;
                        log->bytes += pw_kept_heap_bytes(copy.program);
                } else {
                        free(copy.program);
                        log->lost++;
                }
        }
}

void pw_trace_logs_state(struct pw_daemon *daemon, const struct pw_transition *transition, uint64_t now_us)
{
        const struct pw_run *run = pw_scheduler_run(daemon->scheduler, transition->id[0]);
        struct pw_trace_log *log;

        pw_list_each(&daemon->inspection.trace_logs, log, struct pw_trace_log, link) {
                struct pw_traced_state *place;

                if (!has(log, run ? run->row->tenant : NULL))
                        continue;
                place = push(log, &log->states);
                log->lost += !place;
                if (place)
                        *place = (struct pw_traced_state){ transition->id[0], now_us, transition->kind->states[transition->to],
                                                           transition->kind->events[transition->cause] };
        }
}

void pw_trace_logs_move(struct pw_daemon *daemon, const struct pw_moved *move)
{
        struct pw_trace_log *log;

        pw_list_each(&daemon->inspection.trace_logs, log, struct pw_trace_log, link) {
                struct pw_trace_move *place = has(log, move->tenant) ? push(log, &log->moves) : NULL;

                if (!place)
                        continue;
                *place = (struct pw_trace_move){ .bytes = move->bytes, .start_us = move->start_us, .end_us = move->end_us,
                                                 .status = move->status };
                snprintf(place->object, sizeof place->object, "%s", move->object);
                snprintf(place->to, sizeof place->to, "%s", move->to);
                snprintf(place->from, sizeof place->from, "%s", move->from ? move->from : "");
                place->kind = move->kind ? move->kind : "";
                snprintf(place->client, sizeof place->client, "%s", move->client);
                snprintf(place->why, sizeof place->why, "%s", move->why ? move->why : "");
        }
}

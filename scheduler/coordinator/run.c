/* The life of a run: made, submitted, waiting for its inputs, ended. */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/size.h"

#include <stdio.h>

/* One block: the run, then its arrays; `at` walks over them. */
static void *carve(char **at, uint64_t count, size_t bytes)
{
        void *array = *at;

        *at += pw_round_up(count * bytes, 16);
        return array;
}

static uint64_t stand_count(const struct pw_program *program)
{
        uint64_t count = 0;

        for (uint32_t c = 0; c < program->plan.column_count; c++)
                count += (uint64_t)__builtin_popcountll(program->plan.columns[c].members);
        return count;
}

static size_t live_bytes(const struct pw_program *program)
{
        uint64_t inputs = program->row.input_count, columns = program->plan.column_count;

        return pw_round_up(sizeof(struct pw_live), 16) + pw_round_up(inputs * sizeof(struct pw_input_place), 16) +
               pw_round_up(program->row.result_count * sizeof(struct pw_result *), 16) +
               pw_round_up(inputs * sizeof(struct pw_live_input), 16) + pw_round_up(columns * sizeof(struct pw_part), 16) +
               pw_round_up(columns * columns * sizeof(uint32_t), 16) +
               pw_round_up(stand_count(program) * sizeof(struct pw_stand), 16) +
               pw_round_up(program->place_count * sizeof(uint64_t), 16) +
               pw_round_up(program->chain_count * sizeof(struct pw_hold), 16);
}

/* Records of runs that a program keeps to be used again. Those that were prepared stay beyond that: their places in boards go with
 * the program, and are found by them alone. */
#define IDLE_MAX 4096u

static int64_t record_bytes(const struct pw_program *program)
{
        return (int64_t)(live_bytes(program) + PW_HEAP_BYTES + PW_RUN_APART_BYTES + (uint64_t)program->row.input_count *
                         PW_INPUT_APART_BYTES);
}

/* False: out of memory. Who gives one back finds room for it. */
static bool take_slot(struct pw_scheduler *scheduler, uint32_t *ret_slot)
{
        if (scheduler->free_slot_count) {
                *ret_slot = scheduler->free_slots[--scheduler->free_slot_count];
                return true;
        }
        if (!pw_grow((void **)&scheduler->free_slots, &scheduler->slot_capacity, scheduler->slot_end + 1,
                     sizeof *scheduler->free_slots))
                return false;
        *ret_slot = scheduler->slot_end++;
        return true;
}

static void init_part(struct pw_live *live, uint32_t column, uint32_t *noticed, struct pw_stand *stands)
{
        const struct pw_program *program = live->program;
        struct pw_part *part = &live->parts[column];

        *part = (struct pw_part){ .live = live, .plan = &program->plan.columns[column], .column = column,
                                  .island = program->scheduler->islands[program->plan.columns[column].island], .noticed = noticed,
                                  .stands = stands };
        pw_stands_init(part);
}

static struct pw_live *live_new(struct pw_program *program)
{
        struct pw_live *live = calloc(1, live_bytes(program));
        char *at = (char *)live + pw_round_up(sizeof *live, 16);
        uint32_t columns = program->plan.column_count, *noticed;
        struct pw_stand *stands;

        if (!live || !take_slot(program->scheduler, &live->slot)) {
                free(live);
                return NULL;
        }
        pw_quota_records(program->scheduler, program->quota, record_bytes(program));
        live->program = program;
        live->run.own = live;
        live->run.row = &program->row;
        live->run.program = program->row.program;
        live->run.input_count = program->row.input_count;
        live->run.result_count = program->row.result_count;
        live->run.inputs = carve(&at, live->run.input_count, sizeof *live->run.inputs);
        live->run.results = carve(&at, live->run.result_count, sizeof *live->run.results);
        live->inputs = carve(&at, live->run.input_count, sizeof *live->inputs);
        live->parts = carve(&at, columns, sizeof *live->parts);
        noticed = carve(&at, (uint64_t)columns * columns, sizeof *noticed);
        stands = carve(&at, stand_count(program), sizeof *stands);
        live->block_offsets = carve(&at, program->place_count, sizeof *live->block_offsets);
        live->holds = carve(&at, program->chain_count, sizeof *live->holds);
        for (uint32_t c = 0; c < program->chain_count; c++)
                live->holds[c].live = live;
        for (uint32_t c = 0; c < columns; c++) {
                init_part(live, c, noticed + (size_t)c * columns, stands);
                stands += __builtin_popcountll(program->plan.columns[c].members);
        }
        for (uint32_t i = 0; i < live->run.input_count; i++)
                live->inputs[i].live = live;
        return live;
}

static void reset(struct pw_live *live)
{
        struct pw_run *run = &live->run;
        uint32_t columns = live->program->plan.column_count;

        memset(run->inputs, 0, run->input_count * sizeof *run->inputs);
        run->client = NULL;
        run->sequential = run->cancelled = run->deadline_kept = false;
        run->submitted_us = run->deadline_us = 0;
        live->missing = 0;
        live->submitted = live->placed = live->stopped = live->aside = live->letting_go = live->unheld = live->refused =
                live->read_early = live->stopping = false;
        live->cancelled_by[0] = 0;
        live->short_bytes = 0;
        live->parts_left = live->ahead_count = live->behind_count = 0;
        pw_list_init(&live->freed_link);
        pw_list_init(&live->queued);
        pw_queue_init(&live->own);
        pw_list_init(&live->patient);
        pw_list_init(&live->unread);
        pw_list_init(&live->starters);
        pw_list_init(&live->start);
        for (uint32_t c = 0; c < live->program->chain_count; c++) {
                pw_list_init(&live->holds[c].link);
                live->holds[c].ahead = live->holds[c].behind = NULL;
        }
        for (uint32_t i = 0; i < run->input_count; i++) {
                pw_list_init(&live->inputs[i].link);
                live->inputs[i].missing = live->inputs[i].in_place = live->inputs[i].takes = false;
                live->inputs[i].status = PW_OK;
        }
        for (uint32_t c = 0; c < columns; c++) {
                struct pw_part *part = &live->parts[c];
                pw_list_init(&part->link);
                pw_list_init(&part->behind);
                part->next = 0;
                part->state = PW_PART_RESERVED;
                part->wait = PW_WAIT_NOTHING;
                part->open = part->plan->members;
                part->devices_left = (uint32_t)__builtin_popcountll(part->open);
                live->parts_left += part->devices_left > 0;
                memset(part->noticed, 0, columns * sizeof *part->noticed);
        }
}

struct pw_run *pw_scheduler_run_new(struct pw_scheduler *scheduler, uint32_t number)
{
        struct pw_program *program = pw_table_get(&scheduler->programs, number);
        struct pw_live *live;

        if (!program || program->row.freed)
                return NULL;
        live = pw_list_empty(&program->idle_runs) ? live_new(program) : pw_list_first(&program->idle_runs, struct pw_live, link);
        if (!live)
                return NULL;
        if (live->run.number) {
                pw_list_remove(&live->link);
                program->idle_run_count--;
        }
        pw_list_init(&live->link);
        live->run.number = ++scheduler->run_count;
        live->run.state = PW_RUN_WAITING;
        reset(live);
        for (uint32_t i = 0; i < live->run.result_count; i++) {
                struct pw_result_live *result = pw_result_new(live, i);
                live->run.results[i] = result ? &result->result : NULL;
        }
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (!live->run.results[i])
                        goto fail;
        if (pw_table_put(&scheduler->runs, live->run.number, live)) {
                program->row.runs++;
                program->row.runs_in_flight++;
                program->quota->runs_in_flight++;
                return &live->run;
        }
fail:
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (live->run.results[i])
                        pw_result_recycle(pw_result_live(live->run.results[i]));
        pw_live_recycle(live); /* the host may have places for it */
        return NULL;
}

struct pw_live *pw_live_find(struct pw_scheduler *scheduler, uint64_t number) { return pw_table_get(&scheduler->runs, number); }

static void forget_causes(struct pw_live *live)
{
        while (live->causes) {
                struct pw_cause *cause = live->causes;
                live->causes = cause->next;
                free(cause);
        }
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                free(live->inputs[i].text);
                live->inputs[i].text = NULL;
        }
}

void pw_live_recycle(struct pw_live *live)
{
        forget_causes(live);
        pw_list_remove(&live->link);
        if (live->program->idle_run_count >= IDLE_MAX && !live->prepared) {
                pw_live_free(live);
                return;
        }
        live->program->idle_run_count++;
        pw_list_append(&live->program->idle_runs, &live->link);
}

void pw_live_free(struct pw_live *live)
{
        forget_causes(live);
        pw_quota_records(live->program->scheduler, pw_live_quota(live), -record_bytes(live->program));
        live->program->scheduler->free_slots[live->program->scheduler->free_slot_count++] = live->slot;
        free(live);
}

/* --- from submission to the end ------------------------------------------------------------------------------------------- */

void pw_scheduler_submit(struct pw_scheduler *scheduler, struct pw_run *run, uint64_t now_us)
{
        struct pw_live *live = pw_live_of(run);
        char text[400], need_text[24], have_text[24];
        uint64_t need;

        scheduler->now_us = run->submitted_us = now_us;
        live->submitted = true;
        run->deadline_kept = run->deadline_us != 0;
        if (!run->deadline_us)
                run->deadline_us = now_us + scheduler->admit_us;
        for (uint32_t i = 0; i < run->input_count; i++)
                pw_input_look(live, i);
        if (run->cancelled) {
                pw_cancelled_sentence(live, text, sizeof text);
                pw_live_fail(live, PW_CANCELLED, text);
                return;
        }
        need = pw_place_least(live);
        if (need > pw_live_quota(live)->bytes) {
                pw_size_format_two(need, pw_live_quota(live)->bytes, need_text, have_text);
                snprintf(text, sizeof text,
                         "run %lu of %s needs %s of its devices together; the quota of tenant %s is %s: raise --quota",
                         (unsigned long)run->number, run->row->name, need_text, run->row->tenant, have_text);
                pw_live_fail(live, PW_TOO_LARGE, text);
                return;
        }
        pw_deadline_note(live);
        if (live->missing) {
                pw_list_append(&scheduler->waiting, &live->link);
                return;
        }
        pw_admission_arrive(live);
        if (scheduler->queue_count == 1)
                pw_admission_look(scheduler);
}

void pw_live_fail(struct pw_live *live, enum pw_status status, const char *text)
{
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (live->run.results[i]->status == PW_NOT_READY)
                        pw_result_decide(pw_result_live(live->run.results[i]), status, text);
        pw_live_maybe_end(live);
}

static void release_inputs(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;

        for (uint32_t i = 0; i < live->run.input_count; i++) {
                struct pw_input_place *place = &live->run.inputs[i];
                pw_list_remove(&live->inputs[i].link);
                if (place->source == PW_INPUT_RESULT) {
                        place->result->users--;
                        if (place->result->run)
                                pw_live_reader_left(pw_live_of(place->result->run));
                        pw_result_maybe_drop(pw_result_live(place->result));
                }
                if (place->object) {
                        struct pw_action *action = pw_action_add(scheduler, PW_ACT_RELEASE);
                        action->run = &live->run;
                        action->object = place->object;
                }
        }
}

/* Appends to `freed` whom it lets end. */
static void end(struct pw_live *live, struct pw_list *freed)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_run *run = &live->run;
        struct pw_action *action;
        enum pw_status status;

        pw_list_remove(&live->link);
        pw_admission_leave(live);
        pw_list_remove(&live->unread);
        pw_list_remove(&live->start);
        pw_deadline_forget(live);
        scheduler->queue_count -= run->state == PW_RUN_QUEUED;
        scheduler->admitted_count -= run->state == PW_RUN_ADMITTED;
        run->row->runs_admitted -= run->state == PW_RUN_ADMITTED;
        live->program->quota->runs_admitted -= run->state == PW_RUN_ADMITTED;
        scheduler->aside_count -= live->aside;
        live->aside = false;
        run->state = PW_RUN_ENDED;
        status = pw_ended_note(live);
        release_inputs(live);
        pw_chain_leave(live, freed);
        for (uint32_t i = 0; i < run->result_count; i++) {
                run->results[i]->run = NULL;
                pw_parts_wake(&pw_result_live(run->results[i])->readers);
                pw_result_maybe_drop(pw_result_live(run->results[i]));
        }
        pw_table_remove(&scheduler->runs, run->number);
        action = pw_action_add(scheduler, PW_ACT_RUN_ENDED);
        action->run = run;
        action->status = status;
        pw_list_append(&scheduler->actions.ended_runs, &live->link);
        live->program->row.runs_in_flight--;
        live->program->quota->runs_in_flight--;
        pw_live_wake_behind(live);
        pw_program_maybe_end(live->program);
        scheduler->look = true;
}

/* A run that it reads and whose records may yet be refused: an input from there would never come. NULL: none. */
static struct pw_live *unsettled_maker(const struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                const struct pw_input_place *place = &live->run.inputs[i];
                if (place->source == PW_INPUT_RESULT && place->result->run && pw_live_of(place->result->run)->unprepared)
                        return pw_live_of(place->result->run);
        }
        return NULL;
}

/* Which never comes. */
static void tell_input(struct pw_live *live, uint32_t input)
{
        struct pw_message *message = pw_action_message(live->program->scheduler, PW_MSG_INPUT);

        message->run = pw_run_ref(live);
        message->node = input;
        message->status = live->inputs[input].status;
}

/* To a run in one island the message would go to where we are: it is left out. */
static void send_starts(struct pw_live *live)
{
        uint32_t columns = live->program->plan.column_count;

        for (uint32_t i = 0; i < live->run.input_count; i++)
                if (pw_input_never_comes(live, i))
                        tell_input(live, i);
        for (uint32_t c = 0; c < columns; c++) {
                if (!live->parts[c].devices_left)
                        continue;
                if (columns == 1)
                        pw_island_enter(live->parts[c].island, &live->parts[c]);
                else
                        pw_action_core(&live->parts[c], PW_CORE_START);
        }
}

static void start(struct pw_live *live)
{
        struct pw_live *maker, *reader;

        if (live->refused)
                pw_live_drop_parts(live);
        else if (!live->stopped && (maker = unsettled_maker(live)))
                pw_list_append(&maker->starters, &live->start);
        else if (!live->stopped)
                send_starts(live);
        pw_list_each(&live->starters, reader, struct pw_live, start) {
                pw_list_remove(&reader->start);
                start(reader);
        }
}

/* The records of a run are in every board before the first of its gangs is ordered anywhere: an order in one island writes
 * sequence numbers that the others wait for. */
void pw_part_prepared(struct pw_part *part, enum pw_status status, const char *text)
{
        struct pw_live *live = part->live;

        part->state = PW_PART_PREPARED;
        live->unprepared--;
        if (status != PW_OK) {
                live->refused = true;
                pw_live_fail(live, status, text);
        }
        if (!live->unprepared)
                start(live);
        pw_live_maybe_end(live);
}

/* A run ends after those whose blocks it took over, so that nobody needs to look beyond the run ahead. */
static bool may_end(const struct pw_live *live)
{
        if (live->run.state == PW_RUN_ENDED || live->unprepared || live->ahead_count)
                return false;
        return live->run.state != PW_RUN_ADMITTED || !live->parts_left;
}

void pw_live_maybe_end(struct pw_live *live)
{
        struct pw_list freed;

        pw_list_init(&freed);
        if (may_end(live))
                end(live, &freed);
        while (!pw_list_empty(&freed)) {
                live = pw_list_first(&freed, struct pw_live, freed_link);
                pw_list_remove(&live->freed_link);
                if (may_end(live))
                        end(live, &freed);
        }
}

struct pw_run *pw_scheduler_run(struct pw_scheduler *scheduler, uint64_t number)
{
        struct pw_live *live = pw_live_find(scheduler, number);

        return live ? &live->run : NULL;
}

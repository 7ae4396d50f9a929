/* The life of a run: made, submitted, waiting for its inputs, ended. */
#include "scheduler/step.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/size.h"
#include "scheduler/coordinator/awaited.h"

#include <stdio.h>

const uint8_t pw_run_rules[PW_RUN_STATES][PW_RUN_EVENTS] = {
        [PW_RUN_WAITING] = { [PW_RUN_ARRIVE] = PW_RUN_QUEUED, [PW_RUN_FAIL] = PW_RUN_ENDED },
        [PW_RUN_QUEUED] = { [PW_RUN_RESERVE] = PW_RUN_ADMITTED, [PW_RUN_DONE] = PW_RUN_ENDED, [PW_RUN_FAIL] = PW_RUN_ENDED },
        [PW_RUN_ADMITTED] = { [PW_RUN_DONE] = PW_RUN_ENDED },
};

/* One block: the run, then its arrays; `at` walks over them. */
static void *carve(char **at, uint64_t count, size_t bytes)
{
        void *array = *at;

        *at += pw_round_up(count * bytes, 16);
        return array;
}

/* One host tells of each result once. */
static uint64_t told_words(const struct pw_sched_program *program)
{
        return program->host_count > 1 ? PW_BITS_WORDS((uint64_t)program->host_count * program->row.result_count) : 0;
}

/* Beside the one in the record. */
static uint32_t more_hosts(const struct pw_sched_program *program) { return program->host_count > 1 ? program->host_count : 0; }

static size_t live_bytes(const struct pw_sched_program *program)
{
        uint64_t inputs = program->row.input_count;

        return pw_round_up(sizeof(struct pw_live), 16) + pw_round_up(inputs * sizeof(struct pw_input_place), 16) +
               pw_round_up(program->row.result_count * sizeof(struct pw_result *), 16) +
               pw_round_up(inputs * sizeof(struct pw_live_input), 16) +
               pw_round_up(more_hosts(program) * sizeof(struct pw_live_host), 16) +
               pw_round_up(told_words(program) * sizeof(uint64_t), 16);
}

#define IDLE_MAX 4096u /* records of runs that a program keeps to be used again */

static int64_t record_bytes(const struct pw_sched_program *program)
{
        return (int64_t)(live_bytes(program) + PW_HEAP_BYTES + PW_RUN_APART_BYTES +
                         (uint64_t)program->row.input_count * PW_INPUT_APART_BYTES);
}

static struct pw_live *live_new(struct pw_sched_program *program)
{
        struct pw_live *live = calloc(1, live_bytes(program));
        char *at = (char *)live + pw_round_up(sizeof *live, 16);

        if (!live)
                return NULL;
        live->slot = pw_handles_add(&program->scheduler->run_slots, live);
        if (!live->slot) {
                free(live);
                return NULL;
        }
        pw_quota_records(program->scheduler, program->quota, record_bytes(program));
        live->program = program;
        live->run.own = live;
        live->run.row = &program->row;
        live->run.program = program->row.program;
        live->host_count = (uint16_t)program->host_count; /* each has one device at least */
        live->run.input_count = program->row.input_count;
        live->run.result_count = program->row.result_count;
        live->run.inputs = carve(&at, live->run.input_count, sizeof *live->run.inputs);
        live->run.results = carve(&at, live->run.result_count, sizeof *live->run.results);
        live->inputs = carve(&at, live->run.input_count, sizeof *live->inputs);
        live->hosts = more_hosts(program) ? carve(&at, program->host_count, sizeof *live->hosts) : &live->one;
        live->told = carve(&at, told_words(program), sizeof *live->told);
        pw_list_init(&live->patient);
        pw_list_init(&live->unread);
        pw_list_init(&live->starters);
        pw_list_init(&live->start);
        pw_list_init(&live->gathering);
        pw_list_init(&live->behind);
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                pw_list_init(&live->inputs[i].link);
                live->inputs[i].live = live;
        }
        return live;
}

static void reset_hosts(struct pw_live *live)
{
        memset(live->hosts_in, 0, sizeof live->hosts_in);
        live->hosts_in[PW_LIVE_HOST_IDLE] = live->host_count;
        for (uint32_t host = 0; host < live->host_count; host++)
                live->hosts[host] = (struct pw_live_host){ .state = PW_LIVE_HOST_IDLE };
        if (live->host_count == 1)
                return;
        for (uint32_t host = 0; host < live->host_count; host++) {
                live->hosts[host].live = live;
                pw_list_init(&live->hosts[host].losing);
        }
        live->at_once = live->short_now = live->is_gathering = false;
        memset(live->told, 0, told_words(live->program) * sizeof *live->told);
}

/* Its lists are empty: whoever put it into one has taken it out. */
static void reset(struct pw_live *live)
{
        struct pw_run *run = &live->run;

        run->client = NULL;
        run->sequential = run->cancelled = run->deadline_kept = run->deadline_cut = run->deadline_over = false;
        run->submitted_us = run->deadline_us = 0;
        live->missing = live->expired = 0;
        live->nodes = live->nodes_ordered = 0;
        live->submitted = live->stopped = live->unheld = live->refused = live->stopping = false;
        reset_hosts(live);
        for (uint32_t i = 0; i < run->input_count; i++) {
                memset(&run->inputs[i], 0, offsetof(struct pw_input_place, host));
                live->inputs[i].missing = live->inputs[i].waiting = false;
                live->inputs[i].status = PW_OK;
        }
        live->id = (struct pw_run_id){ live->program->scheduler->host, live->program->scheduler->epoch, run->number };
}

struct pw_run *pw_scheduler_run_new(struct pw_scheduler *scheduler, uint32_t number)
{
        struct pw_sched_program *program = pw_table_get(&scheduler->programs, number);
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
        if (pw_numbers_put(&scheduler->runs, live->run.number, live)) {
                program->row.runs++;
                program->row.runs_in_flight++;
                program->quota->runs_in_flight++;
                return &live->run;
        }
fail:
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (live->run.results[i])
                        pw_result_recycle(pw_result_live(live->run.results[i]));
        pw_live_recycle(live);
        return NULL;
}

struct pw_live *pw_live_find(struct pw_scheduler *scheduler, uint64_t number) { return pw_numbers_get(&scheduler->runs, number); }

static void forget_causes(struct pw_live *live)
{
        while (live->causes) {
                struct pw_cause *cause = live->causes;
                live->causes = cause->next;
                free(cause);
        }
        for (uint32_t i = 0; i < live->run.input_count; i++)
                if (live->inputs[i].text) {
                        free(live->inputs[i].text);
                        live->inputs[i].text = NULL;
                }
        if (live->refusal) {
                free(live->refusal);
                live->refusal = NULL;
        }
}

void pw_live_recycle(struct pw_live *live)
{
        forget_causes(live);
        pw_list_remove(&live->link);
        if (live->program->idle_run_count >= IDLE_MAX) {
                pw_live_free(live);
                return;
        }
        live->program->idle_run_count++;
        pw_list_prepend(&live->program->idle_runs, &live->link);
}

void pw_live_free(struct pw_live *live)
{
        forget_causes(live);
        pw_quota_records(live->program->scheduler, pw_live_quota(live), -record_bytes(live->program));
        pw_handles_remove(&live->program->scheduler->run_slots, live->slot);
        free(live);
}

/* --- from submission to the end ------------------------------------------------------------------------------------------- */

void pw_live_submit(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_run *run = &live->run;
        char text[400];

        run->submitted_us = scheduler->now_us;
        live->submitted = true;
        run->deadline_kept = run->deadline_us != 0;
        if (!run->deadline_us)
                run->deadline_us = scheduler->now_us + scheduler->admit_us;
        for (uint32_t i = 0; i < run->input_count; i++)
                pw_input_check(live, i);
        if (run->cancelled) {
                pw_cancelled_sentence(live, text, sizeof text);
                pw_live_fail(live, PW_CANCELLED, text);
                return;
        }
        if (live->program->lost_host) {
                pw_live_fail_by_program(live);
                return;
        }
        if (run->sequential && live->host_count > 1) { /* each would go on to its next step without the others */
                snprintf(text, sizeof text,
                         "run %lu of %s: its program has devices of %u hosts, which do not go step by step together",
                         (unsigned long)run->number, run->row->name, live->host_count);
                pw_live_fail(live, PW_UNSUPPORTED, text);
                return;
        }
        pw_deadline_note(live);
        if (!live->missing) {
                pw_live_arrive(live);
                return;
        }
        pw_list_append(&scheduler->waiting, &live->link);
        /* One that never fits fails at once, whatever is still to come for it. */
        pw_live_expect(live);
}

void pw_live_fail(struct pw_live *live, enum pw_status status, const char *text)
{
        for (uint32_t i = 0; i < live->run.result_count; i++)
                if (live->run.results[i]->status == PW_NOT_READY)
                        pw_result_decide(pw_result_live(live->run.results[i]), status, text);
        pw_live_over(live);
}

void pw_live_tell_all(const struct pw_live *live, struct pw_core_message *message, const struct pw_core_body *body)
{
        message->run = live->id;
        message->slot = live->slot;
        for (uint32_t host = 0; host < live->host_count; host++) {
                if (live->hosts[host].state == PW_LIVE_HOST_IDLE || live->hosts[host].state == PW_LIVE_HOST_DONE)
                        continue;
                message->host = live->program->hosts[host];
                message->serial = live->hosts[host].serial;
                pw_core_tell(live->program->scheduler, message, body);
        }
}

void pw_live_tell(const struct pw_live *live, enum pw_core_kind kind, uint32_t about)
{
        pw_live_tell_all(live, &(struct pw_core_message){ .kind = kind, .about = about }, NULL);
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

void pw_live_end(struct pw_live *live, enum pw_run_event how)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_run *run = &live->run;
        bool admitted = run->state == PW_RUN_ADMITTED;
        struct pw_action *action;
        enum pw_status status;

        pw_list_remove(&live->link);
        pw_list_remove(&live->unread);
        pw_list_remove(&live->start);
        pw_live_end_gathering(live);
        pw_awaited_forget(live);
        pw_deadline_forget(live);
        pw_live_step(live, how);
        pw_live_starters_go_on(live);
        status = pw_ended_note(live, (uint32_t)live->nodes, (uint32_t)live->nodes_ordered);
        if (!admitted)
                pw_inputs_settle(live);
        release_inputs(live);
        for (uint32_t i = 0; i < run->result_count; i++) {
                run->results[i]->run = NULL;
                pw_result_maybe_drop(pw_result_live(run->results[i]));
        }
        pw_numbers_remove(&scheduler->runs, run->number);
        action = pw_action_add(scheduler, PW_ACT_RUN_ENDED);
        action->run = run;
        action->status = status;
        pw_list_append(&scheduler->actions.ended_runs, &live->link);
        live->program->row.runs_in_flight--;
        live->program->quota->runs_in_flight--;
        pw_program_maybe_end(live->program);
}

/* Hosts that said they are done, and never that these are written. */
static void decide_untold(struct pw_live *live)
{
        char text[200];

        for (uint32_t i = 0; i < live->run.result_count; i++) {
                if (live->run.results[i]->status != PW_NOT_READY)
                        continue;
                snprintf(text, sizeof text, "run %lu of %s is over on its hosts, and they have not told of result %u",
                         (unsigned long)live->run.number, live->run.row->name, i);
                pw_result_decide(pw_result_live(live->run.results[i]), PW_PROTOCOL, text);
        }
}

enum pw_status pw_live_done(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                            const struct pw_core_body *body, struct pw_error *ret_err)
{
        (void)body, (void)ret_err;
        if (live->hosts[host].state == PW_LIVE_HOST_DONE)
                return PW_EXISTS;
        pw_live_host_step(live, host, PW_LIVE_HOST_FINISH);
        live->nodes += message->gangs;
        live->nodes_ordered += message->ordered;
        if (live->hosts_in[PW_LIVE_HOST_DONE] == live->host_count) {
                if (!live->program->scheduler->alone)
                        decide_untold(live);
                pw_live_end(live, PW_RUN_DONE);
        }
        return PW_OK;
}

static uint32_t gang_count(const struct pw_sched_program *program)
{
        uint32_t count = 0;

        for (uint32_t c = 0; c < program->plan.column_count; c++)
                count += program->plan.columns[c].gang_count;
        return count;
}

static void end_unadmitted(struct pw_live *live)
{
        pw_live_give_back(live);
        live->nodes = gang_count(live->program);
        pw_live_end(live, PW_RUN_FAIL);
}

/* On one host it may have its rooms by now, and goes as one that was admitted. */
void pw_live_over(struct pw_live *live)
{
        if (live->run.state == PW_RUN_ADMITTED || live->run.state == PW_RUN_ENDED)
                return;
        if (!pw_live_asked(live) || live->host_count > 1) {
                end_unadmitted(live);
        } else if (!live->stopped) {
                live->stopped = true;
                pw_deadline_forget(live);
                pw_live_tell(live, PW_CORE_CANCEL, true);
        }
}

struct pw_run *pw_scheduler_run(struct pw_scheduler *scheduler, uint64_t number)
{
        struct pw_live *live = pw_live_find(scheduler, number);

        return live ? &live->run : NULL;
}

/* Reservation: what a coordinator asks a host for, and the record that the host keeps of the run. */
#include "scheduler/step.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"

/* --- records -------------------------------------------------------------------------------------------------------------- */

/* One block: the run, then its arrays; `at` walks over them. */
static void *carve(char **at, uint64_t count, size_t bytes)
{
        void *array = *at;

        *at += pw_round_up(count * bytes, 16);
        return array;
}

static uint64_t stand_count(const struct pw_sched_program *program)
{
        uint64_t count = 0;

        for (uint32_t c = 0; c < program->plan.column_count; c++)
                count += (uint64_t)__builtin_popcountll(program->plan.columns[c].members);
        return count;
}

static size_t run_bytes(const struct pw_sched_program *program)
{
        uint64_t columns = program->plan.column_count;

        return pw_round_up(sizeof(struct pw_host_run), 16) +
               pw_round_up(program->row.result_count * sizeof(struct pw_host_result *), 16) +
               pw_round_up(program->row.input_count * sizeof(struct pw_host_input), 16) +
               pw_round_up(columns * sizeof(struct pw_fragment), 16) + pw_round_up(columns * columns * sizeof(uint32_t), 16) +
               pw_round_up(stand_count(program) * sizeof(struct pw_stand), 16) +
               pw_round_up(program->here_count * sizeof(uint64_t), 16) +
               pw_round_up(program->chain_count * sizeof(struct pw_hold), 16);
}

static int64_t kept_bytes(const struct pw_sched_program *program) { return (int64_t)(run_bytes(program) + PW_HEAP_BYTES); }

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

static void init_fragment(struct pw_host_run *run, uint32_t column, uint32_t *noticed, struct pw_stand *stands)
{
        const struct pw_sched_program *program = run->program;
        struct pw_fragment *fragment = &run->fragments[column];

        *fragment = (struct pw_fragment){ .run = run, .plan = &program->plan.columns[column], .column = column,
                                          .island = program->scheduler->islands[program->plan.columns[column].island],
                                          .noticed = noticed, .stands = stands,
                                          .device_count = (uint32_t)__builtin_popcountll(program->plan.columns[column].members) };
        pw_list_init(&fragment->link);
        pw_list_init(&fragment->behind);
        pw_stands_init(fragment);
}

/* NULL: out of memory. */
static struct pw_host_run *run_new(struct pw_sched_program *program)
{
        struct pw_host_run *run = calloc(1, run_bytes(program));
        char *at = (char *)run + pw_round_up(sizeof *run, 16);
        uint32_t columns = program->plan.column_count, *noticed;
        struct pw_stand *stands;

        if (!run || !take_slot(program->scheduler, &run->slot)) {
                free(run);
                return NULL;
        }
        pw_quota_records(program->scheduler, program->quota, kept_bytes(program));
        run->program = program;
        run->state = PW_HOST_RUN_IDLE;
        run->results = carve(&at, program->row.result_count, sizeof *run->results);
        run->inputs = carve(&at, program->row.input_count, sizeof *run->inputs);
        run->fragments = carve(&at, columns, sizeof *run->fragments);
        noticed = carve(&at, (uint64_t)columns * columns, sizeof *noticed);
        stands = carve(&at, stand_count(program), sizeof *stands);
        run->block_offsets = carve(&at, program->here_count, sizeof *run->block_offsets);
        run->holds = carve(&at, program->chain_count, sizeof *run->holds);
        pw_list_init(&run->freed_link);
        pw_list_init(&run->queued);
        pw_queue_init(&run->own);
        for (uint32_t c = 0; c < program->chain_count; c++) {
                pw_list_init(&run->holds[c].link);
                run->holds[c].run = run;
        }
        for (uint32_t c = 0; c < columns; c++) {
                init_fragment(run, c, noticed + (size_t)c * columns, stands);
                stands += __builtin_popcountll(program->plan.columns[c].members);
        }
        return run;
}

void pw_host_run_free(struct pw_host_run *run)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        pw_quota_records(scheduler, run->program->quota, -kept_bytes(run->program));
        scheduler->free_slots[scheduler->free_slot_count++] = run->slot;
        free(run);
}

/* Records of runs that a program keeps to be used again. Those that were prepared stay beyond that: their places in boards go with
 * the program, and are found by them alone. */
#define IDLE_MAX 4096u

void pw_host_run_recycle(struct pw_host_run *run)
{
        pw_list_remove(&run->link);
        if (run->program->idle_host_run_count >= IDLE_MAX && !run->prepared) {
                pw_host_run_free(run);
                return;
        }
        run->program->idle_host_run_count++;
        pw_list_prepend(&run->program->idle_host_runs, &run->link);
}

static void reset_fragment(struct pw_fragment *fragment, uint32_t columns)
{
        fragment->next = 0;
        fragment->state = PW_FRAGMENT_RESERVED;
        fragment->wait = PW_WAIT_NOTHING;
        fragment->open = fragment->plan->members;
        fragment->devices_left = fragment->device_count;
        if (columns > 1)
                memset(fragment->noticed, 0, columns * sizeof *fragment->noticed);
}

/* Its lists are empty: whoever put it into one has taken it out. */
static void reset(struct pw_host_run *run)
{
        uint32_t columns = run->program->plan.column_count;

        run->placed = run->recorded = run->unwritten = run->started = run->cancelled = run->stopped = false;
        run->deferred = run->deferred_told = run->letting_go = run->read_early = false;
        run->short_bytes = 0;
        run->expired = 0;
        run->fragments_left = run->ahead_count = run->behind_count = 0;
        for (uint32_t c = 0; c < columns; c++) {
                reset_fragment(&run->fragments[c], columns);
                run->fragments_left += run->fragments[c].devices_left > 0;
        }
}

/* --- RESERVE -------------------------------------------------------------------------------------------------------------- */

static struct pw_host_run *take_record(struct pw_sched_program *program)
{
        struct pw_host_run *run;

        if (pw_list_empty(&program->idle_host_runs)) {
                run = run_new(program);
                if (!run)
                        return NULL;
        } else {
                run = pw_list_first(&program->idle_host_runs, struct pw_host_run, link);
                pw_list_remove(&run->link);
                program->idle_host_run_count--;
        }
        pw_list_init(&run->link);
        reset(run);
        return run;
}

static enum pw_status no_memory(const struct pw_core_message *message, struct pw_error *ret_why)
{
        return pw_error_set(ret_why, PW_NO_MEMORY, "pathwaysd is out of memory for run %lu", (unsigned long)message->run.number);
}

static enum pw_status bad_slot(const struct pw_core_message *message, uint32_t result, uint32_t slot, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_PROTOCOL, "result %u of run %lu has the place %u, which is another's or none", result,
                            (unsigned long)message->run.number, slot);
}

/* A place that it names twice is taken by then. */
static enum pw_status take_results(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                                   struct pw_error *ret_why)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < body->slot_count; i++) {
                bool taken = pw_requester_result(run->requester, body->slots[i]);

                run->results[i] = taken ? NULL : pw_host_result_new(run, i, body->slots[i]);
                if (!run->results[i] && status == PW_OK)
                        status = taken ? bad_slot(message, i, body->slots[i], ret_why) : no_memory(message, ret_why);
        }
        return status;
}

void pw_host_run_let_go(struct pw_host_run *run)
{
        pw_host_inputs_leave(run);
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                if (run->results[i]) {
                        run->results[i]->maker = NULL;
                        pw_fragments_wake(&run->results[i]->readers);
                        pw_host_result_left(run->results[i]);
                }
}

static enum pw_status refuse(struct pw_scheduler *scheduler, const struct pw_core_message *of, enum pw_core_refusal what,
                             const struct pw_error *why)
{
        pw_core_tell(scheduler, &(struct pw_core_message){ .kind = PW_CORE_REFUSED, .status = why->status, .refusal = what,
                                                           .run = of->run, .slot = of->slot, .serial = of->serial,
                                                           .host = scheduler->host },
                     &(struct pw_core_body){ .text = why->text });
        return PW_OK;
}

/* Nothing of it stays, nor of its results. */
static void drop(struct pw_host_run *run, enum pw_host_run_event how)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        pw_host_run_step(run, how);
        pw_requester_forget_run(run->requester, run);
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                if (run->results[i])
                        pw_host_result_release(run->results[i]);
        pw_host_run_let_go(run);
        pw_list_append(&scheduler->actions.ended_host_runs, &run->link);
}

static void tell_refused(const struct pw_host_run *run, enum pw_core_refusal what, const struct pw_error *why)
{
        pw_host_tell(run, &(struct pw_core_message){ .kind = PW_CORE_REFUSED, .status = why->status, .refusal = what,
                                                     .arrival = run->arrival }, why->text);
}

static enum pw_status find_program(struct pw_scheduler *scheduler, const struct pw_requester *requester,
                                   const struct pw_core_message *message, const struct pw_core_body *body,
                                   struct pw_sched_program **ret_program, struct pw_error *ret_err)
{
        *ret_program = pw_requester_program(scheduler, requester, message->program);
        if (!*ret_program)
                return pw_error_set(ret_err, PW_NOT_FOUND, "program %u of run %lu is not here", message->program,
                                    (unsigned long)message->run.number);
        if (body->input_count != (*ret_program)->row.input_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has %u inputs, its program %u",
                                    (unsigned long)message->run.number, body->input_count, (*ret_program)->row.input_count);
        return PW_OK;
}

enum pw_status pw_host_expect(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                              const struct pw_core_body *body, struct pw_error *ret_err)
{
        const struct pw_requester *requester = pw_requester_of(scheduler, &message->run);
        struct pw_sched_program *program;
        enum pw_status status = find_program(scheduler, requester, message, body, &program, ret_err);
        struct pw_error why;

        if (status != PW_OK || pw_admission_fits(program, &message->run, body->inputs, &why) == PW_OK)
                return status;
        return refuse(scheduler, message, PW_REFUSED_EXPECTED, &why);
}

static enum pw_status reserve(struct pw_sched_program *program, struct pw_requester *requester,
                              const struct pw_core_message *message, const struct pw_core_body *body, struct pw_error *ret_why)
{
        struct pw_scheduler *scheduler = program->scheduler;
        struct pw_host_run *run = take_record(program);
        enum pw_core_refusal what = PW_REFUSED_RESERVED;
        enum pw_status status, read;

        if (run) {
                run->id = message->run;
                run->at = message->slot;
                run->serial = message->serial;
                run->arrival = message->arrival ? message->arrival : ++scheduler->arrivals;
                run->sequential = message->how & PW_RESERVE_SEQUENTIAL;
                run->at_once = message->how & PW_RESERVE_AT_ONCE;
                run->shared = message->how & PW_RESERVE_SHARED;
                if (run->shared)
                        pw_list_init(&run->unadmitted);
                run->requester = requester;
        }
        if (!run || !pw_requester_add_run(requester, run)) {
                if (run)
                        pw_list_append(&scheduler->actions.ended_host_runs, &run->link);
                return no_memory(message, ret_why);
        }
        status = take_results(run, message, body, ret_why);
        read = pw_host_inputs_take(run, body, status == PW_OK ? ret_why : NULL);
        status = status == PW_OK ? read : status;
        if (status == PW_OK && run->at_once) {
                what = PW_REFUSED_NOW;
                if (!pw_admission_at_once(run))
                        status = pw_error_set(ret_why, PW_NO_SPACE, "run %lu would wait for room", (unsigned long)run->id.number);
        } else if (status == PW_OK) {
                status = pw_admission_enter(run, ret_why);
        }
        if (status != PW_OK) {
                drop(run, PW_HOST_RUN_REFUSE);
                tell_refused(run, what, ret_why);
        }
        return PW_OK;
}

#define SLOTS_MAX (UINT32_C(1) << 24) /* of a coordinator's records */

/* Places that nobody has, as many as its program has results. */
static enum pw_status check_slots(const struct pw_sched_program *program, const struct pw_requester *requester,
                                  const struct pw_core_message *message, const struct pw_core_body *body, struct pw_error *ret_err)
{
        unsigned long number = (unsigned long)message->run.number;

        if (body->slot_count != program->row.result_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has %u results, its program %u", number, body->slot_count,
                                    program->row.result_count);
        if (message->slot >= SLOTS_MAX || pw_requester_run(requester, message->slot))
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has the place %u, which is another's or none", number,
                                    message->slot);
        if (!pw_requester_may_number(program->scheduler, requester, message->run.number))
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has a number that is another's or none", number);
        if (message->arrival > program->scheduler->arrivals)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has the number %lu in the queue, which was never given", number,
                                    (unsigned long)message->arrival);
        for (uint32_t i = 0; i < body->slot_count; i++)
                if (body->slots[i] >= SLOTS_MAX || pw_requester_result(requester, body->slots[i]))
                        return bad_slot(message, i, body->slots[i], ret_err);
        return PW_OK;
}

enum pw_status pw_host_reserve(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                               const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_requester *requester = pw_requester_of(scheduler, &message->run);
        const struct pw_host_run *here;
        struct pw_sched_program *program;
        struct pw_error why;
        enum pw_status status;

        if (message->how > PW_RESERVE_BITS)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is to be reserved in the way %x",
                                    (unsigned long)message->run.number, message->how);
        if (message->serial <= requester->reservations)
                return PW_EXISTS;
        here = pw_requester_run(requester, message->slot);
        if (here && pw_same_run(&here->id, &message->run))
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is here", (unsigned long)message->run.number);
        status = find_program(scheduler, requester, message, body, &program, &why);
        if (status == PW_OK)
                status = check_slots(program, requester, message, body, &why);
        if (status != PW_OK) { /* its coordinator waits for an answer all the same */
                (void)refuse(scheduler, message, PW_REFUSED_RESERVED, &why);
                return pw_error_set(ret_err, status, "%s", why.text);
        }
        requester->reservations = message->serial;
        if (pw_admission_fits(program, &message->run, body->inputs, &why) == PW_OK &&
            reserve(program, requester, message, body, &why) == PW_OK)
                return PW_OK;
        return refuse(scheduler, message, PW_REFUSED_RESERVED, &why);
}

enum pw_status pw_host_overdue(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                               struct pw_error *ret_err)
{
        struct pw_error why;
        char lack[300];

        (void)body, (void)ret_err;
        if (run->state == PW_HOST_RUN_RESERVED && !run->recorded && run->serial == message->serial)
                (void)pw_admission_tell(run); /* who could not take it in, or say it, can maybe now */
        if (run->state != PW_HOST_RUN_QUEUED || run->serial != message->serial)
                return PW_EXISTS;
        pw_admission_lack(run, lack, sizeof lack);
        pw_error_set(&why, PW_NO_SPACE, "run %lu of %s was not admitted before its deadline: %s", (unsigned long)run->id.number,
                     run->program->row.name, lack);
        pw_admission_leave(run);
        drop(run, PW_HOST_RUN_REFUSE);
        tell_refused(run, PW_REFUSED_RESERVED, &why);
        return PW_OK;
}

void pw_host_refuse(struct pw_scheduler *scheduler, const struct pw_core_message *message)
{
        struct pw_error why;

        pw_error_set(&why, PW_NOT_FOUND, "run %lu is not on host %u", (unsigned long)message->run.number, scheduler->host);
        (void)refuse(scheduler, message, PW_REFUSED_RESERVED, &why);
}

/* Who took over its blocks; NULL: nobody. */
static struct pw_host_run *first_behind(const struct pw_host_run *run)
{
        for (uint32_t c = 0; c < run->program->chain_count; c++)
                if (run->holds[c].behind)
                        return run->holds[c].behind;
        return NULL;
}

static void undo(struct pw_host_run *run)
{
        pw_place_undo(run);
        run->program->scheduler->scan = true;
        drop(run, PW_HOST_RUN_GIVE_BACK);
}

void pw_host_run_withdraw(struct pw_host_run *run)
{
        struct pw_error why;

        pw_error_set(&why, PW_NO_MEMORY, "pathwaysd is out of memory to admit run %lu", (unsigned long)run->id.number);
        undo(run);
        tell_refused(run, PW_REFUSED_RESERVED, &why);
}

/* The last of those who took over from one another goes first. None of them is prepared, as this one is not. */
enum pw_status pw_host_give_back(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                                 struct pw_error *ret_err)
{
        struct pw_host_run *last, *behind;
        struct pw_error why;

        (void)body;
        if (message->serial != run->serial)
                return PW_EXISTS;
        if (run->recorded)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is prepared, and gives nothing back",
                                    (unsigned long)run->id.number);
        if (run->state == PW_HOST_RUN_QUEUED) {
                pw_admission_leave(run);
                drop(run, PW_HOST_RUN_GIVE_BACK);
                return PW_OK;
        }
        pw_error_set(&why, PW_NO_SPACE, "run %lu gave back the blocks that were taken over", (unsigned long)run->id.number);
        while (first_behind(run)) {
                for (last = run; (behind = first_behind(last));)
                        last = behind;
                undo(last);
                tell_refused(last, PW_REFUSED_NOW, &why);
        }
        undo(run);
        return PW_OK;
}

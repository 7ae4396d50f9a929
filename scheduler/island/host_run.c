/* A run on its host: made, asked to reserve, cancelled, over. */
#include "scheduler/state.h"

#include "base/size.h"

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

size_t pw_host_run_bytes(const struct pw_program *program)
{
        uint64_t columns = program->plan.column_count;

        return pw_round_up(sizeof(struct pw_host_run), 16) +
               pw_round_up(program->row.result_count * sizeof(struct pw_result *), 16) +
               pw_round_up(program->row.input_count * sizeof(struct pw_host_input), 16) +
               pw_round_up(columns * sizeof(struct pw_part), 16) + pw_round_up(columns * columns * sizeof(uint32_t), 16) +
               pw_round_up(stand_count(program) * sizeof(struct pw_stand), 16) +
               pw_round_up(program->place_count * sizeof(uint64_t), 16) +
               pw_round_up(program->chain_count * sizeof(struct pw_hold), 16);
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

static void init_part(struct pw_host_run *run, uint32_t column, uint32_t *noticed, struct pw_stand *stands)
{
        const struct pw_program *program = run->program;
        struct pw_part *part = &run->parts[column];

        *part = (struct pw_part){ .run = run, .plan = &program->plan.columns[column], .column = column,
                                  .island = program->scheduler->islands[program->plan.columns[column].island], .noticed = noticed,
                                  .stands = stands };
        pw_stands_init(part);
}

struct pw_host_run *pw_host_run_new(struct pw_program *program)
{
        struct pw_host_run *run = calloc(1, pw_host_run_bytes(program));
        char *at = (char *)run + pw_round_up(sizeof *run, 16);
        uint32_t columns = program->plan.column_count, *noticed;
        struct pw_stand *stands;

        if (!run || !take_slot(program->scheduler, &run->slot)) {
                free(run);
                return NULL;
        }
        run->program = program;
        run->results = carve(&at, program->row.result_count, sizeof *run->results);
        run->inputs = carve(&at, program->row.input_count, sizeof *run->inputs);
        run->parts = carve(&at, columns, sizeof *run->parts);
        noticed = carve(&at, (uint64_t)columns * columns, sizeof *noticed);
        stands = carve(&at, stand_count(program), sizeof *stands);
        run->block_offsets = carve(&at, program->place_count, sizeof *run->block_offsets);
        run->holds = carve(&at, program->chain_count, sizeof *run->holds);
        for (uint32_t c = 0; c < program->chain_count; c++)
                run->holds[c].run = run;
        for (uint32_t c = 0; c < columns; c++) {
                init_part(run, c, noticed + (size_t)c * columns, stands);
                stands += __builtin_popcountll(program->plan.columns[c].members);
        }
        return run;
}

void pw_host_run_free(struct pw_host_run *run)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        scheduler->free_slots[scheduler->free_slot_count++] = run->slot;
        free(run);
}

static void reset_part(struct pw_part *part, uint32_t columns)
{
        pw_list_init(&part->link);
        pw_list_init(&part->behind);
        part->next = 0;
        part->state = PW_PART_RESERVED;
        part->wait = PW_WAIT_NOTHING;
        part->open = part->plan->members;
        part->devices_left = (uint32_t)__builtin_popcountll(part->open);
        memset(part->noticed, 0, columns * sizeof *part->noticed);
}

void pw_host_run_reset(struct pw_host_run *run)
{
        uint32_t columns = run->program->plan.column_count;

        run->state = PW_HOST_RUN_IDLE;
        run->placed = run->cancelled = run->stopped = run->aside = run->letting_go = run->read_early = false;
        run->short_bytes = 0;
        run->expired = 0;
        run->parts_left = run->ahead_count = run->behind_count = 0;
        pw_list_init(&run->link);
        pw_list_init(&run->freed_link);
        pw_list_init(&run->queued);
        pw_queue_init(&run->own);
        for (uint32_t c = 0; c < run->program->chain_count; c++) {
                pw_list_init(&run->holds[c].link);
                run->holds[c].ahead = run->holds[c].behind = NULL;
        }
        for (uint32_t c = 0; c < columns; c++) {
                reset_part(&run->parts[c], columns);
                run->parts_left += run->parts[c].devices_left > 0;
        }
}

/* --- what the coordinator says ------------------------------------------------------------------------------------------------ */

/* Only one that was ordered to its end in all its islands is there, whatever became of its maker. */
enum pw_status pw_host_input(struct pw_host_run *run, uint32_t index, enum pw_status status)
{
        struct pw_host_input *input = &run->inputs[index];
        struct pw_message *message;

        if (run->state != PW_HOST_RUN_RESERVED || !input->result || input->status != PW_OK ||
            pw_result_live(input->result)->ordered == pw_result_live(input->result)->islands)
                return PW_EXISTS;
        input->status = status;
        input->in_place = false;
        message = pw_action_message(run->program->scheduler, PW_MSG_INPUT);
        message->run = pw_run_ref(run);
        message->node = index;
        message->status = status;
        return PW_OK;
}

struct pw_part *pw_host_run_part(const struct pw_host_run *run, uint32_t island)
{
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->parts[c].plan->island == island)
                        return &run->parts[c];
        return NULL;
}

void pw_host_start(struct pw_host_run *run, uint32_t island)
{
        struct pw_part *part = pw_host_run_part(run, island);

        if (part && part->state == PW_PART_PREPARED && part->devices_left && !run->stopped)
                pw_island_enter(part->island, part);
}

static void drop_part(struct pw_part *part)
{
        uint64_t open = part->open;

        pw_part_step_out(part);
        pw_list_remove(&part->link);
        part->wait = PW_WAIT_NOTHING;
        part->open = 0;
        if (part->next || !open)
                pw_part_leave(part, open);
        else /* nothing of it was ordered here */
                pw_part_left(part, (uint32_t)__builtin_popcountll(open));
}

enum pw_status pw_host_stop(struct pw_host_run *run)
{
        if (run->state != PW_HOST_RUN_RESERVED || run->stopped)
                return PW_EXISTS;
        pw_chain_let_go(run);
        run->stopped = true;
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                drop_part(&run->parts[c]);
        pw_host_run_maybe_end(run);
        return PW_OK;
}

static void tell_done(const struct pw_host_run *run, uint32_t ordered)
{
        pw_core_tell(run->program->scheduler, &(struct pw_core_message){ .kind = PW_CORE_DONE, .node = pw_host_run_nodes(run),
                                                                         .from = ordered, .run = run->id }, NULL);
}

enum pw_status pw_host_cancel(struct pw_host_run *run, bool stop)
{
        if (run->state == PW_HOST_RUN_QUEUED) {
                pw_admission_leave(run);
                run->state = PW_HOST_RUN_IDLE;
                tell_done(run, 0);
                return PW_OK;
        }
        if (run->state != PW_HOST_RUN_RESERVED || run->cancelled)
                return PW_EXISTS;
        pw_chain_let_go(run);
        run->cancelled = true;
        pw_action_message(run->program->scheduler, PW_MSG_CANCEL)->run = pw_run_ref(run);
        if (stop)
                pw_host_stop(run);
        return PW_OK;
}

/* Is the device at a function of the run? Then that gang is *ret_seq. */
static bool is_in_function(const struct pw_host_run *run, const struct pw_device *device, uint64_t *ret_seq)
{
        const struct pw_ordered *at;
        uint64_t seq = pw_device_oldest(device);

        if (!device->up || !seq)
                return false;
        at = &run->program->scheduler->islands[device->island]->log[seq % PW_ORDER_LOG];
        *ret_seq = seq;
        return at->part->run == run && pw_program_node(run->program, at->part->plan->gangs[at->gang].node)->kind == PW_NODE_CALL;
}

enum pw_status pw_host_expire(struct pw_host_run *run, uint32_t time, const char *why)
{
        struct pw_scheduler *scheduler = run->program->scheduler;
        uint64_t seq;

        if (run->state != PW_HOST_RUN_RESERVED || time <= run->expired)
                return PW_EXISTS;
        run->expired = time;
        for (uint64_t rest = run->program->device_mask; rest; rest &= rest - 1) {
                struct pw_device *device = scheduler->devices[__builtin_ctzll(rest)];
                struct pw_action *action;
                if (!is_in_function(run, device, &seq))
                        continue;
                action = pw_action_add(scheduler, PW_ACT_END_MEMBER);
                action->device = device->number;
                action->seq = seq;
                action->status = PW_DEADLINE;
                action->text = strdup(why);
        }
        return PW_OK;
}

/* --- its end ------------------------------------------------------------------------------------------------------------------ */

uint32_t pw_host_run_nodes(const struct pw_host_run *run)
{
        uint32_t nodes = 0;

        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                nodes += run->parts[c].plan->gang_count;
        return nodes;
}

uint32_t pw_host_run_ordered(const struct pw_host_run *run)
{
        uint32_t nodes = 0;

        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                nodes += run->parts[c].next;
        return nodes;
}

static bool may_end(const struct pw_host_run *run)
{
        if (run->state != PW_HOST_RUN_RESERVED || run->parts_left || run->ahead_count)
                return false;
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->parts[c].state < PW_PART_PREPARED)
                        return false;
        return true;
}

static void leave_result(struct pw_result_live *result)
{
        result->maker = NULL;
        pw_parts_wake(&result->readers);
}

/* Appends to `freed` whom it lets end. Who rests for what it ordered, or for its results, goes on. */
static void end(struct pw_host_run *run, struct pw_list *freed)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        run->state = PW_HOST_RUN_IDLE;
        pw_chain_leave(run, freed);
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                leave_result(pw_result_live(run->results[i]));
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                pw_parts_wake(&run->parts[c].behind);
        scheduler->look = true;
        tell_done(run, pw_host_run_ordered(run));
}

/* A run ends after those whose blocks it took over, so that nobody needs to look beyond the run ahead. */
void pw_host_run_maybe_end(struct pw_host_run *run)
{
        struct pw_list freed;

        if (!may_end(run))
                return;
        pw_list_init(&freed);
        end(run, &freed);
        while (!pw_list_empty(&freed)) {
                run = pw_list_first(&freed, struct pw_host_run, freed_link);
                pw_list_remove(&run->freed_link);
                if (may_end(run))
                        end(run, &freed);
        }
}

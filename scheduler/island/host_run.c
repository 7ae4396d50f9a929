/* A run on its host: what its coordinator says, and its end. */
#include "scheduler/step.h"

#include "base/error.h"

const uint8_t pw_host_run_rules[PW_HOST_RUN_STATES][PW_HOST_RUN_EVENTS] = {
        [PW_HOST_RUN_IDLE] = { [PW_HOST_RUN_QUEUE] = PW_HOST_RUN_QUEUED, [PW_HOST_RUN_REFUSE] = PW_HOST_RUN_IDLE },
        [PW_HOST_RUN_QUEUED] = { [PW_HOST_RUN_PLACE] = PW_HOST_RUN_RESERVED, [PW_HOST_RUN_REFUSE] = PW_HOST_RUN_IDLE,
                                 [PW_HOST_RUN_CANCEL] = PW_HOST_RUN_IDLE, [PW_HOST_RUN_GIVE_BACK] = PW_HOST_RUN_IDLE },
        [PW_HOST_RUN_RESERVED] = { [PW_HOST_RUN_DONE] = PW_HOST_RUN_IDLE, [PW_HOST_RUN_GIVE_BACK] = PW_HOST_RUN_IDLE },
};

/* --- what the coordinator says ------------------------------------------------------------------------------------------------ */

/* Only one that was ordered to its end in all its islands is there, whatever became of its maker. */
enum pw_status pw_host_input(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                             struct pw_error *ret_err)
{
        struct pw_host_input *input;
        struct pw_message *to_boards;

        (void)body;
        if (message->input >= run->program->row.input_count || message->status == PW_OK)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no input %u, or it is no error",
                                    (unsigned long)run->id.number, message->input);
        input = &run->inputs[message->input];
        if (run->state != PW_HOST_RUN_RESERVED || run->started || !input->result || input->status != PW_OK ||
            input->result->ordered == input->result->islands)
                return PW_EXISTS;
        input->status = message->status;
        input->in_place = false;
        to_boards = pw_action_message(run->program->scheduler, PW_MSG_INPUT);
        to_boards->run = pw_run_ref(run);
        to_boards->node = message->input;
        to_boards->status = message->status;
        return PW_OK;
}

struct pw_fragment *pw_host_run_fragment(const struct pw_host_run *run, uint32_t island)
{
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->fragments[c].plan->island == island)
                        return &run->fragments[c];
        return NULL;
}

static enum pw_status find_fragment(const struct pw_host_run *run, uint32_t island, struct pw_fragment **ret_fragment,
                                    struct pw_error *ret_err)
{
        *ret_fragment = pw_host_run_fragment(run, island);
        if (!*ret_fragment)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has nothing in island %u", (unsigned long)run->id.number,
                                    island);
        return PW_OK;
}

static bool is_prepared(const struct pw_host_run *run)
{
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->fragments[c].state < PW_FRAGMENT_PREPARED)
                        return false;
        return true;
}

/* Its run may have been cancelled meanwhile. */
enum pw_status pw_host_start(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                             struct pw_error *ret_err)
{
        struct pw_fragment *fragment = run->fragments, *end = fragment + run->program->plan.column_count;

        (void)message, (void)body;
        if (!is_prepared(run) || run->unwritten)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is not prepared", (unsigned long)run->id.number);
        if (run->started)
                return PW_EXISTS;
        if (run->stopped)
                return pw_error_set(ret_err, PW_CANCELLED, "run %lu was stopped", (unsigned long)run->id.number);
        run->started = true;
        for (; fragment < end; fragment++)
                if (fragment->devices_left)
                        pw_island_enter(fragment->island, fragment);
        return PW_OK;
}

enum pw_status pw_host_notice(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                              struct pw_error *ret_err)
{
        const struct pw_fragment *from = pw_host_run_fragment(run, message->from);
        struct pw_fragment *fragment;
        enum pw_status status = find_fragment(run, message->island, &fragment, ret_err);

        (void)body;
        if (status != PW_OK)
                return status;
        if (!from || !from->next || from->plan->gangs[from->next - 1].node < message->node)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has not ordered node %u in island %u",
                                    (unsigned long)run->id.number, message->node, message->from);
        pw_island_notice(fragment, from->column, message->node);
        return PW_OK;
}

static void drop_fragment(struct pw_fragment *fragment)
{
        uint64_t open = fragment->open;

        pw_fragment_step_out(fragment);
        pw_list_remove(&fragment->link);
        fragment->wait = PW_WAIT_NOTHING;
        fragment->open = 0;
        if (fragment->next || !open)
                pw_fragment_leave(fragment, open);
        else /* nothing of it was ordered here */
                pw_fragment_left(fragment, (uint32_t)__builtin_popcountll(open));
}

static enum pw_status stop(struct pw_host_run *run)
{
        if (run->state != PW_HOST_RUN_RESERVED || run->stopped)
                return PW_EXISTS;
        pw_chain_let_go(run);
        run->stopped = true;
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                drop_fragment(&run->fragments[c]);
        pw_host_run_maybe_end(run);
        return PW_OK;
}

enum pw_status pw_host_stop(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                            struct pw_error *ret_err)
{
        (void)message, (void)body, (void)ret_err;
        return stop(run);
}

/* Its results are wherever its coordinator wants them. */
static void over(struct pw_host_run *run, enum pw_host_run_event how)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        pw_host_run_step(run, how);
        pw_requester_forget_run(run->requester, run);
        pw_list_append(&scheduler->actions.ended_host_runs, &run->link);
        pw_host_run_let_go(run);
        pw_host_tell(run, &(struct pw_core_message){ .kind = PW_CORE_DONE, .gangs = pw_host_run_nodes(run),
                                                    .ordered = pw_host_run_ordered(run) }, NULL);
}

enum pw_status pw_host_cancel(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                              struct pw_error *ret_err)
{
        (void)body, (void)ret_err;
        if (run->state == PW_HOST_RUN_QUEUED) {
                pw_admission_leave(run);
                over(run, PW_HOST_RUN_CANCEL);
                return PW_OK;
        }
        if (run->state != PW_HOST_RUN_RESERVED || run->cancelled)
                return PW_EXISTS;
        pw_chain_let_go(run);
        run->cancelled = true;
        pw_action_message(run->program->scheduler, PW_MSG_CANCEL)->run = pw_run_ref(run);
        if (message->unread)
                stop(run);
        return PW_OK;
}

/* The first gang of the run that the device has not done: a function, or what devices may do together. 0: there is none. Is it what
 * the device does, or does it launch a later one behind another run's? Its board says so. */
static uint64_t first_undone(const struct pw_host_run *run, const struct pw_device *device)
{
        for (uint64_t count = device->up ? device->done : device->ordered; count < device->ordered; count++) {
                uint64_t seq = device->seqs[count & device->seq_mask];
                const struct pw_ordered *at = &run->program->scheduler->islands[device->island]->log[seq % PW_ORDER_LOG];

                if (at->fragment->run == run &&
                    pw_program_node(run->program, at->fragment->plan->gangs[at->gang].node)->kind != PW_NODE_LOAD)
                        return seq;
        }
        return 0;
}

enum pw_status pw_host_expire(struct pw_host_run *run, const struct pw_core_message *message, const struct pw_core_body *body,
                              struct pw_error *ret_err)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        (void)ret_err;
        if (run->state != PW_HOST_RUN_RESERVED || message->nth <= run->expired)
                return PW_EXISTS;
        run->expired = message->nth;
        for (uint32_t i = 0; i < run->program->device_count; i++) {
                struct pw_device *device = run->program->devices[i].device;
                uint64_t seq = first_undone(run, device);
                struct pw_action *action;
                if (!seq)
                        continue;
                action = pw_action_add(scheduler, PW_ACT_END_MEMBER);
                action->device = device->number;
                action->seq = seq;
                action->status = PW_DEADLINE;
                pw_action_text(scheduler, action, pw_core_text(body));
        }
        return PW_OK;
}

/* --- its end ------------------------------------------------------------------------------------------------------------------ */

uint32_t pw_host_run_nodes(const struct pw_host_run *run)
{
        uint32_t nodes = 0;

        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                nodes += run->fragments[c].plan->gang_count;
        return nodes;
}

uint32_t pw_host_run_ordered(const struct pw_host_run *run)
{
        uint32_t nodes = 0;

        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                nodes += run->fragments[c].next;
        return nodes;
}

static bool may_end(const struct pw_host_run *run)
{
        return run->state == PW_HOST_RUN_RESERVED && !run->fragments_left && !run->ahead_count && is_prepared(run);
}

/* Appends to `freed` whom it lets end. Who rests for what it ordered goes on. */
static void end(struct pw_host_run *run, struct pw_list *freed)
{
        pw_chain_leave(run, freed);
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                pw_fragments_wake(&run->fragments[c].behind);
        run->program->scheduler->scan = true;
        over(run, PW_HOST_RUN_DONE);
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

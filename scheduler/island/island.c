/* An island's turn: what can be ordered is, in one batch. */
#include "scheduler/island/record.h"
#include "scheduler/step.h"

struct turn {
        struct pw_scheduler *scheduler;
        struct pw_island *island;
        uint64_t first_seq, members;
        uint32_t first_order, count;
        bool served;         /* the fragment stands in line, and a gang of it was ordered in this turn of its tenant */
        bool full;           /* nothing more can be ordered: the log is closed, or */
        bool no_memory;      /* there is none for it: it is tried again */
};

struct pw_island *pw_island_new(struct pw_scheduler *scheduler, uint32_t number, const struct pw_policy *policy)
{
        struct pw_island *island = calloc(1, sizeof *island);

        if (!island)
                return NULL;
        *island = (struct pw_island){ .number = number, .scheduler = scheduler, .policy = policy,
                                      .log = calloc(PW_ORDER_LOG, sizeof *island->log) };
        pw_list_init(&island->woken);
        pw_list_init(&island->fronts);
        if (island->log && policy->make(&island->state))
                return island;
        free(island->log);
        free(island);
        return NULL;
}

void pw_island_free(struct pw_island *island)
{
        if (!island)
                return;
        island->policy->end(island->state);
        free(island->log);
        free(island);
}

void pw_island_enter(struct pw_island *island, struct pw_fragment *fragment)
{
        pw_fragment_step(fragment, PW_FRAGMENT_START);
        fragment->key = island->policy->key(fragment);
        island->policy->enter(island->state, fragment);
        island->admitted++;
        pw_fragment_wake(fragment);
}

void pw_island_notice(struct pw_fragment *fragment, uint32_t column, uint32_t node)
{
        if (fragment->noticed[column] <= node)
                fragment->noticed[column] = node + 1;
        if (fragment->wait == PW_WAIT_NOTICE)
                pw_fragment_wake(fragment);
        pw_fragments_wake(&fragment->behind);
}

/* --- may a gang be ordered? ------------------------------------------------------------------------------------------- */

/* A load of what lies in place has nothing to do; it is ordered only where somebody waits for it, or where it is the one that waits
 * until its room may be written again: who writes there later relies on that. */
static bool load_is_skipped(const struct pw_fragment *fragment, const struct pw_gang *gang)
{
        const struct pw_host_run *run = fragment->run;
        const struct pw_image_node *node = pw_image_node(run->program->row.image, gang->node);

        return run->inputs[gang->load - 1].in_place && !gang->result_count && !run->sequential && !node->wait_count &&
               !(node->behind_count && run->ahead_count);
}

/* The first of the devices that has as many gangs before it as may be; NULL: none. */
static struct pw_device *find_full(const struct turn *turn, uint64_t members)
{
        for (; members; members &= members - 1) {
                struct pw_device *device = turn->scheduler->devices[__builtin_ctzll(members)];
                if (device->ordered - device->done >= turn->scheduler->ahead)
                        return device;
        }
        return NULL;
}

/* No gang that is not done may lie PW_ORDER_REACH behind the head. */
static bool log_open(struct turn *turn)
{
        struct pw_island *island = turn->island;
        struct pw_device *slowest = NULL;
        uint64_t oldest = island->seq + 1;

        if (island->seq < island->reach)
                return true;
        for (uint64_t rest = island->members; rest; rest &= rest - 1) {
                struct pw_device *device = turn->scheduler->devices[__builtin_ctzll(rest)];
                uint64_t seq = pw_device_oldest(device);
                if (seq && seq < oldest) {
                        oldest = seq;
                        slowest = device;
                }
        }
        island->reach = oldest + PW_ORDER_REACH - 1;
        if (island->seq < island->reach)
                return true;
        slowest->window_wanted = true;
        return false;
}

/* --- ordering one -------------------------------------------------------------------------------------------------------- */

static void order_results(struct pw_fragment *fragment, const struct pw_gang *gang, uint64_t seq)
{
        struct pw_host_run *run = fragment->run;
        uint32_t island = fragment->plan->island;

        for (uint32_t i = 0; i < gang->result_count; i++) {
                struct pw_host_result *result = run->results[run->program->plan.written[gang->first_result + i]];
                const struct pw_program_slice *slice = &run->program->slices[result->type->value.slice];
                for (uint32_t h = 0; h < slice->here_count; h++)
                        if (run->program->devices[slice->here[h].device].device->island == island)
                                result->seqs[slice->here[h].place] = seq;
                result->ordered |= 1u << island;
                pw_fragments_wake(&result->readers);
        }
}

/* False: out of memory. */
static bool order_gang(struct turn *turn, struct pw_fragment *fragment, const struct pw_gang *gang)
{
        struct pw_order_item *item = pw_action_order(turn->scheduler);
        struct pw_island *island = turn->island;
        uint64_t seq = island->seq + 1, marked = gang->last;
        uint32_t index = fragment->next;

        if (!item)
                return false;
        *item = (struct pw_order_item){ .run = fragment->run->number, .slot = fragment->run->slot, .node = gang->node,
                                        .members = gang->members, .seq_slot = gang->seq_slot };
        if ((gang->load || (gang->is_behind && fragment->run->ahead_count)) && !pw_order_tell(fragment->run, gang, item)) {
                turn->scheduler->actions.orders_count--;
                return false;
        }
        island->seq = seq;
        island->log[seq % PW_ORDER_LOG] = (struct pw_ordered){ fragment, index };
        turn->members |= gang->members;
        turn->count++;
        fragment->next++;
        if (gang->result_count || fragment->run->sequential)
                marked = gang->members;
        for (uint64_t rest = gang->members; rest; rest &= rest - 1) {
                uint32_t number = (uint32_t)__builtin_ctzll(rest);
                struct pw_device *device = turn->scheduler->devices[number];
                if (island->policy->counts)
                        island->policy->ordered(island->state, fragment, pw_device_charge(device, device->ordered));
                pw_device_order(device, seq);
                if (marked >> number & 1)
                        pw_device_mark(device, fragment, index);
        }
        fragment->open &= ~gang->last;
        if (gang->result_count)
                order_results(fragment, gang, seq);
        return true;
}

static void skip_gang(struct pw_fragment *fragment, const struct pw_gang *gang)
{
        fragment->next++;
        fragment->open &= ~gang->last;
        if (gang->last)
                pw_fragment_leave(fragment, gang->last);
}

/* --- the turn ---------------------------------------------------------------------------------------------------------------- */

static void send_notices(struct pw_fragment *fragment, uint32_t notify, uint32_t node)
{
        struct pw_scheduler *scheduler = fragment->island->scheduler;

        for (; notify; notify &= notify - 1) {
                uint32_t to = fragment->run->fragments[__builtin_ctz(notify)].plan->island;
                struct pw_core_message *notice = pw_action_core(scheduler, &fragment->run->id, PW_CORE_NOTICE);
                notice->host = scheduler->host;
                notice->island = to;

                notice->slot = fragment->run->at;
                notice->from = fragment->plan->island;
                notice->node = node;
                scheduler->actions.notices++;
        }
}

/* May it be ordered now? Else its fragment stands in line, or is at the front already and goes on waiting there. */
static bool window_open(struct turn *turn, struct pw_fragment *fragment, const struct pw_gang *gang)
{
        struct pw_island *island = turn->island;
        struct pw_device *full;

        if (fragment->stands_at != gang->members)
                pw_fragment_step_out(fragment);
        else if (turn->served && island->kept_back && !pw_fragment_next_turn(fragment))
                return false;
        full = find_full(turn, gang->members);
        if (!fragment->stands_at && (full || turn->full || island->jumbled || (island->waited & gang->members))) {
                pw_fragment_stand(fragment, gang->members);
                return false; /* its time comes after all that are woken */
        }
        if (full) {
                full->window_wanted = true;
                pw_fragment_park(fragment, full);
        }
        return !full;
}

static bool may_wait(const struct pw_fragment *fragment, const struct pw_gang *gang)
{
        return gang->load || gang->needs.count || fragment->run->ahead_count || fragment->run->sequential;
}

/* Order, or pass over, its next gang. False: it waits. */
static bool order_next(struct turn *turn, struct pw_fragment *fragment, const struct pw_gang *gang)
{
        enum pw_fragment_wait wait = may_wait(fragment, gang) ? pw_fragment_check(fragment, gang) : PW_WAIT_NOTHING;

        if (wait != PW_WAIT_NOTHING) {
                pw_fragment_step_out(fragment);
                fragment->wait = wait;
                pw_fragment_rest(fragment);
                return false;
        }
        if (gang->load && load_is_skipped(fragment, gang)) {
                skip_gang(fragment, gang);
                return true;
        }
        if (!window_open(turn, fragment, gang))
                return false;
        turn->full = !log_open(turn);
        turn->no_memory = !turn->full && !order_gang(turn, fragment, gang);
        turn->full |= turn->no_memory;
        if (turn->full && !fragment->stands_at)
                pw_fragment_stand(fragment, gang->members);
        turn->served = fragment->stands_at;
        return !turn->full;
}

/* Order what can be ordered of one fragment, which is woken or at the front. */
static void order_fragment(struct turn *turn, struct pw_fragment *fragment)
{
        const struct pw_plan_island *plan = fragment->plan;
        uint32_t notify = 0, node = 0, from = fragment->next;

        turn->served = false;
        while (fragment->next < plan->gang_count) {
                const struct pw_gang *gang = &plan->gangs[fragment->next];
                if (!order_next(turn, fragment, gang))
                        break;
                if (gang->notify) {
                        notify |= gang->notify;
                        node = gang->node;
                }
        }
        if (fragment->next == plan->gang_count)
                pw_fragment_step_out(fragment);
        if (fragment->next != from)
                pw_fragment_got_on(fragment);
        if (notify)
                send_notices(fragment, notify, node);
}

/* Whoever is woken by what is ordered comes before the next at the front. */
static void order_fragments(struct turn *turn)
{
        struct pw_island *island = turn->island;

        while (!pw_list_empty(&island->woken) || (!turn->full && !pw_list_empty(&island->fronts))) {
                bool woken = !pw_list_empty(&island->woken);
                struct pw_fragment *fragment = pw_list_first(woken ? &island->woken : &island->fronts, struct pw_fragment, link);
                if (woken)
                        pw_list_remove(&fragment->link);
                order_fragment(turn, fragment);
        }
}

/* The action stands in the queue before the gangs are chosen: notices follow the batch that they speak of. */
void pw_island_turn(struct pw_island *island)
{
        struct pw_scheduler *scheduler = island->scheduler;
        struct pw_actions *actions = &scheduler->actions;
        struct turn turn = { .scheduler = scheduler, .island = island, .first_seq = island->seq + 1,
                             .first_order = actions->orders_count };
        struct pw_action *action = pw_action_add(scheduler, PW_ACT_BOARD);
        uint32_t at = actions->count - 1;

        if (action == &actions->spare)
                return;
        order_fragments(&turn);
        island->dirty = turn.no_memory;
        if (!turn.count && actions->count == at + 1) {
                actions->count--;
                return;
        }
        action = &actions->items[at];
        action->message = (struct pw_message){ .kind = PW_MSG_ORDER, .island = island->number, .seq = turn.first_seq,
                                               .members = turn.members,
                                               .first_order = turn.first_order, .order_count = turn.count };
        actions->order_batches += turn.count > 0;
}

/* --- progress ----------------------------------------------------------------------------------------------------------------- */

static void step_done(struct pw_host_run *run)
{
        if (--run->step_left)
                return;
        do
                run->step++;
        while (run->step < run->program->row.image->node_count && !run->program->plan.step_members[run->step]);
        if (run->step == run->program->row.image->node_count)
                return;
        run->step_left = run->program->plan.step_members[run->step];
        pw_host_run_stepped(run);
}

static void fire(struct pw_fragment *fragment, uint32_t index, uint64_t device)
{
        struct pw_host_run *run = fragment->run;
        const struct pw_gang *gang = &fragment->plan->gangs[index];

        for (uint32_t i = 0; i < gang->result_count; i++)
                pw_host_result_member_done(run->results[run->program->plan.written[gang->first_result + i]]);
        if (run->sequential)
                step_done(run);
        if (gang->last & device)
                pw_fragment_left(fragment, 1);
}

/* What was to happen at `count` gangs, in its order; at the same count what a gang does comes before who leaves behind it. */
static void happen(struct pw_device *device, uint64_t count)
{
        uint64_t marked, leaves;

        for (;;) {
                struct pw_marker *marker = &device->markers[device->marker_first & device->seq_mask];
                struct pw_stand *stand = pw_list_first(&device->leaving, struct pw_stand, leaving);

                marked = device->marker_first == device->marker_end ? UINT64_MAX : marker->count;
                leaves = pw_list_empty(&device->leaving) ? UINT64_MAX : stand->leaves_at;
                if (marked > count && leaves > count)
                        return;
                if (marked <= leaves) {
                        device->marker_first++;
                        fire(marker->fragment, marker->gang, UINT64_C(1) << device->number);
                } else {
                        pw_list_remove(&stand->leaving);
                        pw_fragment_left(stand->fragment, 1);
                }
        }
}

void pw_island_progress(struct pw_island *island, struct pw_device *device, uint64_t count)
{
        for (uint64_t i = island->policy->counts ? device->done : count; i < count; i++)
                island->policy->done(island->state, pw_device_charge(device, i));
        device->done = count;
        device->done_seq = device->seqs[(count - 1) & device->seq_mask];
        happen(device, count);
        if (device->window_wanted && device->ordered - count <= island->scheduler->ahead / 2) {
                device->window_wanted = false;
                pw_device_unpark(device);
                island->dirty = true;
        }
}

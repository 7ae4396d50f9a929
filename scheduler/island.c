/* An island's turn: what can be ordered is, in one batch. */
#include "scheduler/state.h"

struct turn {
        struct pw_scheduler *scheduler;
        struct pw_island *island;
        uint64_t held;       /* devices whose next gang belongs to a part that was looked at already */
        uint64_t first_seq, members;
        uint32_t first_order, count;
        bool wrote;          /* a result's writer was ordered, or a part has nothing left to order */
        bool waited;         /* a part waits for an input: perhaps for one that came later in the turn */
        bool room_waited;    /* likewise for another part to get on */
};

struct pw_island *pw_island_new(struct pw_scheduler *scheduler, uint32_t number, const struct pw_policy *policy)
{
        struct pw_island *island = calloc(1, sizeof *island);

        if (!island)
                return NULL;
        *island = (struct pw_island){ .number = number, .scheduler = scheduler, .policy = policy,
                                      .log = calloc(PW_ORDER_LOG, sizeof *island->log) };
        pw_list_init(&island->parts);
        if (island->log)
                return island;
        free(island);
        return NULL;
}

void pw_island_free(struct pw_island *island)
{
        if (island)
                free(island->log);
        free(island);
}

void pw_island_enter(struct pw_island *island, struct pw_part *part)
{
        part->entered = true;
        island->admitted++;
        island->dirty = true;
        island->policy->enter(island, part);
}

void pw_island_notice(struct pw_part *part, uint32_t column, uint32_t node)
{
        if (part->noticed[column] <= node)
                part->noticed[column] = node + 1;
        part->island->dirty = true;
}

/* --- may a gang be ordered? ------------------------------------------------------------------------------------------- */

/* The maker of an input is ordered to its end here, and nobody reads the room from another device any more. */
static bool maker_has_passed(const struct pw_result *input, uint32_t island)
{
        const struct pw_live *maker = input->run ? pw_live_of(input->run) : NULL;

        if (!maker)
                return true;
        if (maker->program->results[input->index].read_afar)
                return false;
        for (uint32_t i = 0; i < maker->program->column_count; i++)
                if (maker->parts[i].plan->island == island)
                        return maker->parts[i].next == maker->parts[i].plan->gang_count;
        return true;
}

/* Is the input of a load where the load, or whoever reads it in place, will find it? */
static bool input_ordered(const struct pw_part *part, const struct pw_gang *gang)
{
        const struct pw_input_place *place = &part->live->run.inputs[gang->load - 1];
        const struct pw_live_input *input = &part->live->inputs[gang->load - 1];
        const struct pw_result_live *result;
        uint32_t island = part->island->number;

        if (place->source != PW_INPUT_RESULT || input->status != PW_OK)
                return true;
        if (input->takes && !maker_has_passed(place->result, island))
                return false;
        result = pw_result_live(place->result);
        return input->in_place ? result->ordered >> island & 1 : result->ordered == result->islands;
}

static bool needs_met(struct pw_part *part, const struct pw_gang *gang)
{
        const struct pw_need *need = part->plan->needs + gang->needs.first;

        for (uint32_t i = 0; i < gang->needs.count; i++)
                if (part->noticed[need[i].column] <= need[i].node) {
                        part->wait_for = need[i].column;
                        return false;
                }
        return true;
}

/* A load of what lies in place has nothing to do; it is ordered only where somebody waits for it, or where it is the one that waits
 * until its room may be written again: who writes there later relies on that. */
static bool load_is_skipped(const struct pw_part *part, const struct pw_gang *gang)
{
        const struct pw_live *live = part->live;
        const struct pw_image_node *node = pw_image_node(live->program->row.image, gang->node);

        return live->inputs[gang->load - 1].in_place && !gang->result_count && !live->run.sequential && !node->wait_count &&
               !(node->behind_count && live->ahead_count);
}

static bool window_open(struct turn *turn, uint64_t members)
{
        bool open = true;

        for (; members; members &= members - 1) {
                struct pw_device *device = turn->scheduler->devices[__builtin_ctzll(members)];
                if (device->ordered - device->done >= turn->scheduler->ahead) {
                        device->window_wanted = true;
                        open = false;
                }
        }
        return open;
}

/* No gang that is not done may lie PW_ORDER_REACH behind the head. */
static bool log_open(struct turn *turn)
{
        struct pw_island *island = turn->island;
        struct pw_device *slowest = NULL;
        uint64_t oldest = UINT64_MAX;

        if (island->seq < island->reach)
                return true;
        for (uint64_t rest = island->members; rest; rest &= rest - 1) {
                struct pw_device *device = turn->scheduler->devices[__builtin_ctzll(rest)];
                if (pw_device_oldest(device) < oldest) {
                        oldest = pw_device_oldest(device);
                        slowest = device;
                }
        }
        island->reach = (slowest ? oldest : island->seq + 1) + PW_ORDER_REACH - 1;
        if (island->seq < island->reach)
                return true;
        slowest->window_wanted = true;
        return false;
}

static enum pw_part_wait look(struct turn *turn, struct pw_part *part, const struct pw_gang *gang)
{
        if (part->live->run.sequential && part->live->step != gang->node)
                return PW_WAIT_STEP;
        if (gang->load && !input_ordered(part, gang)) {
                part->wait_for = gang->load - 1;
                return PW_WAIT_INPUT;
        }
        if (gang->needs.count && !needs_met(part, gang))
                return PW_WAIT_NOTICE;
        if (part->live->ahead_count && !pw_chain_passed(part, gang))
                return PW_WAIT_ROOM;
        if ((gang->members & turn->held) || !window_open(turn, gang->members)) {
                turn->held |= gang->members;
                return PW_WAIT_WINDOW;
        }
        if (log_open(turn))
                return PW_WAIT_NOTHING;
        turn->held = turn->island->members;
        return PW_WAIT_WINDOW;
}

/* --- ordering one -------------------------------------------------------------------------------------------------------- */

static void order_results(struct pw_part *part, const struct pw_gang *gang, uint64_t seq)
{
        struct pw_live *live = part->live;
        uint32_t island = part->plan->island;

        for (uint32_t i = 0; i < gang->result_count; i++) {
                struct pw_result *result = live->run.results[live->program->written[gang->first_result + i]];
                const struct pw_slice_map *map = &live->program->row.slices[result->value.slice];
                for (uint32_t place = 0; place < map->device_count; place++)
                        if (map->islands[place] == island)
                                result->seqs[place] = seq;
                pw_result_live(result)->ordered |= 1u << island;
        }
}

/* False: out of memory. */
static bool order_gang(struct turn *turn, struct pw_part *part, const struct pw_gang *gang)
{
        struct pw_order_item *item = pw_action_order(turn->scheduler);
        struct pw_island *island = turn->island;
        uint64_t seq = island->seq + 1, marked = gang->last;
        uint32_t index = (uint32_t)(gang - part->plan->gangs);

        if (!item)
                return false;
        island->seq = seq;
        island->log[seq % PW_ORDER_LOG] = (struct pw_ordered){ part, index };
        *item = (struct pw_order_item){ &part->live->run, gang->node, gang->members };
        turn->members |= gang->members;
        turn->count++;
        part->next++;
        if (gang->result_count || part->live->run.sequential)
                marked = gang->members;
        for (uint64_t rest = gang->members; rest; rest &= rest - 1) {
                uint32_t number = (uint32_t)__builtin_ctzll(rest);
                struct pw_device *device = turn->scheduler->devices[number];
                pw_device_order(device, seq);
                if (marked >> number & 1)
                        pw_device_mark(device, part, index);
        }
        part->open &= ~gang->last;
        if (gang->result_count) {
                order_results(part, gang, seq);
                turn->wrote = true;
        }
        return true;
}

static void skip_gang(struct pw_part *part, const struct pw_gang *gang)
{
        part->next++;
        part->open &= ~gang->last;
        if (gang->last)
                pw_part_leave(part, gang->last);
}

/* --- the turn ---------------------------------------------------------------------------------------------------------------- */

static void send_notices(struct pw_part *part, uint32_t notify, uint32_t node)
{
        struct pw_scheduler *scheduler = part->island->scheduler;

        for (; notify; notify &= notify - 1) {
                struct pw_action *action = pw_action_add(scheduler, PW_ACT_NOTICE);
                action->island = part->live->program->plans[__builtin_ctz(notify)].island;
                action->from = part->plan->island;
                action->run = &part->live->run;
                action->node = node;
                part->live->messages++;
                scheduler->actions.notices++;
        }
}

/* Order what can be ordered of one part. Returns the columns that are to be told, and of which node. */
static uint32_t order_part(struct turn *turn, struct pw_part *part, uint32_t *ret_node)
{
        const struct pw_plan *plan = part->plan;
        uint32_t notify = 0, from = part->next;

        for (part->wait = PW_WAIT_NOTHING; part->next < plan->gang_count;) {
                const struct pw_gang *gang = &plan->gangs[part->next];
                part->wait = look(turn, part, gang);
                turn->waited |= part->wait == PW_WAIT_INPUT;
                if (part->wait != PW_WAIT_NOTHING)
                        break;
                if (gang->load && load_is_skipped(part, gang))
                        skip_gang(part, gang);
                else if (!order_gang(turn, part, gang))
                        break;
                if (gang->notify) {
                        notify |= gang->notify;
                        *ret_node = gang->node;
                }
        }
        turn->island->dirty |= turn->room_waited && part->next != from && part->live->behind_count;
        turn->room_waited |= part->wait == PW_WAIT_ROOM;
        if (part->next == plan->gang_count) {
                pw_list_remove(&part->link);
                turn->wrote = true;
        }
        return notify;
}

static void order_parts(struct turn *turn)
{
        struct pw_island *island = turn->island;
        struct pw_part *part, *next;

        for (part = island->policy->next(island, NULL); part; part = next) {
                uint32_t node = 0, notify;
                next = island->policy->next(island, part);
                notify = order_part(turn, part, &node);
                if (notify)
                        send_notices(part, notify, node);
                if ((turn->held & island->members) == island->members)
                        break;
        }
}

/* The action stands in the queue before the gangs are chosen: notices follow the batch that they speak of. */
void pw_island_turn(struct pw_island *island)
{
        struct pw_scheduler *scheduler = island->scheduler;
        struct pw_actions *actions = &scheduler->actions;
        struct turn turn = { .scheduler = scheduler, .island = island, .first_seq = island->seq + 1,
                             .first_order = actions->orders_count };
        struct pw_action *action = pw_action_add(scheduler, PW_ACT_ORDER);
        uint32_t at = actions->count - 1;

        if (action == &actions->spare)
                return;
        island->dirty = false;
        order_parts(&turn);
        if (turn.wrote)
                pw_scheduler_dirty(scheduler, turn.waited ? NULL : island);
        if (!turn.count && actions->count == at + 1) {
                actions->count--;
                return;
        }
        action = &actions->items[at];
        action->island = island->number;
        action->seq = turn.first_seq;
        action->members = turn.members;
        action->orders = actions->orders + turn.first_order;
        action->order_count = turn.count;
        actions->order_batches += turn.count > 0;
}

/* --- progress ----------------------------------------------------------------------------------------------------------------- */

static void step_done(struct pw_live *live)
{
        if (--live->step_left)
                return;
        do
                live->step++;
        while (live->step < live->program->row.image->node_count && !live->program->step_members[live->step]);
        if (live->step == live->program->row.image->node_count)
                return;
        live->step_left = live->program->step_members[live->step];
        pw_scheduler_dirty(live->program->scheduler, NULL);
}

static void fire(struct pw_part *part, uint32_t index, uint64_t device)
{
        struct pw_live *live = part->live;
        const struct pw_gang *gang = &part->plan->gangs[index];

        if (index == PW_MARKER_END) {
                pw_part_left(part, 1);
                return;
        }
        for (uint32_t i = 0; i < gang->result_count; i++)
                pw_result_member_done(pw_result_live(live->run.results[live->program->written[gang->first_result + i]]));
        if (live->run.sequential)
                step_done(live);
        if (gang->last & device)
                pw_part_left(part, 1);
}

void pw_island_progress(struct pw_island *island, struct pw_device *device, uint64_t count)
{
        device->done = count;
        device->done_seq = device->seqs[(count - 1) & device->seq_mask];
        while (device->marker_first != device->marker_end) {
                struct pw_marker marker = device->markers[device->marker_first & (device->marker_capacity - 1)];
                if (marker.count > count)
                        break;
                device->marker_first++;
                fire(marker.part, marker.gang, UINT64_C(1) << device->number);
        }
        if (device->window_wanted && device->ordered - count <= island->scheduler->ahead / 2) {
                device->window_wanted = false;
                island->dirty = true;
        }
}

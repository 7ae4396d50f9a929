/* Lines at the windows of devices, and turns between tenants. */
#include "scheduler/island/line.h"

#include "scheduler/state.h"

void pw_line_init(struct pw_line *line)
{
        pw_list_init(&line->parts);
        line->late = (struct pw_heap){ 0 };
}

void pw_line_done(struct pw_line *line) { pw_heap_done(&line->late); }

void pw_stands_init(struct pw_part *part)
{
        struct pw_stand *stand = part->stands;

        for (uint64_t rest = part->plan->members; rest; rest &= rest - 1, stand++) {
                struct pw_program_device *device = pw_program_device(part->run->program, (uint32_t)__builtin_ctzll(rest));
                *stand = (struct pw_stand){ .part = part, .device = device->device, .line = &device->rooms->line };
                pw_list_init(&stand->link);
                pw_list_init(&stand->turn);
        }
}

/* Where it stands. The stands of a part are those of its plan's devices, ascending. */
#define each_stand(part, stand, rest)                                                                                  \
        for (uint64_t rest = (part)->plan->members; rest; rest &= rest - 1, stand++)                                   \
                if ((part)->stands_at & rest & -rest)

/* --- the line of a tenant ------------------------------------------------------------------------------------------------ */

static inline struct pw_stand *first_of(const struct pw_line *line)
{
        struct pw_heap_item *item = pw_heap_first(&line->late);
        struct pw_stand *first = pw_list_empty(&line->parts) ? NULL : pw_list_first(&line->parts, struct pw_stand, link);

        if (item && (!first || item->key < first->part->key))
                return pw_container_of(item, struct pw_stand, item);
        return first;
}

/* Most come behind all others. Without memory for the heap the way to its place is longer. */
static void line_up(struct pw_line *line, struct pw_stand *stand)
{
        struct pw_list *before = line->parts.prev;
        uint64_t key = stand->part->key;

        if (before != &line->parts && pw_list_item(before, struct pw_stand, link)->part->key > key &&
            pw_heap_add(&line->late, &stand->item, key))
                return;
        while (before != &line->parts && pw_list_item(before, struct pw_stand, link)->part->key > key)
                before = before->prev;
        pw_list_append(before->next, &stand->link);
}

/* --- turns ------------------------------------------------------------------------------------------------------------------ */

static void come_to_front(struct pw_part *part)
{
        pw_list_append(&part->island->fronts, &part->link);
        part->island->dirty = true;
}

/* It is at the front no longer, if it was. */
static void leave_front(struct pw_part *part)
{
        if (part->parked)
                part->parked->parked = NULL;
        part->parked = NULL;
        pw_list_remove(&part->link);
}

/* One more is before it. */
static void fall_back(struct pw_part *part)
{
        part->island->kept_back++;
        if (!part->turns_ahead++)
                leave_front(part);
}

/* Into the turns of its device, by key. True: others are before it. */
static bool line_up_turn(struct pw_stand *stand)
{
        struct pw_list *turns = &stand->device->turns, *before = turns->prev;

        while (before != turns && pw_list_item(before, struct pw_stand, turn)->part->turn_key > stand->part->turn_key)
                before = before->prev;
        if (before == turns && !pw_list_empty(turns))
                fall_back(pw_list_first(turns, struct pw_stand, turn)->part);
        pw_list_append(before->next, &stand->turn);
        return before != turns;
}

static void take_turn(struct pw_part *part)
{
        struct pw_stand *stand = part->stands;

        part->has_turn = true;
        part->turns_ahead = 0;
        part->turn_key = part->island->policy->turn(part->island->state, part);
        each_stand(part, stand, rest)
                part->turns_ahead += line_up_turn(stand);
        part->island->kept_back += part->turns_ahead;
        if (!part->turns_ahead)
                come_to_front(part);
}

/* One less is before it. */
static void move_up(struct pw_part *part)
{
        part->island->kept_back--;
        if (!--part->turns_ahead)
                come_to_front(part);
}

static void give_turn_up(struct pw_part *part)
{
        struct pw_stand *stand = part->stands;

        part->has_turn = false;
        part->island->kept_back -= part->turns_ahead;
        leave_front(part);
        each_stand(part, stand, rest) {
                struct pw_list *turns = &stand->device->turns;
                bool first = turns->next == &stand->turn;

                pw_list_remove(&stand->turn);
                if (first && !pw_list_empty(turns))
                        move_up(pw_list_first(turns, struct pw_stand, turn)->part);
        }
}

bool pw_part_next_turn(struct pw_part *part)
{
        give_turn_up(part);
        take_turn(part);
        return !part->turns_ahead;
}

void pw_part_park(struct pw_part *part, struct pw_device *device)
{
        pw_list_remove(&part->link);
        part->parked = device;
        device->parked = part;
}

void pw_device_unpark(struct pw_device *device)
{
        struct pw_part *part = device->parked;

        if (!part)
                return;
        device->parked = NULL;
        part->parked = NULL;
        come_to_front(part);
}

/* --- in and out --------------------------------------------------------------------------------------------------------------- */

static void becomes_first(struct pw_part *part)
{
        if (!--part->lines_ahead)
                take_turn(part);
}

static void is_first_no_longer(struct pw_part *part)
{
        part->lines_ahead++;
        if (part->has_turn)
                give_turn_up(part);
}

void pw_part_stand(struct pw_part *part, uint64_t members)
{
        struct pw_stand *stand = part->stands;

        part->wait = PW_WAIT_WINDOW;
        part->stands_at = members;
        part->stand_seq = part->island->seq;
        part->lines_ahead = 0;
        part->island->waited |= members;
        each_stand(part, stand, rest) {
                struct pw_stand *first = first_of(stand->line);

                line_up(stand->line, stand);
                stand->device->standing++;
                if (!first)
                        continue;
                if (first->part->key > part->key)
                        is_first_no_longer(first->part);
                else
                        part->lines_ahead++;
        }
        if (!part->lines_ahead)
                take_turn(part);
}

void pw_part_step_out(struct pw_part *part)
{
        struct pw_stand *stand = part->stands;

        if (!part->stands_at)
                return;
        if (part->has_turn)
                give_turn_up(part);
        each_stand(part, stand, rest) {
                bool was_first = first_of(stand->line) == stand;
                struct pw_stand *first;

                if (stand->item.place)
                        pw_heap_remove(&stand->line->late, &stand->item);
                else
                        pw_list_remove(&stand->link);
                if (was_first && (first = first_of(stand->line)))
                        becomes_first(first->part);
                if (!--stand->device->standing)
                        part->island->waited &= ~(rest & -rest);
        }
        part->stands_at = 0;
        part->wait = PW_WAIT_NOTHING;
}

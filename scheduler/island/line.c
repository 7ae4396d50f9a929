/* Lines at the windows of devices, and turns between tenants. */
#include "scheduler/island/line.h"

#include "scheduler/state.h"

void pw_line_init(struct pw_line *line)
{
        pw_list_init(&line->fragments);
        line->late = (struct pw_heap){ 0 };
}

void pw_line_done(struct pw_line *line) { pw_heap_done(&line->late); }

void pw_stands_init(struct pw_fragment *fragment)
{
        struct pw_stand *stand = fragment->stands;

        for (uint64_t rest = fragment->plan->members; rest; rest &= rest - 1, stand++) {
                struct pw_program_device *device = pw_program_device(fragment->run->program, (uint32_t)__builtin_ctzll(rest));
                *stand = (struct pw_stand){ .fragment = fragment, .device = device->device, .line = &device->rooms->line };
                pw_list_init(&stand->link);
                pw_list_init(&stand->turn);
                pw_list_init(&stand->leaving);
        }
}

struct pw_stand *pw_fragment_stand_at(const struct pw_fragment *fragment, uint32_t device)
{
        return &fragment->stands[__builtin_popcountll(fragment->plan->members & ((UINT64_C(1) << device) - 1))];
}

/* Where it stands. The stands of a fragment are those of its plan's devices, ascending. */
#define each_stand(fragment, stand, rest)                                                                                  \
        for (uint64_t rest = (fragment)->plan->members; rest; rest &= rest - 1, stand++)                                   \
                if ((fragment)->stands_at & rest & -rest)

/* --- the line of a tenant ------------------------------------------------------------------------------------------------ */

static inline struct pw_stand *first_of(const struct pw_line *line)
{
        struct pw_heap_item *item = pw_heap_first(&line->late);
        struct pw_stand *first = pw_list_empty(&line->fragments) ? NULL : pw_list_first(&line->fragments, struct pw_stand, link);

        if (item && (!first || item->key < first->fragment->key))
                return pw_container_of(item, struct pw_stand, item);
        return first;
}

/* Most come behind all others. Without memory for the heap the way to its place is longer. */
static void line_up(struct pw_line *line, struct pw_stand *stand)
{
        struct pw_list *before = line->fragments.prev;
        uint64_t key = stand->fragment->key;

        if (before != &line->fragments && pw_list_item(before, struct pw_stand, link)->fragment->key > key &&
            pw_heap_add(&line->late, &stand->item, key))
                return;
        while (before != &line->fragments && pw_list_item(before, struct pw_stand, link)->fragment->key > key)
                before = before->prev;
        pw_list_append(before->next, &stand->link);
}

/* --- turns ------------------------------------------------------------------------------------------------------------------ */

static void come_to_front(struct pw_fragment *fragment)
{
        pw_list_append(&fragment->island->fronts, &fragment->link);
        fragment->island->dirty = true;
}

/* It is at the front no longer, if it was. */
static void leave_front(struct pw_fragment *fragment)
{
        if (fragment->parked)
                fragment->parked->parked = NULL;
        fragment->parked = NULL;
        pw_list_remove(&fragment->link);
}

/* One more is before it. */
static void fall_back(struct pw_fragment *fragment)
{
        fragment->island->kept_back++;
        if (!fragment->turns_ahead++)
                leave_front(fragment);
}

/* Into the turns of its device, by key. True: others are before it. */
static bool line_up_turn(struct pw_stand *stand)
{
        struct pw_list *turns = &stand->device->turns, *before = turns->prev;

        while (before != turns && pw_list_item(before, struct pw_stand, turn)->fragment->turn_key > stand->fragment->turn_key)
                before = before->prev;
        if (before == turns && !pw_list_empty(turns))
                fall_back(pw_list_first(turns, struct pw_stand, turn)->fragment);
        pw_list_append(before->next, &stand->turn);
        return before != turns;
}

static void take_turn(struct pw_fragment *fragment)
{
        struct pw_stand *stand = fragment->stands;

        fragment->has_turn = true;
        fragment->turns_ahead = 0;
        fragment->turn_key = fragment->island->policy->turn(fragment->island->state, fragment);
        each_stand(fragment, stand, rest)
                fragment->turns_ahead += line_up_turn(stand);
        fragment->island->kept_back += fragment->turns_ahead;
        if (!fragment->turns_ahead)
                come_to_front(fragment);
}

/* One less is before it. */
static void move_up(struct pw_fragment *fragment)
{
        fragment->island->kept_back--;
        if (!--fragment->turns_ahead)
                come_to_front(fragment);
}

static void give_turn_up(struct pw_fragment *fragment)
{
        struct pw_stand *stand = fragment->stands;

        fragment->has_turn = false;
        fragment->island->kept_back -= fragment->turns_ahead;
        leave_front(fragment);
        each_stand(fragment, stand, rest) {
                struct pw_list *turns = &stand->device->turns;
                bool first = turns->next == &stand->turn;

                pw_list_remove(&stand->turn);
                if (first && !pw_list_empty(turns))
                        move_up(pw_list_first(turns, struct pw_stand, turn)->fragment);
        }
}

bool pw_fragment_next_turn(struct pw_fragment *fragment)
{
        give_turn_up(fragment);
        take_turn(fragment);
        return !fragment->turns_ahead;
}

void pw_fragment_park(struct pw_fragment *fragment, struct pw_device *device)
{
        pw_list_remove(&fragment->link);
        fragment->parked = device;
        device->parked = fragment;
}

void pw_device_unpark(struct pw_device *device)
{
        struct pw_fragment *fragment = device->parked;

        if (!fragment)
                return;
        device->parked = NULL;
        fragment->parked = NULL;
        come_to_front(fragment);
}

/* --- in and out --------------------------------------------------------------------------------------------------------------- */

static void becomes_first(struct pw_fragment *fragment)
{
        if (!--fragment->lines_ahead)
                take_turn(fragment);
}

static void is_first_no_longer(struct pw_fragment *fragment)
{
        fragment->lines_ahead++;
        if (fragment->has_turn)
                give_turn_up(fragment);
}

void pw_fragment_stand(struct pw_fragment *fragment, uint64_t members)
{
        struct pw_stand *stand = fragment->stands;

        fragment->wait = PW_WAIT_WINDOW;
        fragment->stands_at = members;
        fragment->stand_seq = fragment->island->seq;
        fragment->lines_ahead = 0;
        fragment->island->waited |= members;
        each_stand(fragment, stand, rest) {
                struct pw_stand *first = first_of(stand->line);

                line_up(stand->line, stand);
                stand->device->standing++;
                if (!first)
                        continue;
                if (first->fragment->key > fragment->key)
                        is_first_no_longer(first->fragment);
                else
                        fragment->lines_ahead++;
        }
        if (!fragment->lines_ahead)
                take_turn(fragment);
}

void pw_fragment_step_out(struct pw_fragment *fragment)
{
        struct pw_stand *stand = fragment->stands;

        if (!fragment->stands_at)
                return;
        if (fragment->has_turn)
                give_turn_up(fragment);
        each_stand(fragment, stand, rest) {
                bool was_first = first_of(stand->line) == stand;
                struct pw_stand *first;

                if (stand->item.place)
                        pw_heap_remove(&stand->line->late, &stand->item);
                else
                        pw_list_remove(&stand->link);
                if (was_first && (first = first_of(stand->line)))
                        becomes_first(first->fragment);
                if (!--stand->device->standing)
                        fragment->island->waited &= ~(rest & -rest);
        }
        fragment->stands_at = 0;
        fragment->wait = PW_WAIT_NOTHING;
}

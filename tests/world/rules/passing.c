/* Who passes whom at the windows of devices: nobody of the same tenant, and of each other tenant one gang at a device. */
#include "tests/world/world.h"

#include "scheduler/state.h"

/* What was ordered is noted by island, and kept for so many gangs. */
#define KEPT 4096u
struct world_passing { struct { const void *tenant; uint64_t members; } gangs[PW_ISLANDS_MAX][KEPT]; };

struct world_passing *world_passing_new(void) { return calloc(1, sizeof(struct world_passing)); }

static const struct pw_gang *waiting_gang(const struct pw_fragment *fragment)
{
        if (fragment->wait != PW_WAIT_WINDOW || fragment->next == fragment->plan->gang_count)
                return NULL;
        return &fragment->plan->gangs[fragment->next];
}

/* The fragment of a run in an island whose gang waits there for windows; NULL: none. */
static struct pw_fragment *waiting_fragment(const struct world *world, const struct world_run *run, uint32_t island)
{
        struct pw_host_run *here = pw_host_find(world->scheduler, run->number);
        struct pw_fragment *fragment = here ? pw_host_run_fragment(here, island) : NULL;

        return fragment && waiting_gang(fragment) ? fragment : NULL;
}

static bool comes_before(const struct pw_fragment *first, const struct pw_fragment *second)
{
        return first->run->program->quota == second->run->program->quota && first->run->admission < second->run->admission &&
               (waiting_gang(first)->members & waiting_gang(second)->members);
}

/* Of its tenant's, at each of its devices. */
static bool is_first(struct world *world, const struct pw_fragment *fragment)
{
        struct world_run *run;

        pw_list_each(&world->runs, run, struct world_run, link) {
                const struct pw_fragment *other = waiting_fragment(world, run, fragment->plan->island);
                if (other && comes_before(other, fragment))
                        return false;
        }
        return true;
}

static void check_passed(struct world *world, struct world_run *run, const struct pw_fragment *fragment)
{
        uint32_t island = fragment->plan->island;
        uint64_t head = fragment->island->seq, members = waiting_gang(fragment)->members;

        if (fragment->island->policy != &pw_policy_fifo)
                return; /* others do not take turns evenly */
        for (uint64_t seq = run->first_since[island] + 1; seq <= head; seq++) {
                const void *tenant = world->passing->gangs[island][seq % KEPT].tenant;
                uint64_t passed = world->passing->gangs[island][seq % KEPT].members & members;
                for (uint64_t later = seq + 1; passed && later <= head; later++)
                        if (world->passing->gangs[island][later % KEPT].tenant == tenant &&
                            (world->passing->gangs[island][later % KEPT].members & passed))
                                world_fail(world,
                                           "run %lu waits for windows, gangs %lu and %lu of another tenant pass it on a device",
                                           (unsigned long)run->number, (unsigned long)seq, (unsigned long)later);
        }
}

/* It is the first of its tenant since it was seen so, unless an earlier one went on meanwhile. */
static void check_waiting(struct world *world, struct world_run *run, const struct pw_fragment *fragment)
{
        uint32_t island = fragment->plan->island;
        uint64_t head = fragment->island->seq;
        bool first = is_first(world, fragment), moved = run->first_next[island] != fragment->next;

        if (first != fragment->has_turn)
                world_fail(world, "run %lu is %sthe first of its tenant to wait for windows, and has %s turn",
                           (unsigned long)run->number, first ? "" : "not ", first ? "no" : "a");
        for (uint64_t seq = run->first_since[island] + 1; !moved && seq <= head; seq++)
                moved = world->passing->gangs[island][seq % KEPT].tenant == fragment->run->program->quota &&
                        (world->passing->gangs[island][seq % KEPT].members & waiting_gang(fragment)->members);
        if (!first || moved || !run->first_since[island] || head - run->first_since[island] >= KEPT) {
                run->first_since[island] = first ? head : 0;
                run->first_next[island] = fragment->next;
        }
        if (first)
                check_passed(world, run, fragment);
}

/* Who waited before the gang `seq` is passed by none of its tenant's on any of its devices, open or not. */
static void check_order(struct world *world, uint32_t island, uint64_t seq, const struct pw_order_item *item)
{
        const struct pw_host_run *ordered = pw_host_find(world->scheduler, item->run);
        struct world_run *run;

        pw_list_each(&world->runs, run, struct world_run, link) {
                const struct pw_fragment *fragment = waiting_fragment(world, run, island);
                if (!fragment || fragment->stand_seq >= seq || fragment->run->program->quota != ordered->program->quota ||
                    fragment->run->admission >= ordered->admission || !(waiting_gang(fragment)->members & item->members))
                        continue;
                world_fail(world, "run %lu waits for the windows of its devices, run %lu behind it is ordered on one of them",
                           (unsigned long)run->number, (unsigned long)item->run);
        }
}

static void note_orders(struct world *world, const struct pw_message *order, const struct pw_order_item *items)
{
        for (uint32_t i = 0; i < order->order_count; i++) {
                const struct pw_order_item *item = &items[i];
                uint64_t seq = order->seq + i;
                check_order(world, order->island, seq, item);
                world->passing->gangs[order->island][seq % KEPT].tenant = pw_live_find(world->scheduler, item->run)->program->quota;
                world->passing->gangs[order->island][seq % KEPT].members = item->members;
        }
}

void world_check_passing(struct world *world)
{
        const struct pw_actions *actions = pw_scheduler_actions(world->scheduler);
        struct world_run *run;

        for (uint32_t i = 0; i < actions->count; i++)
                if (actions->items[i].kind == PW_ACT_BOARD && actions->items[i].message.kind == PW_MSG_ORDER)
                        note_orders(world, &actions->items[i].message, actions->orders + actions->items[i].message.first_order);
        pw_list_each(&world->runs, run, struct world_run, link)
                for (uint32_t i = 0; i < world->options.islands; i++) {
                        const struct pw_fragment *fragment = waiting_fragment(world, run, i);
                        if (fragment)
                                check_waiting(world, run, fragment);
                }
}

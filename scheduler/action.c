/* The queue of actions: appended here, worked off and cleared by the daemon. */
#include "scheduler/state.h"

bool pw_actions_init(struct pw_actions *actions)
{
        *actions = (struct pw_actions){ .items = NULL };
        pw_list_init(&actions->ended_runs);
        pw_list_init(&actions->gone_results);
        pw_list_init(&actions->ended_programs);
        return pw_grow_ahead((void **)&actions->items, &actions->capacity, 0, sizeof *actions->items) &&
               pw_grow_ahead((void **)&actions->orders, &actions->orders_capacity, 0, sizeof *actions->orders);
}

struct pw_action *pw_action_add(struct pw_scheduler *scheduler, enum pw_action_kind kind)
{
        struct pw_actions *actions = &scheduler->actions;
        struct pw_action *action = &actions->spare;

        if (pw_grow_ahead((void **)&actions->items, &actions->capacity, actions->count, sizeof *actions->items))
                action = &actions->items[actions->count++];
        *action = (struct pw_action){ .kind = kind };
        return action;
}

/* The orders of earlier actions move with the pool. */
static bool grow_orders(struct pw_actions *actions)
{
        struct pw_order_item *before = actions->orders;

        bool more =
                pw_grow_ahead((void **)&actions->orders, &actions->orders_capacity, actions->orders_count, sizeof *actions->orders);

        for (uint32_t i = 0; actions->orders != before && i < actions->count; i++)
                if (actions->items[i].kind == PW_ACT_ORDER && actions->items[i].order_count)
                        actions->items[i].orders = actions->orders + (actions->items[i].orders - before);
        return more;
}

struct pw_order_item *pw_action_order(struct pw_scheduler *scheduler)
{
        struct pw_actions *actions = &scheduler->actions;

        if (actions->orders_count >= actions->orders_capacity / 2 && !grow_orders(actions))
                return NULL;
        return &actions->orders[actions->orders_count++];
}

static void recycle(struct pw_actions *actions)
{
        struct pw_live *live;
        struct pw_result *result;
        struct pw_program *program;

        pw_list_each(&actions->ended_runs, live, struct pw_live, link)
                pw_live_recycle(live);
        pw_list_each(&actions->gone_results, result, struct pw_result, link)
                pw_result_recycle(pw_result_live(result));
        pw_list_each(&actions->ended_programs, program, struct pw_program, link) {
                pw_list_remove(&program->link);
                pw_program_destroy(program);
        }
}

void pw_actions_clear(struct pw_actions *actions)
{
        for (uint32_t i = 0; i < actions->count; i++)
                free(actions->items[i].text);
        actions->count = actions->done = actions->orders_count = 0;
        recycle(actions);
}

void pw_actions_done(struct pw_actions *actions)
{
        pw_actions_clear(actions);
        free(actions->items);
        free(actions->orders);
}

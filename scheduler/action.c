/* The queue of actions: appended here, worked off and cleared by the daemon. */
#include "scheduler/state.h"

#include "base/memory.h"
#include "base/size.h"

#define BYTES_LEAST 4096u
#define BYTES_KEPT (UINT64_C(1) << 20) /* a pool that was larger goes when its messages are done */

bool pw_actions_init(struct pw_actions *actions)
{
        *actions = (struct pw_actions){ .items = NULL };
        pw_list_init(&actions->ended_runs);
        pw_list_init(&actions->ended_host_runs);
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
        action->kind = kind;
        action->status = PW_OK;
        action->run = NULL;
        action->program = NULL;
        action->text = NULL;
        action->frame = (struct pw_core_frame){ 0 };
        return action;
}

void pw_action_text(struct pw_scheduler *scheduler, struct pw_action *action, const char *text)
{
        if (action == &scheduler->actions.spare) /* nobody frees what that has */
                return;
        action->text = strdup(text);
        scheduler->actions.owning = true;
}

struct pw_message *pw_action_message(struct pw_scheduler *scheduler, enum pw_message_kind kind)
{
        struct pw_action *action = pw_action_add(scheduler, PW_ACT_BOARD);

        action->message = (struct pw_message){ .kind = kind };
        return &action->message;
}

struct pw_core_message *pw_action_core(struct pw_scheduler *scheduler, const struct pw_run_id *run, enum pw_core_kind kind)
{
        struct pw_action *action = pw_action_add(scheduler, PW_ACT_CORE);

        action->core = (struct pw_core_message){ .kind = kind, .run = *run };
        return &action->core;
}

struct pw_order_item *pw_action_order(struct pw_scheduler *scheduler)
{
        struct pw_actions *actions = &scheduler->actions;

        if (actions->orders_count >= actions->orders_capacity / 2 &&
            !pw_grow_ahead((void **)&actions->orders, &actions->orders_capacity, actions->orders_count, sizeof *actions->orders))
                return NULL;
        return &actions->orders[actions->orders_count++];
}

void *pw_action_bytes(struct pw_scheduler *scheduler, uint64_t bytes, uint64_t *ret_offset)
{
        struct pw_actions *actions = &scheduler->actions;
        uint64_t offset = actions->bytes_count, end = offset + pw_round_up(bytes, 8);

        if (end > actions->bytes_capacity) {
                uint64_t capacity = pw_max_u64(2 * actions->bytes_capacity, pw_max_u64(end, BYTES_LEAST));
                uint8_t *more = realloc(actions->bytes, capacity);
                if (!more)
                        return NULL;
                actions->bytes = more;
                actions->bytes_capacity = capacity;
        }
        actions->bytes_count = end;
        *ret_offset = offset;
        return actions->bytes + offset;
}

static void recycle(struct pw_actions *actions)
{
        struct pw_live *live;
        struct pw_host_run *run;
        struct pw_result *result;
        struct pw_sched_program *program;

        pw_list_each(&actions->ended_runs, live, struct pw_live, link)
                pw_live_recycle(live);
        pw_list_each(&actions->ended_host_runs, run, struct pw_host_run, link)
                pw_host_run_recycle(run);
        pw_list_each(&actions->gone_results, result, struct pw_result, link)
                pw_result_recycle(pw_result_live(result));
        pw_list_each(&actions->ended_programs, program, struct pw_sched_program, link) {
                pw_list_remove(&program->link);
                pw_program_destroy(program);
        }
}

static void free_owned(struct pw_actions *actions)
{
        for (uint32_t i = 0; i < actions->count; i++) {
                free(actions->items[i].text);
                if (actions->items[i].kind == PW_ACT_CORE)
                        free(actions->items[i].frame.bytes);
        }
        actions->owning = false;
}

void pw_actions_clear(struct pw_actions *actions)
{
        if (actions->owning)
                free_owned(actions);
        actions->count = actions->done = actions->orders_count = 0;
        actions->bytes_count = 0;
        if (actions->bytes_capacity > BYTES_KEPT) {
                free(actions->bytes);
                actions->bytes = NULL;
                actions->bytes_capacity = 0;
        }
        recycle(actions);
}

void pw_actions_done(struct pw_actions *actions)
{
        pw_actions_clear(actions);
        free(actions->items);
        free(actions->orders);
        free(actions->bytes);
}

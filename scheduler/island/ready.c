/* What a part waits for before it waits for windows: inputs, notices, its step, the runs ahead in its blocks. Each of these wakes
 * who rests for it. */
#include "scheduler/state.h"

/* The maker of an input is ordered to its end here, and nobody reads the room from another device any more. */
static bool maker_has_passed(const struct pw_host_result *input, uint32_t island)
{
        const struct pw_host_run *maker = input->maker;

        if (!maker)
                return true;
        if (maker->program->plan.results[input->index].read_afar)
                return false;
        for (uint32_t i = 0; i < maker->program->plan.column_count; i++)
                if (maker->parts[i].plan->island == island)
                        return maker->parts[i].next == maker->parts[i].plan->gang_count;
        return true;
}

/* Is the input of a load where the load, or whoever reads it in place, will find it? */
static bool input_ordered(const struct pw_part *part, const struct pw_gang *gang)
{
        const struct pw_host_input *input = &part->run->inputs[gang->load - 1];
        const struct pw_host_result *result;
        uint32_t island = part->island->number;

        if (!input->result || input->status != PW_OK)
                return true;
        if (input->takes && !maker_has_passed(input->result, island))
                return false;
        result = input->result;
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

enum pw_part_wait pw_part_look(struct pw_part *part, const struct pw_gang *gang)
{
        if (part->run->sequential && part->run->step != gang->node)
                return PW_WAIT_STEP;
        if (gang->load && !input_ordered(part, gang)) {
                part->wait_for = gang->load - 1;
                return PW_WAIT_INPUT;
        }
        if (gang->needs.count && !needs_met(part, gang))
                return PW_WAIT_NOTICE;
        if (part->run->ahead_count && !pw_chain_passed(part, gang))
                return PW_WAIT_ROOM;
        return PW_WAIT_NOTHING;
}

void pw_part_rest(struct pw_part *part)
{
        struct pw_host_result *result;

        switch (part->wait) {
        case PW_WAIT_INPUT:
                result = part->run->inputs[part->wait_for].result;
                if (result->maker)
                        result->maker->read_early = true;
                pw_list_append(&result->readers, &part->link);
                break;
        case PW_WAIT_ROOM:
                pw_list_append(&part->run->holds[part->wait_for].ahead->parts[part->column].behind, &part->link);
                break;
        default: break; /* a notice and a step name who waits for them */
        }
}

void pw_part_wake(struct pw_part *part)
{
        struct pw_island *island = part->island;

        pw_list_remove(&part->link);
        part->wait = PW_WAIT_NOTHING;
        if (pw_list_empty(&island->woken))
                island->jumbled = false;
        else if (pw_list_item(island->woken.prev, struct pw_part, link)->key > part->key)
                island->jumbled = true;
        pw_list_append(&island->woken, &part->link);
        island->dirty = true;
}

void pw_parts_wake(struct pw_list *resting)
{
        while (!pw_list_empty(resting))
                pw_part_wake(pw_list_first(resting, struct pw_part, link));
}

void pw_part_got_on(struct pw_part *part)
{
        struct pw_host_run *run = part->run;

        pw_parts_wake(&part->behind);
        if (part->next < part->plan->gang_count || !run->read_early)
                return;
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                pw_parts_wake(&run->results[i]->readers);
}

void pw_host_run_stepped(struct pw_host_run *run)
{
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->parts[c].wait == PW_WAIT_STEP)
                        pw_part_wake(&run->parts[c]);
}

/* What a fragment waits for before it waits for windows: inputs, notices, its step, the runs ahead in its blocks. Each of these
 * wakes who rests for it. */
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
                if (maker->fragments[i].plan->island == island)
                        return maker->fragments[i].next == maker->fragments[i].plan->gang_count;
        return true;
}

/* Is the input of a load where the load, or whoever reads it in place, will find it? */
static bool input_ordered(const struct pw_fragment *fragment, const struct pw_gang *gang)
{
        const struct pw_host_input *input = &fragment->run->inputs[gang->load - 1];
        const struct pw_host_result *result;
        uint32_t island = fragment->island->number;

        if (!input->result || input->status != PW_OK)
                return true;
        if (input->takes && !maker_has_passed(input->result, island))
                return false;
        result = input->result;
        return input->in_place ? result->ordered >> island & 1 : result->ordered == result->islands;
}

static bool needs_met(struct pw_fragment *fragment, const struct pw_gang *gang)
{
        const struct pw_need *need = fragment->plan->needs + gang->needs.first;

        for (uint32_t i = 0; i < gang->needs.count; i++)
                if (fragment->noticed[need[i].column] <= need[i].node) {
                        fragment->wait_for = need[i].column;
                        return false;
                }
        return true;
}

enum pw_fragment_wait pw_fragment_check(struct pw_fragment *fragment, const struct pw_gang *gang)
{
        if (fragment->run->sequential && fragment->run->step != gang->node)
                return PW_WAIT_STEP;
        if (gang->load && !input_ordered(fragment, gang)) {
                fragment->wait_for = gang->load - 1;
                return PW_WAIT_INPUT;
        }
        if (gang->needs.count && !needs_met(fragment, gang))
                return PW_WAIT_NOTICE;
        if (fragment->run->ahead_count && !pw_chain_passed(fragment, gang))
                return PW_WAIT_ROOM;
        return PW_WAIT_NOTHING;
}

void pw_fragment_rest(struct pw_fragment *fragment)
{
        struct pw_host_result *result;

        switch (fragment->wait) {
        case PW_WAIT_INPUT:
                result = fragment->run->inputs[fragment->wait_for].result;
                if (result->maker)
                        result->maker->read_early = true;
                pw_list_append(&result->readers, &fragment->link);
                break;
        case PW_WAIT_ROOM:
                pw_list_append(&fragment->run->holds[fragment->wait_for].ahead->fragments[fragment->column].behind,
                               &fragment->link);
                break;
        default: break; /* a notice and a step name who waits for them */
        }
}

void pw_fragment_wake(struct pw_fragment *fragment)
{
        struct pw_island *island = fragment->island;

        pw_list_remove(&fragment->link);
        fragment->wait = PW_WAIT_NOTHING;
        if (pw_list_empty(&island->woken))
                island->jumbled = false;
        else if (pw_list_item(island->woken.prev, struct pw_fragment, link)->key > fragment->key)
                island->jumbled = true;
        pw_list_append(&island->woken, &fragment->link);
        island->dirty = true;
}

void pw_fragments_wake(struct pw_list *resting)
{
        while (!pw_list_empty(resting))
                pw_fragment_wake(pw_list_first(resting, struct pw_fragment, link));
}

void pw_fragment_got_on(struct pw_fragment *fragment)
{
        struct pw_host_run *run = fragment->run;

        pw_fragments_wake(&fragment->behind);
        if (fragment->next < fragment->plan->gang_count || !run->read_early)
                return;
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                pw_fragments_wake(&run->results[i]->readers);
}

void pw_host_run_stepped(struct pw_host_run *run)
{
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->fragments[c].wait == PW_WAIT_STEP)
                        pw_fragment_wake(&run->fragments[c]);
}

/* Depth first over choices. */
#include "tests/model/explore_private.h"

struct explorer x;

static struct {
        struct seen states, ends, views;
        uint64_t state_count, execution_count;
} found;

/* --- choices --------------------------------------------------------------------------------------------------------- */

/* Whose kill kills its process: the first thread of it that is not done. */
static bool may_be_killed(int number)
{
        const struct thread *thread = &x.threads[number];

        if (thread->process < 0 || thread->status >= DONE || !(x.victims >> thread->process & 1) || x.kills >= x.model->kills)
                return false;
        for (int i = 0; i < number; i++)
                if (x.threads[i].process == thread->process && x.threads[i].status < DONE)
                        return false;
        return true;
}

static void list_options(struct depth *depth)
{
        for (int i = 0; i < x.thread_count; i++) {
                const struct thread *thread = &x.threads[i];
                bool late = thread->status == SLEEPING && x.model->overslept && x.model->overslept();

                if (late || pw_may_step(thread))
                        depth->steps |= (uint8_t)(1u << i);
                if (late)
                        depth->timeouts |= (uint8_t)(1u << i);
                if (may_be_killed(i))
                        depth->kills |= (uint8_t)(1u << i);
        }
}

/* The next thing to do at a state; false: all was done. */
static bool next_choice(struct depth *depth)
{
        uint8_t left = depth->todo & (uint8_t)~depth->done;
        uint32_t thread;

        if (depth->done && depth->now.kind != KILL && depth->kills >> depth->now.thread & 1) {
                depth->now.kind = KILL;
                return true;
        }
        if (!left)
                return false;
        thread = (uint32_t)__builtin_ctz(left);
        depth->done |= (uint8_t)(1u << thread);
        depth->now = (struct choice){ .thread = (uint8_t)thread, .kind = depth->timeouts >> thread & 1 ? TIMEOUT
                                                                         : depth->steps >> thread & 1 ? STEP : KILL };
        return true;
}

/* --- executions ------------------------------------------------------------------------------------------------------- */

static void check_end(uint64_t state)
{
        bool new;

        pw_seen_put(&found.ends, state, &new);
        for (int i = 0; i < x.thread_count; i++)
                model_must(x.threads[i].status >= DONE || x.threads[i].service, "a thread waits for ever");
        if (x.model->end)
                x.model->end();
}

/* A state was reached whose hash has this value: 0: it lies on the way here; else the number of its summary. */
static void seen_again(uint32_t value)
{
        if (!value) {
                model_must(false, "it can go round for ever");
                return;
        }
        if (!x.reduced)
                return;
        pw_reduce_seen(pw_summary_get(value));
        pw_summary_add(&x.path[x.depth - 1].below, pw_summary_get(value));
}

/* At a state, by choices that were not made before. False: nothing is to be chosen here. */
static bool arrive(void)
{
        struct depth *depth = &x.path[x.depth];
        uint64_t state = pw_state();
        bool new;
        uint32_t *value;

        pw_seen_put(&found.views, x.view ? x.view : 1, &new);
        value = pw_seen_put(&found.states, state, &new);
        if (!new) {
                seen_again(*value);
                return false;
        }
        *depth = (struct depth){ .state = state };
        found.state_count++;
        list_options(depth);
        /* Where only kills are left: it is an end among those with fewer victims. */
        if (!depth->steps && (!x.reduced || !depth->kills))
                check_end(state);
        pw_reduce_first(depth);
        if (++x.path_count == DEPTH_MAX)
                model_must(false, "an execution does not end");
        return next_choice(depth);
}

/* One execution: along the path, then on by first choices, until a state that was seen, or the end. */
static void execute(void)
{
        x.thread_count = 0;
        x.kills = x.dead = 0;
        x.self = -1;
        x.replayed = x.path_count ? x.path_count - 1 : 0;
        pw_state_begin();
        x.model->begin();
        pw_state_built();
        x.view = pw_mix_regions(1, &x.views);
        for (x.depth = 0; !x.is_broken; x.depth++) {
                if (x.depth == x.path_count && !arrive())
                        return;
                pw_choose(x.path[x.depth].now);
                if (x.reduced && x.depth >= x.replayed)
                        pw_reduce_step();
        }
}

/* The next path: the last state with something left to choose. */
static bool backtrack(void)
{
        while (x.path_count && !next_choice(&x.path[x.path_count - 1])) {
                struct depth *depth = &x.path[--x.path_count];
                bool new;
                *pw_seen_put(&found.states, depth->state, &new) = x.reduced ? pw_summary_put(&depth->below) : 1;
                if (x.path_count)
                        pw_summary_add(&x.path[x.path_count - 1].below, &depth->below);
        }
        return x.path_count != 0;
}

static void explore_victims(uint32_t victims)
{
        x.victims = victims;
        x.path_count = 0;
        do {
                execute();
                found.execution_count++;
        } while (!x.is_broken && backtrack());
        pw_seen_clear(&found.states);
        pw_summaries_clear();
}

static void print_path(void)
{
        static const char *const kinds[] = { "", " killed", " timed out" };

        printf("  %s: %s\n  choices:", x.model->name, x.broken);
        for (uint32_t i = 0; i < x.path_count; i++)
                printf(" %s%s", x.threads[x.path[i].now.thread].name, kinds[x.path[i].now.kind]);
        printf("\n");
}

/* Processes that can be killed, as the model builds them. */
static uint32_t processes(void)
{
        uint32_t all = 0;

        x.self = -1;
        x.thread_count = 0;
        pw_state_begin();
        x.model->begin();
        for (int i = 0; i < x.thread_count; i++)
                all |= x.threads[i].process >= 0 ? 1u << x.threads[i].process : 0;
        return all;
}

bool model_explore(const struct model *model, bool reduced, struct model_found *ret_found)
{
        uint32_t all;

        memset(&found, 0, sizeof found);
        x.model = model;
        x.reduced = reduced;
        x.is_broken = false;
        if (!x.path && !(x.path = calloc(DEPTH_MAX + 1, sizeof *x.path)))
                abort();
        all = processes();
        /* Who may be killed is chosen first: so that a kill of one does not forbid the kill of another. */
        if (!reduced)
                explore_victims(all);
        for (uint32_t victims = 0; reduced && victims <= all && !x.is_broken; victims++)
                if (!(victims & ~all) && (uint32_t)__builtin_popcount(victims) <= model->kills)
                        explore_victims(victims);
        model_must(found.ends.count, "no execution comes to an end");
        if (x.is_broken)
                print_path();
        *ret_found = (struct model_found){ found.state_count, found.execution_count, found.ends.count, found.views.count,
                                           found.ends.digest ^ found.views.digest };
        printf("%-10s %8llu states %9llu executions %6llu ends%s  %s\n", model->name, (unsigned long long)found.state_count,
               (unsigned long long)found.execution_count, (unsigned long long)found.ends.count, reduced ? "" : " of all orders",
               x.is_broken ? x.broken : "holds");
        pw_seen_clear(&found.ends);
        pw_seen_clear(&found.views);
        return !x.is_broken;
}

/* Which orders need not be tried: partial order reduction, found while steps are done (Flanagan and Godefroid, "Dynamic
 * partial-order reduction for model checking software", 2005), with states that were seen (Yang, Chen, Gopalakrishnan and Kirby,
 * "Efficient stateful dynamic partial order reduction", 2008).
 *
 * Two steps of different threads depend on each other if one writes what the other reads or writes; only the order of such steps
 * makes a difference. At a state one thread is chosen first; another is added when a later step of it is found to depend on the
 * one that was chosen here, and did not happen before because of it. A kill belongs to the threads of its process: who chooses one
 * of them chooses all, and the kill. Where a state is reached a second time, what follows is not done again, but each step that
 * was ever done behind it (its summary) counts as if it came next. */
#include "tests/model/explore_private.h"

static struct {
        struct summary *items;
        uint32_t count, capacity;
        struct seen numbers; /* by hash */
} summaries;

uint32_t pw_summary_put(const struct summary *summary)
{
        uint64_t hash = pw_mix_bytes(1, summary, sizeof *summary);
        bool new;
        uint32_t *number = pw_seen_put(&summaries.numbers, hash ? hash : 1, &new);

        if (!new)
                return *number;
        if (summaries.count + 1 >= summaries.capacity) {
                summaries.capacity = summaries.capacity ? 2 * summaries.capacity : 1024;
                summaries.items = realloc(summaries.items, summaries.capacity * sizeof *summaries.items);
                if (!summaries.items)
                        abort();
        }
        summaries.items[++summaries.count] = *summary;
        return *number = summaries.count;
}

const struct summary *pw_summary_get(uint32_t number) { return &summaries.items[number]; }

void pw_summaries_clear(void)
{
        free(summaries.items);
        pw_seen_clear(&summaries.numbers);
        memset(&summaries, 0, sizeof summaries);
}

void pw_summary_add(struct summary *summary, const struct summary *other)
{
        for (uint32_t i = 0; i < MODEL_THREADS; i++) {
                summary->of[i].reads |= other->of[i].reads;
                summary->of[i].writes |= other->of[i].writes;
        }
}

static bool depend(struct access one, struct access other)
{
        return (one.writes & (other.reads | other.writes)) || (one.reads & other.writes);
}

/* The threads that are chosen with `thread`: those of a process that may be killed. */
static uint8_t companions(uint32_t thread)
{
        int process = x.threads[thread].process;
        uint8_t all = (uint8_t)(1u << thread);

        if (process < 0 || !(x.victims >> process & 1))
                return all;
        for (int i = 0; i < x.thread_count; i++)
                if (x.threads[i].process == process)
                        all |= (uint8_t)(1u << i);
        return all;
}

static void add(struct depth *depth, uint32_t thread) { depth->todo |= companions(thread) & (depth->steps | depth->kills); }

void pw_reduce_first(struct depth *depth)
{
        uint32_t last = x.depth ? x.path[x.depth - 1].now.thread : 0;
        uint8_t may = depth->steps ? depth->steps : depth->kills;

        if (!x.reduced)
                depth->todo = depth->steps | depth->kills;
        else if (may)
                add(depth, may >> last & 1 ? last : (uint32_t)__builtin_ctz(may));
}

static void join(uint32_t *clock, const uint32_t *other)
{
        for (uint32_t i = 0; i < MODEL_THREADS; i++)
                if (clock[i] < other[i])
                        clock[i] = other[i];
}

/* The clock of a thread after its last step before x.depth. */
static void clock_of(uint32_t thread, uint32_t *ret_clock)
{
        memset(ret_clock, 0, MODEL_THREADS * sizeof *ret_clock);
        for (uint32_t i = x.depth; i--;)
                if (x.path[i].now.thread == thread) {
                        memcpy(ret_clock, x.path[i].clock, sizeof x.path[i].clock);
                        return;
                }
}

/* `thread` made a step that depends on what was chosen at `at`. If it could not be chosen there, then somebody who could, and whose
 * step since then had to come before: with nobody of the kind it follows from that choice alone, and cannot come before it. */
static void race(uint32_t at, uint32_t thread, uint8_t kind, const uint32_t *clock)
{
        struct depth *depth = &x.path[at];
        uint8_t others = 0;

        if ((kind == KILL ? depth->kills & companions(thread) : depth->steps >> thread & 1)) {
                add(depth, thread);
                return;
        }
        for (uint32_t i = at + 1; i < x.depth; i++) {
                uint32_t other = x.path[i].now.thread;
                if (other != depth->now.thread && i < clock[other] && ((depth->steps | depth->kills) >> other & 1))
                        others |= (uint8_t)(1u << other);
        }
        if (others && !(others & depth->todo))
                add(depth, (uint32_t)__builtin_ctz(others));
}

void pw_reduce_step(void)
{
        struct depth *depth = &x.path[x.depth];
        uint32_t thread = depth->now.thread;

        depth->access = x.access;
        depth->below.of[thread].reads |= x.access.reads;
        depth->below.of[thread].writes |= x.access.writes;
        clock_of(thread, depth->clock);
        for (uint32_t i = x.depth; i--;) {
                const struct depth *before = &x.path[i];
                if (before->now.thread == thread || i < depth->clock[before->now.thread] || !depend(before->access, x.access))
                        continue;
                join(depth->clock, before->clock);
                race(i, thread, depth->now.kind, depth->clock);
        }
        depth->clock[thread] = x.depth + 1;
}

void pw_reduce_seen(const struct summary *after)
{
        for (int thread = 0; thread < x.thread_count; thread++) {
                uint32_t clock[MODEL_THREADS];

                if (!(after->of[thread].reads | after->of[thread].writes))
                        continue;
                clock_of((uint32_t)thread, clock);
                for (uint32_t i = 0; i < x.depth; i++) {
                        struct depth *before = &x.path[i];
                        if ((int)before->now.thread == thread || i < clock[before->now.thread] ||
                            !depend(before->access, after->of[thread]))
                                continue;
                        if (before->steps >> thread & 1)
                                add(before, (uint32_t)thread);
                        else
                                before->todo = before->steps | before->kills;
                }
        }
}

/* Admission: a tenant's runs in the order of their arrival, tenants in turn, get all their rooms or none.
 *
 * A run that lacks room which admitted runs will give back holds back its tenant's later ones that want memory of the same devices.
 * The first such run of a tenant holds back those of tenants whose turn comes after, too, if its tenant's own runs will not give
 * back all that it lacks. A tenant's turn is over when a run of it is admitted while none lacks room: so runs of another tenant
 * come before one that lacks room once, however many are queued. A run that lacks room which sessions hold stands aside: others
 * pass, and it is looked at again when room is freed. So an admitted run never waits for room, and nobody waits for a run that was
 * not admitted.
 *
 * Runs of a program need the same, so a look at the first of them is one at all. Only those whose inputs may bring room are looked
 * at one by one.
 */
#include "scheduler/state.h"

/* --- queues ------------------------------------------------------------------------------------------------------------------- */

void pw_queue_init(struct pw_queue *queue)
{
        pw_list_init(&queue->runs);
        pw_list_init(&queue->blocked);
        queue->order = (struct pw_heap_item){ 0 };
}

static const struct pw_live *first_of(const struct pw_queue *queue) { return pw_list_first(&queue->runs, struct pw_live, queued); }

/* Does it need as much as others of its program? Not where a value that nobody else refers to may go on in its room as a result,
 * nor where it ends before it needs any. */
static bool is_like_others(const struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                const struct pw_input_place *place = &live->run.inputs[i];
                if (live->program->inputs[i].takes_result && place->source == PW_INPUT_RESULT && place->donated && place->alone)
                        return false;
        }
        return !pw_live_fails_by_inputs(live);
}

void pw_admission_arrive(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_device_quota *quota = pw_live_quota(live);

        live->queue = is_like_others(live) ? &live->program->queue : &live->own;
        live->arrival = ++scheduler->arrivals;
        pw_list_remove(&live->link);
        pw_list_append(&scheduler->queue, &live->link);
        scheduler->queue_count++;
        live->run.state = PW_RUN_QUEUED;
        if (pw_list_empty(&live->queue->runs) && !pw_heap_add(&quota->queues, &live->queue->order, live->arrival)) {
                pw_live_fail(live, PW_NO_MEMORY, "pathwaysd is out of memory for its queue of runs");
                return;
        }
        pw_list_append(&live->queue->runs, &live->queued);
        if (pw_list_empty(&quota->turn))
                pw_list_append(&scheduler->turns, &quota->turn);
        scheduler->look = true;
}

void pw_admission_leave(struct pw_live *live)
{
        struct pw_queue *queue = live->queue;

        if (pw_list_empty(&live->queued))
                return;
        pw_list_remove(&live->queued);
        if (pw_list_empty(&queue->runs)) {
                pw_list_remove(&queue->blocked);
                pw_heap_remove(&pw_live_quota(live)->queues, &queue->order);
        } else if (pw_list_empty(&queue->blocked)) {
                pw_heap_move(&pw_live_quota(live)->queues, &queue->order, first_of(queue)->arrival);
        }
}

/* In the key of a queue whose first lacks room: behind all others of its tenant, but in its place in the heap, so that none is to
 * be found for it when it comes back. */
#define BLOCKED (UINT64_C(1) << 63)

static void block(struct pw_device_quota *quota, struct pw_queue *queue)
{
        pw_heap_move(&quota->queues, &queue->order, BLOCKED | queue->order.key);
        pw_list_append(&quota->blocked, &queue->blocked);
}

/* Those whose first lacked room come into the next look. */
static void unblock(struct pw_device_quota *quota)
{
        struct pw_queue *queue;

        pw_list_each(&quota->blocked, queue, struct pw_queue, blocked) {
                pw_list_remove(&queue->blocked);
                pw_heap_move(&quota->queues, &queue->order, first_of(queue)->arrival);
        }
}

/* --- a run is admitted ---------------------------------------------------------------------------------------------------- */

static void start_steps(struct pw_live *live)
{
        live->step = 0;
        while (live->step + 1 < live->program->row.image->node_count && !live->program->plan.step_members[live->step])
                live->step++;
        live->step_left = live->program->plan.step_members[live->step];
}

static void admit(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_live_input *input;

        pw_list_remove(&live->link);
        pw_admission_leave(live);
        scheduler->queue_count--;
        live->run.state = PW_RUN_ADMITTED;
        live->run.row->runs_admitted++;
        live->program->quota->runs_admitted++;
        live->admission = ++scheduler->admissions;
        scheduler->admitted_count++;
        pw_deadline_admitted(live);
        if (live->run.sequential)
                start_steps(live);
        for (uint32_t c = 0; c < live->program->plan.column_count; c++) {
                live->parts[c].state = PW_PART_PREPARING;
                pw_action_core(&live->parts[c], PW_CORE_PREPARE);
                live->unprepared++;
                scheduler->actions.prepares++;
        }
        for (uint32_t i = 0; i < live->run.result_count; i++)
                pw_list_each(&pw_result_live(live->run.results[i])->waiters, input, struct pw_live_input, link)
                        pw_input_arrived(input);
        pw_live_maybe_end(live);
}

static void stand_aside(struct pw_live *live, bool aside)
{
        struct pw_scheduler *scheduler = live->program->scheduler;

        scheduler->aside_count = scheduler->aside_count + aside - live->aside;
        live->aside = aside;
}

/* Of a look, each run by its weight; the rest in the next. */
#define ADMITTED_AT_ONCE 1024u

struct look {
        struct pw_scheduler *scheduler;
        struct pw_list round; /* tenants that are not through */
        uint64_t held;        /* devices at which runs of tenants whose turn came before lack room */
        uint64_t done;        /* the weight of those that were admitted or ended */
};

/* The first of its tenant's that lacks room of its devices holds back who comes after it, of other tenants too, unless runs of its
 * own tenant will give back all that it lacks. */
static enum pw_place_verdict look_at_run(struct look *look, struct pw_live *live)
{
        struct pw_device_quota *quota = pw_live_quota(live);
        uint64_t memory = live->program->memory_mask;
        bool over_quota = quota->held == look->scheduler->looks;
        enum pw_place_verdict verdict = PW_PLACE_HELD;
        bool behind_others = memory & look->held;

        if (!(memory & (look->held | quota->lacking)) && !over_quota) {
                pw_place_inputs(live);
                verdict = pw_place_run(live);
                over_quota = live->over_quota;
                behind_others = live->lacks_of_others;
        }
        stand_aside(live, verdict == PW_PLACE_ASIDE);
        if (verdict == PW_PLACE_HELD && over_quota) {
                quota->held = look->scheduler->looks;
        } else if (verdict == PW_PLACE_HELD) {
                look->held |= !behind_others || (memory & quota->lacking) ? 0 : memory;
                quota->lacking |= memory;
        }
        return verdict;
}

/* Its next run that has room is admitted, or one ends that needs none. False: there is no such run. */
static bool look_at_tenant(struct look *look, struct pw_device_quota *quota)
{
        while (pw_heap_first_key(&quota->queues) < BLOCKED) {
                struct pw_queue *queue = pw_container_of(pw_heap_first(&quota->queues), struct pw_queue, order);
                struct pw_live *live = pw_list_first(&queue->runs, struct pw_live, queued);

                if (pw_live_fails_by_inputs(live)) {
                        look->done += pw_run_weight(&live->run);
                        pw_live_fail_by_inputs(live);
                        return true;
                }
                if (look_at_run(look, live) != PW_PLACED) {
                        block(quota, queue);
                        continue;
                }
                if (!quota->lacking) { /* else its turn is still to come */
                        pw_list_remove(&quota->turn);
                        pw_list_append(&look->scheduler->turns, &quota->turn);
                }
                look->done += pw_run_weight(&live->run);
                admit(live);
                return true;
        }
        unblock(quota);
        return false;
}

static void begin_look(struct look *look)
{
        struct pw_device_quota *quota;

        look->scheduler->look = false;
        look->scheduler->looks++;
        pw_list_init(&look->round);
        pw_list_each(&look->scheduler->turns, quota, struct pw_device_quota, turn) {
                unblock(quota);
                quota->lacking = 0;
                if (!pw_heap_first(&quota->queues))
                        pw_list_remove(&quota->turn);
                else
                        pw_list_append(&look->round, &quota->round);
        }
}

void pw_admission_look(struct pw_scheduler *scheduler)
{
        struct look look = { .scheduler = scheduler };

        if (!scheduler->look)
                return;
        begin_look(&look);
        while (!pw_list_empty(&look.round)) { /* runs of theirs that arrive meanwhile are appended, and looked at too */
                struct pw_device_quota *quota = pw_list_first(&look.round, struct pw_device_quota, round);

                pw_list_remove(&quota->round);
                if (look.done < ADMITTED_AT_ONCE && look_at_tenant(&look, quota))
                        pw_list_append(&look.round, &quota->round);
        }
        scheduler->look |= look.done >= ADMITTED_AT_ONCE;
}

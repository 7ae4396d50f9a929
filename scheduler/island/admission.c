/* Admission: a tenant's runs in the order of their arrival, tenants in turn, get all their rooms or none.
 *
 * A run that lacks room which admitted runs will give back holds back its tenant's later ones that want memory of the same devices.
 * The first such run of a tenant holds back those of tenants whose turn comes after, too, if its tenant's own runs will not give
 * back all that it lacks. A tenant's turn is over when a run of it is admitted while none lacks room: so runs of another tenant
 * come before one that lacks room once, however many are queued. A run that lacks room which sessions hold is deferred: others
 * pass, and it is looked at again when room is freed. So an admitted run never waits for room, and nobody waits for a run that was
 * not admitted.
 *
 * Runs of a program need the same, so a scan of the first of them is one of all. Only those whose inputs may bring room are looked
 * at one by one.
 */
#include "base/error.h"
#include "base/size.h"
#include "scheduler/step.h"

/* --- queues ------------------------------------------------------------------------------------------------------------------- */

void pw_queue_init(struct pw_queue *queue)
{
        pw_list_init(&queue->runs);
        pw_list_init(&queue->blocked);
        queue->order = (struct pw_heap_item){ 0 };
        queue->deferred = false;
}

static const struct pw_host_run *first_of(const struct pw_queue *queue)
{
        return pw_list_first(&queue->runs, struct pw_host_run, queued);
}

/* Does it need as much as others of its program? Not where a value that nobody else refers to may go on in its room as a
 * result. */
static bool is_like_others(const struct pw_host_run *run)
{
        for (uint32_t i = 0; i < run->program->row.input_count; i++)
                if (run->program->inputs[i].takes_result && run->inputs[i].result && run->inputs[i].given)
                        return false;
        return true;
}

enum pw_status pw_admission_fits(const struct pw_sched_program *program, const struct pw_run_id *run,
                                 const struct pw_core_input *inputs, struct pw_error *ret_err)
{
        char need_text[24], have_text[24];
        uint64_t need;

        if (program->quota->bytes == UINT64_MAX)
                return PW_OK;
        need = pw_place_least(program, inputs);
        if (need <= program->quota->bytes)
                return PW_OK;
        pw_size_format_two(need, program->quota->bytes, need_text, have_text);
        return pw_error_set(ret_err, PW_TOO_LARGE,
                            "run %lu of %s needs %s of its devices together; the quota of tenant %s is %s: raise --quota",
                            (unsigned long)run->number, program->row.name, need_text, program->quota->tenant, have_text);
}

/* By their arrival: one that has its number from before comes in front of others. */
static void line_up(struct pw_host_run *run)
{
        struct pw_list *all = &run->program->scheduler->queue, *like = &run->queue->runs;

        while (all->prev != &run->program->scheduler->queue &&
               pw_list_item(all->prev, struct pw_host_run, link)->arrival > run->arrival)
                all = all->prev;
        while (like->prev != &run->queue->runs && pw_list_item(like->prev, struct pw_host_run, queued)->arrival > run->arrival)
                like = like->prev;
        pw_list_append(all, &run->link);
        pw_list_append(like, &run->queued);
        if (first_of(run->queue) == run && run->queued.next != &run->queue->runs && pw_list_empty(&run->queue->blocked))
                pw_heap_move(&run->program->quota->queues, &run->queue->order, run->arrival);
}

/* What it has on other hosts is of use to others meanwhile. */
static void tell_deferred(struct pw_host_run *run)
{
        if (run->shared && !run->deferred_told)
                pw_host_tell(run, &(struct pw_core_message){ .kind = PW_CORE_DEFERRED, .arrival = run->arrival }, NULL);
        run->deferred_told = true;
}

enum pw_status pw_admission_enter(struct pw_host_run *run, struct pw_error *ret_err)
{
        struct pw_scheduler *scheduler = run->program->scheduler;
        struct pw_device_quota *quota = run->program->quota;

        run->queue = is_like_others(run) ? &run->program->queue : &run->own;
        if (pw_list_empty(&run->queue->runs) && !pw_heap_add(&quota->queues, &run->queue->order, run->arrival))
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for its queue of runs");
        pw_host_run_step(run, PW_HOST_RUN_QUEUE);
        line_up(run);
        if (run->queue->deferred)
                tell_deferred(run);
        scheduler->queued_here++;
        if (pw_list_empty(&quota->turn))
                pw_list_append(&scheduler->turns, &quota->turn);
        scheduler->scan = true;
        return PW_OK;
}

static void set_deferred(struct pw_host_run *run, bool deferred)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        scheduler->deferred_count = scheduler->deferred_count + deferred - run->deferred;
        run->deferred = deferred;
}

/* So are those behind it, which need the same. */
static void queue_deferred(struct pw_queue *queue, bool deferred)
{
        struct pw_host_run *run;
        bool before = queue->deferred;

        queue->deferred = deferred;
        if (deferred && !before)
                pw_list_each(&queue->runs, run, struct pw_host_run, queued)
                        tell_deferred(run);
}

/* Nothing, if it is in no queue. */
static void leave(struct pw_host_run *run)
{
        struct pw_queue *queue = run->queue;

        if (pw_list_empty(&run->queued))
                return;
        set_deferred(run, false);
        run->program->scheduler->queued_here--;
        pw_list_remove(&run->link);
        pw_list_remove(&run->queued);
        if (pw_list_empty(&queue->runs)) {
                queue->deferred = false;
                pw_list_remove(&queue->blocked);
                pw_heap_remove(&run->program->quota->queues, &queue->order);
        } else if (pw_list_empty(&queue->blocked)) {
                pw_heap_move(&run->program->quota->queues, &queue->order, first_of(queue)->arrival);
        }
}

void pw_admission_leave(struct pw_host_run *run)
{
        leave(run);
        run->program->scheduler->scan = true; /* at who came behind it */
}

/* In the key of a queue whose first lacks room: behind all others of its tenant, but in its place in the heap, so that none is to
 * be found for it when it comes back. */
#define BLOCKED (UINT64_C(1) << 63)

static void block(struct pw_device_quota *quota, struct pw_queue *queue)
{
        pw_heap_move(&quota->queues, &queue->order, BLOCKED | queue->order.key);
        pw_list_append(&quota->blocked, &queue->blocked);
}

/* Those whose first lacked room come into the next scan. */
static void unblock(struct pw_device_quota *quota)
{
        struct pw_queue *queue;

        pw_list_each(&quota->blocked, queue, struct pw_queue, blocked) {
                pw_list_remove(&queue->blocked);
                pw_heap_move(&quota->queues, &queue->order, first_of(queue)->arrival);
        }
}

/* --- a run is admitted ---------------------------------------------------------------------------------------------------- */

static void start_steps(struct pw_host_run *run)
{
        run->step = 0;
        while (run->step + 1 < run->program->row.image->node_count && !run->program->plan.step_members[run->step])
                run->step++;
        run->step_left = run->program->plan.step_members[run->step];
}

/* Those on this host, in the order of the places. */
static void tell_places(struct pw_host_run *run, const struct pw_host_result *result)
{
        const struct pw_program_slice *slice = &run->program->slices[result->type->value.slice];
        struct pw_core_message message = { .kind = PW_CORE_PLACED, .run = run->id, .slot = run->at, .serial = run->serial,
                                           .host = run->program->scheduler->host, .result = result->index };
        struct pw_core_body body = { .rooms = result->rooms, .room_count = slice->here_count };
        struct pw_room *here = run->program->scheduler->telling_rooms;

        if (slice->here_count < result->room_count) {
                for (uint32_t i = 0; i < slice->here_count; i++)
                        here[i] = result->rooms[slice->here[i].place];
                body.rooms = here;
        }
        (void)pw_core_tell(run->program->scheduler, &message, &body);
}

/* And which runs it took over from that may yet give their blocks back. */
static enum pw_status tell_reserved(struct pw_host_run *run)
{
        struct pw_core_message message = { .kind = PW_CORE_RESERVED, .run = run->id, .slot = run->at, .serial = run->serial,
                                           .host = run->program->scheduler->host, .arrival = run->arrival };
        struct pw_core_body body = { .slots = run->program->scheduler->telling_slots };
        uint32_t *slots = run->program->scheduler->telling_slots;

        for (uint32_t c = 0; run->shared && c < run->program->chain_count; c++)
                if (run->holds[c].ahead && !run->holds[c].ahead->recorded)
                        slots[body.slot_count++] = run->holds[c].ahead->at;
        return pw_core_tell(run->program->scheduler, &message, &body);
}

enum pw_status pw_admission_tell(struct pw_host_run *run)
{
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                tell_places(run, run->results[i]);
        return tell_reserved(run);
}

static void admit(struct pw_host_run *run)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        leave(run);
        pw_host_run_step(run, PW_HOST_RUN_PLACE);
        run->admission = ++scheduler->admissions;
        if (run->sequential)
                start_steps(run);
        if (pw_admission_tell(run) != PW_OK)
                pw_host_run_withdraw(run);
}

/* It would wait if somebody does who has come before. */
bool pw_admission_at_once(struct pw_host_run *run)
{
        struct pw_scheduler *scheduler = run->program->scheduler;

        if (scheduler->scanning)
                return false;
        pw_admission_scan(scheduler);
        if (scheduler->queued_here > scheduler->deferred_count)
                return false;
        pw_place_inputs(run);
        if (pw_place_run(run) != PW_PLACED)
                return false;
        pw_host_run_step(run, PW_HOST_RUN_QUEUE);
        admit(run);
        return true;
}

/* Of a scan, each run by its weight; the rest in the next. */
#define ADMITTED_AT_ONCE 1024u

struct scan {
        struct pw_scheduler *scheduler;
        struct pw_list round; /* tenants that are not through */
        uint64_t held;        /* devices at which runs of tenants whose turn came before lack room */
        uint64_t done;        /* the weight of those that were admitted */
};

/* The first of its tenant's that lacks room of its devices holds back who comes after it, of other tenants too, unless runs of its
 * own tenant will give back all that it lacks. */
static enum pw_place_verdict scan_run(struct scan *scan, struct pw_host_run *run)
{
        struct pw_device_quota *quota = run->program->quota;
        uint64_t memory = run->program->memory_members;
        bool over_quota = quota->held == scan->scheduler->scans;
        enum pw_place_verdict verdict = PW_PLACE_HELD;
        bool behind_others = memory & scan->held;

        if (!(memory & (scan->held | quota->lacking)) && !over_quota) {
                pw_place_inputs(run);
                verdict = pw_place_run(run);
                over_quota = run->over_quota;
                behind_others = run->lacks_of_others;
        }
        set_deferred(run, verdict == PW_PLACE_DEFERRED);
        queue_deferred(run->queue, verdict == PW_PLACE_DEFERRED);
        if (verdict == PW_PLACE_HELD && over_quota) {
                quota->held = scan->scheduler->scans;
        } else if (verdict == PW_PLACE_HELD) {
                scan->held |= !behind_others || (memory & quota->lacking) ? 0 : memory;
                quota->lacking |= memory;
        }
        return verdict;
}

/* Its next run that has room is admitted. False: there is no such run. */
static bool scan_tenant(struct scan *scan, struct pw_device_quota *quota)
{
        while (pw_heap_first_key(&quota->queues) < BLOCKED) {
                struct pw_queue *queue = pw_container_of(pw_heap_first(&quota->queues), struct pw_queue, order);
                struct pw_host_run *run = pw_list_first(&queue->runs, struct pw_host_run, queued);

                if (scan_run(scan, run) != PW_PLACED) {
                        block(quota, queue);
                        continue;
                }
                if (!quota->lacking) { /* else its turn is still to come */
                        pw_list_remove(&quota->turn);
                        pw_list_append(&scan->scheduler->turns, &quota->turn);
                }
                scan->done += pw_host_run_weight(run);
                admit(run);
                return true;
        }
        unblock(quota);
        return false;
}

static void begin_scan(struct scan *scan)
{
        struct pw_device_quota *quota;

        scan->scheduler->scan = false;
        scan->scheduler->scans++;
        pw_list_init(&scan->round);
        pw_list_each(&scan->scheduler->turns, quota, struct pw_device_quota, turn) {
                unblock(quota);
                quota->lacking = 0;
                if (!pw_heap_first(&quota->queues))
                        pw_list_remove(&quota->turn);
                else
                        pw_list_append(&scan->round, &quota->round);
        }
}

void pw_admission_scan(struct pw_scheduler *scheduler)
{
        struct scan scan = { .scheduler = scheduler };

        if (!scheduler->scan)
                return;
        scheduler->scanning = true;
        begin_scan(&scan);
        while (!pw_list_empty(&scan.round)) { /* runs of theirs that arrive meanwhile are appended, and looked at too */
                struct pw_device_quota *quota = pw_list_first(&scan.round, struct pw_device_quota, round);

                pw_list_remove(&quota->round);
                if (scan.done < ADMITTED_AT_ONCE && scan_tenant(&scan, quota))
                        pw_list_append(&scan.round, &quota->round);
        }
        scheduler->scan |= scan.done >= ADMITTED_AT_ONCE;
        scheduler->scanning = false;
}

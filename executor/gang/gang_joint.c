/* A transfer that its members do together, by the collective of their devices.
 *
 * Nobody begins before every member's mark says that it will: one that has no value, or takes part in none, makes all of them go
 * another way, and all see the same marks. A mark says so as soon as what makes the member's shard has been launched: a device goes
 * from that to the joint by itself. Should it come to no value, all find that at the end, when the members' heads say it.
 * Who waits looks whether the others are still there. A process that ended, and a member that gave up, will never do their part:
 * what was begun is aborted, and its channel forgotten. The marks of the next gang say that it is, so all make another. */
#include "executor/gang/flight.h"
#include "executor/gang/gang_private.h"

#include "executor/wait.h"

#include <sched.h>

/* Who is done has all of the result: what the others lack of it comes, or never will. Ends of members are seen otherwise: this is
 * for what nobody thought of, and longer than a loaded processor keeps one waiting. */
#define GRACE_NS UINT64_C(5000000000)
#define NAP_MOST_NS UINT64_C(1000000)
#define NAP_LEAST_NS UINT64_C(20000)

_Static_assert(sizeof(struct pw_channel_id) == sizeof((struct pw_joint_marks *)0)->id, "an id fits into its board");

/* --- what it is --------------------------------------------------------------------------------------------------------------- */

static bool boxes_are_same(const struct pw_box *a, const struct pw_box *b)
{
        return a->rank == b->rank && !memcmp(a->start, b->start, a->rank * sizeof *a->start) &&
               !memcmp(a->size, b->size, a->rank * sizeof *a->size);
}

/* By the image alone, so all members say the same: each of them sends, and each has the sum of all. */
static bool is_all_reduce(const struct pw_exec_gang *gang)
{
        const struct pw_image_node *image = gang->node->image;
        const struct pw_program_sources *sources = gang->node->sources;
        bool is = gang->node->role == (PW_ROLE_SENDER | PW_ROLE_RECEIVER) && image->phase == PW_PHASE_WHOLE && !image->eager &&
                  image->slice == image->source_slice && sources->count == (uint32_t)__builtin_popcountll(gang->members) &&
                  !sources->uncovered;

        for (uint32_t i = 0; i < sources->count && is; i++)
                is = sources->groups[i] == sources->groups[0] && boxes_are_same(&sources->sources[i].box, &sources->to_box) &&
                     (!i || sources->places[i] > sources->places[i - 1]);
        return is;
}

/* All but its rooms. False: it is none. */
static bool joint_find(const struct pw_exec_gang *gang, struct pw_joint *ret_joint)
{
        const struct pw_program_sources *sources = gang->node->sources;
        const struct pw_slice_place *places = gang->view->program->slices[gang->node->image->slice].places;
        struct pw_joint joint = { .seq = gang->seq, .op = gang->node->image->op, .rank = UINT32_MAX };

        if (!sources || !is_all_reduce(gang))
                return false;
        joint.rank_count = sources->count;
        joint.elements = pw_box_elements(&sources->to_box);
        joint.dtype = pw_image_value(gang->view->program->image, gang->node->outputs[0].value)->dtype;
        for (uint32_t i = 0; i < sources->count; i++) {
                const struct pw_slice_place *at = &places[sources->places[i]];
                if (at->host != gang->launch->given.host || at->device >= PW_DEVICES_MAX || !(gang->members >> at->device & 1))
                        return false;
                joint.devices[i] = (uint8_t)at->device;
                if (at->device == gang->launch->given.device)
                        joint.rank = i;
        }
        *ret_joint = joint;
        return joint.rank != UINT32_MAX;
}

/* The next process of this device is told of one that ended meanwhile. */
static void making(const struct pw_exec_gang *gang, uint32_t is)
{
        atomic_store_explicit(&gang->launch->own->joint.making, is, memory_order_relaxed);
}

/* By a library that is opened the first time. */
static uint32_t takes(const struct pw_exec_gang *gang, struct pw_joint *ret_joint)
{
        const struct pw_launch_params *given = &gang->launch->given;
        uint32_t number;

        if (!joint_find(gang, ret_joint))
                return 0;
        making(gang, 1);
        pw_launch_launching(gang->launch, gang->seq);
        number = given->collective->takes(given->joints, ret_joint);
        pw_launch_launching(gang->launch, 0);
        making(gang, 0);
        return number;
}

bool pw_gang_joint_may(const struct pw_exec_gang *gang)
{
        struct pw_joint joint;

        return takes(gang, &joint);
}

void pw_gang_joint_offer(struct pw_exec_gang *gang, struct pw_mark *mark)
{
        const struct pw_launch_params *given = &gang->launch->given;
        struct pw_joint joint;

        mark->joint.takes = takes(gang, &joint);
        atomic_store(&gang->launch->own->joint.off, given->collective->is_off(given->joints));
        mark->joint.channel = mark->joint.takes ? given->collective->channel(given->joints, &joint) : 0;
}

bool pw_gang_is_joint(const struct pw_exec_gang *gang)
{
        uint32_t numbers[PW_DEVICES_MAX];
        struct pw_joint joint;
        bool is = joint_find(gang, &joint);

        for (uint32_t i = 0; is && i < joint.rank_count; i++) {
                numbers[i] = pw_gang_mark_of(gang, joint.devices[i])->joint.takes;
                is = numbers[i];
                for (uint32_t k = 0; is && k < i; k++)
                        is = numbers[k] != numbers[i];
        }
        return is;
}

/* --- its channel -------------------------------------------------------------------------------------------------------------- */

static bool channel_is_common(const struct pw_exec_gang *gang, const struct pw_joint *joint)
{
        uint64_t first = pw_gang_mark_of(gang, joint->devices[0])->joint.channel;

        for (uint32_t i = 1; i < joint->rank_count; i++)
                if (pw_gang_mark_of(gang, joint->devices[i])->joint.channel != first)
                        return false;
        return first != 0;
}

static enum pw_status id_give(const struct pw_exec_gang *gang, struct pw_channel_id *ret_id, struct pw_error *ret_err)
{
        struct pw_launch *launch = gang->launch;
        struct pw_joint_marks *own = &launch->own->joint;
        enum pw_status status;

        pw_launch_launching(launch, gang->seq);
        status = launch->given.collective->id(launch->given.joints, ret_id, ret_err);
        pw_launch_launching(launch, 0);
        if (status != PW_OK)
                return status;
        atomic_store(&own->id_seq, 0);
        for (size_t i = 0; i < pw_array_count(own->id); i++)
                atomic_store(&own->id[i], ret_id->words[i]);
        atomic_store(&own->id_seq, gang->seq);
        pw_bells_ring(launch->given.bells, &launch->given.bells->sleepers[launch->given.device].bits, gang->members);
        return PW_OK;
}

/* False: rank 0 gave none, or has left, and another gang's may lie there. */
static bool id_take(const struct pw_exec_gang *gang, uint32_t device, struct pw_channel_id *ret_id)
{
        const struct pw_joint_marks *marks = &gang->launch->given.boards[device]->joint;

        if (!pw_wait_member(gang->launch, device, &marks->id_seq, gang->seq))
                return false;
        for (size_t i = 0; i < pw_array_count(marks->id); i++)
                ret_id->words[i] = pw_wait_load(&marks->id[i]);
        return pw_wait_load(&marks->id_seq) == gang->seq;
}

/* --- the others --------------------------------------------------------------------------------------------------------------- */

/* The process of `device` ended in gang `seq`, ahead of this one. */
static struct pw_room_head ended_ahead(const struct pw_exec_gang *gang, uint32_t device, uint64_t seq)
{
        const struct pw_device_board *board = gang->launch->given.boards[device];
        const struct pw_order *order = &gang->launch->board->log[seq % PW_ORDER_LOG];
        struct pw_room_head fault = pw_gang_fault(gang, PW_DEVICE_LOST);

        fault.cause_device = pw_gang_device(gang, device);
        if (order->run != gang->view->run)
                return fault;
        fault.status = pw_gang_status(atomic_load(&board->failed.status));
        fault.cause_node = order->node;
        return fault;
}

/* It stays said, whatever the member does next. */
static void give_up(const struct pw_exec_gang *gang, const struct pw_room_head *why)
{
        const struct pw_launch *launch = gang->launch;
        struct pw_mark *mark = &launch->own->marks[gang->seq % PW_ORDER_LOG];

        mark->joint.broken_node = why->cause_node;
        mark->joint.broken_device = why->cause_device;
        atomic_store(&mark->broken, why->status);
        pw_bells_ring(launch->given.bells, &launch->given.bells->sleepers[launch->given.device].bits, gang->members);
}

static bool has_given_up(const struct pw_exec_gang *gang, const struct pw_mark *mark, struct pw_room_head *ret_fault)
{
        uint32_t status = atomic_load(&mark->broken);

        if (status == PW_OK)
                return false;
        *ret_fault = pw_gang_fault(gang, pw_gang_status(status));
        ret_fault->cause_node = mark->joint.broken_node;
        ret_fault->cause_device = mark->joint.broken_device;
        return true;
}

/* A process of `device` ended in this gang, or between the one ahead and this one, where the daemon saw it in none: the mark said
 * that there is a value, and says otherwise, by the daemon or by the process that came later. Neither counts before it says
 * `failed` or `done`: the mark may be half written. */
static bool has_ended(struct pw_exec_gang *gang, uint32_t device, struct pw_room_head *ret_fault)
{
        const struct pw_device_board *board = gang->launch->given.boards[device];

        return (pw_wait_load(&board->failed.seq) >= gang->seq || pw_wait_load(&board->done.seq) >= gang->seq) &&
               !pw_gang_mark_read(gang, pw_gang_mark_of(gang, device), ret_fault);
}

/* Will the part of `device` never come, as its process ended in this gang, or ahead of it, or it gave up? */
static bool has_left(struct pw_exec_gang *gang, uint32_t device, struct pw_room_head *ret_fault)
{
        const struct pw_mark *mark = pw_gang_mark_of(gang, device);
        uint64_t failed = pw_wait_load(&gang->launch->given.boards[device]->failed.seq);

        if (has_ended(gang, device, ret_fault))
                return true;
        if (failed >= mark->joint.first && failed < gang->seq) {
                *ret_fault = ended_ahead(gang, device, failed);
                return true;
        }
        return has_given_up(gang, mark, ret_fault);
}

/* PW_OK: all are there. `*done_ns`: since when one is done; 0: none is. */
static struct pw_room_head look_around(struct pw_exec_gang *gang, const struct pw_joint *joint, uint64_t now_ns, uint64_t *done_ns)
{
        struct pw_room_head fault = pw_gang_fault(gang, PW_OK), next;

        for (uint32_t i = 0; i < joint->rank_count; i++) {
                uint32_t device = joint->devices[i];
                if (i == joint->rank)
                        continue;
                if (has_left(gang, device, &next))
                        pw_gang_fault_join(&fault, &next);
                if (pw_wait_load(&gang->launch->given.boards[device]->done.seq) < gang->seq)
                        continue;
                *done_ns = *done_ns ? *done_ns : now_ns;
                if (fault.status == PW_OK && now_ns - *done_ns > GRACE_NS) {
                        fault = pw_gang_cause(gang, PW_DEVICE_LOST, "a device that takes part is done, and its part is not here");
                        fault.cause_device = pw_gang_device(gang, device);
                }
        }
        return fault;
}

/* An eighth of what has gone by: the wait is as much longer at most. Who dies rings, and what is ahead of it as it ends. */
static void nap(struct pw_launch *launch, uint32_t seen, uint64_t now_ns, uint64_t since_ns)
{
        uint64_t for_ns = pw_min_u64(pw_max_u64((now_ns - since_ns) / 8, NAP_LEAST_NS), NAP_MOST_NS);

        if (now_ns - since_ns < PW_YIELD_NS) {
                sched_yield();
                return;
        }
        if (launch->flights->count)
                (void)launch->given.kind->next_ns(launch->given.handle);
        pw_bells_sleep(launch->given.bells, launch->given.device, seen, (int64_t)(now_ns + for_ns));
}

/* --- the whole ---------------------------------------------------------------------------------------------------------------- */

/* Has the device done what was launched ahead of it? */
static bool is_first(struct pw_launch *launch)
{
        pw_flights_reap(launch);
        return !launch->flights->count;
}

static bool all_have_come(const struct pw_exec_gang *gang, const struct pw_joint *joint)
{
        for (uint32_t i = 0; i < joint->rank_count; i++) {
                const struct pw_device_board *board = gang->launch->given.boards[joint->devices[i]];
                if (i != joint->rank && pw_wait_load(&board->running) < gang->seq && pw_wait_load(&board->done.seq) < gang->seq)
                        return false;
        }
        return true;
}

/* It takes longer than it may, as the daemon says, who counts from when all had come. */
static bool must_give_up(const struct pw_exec_gang *gang, struct pw_room_head *ret_fault)
{
        const struct pw_launch *launch = gang->launch;
        const _Atomic uint64_t *seq = &launch->board->give_up[launch->given.device].seq;
        enum pw_status status;

        if (pw_wait_load(seq) != gang->seq)
                return false;
        status = pw_gang_status(atomic_load(&launch->board->give_up[launch->given.device].status));
        *ret_fault = pw_gang_cause(gang, status, status == PW_TIME_LIMIT ?
                                                         "what devices do together took longer than a function may" :
                                                         "what devices do together was not over when its run had to be");
        return true;
}

static enum pw_status poll(const struct pw_exec_gang *gang, struct pw_error *ret_err)
{
        const struct pw_launch_params *given = &gang->launch->given;
        enum pw_status status;

        pw_launch_launching(gang->launch, gang->seq);
        status = given->collective->poll(given->joints, ret_err);
        pw_launch_launching(gang->launch, 0);
        return status;
}

/* It was begun, behind what was launched before; nothing is launched behind it, for its abort would wait for that. Members are
 * looked for once it is what the device does. */
static struct pw_room_head await(struct pw_exec_gang *gang, const struct pw_joint *joint)
{
        struct pw_launch *launch = gang->launch;
        uint64_t since_ns = pw_launch_clock_ns(), done_ns = 0;
        struct pw_room_head fault = pw_gang_fault(gang, PW_OK);
        bool was_first = false, counts = false;
        struct pw_error err;

        launch->now_ns = 0;
        for (;;) {
                uint32_t seen = pw_bells_seen(launch->given.bells, launch->given.device);
                bool first = is_first(launch);
                uint64_t now_ns = pw_launch_clock_ns();
                enum pw_status status;
                if (first && !was_first)
                        pw_launch_begins(launch, gang->seq, since_ns = now_ns);
                was_first = first;
                if (first && !counts && all_have_come(gang, joint)) {
                        counts = true;
                        atomic_store_explicit(&launch->own->running_together, 1, memory_order_relaxed);
                        atomic_store_explicit(&launch->own->running_since_ns, now_ns, memory_order_release);
                }
                status = poll(gang, &err);
                if (launch->given.collective->has_launched(launch->given.joints))
                        atomic_store_explicit(&launch->own->joint.launched, gang->seq, memory_order_relaxed);
                if (status == PW_OK && !first)
                        pw_flights_settle(gang);
                if (status == PW_OK)
                        return fault;
                if (first || status != PW_NOT_READY)
                        fault = look_around(gang, joint, now_ns, &done_ns);
                if (fault.status != PW_OK || must_give_up(gang, &fault))
                        return fault;
                if (status != PW_NOT_READY)
                        return pw_gang_cause(gang, status, err.text);
                nap(launch, seen, now_ns, since_ns);
        }
}

/* Rank 0 said nothing: why? */
static struct pw_room_head no_id(struct pw_exec_gang *gang, const struct pw_joint *joint)
{
        uint64_t done_ns = 0;
        struct pw_room_head fault = look_around(gang, joint, pw_launch_clock_ns(), &done_ns);

        if (fault.status != PW_OK)
                return fault;
        fault = pw_gang_cause(gang, PW_DEVICE_LOST, "a device that takes part has left before the others could meet");
        fault.cause_device = pw_gang_device(gang, joint->devices[0]);
        return fault;
}

static struct pw_room_head begin(struct pw_exec_gang *gang, const struct pw_joint *joint)
{
        const struct pw_launch_params *given = &gang->launch->given;
        bool is_common = channel_is_common(gang, joint);
        enum pw_status status = PW_OK;
        struct pw_channel_id id;
        struct pw_error err;

        if (!is_common && joint->rank && !id_take(gang, joint->devices[0], &id))
                return no_id(gang, joint);
        if (!is_common && !joint->rank)
                status = id_give(gang, &id, &err);
        if (status == PW_OK) {
                pw_launch_launching(gang->launch, gang->seq);
                status = given->collective->begin(given->joints, joint, is_common ? NULL : &id, &err);
                pw_launch_launching(gang->launch, 0);
        }
        return status == PW_OK ? pw_gang_fault(gang, PW_OK) : pw_gang_cause(gang, status, err.text);
}

struct pw_room_head pw_gang_joint(struct pw_exec_gang *gang)
{
        const struct pw_launch_params *given = &gang->launch->given;
        struct pw_room_head outcome;
        struct pw_joint joint;
        bool is_made;

        if (!joint_find(gang, &joint))
                return pw_gang_cause(gang, PW_PROTOCOL, "what is no joint was taken for one");
        is_made = !channel_is_common(gang, &joint);
        if (!gang->launch->flights->count || is_made) /* the device is theirs alone */
                pw_flights_settle(gang);
        making(gang, is_made);
        atomic_store_explicit(&gang->launch->own->joint.began, gang->seq, memory_order_relaxed);
        joint.from = pw_run_room(gang->view, &gang->node->inputs[0]).data;
        joint.to = pw_run_room(gang->view, &gang->node->outputs[0]).data;
        outcome = begin(gang, &joint);
        if (outcome.status == PW_OK)
                outcome = await(gang, &joint);
        making(gang, 0);
        if (outcome.status == PW_OK && is_made)
                atomic_store_explicit(&gang->launch->own->joint.in_vain, 0, memory_order_relaxed);
        atomic_store_explicit(&gang->launch->own->running_since_ns, 0, memory_order_release);
        if (outcome.status != PW_OK) {
                give_up(gang, &outcome);
                pw_flights_settle(gang);
                given->collective->abort(given->joints);
                return outcome;
        }
        given->kind->moved(given->handle, joint.elements * pw_dtype_bytes(joint.dtype));
        return outcome;
}

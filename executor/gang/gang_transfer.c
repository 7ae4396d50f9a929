/* A member of a transfer: senders publish that their shard is there, receivers read it in the sender's room. */
#include "executor/gang/flight.h"
#include "executor/gang/gang_private.h"

#include "executor/wait.h"

/* What lies in the own mark itself. */
static void value_copy(struct pw_exec_gang *gang, const struct pw_place *place, struct pw_mark *mark, struct pw_room_head *fault)
{
        uint64_t bytes = pw_image_value(gang->view->program->image, gang->node->inputs[0].value)->shard_bytes;
        struct pw_error err;

        if (gang->launch->memory->copy_out(gang->launch->given.handle, mark->value, place->data,
                                           pw_min_u64(bytes, sizeof mark->value), &err) != PW_OK)
                *fault = pw_gang_cause(gang, err.status, err.text);
}

/* The gang under way that makes the shard of `head`, where nobody needs it before that is done; 0: it is made. */
static uint64_t behind(const struct pw_exec_gang *gang, const struct pw_room_head *head)
{
        return gang->launch->flights && pw_gang_joint_may(gang) ? pw_flights_writer(gang->launch->flights, head) : 0;
}

enum pw_status pw_gang_send(struct pw_exec_gang *gang, bool cancelled)
{
        struct pw_place place = pw_run_room(gang->view, &gang->node->inputs[0]);
        struct pw_mark *mark = &gang->launch->own->marks[gang->seq % PW_ORDER_LOG];
        struct pw_room_head fault = pw_gang_fault(gang, cancelled ? PW_CANCELLED : PW_OK);
        bool again = atomic_load(&mark->seq) == gang->seq; /* it had come, and its process ended: others may have begun */
        bool eager = gang->node->image->eager;
        uint64_t writer = cancelled || again ? 0 : behind(gang, place.head);

        if (!cancelled && !writer && pw_gang_is_value(gang, place.head, gang->launch->given.device, &fault) && eager)
                value_copy(gang, &place, mark, &fault);
        if (again && fault.status == PW_OK)
                fault.status = PW_DEVICE_LOST;
        if (!eager && !again) {
                pw_gang_joint_offer(gang, mark);
                mark->joint.first = pw_flights_oldest(gang);
                mark->joint.behind = writer;
        }
        pw_gang_mark(gang, mark, &fault);
        return fault.status;
}

/* Source `i`, in its room, mapped. */
static bool room_find(struct pw_exec_gang *gang, uint32_t i, struct pw_room_head *ret_fault)
{
        struct pw_program_sources *sources = gang->node->sources;
        struct pw_place place;
        struct pw_error err;

        if (pw_run_room_at(gang->view, &gang->launch->segments, &gang->node->inputs[0], sources->places[i], &place, &err) ==
            PW_OK) {
                sources->sources[i].data = place.data;
                sources->sources[i].in_host = !place.apart;
                sources->heads[i].head = place.head;
                return true;
        }
        *ret_fault = pw_gang_cause(gang, err.status, err.text);
        return false;
}

/* Of a sender of this gang that has not come. */
static struct pw_room_head no_mark(struct pw_exec_gang *gang, uint32_t device)
{
        struct pw_room_head fault = pw_gang_cause(gang, PW_DEVICE_LOST,
                                                  "a device that takes part says that it is done, and its mark is gone");

        fault.cause_device = pw_gang_device(gang, device);
        return fault;
}

/* Of one that says that its shard is made by a gang yet to come: nobody waits for that. */
static struct pw_room_head wrong_mark(struct pw_exec_gang *gang, uint32_t device)
{
        struct pw_room_head fault = pw_gang_cause(gang, PW_PROTOCOL, "the mark of a device that takes part has been overwritten: "
                                                                     "its shard would be made behind the transfer");

        fault.cause_device = pw_gang_device(gang, device);
        return fault;
}

/* Source `i`, in the room of a device whose mark says that it will be a value at least: is it? */
static bool is_value(struct pw_exec_gang *gang, uint32_t i, struct pw_room_head *ret_fault)
{
        const struct pw_source_head *source = &gang->node->sources->heads[i];
        const struct pw_mark *mark = pw_gang_mark_of(gang, source->device);
        uint64_t behind = *(const volatile uint64_t *)&mark->joint.behind; /* once: it is judged and used */

        if (behind >= gang->seq) {
                *ret_fault = wrong_mark(gang, source->device);
                return false;
        }
        if (!room_find(gang, i, ret_fault))
                return false;
        if (behind && source->device != gang->launch->given.device)
                pw_wait_done(gang->launch, source->device, behind);
        return !behind || pw_gang_is_value(gang, source->head, source->device, ret_fault);
}

/* Source `i`, of a sender of this gang. */
static bool receive_marked(struct pw_exec_gang *gang, uint32_t i, uint32_t device, struct pw_room_head *ret_fault)
{
        const struct pw_mark *mark = pw_gang_mark_of(gang, device);

        if (!pw_wait_member(gang->launch, device, &mark->seq, gang->seq)) {
                *ret_fault = no_mark(gang, device);
                return false;
        }
        if (!pw_gang_mark_read(gang, mark, ret_fault))
                return false;
        if (!gang->node->image->eager)
                return is_value(gang, i, ret_fault);
        gang->node->sources->heads[i].head = NULL;
        gang->node->sources->sources[i].data = mark->value;
        gang->node->sources->sources[i].in_host = true;
        return true;
}

/* Source `i`, whose sender is done: in its room, own or of another island. */
static bool receive_done(struct pw_exec_gang *gang, uint32_t i, uint32_t device, struct pw_room_head *ret_fault)
{
        const struct pw_source_head *head = &gang->node->sources->heads[i];

        if (!room_find(gang, i, ret_fault))
                return false;
        if (device == gang->launch->given.device)
                pw_flights_until(gang->launch, head->head);
        return pw_gang_is_value(gang, head->head, device, ret_fault);
}

/* Of a transfer in parts, whose members have nothing under way: who ended in this gang has spoilt nothing. */
static struct pw_room_head look_again_at_parts(const struct pw_exec_gang *gang)
{
        const struct pw_program_sources *sources = gang->node->sources;
        struct pw_room_head fault;

        for (uint32_t i = 0; i < sources->count; i++)
                if (pw_gang_lost_meanwhile(gang, sources->heads[i].device, gang->seq, &fault))
                        return fault;
        return pw_gang_fault(gang, PW_OK);
}

/* All members have arrived, perhaps without a value: `arrived`. */
static struct pw_room_head receive_parts(struct pw_exec_gang *gang, const struct pw_room_head *arrived)
{
        struct pw_room_head made = arrived->status == PW_OK ? pw_gang_parts_make(gang) : *arrived;

        if (made.status == PW_OK)
                made = look_again_at_parts(gang);
        return pw_gang_parts_take(gang, &made);
}

/* --- what members do together ------------------------------------------------------------------------------------------------- */

/* The others come, while what makes the own shard is under way. */
static struct pw_room_head meet(struct pw_exec_gang *gang)
{
        struct pw_room_head fault = pw_gang_fault(gang, PW_OK), next;
        struct pw_program_sources *sources = gang->node->sources;

        for (uint32_t i = 0; i < sources->count; i++) {
                const struct pw_mark *mark = pw_gang_mark_of(gang, sources->heads[i].device);

                if (!pw_wait_member_ahead(gang->launch, sources->heads[i].device, &mark->seq, gang->seq))
                        next = no_mark(gang, sources->heads[i].device);
                else if (pw_gang_mark_read(gang, mark, &next))
                        continue;
                pw_gang_fault_join(&fault, &next);
        }
        return fault;
}

/* All of them take part. What they made it of is known now. */
static struct pw_room_head receive_joint(struct pw_exec_gang *gang)
{
        const struct pw_program_sources *sources = gang->node->sources;
        struct pw_room_head outcome, next;

        (void)pw_gang_rooms_take(gang);
        outcome = pw_gang_joint(gang);
        if (outcome.status != PW_OK)
                pw_gang_rooms_forget(gang);
        for (uint32_t i = 0; outcome.status == PW_OK && i < sources->count; i++)
                if (!is_value(gang, i, &next))
                        outcome = next;
        return outcome.status == PW_OK ? pw_gang_look_again(gang, sources->heads, sources->count) : outcome;
}

/* --- the whole ---------------------------------------------------------------------------------------------------------------- */

static struct pw_room_head take(struct pw_exec_gang *gang, bool *ret_launched)
{
        const struct pw_program_sources *sources = gang->node->sources;
        struct pw_room_head fault = pw_gang_fault(gang, PW_OK), next;

        for (uint32_t i = 0; i < sources->count; i++) {
                uint32_t device = sources->heads[i].device;
                bool done = gang->node->image->phase == PW_PHASE_RECV || device == gang->launch->given.device;
                if (!(done ? receive_done : receive_marked)(gang, i, device, &next))
                        pw_gang_fault_join(&fault, &next);
        }
        if (gang->node->image->phase == PW_PHASE_PARTS) {
                if (gang->came_ns)
                        gang->launch->given.kind->not_before(gang->launch->given.handle, gang->came_ns);
                return receive_parts(gang, &fault);
        }
        return fault.status == PW_OK ? pw_gang_move(gang, ret_launched) : fault;
}

struct pw_room_head pw_gang_receive(struct pw_exec_gang *gang, bool *ret_launched)
{
        const struct pw_exec_program_slice *slice = &gang->view->program->slices[gang->node->image->source_slice];
        const struct pw_program_sources *sources = gang->node->sources;
        struct pw_room_head fault;

        for (uint32_t i = 0; i < sources->count; i++)
                sources->heads[i].device = slice->places[sources->places[i]].device;
        if (!gang->launch->flights || !pw_gang_joint_may(gang))
                return take(gang, ret_launched);
        fault = meet(gang);
        if (fault.status != PW_OK)
                return fault;
        return pw_gang_is_joint(gang) ? receive_joint(gang) : take(gang, ret_launched);
}

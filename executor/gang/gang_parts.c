/* A member of an all-reduce in parts: it makes one part of the sum, in its result's room, and takes the others from theirs.
 *
 * Its group meets three times. When all have arrived, each reduces its part, and publishes that it is made. Each takes a part
 * when that is made, and publishes when it has taken all of them. And nobody leaves before all have taken what they take, for his
 * room and what he published may be written again then. Who makes none says so, and takes nothing; if one has arrived without a
 * value nobody makes any. Rooms of source and result may be the same: a part of a source is read by its maker alone, and written
 * when that has read all of them. */
#include "executor/gang/gang_private.h"

#include "executor/collective/stream.h"
#include "executor/wait.h"

/* At a time: what is reduced stays in the processor's first cache until it is written. */
#define BLOCK_BYTES (UINT64_C(16) << 10)

typedef void *copy(void *to, const void *from, size_t bytes);

/* Sources and result lie alike, as rows of elements (node.c). */
static uint64_t element_bytes(const struct pw_exec_gang *gang)
{
        return pw_dtype_bytes(pw_image_value(gang->view->program->image, gang->node->outputs[0].value)->dtype);
}

static copy *copy_of(const struct pw_exec_gang *gang)
{
        return gang->node->sources->to_box.size[0] * element_bytes(gang) >= PW_STREAM_BYTES ? pw_stream_copy : memcpy;
}

/* Part `i` of as many as there are sources, in whole lines but for the last. */
static struct pw_box part_of(const struct pw_exec_gang *gang, uint32_t i)
{
        const struct pw_program_sources *sources = gang->node->sources;
        uint64_t elements = sources->to_box.size[0], line = PW_LINE_BYTES / element_bytes(gang);
        uint64_t each = pw_round_up((elements + sources->count - 1) / sources->count, line), from = pw_min_u64(i * each, elements);

        return (struct pw_box){ .rank = 1, .start = { from }, .size = { pw_min_u64(each, elements - from) } };
}

static uint32_t device_of(const struct pw_exec_gang *gang, uint32_t source)
{
        return gang->view->program->slices[gang->node->image->slice].places[gang->node->sources->places[source]].device;
}

static bool is_own(const struct pw_exec_gang *gang, uint32_t source)
{
        return device_of(gang, source) == gang->launch->given.device;
}

/* --- the own part --------------------------------------------------------------------------------------------------------- */

static enum pw_status reduce(const struct pw_exec_gang *gang, const struct pw_box *part, uint64_t *ret_moved,
                             struct pw_error *ret_err)
{
        const struct pw_program_room *output = &gang->node->outputs[0];
        _Alignas(PW_LINE_BYTES) uint8_t block[BLOCK_BYTES];
        uint8_t *to = pw_run_room(gang->view, output).data;
        uint64_t bytes = element_bytes(gang), end = part->start[0] + part->size[0], moved;
        struct pw_assembly assembly = {
                .memory = gang->launch->memory,
                .device = gang->launch->given.handle,
                .to = block,
                .to_box = *part,
                .dtype = pw_image_value(gang->view->program->image, output->value)->dtype,
                .op = gang->node->image->op,
                .sources = gang->node->sources->sources,
                .group_of = gang->node->sources->groups,
                .source_count = gang->node->sources->count,
        };
        copy *write = copy_of(gang);

        for (uint64_t at = part->start[0]; at < end; at += BLOCK_BYTES / bytes) {
                assembly.to_box.start[0] = at;
                assembly.to_box.size[0] = pw_min_u64(BLOCK_BYTES / bytes, end - at);
                if (gang->launch->given.collective->assemble(&assembly, &moved, ret_err) != PW_OK)
                        return ret_err->status;
                write(to + at * bytes, block, assembly.to_box.size[0] * bytes);
                *ret_moved += moved;
        }
        return PW_OK;
}

struct pw_room_head pw_gang_parts_make(struct pw_exec_gang *gang)
{
        uint64_t moved = 0;
        struct pw_error err;

        if (pw_run_room(gang->view, &gang->node->outputs[0]).apart)
                return pw_gang_cause(gang, PW_UNSUPPORTED,
                                     "the processor does not read this device: nothing is reduced in parts there");
        for (uint32_t i = 0; i < gang->node->sources->count; i++) {
                struct pw_box part = part_of(gang, i);
                if (is_own(gang, i) && reduce(gang, &part, &moved, &err) != PW_OK)
                        return pw_gang_cause(gang, err.status, err.text);
        }
        gang->launch->given.kind->moved(gang->launch->given.handle, moved);
        return pw_gang_fault(gang, PW_OK);
}

/* --- the others' parts ---------------------------------------------------------------------------------------------------- */

static bool is_made(struct pw_exec_gang *gang, uint32_t device, struct pw_room_head *ret_fault)
{
        const struct pw_mark *made = &gang->launch->given.boards[device]->parts.made;
        bool came = pw_wait_member(gang->launch, device, &made->seq, gang->seq);

        if (pw_gang_has_ended(gang, device, ret_fault))
                return false;
        if (came)
                return pw_gang_mark_read(gang, made, ret_fault);
        *ret_fault = pw_gang_cause(gang, PW_DEVICE_LOST, "a device that takes part says that it is done, and made no part");
        ret_fault->cause_device = pw_gang_device(gang, device);
        return false;
}

static bool take(struct pw_exec_gang *gang, uint32_t source, uint64_t *ret_moved, struct pw_room_head *ret_fault)
{
        const struct pw_program_room *output = &gang->node->outputs[0];
        uint32_t place = gang->node->sources->places[source], device = device_of(gang, source);
        struct pw_box part = part_of(gang, source);
        uint64_t at = part.start[0] * element_bytes(gang), bytes = part.size[0] * element_bytes(gang);
        struct pw_place from;
        struct pw_error err;

        if (!is_made(gang, device, ret_fault))
                return false;
        if (pw_run_room_at(gang->view, &gang->launch->segments, output, place, &from, &err) != PW_OK) {
                *ret_fault = pw_gang_cause(gang, err.status, err.text);
                return false;
        }
        copy_of(gang)((uint8_t *)pw_run_room(gang->view, output).data + at, (const uint8_t *)from.data + at, bytes);
        *ret_moved += bytes;
        return !pw_gang_has_ended(gang, device, ret_fault) && !pw_gang_lost_meanwhile(gang, device, gang->seq, ret_fault);
}

static struct pw_room_head take_all(struct pw_exec_gang *gang)
{
        struct pw_room_head fault = pw_gang_fault(gang, PW_OK), next;
        uint64_t moved = 0;

        for (uint32_t i = 0; i < gang->node->sources->count; i++)
                if (!is_own(gang, i) && !take(gang, i, &moved, &next))
                        pw_gang_fault_join(&fault, &next);
        if (gang->came_ns)
                gang->launch->given.kind->not_before(gang->launch->given.handle, gang->came_ns);
        gang->launch->given.kind->moved(gang->launch->given.handle, moved);
        return fault;
}

/* One that will never say that it has taken everything takes nothing any more. */
static void wait_for_taker(struct pw_exec_gang *gang, uint32_t device)
{
        bool came = pw_wait_member(gang->launch, device, &gang->launch->given.boards[device]->parts.taken, gang->seq);

        (void)came;
}

struct pw_room_head pw_gang_parts_take(struct pw_exec_gang *gang, const struct pw_room_head *made)
{
        struct pw_launch *launch = gang->launch;
        struct pw_room_head outcome = *made;

        pw_gang_mark(gang, &launch->own->parts.made, made);
        if (made->status == PW_OK)
                outcome = take_all(gang);
        atomic_store(&launch->own->parts.taken, gang->seq);
        pw_bells_ring(launch->given.bells, &launch->given.bells->sleepers[launch->given.device].bits, gang->members);
        for (uint32_t i = 0; i < gang->node->sources->count; i++)
                if (!is_own(gang, i))
                        wait_for_taker(gang, device_of(gang, i));
        return outcome;
}

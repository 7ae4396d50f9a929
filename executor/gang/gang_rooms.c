/* Whose bytes lie in the rooms that a member writes. The device does what it does in the order of launches, so what is said of a
 * room at a launch is so when the next one begins. */
#include "executor/gang/gang_private.h"

/* Of the room of output `i`, scratch memory among them: what the member writes, and the rest of the room behind it, where a
 * function may have written in spite of its guards. */
struct extent { uint64_t at, bytes, rest; uint32_t owner; bool apart; };

static struct extent extent_of(const struct pw_exec_gang *gang, uint32_t i)
{
        const struct pw_program_node *node = gang->node;
        struct pw_place place = pw_run_room(gang->view, &node->outputs[i]);
        struct extent extent = { .at = (uintptr_t)place.data, .owner = place.segment, .apart = place.apart };

        if (node->image->kind == PW_NODE_CALL) {
                extent.bytes = node->output_values[i].bytes;
                extent.rest = node->rests[i];
        } else {
                const struct pw_image_value *value = pw_image_value(gang->view->program->image, node->outputs[i].value);
                extent.bytes = pw_box_elements(&node->sources->to_box) * pw_dtype_bytes(value->dtype);
        }
        return extent;
}

/* What was written while one tenant alone had rooms is his. */
static struct pw_residue *residue_of(struct pw_launch *launch)
{
        if (!launch->residue.count)
                pw_residue_begin(&launch->residue, launch->given.is_used ? PW_RESIDUE_UNKNOWN : launch->segments.first_apart);
        return &launch->residue;
}

__attribute__((cold, noinline)) static uint64_t take(const struct pw_exec_gang *gang)
{
        struct pw_residue *residue = residue_of(gang->launch);
        uint64_t zeroes = 0;

        for (uint32_t i = 0; i < gang->node->image->output_count; i++) {
                struct extent extent = extent_of(gang, i);
                if (!extent.apart)
                        continue;
                if (!pw_residue_is(residue, extent.at, extent.bytes, extent.owner))
                        zeroes |= pw_device_call_bit(i);
                pw_residue_set(residue, extent.at, extent.bytes, extent.owner);
                pw_residue_touch(residue, extent.at + extent.bytes, extent.rest, extent.owner);
        }
        return zeroes;
}

uint64_t pw_gang_rooms_take(const struct pw_exec_gang *gang) { return pw_gang_is_shared(gang->launch) ? take(gang) : 0; }

void pw_gang_rooms_forget(const struct pw_exec_gang *gang)
{
        for (uint32_t i = 0; pw_gang_is_shared(gang->launch) && i < gang->node->image->output_count; i++) {
                struct extent extent = extent_of(gang, i);
                pw_residue_set(residue_of(gang->launch), extent.at, extent.bytes + extent.rest, PW_RESIDUE_UNKNOWN);
        }
}

void pw_gang_rooms_clear(const struct pw_exec_gang *gang)
{
        struct pw_launch *launch = gang->launch;
        struct pw_error err;

        for (uint32_t i = 0; pw_gang_is_shared(launch) && i < gang->node->image->output_count; i++) {
                struct extent extent = extent_of(gang, i);
                if (launch->memory->zero(launch->given.handle, (uint8_t *)(uintptr_t)extent.at, extent.bytes, &err) != PW_OK)
                        pw_launch_die(launch, &err);
        }
}

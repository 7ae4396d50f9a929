/* The plain kind: a receiver reads rooms of others where they lie, copies the first of a group and reduces the rest into it. */
#include "executor/collective/kinds.h"

static enum pw_status host_assemble(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err)
{
        const struct pw_device_memory *memory = assembly->memory;
        size_t element_bytes = pw_dtype_bytes(assembly->dtype);
        enum pw_status status = PW_OK;
        uint64_t moved = 0;

        for (uint32_t i = 0; i < assembly->source_count && status == PW_OK; i++) {
                const struct pw_source *source = &assembly->sources[i];
                struct pw_box part;
                struct pw_box_move move = { .to = assembly->to, .to_box = &assembly->to_box, .from = source->data,
                                            .from_box = &source->box, .part = &part, .dtype = assembly->dtype,
                                            .from_host = source->in_host };
                if (!pw_box_meet(&source->box, &assembly->to_box, &part))
                        continue;
                moved += pw_box_elements(&part) * element_bytes;
                if (!i || assembly->group_of[i] != assembly->group_of[i - 1])
                        status = memory->copy_box(assembly->device, &move, ret_err);
                else
                        status = memory->reduce_box(assembly->device, &move, assembly->op, ret_err);
        }
        *ret_moved = moved;
        return status;
}

const struct pw_collective_kind pw_collective_host = {
        .name = "host",
        .assemble = host_assemble,
};

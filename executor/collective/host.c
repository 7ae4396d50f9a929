/* The plain kind: sources are maps of this process, a receiver copies the first of a group and reduces the others into it. */
#include "executor/collective/kinds.h"

static enum pw_status host_assemble(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err)
{
        size_t element_bytes = pw_dtype_bytes(assembly->dtype);
        uint64_t moved = 0;

        for (uint32_t i = 0; i < assembly->source_count; i++) {
                const struct pw_source *source = &assembly->sources[i];
                struct pw_box part;
                if (!pw_box_meet(&source->box, &assembly->to_box, &part))
                        continue;
                moved += pw_box_elements(&part) * element_bytes;
                if (!i || assembly->group_of[i] != assembly->group_of[i - 1])
                        pw_box_copy(assembly->to, &assembly->to_box, source->data, &source->box, &part, element_bytes);
                else if (pw_box_reduce(assembly->to, &assembly->to_box, source->data, &source->box, &part, assembly->dtype,
                                       assembly->op) != PW_OK)
                        return pw_error_set(ret_err, PW_UNSUPPORTED, "a reduction of %s values", pw_dtype_text(assembly->dtype));
        }
        *ret_moved = moved;
        return PW_OK;
}

const struct pw_collective_kind pw_collective_host = {
        .name = "host",
        .assemble = host_assemble,
};

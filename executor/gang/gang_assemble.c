/* A shard put together from the parts that others hold, by the collective of the device's kind. */
#include "executor/gang/gang_private.h"

struct pw_room_head pw_gang_assemble(struct pw_exec_gang *gang)
{
        const struct pw_program_sources *sources = gang->node->sources;
        const struct pw_program_room *output = &gang->node->outputs[0];
        struct pw_launch *launch = gang->launch;
        enum pw_status status = PW_OK;
        struct pw_error err;
        uint64_t moved;
        struct pw_assembly assembly = {
                .memory = launch->memory,
                .device = launch->given.handle,
                .to = pw_run_room(gang->view, output).data,
                .to_box = sources->to_box,
                .dtype = pw_image_value(gang->view->program->image, output->value)->dtype,
                .op = gang->node->image->op,
                .sources = sources->sources,
                .group_of = sources->groups,
                .source_count = sources->count,
        };

        if (sources->uncovered && !sources->rest_is_zero)
                return pw_gang_cause(gang, PW_UNSUPPORTED, "nothing that is there makes up this part of the value");
        if (sources->uncovered)
                status = launch->memory->zero(launch->given.handle, assembly.to,
                                              pw_box_elements(&assembly.to_box) * pw_dtype_bytes(assembly.dtype), &err);
        if (status == PW_OK)
                status = launch->given.collective->assemble(&assembly, &moved, &err);
        if (status == PW_OK)
                status = launch->memory->settle(launch->given.handle, &err);
        if (status != PW_OK)
                return pw_gang_cause(gang, err.status, err.text);
        launch->given.kind->moved(launch->given.handle, moved);
        return pw_gang_fault(gang, PW_OK);
}

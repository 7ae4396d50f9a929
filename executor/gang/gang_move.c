/* A shard put together from the parts that others hold, by the collective of the device's kind: a load, or what a receiver takes.
 * Where the device does things later than they are launched it is under way then, like a call. */
#include "executor/gang/flight.h"
#include "executor/gang/gang_private.h"

static bool find(const struct pw_exec_gang *gang, struct pw_gang_move *ret_move, struct pw_room_head *ret_fault)
{
        const struct pw_program_sources *sources = gang->node->sources;
        const struct pw_program_room *output = &gang->node->outputs[0];

        if (sources->uncovered && !sources->rest_is_zero) {
                *ret_fault = pw_gang_cause(gang, PW_UNSUPPORTED, "nothing that is there makes up this part of the value");
                return false;
        }
        *ret_move = (struct pw_gang_move){
                .assembly = { .memory = gang->launch->memory,
                              .device = gang->launch->given.handle,
                              .to = pw_run_room(gang->view, output).data,
                              .to_box = sources->to_box,
                              .dtype = pw_image_value(gang->view->program->image, output->value)->dtype,
                              .op = gang->node->image->op,
                              .sources = sources->sources,
                              .group_of = sources->groups,
                              .source_count = sources->count },
                .heads = sources->heads,
                .has_rest = sources->uncovered,
        };
        return true;
}

enum pw_status pw_gang_move_make(const struct pw_exec_gang *gang, const struct pw_gang_move *move, struct pw_error *ret_err)
{
        const struct pw_launch_params *given = &gang->launch->given;
        const struct pw_assembly *assembly = &move->assembly;
        enum pw_status status = PW_OK;
        uint64_t moved = 0;

        if (gang->came_ns)
                given->kind->not_before(given->handle, gang->came_ns);
        if (move->has_rest)
                status = assembly->memory->zero(assembly->device, assembly->to,
                                                pw_box_elements(&assembly->to_box) * pw_dtype_bytes(assembly->dtype), ret_err);
        if (status == PW_OK)
                status = given->collective->assemble(assembly, &moved, ret_err);
        if (status == PW_OK)
                given->kind->moved(given->handle, moved);
        return status;
}

struct pw_room_head pw_gang_move(struct pw_exec_gang *gang, bool *ret_launched)
{
        struct pw_room_head outcome;
        struct pw_gang_move move;
        struct pw_error err;

        if (!find(gang, &move, &outcome))
                return outcome;
        (void)pw_gang_rooms_take(gang);
        if (gang->launch->flights) {
                *ret_launched = pw_flight_move(gang, &move, &outcome);
                if (!*ret_launched)
                        pw_gang_rooms_forget(gang);
                return outcome;
        }
        if (pw_gang_move_make(gang, &move, &err) != PW_OK) {
                pw_gang_rooms_forget(gang);
                return pw_gang_cause(gang, err.status, err.text);
        }
        return pw_gang_look_again(gang, move.heads, move.assembly.source_count);
}

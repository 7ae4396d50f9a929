/* The plain kind: a receiver reads rooms of others where they lie, copies the first of a group and reduces the rest into it. */
#include "executor/collective/kinds.h"

enum pw_status pw_collective_assemble(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err)
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

/* --- no joints ---------------------------------------------------------------------------------------------------------------- */

static enum pw_status host_open(const struct pw_collective_params *params, struct pw_collective **ret_collective,
                                struct pw_error *ret_err)
{
        (void)params;
        (void)ret_err;
        *ret_collective = NULL;
        return PW_OK;
}

static void host_close(struct pw_collective *collective) { (void)collective; }

static bool host_is_off(struct pw_collective *collective)
{
        (void)collective;
        return true;
}

static bool host_has_launched(const struct pw_collective *collective)
{
        (void)collective;
        return false;
}

static uint32_t host_takes(struct pw_collective *collective, const struct pw_joint *joint)
{
        (void)collective;
        (void)joint;
        return 0;
}

static uint64_t host_channel(struct pw_collective *collective, const struct pw_joint *joint)
{
        (void)collective;
        (void)joint;
        return 0;
}

static enum pw_status host_id(struct pw_collective *collective, struct pw_channel_id *ret_id, struct pw_error *ret_err)
{
        (void)collective;
        (void)ret_id;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "kind host does nothing jointly");
}

static enum pw_status host_begin(struct pw_collective *collective, const struct pw_joint *joint, const struct pw_channel_id *id,
                                 struct pw_error *ret_err)
{
        (void)collective;
        (void)joint;
        (void)id;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "kind host does nothing jointly");
}

static enum pw_status host_poll(struct pw_collective *collective, struct pw_error *ret_err)
{
        (void)collective;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "kind host does nothing jointly");
}

static void host_abort(struct pw_collective *collective) { (void)collective; }

const struct pw_collective_kind pw_collective_host = {
        .name = "host",
        .open = host_open,
        .close = host_close,
        .is_off = host_is_off,
        .takes = host_takes,
        .channel = host_channel,
        .id = host_id,
        .begin = host_begin,
        .poll = host_poll,
        .has_launched = host_has_launched,
        .abort = host_abort,
        .assemble = pw_collective_assemble,
};

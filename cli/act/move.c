/* pathways move. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/print/output.h"
#include "libclient/session.h"

/* Only results keep their id: what a client put would end with this command on its devices. */
static enum pw_status check(struct pw_future *future, struct pw_error *ret_err)
{
        struct pw_id id = pw_future_id(future);
        char text[PW_ID_TEXT_BYTES];

        if (pw_future_segment(future)->kind == PW_SEGMENT_FUTURES)
                return PW_OK;
        return pw_error_set(ret_err, PW_UNSUPPORTED,
                            "%s: a client put it, and its id says where; only results of programs can move",
                            pw_id_format(id, text));
}

static enum pw_status move(struct pw_invocation *invocation, struct pw_future **future, struct pw_error *ret_err)
{
        const struct pw_command_settings *settings = &invocation->settings;
        struct pw_relocate_params params = { .timeout_us = (int64_t)pw_min_u64(settings->timeout_us, PW_FOREVER) };
        struct pw_slice_params slice = { .device_count = settings->devices, .kind = settings->kind,
                                         .island_count = settings->islands };
        enum pw_status status = pw_sharding_parse("--sharding", settings->sharding, &params.sharding, ret_err);

        if (!slice.device_count && (slice.kind || slice.island_count))
                return pw_error_set(ret_err, PW_INVALID, "--kind and --islands say which devices: say how many, with --devices");
        if (status == PW_OK && slice.device_count)
                status = pw_slice_open(invocation->session, &slice, &params.slice, ret_err);
        if (status == PW_OK)
                status = pw_relocate(future, &params, ret_err);
        pw_slice_close(params.slice);
        return status;
}

enum pw_status pw_command_move(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct pw_future *future;
        char text[PW_ID_TEXT_BYTES];
        enum pw_status status = pw_operand_open(invocation, invocation->operands[0], 0, &future, ret_err);

        if (status != PW_OK)
                return status;
        status = check(future, ret_err);
        if (status == PW_OK)
                status = move(invocation, &future, ret_err);
        if (status == PW_OK && invocation->settings.json) {
                Pathways__Wire__Cell cell = pw_cell_text("id", pw_id_format(pw_future_id(future), text));
                status = pw_output_cells(invocation, &cell, 1, ret_err);
        }
        pw_unref(future);
        return status;
}

/* Slices: virtual devices, asked of the daemon's resource manager. */
#include "libclient/program/program.h"

#include "base/layout.h"
#include "libclient/params.h"

static enum pw_status params_check(const struct pw_slice_params *params, struct pw_error *ret_err)
{
        if (!params || params->device_count == 0)
                return pw_error_set(ret_err, PW_INVALID, "a slice has at least one device, device_count is 0");
        if (params->island < 0)
                return pw_error_set(ret_err, PW_INVALID, "island %d: it is 1 + the number of an island, or 0 for any",
                                    params->island);
        char mesh[64];
        if (!pw_mesh_possible(params->mesh))
                return pw_error_set(ret_err, PW_INVALID, "mesh {%u, %u, %u, %u}: an axis comes behind one that has no size",
                                    params->mesh[0], params->mesh[1], params->mesh[2], params->mesh[3]);
        if (params->mesh[0] && pw_mesh_count(params->mesh) != params->device_count)
                return pw_error_set(ret_err, PW_INVALID, "a mesh of %s has %u places, device_count is %u",
                                    pw_mesh_format(params->mesh, mesh, sizeof mesh), pw_mesh_count(params->mesh),
                                    params->device_count);
        return PW_OK;
}

static enum pw_status slice_of(struct pw_session *session, const struct pw_slice_params *params, const Pathways__Wire__Slice *reply,
                               struct pw_slice **ret_slice, struct pw_error *ret_err)
{
        struct pw_slice *slice = calloc(1, sizeof *slice);
        if (!slice)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a slice");
        slice->session = pw_session_ref(session);
        slice->number = reply->slice;
        slice->device_count = params->device_count;
        memcpy(slice->mesh, params->mesh, sizeof slice->mesh); /* 0: there is no such axis, and no sharding over it */
        if (!slice->mesh[0])
                slice->mesh[0] = params->device_count;
        *ret_slice = slice;
        return PW_OK;
}

enum pw_status pw_slice_open_sized(struct pw_session *session, const struct pw_slice_params *params, size_t params_bytes,
                                   struct pw_slice **ret_slice, struct pw_error *ret_err)
{
        struct pw_slice_params known;
        if (!PW_PARAMS_KNOWN(params, params_bytes)) {
                enum pw_status status = pw_params_convert(
                        &(struct pw_params){ "pw_slice_open()", params, params_bytes, &known, sizeof known }, ret_err);
                if (status != PW_OK)
                        return status;
                params = &known;
        }
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK)
                status = params_check(params, ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_slice, "ret_slice", ret_err);
        if (status != PW_OK)
                return status;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__SliceOpen open = PATHWAYS__WIRE__SLICE_OPEN__INIT;
        uint32_t mesh[PW_MESH_AXES_MAX];
        memcpy(mesh, params->mesh, sizeof mesh);
        open.device_count = params->device_count;
        if (params->kind)
                open.kind = (char *)(uintptr_t)params->kind;
        open.mesh = mesh;
        while (open.n_mesh < PW_MESH_AXES_MAX && mesh[open.n_mesh])
                open.n_mesh++;
        open.island_count = params->island_count;
        open.island = params->island;
        open.memory_bytes = params->memory_bytes;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SLICE_OPEN;
        request.slice_open = &open;
        struct pw_answer answer;
        pw_session_ref(session); /* pw_close() may come meanwhile */
        status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_SLICE, &answer, ret_err);
        if (status == PW_OK) {
                status = slice_of(session, params, answer.reply->slice, ret_slice, ret_err);
                pw_answer_done(&answer);
        }
        pw_session_unref(session);
        return status;
}

void pw_slice_close(struct pw_slice *slice)
{
        if (!slice)
                return;
        if (pw_session_alive(slice->session)) {
                Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
                Pathways__Wire__SliceClose close = PATHWAYS__WIRE__SLICE_CLOSE__INIT;
                close.slice = slice->number;
                request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SLICE_CLOSE;
                request.slice_close = &close;
                pw_session_post(slice->session, &request);
        }
        pw_session_unref(slice->session);
        free(slice);
}

uint32_t pw_slice_device_count(const struct pw_slice *slice) { return slice ? slice->device_count : 0; }

/* Slices of a session. */
#include "daemon/work/slice.h"

#include "base/memory.h"
#include "daemon/memory/device.h"
#include "daemon/session/kept.h"
#include "daemon/session/output.h"

/* What a slice of a session takes of the heap: its record, places in tables, and two lists of its devices. */
#define SLICE_BYTES 180
#define SLICE_DEVICE_BYTES 4
#define SLICES_MAX 65536u /* of a session */

static int64_t slice_bytes(struct pw_dsession *session, uint32_t slice)
{
        const struct pw_slice_map *map = pw_scheduler_slice(session->daemon->scheduler, slice);

        return SLICE_BYTES + (map ? (int64_t)map->device_count : 0) * SLICE_DEVICE_BYTES;
}

void pw_slice_end(struct pw_dsession *session, uint32_t slice)
{
        pw_kept_count(session->daemon, session->tenant, PW_KEPT_PROGRAMS, -slice_bytes(session, slice));
        pw_scheduler_slice_close(session->daemon->scheduler, slice);
}

static enum pw_status open_slice(struct pw_dsession *session, const Pathways__Wire__SliceOpen *request,
                                 const struct pw_slice_map **ret_slice, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_slice_ask ask = { .tenant = session->tenant->name,
                                    .kind = request->kind[0] ? request->kind : NULL,
                                    .device_count = request->device_count,
                                    .island_count = request->island_count,
                                    .island = request->island,
                                    .memory_bytes = request->memory_bytes,
                                    .session = session->number };
        enum pw_status status;

        if (request->n_mesh > PW_MESH_AXES_MAX)
                return pw_error_set(ret_err, PW_INVALID, "slice: a mesh of %zu axes, %d at most", request->n_mesh,
                                    PW_MESH_AXES_MAX);
        if (session->slices.count >= SLICES_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "slice: the session has %u slices open, as many as it may: close some",
                                    session->slices.count);
        for (size_t i = 0; i < request->n_mesh; i++)
                ask.mesh[i] = request->mesh[i];
        status = pw_kept_ask(daemon, session->tenant, PW_KEPT_PROGRAMS,
                             SLICE_BYTES + SLICE_DEVICE_BYTES * pw_min_u64(request->device_count, PW_SLICE_DEVICES_MAX), ret_err);
        if (status == PW_OK)
                status = pw_tenant_devices(daemon, session->tenant, ret_err);
        if (status == PW_OK)
                status = pw_scheduler_slice_open(daemon->scheduler, &ask, ret_slice, ret_err);
        if (status == PW_OK && !pw_table_put(&session->slices, (*ret_slice)->id, session)) {
                pw_scheduler_slice_close(daemon->scheduler, (*ret_slice)->id);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        }
        if (status == PW_OK)
                pw_kept_count(daemon, session->tenant, PW_KEPT_PROGRAMS, slice_bytes(session, (*ret_slice)->id));
        return status;
}

void pw_slice_open_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__SliceOpen *request)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Slice body = PATHWAYS__WIRE__SLICE__INIT;
        uint32_t mesh[PW_MESH_AXES_MAX];
        const struct pw_slice_map *slice;
        struct pw_error err;
        enum pw_status status = open_slice(session, request, &slice, &err);

        if (status != PW_OK) {
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                mesh[i] = slice->mesh[i];
        body.slice = slice->id;
        body.mesh = mesh;
        body.n_mesh = PW_MESH_AXES_MAX;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_SLICE;
        reply.slice = &body;
        pw_session_reply(session, id, &reply, NULL, 0);
}

void pw_slice_close_request(struct pw_dsession *session, uint64_t id, uint32_t slice)
{
        if (!pw_table_remove(&session->slices, slice)) {
                pw_session_reply_error(session, id, PW_NOT_FOUND, "the session has no such slice");
                return;
        }
        pw_slice_end(session, slice);
        pw_session_reply_ok(session, id);
}

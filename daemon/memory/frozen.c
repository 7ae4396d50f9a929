/* Frozen puts: room in the tenant's freezer, a copy by the worker, then an object that its client holds. */
#include "daemon/memory/frozen.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"
#include "daemon/session/output.h"
#include "store/object.h"

#include <stdio.h>
#include <sys/mman.h>

#define FREEZER_SLOTS (PW_SLOT_MAX + 1)
#define ROOM_SPACE 4u /* addresses for each byte of host memory, as a client's segment has */

/* A lane serves one put at a time, until it has its room. */
struct pw_freezer {
        uint32_t session; /* in the store; no process has it */
        struct pw_segment *segment;
        struct pw_map control;
        bool busy[PW_LANES_MAX];
};

struct pw_frozen {
        struct pw_list link; /* in daemon->memory.frozen while it is copied; else alone */
        struct pw_freezer *freezer;
        uint32_t session, lane; /* lane: of the freezer */
        uint64_t id, token;
        uint64_t from, room_bytes;
        struct pw_described described;
        uint32_t slot, generation;
};

/* --- the freezer of a tenant ----------------------------------------------------------------------------------------------- */

void pw_freezer_free(struct pw_freezer *freezer)
{
        if (freezer)
                pw_unmap(&freezer->control);
        free(freezer);
}

struct pw_backing *pw_freezer_backing(const struct pw_freezer *freezer) { return freezer->segment->backed.backing; }

static enum pw_status open_freezer(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_freezer *freezer,
                                   struct pw_error *ret_err)
{
        uint64_t rooms = ROOM_SPACE * pw_round_up(daemon->settings.host_memory, 4096);
        struct pw_segment like = { .layout = pw_segment_layout(PW_SEGMENT_CLIENT, FREEZER_SLOTS, rooms), .tenant = tenant,
                                   .session = freezer->session };
        enum pw_status status = pw_store_session_open(daemon->store,
                                                      &(struct pw_store_session_params){ .session = freezer->session,
                                                                                         .tenant = tenant->name,
                                                                                         .client = "pathwaysd",
                                                                                         .control =
                                                                                         (struct pw_control *)freezer->control.base,
                                                                                         .control_bytes = PW_CONTROL_BYTES,
                                                                                         .now_us = pw_now_us() },
                                                      ret_err);

        if (status != PW_OK)
                return status;
        status = pw_backing_frozen(daemon, like.layout.bytes, tenant, &like.backed, ret_err);
        if (status == PW_OK)
                status = pw_segment_new(daemon, &like, &freezer->segment, ret_err);
        if (status != PW_OK) {
                if (like.backed.backing)
                        pw_backing_thaw(like.backed.backing);
                pw_backed_done(daemon, &like.backed);
                pw_store_session_end(daemon->store, freezer->session, true, pw_now_us());
        }
        return status;
}

static enum pw_status freezer_of(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_freezer **ret_freezer,
                                 struct pw_error *ret_err)
{
        struct pw_freezer *freezer = tenant->freezer ? NULL : calloc(1, sizeof *freezer);
        void *control;
        enum pw_status status;

        *ret_freezer = tenant->freezer;
        if (tenant->freezer)
                return PW_OK;
        control = freezer ? mmap(NULL, PW_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                                 0) : MAP_FAILED;
        if (control == MAP_FAILED) {
                free(freezer);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for frozen puts");
        }
        freezer->control = (struct pw_map){ control, PW_CONTROL_BYTES, true };
        freezer->session = ++daemon->registry.next_session;
        status = open_freezer(daemon, tenant, freezer, ret_err);
        if (status != PW_OK) {
                pw_freezer_free(freezer);
                return status;
        }
        *ret_freezer = tenant->freezer = freezer;
        return PW_OK;
}

void pw_freezer_end(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        struct pw_freezer *freezer = tenant->freezer;

        for (uint32_t lane = 0; freezer && lane < PW_LANES_MAX; lane++)
                if (freezer->busy[lane])
                        return;
        if (!freezer)
                return;
        tenant->freezer = NULL;
        pw_store_session_end(daemon->store, freezer->session, true, pw_now_us());
        pw_freezer_free(freezer);
        daemon->loop.more = true;
}

static bool take_lane(struct pw_frozen *frozen)
{
        struct pw_freezer *freezer = frozen->freezer;

        for (frozen->lane = 0; frozen->lane < PW_LANES_MAX; frozen->lane++)
                if (!freezer->busy[frozen->lane])
                        return freezer->busy[frozen->lane] = true;
        return false;
}

/* --- the request ------------------------------------------------------------------------------------------------------------- */

/* What the request says of the value, checked, and that it lies in the client's rooms. */
static enum pw_status describe(const struct pw_dsession *session, const Pathways__Wire__Freeze *request, struct pw_frozen *frozen,
                               struct pw_error *ret_err)
{
        const struct pw_segment_layout *layout = &session->own->layout;
        struct pw_described *described = &frozen->described;
        uint64_t bytes;

        *described = (struct pw_described){ .bytes = request->bytes, .dtype = (enum pw_dtype)request->dtype,
                                            .dims = { .rank = 1, .dim = { request->bytes } } };
        if (request->lane >= PW_LANES_MAX || request->n_dims > PW_RANK_MAX || (request->dtype && !pw_dtype_bytes(described->dtype)))
                return pw_error_set(ret_err, PW_INVALID, "frozen put: lane, dtype or rank cannot be");
        if (request->dtype != PW_OPAQUE) {
                described->dims.rank = (uint32_t)request->n_dims;
                if (request->n_dims)
                        memcpy(described->dims.dim, request->dims, request->n_dims * sizeof request->dims[0]);
                if (pw_dims_bytes(described->dtype, &described->dims, &bytes, ret_err) != PW_OK || bytes != request->bytes)
                        return pw_error_set(ret_err, PW_SHAPE, "frozen put: dims and bytes do not go together");
        }
        frozen->room_bytes =
                pw_max_u64(pw_entry_room_bytes(request->bytes, described->dtype, &described->dims), pw_max_u64(request->bytes, 1));
        if (request->offset < layout->room_offset || request->offset > layout->bytes ||
            frozen->room_bytes > layout->bytes - request->offset)
                return pw_error_set(ret_err, PW_INVALID, "frozen put: the value does not lie in the rooms of its client");
        frozen->from = request->offset;
        return PW_OK;
}

static void ask_room(struct pw_dsession *session, struct pw_frozen *frozen, uint64_t until_us)
{
        struct pw_daemon *daemon = session->daemon;

        pw_store_room_request(daemon->store, &(struct pw_room_request){ .token = frozen->token,
                                                                        .session = frozen->freezer->session,
                                                                        .lane = frozen->lane,
                                                                        .size_class = pw_size_class(frozen->room_bytes),
                                                                        .count = 1,
                                                                        .need_bytes = frozen->room_bytes,
                                                                        .now_us = pw_now_us(),
                                                                        .deadline_us = until_us });
        daemon->loop.more = true;
}

void pw_frozen_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Freeze *request)
{
        uint64_t until_us = request->timeout_us < 0 ? UINT64_MAX : pw_now_us() + (uint64_t)request->timeout_us;
        struct pw_frozen *frozen = calloc(1, sizeof *frozen);
        struct pw_error err;
        enum pw_status status =
                frozen ? describe(session, request, frozen, &err) : pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory");

        if (status == PW_OK)
                status = freezer_of(session->daemon, session->tenant, &frozen->freezer, &err);
        if (status == PW_OK && !take_lane(frozen))
                status = pw_error_set(&err, PW_LIMIT, "tenant %s has %u frozen puts that wait for room: let some end first",
                                      session->tenant->name, PW_LANES_MAX);
        if (status != PW_OK) {
                free(frozen);
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        pw_list_init(&frozen->link);
        frozen->session = session->number;
        frozen->id = id;
        frozen->token = pw_rooms_wait_for(session, frozen, request->lane, frozen->room_bytes, until_us);
        if (frozen->token) {
                ask_room(session, frozen, until_us);
                return;
        }
        pw_frozen_free(frozen);
        pw_session_reply_error(session, id, PW_NO_MEMORY, "pathwaysd is out of memory");
}

void pw_frozen_free(struct pw_frozen *frozen)
{
        frozen->freezer->busy[frozen->lane] = false;
        pw_list_remove(&frozen->link);
        free(frozen);
}

/* --- room, copy, object ------------------------------------------------------------------------------------------------------- */

/* The copy's own claim, like a run's (there is no run 0): whoever frees the object by force meanwhile, its room stays until it is
 * copied. */
static const struct pw_owner the_copy = { PW_OWNER_RUN, 0 };

static struct pw_cell cell_of(const struct pw_frozen *frozen)
{
        return pw_cell_object(0, frozen->freezer->segment->number, frozen->slot, frozen->generation);
}

static void refuse(struct pw_daemon *daemon, struct pw_frozen *frozen, enum pw_status status, const char *text)
{
        struct pw_dsession *session = pw_session_get(&daemon->registry, frozen->session);

        if (session)
                pw_session_reply_error(session, frozen->id, status, text ? text : pw_status_text(status));
        pw_frozen_free(frozen);
}

void pw_frozen_room(struct pw_daemon *daemon, struct pw_frozen *frozen, const struct pw_store_action *action)
{
        struct pw_dsession *session = pw_session_get(&daemon->registry, frozen->session);
        struct pw_segment *segment = frozen->freezer->segment;
        struct pw_object *object;

        if (action->kind == PW_STORE_REFUSE) {
                refuse(daemon, frozen, action->status, action->text);
                return;
        }
        frozen->slot = action->grant.first_slot;
        frozen->described.room_segment = segment->number;
        frozen->described.room_offset = action->grant.room_offset;
        if (!session || action->kind != PW_STORE_GRANT ||
            !pw_entry_take(pw_map_entry(&segment->map, frozen->slot), &frozen->generation)) {
                pw_store_extent_end(daemon->store, &action->grant, pw_now_us());
                refuse(daemon, frozen, PW_NO_SPACE, "the room for a frozen put was taken back");
                return;
        }
        object = pw_store_find(daemon->store, 0, segment->number, frozen->slot, frozen->generation);
        if (!object || pw_store_hold(daemon->store, object, the_copy, NULL) != PW_OK) {
                (void)!pw_store_drop(daemon->store, frozen->freezer->session, cell_of(frozen), pw_now_us());
                pw_store_extent_end(daemon->store, &action->grant, pw_now_us());
                refuse(daemon, frozen, PW_NO_MEMORY, NULL);
                return;
        }
        pw_store_extent_end(daemon->store, &action->grant, pw_now_us()); /* it goes when the object does */
        pw_list_append(&daemon->memory.frozen, &frozen->link);
        pw_worker_ask(daemon->memory.worker, &(struct pw_memory_work){ .backing = segment->backed.backing,
                                                         .offset = segment->backed.offset + frozen->described.room_offset,
                                                         .bytes = frozen->room_bytes,
                                                         .from = session->own->backed.backing,
                                                         .from_offset = session->own->backed.offset + frozen->from,
                                                         .token = frozen->token });
}

/* Out of PENDING; the reference that the freezer was born with goes over to the session. */
static void hand_over(struct pw_daemon *daemon, struct pw_frozen *frozen, enum pw_status status)
{
        struct pw_dsession *session = pw_session_get(&daemon->registry, frozen->session);
        struct pw_segment *segment = frozen->freezer->segment;
        struct pw_entry *entry = pw_map_entry(&segment->map, frozen->slot);
        struct pw_object *object = pw_store_find(daemon->store, 0, segment->number, frozen->slot, frozen->generation);
        uint64_t old, now_us = pw_now_us();
        struct pw_error err;

        if (status != PW_OK)
                pw_error_set(&err, status, "the copy of a frozen put: %s", pw_status_text(status));
        else if (session && object)
                status = pw_store_hold(daemon->store, object, (struct pw_owner){ PW_OWNER_SESSION, session->number }, &err);
        pw_entry_fill(entry, &frozen->described, NULL);
        entry->label = 0;
        pw_entry_decide(entry, frozen->generation, session ? status : PW_CANCELLED, PW_ENTRY_FROZEN, UINT32_MAX, &old);
        if (pw_store_drop(daemon->store, frozen->freezer->session, cell_of(frozen), now_us) != PW_OK)
                pw_log(&daemon->log, PW_LOG_ERROR, "frozen put: the store does not know its own slot");
        pw_store_release(daemon->store, object, the_copy, now_us);
        if (session && status == PW_OK)
                pw_session_reply_object(session, frozen->id, pw_object_id(daemon->store, object));
        else if (session)
                pw_session_reply_error(session, frozen->id, status, err.text);
}

void pw_frozen_copied(struct pw_daemon *daemon, uint64_t token, enum pw_status status)
{
        struct pw_frozen *frozen;

        pw_list_each(&daemon->memory.frozen, frozen, struct pw_frozen, link) {
                if (frozen->token != token)
                        continue;
                hand_over(daemon, frozen, status);
                pw_frozen_free(frozen);
                return;
        }
}

void pw_frozen_done(struct pw_daemon *daemon)
{
        struct pw_frozen *frozen;

        pw_list_each(&daemon->memory.frozen, frozen, struct pw_frozen, link)
                pw_frozen_free(frozen);
}

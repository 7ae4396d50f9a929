/* Frozen puts: room in the tenant's freezer, a copy by the worker, then an object that its client holds. */
#include "daemon/memory/freezer/frozen.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/memory/freezer/freezer.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"
#include "daemon/session/output.h"
#include "store/object.h"

#include <stdio.h>

struct pw_frozen {
        struct pw_room_taker taker;
        struct pw_list link; /* in daemon->memory.frozen while it is copied; else alone */
        struct pw_freezer *freezer;
        uint32_t session, lane; /* lane: of the freezer */
        uint64_t id, token;
        uint64_t from, room_bytes, until_us;
        uint32_t asked_by;        /* lane of the client */
        struct pw_described described;
        struct pw_object *object; /* while it is copied */
};

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

/* False: out of memory. */
static bool ask_room(struct pw_dsession *session, struct pw_frozen *frozen)
{
        struct pw_daemon *daemon = session->daemon;

        frozen->token = pw_rooms_wait_for(daemon, &(struct pw_room_for){ session, &frozen->taker, frozen->asked_by,
                                                                         frozen->room_bytes, frozen->until_us });
        if (!frozen->token)
                return false;
        pw_store_room_request(daemon->store, &(struct pw_room_request){ .token = frozen->token,
                                                                        .session = frozen->freezer->session,
                                                                        .lane = frozen->lane,
                                                                        .at_once = true,
                                                                        .size_class = pw_size_class(frozen->room_bytes),
                                                                        .count = 1,
                                                                        .need_bytes = frozen->room_bytes,
                                                                        .now_us = pw_now_us(),
                                                                        .deadline_us = frozen->until_us });
        daemon->loop.more = true;
        return true;
}

static void free_frozen(struct pw_frozen *frozen)
{
        pw_freezer_give_lane(frozen->freezer, frozen->lane);
        pw_list_remove(&frozen->link);
        free(frozen);
}

static void drop_frozen(struct pw_room_taker *taker) { free_frozen(pw_list_item(taker, struct pw_frozen, taker)); }

static void take_room_for(struct pw_daemon *daemon, struct pw_room_taker *taker, const struct pw_store_action *action);

void pw_frozen_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Freeze *request)
{
        struct pw_frozen *frozen = calloc(1, sizeof *frozen);
        struct pw_error err;
        enum pw_status status =
                frozen ? describe(session, request, frozen, &err) : pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory");

        if (status == PW_OK)
                status = pw_freezer_of(session->daemon, session->tenant, PW_FREEZER_FROZEN, &frozen->freezer, &err);
        if (status == PW_OK)
                status = pw_freezer_take_lane(frozen->freezer, "frozen puts", &frozen->lane, &err);
        if (status != PW_OK) {
                free(frozen);
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        pw_list_init(&frozen->link);
        frozen->session = session->number;
        frozen->id = id;
        frozen->taker = (struct pw_room_taker){ take_room_for, drop_frozen };
        frozen->asked_by = request->lane;
        frozen->until_us = request->timeout_us < 0 ? UINT64_MAX : pw_now_us() + (uint64_t)request->timeout_us;
        if (ask_room(session, frozen))
                return;
        free_frozen(frozen);
        pw_session_reply_error(session, id, PW_NO_MEMORY, "pathwaysd is out of memory");
}

/* --- room, copy, object ------------------------------------------------------------------------------------------------------- */

static void refuse(struct pw_daemon *daemon, struct pw_frozen *frozen, enum pw_status status, const char *text)
{
        struct pw_dsession *session = pw_session_get(&daemon->registry, frozen->session);

        if (session)
                pw_session_reply_error(session, frozen->id, status, text ? text : pw_status_text(status));
        free_frozen(frozen);
}

static void take_room_for(struct pw_daemon *daemon, struct pw_room_taker *taker, const struct pw_store_action *action)
{
        struct pw_frozen *frozen = pw_list_item(taker, struct pw_frozen, taker);
        struct pw_dsession *session = pw_session_get(&daemon->registry, frozen->session);
        struct pw_segment *segment = frozen->freezer->segment;
        struct pw_error err;
        enum pw_status status = pw_freezer_begin(daemon, frozen->freezer, action, &frozen->object, &err);

        if (status == PW_NOT_READY && session && ask_room(session, frozen))
                return;
        if (status == PW_OK && !session) {
                pw_freezer_decide(daemon, frozen->object, &frozen->described, PW_CANCELLED);
                pw_freezer_let_go(daemon, frozen->object);
        }
        if (status != PW_OK || !session) {
                refuse(daemon, frozen, status, err.text);
                return;
        }
        frozen->described.room_segment = segment->number;
        frozen->described.room_offset = action->grant.room_offset;
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
        struct pw_object *object = frozen->object;
        struct pw_error err;

        if (status != PW_OK)
                pw_error_set(&err, status, "the copy of a frozen put: %s", pw_status_text(status));
        else if (session)
                status = pw_store_hold(daemon->store, object, (struct pw_owner){ PW_OWNER_SESSION, session->number }, &err);
        pw_freezer_decide(daemon, object, &frozen->described, session ? status : PW_CANCELLED);
        pw_freezer_let_go(daemon, object);
        if (session && status == PW_OK)
                pw_session_reply_object(session, frozen->id, pw_object_id(daemon->store, object), pw_object_cell(object));
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
                free_frozen(frozen);
                return;
        }
}

void pw_frozen_done(struct pw_daemon *daemon)
{
        struct pw_frozen *frozen;

        pw_list_each(&daemon->memory.frozen, frozen, struct pw_frozen, link)
                free_frozen(frozen);
}

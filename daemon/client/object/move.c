/* Moving a value between memories by request: the client has put a copy there, or had a run make one; now they change places.
 *
 * All of it happens in this call: what has been decided is done, the entries are flagged, the rings of who may refer to them are
 * read, then the places change or somebody else turned out to hold the value. So nobody sees a value half moved, and a client
 * that dies on the way leaves a copy that ends with it. */
#include "daemon/client/object/move.h"

#include "daemon/client/scan.h"
#include "daemon/client/observer.h"
#include "daemon/memory/segment.h"
#include "daemon/session/object.h"
#include "daemon/session/output.h"
#include "store/object.h"

#include <stdio.h>

/* The rooms that an object has now are those of its result. */
static void claim_rooms(struct pw_object *object)
{
        struct pw_result *result = pw_object_result(object);

        if (result)
                result->object = object;
}

/* `with` NULL: only look whether it could be. */
static enum pw_status move(struct pw_dsession *session, struct pw_object *object, struct pw_object *with, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        uint64_t now_us = pw_now_us();
        enum pw_status status;

        daemon->loop.settle(daemon, now_us);
        status = pw_store_move_begin(daemon->store, session->number, object, with, ret_err);
        if (status != PW_OK)
                return status;
        if (pw_store_reclaim_begin(daemon->store)) {
                pw_scan(daemon);
                daemon->loop.more |= pw_store_reclaim_finish(daemon->store, now_us);
        } else {
                pw_scan(daemon);
        }
        status = pw_store_move_finish(daemon->store, session->number, object, with, now_us, ret_err);
        if (status != PW_OK)
                return status;
        claim_rooms(object);
        if (with)
                claim_rooms(with);
        return PW_OK;
}

static void tell(struct pw_dsession *session, struct pw_object *object, uint64_t took_us)
{
        struct pw_daemon *daemon = session->daemon;
        const struct pw_segment *segment = pw_segment_get(&daemon->memory, object->segment);
        const struct pw_entry *entry = pw_object_entry(daemon->store, object);
        const struct pw_shard_list *list = (const struct pw_shard_list *)(segment->map.base + entry->room_offset);
        uint64_t now_us = pw_now_us();
        char id[PW_ID_TEXT_BYTES], to[24];

        if (list->shards[0].device.device == PW_SHARD_IN_HOST)
                snprintf(to, sizeof to, "host memory");
        else
                snprintf(to, sizeof to, "h%u:%u%s", list->shards[0].device.host, list->shards[0].device.device,
                         list->shard_count > 1 ? ",..." : "");
        pw_id_format(pw_object_id(daemon->store, object), id);
        pw_log(&daemon->log, PW_LOG_DEBUG, "moved object=%s to=\"%s\" bytes=%llu client=%s", id, to,
               (unsigned long long)entry->bytes, session->client);
        daemon->clients.observer->moved(daemon, &(struct pw_moved){ .object = id, .to = to, .client = session->client,
                                                                    .tenant = session->tenant->name, .bytes = entry->bytes,
                                                                    .start_us = now_us - pw_min_u64(now_us, took_us),
                                                                    .end_us = now_us });
}

void pw_move_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Move *request)
{
        struct pw_object *object, *with = NULL;
        struct pw_error err;
        enum pw_status status = pw_object_by_id(session, request->object, &object, &err);

        if (status == PW_OK && request->with)
                status = pw_object_by_id(session, request->with, &with, &err);
        if (status == PW_OK)
                status = move(session, object, with, &err);
        if (session->ended)
                return;
        if (status != PW_OK) {
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        if (with)
                tell(session, object, request->took_us);
        pw_session_reply_ok(session, id);
}

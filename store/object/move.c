/* Moving a value to another memory: under its id, it gets the place of another value with the same bytes.
 *
 * Only a result can move, for its entry and its list of shards are the daemon's, and only while nobody reads it: the caller holds
 * it once, names and leases do not read, and whoever took a reference before the scan is counted by it. Who comes later reads the
 * new list. */
#include "store/object/moved.h"
#include "store/parts.h"

#include <stddef.h>
#include <stdio.h>

static uint64_t word_of(struct pw_store *store, const struct pw_object *object)
{
        return pw_entry_load(pw_object_entry(store, object));
}

static bool is_result(struct pw_store *store, const struct pw_object *object)
{
        return pw_segment_of(store, object->segment)->layout.kind == PW_SEGMENT_FUTURES;
}

static const struct pw_shard_list *list_of(const struct segment *segment, const struct pw_object *object)
{
        return (const struct pw_shard_list *)(segment->map.base + pw_segment_entry(segment, object->slot)->room_offset);
}

/* --- may it? -------------------------------------------------------------------------------------------------------------- */

static enum pw_status busy(struct pw_store *store, const struct pw_object *object, const struct pw_charge *holder,
                           struct pw_error *ret_err)
{
        char id[PW_ID_TEXT_BYTES], who[120];

        pw_id_format(pw_object_id(store, object), id);
        return pw_error_set(ret_err, PW_BUSY, "%s: it cannot be moved while %s holds it, too", id,
                            pw_store_charge_text(store, holder, who, sizeof who));
}

/* Is `session` the only one that may read it, through one reference? */
static enum pw_status check_alone(struct pw_store *store, const struct pw_object *object, uint32_t session,
                                  struct pw_error *ret_err)
{
        bool first = object->first_ref && object->grantee == session;
        uint32_t own = first;
        char id[PW_ID_TEXT_BYTES];

        if (object->first_ref && !first)
                return busy(store, object, &(struct pw_charge){ .kind = PW_OWNER_SESSION, .number = object->grantee }, ret_err);
        for (const struct pw_ref *ref = NULL; (ref = pw_ref_next(object, ref));) {
                if (ref->kind == PW_OWNER_NAME || ref->kind == PW_OWNER_LEASE)
                        continue;
                if (ref->kind != PW_OWNER_SESSION || ref->number != session)
                        return busy(store, object, &(struct pw_charge){ .kind = ref->kind, .number = ref->number }, ret_err);
                own += ref->count;
        }
        pw_id_format(pw_object_id(store, object), id);
        if (own > 1)
                return pw_error_set(ret_err, PW_BUSY, "%s: it cannot be moved while the session holds it through %u handles", id,
                                    own);
        return own ? PW_OK : pw_error_set(ret_err, PW_GONE, "%s: the session does not hold it", id);
}

static enum pw_status check_ready(struct pw_store *store, const struct pw_object *object, struct pw_error *ret_err)
{
        uint64_t word = word_of(store, object);
        enum pw_status status;
        char id[PW_ID_TEXT_BYTES];

        pw_id_format(pw_object_id(store, object), id);
        if (!object->known) /* it went while others were looked at; a client may write any word into its own entry */
                return pw_error_set(ret_err, PW_GONE, "%s: it is gone", id);
        switch (pw_word_state(word)) {
        case PW_ENTRY_READY: return PW_OK;
        case PW_ENTRY_PENDING: return pw_error_set(ret_err, PW_NOT_READY, "%s: it is not ready yet", id);
        case PW_ENTRY_ERROR:
        case PW_ENTRY_LOST:
                status = pw_word_error(word);
                return pw_error_set(ret_err, status, "%s: it is ready with an error: %s", id, pw_status_text(status));
        default: return pw_error_set(ret_err, PW_GONE, "%s: it is gone", id);
        }
}

/* May this result be moved? Before the scan it is not known who holds it. */
static enum pw_status check_result(struct pw_store *store, uint32_t number, const struct pw_object *object, bool looked,
                                   struct pw_error *ret_err)
{
        struct session *session = pw_session_of(store, number);
        char id[PW_ID_TEXT_BYTES];
        enum pw_status status;

        pw_id_format(pw_object_id(store, object), id);
        if (!is_result(store, object))
                return pw_error_set(ret_err, PW_UNSUPPORTED,
                                    "%s: a client put it, and its id says where; only results of programs can move", id);
        if (!session || session->tenant != pw_segment_of(store, object->segment)->tenant)
                return pw_error_set(ret_err, PW_DENIED, "%s: it is of another tenant", id);
        if (object->donated)
                return pw_error_set(ret_err, PW_DONATED_USE, "%s: it was given to a run", id);
        if (object->proxied)
                return pw_error_set(ret_err, PW_BUSY, "%s: it cannot be moved, for it is of another host, where others may hold it",
                                    id);
        status = check_ready(store, object, ret_err);
        return status == PW_OK && looked ? check_alone(store, object, number, ret_err) : status;
}

bool pw_move_put_place(struct pw_store *store, const struct pw_object *with, struct pw_shard_place *ret_place)
{
        const struct pw_object_room room = pw_object_room(store, with);
        const struct pw_entry *entry = pw_object_entry(store, with);
        uint64_t bytes = *(const volatile uint64_t *)&entry->bytes;
        bool is_inline = *(const volatile uint8_t *)&entry->is_inline;

        *ret_place = (struct pw_shard_place){ .bytes = bytes, .segment = with->segment,
                                              .device = { (uint16_t)store->params.host, PW_SHARD_IN_HOST } };
        ret_place->offset = is_inline ? with->slot * sizeof *entry + offsetof(struct pw_entry, body) : room.offset;
        if (is_inline)
                return bytes <= PW_INLINE_BYTES;
        return bytes <= room.bytes && *(const volatile uint32_t *)&entry->room_segment == with->segment &&
               *(const volatile uint64_t *)&entry->room_offset == room.offset;
}

/* Is it a value that `object` could be? */
static enum pw_status check_with(struct pw_store *store, uint32_t number, struct pw_object *object, struct pw_object *with,
                                 bool looked, struct pw_error *ret_err)
{
        struct segment *segment = pw_segment_of(store, object->segment), *other = pw_segment_of(store, with->segment);
        uint64_t bytes = pw_segment_entry(segment, object->slot)->bytes;
        struct pw_shard_place place;
        enum pw_status status;
        bool same;

        if (with == object || other->tenant != segment->tenant)
                return pw_error_set(ret_err, PW_INVALID, "move: the value to take the place of is the same, or of another tenant");
        status = other == segment ? check_result(store, number, with, looked, ret_err) : check_ready(store, with, ret_err);
        if (status != PW_OK)
                return status;
        if (other == segment) {
                const struct pw_shard_list *old = list_of(segment, object), *new = list_of(segment, with);

                same = old->dtype == new->dtype && pw_dims_equal(&old->dims, &new->dims);
        } else {
                same = pw_move_put_place(store, with, &place) && place.bytes == bytes;
        }
        return same ? PW_OK : pw_error_set(ret_err, PW_SHAPE, "move: the value to take the place of has another size or type");
}

/* --- begin ------------------------------------------------------------------------------------------------------------------ */

static void mark(struct pw_store *store, struct pw_object *object)
{
        pw_object_flag(store, object, PW_ENTRY_MOVING, true);
        pw_scan_for(store, pw_segment_of(store, object->segment), object);
}

enum pw_status pw_store_move_begin(struct pw_store *store, uint32_t session, struct pw_object *object, struct pw_object *with,
                                   struct pw_error *ret_err)
{
        enum pw_status status = check_result(store, session, object, false, ret_err);

        if (status == PW_OK && with)
                status = check_with(store, session, object, with, false, ret_err);
        if (status != PW_OK)
                return status;
        mark(store, object);
        if (with && is_result(store, with))
                mark(store, with);
        return PW_OK;
}

/* --- finish ----------------------------------------------------------------------------------------------------------------- */

struct pw_ref *pw_move_backing_ref(const struct pw_object *object)
{
        struct pw_ref *ref = NULL;

        if (!object->backed)
                return NULL;
        while ((ref = pw_ref_next(object->backing, ref)))
                if (ref->kind == PW_OWNER_OBJECT && ref->number == pw_object_place(object))
                        return ref;
        return NULL;
}

void pw_move_leave(struct pw_store *store, struct pw_object *object)
{
        struct pw_ref *ref = pw_move_backing_ref(object);
        struct pw_store_action *action = object->payload && !object->backed ? pw_store_act(store, PW_STORE_FREE_RESULT) : NULL;

        if (action)
                action->payload = object->payload;
        object->backed = 0;
        object->payload = NULL;
        if (ref)
                pw_ref_remove(store, ref);
}

/* Each has what the other had; the scheduler's results are told by the daemon. */
static void exchange(struct pw_store *store, struct pw_object *left, struct pw_object *right)
{
        struct pw_ref *left_ref = pw_move_backing_ref(left);
        struct pw_ref *right_ref = pw_move_backing_ref(right);
        struct pw_entry *left_entry = pw_object_entry(store, left), *right_entry = pw_object_entry(store, right);
        struct pw_object was = *left;
        uint64_t room_offset = left_entry->room_offset;

        left_entry->room_offset = right_entry->room_offset;
        right_entry->room_offset = room_offset;
        left->payload = right->payload;
        left->backed = right->backed;
        left->body_lines = right->body_lines;
        left->body = right->body;
        right->payload = was.payload;
        right->backed = was.backed;
        right->body_lines = was.body_lines;
        right->body = was.body;
        if (left_ref)
                left_ref->number = pw_object_place(right);
        if (right_ref)
                right_ref->number = pw_object_place(left);
        pw_fetched_exchange(store, left, right);
}

/* Into the room of what a client put. */
static enum pw_status settle(struct pw_store *store, struct pw_object *object, struct pw_object *with, struct pw_error *ret_err)
{
        struct segment *segment = pw_segment_of(store, object->segment);
        const struct pw_shard_list *old = list_of(segment, object);
        union whole_list one;
        struct pw_ref *ref;

        if (pw_ref_add(store, with, (struct pw_owner){ PW_OWNER_OBJECT, pw_object_place(object) }, &ref) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reference");
        pw_future_whole_list(&one, old->dtype, &old->dims);
        /* Read once more: its client may have changed what it says since it was compared. */
        if (!pw_move_put_place(store, with, &one.list.shards[0]) ||
            one.list.shards[0].bytes != pw_segment_entry(segment, object->slot)->bytes) {
                pw_ref_remove(store, ref);
                return pw_error_set(ret_err, PW_PROTOCOL,
                                    "move: the entry of the value to take the place of was changed meanwhile");
        }
        if (!pw_future_relist(segment, object, &one.list)) {
                pw_ref_remove(store, ref);
                return pw_error_set(ret_err, PW_NO_SPACE, "the futures segment has no space for another list of shards");
        }
        pw_fetched_leave(store, object);
        pw_move_leave(store, object);
        object->backing = with;
        object->backed = 1;
        return PW_OK;
}

enum pw_status pw_store_move_finish(struct pw_store *store, uint32_t session, struct pw_object *object, struct pw_object *with,
                                    uint64_t now_us, struct pw_error *ret_err)
{
        enum pw_status status = check_result(store, session, object, true, ret_err);
        bool result = with && is_result(store, with);

        store->now_us = now_us;
        if (status == PW_OK && with)
                status = check_with(store, session, object, with, true, ret_err);
        if (status == PW_OK && (pw_scan_goes_on(store, object) || (with && pw_scan_goes_on(store, with))))
                status = pw_error_set(ret_err, PW_BUSY, "rings of its tenant have too much unread to know who holds it: try again");
        if (status == PW_OK && result)
                exchange(store, object, with);
        else if (status == PW_OK && with)
                status = settle(store, object, with, ret_err);
        pw_object_flag(store, object, PW_ENTRY_MOVING, pw_fetched_is_away(object));
        if (result)
                pw_object_flag(store, with, PW_ENTRY_MOVING, pw_fetched_is_away(with));
        return status;
}

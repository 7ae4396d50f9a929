/* Results that are apart, and their copies. */
#include "store/fetched.h"

#include "store/object/moved.h"

static uint64_t key_of(const struct pw_object *object) { return pw_object_place(object) + 1; }

bool pw_fetched_is_away(const struct pw_object *object) { return object->apart && !object->fetched; }

void pw_fetched_note(struct pw_store *store, struct pw_object *object, const struct pw_shard_list *list)
{
        struct pw_entry *entry = pw_object_entry(store, object);
        bool apart = false;
        uint8_t where;

        for (uint32_t i = 0; i < list->shard_count; i++) {
                struct pw_device_id device = list->shards[i].device;

                apart |= device.host == store->params.host && device.device < 64 && store->params.apart >> device.device & 1;
        }
        object->apart = apart;
        object->fetched = 0;
        where = apart ? PW_ENTRY_APART : PW_ENTRY_HERE;
        if (entry->away != where) /* whoever has its id looks whether it is of another host */
                entry->away = where;
}

bool pw_store_is_apart(struct pw_store *store, const struct pw_object *object)
{
        uint64_t word = pw_entry_load(pw_object_entry(store, object));

        return object->known && pw_fetched_is_away(object) &&
               (pw_word_state(word) == PW_ENTRY_READY || object->closing == PW_ENTRY_READY);
}

static struct pw_shard_list *list_of(struct pw_store *store, const struct pw_object *object)
{
        const struct segment *segment = pw_segment_of(store, object->segment);

        return (struct pw_shard_list *)(void *)(segment->map.base + pw_segment_entry(segment, object->slot)->room_offset);
}

static bool all_inside(const struct pw_shard_list *list, const uint64_t *offsets, uint64_t bytes)
{
        for (uint32_t i = 0; i < list->shard_count; i++)
                if (offsets[i] > bytes || list->shards[i].bytes > bytes - offsets[i])
                        return false;
        return true;
}

enum pw_status pw_store_fetched(struct pw_store *store, struct pw_object *object, struct pw_object *copy, const uint64_t *offsets,
                                uint64_t now_us, struct pw_error *ret_err)
{
        struct segment *segment = pw_segment_of(store, object->segment);
        struct pw_shard_list *list;
        struct pw_shard_place place;
        char id[PW_ID_TEXT_BYTES];
        struct pw_ref *ref;

        store->now_us = now_us;
        pw_id_format(pw_object_id(store, object), id);
        if (!pw_store_is_apart(store, object))
                return pw_error_set(ret_err, PW_GONE, "%s: nobody needs its bytes to be fetched any more", id);
        list = list_of(store, object);
        if (!copy->known || pw_segment_of(store, copy->segment)->tenant != segment->tenant ||
            pw_word_state(pw_entry_load(pw_object_entry(store, copy))) != PW_ENTRY_READY ||
            !pw_move_put_place(store, copy, &place) || !all_inside(list, offsets, place.bytes))
                return pw_error_set(ret_err, PW_SHAPE, "%s: its copy is not the same value", id);
        if (pw_ref_add(store, copy, (struct pw_owner){ PW_OWNER_OBJECT, pw_object_place(object) }, &ref) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reference");
        if (!pw_table_put(&store->copies, key_of(object), copy)) {
                pw_ref_remove(store, ref);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a copy");
        }
        /* Who reads where they are looks at the flag first. */
        for (uint32_t i = 0; i < list->shard_count; i++) {
                list->shards[i].segment = place.segment;
                list->shards[i].offset = place.offset + offsets[i];
        }
        object->fetched = 1;
        pw_object_flag(store, object, PW_ENTRY_MOVING, false);
        return PW_OK;
}

struct pw_ref *pw_fetched_ref(struct pw_store *store, const struct pw_object *object)
{
        struct pw_object *copy = object->fetched ? pw_table_get(&store->copies, key_of(object)) : NULL;
        struct pw_ref *ref = NULL;

        while (copy && (ref = pw_ref_next(copy, ref)))
                if (ref->kind == PW_OWNER_OBJECT && ref->number == pw_object_place(object))
                        return ref;
        return NULL;
}

/* Each copy goes with the list that names it. There is memory for both cells: they are there, or one of them is. */
void pw_fetched_exchange(struct pw_store *store, struct pw_object *left, struct pw_object *right)
{
        struct pw_ref *left_ref = pw_fetched_ref(store, left), *right_ref = pw_fetched_ref(store, right);
        struct pw_object *left_copy = pw_table_remove(&store->copies, key_of(left));
        struct pw_object *right_copy = pw_table_remove(&store->copies, key_of(right)), was = *left;
        uint8_t away = pw_object_entry(store, left)->away;

        if (left_copy)
                pw_table_put(&store->copies, key_of(right), left_copy);
        if (right_copy)
                pw_table_put(&store->copies, key_of(left), right_copy);
        if (left_ref)
                left_ref->number = pw_object_place(right);
        if (right_ref)
                right_ref->number = pw_object_place(left);
        left->apart = right->apart;
        left->fetched = right->fetched;
        right->apart = was.apart;
        right->fetched = was.fetched;
        pw_object_entry(store, left)->away = pw_object_entry(store, right)->away;
        pw_object_entry(store, right)->away = away;
}

void pw_fetched_leave(struct pw_store *store, struct pw_object *object)
{
        struct pw_ref *ref = pw_fetched_ref(store, object);

        if (object->fetched)
                pw_table_remove(&store->copies, key_of(object));
        object->apart = object->fetched = 0;
        if (pw_segment_of(store, object->segment)->layout.kind == PW_SEGMENT_FUTURES && !object->proxied)
                pw_object_entry(store, object)->away = PW_ENTRY_HERE;
        if (ref)
                pw_ref_remove(store, ref);
}

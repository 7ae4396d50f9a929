/* Object records: found by place, known when somebody asks; the words of their entries; rows for listings. */
#include "store/object/step.h"
#include "store/parts.h"

void pw_object_know(struct segment *segment, struct pw_object *object, uint32_t generation)
{
        object->generation = generation;
        object->known = 1;
        object->refs = 0;
        object->first_ref = 0;
        segment->known_count++;
        segment->changes++;
}

struct pw_object *pw_object_find(struct segment *segment, uint32_t slot, uint32_t generation)
{
        struct pw_object *object = pw_object_at(segment, slot);
        uint64_t word;

        if (!object || object->known)
                return object && object->generation == generation ? object : NULL;
        word = pw_entry_load(pw_segment_entry(segment, slot));
        if (object->taken || pw_word_generation(word) != generation || pw_word_state(word) < PW_ENTRY_PENDING ||
            pw_word_state(word) > PW_ENTRY_LOST)
                return NULL;
        pw_object_know(segment, object, generation);
        object->first_ref = object->grantee != 0;
        object->refs = object->first_ref;
        return object;
}

struct pw_object *pw_store_find(struct pw_store *store, uint32_t number, uint32_t place, uint32_t slot, uint32_t generation)
{
        struct segment *segment = pw_segment_of(store, place);
        struct session *session = number ? pw_session_of(store, number) : NULL;

        if (!segment || (number && !(session && pw_session_sees(session, segment))))
                return NULL;
        return pw_object_find(segment, slot, generation);
}

void pw_object_wake(struct pw_store *store, const struct segment *segment, uint32_t slot)
{
        struct pw_store_action *action;

        if (!segment->hints || !atomic_load(&segment->hints->waiters[pw_hint_bucket(segment->number, slot)]))
                return;
        action = pw_store_act(store, PW_STORE_WAKE);
        if (!action)
                return;
        action->segment = segment->number;
        action->slot = slot;
}

bool pw_object_fail(struct pw_store *store, struct segment *segment, struct pw_object *object, enum pw_status status)
{
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);

        if (pw_object_decide(store, object, entry, status, 0)) {
                pw_object_wake(store, segment, object->slot);
                return true;
        }
        if (pw_word_state(pw_entry_load(entry)) == PW_ENTRY_PENDING)
                pw_session_broke(store, segment->session, "it keeps changing the word of an entry");
        return false;
}

bool pw_object_flag(struct pw_store *store, const struct pw_object *object, enum pw_entry_flag flag, bool set)
{
        struct pw_entry *entry = pw_object_entry(store, object);

        for (uint32_t tries = 0; tries < PW_DECIDE_TRIES; tries++) {
                enum pw_entry_state state = pw_word_state(pw_entry_load(entry));

                if (state < PW_ENTRY_PENDING || state > PW_ENTRY_LOST)
                        return false;
                if (pw_entry_flag(entry, state, object->generation, flag, set))
                        return true;
        }
        return false;
}

struct pw_entry *pw_object_entry(struct pw_store *store, const struct pw_object *object)
{
        return pw_segment_entry(pw_segment_of(store, object->segment), object->slot);
}

const struct pw_shard_list *pw_object_list(struct pw_store *store, const struct pw_object *object)
{
        const struct segment *segment = pw_segment_of(store, object->segment);
        const uint8_t *list = segment->map.base + pw_segment_entry(segment, object->slot)->room_offset;

        return (const struct pw_shard_list *)(const void *)list;
}

struct pw_id pw_object_id(struct pw_store *store, const struct pw_object *object)
{
        if (object->proxied)
                return pw_entry_home(pw_object_entry(store, object));
        return pw_id_make(store->params.host, store->params.epoch, object->segment, object->slot, object->generation);
}

struct pw_object_room pw_object_room(struct pw_store *store, const struct pw_object *object)
{
        const struct extent *extent = pw_extent_of(store, object);

        if (!extent || pw_extent_futures(extent))
                return (struct pw_object_room){ 0, 0 };
        return (struct pw_object_room){ extent->room_offset + (object->slot - extent->first_slot) * extent->room_bytes,
                                        extent->room_bytes };
}

const struct pw_object *pw_object_of_place(struct pw_store *store, uint64_t place)
{
        struct segment *segment = pw_segment_of(store, (uint32_t)(place >> 24));
        const struct pw_object *object = segment ? pw_object_at(segment, (uint32_t)place & 0xffffff) : NULL;

        return object && object->known ? object : NULL;
}

const char *pw_object_tenant(struct pw_store *store, const struct pw_object *object)
{
        return pw_segment_of(store, object->segment)->tenant->name;
}

/* --- listings --------------------------------------------------------------------------------------------------------- */

static void fill_row(struct pw_store *store, const struct extent *extent, const struct pw_object *object, bool uncharged,
                     struct pw_object_row *ret_row)
{
        const struct segment *segment = extent->segment;
        const struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        uint64_t word = pw_entry_load(entry);

        *ret_row = (struct pw_object_row){ .id = pw_id_make(store->params.host, store->params.epoch, segment->number, object->slot,
                                                            pw_word_generation(word)),
                                           .word = word,
                                           .segment = segment->number,
                                           .bytes = entry->bytes,
                                           .room_bytes = extent->room_bytes,
                                           .refs = object->known ? object->refs : 1,
                                           .tenant = segment->tenant->name,
                                           .object = object->known ? object : NULL,
                                           .entry = entry };
        if (object->known && object->proxied)
                ret_row->id = pw_entry_home(entry);
        if (!uncharged)
                ret_row->charge = pw_object_charge(store, extent, object);
}

static bool list_slot(struct pw_store *store, const struct extent *extent, const struct pw_object *object,
                      const struct pw_walk *walk)
{
        struct pw_object_row out;

        if (object->taken || pw_word_state(pw_entry_load(pw_segment_entry(extent->segment, object->slot))) < PW_ENTRY_PENDING ||
            (pw_extent_futures(extent) && !(object->known && object->claimed)))
                return true;
        fill_row(store, extent, object, walk->uncharged, &out);
        return walk->row(walk->context, &out);
}

void pw_object_row(struct pw_store *store, const struct pw_object *object, struct pw_object_row *ret_row)
{
        fill_row(store, pw_handles_get(&store->extents, object->extent), object, false, ret_row);
}

/* Where a walk goes on: extent and slot in it. */
static uint64_t walk_at(uint32_t extent, uint32_t slot) { return (uint64_t)extent << 32 | slot; }

static bool is_walked(const struct pw_walk *walk, const struct extent *extent)
{
        return extent && !extent->populating && (!walk->tenant || !strcmp(extent->segment->tenant->name, walk->tenant));
}

bool pw_store_walk(struct pw_store *store, const struct pw_walk *walk, uint64_t *at)
{
        uint32_t first = *at ? (uint32_t)(*at >> 32) : 1, slot = (uint32_t)*at, left = walk->slots;

        for (uint32_t i = first; i <= store->extents.top; i++, slot = 0) {
                const struct extent *extent = pw_handles_get(&store->extents, i);

                do {
                        *at = walk_at(i, slot);
                        if (!left--)
                                return true;
                        if (!is_walked(walk, extent) || slot >= extent->slot_count)
                                break;
                        if (!list_slot(store, extent, pw_object_at(extent->segment, extent->first_slot + slot), walk))
                                return false;
                } while (++slot < extent->slot_count);
        }
        return false;
}

void pw_store_each_object(struct pw_store *store, bool (*row)(void *context, const struct pw_object_row *row), void *context)
{
        const struct pw_walk walk = { .slots = UINT32_MAX, .row = row, .context = context };
        uint64_t at = 0;

        while (pw_store_walk(store, &walk, &at)) {
        }
}

void pw_object_each_ref(const struct pw_object *object, void (*row)(void *context, const struct pw_ref_row *row), void *context)
{
        for (const struct pw_ref *ref = NULL; (ref = pw_ref_next(object, ref));)
                row(context, &(struct pw_ref_row){ ref->kind, ref->number, ref->count, ref->since_us,
                                                   ref->kind == PW_OWNER_LEASE ? ref->lease.key : 0, pw_ref_name(ref) });
}

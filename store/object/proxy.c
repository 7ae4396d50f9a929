/* Proxies: slots that stand for objects of other hosts, from their claim to their end. */
#include "store/proxy.h"

#include "store/object/moved.h"
#include "store/object/step.h"

static uint64_t word_of(struct pw_store *store, const struct pw_object *object)
{
        return pw_entry_load(pw_object_entry(store, object));
}

static void tell_free(struct pw_store *store, struct pw_object *object)
{
        struct pw_store_action *action = object->run ? pw_store_act(store, PW_STORE_FREE_PROXY) : NULL;

        if (action)
                action->number = object->run;
        object->run = 0;
}

enum pw_status pw_store_proxy(struct pw_store *store, const struct pw_proxy_slot *slot, struct pw_object **ret_object,
                              struct pw_error *ret_err)
{
        enum pw_status status = slot->number ? pw_future_granted(store, slot->session, slot->cell, ret_object, ret_err)
                                             : pw_error_set(ret_err, PW_INVALID, "a proxy without a number");
        struct pw_entry *entry;

        if (status != PW_OK)
                return status;
        entry = pw_object_entry(store, *ret_object);
        entry->away = PW_ENTRY_PROXY;
        pw_entry_set_home(entry, slot->home);
        (*ret_object)->claimed = (*ret_object)->proxied = 1;
        (*ret_object)->results = 0;
        (*ret_object)->payload = NULL;
        (*ret_object)->run = slot->number;
        return PW_OK;
}

struct pw_object *pw_store_proxy_find(struct pw_store *store, struct pw_cell cell)
{
        struct segment *segment = pw_segment_of(store, pw_cell_segment(cell));
        struct pw_object *object = segment ? pw_object_at(segment, pw_cell_slot(cell)) : NULL;

        return object && object->known && object->generation == pw_cell_generation(cell) && object->proxied && object->run ? object
                                                                                                                          : NULL;
}

bool pw_store_proxy_elsewhere(struct pw_store *store, const struct pw_object *object)
{
        uint64_t word = word_of(store, object);

        return object->known && object->proxied && pw_word_flags(word) & PW_ENTRY_MOVING &&
               (pw_word_state(word) == PW_ENTRY_READY || object->closing == PW_ENTRY_READY);
}

enum pw_status pw_store_proxy_back(struct pw_store *store, struct pw_object *proxy, struct pw_object *replica, uint64_t now_us,
                                   struct pw_error *ret_err)
{
        struct segment *segment = pw_segment_of(store, proxy->segment);
        struct pw_entry *entry = pw_segment_entry(segment, proxy->slot);
        uint64_t word = pw_entry_load(entry);
        struct pw_shard_place place;
        char id[PW_ID_TEXT_BYTES];

        store->now_us = now_us;
        pw_id_format(pw_object_id(store, proxy), id);
        if (!pw_store_proxy_elsewhere(store, proxy))
                return pw_error_set(ret_err, PW_GONE, "%s: no bytes of it are wanted any more", id);
        if (!replica->known || pw_word_state(word_of(store, replica)) != PW_ENTRY_READY ||
            pw_segment_of(store, replica->segment)->tenant != segment->tenant || !pw_move_put_place(store, replica, &place) ||
            place.bytes != entry->bytes)
                return pw_error_set(ret_err, PW_SHAPE, "%s: its replica is not the same value", id);
        if (pw_ref_add(store, replica, (struct pw_owner){ PW_OWNER_OBJECT, pw_object_place(proxy) }, NULL) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reference");
        /* Who reads where it is looks at the flag first: the list is the same but for that. */
        ((struct pw_shard_list *)(void *)(segment->map.base + entry->room_offset))->shards[0] = place;
        proxy->backing = replica;
        proxy->backed = 1;
        while (!pw_entry_swap(entry, &word, word & ~(uint64_t)PW_ENTRY_MOVING)) {
                /* nobody but the store writes here: this does not repeat */
        }
        pw_object_wake(store, segment, proxy->slot);
        if (proxy->watched)
                pw_watch_end(store, proxy, true);
        return PW_OK;
}

bool pw_proxy_fetch(struct pw_store *store, const struct pw_object *object)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_FETCH_PROXY);

        if (action)
                action->number = object->run;
        return action;
}

void pw_store_proxy_unfetched(struct pw_store *store, struct pw_object *object)
{
        if (object->watched)
                pw_watch_end(store, object, true);
}

void pw_proxy_give_up(struct pw_store *store, struct pw_object *object)
{
        tell_free(store, object);
        pw_store_decide(store, object,
                        &(struct pw_decision){ .status = PW_CANCELLED, .text = "nobody on this host wanted it any more" },
                        store->now_us);
}

void pw_proxy_clear(struct pw_store *store, struct pw_object *object)
{
        struct pw_entry *entry = pw_object_entry(store, object);

        tell_free(store, object);
        entry->away = PW_ENTRY_HERE;
        pw_entry_set_home(entry, (struct pw_id){ 0 });
        object->proxied = 0;
}

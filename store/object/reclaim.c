/* Reclaim: what lost its last reference is swapped to CLOSING; after the rings of who may refer to it were read once more it is
 * freed, or was reopened. */
#include "store/object/moved.h"
#include "store/object/step.h"
#include "store/parts.h"

#define PART 1024u          /* closed between two scans: others get their turn */
#define TENANT_PART 128u    /* of that, before another tenant's */

bool pw_objects_ahead(struct objects *objects)
{
        return pw_grow_ahead((void **)&objects->items, &objects->capacity, objects->count, sizeof *objects->items);
}

void pw_reclaim_add(struct pw_store *store, struct pw_object *object)
{
        struct tenant *tenant = pw_segment_of(store, object->segment)->tenant;

        if (object->leaving)
                return; /* it is listed */
        if (!pw_objects_ahead(&tenant->dropped))
                return; /* it stays until its session ends; the audit names it */
        tenant->dropped.items[tenant->dropped.count++] = object;
        if (pw_list_empty(&tenant->dropping))
                pw_list_append(&store->dropping, &tenant->dropping);
        tenant->on_way++;
        object->leaving = 1;
}

/* To CLOSING, or PENDING of a run: that is cancelled if nobody refers to it after the scan either. False: its writer broke
 * the protocol, and the word is what we make it. */
static void close_one(struct pw_store *store, struct segment *segment, struct pw_object *object)
{
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        uint64_t word = pw_entry_load(entry);

        for (uint32_t i = 0; i < PW_DECIDE_TRIES && pw_word_generation(word) == object->generation; i++) {
                enum pw_entry_state state = pw_word_state(word);

                if (state == PW_ENTRY_PENDING && object->claimed) {
                        object->closing = PW_ENTRY_PENDING;
                        return;
                }
                if (state == PW_ENTRY_PENDING) { /* given back by the only one who could have decided it */
                        pw_object_fail(store, segment, object, PW_CANCELLED);
                        word = pw_entry_load(entry);
                        continue;
                }
                if (state < PW_ENTRY_READY || state > PW_ENTRY_LOST)
                        break;
                if (pw_object_step(store, object, entry, PW_OBJECT_CLOSE, &word, word))
                        return;
        }
        pw_session_broke(store, segment->session, "it changed the word of an entry that was decided");
        pw_object_force(store, object, entry, PW_ENTRY_ERROR, PW_OBJECT_CLOSE,
                        pw_word_make(PW_ENTRY_CLOSING, 0, object->generation, PW_PROTOCOL));
}

static bool anything_leaves(const struct pw_store *store)
{
        return !pw_list_empty(&store->dropping) || store->scanning_count || pw_ending_more(store) || store->unserved ||
               !pw_list_empty(&store->rung);
}

bool pw_store_reclaims(const struct pw_store *store) { return anything_leaves(store) || store->searching; }

/* Its tenant's scan goes on: it waits in `objects`. False: out of memory. */
static bool wait_for_scan(struct pw_store *store, struct objects *objects, struct pw_object *object)
{
        if (!pw_objects_ahead(objects))
                return false;
        objects->items[objects->count++] = object;
        store->scanning_count++;
        return true;
}

bool pw_store_reclaims_of(const struct pw_store *store, const char *name)
{
        const struct tenant *tenant = pw_table_get(&store->tenants, pw_text_key(name));

        return tenant && (tenant->on_way || tenant->closed.count || tenant->later.count);
}

/* Those that were closed leave their places when they are the most. */
static void shorten(struct tenant *tenant)
{
        struct objects *dropped = &tenant->dropped;
        uint32_t left = dropped->count - tenant->dropped_first;

        if (left > tenant->dropped_first)
                return;
        memmove(dropped->items, dropped->items + tenant->dropped_first, left * sizeof *dropped->items);
        tenant->dropped_first = 0;
        dropped->count = left;
}

/* Closing one may add others behind. */
static void close_dropped(struct pw_store *store, struct tenant *tenant, uint32_t count)
{
        for (uint32_t end = tenant->dropped_first + count; tenant->dropped_first < end; tenant->dropped_first++) {
                struct pw_object *object = tenant->dropped.items[tenant->dropped_first];

                tenant->on_way--;
                if (!object->known || object->refs || object->closing) {
                        object->leaving = object->closing != 0;
                        continue; /* somebody took a reference; or it is listed twice */
                }
                if (tenant->scanning) {
                        object->leaving = wait_for_scan(store, &tenant->later, object); /* else the audit names it */
                        continue;
                }
                close_one(store, pw_segment_of(store, object->segment), object);
                pw_scan_for(store, pw_segment_of(store, object->segment), object);
                store->closing[store->closing_count++] = object;
        }
        shorten(tenant);
        pw_list_remove(&tenant->dropping);
        if (tenant->dropped_first < tenant->dropped.count)
                pw_list_append(&store->dropping, &tenant->dropping);
}

bool pw_store_reclaim_begin(struct pw_store *store)
{
        store->only_searching = store->searching && !anything_leaves(store);
        pw_ending_step(store);
        pw_watch_step(store);
        for (uint32_t left = PART, count; left && !pw_list_empty(&store->dropping); left -= count) {
                struct tenant *tenant = pw_list_first(&store->dropping, struct tenant, dropping);

                count = (uint32_t)pw_min_u64(pw_min_u64(left, TENANT_PART), tenant->dropped.count - tenant->dropped_first);
                if (!pw_grow((void **)&store->closing, &store->closing_capacity, store->closing_count + count,
                             sizeof *store->closing))
                        break; /* later */
                close_dropped(store, tenant, count);
        }
        return store->closing_count || pw_store_reclaims(store);
}

void pw_reclaim_reopen(struct pw_store *store, struct pw_object *object)
{
        struct segment *segment = pw_segment_of(store, object->segment);
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        uint64_t word = pw_entry_load(entry);

        object->leaving = 0;
        if (object->closing == PW_ENTRY_PENDING) {
                object->closing = 0;
                return;
        }
        if (!pw_object_step(store, object, entry, PW_OBJECT_REOPEN, &word, word)) {
                pw_session_broke(store, segment->session, "it changed the word of an entry that was closing");
                object->closing = 0;
        }
        pw_object_wake(store, segment, object->slot);
}

static void clear(struct pw_store *store, struct segment *segment, struct pw_object *object)
{
        pw_fetched_leave(store, object);
        pw_move_leave(store, object);
        if (object->watched)
                pw_watch_end(store, object, false);
        if (object->body_lines)
                pw_future_give_body(segment, object);
        if (object->proxied)
                pw_proxy_clear(store, object);
        object->closing = object->donated = object->crowded = 0;
        object->known = object->claimed = object->leaving = object->forced = 0;
        object->run = 0;
        object->program = object->body = 0;
        segment->known_count--;
        segment->changes++;
}

/* Its producer may have noted where its bytes lie: it hears that they are no longer its, while the word is CLOSING. */
static void revoke_notes(const struct segment *segment)
{
        if (segment->session && segment->session->control)
                atomic_fetch_add(&((struct pw_control *)(void *)segment->session->control)->revoked, 1);
}

/* To FREE or TAKEN, which its writer sees at once. */
static void leave_slot(struct pw_store *store, struct segment *segment, struct pw_object *object, enum pw_object_event event)
{
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        uint64_t word = pw_entry_load(entry);
        uint64_t wanted = pw_word_make(PW_ENTRY_FREE, 0, object->generation, PW_OK);

        if (pw_word_generation(word) == object->generation && pw_object_step(store, object, entry, event, &word, wanted))
                return;
        pw_session_broke(store, segment->session, "it changed the word of an entry that was closing");
        pw_object_force(store, object, entry, PW_ENTRY_CLOSING, event, wanted);
}

/* The slot goes back to its lane, or stays TAKEN: its lane or session ended, or somebody waits for room. */
static void free_one(struct pw_store *store, struct pw_object *object)
{
        struct segment *segment = pw_segment_of(store, object->segment);
        struct extent *extent = pw_extent_of(store, object);
        bool worn = object->generation == UINT32_MAX, serves = pw_extent_serves(extent);
        bool wanted = serves && extent->row->queued && pw_pass_may(store, extent->row->queued);
        bool take = worn || !serves || (!wanted && (extent->leaving || pw_room_hungry(store, extent)));

        if (object->forced)
                revoke_notes(segment);
        clear(store, segment, object);
        leave_slot(store, segment, object, take ? PW_OBJECT_TAKE : PW_OBJECT_FREE);
        pw_object_wake(store, segment, object->slot);
        extent->worn |= worn;
        if (take) {
                extent->leaving |= !worn;
                pw_extent_take(store, extent, object);
                pw_extent_settle(store, extent);
        } else {
                pw_extent_give(extent, object);
                if (wanted)
                        pw_room_came_back(store, extent->row);
        }
        if (segment->ended && !segment->known_count)
                pw_segment_settle(store, segment);
}

/* A run's, or a proxy, that nobody referred to. It may have been decided since. */
static void give_up(struct pw_store *store, struct pw_object *object)
{
        struct segment *segment = pw_segment_of(store, object->segment);

        object->closing = object->leaving = 0;
        if (pw_word_state(pw_entry_load(pw_segment_entry(segment, object->slot))) != PW_ENTRY_PENDING)
                pw_reclaim_add(store, object);
        else if (object->proxied)
                pw_proxy_give_up(store, object);
        else
                pw_future_cancel_unheld(store, object);
}

/* After the scan. */
static void finish_one(struct pw_store *store, struct pw_object *object)
{
        if (!object->closing)
                return; /* reopened */
        if (object->closing == PW_ENTRY_PENDING)
                give_up(store, object);
        else
                free_one(store, object);
}

static void finish_later(struct pw_store *store, struct tenant *tenant, struct pw_object *object)
{
        if (!object->closing || wait_for_scan(store, &tenant->closed, object))
                return;
        pw_reclaim_reopen(store, object);
        pw_reclaim_add(store, object);
}

void pw_store_scan_partial(struct pw_store *store, uint32_t number)
{
        struct session *session = pw_session_of(store, number);

        if (session)
                session->tenant->scanning = true;
}

void pw_store_scan_whole(struct pw_store *store, const char *name, uint64_t now_us)
{
        struct tenant *tenant = pw_tenant_of(store, name);

        if (!tenant || !tenant->scanning)
                return;
        store->now_us = now_us;
        store->scanning_count -= tenant->closed.count + tenant->later.count;
        tenant->scanning = false;
        for (uint32_t i = 0; i < tenant->closed.count; i++)
                finish_one(store, tenant->closed.items[i]);
        for (uint32_t i = 0; i < tenant->later.count; i++) {
                tenant->later.items[i]->leaving = 0;
                pw_reclaim_add(store, tenant->later.items[i]);
        }
        tenant->closed.count = tenant->later.count = 0;
        pw_room_serve(store);
}

bool pw_scan_goes_on(struct pw_store *store, const struct pw_object *object)
{
        return pw_segment_of(store, object->segment)->tenant->scanning;
}

bool pw_store_reclaim_finish(struct pw_store *store, uint64_t now_us)
{
        store->now_us = now_us;
        for (uint32_t i = 0; i < store->closing_count; i++) {
                struct pw_object *object = store->closing[i];
                struct tenant *tenant = pw_segment_of(store, object->segment)->tenant;

                if (tenant->scanning)
                        finish_later(store, tenant, object);
                else
                        finish_one(store, object);
        }
        store->only_searching &= !store->closing_count;
        store->closing_count = 0;
        if (store->only_searching)
                pw_room_search_on(store);
        else
                pw_room_serve(store);
        return pw_store_reclaims(store);
}

/* What the files of the store do for each other, by file. Nobody else includes this.
 */
#ifndef PW_STORE_PARTS_H
#define PW_STORE_PARTS_H

#include "store/state.h"

/* store.c */
struct session *pw_session_find(struct pw_store *store, uint32_t number); /* NULL: none, or ended */
static inline struct session *pw_session_of(struct pw_store *store, uint32_t number)
{
        struct session *last = store->last_session;

        return last && last->number == number ? last : pw_session_find(store, number);
}
struct segment *pw_segment_find(struct pw_store *store, uint32_t number); /* NULL: none */
struct tenant *pw_tenant_of(struct pw_store *store, const char *name); /* known from now on; NULL: out of memory */
static inline struct segment *pw_segment_of(struct pw_store *store, uint32_t number)
{
        struct segment *last = store->last_segment;

        return last && last->number == number ? last : pw_segment_find(store, number);
}
/* Sent to the daemon; NULL: out of memory. */
struct pw_store_action *pw_store_act(struct pw_store *store, enum pw_store_action_kind kind);
void pw_store_answer(struct pw_store *store, uint64_t token, enum pw_status status,
                     const char *text); /* REFUSE; LOOK_AGAIN: PW_OK */
void pw_session_broke(struct pw_store *store, struct session *session, const char *text);
/* Nobody holds anything in the segment of a dead process: tell, once. Else punch what is idle there. */
void pw_segment_settle(struct pw_store *store, struct segment *segment);

/* What is of another tenant is not there. */
static inline bool pw_session_sees(const struct session *session, const struct segment *segment)
{
        return session->any_tenant || session->tenant == segment->tenant;
}

/* object.c */
static inline struct pw_object *pw_object_at(const struct segment *segment, uint32_t slot) /* NULL: never granted */
{
        struct pw_object *chunk = slot / PW_CHUNK_SLOTS < segment->chunk_capacity ? segment->chunks[slot / PW_CHUNK_SLOTS] : NULL;

        return chunk && chunk[slot % PW_CHUNK_SLOTS].extent ? &chunk[slot % PW_CHUNK_SLOTS] : NULL;
}
static inline struct pw_entry *pw_segment_entry(const struct segment *segment, uint32_t slot)
{
        return pw_map_entry(&segment->map, slot);
}
/* From now on known, with no claim. */
void pw_object_know(struct segment *segment, struct pw_object *object, uint32_t generation);
/* The object of that generation, known from now on, its grantee's first reference included; NULL: none. */
struct pw_object *pw_object_find(struct segment *segment, uint32_t slot, uint32_t generation);
/* The word was changed: wake who waits for it, if somebody does. */
void pw_object_wake(struct pw_store *store, const struct segment *segment, uint32_t slot);
/* PENDING to ERROR. False: it was decided already; a producer that keeps changing the word is ended. */
bool pw_object_fail(struct pw_store *store, struct segment *segment, struct pw_object *object, enum pw_status status);
/* Set or clear a flag in whatever state the entry is. False: it is in none that has flags, or its writer keeps changing it. */
bool pw_object_flag(struct pw_store *store, const struct pw_object *object, enum pw_entry_flag flag, bool set);

/* ref.c */
enum pw_status pw_ref_add(struct pw_store *store, struct pw_object *object, struct pw_owner owner, struct pw_ref **ret_ref);
struct pw_ref *pw_ref_find(struct pw_store *store, const struct pw_object *object,
                           struct pw_owner owner); /* a session's or a run's */
struct pw_ref *pw_ref_next(const struct pw_object *object,
                           const struct pw_ref *ref);           /* NULL: first; returns NULL behind the last */
void pw_ref_remove(struct pw_store *store, struct pw_ref *ref); /* all of its count */
void pw_ref_drop(struct pw_store *store, struct pw_object *object, uint32_t count); /* claims without a node, or whose node went */
void pw_ref_drop_first(struct pw_store *store, struct pw_object *object);

/* reclaim.c */
void pw_reclaim_add(struct pw_store *store, struct pw_object *object); /* it has no references */
bool pw_objects_ahead(struct objects *objects); /* place for one more; false: out of memory */
void pw_reclaim_reopen(struct pw_store *store, struct pw_object *object);

/* scan.c */
bool pw_scan_reserve(struct pw_store *store); /* for one session more */
void pw_scan_for(struct pw_store *store, struct segment *segment,
                 const struct pw_object *object); /* who may refer to it, next time */
bool pw_scan_goes_on(struct pw_store *store, const struct pw_object *object); /* reclaim.c: of its tenant, over several turns */
void pw_scan_session_end(struct session *session);
void pw_scan_segment_end(struct segment *segment);

/* future.c, watch.c */
/* The slot of the futures segment that was granted to the session, and that nobody has claimed yet. Errors: PW_PROTOCOL. */
enum pw_status pw_future_granted(struct pw_store *store, uint32_t session, struct pw_cell cell, struct pw_object **ret_object,
                                 struct pw_error *ret_err);
void pw_future_give_body(struct segment *segment, struct pw_object *object);
uint64_t pw_future_body_bytes(const struct segment *segment, const struct pw_object *object); /* that it has of the arena */
/* Another list of shards for the same bytes. False: the arena has no space, nothing changed. */
bool pw_future_relist(struct segment *segment, struct pw_object *object, const struct pw_shard_list *list);
void pw_future_cancel_unheld(struct pw_store *store, struct pw_object *object); /* its run, if nobody holds any result of it */
void pw_future_held(struct pw_store *store, struct pw_object *object); /* again, or it is no longer to come */
bool pw_watch_step(struct pw_store *store); /* what sessions were to decide when they rang; true: there is more */
void pw_watch_session_end(struct session *session);
void pw_watch_end(struct pw_store *store, struct pw_object *object, bool tell);

/* idle.c */
bool pw_idle_add(struct idle_pages *idle, uint64_t offset, uint64_t bytes); /* false: out of memory */
uint64_t pw_idle_overlap(const struct idle_pages *idle, uint64_t offset, uint64_t bytes);
bool pw_idle_cut(struct idle_pages *idle, uint64_t offset, uint64_t bytes); /* false: out of memory, nothing changed */

/* refusal.c */
static inline uint64_t pw_store_room_bytes(const struct pw_room_request *ask)
{
        return ask->futures || ask->inline_only ? 0 : pw_class_bytes(ask->size_class);
}
/* What rooms of the segment can take when nobody else has any. */
uint64_t pw_room_usable(const struct pw_store *store, const struct segment *segment);
void pw_room_refuse(struct pw_store *store, const struct pw_room_request *ask, enum pw_status status); /* it was never queued */
/* Requests that are told why they waited in vain. The holders of what they wait for are looked for once for all that are told the
 * same. */
struct told { uint32_t count, looks; struct pw_holders_of of; /* the last one's */ char text[360]; };
void pw_room_give_up(struct pw_store *store, const struct request *request, struct told *told); /* what it waits for did not come */

/* vain.c: tell it that it would wait in vain; false: it was not told, or not yet. `came`: something did since the last look */
bool pw_room_refuse_vain(struct pw_store *store, struct request *request, bool came);
/* holder.c */
struct pw_charge pw_object_charge(struct pw_store *store, const struct extent *extent, const struct pw_object *object);

/* keep.c */
static inline uint64_t pw_tenant_charged(const struct tenant *tenant)
{
        return tenant->host_bytes + tenant->leaving_bytes + tenant->kept_bytes;
}
uint64_t pw_kept_bytes(const struct pw_store *store); /* of all tenants */
/* As what its entries and records count. */
static inline enum pw_kept_kind pw_segment_keeps(const struct segment *segment)
{
        return segment->layout.kind == PW_SEGMENT_FUTURES ? PW_KEPT_FUTURES : PW_KEPT_SLOTS;
}
void pw_keep_count(struct pw_store *store, struct tenant *tenant, enum pw_kept_kind kind, int64_t bytes); /* nobody is served */

/* quota.c */
/* How many of `count` slots with such rooms the tenant may be granted. */
uint32_t pw_quota_fits(const struct tenant *tenant, uint64_t room_bytes, uint32_t count);
bool pw_quota_never(const struct tenant *tenant, uint64_t room_bytes); /* not even as its only one */
bool pw_quota_of_bytes(const struct tenant *tenant,
                       uint64_t room_bytes); /* one more would be too many bytes, not too many objects */

/* pages.c: pages of rooms, booked while they are populated */
uint64_t pw_segment_charged(const struct segment *segment); /* of them, to its tenant */
void pw_pages_free(struct pw_store *store, struct segment *segment, uint64_t offset, uint64_t bytes); /* to idle, or punched */
void pw_pages_punch(struct pw_store *store, struct segment *segment, uint64_t offset, uint64_t bytes);
void pw_pages_punch_idle(struct pw_store *store, struct segment *segment, uint64_t bytes); /* at least so many, or all */
void pw_pages_leave(struct pw_store *store, struct tenant *tenant, uint64_t bytes); /* that somebody is asked to punch */
/* May so many be booked for the segment, besides `own_bytes` of its idle ones? Errors: PW_BUSY (when pages that were given up are
 * gone), PW_NOT_READY (there are not so many). */
enum pw_status pw_pages_reach(struct pw_store *store, struct segment *segment, uint64_t bytes, uint64_t own_bytes);
/* That could be had: free, about to be, or idle. */
static inline int64_t pw_pages_most(const struct pw_store *store)
{
        return store->free_bytes + (int64_t)(store->leaving_bytes + store->idle_bytes);
}

/* Its slots may go back to a lane. */
static inline bool pw_extent_serves(const struct extent *extent) { return extent->row && !extent->session->ended; }

/* ending.c: sessions and lanes end in parts */
void pw_ending_extent(struct pw_store *store,
                      struct extent *extent); /* its lane ended: from now on it serves none */
static inline void pw_ending_extent_leave(struct extent *extent)
{
        extent->segment->tenant->on_way -= !pw_list_empty(&extent->of_ending);
        pw_list_remove(&extent->of_ending);
}
bool pw_ending_step(struct pw_store *store); /* true: there is more */
bool pw_ending_more(const struct pw_store *store);
static inline bool pw_session_ending(const struct session *session) { return session && !pw_list_empty(&session->of_ending); }
void pw_session_forget(struct pw_store *store, struct session *session);
void pw_session_free(struct session *session);

/* extent.c */
struct row *pw_row_known(const struct session *session, uint32_t lane, uint32_t kind); /* NULL: none, it never asked for such */
struct row *pw_row_of(struct session *session, const struct pw_room_request *ask); /* NULL: out of memory */
/* Place an extent of `count` slots and book its memory. *ret_fresh: its pages are to be populated first. Errors: PW_NOT_READY (no
 * memory, or no contiguous place), PW_LIMIT (no slots), PW_NO_MEMORY. */
enum pw_status pw_extent_new(struct pw_store *store, struct session *session, struct row *row, uint32_t count,
                             struct extent **ret_extent, bool *ret_fresh);
void pw_extent_open(struct pw_store *store, struct extent *extent); /* its pages are there: slots may be taken by the client */
void pw_extent_discard(struct pw_store *store, struct extent *extent, bool populated); /* it was never opened */
void pw_extent_give(struct extent *extent, struct pw_object *object); /* a FREE slot, back to the lane */
void pw_extent_take(struct pw_store *store, struct extent *extent, struct pw_object *object); /* a slot that is TAKEN now */
void pw_extent_settle(struct pw_store *store, struct extent *extent); /* after slots were taken: dormant or gone if all are */
uint32_t pw_extent_take_idle(struct pw_store *store, struct extent *extent);
bool pw_extent_take_if_idle(struct pw_store *store, struct extent *extent, struct pw_object *object);
static inline struct pw_object *pw_slot_record(const struct segment *segment, uint32_t slot) /* of a slot that was granted */
{
        return &segment->chunks[slot / PW_CHUNK_SLOTS][slot % PW_CHUNK_SLOTS];
}
/* extent_end.c: its lane, or its whole session, ended: so many slots more at most, *budget, which is counted down. True: all are
 * looked at, and it may be gone. */
bool pw_extent_end(struct pw_store *store, struct extent *extent, uint32_t *budget);
void pw_extent_drop(struct pw_store *store, struct extent *extent); /* with its segment */
/* It has changed: its segment's sums follow. */
void pw_extent_tell(struct extent *extent);
struct extent_sums pw_extent_sums(const struct extent *extent); /* as it is now */
bool pw_extent_page_taken(const struct extent *extent, uint64_t page);
static inline struct extent *pw_extent_of(const struct pw_store *store, const struct pw_object *object)
{
        return pw_handles_get(&store->extents, object->extent);
}
static inline bool pw_extent_futures(const struct extent *extent) { return extent->segment->layout.kind == PW_SEGMENT_FUTURES; }
/* An idle slot of a client, by its own word. */
static inline bool pw_slot_idle(const struct extent *extent, const struct pw_object *object)
{
        return !object->known && !pw_extent_futures(extent) &&
               pw_word_state(pw_entry_load(pw_segment_entry(extent->segment, object->slot))) == PW_ENTRY_FREE;
}

/* place.c: as many slots as are wanted and fit now; with less than a page of them nothing is saved. PW_NOT_READY: not even so
 * few. */
enum pw_status pw_room_place(struct pw_store *store, struct row *row, struct request *request, bool *ret_fresh);

/* room.c */
void pw_room_serve(struct pw_store *store); /* something may have come for them */
void pw_room_search_on(struct pw_store *store); /* nothing came, but not all of them have looked for idle slots */
void pw_room_came(struct pw_store *store); /* requests that wait are served at the next reclaim, once for all that came back */
static inline bool pw_room_hungry(const struct pw_store *store, const struct extent *extent) /* somebody waits for a slot of it */
{
        return (extent->span_bytes && store->lacking_count) || extent->segment->tenant->over_count;
}
void pw_room_came_back(struct pw_store *store, struct row *row); /* to a lane that waits */
void pw_room_session_end(struct pw_store *store, struct session *session);
void pw_room_segment_gone(struct pw_store *store, const struct segment *segment);

/* search.c */
#define PW_SEARCH_QUANTUM 4096u /* slots that one part of a search looks at */
#define PW_SEARCH_QUANTA 4u   /* of all requests, when the queue is served */
bool pw_search_done(const struct pw_store *store, const struct search *search);
/* it is not done, and its turn */
bool pw_search_may(const struct pw_store *store, const struct request *request, const struct search *search);
void pw_search(struct pw_store *store, const struct row *row, const struct request *request, uint64_t bytes, struct search *search);
void pw_search_anew(struct search *search);

/* pass.c */
bool pw_pass_may(const struct pw_store *store, const struct request *request); /* may it take memory, if there is enough? */
void pw_pass_turn(struct pw_store *store); /* a turn that is over ends, one that is due begins */
void pw_pass_gone(struct pw_store *store, const struct request *request); /* it lacks nothing any more */
uint64_t pw_pass_next_us(const struct pw_store *store); /* when pw_pass_turn() is due; UINT64_MAX: never */

/* name/ */
struct pw_ref *pw_name_ref(struct pw_store *store, const char *tenant, const char *name); /* NULL: not bound */
void pw_name_ref_gone(struct pw_store *store, struct pw_ref *ref); /* a claim of any kind, whose node goes */
const char *pw_ref_name(const struct pw_ref *ref); /* NULL: of no name */
void pw_names_tick(struct pw_store *store); /* leases and waits that end */
void pw_wanted_session_end(struct pw_store *store, struct session *session);
void pw_name_askers_done(struct pw_store *store);

#endif

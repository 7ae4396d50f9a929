/* What the files of the store share: its records. Nobody else includes this.
 */
#ifndef PW_STORE_STATE_H
#define PW_STORE_STATE_H

#include "base/list.h"
#include "base/range.h"
#include "base/size.h"
#include "base/table.h"
#include "store/object.h"
#include "store/store.h"

#define PW_CHUNK_SLOTS 1024u
#define PW_DECIDE_TRIES 1000u

struct tenant {
        char *name;
        struct segment *futures; /* NULL until it is added */
};

/* One claim of an object, in the object's list and its owner's. */
struct pw_ref {
        struct pw_ref *next;       /* of the object; or in the spares */
        struct pw_object *object;
        struct pw_list of_owner;   /* session's, or the store's leases; else alone */
        uint64_t number;           /* of the owner */
        uint64_t since_us, until_us; /* until: of a lease */
        char *name;                /* of a name */
        uint32_t count;
        uint8_t kind;              /* enum pw_owner_kind */
};

/* A row of equal rooms granted to a lane at once: slot first_slot + i has room i. */
struct extent {
        struct pw_list of_segment, of_session;
        struct segment *segment;
        struct session *session;   /* that it was granted to; NULL: that ended */
        uint32_t number, lane;     /* number: handle */
        uint32_t first_slot, slot_count, live; /* live: slots not yet freed, counted from the session's end on */
        uint32_t size_class;
        bool inline_only, quarantined;
        uint64_t room_offset, room_bytes; /* of each room */
        uint64_t bytes;            /* granted: whole pages */
        uint64_t ring_offset, ring_bytes;
        struct pw_return_writer returns;
        uint32_t tail_told;        /* of `returns` when its lane last asked for room */
};

struct chunk {
        uint32_t extents[PW_CHUNK_SLOTS];     /* handle per slot; 0: none */
        struct pw_object *objects;            /* PW_CHUNK_SLOTS records, made when one is first needed */
};

struct segment {
        uint32_t number;
        struct pw_segment_layout layout;
        struct tenant *tenant;
        struct session *session;   /* its producer; NULL: ended, or none */
        bool session_dead;         /* and its process is known to be dead */
        struct pw_map map;
        struct pw_hint_page *hints;
        struct pw_range *slots, *rooms; /* rooms: of a FUTURES segment, shard lists and texts */
        struct pw_list extents;
        struct chunk **chunks;
        uint32_t chunk_count;
        uint64_t entry_pages_bytes; /* of the entry table, in use: overhead */
        uint64_t granted_bytes;
};

struct session {
        uint32_t number;
        struct tenant *tenant;
        char *client;
        struct segment *segment;   /* NULL: none */
        struct pw_control *control;
        struct pw_range *rings;    /* places in its control memory, behind the lanes */
        struct pw_list extents, refs, watched;
        uint64_t since_us;
        bool ended;
};

/* A request that waits: for memory in the queue, or for its pages. */
struct request {
        struct pw_list link;       /* in the queue or in `populating` */
        struct pw_room_request ask;
        struct extent *extent;     /* being populated */
};

struct watch { struct pw_list link; struct pw_object *object; };

struct place { uint32_t segment, slot, generation; };

struct pw_store {
        struct pw_store_params params;
        struct pw_store_actions actions;
        struct pw_table sessions, segments, tenants, names, watches, runs;
        struct pw_handles extents;
        struct segment *last;      /* found last */
        struct pw_list queue, populating, leases;
        struct pw_ref *spare_refs;
        struct place *dead, *closing; /* without references; of these, swapped to CLOSING by begin */
        uint32_t dead_count, dead_capacity, closing_count, closing_capacity;
        int64_t free_bytes;        /* booked by nobody: counted down and up with each grant, never computed */
        uint64_t overhead_bytes;
        uint64_t name_serial;
};

/* store.c */
struct session *pw_store_session(struct pw_store *store, uint32_t number); /* NULL: none, or ended */
struct segment *pw_store_segment(struct pw_store *store, uint32_t number);
void pw_store_segment_maybe_idle(struct pw_store *store, struct segment *segment);
struct pw_store_action *pw_store_act(struct pw_store *store, enum pw_store_action_kind kind); /* NULL: out of memory */
/* An action of a handle to be said aloud: text is copied. */
void pw_store_refuse(struct pw_store *store, uint64_t token, enum pw_status status, const char *text);
static inline void pw_store_book(struct pw_store *store, uint64_t bytes) { store->free_bytes -= (int64_t)bytes; }
static inline void pw_store_unbook(struct pw_store *store, uint64_t bytes) { store->free_bytes += (int64_t)bytes; }

/* extent.c */
enum pw_status pw_extent_new(struct pw_store *store, struct session *session, const struct pw_room_request *ask, uint32_t count,
                             struct extent **ret_extent);
void pw_extent_free(struct pw_store *store, struct extent *extent);
struct extent *pw_extent_of(struct pw_store *store, const struct segment *segment, uint32_t slot);
/* Bytes that an extent of `count` slots takes. */
uint64_t pw_extent_bytes(const struct pw_room_request *ask, uint32_t count);
/* Take back an extent whose slots are all idle. False: one is not. */
bool pw_extent_take_back(struct pw_store *store, struct extent *extent);
/* Its session ended: what is idle goes, what is pending becomes an error, what only it held goes. */
void pw_extent_orphan(struct pw_store *store, struct extent *extent, bool dead, uint64_t now_us);
void pw_extent_granted(struct pw_store *store, struct extent *extent, uint64_t token);

/* room.c */
void pw_room_try_queue(struct pw_store *store, uint64_t now_us);
void pw_room_session_end(struct pw_store *store, uint32_t session);

/* object.c */
struct pw_object *pw_object_at(const struct segment *segment, uint32_t slot); /* its record, known or not; NULL: no chunk */
struct pw_object *pw_object_know(struct pw_store *store, struct segment *segment, uint32_t slot, uint32_t generation); /* NULL: out of memory */
static inline struct pw_entry *pw_segment_entry(const struct segment *segment, uint32_t slot) { return pw_map_entry(&segment->map, slot); }

/* ref.c */
void pw_ref_lost(struct pw_store *store, struct pw_object *object); /* refs became 0 */
void pw_ref_remove(struct pw_store *store, struct pw_ref *ref, uint64_t now_us); /* the whole node */
struct pw_ref *pw_ref_find(const struct pw_object *object, struct pw_owner owner);
enum pw_status pw_ref_add(struct pw_store *store, struct pw_object *object, struct pw_owner owner, uint64_t now_us, struct pw_ref **ret_ref);
/* The grantee's first reference goes. */
void pw_ref_drop_first(struct pw_store *store, struct pw_object *object);

/* reclaim.c */
void pw_reclaim_add(struct pw_store *store, uint32_t segment, uint32_t slot, uint32_t generation);

/* future.c */
void pw_future_free_body(struct segment *segment, struct pw_entry *entry);
void pw_future_run_holds(struct pw_store *store, const struct pw_object *object, int held, int undecided);
void pw_entry_said(struct pw_store *store, struct segment *segment, uint32_t slot, uint64_t old_word); /* decided by the daemon: wake */

#endif

/* What the files of the store share: its records. Nobody else includes this.
 */
#ifndef PW_STORE_STATE_H
#define PW_STORE_STATE_H

#include "base/heap.h"
#include "base/list.h"
#include "base/range.h"
#include "base/size.h"
#include "base/table.h"
#include "store/account/quota.h"
#include "store/object.h"
#include "store/store.h"

#ifndef PW_CHUNK_SLOTS /* fewer in tests/model */
#define PW_CHUNK_SLOTS 64u
#endif
#define PW_DECIDE_TRIES 1000u
#define PW_PAGE_BYTES UINT64_C(4096)

struct objects { struct pw_object **items; uint32_t count, capacity; };

struct tenant {
        char *name;
        struct segment *futures; /* NULL until it is added */
        struct pw_quota quota;
        /* charged: pages of rooms granted, or given back where a living process may still write into them */
        uint64_t host_bytes;
        uint64_t leaving_bytes;  /* charged besides: pages given up, that the system does not have back yet */
        uint64_t slots;          /* granted and not taken back */
        uint64_t kept_bytes;     /* charged: what the daemon keeps because of it, besides (keep.c) */
        uint64_t kept[PW_KEPT_KINDS]; /* of that, by kind */
        uint64_t seen_bytes, seen_slots, seen_waits; /* for the audit: as its segments and sessions have them */
        uint32_t claims;         /* names and leases of its objects */
        uint32_t wait_count;     /* for names */
        /* objects listed as dropped, sessions and extents that end, sessions that rang: of what is on its way out */
        uint64_t on_way;
        uint32_t request_count;  /* for room, that wait */
        uint32_t over_count;     /* of them, those in the queue that wait for its quota */
        uint64_t turn;           /* the last one of its requests: store->turns then */
        uint64_t passed;         /* serving of the queue in which one of them was passed over */
        /* a scan goes on over several turns: what it closed waits in `closed`, what was dropped since in `later` */
        bool scanning;
        struct objects closed, later;
        struct objects dropped;  /* without references; the first `dropped_first` of them are behind */
        uint32_t dropped_first;
        struct pw_list dropping; /* of the store's, while it has some */
};

/* One claim of an object, in the object's ring. */
struct pw_ref {
        struct pw_list of_object;
        union {
                struct pw_heap_item lease; /* of a lease: in the store's, by its end */
                struct pw_ref *same_key;   /* of a run, indexed: the next one with its key */
                struct pw_naming *naming;  /* of a name: name_private.h */
        };
        struct pw_object *object;
        uint64_t number;           /* of the owner */
        uint64_t since_us;
        uint64_t ends;             /* of a lease: the serial of the name that ends with it; 0: none does */
        uint32_t count;
        uint8_t kind;              /* enum pw_owner_kind */
        uint8_t charged;           /* 1: the object was transferred to this owner */
        uint8_t indexed;           /* of a run: in the store's run_refs */
        uint8_t given;             /* 1: the claim was made for a session that has not asked for it: its next one is this */
};

/* Populated pages of a segment that no extent has: sorted, never touching. */
struct idle_span { uint64_t offset, bytes; };
struct idle_pages {
        struct idle_span *spans;
        uint32_t count, capacity;
        uint64_t bytes;
};

/* What a lane was granted of one kind: a size class, inline, or futures. A lane asks only when it found every extent of the row
 * empty. An extent whose slots were all taken back is dormant: the lane may still look at it, so its slots and its ring serve
 * nothing but the next grant of the row, until the lane ends. */
#define PW_KIND_INLINE PW_CLASS_COUNT
#define PW_KIND_FUTURES (PW_CLASS_COUNT + 1)
struct row {
        uint32_t lane, kind;
        uint32_t given_count;      /* slots that came back since the lane was answered last */
        struct pw_list extents, dormant;
        struct pw_list touched;    /* extents that slots came back to since the lane last asked */
        struct request *queued;    /* NULL: the lane does not wait */
        bool asking;               /* it waits, or its pages are on their way: it may not ask for more */
};

/* Of an extent; of all extents of a segment, which are too many to be gone through at once. */
struct extent_sums {
        uint64_t booked, spans;    /* bytes of pages that were not freed since, of all rooms */
        uint64_t used, rounded;    /* of the booked: of rooms with values, as counted last; behind the last room */
        uint64_t slots, held;      /* that it keeps, that are granted */
        uint64_t extents;
};

/* Equal rooms granted to a lane at once: slot first_slot + i has room i. */
struct extent {
        struct pw_list of_segment, of_session, of_row, of_touched;
        struct pw_list of_ending;  /* the store's, until its slots were looked at; else alone */
        struct segment *segment;
        struct session *session;   /* that it was granted to; NULL: that ended */
        struct row *row;           /* NULL: the lane ended */
        uint32_t number;           /* handle */
        uint32_t first_slot, slot_count; /* granted */
        uint32_t slot_room;        /* slots that it keeps, at least slot_count */
        uint32_t taken;            /* of the granted ones */
        uint32_t given_last;       /* slot that came back last */
        uint32_t used;             /* slots with values, as counted last (count.c); never believed beyond what was granted */
        uint32_t ended_slots;      /* of those that go with the lane or the session: looked at so far */
        bool leaving;              /* what becomes idle is taken back */
        bool populating;           /* not granted yet: its pages are on their way */
        bool worn;                 /* a slot's generations are used up */
        bool untouched, at_once;   /* no slot came back since it was granted; its lane takes them as it hears of them */
        uint64_t grant;            /* its number among all */
        uint64_t room_offset, room_bytes; /* of each room */
        uint64_t span_bytes;       /* of all rooms, in whole pages */
        uint64_t booked_bytes;     /* of it: pages that were not freed since */
        uint64_t ring_offset;
        struct pw_return_writer returns;
        uint64_t granted_us;
        struct extent_sums sums;   /* as they are in the segment's */
};

struct segment {
        uint32_t number;
        struct pw_segment_layout layout;
        struct tenant *tenant;
        struct session *session;   /* its producer, also when that ended; NULL: none */
        bool ended, dead, frozen;  /* the session; its process; the daemon is its producer */
        bool idle_told, awaited;   /* awaited: FUTURES: a request may be told that it waits in vain when the next one is decided */
        struct pw_map map;
        struct pw_hint_page *hints;
        struct pw_range *slots, *rooms; /* rooms: of a FUTURES segment, shard lists and texts */
        uint64_t slot_top, body_top; /* FUTURES: behind all slots that were ever granted, all lists and texts that ever were */
        uint32_t buried_slots;     /* worn: never granted again */
        struct pw_list extents;
        struct extent_sums sums;   /* of them */
        struct pw_object **chunks; /* of PW_CHUNK_SLOTS records, made as slots are granted; as many as were needed */
        uint32_t chunk_capacity;
        uint32_t known_count, populating_count;
        uint32_t changes;          /* objects known and forgotten, and their bodies, extents: counts up */
        uint64_t entry_page_bytes; /* of the entry table, once in use: kept for its tenant */
        uint64_t chunk_bytes, record_bytes; /* of `chunks`; of them and of what comes with extents: likewise */
        uint64_t room_page_bytes;  /* populated: of extents, and idle */
        struct idle_pages idle;
        struct pw_table readers;   /* number -> session that may refer to objects in it by id */
        uint64_t scan_serial;      /* of the scan that its readers are in */
};

struct session {
        uint32_t number;
        struct tenant *tenant;
        char *client;
        struct segment *segment;   /* NULL: none */
        uint8_t *control;          /* NULL once it ended */
        struct pw_range *rings;    /* places in its control memory, behind the lanes */
        struct pw_table rows;      /* lane and kind -> struct row */
        struct pw_list extents;
        struct pw_table held;      /* segment and slot -> its struct pw_ref there */
        uint32_t held_at;          /* ended: where its claims are let go next */
        uint32_t ending_extent;    /* ended: the one that is looked at */
        struct pw_list of_ending;  /* ended, and not all of it is gone; else alone */
        struct pw_list requests;   /* that it waits for */
        uint32_t request_count;
        struct pw_list waits;      /* for names */
        uint32_t wait_count;
        struct pw_table reads;     /* number -> segment that it is a reader of */
        uint64_t scan_serial;      /* of the scan that it is in */
        struct pw_object **watched;
        uint32_t watched_count, watched_capacity;
        uint32_t rung_left;        /* of them: to be looked at, as it rang */
        bool rung_again;           /* since it was begun with */
        struct pw_list of_rung;    /* the store's, while some are left; else alone */
        uint64_t since_us;
        bool any_tenant;           /* an operator's */
        bool ended, broke;         /* broke: the protocol */
};

/* Results of one run that are still to come, where it has several. */
struct results { uint32_t count, unheld; };

/* Sessions whose rings are to be read. */
struct scans { uint32_t *sessions, count, capacity; };

/* A search of all extents for idle slots, in parts. */
struct search {
        uint64_t grants;           /* when it began; UINT64_MAX: to be done */
        uint32_t next;             /* handle of an extent; 0: it is done */
        bool again;                /* it passed by what is about to be used: another one follows, when something came */
};

/* A request that waits: for memory in the queue, or for its pages. */
struct request {
        struct pw_list link;       /* in the queue or in `populating` */
        struct pw_list of_session; /* its session's; else alone */
        struct pw_room_request ask;
        struct session *session;   /* NULL: ended */
        struct tenant *tenant;
        bool over, cancelled;      /* over: its tenant's quota; else memory is missing */
        struct extent *extent;     /* being populated; NULL: none, or gone with its segment */
        uint64_t arrived;          /* grants when it came */
        struct search search, own_search; /* for idle slots: of all; among those of its tenant */
        uint64_t retry_us;         /* the system had no memory for it: not before then; 0: it had */
        struct { uint32_t next; bool no, awaits; uint64_t slots; } vain; /* vain.c: extent; it is not, yet; slots so far */
        uint32_t turns;            /* that it had */
};

struct pw_store {
        struct pw_store_params params;
        struct pw_store_actions actions;
        struct pw_table sessions, segments, tenants;
        struct pw_table names, namings, wanted, wanted_serials; /* name/: by tenant and name; by serial; looked up, likewise */
        struct pw_list name_asks, wanted_asks, names_open, names_later, name_told;
        struct pw_handles extents, results;
        struct segment *last_segment; /* found last */
        struct session *last_session;
        struct pw_list queue, populating, spare_refs;
        struct pw_table requests;  /* token -> those of both */
        uint32_t lacking_count;    /* requests in the queue that wait for memory */
        bool searching;            /* for one of them, and not through */
        bool only_searching;       /* as a reclaim began there was nothing else to be done */
        bool unserved;             /* something came back since the queue was served */
        uint32_t search_left;      /* slots that may be looked at yet, for all requests */
        uint64_t search_after;     /* a token: requests up to it let others search first */
        struct request *turn;      /* what is freed is for this one alone; NULL: for whom it is enough */
        uint64_t turn_until_us, next_turn_us, turns;
        uint64_t serving;          /* of the queue: counts up */
        struct pw_heap leases, waits; /* by their end; waits for names too */
        const struct pw_observer *observer; /* of changes of states; NULL: nobody watches */
        struct pw_table copies, run_refs; /* fetched objects by their place; of runs, to objects with many claims: first of a key */
        struct pw_list ending_sessions, ending_extents, rung;
        struct pw_list dropping;   /* tenants with dropped objects: they take turns */
        struct pw_object **closing; /* of those, found without references by begin */
        uint32_t closing_count, closing_capacity;
        struct scans scans[2];     /* the next scan's, by its serial; the last one's */
        uint64_t scan_serial;
        uint32_t scanning_count;    /* objects of tenants whose scan goes on */
        struct pw_object *last_claimed;
        int64_t free_bytes;        /* booked by nobody, and not leaving: counted down and up, never computed */
        uint64_t leaving_bytes;    /* given up, and not given back to the system yet */
        uint64_t idle_bytes;       /* of all segments that may be punched */
        int64_t overhead_bytes;    /* measured, outside of the store */
        uint64_t kept_bytes;       /* of all tenants */
        uint64_t name_count, name_bound_count, name_serial, grants, now_us, queue_next_us;
};

#endif

/* The store of one host: which objects there are, their references and charges, what room there is. It decides only.
 *
 * Events are calls; effects come out as actions (action.h). It swaps entry words itself, through plane/entry.h, in maps that
 * it was handed; it holds no descriptor, clock or thread: `now_us` is a field of the event. Time is CLOCK_MONOTONIC.
 *
 * Invariants (pw_store_check() proves them):
 *   - an object's `refs` is the sum of its reference nodes (session, run, name, lease) plus its grantee's first reference;
 *   - for each memory: capacity = free + used + idle + letting go + quarantined + reserved + overhead, each from its records;
 *   - what was given up is free only once the system has its pages back: pw_store_pages_gone();
 *   - what is freed was CLOSING, and every ring that may hold a reference to it was read after it became so.
 *
 * Own: the store owns its records; maps and payloads are the daemon's.   Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_STORE_STORE_H
#define PW_STORE_STORE_H

#include "base/hash.h"
#include "base/id.h"
#include "plane/control.h"
#include "plane/hint.h"
#include "plane/segment.h"
#include "store/account/quota.h"
#include "store/action.h"
#include "store/counts.h"

struct pw_store;
struct pw_observer;
struct pw_object; /* one known object: object.h */

struct pw_store_params {
        uint32_t host, epoch;
        uint64_t capacity_bytes; /* of host memory */
        uint64_t reserved_bytes; /* of it, for the memory of cpu and emulated devices */
        struct pw_hash_secret secret; /* of keys of what clients choose */
        bool names_elsewhere;    /* other hosts bind names too, and metadata knows of them */
        uint64_t apart;          /* devices of this host whose memory the processor does not read: fetched.h */
};
struct pw_store *pw_store_new(const struct pw_store_params *params); /* NULL: out of memory */
void pw_store_free(struct pw_store *store);
/* Who is told of each change of the state of an object or a name; NULL: nobody. Borrowed until another is set. */
void pw_store_observe(struct pw_store *store, const struct pw_observer *observer);
/* The daemon empties them after each batch of events. */
struct pw_store_actions *pw_store_actions(struct pw_store *store);

/* --- sessions, segments ------------------------------------------------------------------------------------------- */

struct pw_store_session_params {
        uint32_t session;            /* handle, unique while it lives */
        const char *tenant;
        const char *client;          /* "digits[4411]": for labels */
        struct pw_control *control;  /* map of the session's control memory; NULL for executors */
        uint64_t control_bytes;
        bool any_tenant;             /* an operator's: it may refer to objects of every tenant */
        uint64_t now_us;
};
PW_MUST_CHECK enum pw_status pw_store_session_open(struct pw_store *store, const struct pw_store_session_params *params,
                                                   struct pw_error *ret_err);
/* Its references go, its PENDING entries become ERROR (PW_PRODUCER_LOST), what waits for room is refused, its segment stays until
 * the last object in it is gone (action SEGMENT_IDLE): in parts, the first one now, others with each pw_store_reclaim_begin().
 * `dead`: its process is known to be dead, or to have left; else its rooms stay `letting go` until pw_store_session_dead(). */
void pw_store_session_end(struct pw_store *store, uint32_t session, bool dead, uint64_t now_us);
/* Before its end: what its process may still write into is `quarantined` instead. */
void pw_store_session_misbehaved(struct pw_store *store, uint32_t session);
void pw_store_session_dead(struct pw_store *store, uint32_t session, uint64_t now_us);

struct pw_store_segment_params {
        uint32_t segment;
        struct pw_segment_layout layout;
        const char *tenant;
        uint32_t session;       /* CLIENT: its producer; else 0 */
        bool frozen;            /* its producer is the daemon: one slot is granted to each lane at a time, and what it holds */
        struct pw_map map;      /* entries, readable and writable; borrowed until pw_store_segment_remove() */
        struct pw_hint_page *hints; /* of the tenant */
};
PW_MUST_CHECK enum pw_status pw_store_segment_add(struct pw_store *store, const struct pw_store_segment_params *params,
                                                  struct pw_error *ret_err);
/* Nobody holds an object in it. What it returns is leaving: once its memory is given back, pw_store_pages_gone() is due for it. */
struct pw_store_leaving { struct pw_store_owner *owner; uint64_t bytes; };
struct pw_store_leaving pw_store_segment_remove(struct pw_store *store, uint32_t segment);
/* so many of what left */
void pw_store_pages_gone(struct pw_store *store, struct pw_store_owner *owner, uint64_t bytes, uint64_t now_us);

/* The session gets the segment's descriptor: from now on it may refer to objects there by id. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_store_reader_add(struct pw_store *store, uint32_t segment, uint32_t session,
                                                 struct pw_error *ret_err);

/* Bytes of a segment that may be allocated: entry pages in use, pages ever granted and not given up; of futures, all that ever
 * were. */
uint64_t pw_store_segment_bytes(const struct pw_store *store, uint32_t segment);
/* What of a futures segment, an ended session's or a frozen one was never granted, or was given up; pieces too small to matter are
 * left out, and so are entries that may be granted before the caller has given it back. */
void pw_store_each_hole(struct pw_store *store, uint32_t segment, void (*hole)(void *, uint64_t offset, uint64_t bytes),
                        void *context);

/* Count memory that is neither free nor granted: control memory, boards, hint pages, futures segments; less is given back. */
void pw_store_overhead(struct pw_store *store, int64_t bytes);

/* --- room ----------------------------------------------------------------------------------------------------------- */

struct pw_room_request {
        uint64_t token;        /* comes back in GRANT, LOOK_AGAIN or REFUSE */
        uint32_t session, lane;
        bool futures, inline_only;
        bool alone;            /* nobody else in its process gives anything back meanwhile */
        bool at_once;          /* who asks takes the slots as it hears of the grant, and ends the extent: till then they stay its */
        uint32_t size_class, count;
        uint64_t need_bytes;   /* for messages */
        uint64_t now_us;
        uint64_t deadline_us;  /* UINT64_MAX: none */
};
/* Grant an extent, or queue: for memory, or for what the tenant's quota allows (pass.c). Before it queues, idle slots of others are
 * taken back, those of `at_once` excepted; a request that can never fit is refused at once (PW_TOO_LARGE), and so is one of a lane
 * that waits for such room (PW_LIMIT). So is, at once or when it is found out, one for futures for which its own session alone
 * could make place (PW_NO_SPACE). The answer is LOOK_AGAIN if `count` slots of that kind came back to the lane since its last
 * answer, or some did and an extent does not fit. */
void pw_store_room_request(struct pw_store *store, const struct pw_room_request *request);
void pw_store_room_cancel(struct pw_store *store, uint64_t token);
/* The worker did what POPULATE asked for. PW_NO_SPACE: the system has none, it waits; else a status other than PW_OK refuses the
 * grant. */
void pw_store_populated(struct pw_store *store, uint64_t token, enum pw_status status, uint64_t now_us);
/* A lane's thread ended: its idle slots are taken back. */
void pw_store_lane_end(struct pw_store *store, uint32_t session, uint32_t lane, uint64_t now_us);
/* The same of one extent: no slot of it is given back to its lane any more. */
void pw_store_extent_end(struct pw_store *store, const struct pw_store_grant *grant, uint64_t now_us);

/* --- references --------------------------------------------------------------------------------------------------------- */

enum pw_owner_kind { PW_OWNER_SESSION = 1, PW_OWNER_RUN = 2, PW_OWNER_NAME = 3, PW_OWNER_LEASE = 4, PW_OWNER_OBJECT = 5 };
struct pw_owner {
        enum pw_owner_kind kind;
        uint64_t number; /* session handle, run number, ...; OBJECT: the place of a value that lies in its room */
};

/* Records of a session's rings. A record that does not fit what the store knows is ignored where a race explains it, else the
 * answer is PW_PROTOCOL: end the session. */
PW_MUST_CHECK enum pw_status pw_store_drop(struct pw_store *store, uint32_t session, struct pw_cell cell, uint64_t now_us);
PW_MUST_CHECK enum pw_status pw_store_ref(struct pw_store *store, uint32_t session, struct pw_cell cell, uint64_t now_us);
/* If the cell names a slot for a result that no run has claimed yet: the session that it was granted to. Else 0. */
uint32_t pw_store_unclaimed(struct pw_store *store, struct pw_cell cell);

/* The object of {segment, slot, generation}, known from now on; NULL: there is none of that generation, or `session` (0: any) may
 * not see its tenant. */
struct pw_object *pw_store_find(struct pw_store *store, uint32_t session, uint32_t segment, uint32_t slot, uint32_t generation);
PW_MUST_CHECK enum pw_status pw_store_hold(struct pw_store *store, struct pw_object *object, struct pw_owner owner,
                                           struct pw_error *ret_err);
void pw_store_release(struct pw_store *store, struct pw_object *object, struct pw_owner owner, uint64_t now_us);
/* From now on it is charged to session `to`, of its tenant, which holds a reference: the next one that it takes, if it has none.
 * Errors: PW_NOT_FOUND (no such session of its tenant), PW_DONATED_USE. */
PW_MUST_CHECK enum pw_status pw_store_transfer(struct pw_store *store, struct pw_object *object, uint32_t to, uint64_t now_us,
                                               struct pw_error *ret_err);
/* The same to a name of its tenant. Errors: PW_NOT_FOUND (not bound), PW_EXISTS (bound to another object). */
PW_MUST_CHECK enum pw_status pw_store_transfer_to_name(struct pw_store *store, struct pw_object *object, const char *name,
                                                       struct pw_error *ret_err);
/* Does the session hold a reference to it? */
bool pw_store_holds(struct pw_store *store, const struct pw_object *object, uint32_t session);
/* A donated input: the session's reference becomes the run's and the entry is flagged DONATED. After the next scan
 * pw_store_donated_alone() says whether the run is the only holder; if not, the flag is taken back. */
PW_MUST_CHECK enum pw_status pw_store_donate(struct pw_store *store, uint32_t session, struct pw_object *object, uint64_t run,
                                             struct pw_error *ret_err);
bool pw_store_donated_alone(struct pw_store *store, struct pw_object *object);

/* Moving: `object`, a result, gets the place of `with`, a value of as many bytes, in two steps with a scan between them, that finds
 * who holds them. Both are READY; `session` holds them, through one reference, and nobody else does, besides names and leases.
 * `with` is another result, which gets the place of `object` in exchange; or what a client put: that stays alive for as long as
 * `object` lies in its room, and FREE_RESULT gives the old rooms back. NULL as `with`: nothing is moved, only said whether it could
 * be.
 * Errors: PW_BUSY (the text says who holds it), PW_UNSUPPORTED (not a result), PW_DENIED (another tenant's), PW_NOT_READY, PW_SHAPE
 * (`with` is another value), PW_DONATED_USE, PW_INVALID, PW_NO_SPACE; the error that one of them is ready with. */
PW_MUST_CHECK enum pw_status pw_store_move_begin(struct pw_store *store, uint32_t session, struct pw_object *object,
                                                 struct pw_object *with, struct pw_error *ret_err);
/* To be called after the scan, if pw_store_move_begin() was PW_OK and both objects are still there. */
PW_MUST_CHECK enum pw_status pw_store_move_finish(struct pw_store *store, uint32_t session, struct pw_object *object,
                                                  struct pw_object *with, uint64_t now_us, struct pw_error *ret_err);

/* Reclaim: goes on with ends of sessions and lanes, then swaps what lost its last reference to CLOSING, in parts. Then the daemon
 * reads the rings of pw_store_scan() up to the tails that it sees *after* this call (pw_store_ref() reopens); finish frees what
 * nobody reopened: slots go to their lanes, rooms to their memory, payloads by FREE_RESULT. Begin: true: there is something to
 * finish; finish: more. */
bool pw_store_reclaim_begin(struct pw_store *store);
/* Sessions that may refer to what was closed, or donated, since the last scan. The list is good until the next call. */
const uint32_t *pw_store_scan(struct pw_store *store, uint32_t *ret_count);
/* Before finish: this session's were read in part. What is of its tenant stays CLOSING, and no more of it is closed, given or
 * moved, until all of that scan are read up to there: whole. */
void pw_store_scan_partial(struct pw_store *store, uint32_t session);
void pw_store_scan_whole(struct pw_store *store, const char *tenant, uint64_t now_us);
bool pw_store_reclaim_finish(struct pw_store *store, uint64_t now_us);
bool pw_store_reclaims(const struct pw_store *store); /* something is on its way out */
bool pw_store_reclaims_of(const struct pw_store *store, const char *tenant); /* of this tenant's */

/* --- futures ------------------------------------------------------------------------------------------------------------ */

/* A session submits a run: its slot {segment, slot, generation} of the futures segment becomes the result of `run`.
 * `payload` is the scheduler's (struct pw_result), given back by FREE_RESULT. Errors: PW_PROTOCOL (not granted to it, not
 * PENDING of that generation, claimed before). */
PW_MUST_CHECK enum pw_status pw_store_claim(struct pw_store *store, uint32_t session, struct pw_cell cell, uint64_t run,
                                            void *payload, struct pw_object **ret_object, struct pw_error *ret_err);
struct pw_value_type { enum pw_dtype dtype; struct pw_dims dims; }; /* opaque: rank 1, {bytes} */
struct pw_decision {
        enum pw_status status;            /* PW_OK: ready */
        const char *text;                 /* of an error */
        const struct pw_shard_list *list; /* ready: copied into the futures segment */
        uint64_t bytes;                   /* ready: of the whole value */
        const struct pw_value_type *elsewhere; /* ready, a proxy, instead of a list: what it is; its bytes are not here */
};
/* Decide a result of a run, or a proxy; wakes who waits. */
void pw_store_decide(struct pw_store *store, struct pw_object *object, const struct pw_decision *decision, uint64_t now_us);
/* A result that is still to come: if nobody refers to it, look who may, and say CANCEL_RUN where the same is true of all that are
 * still to come of its run. */
void pw_store_scan_again(struct pw_store *store, struct pw_object *object);
/* Of a result that goes on: the devices of these shards (base/bits.h, as many as there are) were lost; others hold the same. */
void pw_store_lose_shards(struct pw_store *store, struct pw_object *object, const _Atomic uint64_t *shards);
/* A result whose memory is gone: READY to LOST. `why`: PW_DEVICE_LOST, PW_HOST_LOST. `text`: how; NULL or without room for it: the
 * status alone says so. */
void pw_store_lose(struct pw_store *store, struct pw_object *object, enum pw_status why, const char *text, uint64_t now_us);
/* Ask to be told (action READY) when a client's PENDING object is decided: sets RING. True: it is decided already. Of a proxy: when
 * its bytes are here. */
bool pw_store_watch(struct pw_store *store, struct pw_object *object);
/* A doorbell of a session rang: look at its watched entries. */
void pw_store_rung(struct pw_store *store, uint32_t session, uint64_t now_us);

/* --- leases; names are in name.h --------------------------------------------------------------------------------------- */

PW_MUST_CHECK enum pw_status pw_store_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us,
                                            struct pw_error *ret_err);
/* By an operator or owner: its names and leases go; `force`: what sessions hold too. PW_NOT_FOUND: not forced, it has neither. */
PW_MUST_CHECK enum pw_status pw_store_free_object(struct pw_store *store, struct pw_object *object, bool force, uint64_t now_us,
                                                  struct pw_error *ret_err);

/* --- time, listings ----------------------------------------------------------------------------------------------------- */

/* When pw_store_tick() is due next: deadlines of requests and leases. UINT64_MAX: never. */
uint64_t pw_store_next_us(const struct pw_store *store);
void pw_store_tick(struct pw_store *store, uint64_t now_us);

/* Somebody queues for room that this session may give back (0: any): its DROPs are wanted at once. */
bool pw_store_waits_for_room(struct pw_store *store, uint32_t session);

#endif

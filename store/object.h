/* What the store knows of one object, out of band: counted claims, whom it is charged to. Never read from the entry.
 *
 * There is a record per granted slot. A client's object is known only once somebody but its producer has to do with it, or it
 * is dropped; until then the granted slot stands for it. 64 bytes, beside the entry's own 64.
 */
#ifndef PW_STORE_OBJECT_H
#define PW_STORE_OBJECT_H

#include "base/id.h"
#include "plane/entry.h"
#include "plane/ring.h"

struct pw_store;
struct pw_ref;

struct pw_object {
        uint32_t segment, slot, generation;
        uint32_t refs;           /* all claims, the grantee's first one included */
        uint32_t grantee;        /* session that was granted the slot; 0: it ended */
        uint32_t extent;         /* that the slot lies in; 0: it is not granted */
        /* Nobody holds it, and rings are scanned for who refers to it: its state; 0 otherwise. From READY on the entry says CLOSING
         * meanwhile; one that is PENDING is cancelled then. */
        uint8_t closing : 4;
        uint8_t unheld : 1;      /* PENDING, claimed, and counted among its run's results as held by nobody */
        uint8_t proxied : 1;     /* it stands for an object of another host: store/proxy.h */
        uint8_t apart : 1;       /* a result whose list names rooms that the processor does not read: store/fetched.h */
        uint8_t fetched : 1;     /* likewise, and its bytes lie in a copy besides */
        uint8_t donated;         /* 1: flagged, to be looked at; 2: its run is the only holder, nobody else can be */
        uint16_t body_lines;     /* of its shard list or error text; 0: none */
        uint8_t known : 1;       /* else all below is void: the slot is idle, or only its grantee ever knew of the object */
        uint8_t first_ref : 1;   /* the grantee still holds its first reference */
        uint8_t claimed : 1;     /* by `run`, or a proxy */
        uint8_t watched : 1;
        uint8_t taken : 1;       /* the slot was taken back, or its generations are used up */
        uint8_t leaving : 1;     /* it is listed as dropped or closing */
        uint8_t backed : 1;      /* the value lies in the room of `backing`, which it holds */
        uint8_t forced : 1;      /* references of sessions were taken away: a handle may still name it */
        uint8_t crowded;         /* references of runs may be indexed: ref.c */
        uint16_t claims;         /* names and leases */
        struct pw_ref *holders;  /* claims with a node of their own: a ring; sessions, names and leases before runs */
        union {
                void *payload;   /* of a result in rooms of devices: the scheduler's struct pw_result; see pw_object_result() */
                struct pw_object *backing;
        };
        uint64_t run;            /* that makes it; 0: none. A proxy: its number, until FREE_PROXY was said */
        uint32_t program;        /* label: handle of the program */
        union {
                uint32_t results;    /* a result, PENDING: its run's, of several results; 0: it is the only one */
                uint32_t body;       /* a result, decided: its list of shards or error text, in lines of the arena */
                uint32_t watched_at; /* of a client, watched: its place among those of its session */
        };
};
_Static_assert(sizeof(struct pw_object) == 64, "a record is one line");

/* The scheduler's result whose rooms it has; NULL: it has none, its value lies in host memory. */
static inline void *pw_object_result(const struct pw_object *object) { return object->backed ? NULL : object->payload; }

struct pw_entry *pw_object_entry(struct pw_store *store, const struct pw_object *object);
/* Of a result that is READY: its list of shards. Borrowed until it is freed. */
const struct pw_shard_list *pw_object_list(struct pw_store *store, const struct pw_object *object);
/* As people see it: of a proxy, the id at its home. */
struct pw_id pw_object_id(struct pw_store *store, const struct pw_object *object);
/* The run that makes, or made, it; 0: none. */
static inline uint64_t pw_object_run(const struct pw_object *object) { return object->proxied ? 0 : object->run; }
/* Where it lies here, as the rings name it. */
static inline struct pw_cell pw_object_cell(const struct pw_object *object)
{
        return pw_cell_object(0, object->segment, object->slot, object->generation);
}
/* The same as number of an owner. */
static inline uint64_t pw_object_place(const struct pw_object *object) { return (uint64_t)object->segment << 24 | object->slot; }
const char *pw_object_tenant(struct pw_store *store, const struct pw_object *object);
/* The room that was granted with the slot of what a client put; what its entry says is only a claim. bytes 0: there is none. */
struct pw_object_room { uint64_t offset, bytes; };
struct pw_object_room pw_object_room(struct pw_store *store, const struct pw_object *object);

/* Whom an object is charged to: whom it was transferred to, else its grantee while that holds it, then its oldest holder. */
struct pw_charge {
        uint8_t kind;        /* enum pw_owner_kind; 0: nobody holds it any more */
        uint64_t number;     /* of the owner */
        uint64_t since_us;   /* that holds it since; of a grantee: since its room was granted */
        const char *name;    /* of a name */
};
/* "digits[4411]", "name weights", "run 41", "a lease"; returns `text`. */
char *pw_store_charge_text(struct pw_store *store, const struct pw_charge *charge, char *text, size_t text_bytes);

/* One row per object that is alive (granted slots that hold a value included), for listings; false from `row` ends it. */
struct pw_object_row {
        struct pw_id id;        /* as people see it */
        uint64_t word, bytes, room_bytes;
        uint32_t refs;
        const char *tenant;
        struct pw_charge charge;
        const struct pw_object *object; /* NULL: not known */
        uint32_t segment;       /* where it stands on this host */
        const struct pw_entry *entry;
};
/* The next slots of a walk over all objects, so many at most, from *at: 0 is the beginning. True: there are more. What is there all
 * the time is seen once; what comes or goes meanwhile may be seen or not. */
struct pw_walk {
        uint32_t slots;
        bool (*row)(void *context, const struct pw_object_row *row); /* false: it does not fit, and comes first the next time */
        void *context;
        const char *tenant; /* only what is its; NULL: all */
        bool uncharged;     /* rows do not say who is charged, which is a look at each claim */
};
bool pw_store_walk(struct pw_store *store, const struct pw_walk *walk, uint64_t *at);
void pw_store_each_object(struct pw_store *store, bool (*row)(void *context, const struct pw_object_row *row), void *context);
/* The row of one object. */
void pw_object_row(struct pw_store *store, const struct pw_object *object, struct pw_object_row *ret_row);
/* What has this place as number of an owner; NULL: nothing any more. */
const struct pw_object *pw_object_of_place(struct pw_store *store, uint64_t place);
/* Each claim of a known object: owner kind and number. */
struct pw_ref_row { uint8_t owner_kind; uint64_t owner_number; uint32_t count; uint64_t since_us, until_us; const char *name; };
void pw_object_each_ref(const struct pw_object *object, void (*row)(void *context, const struct pw_ref_row *row), void *context);

#endif

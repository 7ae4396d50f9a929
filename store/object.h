/* What the store knows of one object, out of band: counted claims, whom it is charged to. Never read from the entry.
 *
 * A client's object is known only once somebody but its producer has to do with it, or it is dropped; until then the granted
 * slot stands for it. 64 bytes at most, beside the entry's own 64.
 */
#ifndef PW_STORE_OBJECT_H
#define PW_STORE_OBJECT_H

#include "base/id.h"
#include "plane/entry.h"

struct pw_store;
struct pw_ref;

struct pw_object {
        uint32_t segment, slot, generation;
        uint32_t refs;           /* all claims, the grantee's first one included */
        uint32_t grantee;        /* session that was granted the slot; 0: it ended */
        uint8_t first_ref;       /* the grantee still holds its first reference */
        uint8_t closing, claimed, watched, donated;
        uint8_t zero[3];
        struct pw_ref *holders;  /* claims with a node of their own */
        void *payload;           /* of a result: the scheduler's struct pw_result */
        uint64_t run;            /* that makes it; 0: none */
        uint32_t program;        /* label: handle of the program */
        uint32_t next;           /* in the store's lists */
};

struct pw_entry *pw_object_entry(struct pw_store *store, const struct pw_object *object);
struct pw_id pw_object_id(struct pw_store *store, const struct pw_object *object);
const char *pw_object_tenant(struct pw_store *store, const struct pw_object *object);

/* One row per object that is alive (granted slots that hold a value included), for listings. `filter_segment` 0: all. */
struct pw_object_row {
        struct pw_id id;
        uint64_t word, bytes, room_bytes;
        uint32_t refs, session;
        const char *tenant, *client;
        const struct pw_object *object; /* NULL: not known */
        const struct pw_entry *entry;
};
void pw_store_each_object(struct pw_store *store, bool (*row)(void *context, const struct pw_object_row *row), void *context);
/* Each claim of a known object: owner kind and number. */
struct pw_ref_row { uint8_t owner_kind; uint64_t owner_number; uint32_t count; uint64_t since_us; const char *name; };
void pw_object_each_ref(struct pw_store *store, const struct pw_object *object, void (*row)(void *context, const struct pw_ref_row *row), void *context);

#endif

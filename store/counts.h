/* What a store has, counted from its own records, and the proof that its records hold together.
 *
 * Counting everything takes long where there is much: it is done in parts, between which other calls may come.
 */
#ifndef PW_STORE_COUNTS_H
#define PW_STORE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct pw_store;

struct pw_memory_terms {
        uint64_t capacity, free, used, idle, letting_go, quarantined, reserved, overhead;
        int64_t unaccounted; /* capacity less the sum of the others */
};
/* Counts each term from its own records: extents, not objects. Which of the granted rooms have values is known from when they were
 * counted last, since their producers do not tell. */
void pw_store_terms(struct pw_store *store, struct pw_memory_terms *ret_terms);

struct pw_store_counts {
        uint64_t pending, ready, failed; /* objects; failed: in error or lost */
        uint64_t refs;                   /* to all of them */
};
/* A census: reads every granted entry, so that pw_store_terms() knows too. In parts of about so many slots, from one that is
 * zeroed; true: there are more. What comes or goes meanwhile may be counted or not. */
struct pw_census { struct pw_store_counts counts; uint32_t next; };
bool pw_store_census(struct pw_store *store, struct pw_census *census, uint32_t slots);
uint64_t pw_store_names(const struct pw_store *store);
/* Of host memory, granted to nobody: what pw_store_terms() says without reading anything else. */
uint64_t pw_store_free_bytes(const struct pw_store *store);
uint64_t pw_store_puts_waiting(const struct pw_store *store); /* requests for room in the queue */

/* Proves the invariants, in parts of about so many slots; true: there are more. Each violation is one call. What is true of one
 * object is looked at with it; what is a sum of all at the end, if nothing changed meanwhile. */
struct pw_store_audit {
        void (*found)(void *context, const char *where, const char *problem);
        void *context;
        uint32_t count;             /* of violations */
        uint32_t next;              /* the store's, as all that follows: zeroed to begin with */
        uint64_t known, body_bytes, booked_bytes, slots, state;
};
bool pw_store_check_step(struct pw_store *store, struct pw_store_audit *audit, uint32_t slots);
/* All of it at once. Returns how many violations there are. */
uint32_t pw_store_check(struct pw_store *store, void (*found)(void *context, const char *where, const char *problem),
                        void *context);

#endif

/* What holds an object besides sessions and runs, leases and names, and whom it is charged to, as the rules have it: compared with
 * what the store says. Metadata is late, and may be away.
 */
#ifndef PW_TESTS_WORLD_CLIENT_CLAIM_H
#define PW_TESTS_WORLD_CLIENT_CLAIM_H

#include "store/naming.h"
#include "tests/world/world.h"

struct pw_object;

/* A lease; or a name, that may end with a lease. Each of the two holds the object. */
struct world_claim {
        struct pw_list link;
        struct world_object *object;
        bool leased;
        uint64_t until_us;        /* leased */
        char name[8];             /* "": a lease alone */
        bool bound, ending;       /* metadata has said so; it is not found any more */
        uint64_t token;           /* of the question about it that is open; 0: none */
};

void world_claims_open(struct world *world);
void world_claims_close(struct world *world);
/* A client that holds the object asks for something, by chance. */
void world_ask(struct world *world, struct world_object *object);
/* In a turn: leases end, metadata is asked, and answers some of it. */
void world_claims_turn(struct world *world);
/* All names are removed, all leases end, and whoever asked was answered. */
void world_claims_end(struct world *world);
struct pw_object *world_stored(struct world *world, const struct world_object *object); /* the store's record of it */
/* The live claim of that name; NULL: there is none. */
struct world_claim *world_claim_of(struct world *world, const char *tenant, const char *name);

/* metadata.c */
struct world_metadata;
struct world_metadata *world_metadata_new(void); /* NULL: out of memory */
void world_metadata_free(struct world_metadata *metadata);
void world_metadata_take(struct world *world, const struct pw_name_ask *ask);
bool world_metadata_answer(struct world *world, bool away, struct pw_name_ask *ret_ask, struct pw_name_answer *ret_answer);

/* transfer.c */
void world_transfer(struct world *world, struct world_object *object);
void world_check_charge(struct world *world, struct world_object *object);

#endif

/* For tests of the store: clients, their memory and a futures segment, on plain memory, and the actions that came out.
 *
 * What a test does as a client, it does as libclient would: slots are taken by pw_entry_take(), records are cells.
 */
#ifndef PW_STORE_FIXTURE_TEST_H
#define PW_STORE_FIXTURE_TEST_H

#include "base/memory.h"
#include "base/size.h"
#include "store/name/plain_test.h"
#include "store/object.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define FIXTURE_CLIENTS 6u
#define FIXTURE_SLOTS 4096u
#define FIXTURE_LISTS_BYTES (256 * PW_KIB) /* for lists of shards, in: */
#define FIXTURE_APART 40u /* from this one on the processor does not read what devices have */
#define FIXTURE_FUTURES 1u /* number of ann's futures segment */

struct client {
        uint32_t session, segment;
        uint8_t *control;
        struct pw_map map; /* of the entries only */
        struct pw_segment_layout layout;
};
/* One slot in one generation. */
struct place { uint32_t segment, slot, generation; struct pw_entry *entry; };

struct fixture {
        struct pw_store *store;
        struct pw_hint_page *hints;
        struct pw_map futures;
        struct pw_segment_layout futures_layout;
        struct client clients[FIXTURE_CLIENTS];
        uint32_t client_count;
        uint64_t token, now_us;
        uint32_t settled; /* actions: of those that are there */
        bool is_metadata; /* the test itself is: nothing is answered for it */
};

/* A host with `capacity_bytes`, and a futures segment of tenant ann. Closing proves the invariants. */
void fixture_open(struct fixture *fixture, uint64_t capacity_bytes);
void fixture_close(struct fixture *fixture);
/* Its session is 1, 2, ... in order, its segment 10 times that, its client name "digits[session]". */
struct client *fixture_client(struct fixture *fixture, const char *tenant);
struct client *fixture_operator(struct fixture *fixture, const char *tenant); /* it sees all tenants */

/* --- actions --------------------------------------------------------------------------------------------------------- */
uint32_t fixture_count(const struct fixture *fixture, enum pw_store_action_kind kind);
/* The only action of its kind. */
const struct pw_store_action *fixture_only(const struct fixture *fixture, enum pw_store_action_kind kind);
void fixture_clear(struct fixture *fixture);
/* The worker has given back what it was asked to, and metadata has done what it was. fixture_clear(), fixture_grant() and
 * fixture_reclaim() do it too. */
void fixture_settle(struct fixture *fixture);
/* The daemon removes a segment, and its memory is given back at once. */
void fixture_remove(struct fixture *fixture, uint32_t segment);

/* --- room ------------------------------------------------------------------------------------------------------------ */
/* A request of lane 0 for `count` rooms of `bytes` (0: inline), 1 s long. The token is the fixture's. */
struct pw_room_request fixture_ask(struct fixture *fixture, const struct client *client, uint64_t bytes, uint32_t count);
/* Ask, populate, and have the grant. Actions are cleared. */
struct pw_store_grant fixture_grant(struct fixture *fixture, const struct client *client, uint64_t bytes, uint32_t count);
struct pw_store_grant fixture_grant_futures(struct fixture *fixture, const struct client *client, uint32_t count);
/* The next slot in the return ring of a grant; UINT32_MAX: none. `reader` starts from fixture_returns(). */
struct pw_return_reader fixture_returns(const struct client *client, const struct pw_store_grant *grant);
uint32_t fixture_returned(struct pw_return_reader *reader);

/* --- objects --------------------------------------------------------------------------------------------------------- */
struct place fixture_create(struct client *client, uint32_t slot); /* PENDING */
struct place fixture_put(struct client *client, uint32_t slot);    /* READY */
struct place fixture_future(struct fixture *fixture, uint32_t slot); /* as granted */
void fixture_seal(struct place place, enum pw_status status);
struct pw_cell fixture_cell(struct place place);
void fixture_drop(struct fixture *fixture, const struct client *client, struct place place);
void fixture_ref(struct fixture *fixture, const struct client *client, struct place place);
struct pw_object *fixture_known(struct fixture *fixture, struct place place); /* never NULL */
/* The state of the entry in this generation; FREE if it is of another. */
enum pw_entry_state fixture_state(struct place place);
void fixture_reclaim(struct fixture *fixture);
struct pw_memory_terms fixture_terms(struct fixture *fixture); /* unaccounted is 0 */
/* Bind or remove a name, as metadata that has it so. */
enum pw_status fixture_name(struct fixture *fixture, const char *tenant, const char *name, struct pw_object *object,
                            struct pw_error *ret_err);
enum pw_status fixture_unname(struct fixture *fixture, const char *tenant, const char *name, struct pw_error *ret_err);
/* Prove the invariants. */
void fixture_check(struct fixture *fixture);

#endif

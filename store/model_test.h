/* For the model test of the store: clients that follow libclient, and the daemon's part: reading rings, doing actions.
 *
 * Slots come from the fresh part of an extent, then from its return ring; references by id are taken by a REF and a look at
 * the entry. A room that is handed out while another object has it, a payload freed twice, a run cancelled that somebody
 * holds a result of: each fails the test where it happens.
 */
#ifndef PW_STORE_MODEL_TEST_H
#define PW_STORE_MODEL_TEST_H

#include "base/memory.h"
#include "base/size.h"
#include "store/name/plain_test.h"
#include "store/object.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define CLIENTS 4u
#define LANES 2u
#define SLOTS 4096u
#define ROOM_BYTES (4 * PW_MIB)
#define EXTENTS 512u
#define HELD 64u
#define RUNS 32u
#define OBJECTS 65536u
#define ROWS 6u
#define ROW_INLINE 4u
#define ROW_FUTURES 5u

struct extent {
        uint32_t number, first, count, used;
        uint64_t offset, bytes;
        struct pw_return_reader returned;
};
struct row {
        struct extent extents[EXTENTS];
        uint32_t count;
};
struct held {
        uint32_t object;
        bool created; /* and not sealed */
};
struct record {
        uint32_t object;
        bool ref;
};

struct client {
        uint32_t session, segment, lane_now;
        bool alive;
        uint8_t *control;
        struct pw_entry *entries;
        uint32_t *units; /* object + 1 that has each line of the rooms */
        struct row rows[LANES][ROWS];
        struct held held[HELD];
        uint32_t held_count;
        struct record *ring;
        uint32_t ring_count, ring_capacity;
        uint64_t token; /* of the request that its thread waits for; 0: none */
        uint32_t asked_row;
};

struct object {
        uint32_t segment, slot, generation;
        struct pw_entry *entry;
        int payload; /* 0: none; 1: claimed; 2: freed */
        bool final;  /* donated for good */
        bool proxy;  /* `payload` is its number */
};

struct run {
        uint64_t number;
        uint32_t results[2], result_count;
        struct pw_object *outputs[2], *inputs[2];
        uint32_t input_count;
        bool cancelled, submitted, donates;
        uint32_t given;
};

#define FUTURES_SEGMENT 1u

struct world {
        struct pw_store *store;
        struct client clients[CLIENTS];
        struct pw_map futures;
        struct pw_hint_page *hints;
        struct object *objects;
        uint32_t object_count, next_segment, next_session;
        struct run runs[RUNS];
        uint32_t run_count;
        uint64_t next_run, next_token, now_us, seed;
        struct {
                uint64_t token;
        } populate[256];
        uint32_t populate_count;
        struct {
                struct pw_store_owner *owner;
                uint64_t bytes;
        } punches[4096]; /* that the worker has not done */
        uint32_t punch_count;
        uint32_t ended[4096], ended_count; /* sessions whose process lives on */
        struct {
                uint32_t segment;
                struct pw_entry *entries;
        } old[4096];
        uint32_t old_count;
        uint64_t grants, refusals, looks, cancels, freed_payloads, puts, opened, reopened, donated, proxies, backed;
};

/* A store, its memory, and clients with a segment each, from a seed. */
void model_open_world(struct world *world, uint64_t seed);
/* Below `sides`. */
uint32_t model_dice(struct world *world, uint32_t sides);
/* A session and its segment. */
void model_open_client(struct world *world, struct client *client);
/* What the process had; its entries stay with the daemon. */
void model_free_client_memory(struct client *client);
/* As the daemon would. */
void model_do_actions(struct world *world);
void model_punch(struct world *world, struct pw_store_owner *owner, uint64_t bytes);
/* The daemon reads what the client published; every ring; the rings that the store names. */
void model_read_ring(struct world *world, struct client *client);
void model_read_all(struct world *world);
void model_look(struct world *world);
/* A DROP or a REF into the client's ring. */
void model_publish(struct client *client, uint32_t object, bool ref);
/* Is the entry still of this object? */
bool model_names_it(const struct object *object);
/* A proxy is made by the client's thread, or one hears of its object; it ends. */
void model_proxy(struct world *world, struct client *client);
void model_proxy_freed(struct world *world, uint64_t number);
/* What a client holds is there. */
void model_check_held(struct world *world);
void model_hold_it(struct client *client, uint32_t object, bool created);
/* A slot of the row for the client's thread; false: it has none and asks. */
bool model_take_slot(struct world *world, struct client *client, uint32_t row_number, uint32_t *ret_object);

#endif

/* The store in the world: a client of each tenant, what it puts and is promised, and what must hold between the store's records,
 * the scheduler's, and what clients know that they hold.
 */
#ifndef PW_TESTS_WORLD_CLIENT_STORE_H
#define PW_TESTS_WORLD_CLIENT_STORE_H

#include "scheduler/port.h"
#include "tests/world/world.h"

void world_store_open(struct world *world);  /* the store, and a session of each tenant, which holds nothing */
void world_store_close(struct world *world); /* whatever there is */

/* What a client does. */
void world_entry_put(struct world *world, struct world_object *object);   /* in a slot of its tenant's session, PENDING */
void world_entry_claim(struct world *world, struct world_object *object); /* a future that was granted, no run's yet */
/* PENDING to its value, or to an error. False: it was decided before. */
bool world_entry_seal(struct world *world, struct world_object *object, enum pw_status status);
struct pw_cell world_cell(const struct world_object *object);
uint32_t world_session(const struct world *world, const struct world_object *object);
/* The object at that place; NULL: none that the world knows. */
struct world_object *world_object_at(struct world *world, uint32_t segment, uint32_t slot);
void world_object_gone(struct world *world, const struct world_object *object); /* from its place */
/* What the entry of a result leads to, READY; or the sentence of its error or loss, borrowed. */
const struct pw_shard_list *world_shard_list(struct world *world, const struct world_object *object);
const char *world_error_text(struct world *world, const struct world_object *object);
uint64_t world_host_value(struct world *world, uint32_t segment, uint64_t offset); /* what a client wrote in its room */

/* share.c: another client of each tenant, with a reference that it says in a ring. */
#define WORLD_OTHERS 100u /* the session of the first one, of the first tenant's */
uint32_t world_other_session(const struct world *world, uint32_t tenant);
void world_others_open(struct world *world);
void world_others_close(struct world *world);
void world_read_rings(struct world *world, const uint32_t *sessions, uint32_t count); /* in a scan: theirs */
void world_read_some(struct world *world);
/* With all read that it said: does it hold the object? What the store gave it counts too: */
bool world_other_has(struct world *world, const struct world_object *object);
struct pw_owner world_other_owner(const struct world *world, const struct world_object *object);
void world_other_given(struct world_object *object);
void world_other_says(struct world *world, const struct world_object *object); /* it takes what it was given */
bool world_unread(const struct world *world);

/* What the store wants done. */
void world_look_at_inputs(struct world *world); /* what runs waited for lies where its client put it */
void world_room(struct world *world, const struct pw_store_action *action);
void world_pages(struct world *world, const struct pw_store_action *action);

void world_unref(struct world *world, struct world_object *object); /* one that holds it less; the store frees it once it knows */
void world_verify(struct world *world, const struct world_object *object); /* if it is ready, its rooms hold its value */
/* Free what lost its last reference, after the scan. */
void world_reclaim(struct world *world);
/* If the run was cancelled, and by no client: nobody may hold a result of it. */
void world_note_unheld(struct world *world, struct world_run *run);
/* With no action waiting: who holds what by the store's records is who should. */
void world_check_holders(struct world *world);
/* All is quiet and nobody holds anything: nothing is kept, every byte is accounted for, and when the sessions end all room is
 * free. */
void world_check_store_empty(struct world *world);

#endif

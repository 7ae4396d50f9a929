/* Values in the room of another object, and those that are not on this host. Of the store's files alone.
 */
#ifndef PW_STORE_OBJECT_MOVED_H
#define PW_STORE_OBJECT_MOVED_H

#include "store/parts.h"

/* future.c */
/* A list of one shard, which has all of the value; where that is is up to the caller. */
union whole_list { struct pw_shard_list list; char space[PW_SHARD_LIST_BYTES(1)]; };
void pw_future_whole_list(union whole_list *whole, uint8_t dtype, const struct pw_dims *dims);

/* move.c */
struct pw_ref *pw_move_backing_ref(const struct pw_object *object); /* its claim of the object that it lies in; NULL: in none */
void pw_move_leave(struct pw_store *store, struct pw_object *object); /* its rooms, or the one that it lies in */

/* Where what a client or the daemon put lies, by what was granted: its entry is only a claim. False: that cannot be. */
bool pw_move_put_place(struct pw_store *store, const struct pw_object *with, struct pw_shard_place *ret_place);

/* fetched.c */
void pw_fetched_note(struct pw_store *store, struct pw_object *object, const struct pw_shard_list *list); /* READY with that list */
bool pw_fetched_is_away(const struct pw_object *object); /* its list is where nobody reads: READY, it has the flag MOVING */
struct pw_ref *pw_fetched_ref(struct pw_store *store, const struct pw_object *object); /* its claim of its copy; NULL: none */
void pw_fetched_exchange(struct pw_store *store, struct pw_object *left, struct pw_object *right); /* with their lists */
void pw_fetched_leave(struct pw_store *store, struct pw_object *object); /* its copy goes, and it is apart no more */

/* proxy.c */
bool pw_proxy_fetch(struct pw_store *store, const struct pw_object *object); /* its bytes are wanted; false: out of memory */
void pw_proxy_give_up(struct pw_store *store, struct pw_object *object); /* PENDING, and nobody refers to it */
void pw_proxy_clear(struct pw_store *store, struct pw_object *object);   /* it goes */

#endif

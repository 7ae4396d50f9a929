/* States of objects: the word of an entry, and in the record what it was before CLOSING. The store changes them by events, as one
 * table has them; who watches is told of each change. Not here: what producers write into their own entries, and slots without an
 * object, which are their extent's.
 */
#ifndef PW_STORE_OBJECT_STEP_H
#define PW_STORE_OBJECT_STEP_H

#include "store/object.h"

enum pw_object_event {
        PW_OBJECT_DECIDE = 0,
        PW_OBJECT_FAIL,
        PW_OBJECT_LOSE,   /* its memory; one that is closing is lost if it is reopened */
        PW_OBJECT_CLOSE,  /* nobody refers to it, as far as is known */
        PW_OBJECT_REOPEN, /* somebody does: to what it was */
        PW_OBJECT_FREE,   /* the slot goes back to its lane, */
        PW_OBJECT_TAKE,   /* or stays with the store */
        PW_OBJECT_EVENTS
};

/* Its word, which was read as *word, to the state that the event leads to, else to what `wanted` says. False: the event has no
 * meaning in its state, or somebody changed the word meanwhile: *word is what it is now. */
bool pw_object_step(struct pw_store *store, struct pw_object *object, enum pw_object_event event, uint64_t *word, uint64_t wanted);
/* Likewise, as if it were in state `from`: its producer broke the protocol, and the word is what we make it. */
void pw_object_force(struct pw_store *store, struct pw_object *object, enum pw_entry_state from, enum pw_object_event event,
                     uint64_t wanted);
/* From PENDING to READY (PW_OK) or ERROR, adding `flags`. False: it was decided already, or its producer keeps changing the
 * word. */
bool pw_object_decide(struct pw_store *store, struct pw_object *object, enum pw_status status, uint32_t flags);

#endif

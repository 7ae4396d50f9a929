/* States of objects: the word of an entry, and in the record what it was before CLOSING. The store changes them by events, as one
 * table has them; who watches is told of each change. Not here: what producers write into their own entries, and slots without an
 * object, which are their extent's.
 */
#ifndef PW_STORE_OBJECT_STEP_H
#define PW_STORE_OBJECT_STEP_H

#include "store/parts.h"

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

#define PW_OBJECT_STATES (1 + PW_ENTRY_CLOSING)
#define PW_OBJECT_BACK 255 /* to what it was before CLOSING */

/* By state and event: 1 + the next state, or PW_OBJECT_BACK; 0: that cannot be. */
extern const uint8_t pw_object_rules[PW_OBJECT_STATES][PW_OBJECT_EVENTS];

/* step.c: it was changed by `cause`; somebody watches. */
void pw_object_tell_step(const struct pw_store *store, const struct pw_object *object, enum pw_entry_state from,
                         enum pw_entry_state to, enum pw_object_event cause);

/* False: the event has no meaning there. */
static inline bool pw_object_next(const struct pw_object *object, enum pw_entry_state from, enum pw_object_event event,
                                  enum pw_entry_state *ret_to)
{
        uint8_t rule = (unsigned)from < PW_OBJECT_STATES ? pw_object_rules[from][event] : 0;

        *ret_to = rule == PW_OBJECT_BACK ? (enum pw_entry_state)object->closing : (enum pw_entry_state)(rule - 1);
        return rule != 0;
}

static inline void pw_object_stepped(const struct pw_store *store, struct pw_object *object, enum pw_entry_state from,
                                     enum pw_entry_state to, enum pw_object_event event)
{
        if (event == PW_OBJECT_CLOSE)
                object->closing = (uint8_t)(from & PW_ENTRY_STATE);
        else if (to != PW_ENTRY_CLOSING && from == PW_ENTRY_CLOSING)
                object->closing = 0;
        else if (to == PW_ENTRY_CLOSING)
                object->closing = PW_ENTRY_LOST;
        if (store->observer && to != from)
                pw_object_tell_step(store, object, from, to, event);
}

/* The word of `entry`, which is the object's and was read as *word, to the state that the event leads to, else to what `wanted`
 * says. False: the event has no meaning in its state, or somebody changed the word meanwhile: *word is what it is now. */
static inline bool pw_object_step(const struct pw_store *store, struct pw_object *object, struct pw_entry *entry,
                                  enum pw_object_event event, uint64_t *word, uint64_t wanted)
{
        enum pw_entry_state from = pw_word_state(*word), to;

        if (!pw_object_next(object, from, event, &to) || !pw_entry_swap(entry, word, pw_word_with_state(wanted, to)))
                return false;
        pw_object_stepped(store, object, from, to, event);
        return true;
}
/* Likewise, as if it were in state `from`: its producer broke the protocol, and the word is what we make it. */
void pw_object_force(const struct pw_store *store, struct pw_object *object, struct pw_entry *entry, enum pw_entry_state from,
                     enum pw_object_event event, uint64_t wanted);
/* From PENDING to READY (PW_OK) or ERROR, adding `flags`. False: it was decided already, or its producer keeps changing the
 * word. */
bool pw_object_decide(const struct pw_store *store, struct pw_object *object, struct pw_entry *entry, enum pw_status status,
                      uint32_t flags);

#endif

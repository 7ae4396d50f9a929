/* What changes states of objects. */
#include "store/object/step.h"

#include "base/transition.h"

#define TO(state) (1 + PW_ENTRY_##state)

const uint8_t pw_object_rules[PW_OBJECT_STATES][PW_OBJECT_EVENTS] = {
        [PW_ENTRY_PENDING] = { [PW_OBJECT_DECIDE] = TO(READY), [PW_OBJECT_FAIL] = TO(ERROR) },
        [PW_ENTRY_READY] = { [PW_OBJECT_LOSE] = TO(LOST), [PW_OBJECT_CLOSE] = TO(CLOSING) },
        [PW_ENTRY_ERROR] = { [PW_OBJECT_CLOSE] = TO(CLOSING) },
        [PW_ENTRY_LOST] = { [PW_OBJECT_CLOSE] = TO(CLOSING) },
        [PW_ENTRY_CLOSING] = { [PW_OBJECT_LOSE] = TO(CLOSING), [PW_OBJECT_REOPEN] = PW_OBJECT_BACK, [PW_OBJECT_FREE] = TO(FREE),
                               [PW_OBJECT_TAKE] = TO(TAKEN) },
};

static const char *const states[] = { "free", "taken", "pending", "ready", "error", "lost", "closing" };
static const char *const events[] = { "decide", "fail", "lose", "close", "reopen", "free", "take" };
static const struct pw_transition_kind objects = { "object", 3, true, states, events };

_Static_assert(sizeof states / sizeof *states == PW_OBJECT_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_OBJECT_EVENTS, "each event has a word");

void pw_object_tell_step(const struct pw_store *store, const struct pw_object *object, enum pw_entry_state from,
                         enum pw_entry_state to, enum pw_object_event cause)
{
        store->observer->tell(store->observer->context,
                              &(struct pw_transition){ .kind = &objects,
                                                       .id = { object->segment, object->slot, object->generation },
                                                       .from = (uint8_t)from, .to = (uint8_t)to, .cause = (uint8_t)cause });
}

void pw_object_force(const struct pw_store *store, struct pw_object *object, struct pw_entry *entry, enum pw_entry_state from,
                     enum pw_object_event event, uint64_t wanted)
{
        enum pw_entry_state to;

        if (!pw_object_next(object, from, event, &to))
                return;
        atomic_store(&entry->word, pw_word_with_state(wanted, to));
        pw_object_stepped(store, object, from, to, event);
}

bool pw_object_decide(const struct pw_store *store, struct pw_object *object, struct pw_entry *entry, enum pw_status status,
                      uint32_t flags)
{
        enum pw_object_event event = status == PW_OK ? PW_OBJECT_DECIDE : PW_OBJECT_FAIL;
        uint64_t word = pw_entry_load(entry);

        for (uint32_t tries = 0; tries < PW_DECIDE_TRIES; tries++) {
                if (pw_word_state(word) != PW_ENTRY_PENDING || pw_word_generation(word) != object->generation)
                        return false;
                if (pw_object_step(store, object, entry, event, &word,
                                   pw_word_make(PW_ENTRY_PENDING, pw_word_flags(word) | flags, object->generation, status)))
                        return true;
        }
        return false;
}

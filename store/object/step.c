/* What changes states of objects. */
#include "store/object/step.h"

#include "base/transition.h"
#include "store/parts.h"

#define TO(state) (1 + PW_ENTRY_##state)
#define BACK 255 /* to what it was before CLOSING */

/* 0: that cannot be. */
static const uint8_t rules[][PW_OBJECT_EVENTS] = {
        [PW_ENTRY_PENDING] = { [PW_OBJECT_DECIDE] = TO(READY), [PW_OBJECT_FAIL] = TO(ERROR) },
        [PW_ENTRY_READY] = { [PW_OBJECT_LOSE] = TO(LOST), [PW_OBJECT_CLOSE] = TO(CLOSING) },
        [PW_ENTRY_ERROR] = { [PW_OBJECT_CLOSE] = TO(CLOSING) },
        [PW_ENTRY_LOST] = { [PW_OBJECT_CLOSE] = TO(CLOSING) },
        [PW_ENTRY_CLOSING] = { [PW_OBJECT_LOSE] = TO(CLOSING), [PW_OBJECT_REOPEN] = BACK, [PW_OBJECT_FREE] = TO(FREE),
                               [PW_OBJECT_TAKE] = TO(TAKEN) },
};
#define STATES (sizeof rules / sizeof *rules)

static const char *const states[] = { "free", "taken", "pending", "ready", "error", "lost", "closing" };
static const char *const events[] = { "decide", "fail", "lose", "close", "reopen", "free", "take" };
static const struct pw_transition_kind objects = { "object", 3, true, states, events };

_Static_assert(sizeof states / sizeof *states == STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_OBJECT_EVENTS, "each event has a word");

/* False: the event has no meaning there. */
static bool next_state(const struct pw_object *object, enum pw_entry_state from, enum pw_object_event event,
                       enum pw_entry_state *ret_to)
{
        uint8_t rule = (unsigned)from < STATES ? rules[from][event] : 0;

        *ret_to = rule == BACK ? (enum pw_entry_state)object->closing : (enum pw_entry_state)(rule - 1);
        return rule != 0;
}

static void changed(const struct pw_store *store, struct pw_object *object, enum pw_entry_state from, enum pw_entry_state to,
                    enum pw_object_event event)
{
        if (event == PW_OBJECT_CLOSE)
                object->closing = (uint8_t)from & 0xf;
        else if (to != PW_ENTRY_CLOSING && from == PW_ENTRY_CLOSING)
                object->closing = 0;
        else if (to == PW_ENTRY_CLOSING)
                object->closing = PW_ENTRY_LOST;
        if (store->observer && to != from)
                store->observer->tell(store->observer->context,
                                   &(struct pw_transition){ .kind = &objects,
                                                            .id = { object->segment, object->slot, object->generation },
                                                            .from = (uint8_t)from, .to = (uint8_t)to, .cause = (uint8_t)event });
}

bool pw_object_step(struct pw_store *store, struct pw_object *object, enum pw_object_event event, uint64_t *word, uint64_t wanted)
{
        enum pw_entry_state from = pw_word_state(*word), to;

        if (!next_state(object, from, event, &to) ||
            !pw_entry_swap(pw_object_entry(store, object), word, pw_word_with_state(wanted, to)))
                return false;
        changed(store, object, from, to, event);
        return true;
}

void pw_object_force(struct pw_store *store, struct pw_object *object, enum pw_entry_state from, enum pw_object_event event,
                     uint64_t wanted)
{
        enum pw_entry_state to;

        if (!next_state(object, from, event, &to))
                return;
        atomic_store(&pw_object_entry(store, object)->word, pw_word_with_state(wanted, to));
        changed(store, object, from, to, event);
}

bool pw_object_decide(struct pw_store *store, struct pw_object *object, enum pw_status status, uint32_t flags)
{
        enum pw_object_event event = status == PW_OK ? PW_OBJECT_DECIDE : PW_OBJECT_FAIL;
        uint64_t word = pw_entry_load(pw_object_entry(store, object));

        for (uint32_t tries = 0; tries < PW_DECIDE_TRIES; tries++) {
                if (pw_word_state(word) != PW_ENTRY_PENDING || pw_word_generation(word) != object->generation)
                        return false;
                if (pw_object_step(store, object, event, &word,
                                   pw_word_make(PW_ENTRY_PENDING, pw_word_flags(word) | flags, object->generation, status)))
                        return true;
        }
        return false;
}

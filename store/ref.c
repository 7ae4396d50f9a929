/* References: nodes of claims, in the list of their object and in that of their owner; records of the rings. */
#include "store/state.h"

struct pw_ref *pw_ref_find(const struct pw_object *object, struct pw_owner owner)
{
        struct pw_ref *ref = object->holders;

        while (ref && (ref->kind != owner.kind || ref->number != owner.number))
                ref = ref->next;
        return ref;
}

static struct pw_ref *new_ref(struct pw_store *store)
{
        struct pw_ref *ref = store->spare_refs;

        if (!ref)
                return calloc(1, sizeof *ref);
        store->spare_refs = ref->next;
        memset(ref, 0, sizeof *ref);
        return ref;
}

static void count_up(struct pw_store *store, struct pw_object *object)
{
        if (object->refs++ == 0 && object->claimed)
                pw_future_run_holds(store, object, 1, 0);
}

enum pw_status pw_ref_add(struct pw_store *store, struct pw_object *object, struct pw_owner owner, uint64_t now_us, struct pw_ref **ret_ref)
{
        struct session *session = owner.kind == PW_OWNER_SESSION ? pw_store_session(store, (uint32_t)owner.number) : NULL;
        struct pw_ref *ref = new_ref(store);

        if (!ref)
                return PW_NO_MEMORY;
        *ref = (struct pw_ref){ .next = object->holders, .object = object, .number = owner.number, .since_us = now_us, .count = 1, .kind = owner.kind };
        object->holders = ref;
        pw_list_init(&ref->of_owner);
        if (session)
                pw_list_append(&session->refs, &ref->of_owner);
        count_up(store, object);
        if (ret_ref)
                *ret_ref = ref;
        return PW_OK;
}

/* Nobody refers to it: pending ones wait for their decision, others are reclaimed. */
void pw_ref_lost(struct pw_store *store, struct pw_object *object)
{
        struct pw_entry *entry = pw_object_entry(store, object);
        uint64_t old;

        if (object->claimed)
                pw_future_run_holds(store, object, -1, 0);
        if (pw_word_state(pw_entry_load(entry)) == PW_ENTRY_PENDING) {
                if (object->claimed)
                        return;
                if (!pw_entry_decide(entry, object->generation, PW_CANCELLED, 0, PW_DECIDE_TRIES, &old) &&
                    pw_word_state(pw_entry_load(entry)) == PW_ENTRY_PENDING)
                        return;
        }
        pw_reclaim_add(store, object->segment, object->slot, object->generation);
}

static void count_down(struct pw_store *store, struct pw_object *object, uint32_t count)
{
        object->refs -= count;
        if (!object->refs)
                pw_ref_lost(store, object);
}

static void free_ref(struct pw_store *store, struct pw_ref *ref)
{
        struct pw_ref **at = &ref->object->holders;

        while (*at != ref)
                at = &(*at)->next;
        *at = ref->next;
        pw_list_remove(&ref->of_owner);
        free(ref->name);
        ref->next = store->spare_refs;
        store->spare_refs = ref;
}

void pw_ref_remove(struct pw_store *store, struct pw_ref *ref, uint64_t now_us)
{
        struct pw_object *object = ref->object;
        uint32_t count = ref->count;

        (void)now_us;
        free_ref(store, ref);
        count_down(store, object, count);
}

void pw_ref_drop_first(struct pw_store *store, struct pw_object *object)
{
        object->first_ref = 0;
        count_down(store, object, 1);
}

enum pw_status pw_store_hold(struct pw_store *store, struct pw_object *object, struct pw_owner owner, struct pw_error *ret_err)
{
        struct pw_ref *ref = owner.kind == PW_OWNER_RUN ? object->holders : pw_ref_find(object, owner);

        if (ref && ref->kind == owner.kind && ref->number == owner.number) {
                ref->count++;
                object->refs++;
                return PW_OK;
        }
        if (pw_ref_add(store, object, owner, 0, NULL) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reference");
        return PW_OK;
}

void pw_store_release(struct pw_store *store, struct pw_object *object, struct pw_owner owner, uint64_t now_us)
{
        struct pw_ref *ref = pw_ref_find(object, owner);

        if (!ref)
                return;
        if (ref->count > 1) {
                ref->count--;
                object->refs--;
        } else {
                pw_ref_remove(store, ref, now_us);
        }
}

/* --- records of the rings ------------------------------------------------------------------------------------------------- */

/* What a cell names: the segment and the entry's word, if they are of its generation. */
static struct segment *named(struct pw_store *store, struct session *session, struct pw_cell cell, uint64_t *ret_word)
{
        struct segment *segment = pw_store_segment(store, pw_cell_segment(cell));
        uint32_t slot = pw_cell_slot(cell);

        if (!segment || !session || segment->tenant != session->tenant || slot >= segment->layout.slot_count)
                return NULL;
        *ret_word = pw_entry_load(pw_segment_entry(segment, slot));
        if (pw_word_generation(*ret_word) != pw_cell_generation(cell) || pw_word_state(*ret_word) < PW_ENTRY_PENDING)
                return NULL;
        return segment;
}

/* The common case: an object of its producer's that nobody else ever knew of. */
static bool drop_unknown(struct pw_store *store, struct segment *segment, struct session *session, struct pw_cell cell, uint64_t word)
{
        uint32_t slot = pw_cell_slot(cell);
        struct extent *extent = pw_extent_of(store, segment, slot);
        uint64_t old;

        if (!extent || extent->session != session || pw_word_state(word) == PW_ENTRY_CLOSING)
                return true; /* not its own, or dropped already: nothing to take back */
        if (segment->layout.kind == PW_SEGMENT_FUTURES)
                return false;
        if (pw_word_state(word) == PW_ENTRY_PENDING &&
            !pw_entry_decide(pw_segment_entry(segment, slot), pw_cell_generation(cell), PW_CANCELLED, 0, PW_DECIDE_TRIES, &old) &&
            pw_word_state(pw_entry_load(pw_segment_entry(segment, slot))) == PW_ENTRY_PENDING)
                return true;
        pw_reclaim_add(store, segment->number, slot, pw_cell_generation(cell));
        return true;
}

enum pw_status pw_store_drop(struct pw_store *store, uint32_t number, struct pw_cell cell, uint64_t now_us)
{
        struct session *session = pw_store_session(store, number);
        uint64_t word;
        struct segment *segment = named(store, session, cell, &word);
        struct pw_object *object = segment ? pw_object_at(segment, pw_cell_slot(cell)) : NULL;

        if (!segment)
                return PW_OK;
        if (!object || object->generation != pw_cell_generation(cell)) {
                if (drop_unknown(store, segment, session, cell, word))
                        return PW_OK;
                object = pw_object_know(store, segment, pw_cell_slot(cell), pw_cell_generation(cell));
                if (!object)
                        return PW_OK;
        }
        if (object->first_ref && object->grantee == number)
                pw_ref_drop_first(store, object);
        else
                pw_store_release(store, object, (struct pw_owner){ PW_OWNER_SESSION, number }, now_us);
        return PW_OK;
}

enum pw_status pw_store_ref(struct pw_store *store, uint32_t number, struct pw_cell cell, uint64_t now_us)
{
        struct session *session = pw_store_session(store, number);
        struct pw_owner owner = { PW_OWNER_SESSION, number };
        uint64_t word;
        struct segment *segment = named(store, session, cell, &word);
        struct pw_object *object;
        struct pw_ref *ref;

        if (!segment || !pw_extent_of(store, segment, pw_cell_slot(cell)))
                return PW_OK;
        object = pw_object_at(segment, pw_cell_slot(cell));
        if (!object || object->generation != pw_cell_generation(cell)) {
                object = pw_object_know(store, segment, pw_cell_slot(cell), pw_cell_generation(cell));
                if (object && pw_word_state(word) == PW_ENTRY_CLOSING) { /* dropped while it was unknown: nobody has it */
                        object->refs = 0;
                        object->first_ref = 0;
                }
        }
        if (!object)
                return PW_OK;
        ref = pw_ref_find(object, owner);
        if (!ref)
                return pw_ref_add(store, object, owner, now_us, NULL);
        ref->count++;
        object->refs++;
        return PW_OK;
}

/* --- donation ------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_store_donate(struct pw_store *store, uint32_t number, struct pw_object *object, uint64_t run, struct pw_error *ret_err)
{
        struct pw_owner owner = { PW_OWNER_SESSION, number };
        struct pw_ref *ref = object->first_ref && object->grantee == number ? NULL : pw_ref_find(object, owner);
        struct pw_entry *entry = pw_object_entry(store, object);
        uint64_t word = pw_entry_load(entry);

        if (!ref && !(object->first_ref && object->grantee == number))
                return pw_error_set(ret_err, PW_GONE, "the session holds no reference to give away");
        if (pw_ref_add(store, object, (struct pw_owner){ PW_OWNER_RUN, run }, 0, NULL) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reference");
        if (ref)
                pw_store_release(store, object, owner, 0);
        else
                pw_ref_drop_first(store, object);
        object->donated = pw_word_state(word) <= PW_ENTRY_READY &&
                          pw_entry_flag(entry, pw_word_state(word), object->generation, PW_ENTRY_DONATED, true);
        return PW_OK;
}

bool pw_store_donated_alone(struct pw_store *store, struct pw_object *object)
{
        struct pw_entry *entry = pw_object_entry(store, object);

        if (object->donated && object->refs == 1)
                return true;
        if (object->donated)
                pw_entry_flag(entry, pw_word_state(pw_entry_load(entry)), object->generation, PW_ENTRY_DONATED, false);
        object->donated = 0;
        return false;
}

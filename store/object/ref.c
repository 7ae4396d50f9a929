/* References: nodes of claims, in the ring of their object, and found by their owner; records of the rings. */
#include "store/object/step.h"

/* References to one object: of one session or run, and of all together. A session that takes more is ended. */
#define PW_REFS_OF_OWNER_MAX (1u << 24)
#define PW_REFS_MAX (1u << 31)
#define CROWD 64u /* claims, from where on those of runs are indexed */

struct pw_ref *pw_ref_next(const struct pw_object *object, const struct pw_ref *ref)
{
        struct pw_ref *next;

        if (!ref)
                return object->holders;
        next = pw_list_item(ref->of_object.next, struct pw_ref, of_object);
        return next == object->holders ? NULL : next;
}

/* Of an object with many claims the runs' are indexed, whatever the order in which they end. */
static uint64_t run_key(const struct pw_object *object, uint64_t run)
{
        return pw_object_place(object) * UINT64_C(0x9e3779b97f4a7c15) ^ run;
}

static void index_run(struct pw_store *store, struct pw_ref *ref)
{
        uint64_t key = run_key(ref->object, ref->number);

        ref->same_key = pw_table_get(&store->run_refs, key);
        ref->indexed = pw_table_put(&store->run_refs, key, ref); /* without memory it is looked for */
        ref->object->crowded |= ref->indexed;
}

static void unindex_run(struct pw_store *store, const struct pw_ref *ref)
{
        uint64_t key = run_key(ref->object, ref->number);
        struct pw_ref *other = pw_table_get(&store->run_refs, key);

        if (other == ref && !ref->same_key) {
                pw_table_remove(&store->run_refs, key);
        } else if (other == ref) {
                (void)!pw_table_put(&store->run_refs, key, ref->same_key); /* a key that is there takes no memory */
        } else {
                while (other->same_key != ref)
                        other = other->same_key;
                other->same_key = ref->same_key;
        }
}

static struct pw_ref *find_indexed(const struct pw_store *store, const struct pw_object *object, uint64_t run)
{
        struct pw_ref *ref = pw_table_get(&store->run_refs, run_key(object, run));

        while (ref && (ref->object != object || ref->number != run))
                ref = ref->same_key;
        return ref;
}

/* Runs come last, oldest first, and end about in that order: looked for from both ends, since there may be many of either kind.
 * Those that are not indexed are few, and came when there were few. */
static struct pw_ref *find_run(const struct pw_object *object, uint64_t run)
{
        struct pw_ref *first = object->holders, *last;

        if (!first)
                return NULL;
        last = pw_list_item(first->of_object.prev, struct pw_ref, of_object);
        while (last->kind == PW_OWNER_RUN) {
                if (last->number == run)
                        return last;
                if (first->kind == PW_OWNER_RUN && first->number == run)
                        return first;
                if (first == last)
                        return NULL;
                first = pw_list_item(first->of_object.next, struct pw_ref, of_object);
                if (first == last)
                        return NULL;
                last = pw_list_item(last->of_object.prev, struct pw_ref, of_object);
        }
        return NULL;
}

struct pw_ref *pw_ref_find(struct pw_store *store, const struct pw_object *object, struct pw_owner owner)
{
        struct session *session;
        struct pw_ref *indexed = NULL;

        if (owner.kind == PW_OWNER_RUN && object->crowded)
                indexed = find_indexed(store, object, owner.number);
        if (owner.kind == PW_OWNER_RUN)
                return indexed ? indexed : find_run(object, owner.number);
        session = pw_session_of(store, (uint32_t)owner.number);
        return session ? pw_table_get(&session->held, pw_object_place(object)) : NULL;
}

static struct pw_ref *new_ref(struct pw_store *store)
{
        struct pw_ref *ref;

        if (pw_list_empty(&store->spare_refs))
                return calloc(1, sizeof *ref);
        ref = pw_list_first(&store->spare_refs, struct pw_ref, of_object);
        pw_list_remove(&ref->of_object);
        return ref;
}

static void link_ref(struct pw_object *object, struct pw_ref *ref)
{
        pw_list_init(&ref->of_object);
        if (object->holders)
                pw_list_append(&object->holders->of_object, &ref->of_object); /* before the first is behind the last */
        if (!object->holders || ref->kind != PW_OWNER_RUN)
                object->holders = ref;
}

enum pw_status pw_ref_add(struct pw_store *store, struct pw_object *object, struct pw_owner owner, struct pw_ref **ret_ref)
{
        struct session *session = owner.kind == PW_OWNER_SESSION ? pw_session_of(store, (uint32_t)owner.number) : NULL;
        struct pw_ref *ref = owner.kind != PW_OWNER_SESSION || session ? new_ref(store) : NULL;

        if (!ref)
                return session ? PW_NO_MEMORY : PW_INVALID;
        if (session && !pw_table_put(&session->held, pw_object_place(object), ref)) {
                pw_list_init(&ref->of_object);
                pw_list_append(&store->spare_refs, &ref->of_object);
                return PW_NO_MEMORY;
        }
        *ref = (struct pw_ref){
                .object = object, .number = owner.number, .since_us = store->now_us, .count = 1, .kind = (uint8_t)owner.kind
        };
        link_ref(object, ref);
        if (owner.kind == PW_OWNER_RUN && object->refs >= CROWD)
                index_run(store, ref);
        if (object->closing)
                pw_reclaim_reopen(store, object);
        pw_future_held(store, object);
        object->refs++;
        if (ret_ref)
                *ret_ref = ref;
        return PW_OK;
}

void pw_ref_drop(struct pw_store *store, struct pw_object *object, uint32_t count)
{
        object->refs -= count;
        if (!object->refs)
                pw_reclaim_add(store, object);
}

void pw_ref_drop_first(struct pw_store *store, struct pw_object *object)
{
        object->first_ref = 0;
        pw_ref_drop(store, object, 1);
}

/* Also one that has ended, and whose claims go one after the other. */
static struct session *holder_of(struct pw_store *store, const struct pw_ref *ref)
{
        struct session *session = pw_session_of(store, (uint32_t)ref->number);

        return session ? session : pw_table_get(&store->sessions, ref->number);
}

void pw_ref_remove(struct pw_store *store, struct pw_ref *ref)
{
        struct pw_object *object = ref->object;
        struct session *session = ref->kind == PW_OWNER_SESSION ? holder_of(store, ref) : NULL;
        uint32_t count = ref->count;

        if (session)
                pw_table_remove(&session->held, pw_object_place(object));
        if (ref->indexed)
                unindex_run(store, ref);
        if (object->holders == ref)
                object->holders = pw_ref_next(object, ref);
        pw_list_remove(&ref->of_object);
        pw_name_ref_gone(store, ref);
        pw_list_append(&store->spare_refs, &ref->of_object);
        pw_ref_drop(store, object, count);
}

/* One more claim of `owner`. Counts have 32 bits: PW_LIMIT long before they are used up. */
static enum pw_status count_up(struct pw_store *store, struct pw_object *object, struct pw_owner owner)
{
        struct pw_ref *ref;

        if (object->refs >= PW_REFS_MAX)
                return PW_LIMIT;
        if (owner.kind == PW_OWNER_RUN) /* it has a node already if it is the last that took one */
                ref = object->holders ? pw_list_item(object->holders->of_object.prev, struct pw_ref, of_object) : NULL;
        else
                ref = pw_ref_find(store, object, owner);
        if (!ref || ref->kind != owner.kind || ref->number != owner.number)
                return pw_ref_add(store, object, owner, NULL);
        if (ref->given) { /* it has this one already */
                ref->given = 0;
                return PW_OK;
        }
        if (ref->count >= PW_REFS_OF_OWNER_MAX)
                return PW_LIMIT;
        ref->count++;
        object->refs++;
        return PW_OK;
}

static void count_down(struct pw_store *store, struct pw_ref *ref)
{
        if (ref->count == 1) {
                pw_ref_remove(store, ref);
                return;
        }
        ref->count--;
        ref->object->refs--;
}

enum pw_status pw_store_hold(struct pw_store *store, struct pw_object *object, struct pw_owner owner, struct pw_error *ret_err)
{
        char id[PW_ID_TEXT_BYTES];
        enum pw_status status;

        if (object->donated == 2)
                return pw_error_set(ret_err, PW_DONATED_USE, "%s: it was given to a run",
                                    pw_id_format(pw_object_id(store, object), id));
        status = count_up(store, object, owner);
        return status == PW_OK ? PW_OK
                               : pw_error_set(ret_err, status, "a reference to %s: %s",
                                              pw_id_format(pw_object_id(store, object), id), pw_status_text(status));
}

void pw_store_release(struct pw_store *store, struct pw_object *object, struct pw_owner owner, uint64_t now_us)
{
        struct pw_ref *ref = pw_ref_find(store, object, owner);

        store->now_us = now_us;
        if (ref)
                count_down(store, ref);
}

/* --- records of the rings ------------------------------------------------------------------------------------------------- */

static enum pw_status broken(struct session *session)
{
        session->broke = true;
        return PW_PROTOCOL;
}

/* An object that nobody but its grantee ever knew of: this was the only claim. */
static enum pw_status drop_unknown(struct pw_store *store, struct session *session, struct pw_object *object, uint32_t generation)
{
        struct segment *segment = pw_segment_of(store, object->segment);
        uint64_t word = pw_entry_load(pw_segment_entry(segment, object->slot));

        if (object->grantee != session->number || object->taken)
                return PW_OK; /* an operator took its reference away, and then it was freed */
        if (pw_word_generation(word) != generation || pw_word_state(word) < PW_ENTRY_PENDING || pw_word_state(word) > PW_ENTRY_LOST)
                return generation > pw_word_generation(word) ? broken(session) : PW_OK;
        pw_object_know(segment, object, generation);
        pw_reclaim_add(store, object);
        return PW_OK;
}

enum pw_status pw_store_drop(struct pw_store *store, uint32_t number, struct pw_cell cell, uint64_t now_us)
{
        struct session *session = pw_session_of(store, number);
        struct segment *segment = pw_segment_of(store, pw_cell_segment(cell));
        struct pw_object *object = segment ? pw_object_at(segment, pw_cell_slot(cell)) : NULL;
        struct pw_ref *ref;

        store->now_us = now_us;
        if (!session || !segment || !pw_session_sees(session, segment))
                return PW_OK; /* the segment went with its last object, which an operator took away; or it never was there for the
                                 session */
        if (pw_cell_slot(cell) >= segment->layout.slot_count)
                return broken(session);
        if (!object)
                return PW_OK;
        if (!object->known)
                return drop_unknown(store, session, object, pw_cell_generation(cell));
        if (object->generation != pw_cell_generation(cell))
                return PW_OK;
        if (object->first_ref && object->grantee == number) {
                pw_ref_drop_first(store, object);
                return PW_OK;
        }
        ref = pw_ref_find(store, object, (struct pw_owner){ PW_OWNER_SESSION, number });
        if (ref)
                count_down(store, ref);
        return PW_OK;
}

/* Who sends a REF waits for what the word says: CLOSING, or of a value that moves. Where a client writes the words the record
 * has to say so, too; else nobody would ever end that wait. */
static void judge_word(struct pw_store *store, struct segment *segment, struct pw_object *object, uint32_t generation)
{
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        uint64_t word = pw_entry_load(entry);
        bool closes = pw_word_state(word) > PW_ENTRY_LOST && !(object->known && object->closing >= PW_ENTRY_READY);

        if (!segment->session || object->taken || pw_word_generation(word) != generation ||
            !(closes || pw_word_flags(word) & PW_ENTRY_SHARDED))
                return;
        pw_session_broke(store, segment->session, "it changed the word of an entry that somebody refers to");
        if (!object->known || object->closing < PW_ENTRY_READY)
                pw_object_force(store, object, entry, PW_ENTRY_PENDING, PW_OBJECT_FAIL,
                                pw_word_make(PW_ENTRY_PENDING, 0, generation, PW_PROTOCOL));
        else
                atomic_store(&entry->word, pw_word_make(PW_ENTRY_CLOSING, 0, generation, PW_PROTOCOL));
        pw_object_wake(store, segment, object->slot);
}

enum pw_status pw_store_ref(struct pw_store *store, uint32_t number, struct pw_cell cell, uint64_t now_us)
{
        struct session *session = pw_session_of(store, number);
        struct segment *segment = pw_segment_of(store, pw_cell_segment(cell));
        struct pw_object *object;
        enum pw_status status;

        store->now_us = now_us;
        if (!session || !segment || !pw_session_sees(session, segment))
                return PW_OK;
        if (pw_cell_slot(cell) >= segment->layout.slot_count)
                return broken(session);
        object = pw_object_at(segment, pw_cell_slot(cell));
        if (object)
                judge_word(store, segment, object, pw_cell_generation(cell));
        object = pw_object_find(segment, pw_cell_slot(cell), pw_cell_generation(cell));
        if (!object || object->donated == 2)
                return PW_OK; /* gone: the client reads so in the entry */
        status = count_up(store, object, (struct pw_owner){ PW_OWNER_SESSION, number });
        if (status == PW_LIMIT)
                pw_session_broke(store, session,
                                 "it took more references to one object than one may: 16777216, or 2147483648 of all together");
        return status == PW_NO_MEMORY ? PW_NO_MEMORY : PW_OK;
}

/* Futures of programs: claimed by a run, decided once; who holds what of a run; entries that somebody watches. */
#include "store/state.h"

/* Held results of a run in the low half, undecided ones in the high half. */
static uint64_t run_counts(const struct pw_store *store, uint64_t run)
{
        return (uint64_t)(uintptr_t)pw_table_get(&store->runs, run);
}

void pw_future_run_holds(struct pw_store *store, const struct pw_object *object, int held, int undecided)
{
        uint64_t counts = run_counts(store, object->run);
        uint32_t holds = (uint32_t)counts + (uint32_t)held, open = (uint32_t)(counts >> 32) + (uint32_t)undecided;
        struct pw_store_action *action;

        counts = (uint64_t)open << 32 | holds;
        if (!counts)
                pw_table_remove(&store->runs, object->run);
        else if (!pw_table_put(&store->runs, object->run, (void *)(uintptr_t)counts))
                return; /* no memory: the run is not cancelled early */
        if (holds || !open || held >= 0)
                return;
        action = pw_store_act(store, PW_STORE_CANCEL_RUN);
        if (action)
                action->number = object->run;
}

enum pw_status pw_store_claim(struct pw_store *store, uint32_t number, struct pw_cell cell, uint64_t run, void *payload,
                              struct pw_object **ret_object, struct pw_error *ret_err)
{
        struct session *session = pw_store_session(store, number);
        struct segment *segment = pw_store_segment(store, pw_cell_segment(cell));
        uint32_t slot = pw_cell_slot(cell), generation = pw_cell_generation(cell);
        struct extent *extent = segment && segment->layout.kind == PW_SEGMENT_FUTURES ? pw_extent_of(store, segment, slot) : NULL;
        struct pw_object *object;
        uint64_t word;

        if (!extent || !session || extent->session != session)
                return pw_error_set(ret_err, PW_PROTOCOL, "result slot %x.%x was not granted to the session", pw_cell_segment(cell), slot);
        word = pw_entry_load(pw_segment_entry(segment, slot));
        if (pw_word_state(word) != PW_ENTRY_PENDING || pw_word_generation(word) != generation)
                return pw_error_set(ret_err, PW_PROTOCOL, "result slot %x.%x is not pending of generation %x", pw_cell_segment(cell), slot, generation);
        object = pw_object_know(store, segment, slot, generation);
        if (!object || object->claimed)
                return pw_error_set(ret_err, PW_PROTOCOL, "result slot %x.%x is of another run already", pw_cell_segment(cell), slot);
        object->claimed = 1;
        object->run = run;
        object->payload = payload;
        pw_future_run_holds(store, object, object->refs ? 1 : 0, 1);
        *ret_object = object;
        return PW_OK;
}

/* --- bodies: shard lists and error texts in the futures segment ---------------------------------------------------------- */

static uint64_t list_bytes(uint32_t shard_count)
{
        return sizeof(struct pw_shard_list) + shard_count * sizeof(struct pw_shard_place);
}

static uint8_t *take_body(struct segment *segment, uint64_t bytes, uint64_t *ret_offset)
{
        uint64_t offset;

        if (!bytes || !pw_range_take(segment->rooms, bytes, &offset))
                return NULL;
        *ret_offset = segment->layout.room_offset + offset;
        return segment->map.base + *ret_offset;
}

void pw_future_free_body(struct segment *segment, struct pw_entry *entry)
{
        const struct pw_shard_list *list;

        if (!entry->room_offset)
                return;
        list = (const struct pw_shard_list *)(segment->map.base + entry->room_offset);
        pw_range_give(segment->rooms, entry->room_offset - segment->layout.room_offset,
                      pw_word_flags(pw_entry_load(entry)) & PW_ENTRY_SHARDED ? list_bytes(list->shard_count) : entry->bytes);
        entry->room_offset = 0;
}

static enum pw_status write_list(struct segment *segment, struct pw_entry *entry, const struct pw_decision *decision)
{
        uint64_t bytes = list_bytes(decision->list->shard_count), offset;
        uint8_t *body = take_body(segment, bytes, &offset);

        if (!body)
                return PW_NO_SPACE;
        memcpy(body, decision->list, bytes);
        entry->room_offset = offset;
        entry->room_segment = segment->number;
        entry->bytes = decision->bytes;
        entry->dtype = decision->list->dtype;
        entry->rank = (uint8_t)decision->list->dims.rank;
        entry->is_inline = 0;
        return PW_OK;
}

static void write_text(struct segment *segment, struct pw_entry *entry, const char *text)
{
        uint64_t bytes = text ? strlen(text) + 1 : 0, offset;
        uint8_t *body = take_body(segment, bytes, &offset);

        entry->bytes = body ? bytes : 0;
        entry->room_offset = body ? offset : 0;
        if (body)
                memcpy(body, text, bytes);
}

void pw_entry_said(struct pw_store *store, struct segment *segment, uint32_t slot, uint64_t old_word)
{
        struct pw_store_action *action;

        (void)old_word;
        if (!atomic_load(&segment->hints->waiters[pw_hint_bucket(segment->number, slot)]))
                return;
        action = pw_store_act(store, PW_STORE_WAKE);
        if (!action)
                return;
        action->segment = segment->number;
        action->slot = slot;
}

void pw_store_decide(struct pw_store *store, struct pw_object *object, const struct pw_decision *decision, uint64_t now_us)
{
        struct segment *segment = pw_store_segment(store, object->segment);
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        enum pw_status status = decision->status;
        uint64_t old;

        (void)now_us;
        if (pw_word_state(pw_entry_load(entry)) != PW_ENTRY_PENDING)
                return;
        if (status == PW_OK)
                status = write_list(segment, entry, decision);
        if (status != PW_OK)
                write_text(segment, entry, decision->status == PW_OK ? "no space for its list of shards" : decision->text);
        if (!pw_entry_decide(entry, object->generation, status, status == PW_OK ? PW_ENTRY_SHARDED : 0, PW_DECIDE_TRIES, &old))
                return;
        pw_entry_said(store, segment, object->slot, old);
        if (object->claimed)
                pw_future_run_holds(store, object, 0, -1);
        if (!object->refs)
                pw_reclaim_add(store, object->segment, object->slot, object->generation);
}

void pw_store_lose(struct pw_store *store, struct pw_object *object, uint64_t now_us)
{
        struct segment *segment = pw_store_segment(store, object->segment);
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        uint64_t word = pw_entry_load(entry);

        (void)now_us;
        while (pw_word_state(word) == PW_ENTRY_READY && pw_word_generation(word) == object->generation) {
                uint64_t lost = pw_word_make(PW_ENTRY_LOST, pw_word_flags(word), object->generation, PW_DEVICE_LOST);

                if (pw_entry_swap(entry, &word, lost)) {
                        pw_entry_said(store, segment, object->slot, word);
                        return;
                }
        }
}

/* --- entries of clients that a run waits for -------------------------------------------------------------------------------- */

bool pw_store_watch(struct pw_store *store, struct pw_object *object)
{
        struct segment *segment = pw_store_segment(store, object->segment);
        struct extent *extent = pw_extent_of(store, segment, object->slot);
        struct watch *watch;

        if (!pw_entry_flag(pw_segment_entry(segment, object->slot), PW_ENTRY_PENDING, object->generation, PW_ENTRY_RING, true))
                return true;
        if (object->watched)
                return false;
        watch = calloc(1, sizeof *watch);
        if (!watch || !extent || !extent->session || !pw_table_put(&store->watches, (uintptr_t)object, watch)) {
                free(watch);
                return !extent || !extent->session;
        }
        watch->object = object;
        object->watched = 1;
        pw_list_append(&extent->session->watched, &watch->link);
        return false;
}

void pw_store_rung(struct pw_store *store, uint32_t number, uint64_t now_us)
{
        struct session *session = pw_store_session(store, number);
        struct watch *watch;

        (void)now_us;
        if (!session || pw_list_empty(&session->watched))
                return;
        pw_list_each(&session->watched, watch, struct watch, link) {
                uint64_t word = pw_entry_load(pw_object_entry(store, watch->object));
                struct pw_store_action *action;

                if (pw_word_state(word) == PW_ENTRY_PENDING && pw_word_generation(word) == watch->object->generation)
                        continue;
                action = pw_store_act(store, PW_STORE_READY);
                if (action)
                        action->object = watch->object;
                watch->object->watched = 0;
                pw_table_remove(&store->watches, (uintptr_t)watch->object);
                pw_list_remove(&watch->link);
                free(watch);
        }
}

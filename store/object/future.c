/* Futures of programs: claimed by a run, decided once; their shard lists and error texts. */
#include "store/object/moved.h"
#include "store/object/step.h"
#include "store/parts.h"

#define TEXT_BYTES_MAX 4096u

static bool take_lines(struct segment *segment, uint64_t bytes, uint64_t *ret_offset)
{
        if (!pw_range_take(segment->rooms, bytes, ret_offset))
                return false;
        segment->body_top = pw_max_u64(segment->body_top, *ret_offset + bytes);
        return true;
}

/* --- results of a run that are still to come: of several it is counted how many there are, and how many nobody holds --------- */

/* The run's, with `last`, its result that was claimed before. 0: out of memory. */
static uint32_t results_of(struct pw_store *store, struct pw_object *last)
{
        struct results *results;

        if (last->results)
                return last->results;
        results = calloc(1, sizeof *results);
        if (results)
                last->results = pw_handles_add(&store->results, results);
        if (!last->results) {
                free(results);
                return 0;
        }
        results->count = 1;
        return last->results;
}

/* False: out of memory. */
static bool join_results(struct pw_store *store, struct pw_object *object)
{
        struct pw_object *last = store->last_claimed;

        object->results = 0;
        if (last && last->segment == object->segment && last->run == object->run) {
                object->results = results_of(store, last);
                if (!object->results)
                        return false;
                ((struct results *)pw_handles_get(&store->results, object->results))->count++;
        }
        store->last_claimed = object;
        return true;
}

static void cancel_run(struct pw_store *store, uint64_t run)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_CANCEL_RUN);

        if (action)
                action->number = run;
}

/* It may have been the only one that somebody held of those that were to come. */
static void leave_results(struct pw_store *store, struct pw_object *object)
{
        struct results *results = pw_handles_get(&store->results, object->results);
        bool held = !object->unheld;

        if (store->last_claimed == object)
                store->last_claimed = NULL;
        pw_future_held(store, object);
        if (results && !--results->count) {
                pw_handles_remove(&store->results, object->results);
                free(results);
        } else if (results && held && results->unheld == results->count) {
                cancel_run(store, object->run);
        }
        object->results = 0;
}

void pw_future_held(struct pw_store *store, struct pw_object *object)
{
        if (object->unheld)
                ((struct results *)pw_handles_get(&store->results, object->results))->unheld--;
        object->unheld = 0;
}

void pw_future_cancel_unheld(struct pw_store *store, struct pw_object *object)
{
        struct results *results = pw_handles_get(&store->results, object->results);

        if (results && !object->unheld) {
                object->unheld = 1;
                results->unheld++;
        }
        if (!results || results->unheld == results->count)
                cancel_run(store, object->run);
}

void pw_store_scan_again(struct pw_store *store, struct pw_object *object)
{
        if (object->known && object->claimed && !object->refs && !object->closing)
                pw_reclaim_add(store, object);
}

uint32_t pw_store_unclaimed(struct pw_store *store, struct pw_cell cell)
{
        struct segment *segment = pw_segment_of(store, pw_cell_segment(cell));
        struct pw_object *object;
        uint64_t word;

        if (!segment || segment->layout.kind != PW_SEGMENT_FUTURES || pw_cell_slot(cell) >= segment->layout.slot_count)
                return 0;
        object = pw_object_at(segment, pw_cell_slot(cell));
        word = pw_entry_load(pw_segment_entry(segment, pw_cell_slot(cell)));
        return object && !object->claimed && !object->taken && pw_word_state(word) == PW_ENTRY_PENDING &&
               pw_word_generation(word) == pw_cell_generation(cell) ? object->grantee : 0;
}

enum pw_status pw_future_granted(struct pw_store *store, uint32_t number, struct pw_cell cell, struct pw_object **ret_object,
                                 struct pw_error *ret_err)
{
        struct session *session = pw_session_of(store, number);
        struct segment *segment = pw_segment_of(store, pw_cell_segment(cell));
        uint32_t slot = pw_cell_slot(cell), generation = pw_cell_generation(cell);
        struct pw_object *object = segment && segment->layout.kind == PW_SEGMENT_FUTURES ?
                pw_object_find(segment, slot, generation) : NULL;

        if (!session || !object || object->grantee != number || !object->first_ref) {
                if (session)
                        session->broke = true;
                return pw_error_set(ret_err, PW_PROTOCOL, "result slot %x.%x.%x was not granted to the session",
                                    pw_cell_segment(cell), slot, generation);
        }
        if (object->claimed || pw_word_state(pw_entry_load(pw_segment_entry(segment, slot))) != PW_ENTRY_PENDING) {
                session->broke = true;
                return pw_error_set(ret_err, PW_PROTOCOL, "result slot %x.%x.%x is of another run already", pw_cell_segment(cell),
                                    slot, generation);
        }
        *ret_object = object;
        return PW_OK;
}

enum pw_status pw_store_claim(struct pw_store *store, uint32_t number, struct pw_cell cell, uint64_t run, void *payload,
                              struct pw_object **ret_object, struct pw_error *ret_err)
{
        struct pw_object *object;
        enum pw_status status = pw_future_granted(store, number, cell, &object, ret_err);

        if (status != PW_OK)
                return status;
        object->run = run;
        if (!join_results(store, object)) {
                object->run = 0;
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the results of a run");
        }
        object->claimed = 1;
        object->payload = payload;
        *ret_object = object;
        return PW_OK;
}

/* --- bodies: shard lists and error texts in the futures segment ---------------------------------------------------------- */

static uint8_t *take_body(struct segment *segment, struct pw_object *object, uint64_t bytes)
{
        uint64_t lines = (bytes + PW_LINE_BYTES - 1) / PW_LINE_BYTES, offset;

        if (!lines || lines > UINT16_MAX || !take_lines(segment, lines * PW_LINE_BYTES, &offset))
                return NULL;
        object->body_lines = (uint16_t)lines;
        segment->changes++;
        object->body = (uint32_t)(offset / PW_LINE_BYTES);
        return segment->map.base + segment->layout.room_offset + offset;
}

/* Why its value is lost; its list of shards stays, for who is reading that. */
static struct pw_loss_text *loss_of(const struct segment *segment, const struct pw_object *object)
{
        return &pw_segment_entry(segment, object->slot)->body.loss;
}

uint64_t pw_future_body_bytes(const struct segment *segment, const struct pw_object *object)
{
        uint64_t list_bytes = (uint64_t)object->body_lines * PW_LINE_BYTES;

        return segment->layout.kind == PW_SEGMENT_FUTURES ?
                list_bytes + pw_round_up(loss_of(segment, object)->bytes, PW_LINE_BYTES) : 0;
}

void pw_future_give_body(struct segment *segment, struct pw_object *object)
{
        struct pw_loss_text *loss = loss_of(segment, object);

        if (loss->bytes)
                pw_range_give(segment->rooms, loss->offset - segment->layout.room_offset, loss->bytes);
        *loss = (struct pw_loss_text){ 0 };
        pw_range_give(segment->rooms, (uint64_t)object->body * PW_LINE_BYTES, (uint64_t)object->body_lines * PW_LINE_BYTES);
        object->body_lines = 0;
        segment->changes++;
        object->body = 0;
}

/* The fields of the entry, which is the daemon's own. */
static void point_to(const struct segment *segment, const struct pw_object *object, uint64_t bytes,
                     const struct pw_shard_list *list)
{
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);

        entry->bytes = bytes;
        entry->room_offset = object->body_lines ? segment->layout.room_offset + (uint64_t)object->body * PW_LINE_BYTES : 0;
        entry->room_segment = segment->number;
        entry->dtype = list ? list->dtype : PW_OPAQUE;
        entry->rank = list ? (uint8_t)list->dims.rank : 1;
        entry->is_inline = 0;
        if (!object->proxied)
                entry->label = object->program;
}

void pw_future_whole_list(union whole_list *whole, uint8_t dtype, const struct pw_dims *dims)
{
        memset(whole, 0, sizeof *whole);
        whole->list = (struct pw_shard_list){ .shard_count = 1, .dtype = dtype, .mesh = { 1, 1 }, .dims = *dims };
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                whole->list.sharding.axis[axis].layout = PW_LAYOUT_BROADCAST;
}

static enum pw_status write_list(struct segment *segment, struct pw_object *object, const struct pw_decision *decision)
{
        uint64_t bytes = PW_SHARD_LIST_BYTES((uint64_t)decision->list->shard_count);
        uint8_t *body = take_body(segment, object, bytes);

        if (!body)
                return PW_NO_SPACE;
        memcpy(body, decision->list, bytes);
        point_to(segment, object, decision->bytes, decision->list);
        return PW_OK;
}

/* All but where its bytes are: on its home, as far as is known. */
static enum pw_status write_elsewhere(struct segment *segment, struct pw_object *object, const struct pw_decision *decision)
{
        uint16_t host = (uint16_t)pw_id_host(pw_entry_home(pw_segment_entry(segment, object->slot)));
        struct pw_decision of = *decision;
        union whole_list whole;

        pw_future_whole_list(&whole, (uint8_t)decision->elsewhere->dtype, &decision->elsewhere->dims);
        whole.list.shards[0].device = (struct pw_device_id){ host, PW_SHARD_IN_HOST };
        of.list = &whole.list;
        return write_list(segment, object, &of);
}

bool pw_future_relist(struct segment *segment, struct pw_object *object, const struct pw_shard_list *list)
{
        uint64_t offset = (uint64_t)object->body * PW_LINE_BYTES, bytes = (uint64_t)object->body_lines * PW_LINE_BYTES;
        struct pw_decision decision = { .list = list, .bytes = pw_segment_entry(segment, object->slot)->bytes };

        if (write_list(segment, object, &decision) != PW_OK)
                return false;
        pw_range_give(segment->rooms, offset, bytes);
        return true;
}

/* With its 0; a text that is too long is cut. */
static uint64_t text_bytes(const char *text) { return text ? pw_min_u64(strlen(text), TEXT_BYTES_MAX - 1) + 1 : 0; }

static void copy_text(uint8_t *body, const char *text)
{
        uint64_t bytes = text_bytes(text);

        memcpy(body, text, bytes - 1);
        body[bytes - 1] = 0;
}

static void write_text(struct segment *segment, struct pw_object *object, const char *text)
{
        uint8_t *body = take_body(segment, object, text_bytes(text));

        if (body)
                copy_text(body, text);
        point_to(segment, object, body ? text_bytes(text) : 0, NULL);
}

static void write_loss(struct segment *segment, struct pw_object *object, const char *text)
{
        struct pw_loss_text *loss = loss_of(segment, object);
        uint64_t bytes = text_bytes(text), offset;

        if (segment->layout.kind != PW_SEGMENT_FUTURES || !bytes || !take_lines(segment, bytes, &offset))
                return;
        *loss = (struct pw_loss_text){ segment->layout.room_offset + offset, bytes };
        segment->changes++;
        copy_text(segment->map.base + loss->offset, text);
}

void pw_store_decide(struct pw_store *store, struct pw_object *object, const struct pw_decision *decision, uint64_t now_us)
{
        struct segment *segment = pw_segment_of(store, object->segment);
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        enum pw_status status = decision->status;
        uint32_t flags;

        store->now_us = now_us;
        if (!object->known || pw_word_state(pw_entry_load(entry)) != PW_ENTRY_PENDING)
                return;
        leave_results(store, object);
        if (status == PW_OK)
                status = decision->elsewhere ? write_elsewhere(segment, object, decision) : write_list(segment, object, decision);
        if (status != PW_OK)
                write_text(segment, object, decision->status == PW_OK ? "the futures segment has no space for its list of shards" :
                           decision->text);
        if (status == PW_OK && !decision->elsewhere)
                pw_fetched_note(store, object, decision->list);
        flags = PW_ENTRY_SHARDED | (decision->elsewhere || pw_fetched_is_away(object) ? PW_ENTRY_MOVING : 0);
        if (!pw_object_decide(store, object, entry, status, status == PW_OK ? flags : 0))
                return;
        pw_object_wake(store, segment, object->slot);
        if (object->watched && !(status == PW_OK && decision->elsewhere && pw_proxy_fetch(store, object)))
                pw_watch_end(store, object, true);
        if (!object->refs)
                pw_reclaim_add(store, object);
        if (segment->awaited) {
                segment->awaited = false;
                pw_room_came(store);
        }
}

void pw_store_lose_shards(struct pw_store *store, struct pw_object *object, const _Atomic uint64_t *shards)
{
        const struct segment *segment = pw_segment_of(store, object->segment);
        uint64_t word = pw_entry_load(pw_segment_entry(segment, object->slot));
        bool ready = pw_word_state(word) == PW_ENTRY_READY || object->closing == PW_ENTRY_READY;
        struct pw_shard_list *list;

        if (!ready || pw_word_generation(word) != object->generation || !object->payload || !object->body_lines)
                return;
        list = (struct pw_shard_list *)(segment->map.base + pw_segment_entry(segment, object->slot)->room_offset);
        pw_bits_join(pw_shard_list_lost(list), shards, list->shard_count);
        atomic_fetch_add(&list->losses, 1);
}

void pw_store_lose(struct pw_store *store, struct pw_object *object, enum pw_status why, const char *text, uint64_t now_us)
{
        struct segment *segment = pw_segment_of(store, object->segment);
        struct pw_entry *entry = pw_segment_entry(segment, object->slot);
        bool closing = object->closing == PW_ENTRY_READY;
        uint64_t word = pw_entry_load(entry);
        /* nothing is to come */
        uint32_t flags = pw_word_flags(word) & ~(object->proxied || object->apart ? (uint32_t)PW_ENTRY_MOVING : 0);

        store->now_us = now_us;
        if (pw_word_state(word) != (closing ? PW_ENTRY_CLOSING : PW_ENTRY_READY) || pw_word_generation(word) != object->generation)
                return;
        write_loss(segment, object, text);
        if (!pw_object_step(store, object, entry, PW_OBJECT_LOSE, &word,
                            pw_word_make(PW_ENTRY_LOST, flags, object->generation, why)))
                return; /* flags are the store's own here: nobody else changes the word */
        if (!closing)
                pw_object_wake(store, segment, object->slot);
        if (object->watched)
                pw_watch_end(store, object, true);
}

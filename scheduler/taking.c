/* What a run takes from the store: inputs held or given away, slots of results. */
#include "scheduler/taking.h"

#include "scheduler/coordinator/awaited.h"
#include "scheduler/state.h"
#include "store/object.h"

/* A result that was moved to host memory: what it is, its own list says; the rooms of the one that it lies in stay with it. */
static void locate_moved(struct pw_store *store, const struct pw_object *object, struct pw_input_place *place)
{
        const struct pw_shard_list *list = pw_object_list(store, object);

        place->host = (struct pw_input_value){ .segment = list->shards[0].segment, .offset = list->shards[0].offset,
                                               .bytes = list->shards[0].bytes, .dtype = (enum pw_dtype)list->dtype,
                                               .dims = list->dims };
}

/* A value of another host: its bytes are here, or could not be had. */
static void locate_replica(struct pw_store *store, const struct pw_object *object, struct pw_input_place *place)
{
        if (object->backed)
                locate_moved(store, object, place);
        else
                place->status = PW_NO_SPACE;
}

/* Its entry is a claim, which that client may change at any time: where the value lies comes from what was granted, and an entry
 * that says otherwise, or more bytes than its room has, describes no value. */
void pw_taking_locate(struct pw_store *store, const struct pw_object *object, struct pw_input_place *place)
{
        const struct pw_entry *entry = pw_object_entry(store, object);
        const struct pw_object_room room = pw_object_room(store, object);
        uint64_t word = pw_entry_load(entry);
        struct pw_described described;

        place->pending = false;
        place->status = PW_OK;
        if (object->proxied && pw_word_state(word) == PW_ENTRY_READY) {
                locate_replica(store, object, place);
                return;
        }
        if (pw_word_state(word) == PW_ENTRY_ERROR || pw_word_state(word) == PW_ENTRY_LOST)
                place->status = pw_word_error(word);
        else if (pw_entry_describe(entry, NULL, room.offset + room.bytes, &described) != PW_OK ||
                 (!described.is_inline && (described.room_segment != object->segment || described.room_offset != room.offset)))
                place->status = PW_PROTOCOL;
        if (place->status != PW_OK)
                return;
        place->host = (struct pw_input_value){ .is_inline = described.is_inline, .segment = object->segment,
                                               .offset = room.offset, .bytes = described.bytes, .dtype = described.dtype,
                                               .dims = described.dims };
        memcpy(place->host.value, entry->body.value, sizeof place->host.value);
}

/* Only results are given away: what a client put is written by nobody else, and copied. */
static bool take(struct pw_store *store, uint32_t session, struct pw_run *run, struct pw_input_place *place,
                 struct pw_object *object, struct pw_cell cell, uint64_t now_us)
{
        bool given = pw_cell_top(cell) & PW_RUN_INPUT_DONATED;

        if (given && pw_object_result(object) && pw_store_donate(store, session, object, run->number, NULL) == PW_OK) {
                place->donated = true;
                return true;
        }
        return pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_RUN, run->number }, NULL) == PW_OK &&
               (!given || pw_store_drop(store, session, cell, now_us) == PW_OK);
}

void pw_taking_input(struct pw_store *store, uint32_t session, struct pw_run *run, uint32_t input, struct pw_cell cell,
                     uint64_t now_us)
{
        struct pw_input_place *place = &run->inputs[input];
        struct pw_object *object =
                pw_store_find(store, session, pw_cell_segment(cell), pw_cell_slot(cell), pw_cell_generation(cell));

        place->source = PW_INPUT_HOST;
        place->status = PW_GONE;
        if (!object || pw_store_unclaimed(store, cell)) /* what no run makes: to wait for it may be to wait for itself */
                return;
        if (!take(store, session, run, place, object, cell, now_us))
                return;
        place->object = object;
        place->status = PW_OK;
        if (pw_object_result(object)) {
                place->source = PW_INPUT_RESULT;
                place->result = pw_object_result(object);
        } else if (object->backed) {
                locate_moved(store, object, place);
        } else if (pw_store_watch(store, object)) {
                pw_taking_locate(store, object, place);
        } else if (pw_awaited_add(pw_live_of(run), input)) {
                place->pending = true;
        } else {
                place->status = PW_NO_MEMORY;
        }
}

void pw_taking_scanned(struct pw_store *store, struct pw_run *run)
{
        for (uint32_t i = 0; i < run->input_count; i++)
                if (run->inputs[i].donated)
                        run->inputs[i].alone = pw_store_donated_alone(store, run->inputs[i].object);
}

enum pw_status pw_taking_result(struct pw_store *store, uint32_t session, struct pw_run *run, uint32_t result, struct pw_cell cell,
                                struct pw_error *ret_err)
{
        struct pw_object *object;
        enum pw_status status = pw_store_claim(store, session, cell, run->number, run->results[result], &object, ret_err);

        if (status != PW_OK)
                return status;
        object->program = run->program;
        run->results[result]->object = object;
        return PW_OK;
}

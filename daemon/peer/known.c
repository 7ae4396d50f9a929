/* From an entry to what is said of it: each field is read once, as a client may write the entry. */
#include "daemon/peer/known.h"

#include "base/gather.h"
#include "base/memory.h"
#include "daemon/memory/segment.h"
#include "store/fetched.h"

#include <unistd.h>

static uint64_t word_of(struct pw_daemon *daemon, const struct pw_object *object)
{
        uint64_t word = pw_entry_load(pw_object_entry(daemon->store, object));

        return object->closing ? pw_word_with_state(word, (enum pw_entry_state)object->closing) : word;
}

static enum pw_status shard_at(const struct pw_shard_list *list, uint64_t bytes, struct pw_value_at *ret_at,
                               struct pw_error *ret_err)
{
        uint32_t place;

        if (!pw_sharding_is_whole(&list->sharding, list->mesh))
                return pw_error_set(ret_err, PW_UNSUPPORTED, "it is spread over devices of its host: bring it to one there first, "
                                    "by a node of the program, or by getting and putting it");
        place = pw_living_replica(&list->sharding, list->mesh, 0, pw_shard_list_lost(list));
        if (place == UINT32_MAX || bytes > list->shards[place].bytes)
                return pw_error_set(ret_err, PW_DEVICE_LOST, "no device has it any more");
        *ret_at = (struct pw_value_at){ .segment = list->shards[place].segment, .offset = list->shards[place].offset,
                                        .bytes = bytes };
        return PW_OK;
}

enum pw_status pw_value_at(struct pw_daemon *daemon, const struct pw_object *object, struct pw_value_at *ret_at,
                           struct pw_error *ret_err)
{
        const struct pw_segment *segment = pw_segment_get(&daemon->memory, object->segment);
        const struct pw_entry *entry = pw_object_entry(daemon->store, object);
        struct pw_described described;

        if (pw_store_is_apart(daemon->store, object))
                return pw_error_set(ret_err, PW_NOT_READY, "it is on a device, and nobody can read it there");
        if (pw_word_flags(word_of(daemon, object)) & PW_ENTRY_SHARDED)
                return shard_at(pw_object_list(daemon->store, object), entry->bytes, ret_at, ret_err);
        if (!segment || pw_entry_describe(entry, NULL, segment->layout.bytes, &described) != PW_OK ||
            (!described.is_inline && described.room_segment != object->segment))
                return pw_error_set(ret_err, PW_PROTOCOL, "its producer wrote fields that cannot be");
        *ret_at = (struct pw_value_at){ .segment = object->segment, .offset = described.room_offset, .bytes = described.bytes,
                                        .is_inline = described.is_inline, .inline_bytes = entry->body.value };
        return PW_OK;
}

/* --- what is said ----------------------------------------------------------------------------------------------------------- */

static void say_error(struct pw_known_space *space, enum pw_talk_state state, struct pw_talk_known *ret_known)
{
        *ret_known = (struct pw_talk_known){ .state = state, .status = space->err.status,
                                             .text = { space->err.text, (uint32_t)strlen(space->err.text) } };
}

static void say_failed(struct pw_daemon *daemon, const struct pw_object *object, uint64_t word, struct pw_known_space *space,
                       struct pw_talk_known *ret_known)
{
        const struct pw_segment *segment = pw_segment_get(&daemon->memory, object->segment);
        const struct pw_entry *entry = pw_object_entry(daemon->store, object);
        bool lost = pw_word_state(word) == PW_ENTRY_LOST;
        uint64_t offset = lost ? entry->body.loss.offset : entry->room_offset, bytes = lost ? entry->body.loss.bytes : entry->bytes;
        enum pw_status status = pw_word_error(word);

        if (segment && segment->layout.kind == PW_SEGMENT_FUTURES && bytes && offset <= segment->map.bytes &&
            bytes <= segment->map.bytes - offset)
                (void)!pw_error_set(&space->err, status, "%.*s", (int)bytes, (const char *)segment->map.base + offset);
        else
                (void)!pw_error_set(&space->err, status, "%s", pw_status_text(status));
        say_error(space, lost ? PW_TALK_ENDED : PW_TALK_FAILED, ret_known);
}

/* The bytes of a small value. False: it is said to be elsewhere. */
static bool read_value(struct pw_daemon *daemon, const struct pw_object *object, uint64_t bytes, struct pw_known_space *space)
{
        const struct pw_segment *segment;
        struct pw_value_at at;
        struct pw_error err;

        if (bytes > PW_TALK_VALUE_MAX || pw_value_at(daemon, object, &at, &err) != PW_OK || at.bytes != bytes)
                return false;
        if (at.is_inline) {
                memcpy(space->value, at.inline_bytes, bytes);
                return true;
        }
        segment = pw_segment_get(&daemon->memory, at.segment);
        if (!segment || at.offset > segment->backed.bytes || bytes > segment->backed.bytes - at.offset)
                return false;
        at.offset += segment->backed.offset;
        return pread(segment->backed.backing->fd, space->value, bytes, (off_t)at.offset) == (ssize_t)bytes;
}

static enum pw_status describe(struct pw_daemon *daemon, const struct pw_object *object, uint64_t word,
                               struct pw_talk_known *ret_known, struct pw_error *ret_err)
{
        const struct pw_segment *segment = pw_segment_get(&daemon->memory, object->segment);
        const struct pw_entry *entry = pw_object_entry(daemon->store, object);
        struct pw_described described;

        if (pw_word_flags(word) & PW_ENTRY_SHARDED) {
                const struct pw_shard_list *list = pw_object_list(daemon->store, object);

                *ret_known = (struct pw_talk_known){ .form = PW_TALK_SHARDED, .dtype = (enum pw_dtype)list->dtype,
                                                     .dims = list->dims, .bytes = entry->bytes };
                return PW_OK;
        }
        if (!segment || pw_entry_describe(entry, NULL, segment->layout.bytes, &described) != PW_OK)
                return pw_error_set(ret_err, PW_PROTOCOL, "its producer wrote fields that cannot be");
        *ret_known = (struct pw_talk_known){ .dtype = described.dtype, .dims = described.dims, .bytes = described.bytes };
        return PW_OK;
}

void pw_known(struct pw_daemon *daemon, const struct pw_object *object, struct pw_known_space *space,
              struct pw_talk_known *ret_known)
{
        uint64_t word = word_of(daemon, object);
        enum pw_entry_state state = pw_word_state(word);

        if (state == PW_ENTRY_PENDING) {
                *ret_known = (struct pw_talk_known){ .state = PW_TALK_PENDING };
                return;
        }
        if (state != PW_ENTRY_READY) {
                say_failed(daemon, object, word, space, ret_known);
                return;
        }
        if (describe(daemon, object, word, ret_known, &space->err) != PW_OK) {
                say_error(space, PW_TALK_FAILED, ret_known);
                return;
        }
        ret_known->state = PW_TALK_ELSEWHERE;
        if (read_value(daemon, object, ret_known->bytes, space)) {
                ret_known->state = PW_TALK_WHOLE;
                ret_known->value = (struct pw_talk_bytes){ space->value, (uint32_t)ret_known->bytes };
        }
}

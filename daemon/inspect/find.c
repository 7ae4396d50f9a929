/* Objects by what people call them. */
#include "daemon/inspect/find.h"

#include "base/memory.h"
#include "daemon/memory/segment.h"
#include "daemon/session/object.h"
#include "store/name.h"

#include <stdio.h>

enum pw_status pw_find_object(struct pw_dsession *session, const char *text, struct pw_object **ret_object,
                              struct pw_error *ret_err)
{
        struct pw_store *store = session->daemon->store;
        struct pw_object *object = pw_store_name_find(store, session->tenant->name, text);
        struct pw_id id;

        if (!object && pw_id_parse(text, &id, NULL) != PW_OK)
                return pw_error_set(ret_err, PW_NOT_FOUND, "%.100s: neither an id nor a name of tenant %s that is "
                                    "bound to an object of this host", text, session->tenant->name);
        if (!object)
                return pw_object_of_id(session, id, ret_object, ret_err);
        *ret_object = object;
        return PW_OK;
}

enum pw_status pw_find_device(const struct pw_daemon *daemon, const char *text, uint32_t *ret_device, struct pw_error *ret_err)
{
        unsigned host = daemon->host, device = UINT32_MAX;
        char rest;

        if ((sscanf(text, "h%u:%u%c", &host, &device, &rest) != 2 && sscanf(text, "%u%c", &device, &rest) != 1) ||
            host != daemon->host || device >= daemon->device_count)
                return pw_error_set(ret_err, PW_NOT_FOUND, "device %.60s: this host has h%u:0 to h%u:%u", text, daemon->host,
                                    daemon->host, daemon->device_count - 1);
        *ret_device = device;
        return PW_OK;
}

const struct pw_shard_list *pw_find_shards(struct pw_daemon *daemon, const struct pw_object_row *row)
{
        struct pw_segment *segment = pw_segment_get(&daemon->memory, row->segment);

        if (!segment || segment->layout.kind != PW_SEGMENT_FUTURES || pw_word_state(row->word) != PW_ENTRY_READY ||
            !(pw_word_flags(row->word) & PW_ENTRY_SHARDED))
                return NULL;
        return (const struct pw_shard_list *)(segment->map.base + row->entry->room_offset);
}

char *pw_find_error_text(struct pw_daemon *daemon, const struct pw_object_row *row, char *text, size_t text_bytes)
{
        struct pw_segment *segment = pw_segment_get(&daemon->memory, row->segment);
        bool lost = pw_word_state(row->word) == PW_ENTRY_LOST;
        uint64_t offset = lost ? row->entry->body.loss.offset : row->entry->room_offset,
                 bytes = lost ? row->entry->body.loss.bytes : row->entry->bytes;

        snprintf(text, text_bytes, "%s", pw_status_text(pw_word_error(row->word)));
        if (segment && segment->layout.kind == PW_SEGMENT_FUTURES && bytes > 1 && offset + bytes <= segment->layout.bytes)
                snprintf(text, text_bytes, "%.*s", (int)bytes, (const char *)segment->map.base + offset);
        return text;
}

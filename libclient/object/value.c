/* What a READY future is: the fields of its entry, or its shard list, each checked against the map that it lies in. */
#include "base/layout.h"
#include "base/memory.h"
#include "libclient/session.h"

static enum pw_status impossible(const struct pw_future *future, const char *what, struct pw_error *ret_err)
{
        char id[PW_ID_TEXT_BYTES];
        return pw_error_set(ret_err, PW_PROTOCOL, "%s: its producer wrote %s that cannot be",
                            pw_id_format(pw_future_id(future), id), what);
}

enum pw_status pw_future_described(const struct pw_future *future, struct pw_described *ret_described, const void **ret_data,
                                   struct pw_error *ret_err)
{
        struct pw_client_segment *segment = pw_future_segment(future);
        uint32_t room_segment = *(const volatile uint32_t *)&future->entry->room_segment;
        if (room_segment != segment->number && !*(const volatile uint8_t *)&future->entry->is_inline) {
                enum pw_status status = pw_session_segment(pw_future_session(future), room_segment, &segment, ret_err);
                if (status != PW_OK)
                        return status;
        }
        if (pw_entry_describe(future->entry, segment->map.base, segment->map.bytes, ret_described) != PW_OK)
                return impossible(future, "fields", ret_err);
        *ret_data = ret_described->is_inline ? future->entry->body.value : segment->map.base + ret_described->room_offset;
        return PW_OK;
}

enum pw_status pw_future_shards(const struct pw_future *future, const struct pw_shard_list **ret_list, struct pw_error *ret_err)
{
        const struct pw_client_segment *segment = pw_future_segment(future);
        uint64_t offset = future->entry->room_offset, end;
        const struct pw_shard_list *list = (const struct pw_shard_list *)(const void *)(segment->map.base + offset);
        if (segment->kind != PW_SEGMENT_FUTURES || offset % 8 || !pw_add_ok(offset, sizeof *list, &end) || end > segment->map.bytes)
                return impossible(future, "a shard list", ret_err);
        uint64_t list_bytes = PW_SHARD_LIST_BYTES((uint64_t)list->shard_count);
        if (list_bytes > segment->map.bytes - offset || list->shard_count == 0 || pw_mesh_count(list->mesh) != list->shard_count ||
            list->dims.rank > PW_RANK_MAX || !pw_list_element_bytes(list) || (list->dtype == PW_OPAQUE && list->dims.rank != 1))
                return impossible(future, "a shard list", ret_err);
        *ret_list = list;
        return PW_OK;
}

static enum pw_status info_of_value(struct pw_future *future, uint64_t word, struct pw_info *info, struct pw_error *ret_err)
{
        if (!(pw_word_flags(word) & PW_ENTRY_SHARDED)) {
                struct pw_described described;
                const void *data;
                enum pw_status status = pw_future_described(future, &described, &data, ret_err);
                if (status != PW_OK)
                        return status;
                info->bytes = described.bytes;
                info->dtype = described.dtype;
                info->dims = described.dims;
                info->shard_count = 1;
                return PW_OK;
        }
        const struct pw_shard_list *list;
        enum pw_status status = pw_future_shards(future, &list, ret_err);
        if (status != PW_OK)
                return status;
        info->dtype = (enum pw_dtype)list->dtype;
        info->dims = list->dims;
        info->shard_count = list->shard_count;
        info->sharding = list->sharding;
        info->bytes = info->dims.dim[0];
        return info->dtype == PW_OPAQUE ? PW_OK : pw_dims_bytes(info->dtype, &info->dims, &info->bytes, ret_err);
}

enum pw_status pw_future_info_sized(struct pw_future *future, struct pw_info *ret_info, size_t info_bytes,
                                    struct pw_error *ret_err)
{
        enum pw_status status = pw_future_check(future, ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_info, "ret_info", ret_err);
        if (status != PW_OK)
                return status;
        uint64_t word = pw_future_word(future);
        struct pw_info info = { .id = pw_future_id(future), .status = pw_future_status(word) };
        if (info.status == PW_OK) {
                status = info_of_value(future, word, &info, ret_err);
                if (status != PW_OK)
                        return status;
        }
        if (info_bytes > sizeof info)
                memset((char *)ret_info + sizeof info, 0, info_bytes - sizeof info);
        memcpy(ret_info, &info, pw_min_u64(info_bytes, sizeof info));
        return PW_OK;
}

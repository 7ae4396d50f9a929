/* Shards of a value, gathered as base/gather.h says. */
#include "daemon/peer/pull/spread_value.h"

#include "base/gather.h"
#include "base/memory.h"
#include "daemon/memory/segment.h"

#include <stdlib.h>
#include <sys/mman.h>

struct mapped { uint32_t segment; struct pw_map map; };

struct pw_spread_value {
        struct pw_gather gather;
        const struct pw_shard_list *live; /* the entry's: it says which shards are lost meanwhile */
        struct mapped *segments;
        uint32_t segment_count;
        struct pw_shard_place places[];
};

/* Which devices have gone is asked for each time: what was read of one that went meanwhile is read again. */
static enum pw_status shard(void *context, uint32_t place, const struct pw_box *box, const uint8_t **ret_data,
                            struct pw_error *ret_err)
{
        const struct pw_spread_value *value = context;
        uint32_t living = pw_living_replica(&value->gather.sharding, value->gather.mesh, place, pw_shard_list_lost(value->live));
        const struct pw_shard_place *at;
        uint64_t bytes = pw_box_elements(box) * value->gather.element_bytes;

        if (living == UINT32_MAX)
                return pw_error_set(ret_err, PW_DEVICE_LOST, "no device has shard %u any more", place);
        at = &value->places[living];
        for (uint32_t i = 0; i < value->segment_count; i++) {
                const struct mapped *mapped = &value->segments[i];

                if (mapped->segment != at->segment || bytes > at->bytes || at->offset > mapped->map.bytes ||
                    bytes > mapped->map.bytes - at->offset)
                        continue;
                *ret_data = mapped->map.base + at->offset;
                return PW_OK;
        }
        return pw_error_set(ret_err, PW_PROTOCOL, "shard %u lies nowhere", place);
}

/* The memory of one shard, unless it is mapped already. */
static enum pw_status map_segment(struct pw_daemon *daemon, struct pw_spread_value *value, uint32_t number,
                                  struct pw_error *ret_err)
{
        const struct pw_segment *segment = pw_segment_get(&daemon->memory, number);
        struct mapped *mapped = &value->segments[value->segment_count];
        void *base;

        for (uint32_t i = 0; i < value->segment_count; i++)
                if (value->segments[i].segment == number)
                        return PW_OK;
        if (!segment)
                return pw_error_set(ret_err, PW_DEVICE_LOST, "the memory of a shard is no more");
        base = mmap(NULL, segment->backed.bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, segment->backed.backing->fd,
                    (off_t)segment->backed.offset);
        if (base == MAP_FAILED)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no room to map the memory of a shard");
        *mapped = (struct mapped){ number, { base, segment->backed.bytes, false } };
        value->segment_count++;
        return PW_OK;
}

static enum pw_status fill(struct pw_daemon *daemon, struct pw_spread_value *value, struct pw_error *ret_err)
{
        const struct pw_shard_list *list = value->live;
        enum pw_status status;

        value->gather = (struct pw_gather){ .dims = list->dims, .sharding = list->sharding, .dtype = (enum pw_dtype)list->dtype,
                                            .element_bytes = pw_list_element_bytes(list), .shard = shard, .context = value };
        memcpy(value->gather.mesh, list->mesh, sizeof value->gather.mesh);
        memcpy(value->places, list->shards, list->shard_count * sizeof value->places[0]);
        status = pw_sharding_check(&value->gather.sharding, &value->gather.dims, value->gather.mesh, ret_err);
        for (uint32_t i = 0; status == PW_OK && i < list->shard_count; i++)
                status = map_segment(daemon, value, list->shards[i].segment, ret_err);
        return status;
}

enum pw_status pw_spread_value_new(struct pw_daemon *daemon, const struct pw_object *object, struct pw_spread_value **ret_value,
                                   uint64_t *ret_bytes, struct pw_error *ret_err)
{
        const struct pw_shard_list *list = pw_object_list(daemon->store, object);
        struct pw_spread_value *value = calloc(1, sizeof *value + list->shard_count * sizeof value->places[0]);
        enum pw_status status = PW_NO_MEMORY;

        if (value)
                value->segments = calloc(list->shard_count, sizeof *value->segments);
        if (!value || !value->segments) {
                free(value);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a value of several devices");
        }
        value->live = list;
        status = fill(daemon, value, ret_err);
        if (status == PW_OK) {
                *ret_bytes = pw_object_entry(daemon->store, object)->bytes;
                *ret_value = value;
        } else {
                pw_spread_value_free(value);
        }
        return status;
}

void pw_spread_value_free(struct pw_spread_value *value)
{
        if (!value)
                return;
        for (uint32_t i = 0; i < value->segment_count; i++)
                munmap(value->segments[i].map.base, value->segments[i].map.bytes);
        free(value->segments);
        free(value);
}

enum pw_status pw_spread_value_read(const struct pw_spread_value *value, uint64_t first, uint32_t bytes, uint8_t *to)
{
        _Atomic uint64_t *losses = (_Atomic uint64_t *)(uintptr_t)&value->live->losses;
        size_t element = value->gather.element_bytes;
        struct pw_error err;
        enum pw_status status;
        uint64_t before;

        do {
                before = atomic_load(losses);
                status = pw_gather_range(&value->gather, first / element, bytes / element, to, &err);
        } while (status == PW_OK && atomic_load(losses) != before);
        return status;
}

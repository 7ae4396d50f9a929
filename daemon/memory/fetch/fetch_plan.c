/* What of a value is copied: of places that hold the same the first whose device is there. */
#include "daemon/memory/fetch/fetch_private.h"

#include "base/layout.h"
#include "base/memory.h"
#include "plane/board/image.h"
#include "store/object.h"

static enum pw_status no_memory(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory to fetch a value from a device");
}

/* Places come in order, and what stands in for one is no later than it. */
static enum pw_status plan_place(struct pw_fetch *fetch, const struct pw_shard_list *list, uint32_t place, uint64_t *bytes,
                                 struct pw_error *ret_err)
{
        uint32_t first = pw_first_replica(&list->sharding, list->mesh, place, pw_shard_list_lost(list));
        const struct pw_shard_place *from = &list->shards[first == UINT32_MAX ? place : first];

        if (first == UINT32_MAX)
                return pw_error_set(ret_err, PW_DEVICE_LOST, "no device has shard %u of it any more", place);
        if (first < place) {
                fetch->offsets[place] = fetch->offsets[first];
                return PW_OK;
        }
        fetch->offsets[place] = *bytes; /* `first` may come later: it is copied for this one then, and once more for itself */
        fetch->tasks[fetch->task_count++] = (struct pw_fetch_task){ .fetch = fetch, .device = from->device.device,
                                                                    .from_segment = from->segment, .from_offset = from->offset,
                                                                    .bytes = from->bytes, .to = *bytes };
        *bytes += pw_round_up(from->bytes, PW_ROOM_ALIGN);
        return PW_OK;
}

enum pw_status pw_fetch_plan(struct pw_fetch *fetch, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        const struct pw_shard_list *list = pw_object_list(fetch->daemon->store, fetch->object);
        enum pw_status status = PW_OK;

        *ret_bytes = 0;
        fetch->offsets = calloc(list->shard_count, sizeof *fetch->offsets);
        fetch->tasks = calloc(list->shard_count, sizeof *fetch->tasks);
        if (!fetch->offsets || !fetch->tasks)
                return no_memory(ret_err);
        for (uint32_t place = 0; place < list->shard_count && status == PW_OK; place++)
                status = plan_place(fetch, list, place, ret_bytes, ret_err);
        for (uint32_t i = 0; i < fetch->task_count; i++)
                pw_list_init(&fetch->tasks[i].link);
        return status;
}

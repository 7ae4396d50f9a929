/* What a result has become, for the store. */
#include "scheduler/decision.h"

#include "base/bits.h"
#include "plane/entry.h"
#include "scheduler/program.h"

/* The shard list of a result, from where its rooms are. `list` has room for it. */
static void list_shards(const struct pw_result *result, struct pw_shard_list *list)
{
        const struct pw_result_type *type = result->type;

        *list = (struct pw_shard_list){ .shard_count = result->room_count,
                                        .dtype = type->value.dtype,
                                        .sharding = type->value.sharding,
                                        .dims = type->value.dims,
                                        .losses = result->losses };
        memcpy(list->mesh, type->mesh, sizeof list->mesh);
        for (uint32_t i = 0; i < result->room_count; i++) {
                const struct pw_room *room = &result->rooms[i];

                list->shards[i] = (struct pw_shard_place){ .offset = room->offset,
                                                           .bytes = pw_type_shard_bytes(type, i),
                                                           .segment = room->segment,
                                                           .device = pw_room_device(room) };
        }
        pw_bits_clear(pw_shard_list_lost(list), list->shard_count);
        pw_bits_join(pw_shard_list_lost(list), result->lost, list->shard_count);
}

/* `list`: with room for its shards; NULL: there is no memory for that. */
static void tell(struct pw_store *store, const struct pw_action *action, struct pw_shard_list *list, uint64_t now_us)
{
        struct pw_decision decision = { .status = action->status, .text = action->text };

        if (action->status == PW_OK && list) {
                list_shards(action->result, list);
                decision.list = list;
                decision.bytes = action->result->type->bytes;
        } else if (action->status == PW_OK) {
                decision.status = PW_NO_MEMORY;
                decision.text = "pathwaysd: out of memory for its list of shards";
        }
        pw_store_decide(store, action->result->object, &decision, now_us);
}

void pw_decision_tell(struct pw_store *store, const struct pw_action *action, uint64_t now_us)
{
        union {
                struct pw_shard_list list;
                char space[PW_SHARD_LIST_BYTES(PW_DEVICES_MAX)];
        } few;
        struct pw_shard_list *many;

        if (!action->result->object)
                return;
        if (action->result->room_count <= PW_DEVICES_MAX) {
                tell(store, action, &few.list, now_us);
                return;
        }
        many = malloc(PW_SHARD_LIST_BYTES((size_t)action->result->room_count));
        tell(store, action, many, now_us);
        free(many);
}

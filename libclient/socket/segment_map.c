/* The segments that a session has mapped: a tree of three levels that readers walk without a lock. */
#include "libclient/socket/segment_map.h"

#include "base/id.h"
#include "base/memory.h"

static void leaf_free(struct pw_segment_leaf *leaf)
{
        for (uint32_t i = 0; leaf && i < 256; i++) {
                struct pw_client_segment *segment = atomic_load(&leaf->items[i]);
                if (segment)
                        pw_unmap(&segment->map);
                free(segment);
        }
        free(leaf);
}

void pw_segment_map_done(struct pw_segment_map *map)
{
        for (uint32_t i = 0; i < 256; i++) {
                struct pw_segment_node *node = atomic_exchange(&map->nodes[i], NULL);
                for (uint32_t j = 0; node && j < 256; j++)
                        leaf_free(atomic_load(&node->leaves[j]));
                free(node);
        }
}

/* The leaf of `number`, made if there is none. NULL: out of memory. */
static struct pw_segment_leaf *leaf_make(struct pw_segment_map *map, uint32_t number)
{
        _Atomic(struct pw_segment_node *) *node_place = &map->nodes[number >> 16 & 0xff];
        struct pw_segment_node *node = atomic_load(node_place);
        if (!node) {
                node = calloc(1, sizeof *node);
                if (!node)
                        return NULL;
                atomic_store(node_place, node);
        }
        _Atomic(struct pw_segment_leaf *) *leaf_place = &node->leaves[number >> 8 & 0xff];
        struct pw_segment_leaf *leaf = atomic_load(leaf_place);
        if (!leaf) {
                leaf = calloc(1, sizeof *leaf);
                if (leaf)
                        atomic_store(leaf_place, leaf);
        }
        return leaf;
}

static bool layout_possible(const Pathways__Wire__SegmentInfo *info)
{
        return info->kind >= PW_SEGMENT_CLIENT && info->kind <= PW_SEGMENT_DEVICE && info->segment <= PW_SEGMENT_MAX &&
               info->slot_count <= PW_SLOT_MAX + 1 && info->room_offset <= info->bytes &&
               (uint64_t)info->slot_count * sizeof(struct pw_entry) <= info->room_offset;
}

enum pw_status pw_segment_map_add(struct pw_segment_map *map, const Pathways__Wire__SegmentInfo *info, int fd, bool writable,
                                  struct pw_client_segment **ret_segment, struct pw_error *ret_err)
{
        if (!layout_possible(info))
                return pw_error_set(ret_err, PW_PROTOCOL, "segment %x: %u slots, rooms from %llu of %llu bytes cannot be",
                                    info->segment, info->slot_count, (unsigned long long)info->room_offset,
                                    (unsigned long long)info->bytes);
        struct pw_segment_leaf *leaf = leaf_make(map, info->segment);
        pw_auto_free struct pw_client_segment *segment = calloc(1, sizeof *segment);
        if (!leaf || !segment)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the map of segment %x", info->segment);
        if (atomic_load(&leaf->items[info->segment & 0xff]))
                return pw_error_set(ret_err, PW_PROTOCOL, "segment %x was announced twice", info->segment);
        enum pw_status status = pw_map_window(&(struct pw_window){ fd, info->offset, info->bytes }, writable, &segment->map,
                                              ret_err);
        if (status != PW_OK)
                return status;
        segment->number = info->segment;
        segment->kind = (enum pw_segment_kind)info->kind;
        segment->slot_count = info->slot_count;
        segment->room_offset = info->room_offset;
        *ret_segment = segment;
        atomic_store(&leaf->items[info->segment & 0xff], segment);
        segment = NULL;
        return PW_OK;
}

enum pw_status pw_segment_map_name(struct pw_segment_map *map, struct pw_client_segment *segment, uint32_t number,
                                   struct pw_error *ret_err)
{
        uint32_t has = segment->number;
        if (has == number && number)
                return PW_OK;
        if (has || !number || number > PW_SEGMENT_MAX || pw_segment_map_get(map, number))
                return pw_error_set(ret_err, PW_PROTOCOL, "segment %x cannot be %x from now on", has, number);
        struct pw_segment_leaf *leaf = leaf_make(map, number);
        if (!leaf)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the map of segment %x", number);
        segment->number = number;
        atomic_store(&leaf->items[number & 0xff], segment);
        atomic_store(&leaf_make(map, 0)->items[0], NULL); /* it is there, so this does not fail */
        return PW_OK;
}

/* The segments that a session has mapped, by number: its own, its tenant's futures, and foreign ones fetched when first needed.
 *
 * Lookups take no lock: three levels of 256 pointers each, filled once and never emptied before the session is freed.
 */
#ifndef PW_LIBCLIENT_SOCKET_SEGMENT_MAP_H
#define PW_LIBCLIENT_SOCKET_SEGMENT_MAP_H

#include "plane/segment.h"
#include "wire/pathways.pb-c.h"

struct pw_connection;

struct pw_client_segment {
        _Atomic uint32_t number; /* 0: a session's own, which it was granted nothing in yet */
        enum pw_segment_kind kind;
        uint32_t slot_count;
        uint64_t room_offset;
        struct pw_map map;
};

struct pw_segment_leaf { _Atomic(struct pw_client_segment *) items[256]; };
struct pw_segment_node { _Atomic(struct pw_segment_leaf *) leaves[256]; };
struct pw_segment_map { _Atomic(struct pw_segment_node *) nodes[256]; }; /* zeroed: empty */

void pw_segment_map_done(struct pw_segment_map *map); /* unmaps all of them */

static inline struct pw_client_segment *pw_segment_map_get(struct pw_segment_map *map, uint32_t number)
{
        struct pw_segment_node *node = atomic_load_explicit(&map->nodes[number >> 16 & 0xff], memory_order_acquire);
        if (!node)
                return NULL;
        struct pw_segment_leaf *leaf = atomic_load_explicit(&node->leaves[number >> 8 & 0xff], memory_order_acquire);
        return leaf ? atomic_load_explicit(&leaf->items[number & 0xff], memory_order_acquire) : NULL;
}

/* Map `fd` as `info` says and note it. Entries must lie in the map. One caller at a time. Own: fd stays the caller's.
 * Errors: PW_PROTOCOL (a layout that cannot be), PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_segment_map_add(struct pw_segment_map *map, const Pathways__Wire__SegmentInfo *info, int fd,
                                                bool writable, struct pw_client_segment **ret_segment, struct pw_error *ret_err);

/* `segment`, which was added without a number, is `number` from now on. One caller at a time. Errors: PW_PROTOCOL (it has another
 * one, or another one has it), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_segment_map_name(struct pw_segment_map *map, struct pw_client_segment *segment, uint32_t number,
                                                 struct pw_error *ret_err);

#endif

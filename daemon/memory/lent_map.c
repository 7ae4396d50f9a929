/* Maps of segments, made in large pieces, so that neighbours share them. */
#include "daemon/memory/lent_map.h"

#include "base/memory.h"

#define PIECE_BYTES (64ul << 20) /* a map begins and ends at a multiple of it, or at the segment's end */

struct pw_lent_map {
        struct pw_list link; /* in its segment's */
        struct pw_segment *segment;
        struct pw_map map;
        uint64_t offset;     /* in the segment */
        uint32_t users;
};

static void free_map(struct pw_lent_map *map)
{
        pw_list_remove(&map->link);
        pw_unmap(&map->map);
        free(map);
}

static struct pw_lent_map *find(struct pw_segment *segment, uint64_t offset, uint64_t bytes)
{
        struct pw_lent_map *map;

        pw_list_each(&segment->lent, map, struct pw_lent_map, link)
                if (offset >= map->offset && offset - map->offset <= map->map.bytes &&
                    bytes <= map->map.bytes - (offset - map->offset))
                        return map;
        return NULL;
}

static enum pw_status make(struct pw_segment *segment, uint64_t offset, uint64_t bytes, struct pw_lent_map **ret_map,
                           struct pw_error *ret_err)
{
        struct pw_window window = pw_backed_window(&segment->backed);
        uint64_t start = offset / PIECE_BYTES * PIECE_BYTES;
        uint64_t end = pw_min_u64(pw_round_up(offset + bytes, PIECE_BYTES), window.bytes);
        struct pw_lent_map *map = malloc(sizeof *map);
        enum pw_status status;

        if (!map)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what it sends");
        *map = (struct pw_lent_map){ .segment = segment, .offset = start };
        window.offset += start;
        window.bytes = end - start;
        status = pw_map_window(&window, false, &map->map, ret_err);
        if (status != PW_OK) {
                free(map);
                return status;
        }
        pw_list_init(&map->link);
        pw_list_append(&segment->lent, &map->link);
        *ret_map = map;
        return PW_OK;
}

enum pw_status pw_lent_map_take(struct pw_segment *segment, uint64_t offset, uint64_t bytes, struct pw_lent_map **ret_map,
                                uint8_t **ret_at, struct pw_error *ret_err)
{
        struct pw_lent_map *map;
        enum pw_status status;

        if (offset > segment->backed.bytes || bytes > segment->backed.bytes - offset)
                return pw_error_set(ret_err, PW_PROTOCOL, "its producer wrote a place that cannot be");
        map = find(segment, offset, bytes);
        status = map ? PW_OK : make(segment, offset, bytes, &map, ret_err);
        if (status != PW_OK)
                return status;
        map->users++;
        *ret_map = map;
        *ret_at = map->map.base + (offset - map->offset);
        return PW_OK;
}

/* Of those that nobody uses the last one stays. */
void pw_lent_map_give(struct pw_lent_map *map)
{
        struct pw_lent_map *other;

        if (!map || --map->users)
                return;
        pw_list_each(&map->segment->lent, other, struct pw_lent_map, link)
                if (other != map && !other->users)
                        free_map(other);
}

void pw_segment_unlend(struct pw_segment *segment)
{
        struct pw_lent_map *map;

        pw_list_each(&segment->lent, map, struct pw_lent_map, link)
                free_map(map);
}

/* Mapping segments when they are needed, and giving back those of host memory; what is pinned in these. */
#include "executor/program/segments.h"

#include "base/memory.h"

/* A segment of host memory. */
struct lent {
        uint64_t used; /* the gang that it was lent to last */
        uint32_t segment;
        struct pw_host_map at;
};

void pw_segments_init(struct pw_segments *segments, const struct pw_surroundings *around)
{
        *segments = (struct pw_segments){ .around = around, .in_use = 1 }; /* the first gang */
}

static void lent_drop(struct pw_segments *segments, struct lent *lent)
{
        pw_table_remove(&segments->lent, lent->segment);
        segments->lent_bytes -= lent->at.map.bytes;
        pw_pins_drop(&segments->pins, lent->at.map.base, lent->at.map.bytes);
        pw_unmap(&lent->at.map);
        free(lent);
}

static void rooms_unmap(struct pw_rooms_map *map)
{
        if (map->apart)
                map->rooms = (struct pw_map){ NULL, 0, false };
        pw_unmap(&map->rooms);
        pw_unmap(&map->heads);
}

void pw_segments_done(struct pw_segments *segments)
{
        struct lent *lent;

        for (uint32_t p = 0; p < PW_SEGMENTS_PAGE; p++) {
                if (!segments->pages[p])
                        continue;
                for (uint32_t i = 0; i < PW_SEGMENTS_PAGE; i++)
                        rooms_unmap(&segments->pages[p][i]);
                free(segments->pages[p]);
                segments->pages[p] = NULL;
        }
        for (uint32_t i = 0; (lent = pw_table_next(&segments->lent, &i)); i = 0)
                lent_drop(segments, lent);
        pw_table_done(&segments->lent);
}

/* Give back the one used longest ago. False: the gang under way has all of them. */
static bool lent_drop_oldest(struct pw_segments *segments)
{
        struct lent *oldest = NULL, *lent;

        for (uint32_t i = 0; (lent = pw_table_next(&segments->lent, &i));)
                if (lent->used < segments->in_use && (!oldest || lent->used < oldest->used))
                        oldest = lent;
        if (oldest)
                lent_drop(segments, oldest);
        return oldest != NULL;
}

void pw_segments_let_go(struct pw_segments *segments)
{
        const struct pw_surroundings *around = segments->around;
        uint32_t number;

        if (around->ask_gone)
                around->ask_gone(around->context);
        while (around->gone && around->gone(around->context, &number)) {
                struct pw_rooms_map *page = segments->pages[number / PW_SEGMENTS_PAGE % PW_SEGMENTS_PAGE];
                struct lent *lent = pw_table_get(&segments->lent, number);

                if (page)
                        rooms_unmap(&page[number % PW_SEGMENTS_PAGE]);
                if (lent)
                        lent_drop(segments, lent);
        }
}

/* Where the system has no addresses left, all that nobody reads goes. False: there was nothing. */
static bool make_way(struct pw_segments *segments, enum pw_status status)
{
        if ((status != PW_SYSTEM && status != PW_NO_MEMORY) || !lent_drop_oldest(segments))
                return false;
        while (lent_drop_oldest(segments))
                ;
        return true;
}

static enum pw_status map_segment(struct pw_segments *segments, uint32_t number, struct pw_host_map *ret_map,
                                  struct pw_error *ret_err)
{
        const struct pw_surroundings *around = segments->around;
        enum pw_status status = around->segment(around->context, number, ret_map, ret_err);

        return make_way(segments, status) ? around->segment(around->context, number, ret_map, ret_err) : status;
}

static enum pw_status map_rooms(struct pw_segments *segments, uint32_t number, struct pw_rooms_map *ret_map,
                                struct pw_error *ret_err)
{
        const struct pw_surroundings *around = segments->around;
        enum pw_status status = around->rooms(around->context, number, ret_map, ret_err);

        return make_way(segments, status) ? around->rooms(around->context, number, ret_map, ret_err) : status;
}

static enum pw_status no_memory(uint32_t number, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to map segment %u", number);
}

/* Does the part lie in the first `bytes` of its segment? */
static enum pw_status check(uint64_t bytes, const struct pw_segments_range *part, struct pw_error *ret_err)
{
        if (pw_segments_holds(bytes, part))
                return PW_OK;
        return pw_error_set(ret_err, PW_PROTOCOL, "%lu bytes at %lu do not lie in segment %u, which has %lu",
                            (unsigned long)part->bytes, (unsigned long)part->offset, part->segment, (unsigned long)bytes);
}

enum pw_status pw_segments_fetch(struct pw_segments *segments, const struct pw_segments_range *part, struct pw_place *ret_place,
                                 struct pw_error *ret_err)
{
        struct pw_rooms_map **page = &segments->pages[part->segment / PW_SEGMENTS_PAGE % PW_SEGMENTS_PAGE], *map;
        enum pw_status status = PW_OK;

        if (!*page)
                *page = calloc(PW_SEGMENTS_PAGE, sizeof **page);
        if (!*page)
                return no_memory(part->segment, ret_err);
        map = &(*page)[part->segment % PW_SEGMENTS_PAGE];
        if (!map->rooms.base) {
                status = map_rooms(segments, part->segment, map, ret_err);
                if (status == PW_OK && map->apart && map->rooms.writable && !segments->own_apart++)
                        segments->first_apart = part->segment;
        }
        if (status == PW_OK)
                status = check(map->rooms.bytes, part, ret_err);
        if (status != PW_OK)
                return status;
        if (part->offset % PW_ROOM_ALIGN)
                return pw_error_set(ret_err, PW_PROTOCOL, "no room of segment %u begins at %lu", part->segment,
                                    (unsigned long)part->offset);
        return pw_segments_at(segments, part, ret_place, ret_err);
}

static enum pw_status lent_add(struct pw_segments *segments, uint32_t number, struct lent **ret_lent, struct pw_error *ret_err)
{
        struct lent *lent = calloc(1, sizeof *lent);
        enum pw_status status;

        if (!lent)
                return no_memory(number, ret_err);
        *lent = (struct lent){ .segment = number, .used = segments->in_use };
        status = map_segment(segments, number, &lent->at, ret_err);
        if (status == PW_OK && !pw_table_put(&segments->lent, number, lent))
                status = no_memory(number, ret_err);
        if (status != PW_OK) {
                pw_unmap(&lent->at.map);
                free(lent);
                return status;
        }
        segments->lent_bytes += lent->at.map.bytes;
        while (segments->lent.count > PW_SEGMENTS_LENT || segments->lent_bytes > PW_SEGMENTS_LENT_BYTES)
                if (!lent_drop_oldest(segments))
                        break;
        *ret_lent = lent;
        return PW_OK;
}

enum pw_status pw_segments_lend(struct pw_segments *segments, const struct pw_segments_range *part, uint64_t gang, uint8_t **ret_at,
                                struct pw_error *ret_err)
{
        struct lent *lent = pw_table_get(&segments->lent, part->segment);
        enum pw_status status = PW_OK;

        if (!lent)
                status = lent_add(segments, part->segment, &lent, ret_err);
        if (status != PW_OK)
                return status;
        lent->used = gang;
        status = check(lent->at.map.bytes, part, ret_err);
        if (status == PW_OK)
                *ret_at = lent->at.map.base + part->offset;
        return status;
}

/* --- pins --------------------------------------------------------------------------------------------------------------------- */

void pw_segments_pin(struct pw_segments *segments, const struct pw_segments_range *part, uint64_t gang)
{
        const struct lent *lent = pw_table_get(&segments->lent, part->segment);

        pw_pins_want(&segments->pins, &(struct pw_pins_wanted){ lent->at.map.base + part->offset, part->bytes,
                                                                lent->at.map.writable, gang, segments->in_use });
}

/* The part of the map that is in these pages. False: nothing. */
static bool is_in(const struct lent *lent, const struct pw_leaving_pages *pages, uint8_t **ret_at, uint64_t *ret_bytes)
{
        uint64_t begin = pw_max_u64(lent->at.offset, pages->offset);
        uint64_t end = pw_min_u64(lent->at.offset + lent->at.map.bytes, pages->offset + pages->bytes);

        if (lent->at.file != pages->file || begin >= end)
                return false;
        *ret_at = lent->at.map.base + (begin - lent->at.offset);
        *ret_bytes = end - begin;
        return true;
}

bool pw_segments_leaving_used(const struct pw_segments *segments, const struct pw_leaving *leaving, uint64_t since)
{
        const struct lent *lent;
        uint64_t bytes;
        uint8_t *at;

        for (uint32_t p = 0; !leaving->all && p < leaving->count; p++)
                for (uint32_t i = 0; (lent = pw_table_next(&segments->lent, &i));)
                        if (is_in(lent, &leaving->pages[p], &at, &bytes) && pw_pins_used(&segments->pins, at, bytes, since))
                                return true;
        return leaving->all;
}

void pw_segments_leave(struct pw_segments *segments, const struct pw_leaving *leaving)
{
        const struct lent *lent;
        uint64_t bytes;
        uint8_t *at;

        if (leaving->all)
                pw_pins_done(&segments->pins);
        for (uint32_t p = 0; p < leaving->count; p++)
                for (uint32_t i = 0; (lent = pw_table_next(&segments->lent, &i));)
                        if (is_in(lent, &leaving->pages[p], &at, &bytes))
                                pw_pins_drop(&segments->pins, at, bytes);
}

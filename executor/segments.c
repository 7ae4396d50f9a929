/* Mapping segments when they are first needed. */
#include "executor/segments.h"

#include "base/memory.h"

void pw_segments_init(struct pw_segments *segments, const struct pw_surroundings *around)
{
        *segments = (struct pw_segments){ .around = around };
}

void pw_segments_done(struct pw_segments *segments)
{
        for (uint32_t p = 0; p < PW_SEGMENTS_PAGE; p++) {
                if (!segments->pages[p])
                        continue;
                for (uint32_t i = 0; i < PW_SEGMENTS_PAGE; i++)
                        pw_unmap(&segments->pages[p][i]);
                free(segments->pages[p]);
                segments->pages[p] = NULL;
        }
}

enum pw_status pw_segments_fetch(struct pw_segments *segments, const struct pw_segments_part *part, uint8_t **ret_at,
                                 struct pw_error *ret_err)
{
        struct pw_map **page = &segments->pages[part->segment / PW_SEGMENTS_PAGE % PW_SEGMENTS_PAGE], *map;
        enum pw_status status = PW_OK;

        if (!*page)
                *page = calloc(PW_SEGMENTS_PAGE, sizeof **page);
        if (!*page)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to map segment %u", part->segment);
        map = &(*page)[part->segment % PW_SEGMENTS_PAGE];
        if (!map->base)
                status = segments->around->segment(segments->around->context, part->segment, map, ret_err);
        if (status != PW_OK)
                return status;
        if (!pw_segments_holds(map, part))
                return pw_error_set(ret_err, PW_PROTOCOL, "%lu bytes at %lu do not lie in segment %u, which has %lu",
                                    (unsigned long)part->bytes, (unsigned long)part->offset, part->segment,
                                    (unsigned long)map->bytes);
        *ret_at = map->base + part->offset;
        return PW_OK;
}

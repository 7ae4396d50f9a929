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

enum pw_status pw_segments_fetch(struct pw_segments *segments, uint32_t segment, uint8_t **ret_base, struct pw_error *ret_err)
{
        struct pw_map **page = &segments->pages[segment / PW_SEGMENTS_PAGE % PW_SEGMENTS_PAGE];
        struct pw_map map;
        enum pw_status status;

        if (!*page)
                *page = calloc(PW_SEGMENTS_PAGE, sizeof **page);
        if (!*page)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to map segment %u", segment);
        status = segments->around->segment(segments->around->context, segment, &map, ret_err);
        if (status != PW_OK)
                return status;
        (*page)[segment % PW_SEGMENTS_PAGE] = map;
        *ret_base = map.base;
        return PW_OK;
}

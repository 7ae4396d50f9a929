/* Pages of rooms: populated ones are booked, and stay idle with their segment until they are punched. */
#include "store/parts.h"

static bool punchable(const struct segment *segment) { return !segment->ended || segment->dead; }

void pw_pages_punch(struct pw_store *store, struct segment *segment, uint64_t offset, uint64_t bytes)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_PUNCH);

        if (action) {
                action->segment = segment->number;
                action->offset = offset;
                action->bytes = bytes;
        }
        segment->room_page_bytes -= bytes;
        store->free_bytes += (int64_t)bytes;
}

uint64_t pw_segment_charged(const struct segment *segment)
{
        return segment->room_page_bytes - (punchable(segment) ? segment->idle.bytes : 0);
}

void pw_pages_free(struct pw_store *store, struct segment *segment, uint64_t offset, uint64_t bytes)
{
        uint64_t charged = pw_segment_charged(segment);

        if (!bytes)
                return;
        if (!pw_idle_add(&segment->idle, offset, bytes))
                pw_pages_punch(store, segment, offset, bytes);
        else if (punchable(segment))
                store->idle_bytes += bytes;
        segment->tenant->host_bytes -= charged - pw_segment_charged(segment);
}

void pw_pages_punch_idle(struct pw_store *store, struct segment *segment, uint64_t bytes)
{
        struct idle_pages *idle = &segment->idle;

        while (bytes && idle->count) {
                struct idle_span *last = &idle->spans[idle->count - 1];
                uint64_t part = pw_min_u64(last->bytes, pw_round_up(pw_min_u64(bytes, last->bytes), PW_PAGE_BYTES));
                uint64_t offset = last->offset + last->bytes - part;

                if (!pw_idle_cut(idle, offset, part))
                        return;
                store->idle_bytes -= part;
                pw_pages_punch(store, segment, offset, part);
                bytes -= pw_min_u64(bytes, part);
        }
}

bool pw_pages_punch_any(struct pw_store *store, uint64_t free_bytes)
{
        struct segment *segment;

        for (uint32_t i = 0; store->free_bytes < (int64_t)free_bytes && (segment = pw_table_next(&store->segments, &i));)
                if (punchable(segment) && !segment->idle_told)
                        pw_pages_punch_idle(store, segment, (uint64_t)((int64_t)free_bytes - store->free_bytes));
        return store->free_bytes >= (int64_t)free_bytes;
}

/* Pages of rooms: populated ones are booked, and stay idle with their segment until they are punched. */
#include "store/parts.h"

/* Nobody has them; they are free once the system has them back. */
void pw_pages_leave(struct pw_store *store, struct tenant *tenant, uint64_t bytes)
{
        tenant->leaving_bytes += bytes;
        store->leaving_bytes += bytes;
}

void pw_store_pages_gone(struct pw_store *store, struct pw_store_owner *owner, uint64_t bytes, uint64_t now_us)
{
        struct tenant *tenant = (struct tenant *)owner;

        if (!bytes)
                return;
        store->now_us = now_us;
        tenant->leaving_bytes -= bytes;
        store->leaving_bytes -= bytes;
        store->free_bytes += (int64_t)bytes;
        pw_room_serve(store);
}

static bool punchable(const struct segment *segment) { return !segment->ended || segment->dead; }

void pw_pages_punch(struct pw_store *store, struct segment *segment, uint64_t offset, uint64_t bytes)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_PUNCH);

        segment->room_page_bytes -= bytes;
        if (!action) { /* they stay, and count as overhead when that is measured */
                store->free_bytes += (int64_t)bytes;
                return;
        }
        action->segment = segment->number;
        action->offset = offset;
        action->bytes = bytes;
        action->owner = (struct pw_store_owner *)segment->tenant;
        pw_pages_leave(store, segment->tenant, bytes);
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

/* Free, or about to be. */
static int64_t coming(const struct pw_store *store) { return store->free_bytes + (int64_t)store->leaving_bytes; }

/* Until so many are, of other segments than `but`. */
static void punch_others(struct pw_store *store, const struct segment *but, uint64_t bytes)
{
        struct segment *segment;

        for (uint32_t i = 0; coming(store) < (int64_t)bytes && (segment = pw_table_next(&store->segments, &i));)
                if (segment != but && punchable(segment) && !segment->idle_told)
                        pw_pages_punch_idle(store, segment, (uint64_t)((int64_t)bytes - coming(store)));
}

enum pw_status pw_pages_reach(struct pw_store *store, struct segment *segment, uint64_t bytes, uint64_t own_bytes)
{
        if (store->free_bytes >= (int64_t)bytes)
                return PW_OK;
        if (coming(store) + (int64_t)(store->idle_bytes - own_bytes) < (int64_t)bytes)
                return PW_NOT_READY;
        punch_others(store, segment, bytes);
        if (segment && coming(store) < (int64_t)bytes)
                pw_pages_punch_idle(store, segment, (uint64_t)((int64_t)bytes - coming(store)));
        return store->free_bytes >= (int64_t)bytes ? PW_OK : PW_BUSY;
}

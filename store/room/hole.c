/* Where nothing is in a segment: between what is granted and what is idle there. */
#include "store/parts.h"

#define LEAST_BYTES (64 * PW_KIB) /* smaller ones are left: a step each would take longer than they are worth */

struct teller { void (*hole)(void *context, uint64_t offset, uint64_t bytes); void *context; };

static int compare(const void *left, const void *right)
{
        const struct idle_span *one = left, *other = right;

        return (one->offset > other->offset) - (one->offset < other->offset);
}

static uint64_t tell(const struct teller *teller, uint64_t from, uint64_t until)
{
        if (until > from && until - from >= LEAST_BYTES)
                teller->hole(teller->context, from, until - from);
        return pw_max_u64(from, until);
}

/* All that has pages, in order. NULL: out of memory. */
static struct idle_span *populated(const struct segment *segment, uint32_t *ret_count)
{
        const struct extent *extent;
        struct idle_span *spans;
        uint32_t count = segment->idle.count;

        pw_list_each(&segment->extents, extent, struct extent, of_segment)
                count++;
        spans = malloc((count + 1) * sizeof *spans);
        if (!spans)
                return NULL;
        count = 0;
        for (uint32_t i = 0; i < segment->idle.count; i++)
                spans[count++] = segment->idle.spans[i];
        pw_list_each(&segment->extents, extent, struct extent, of_segment)
                if (extent->booked_bytes)
                        spans[count++] = (struct idle_span){ extent->room_offset, extent->span_bytes };
        qsort(spans, count, sizeof *spans, compare);
        *ret_count = count;
        return spans;
}

/* Its tenant's clients map it read-only; who reads a page that is not there makes it. */
static void each_of_futures(const struct segment *segment, const struct teller *teller)
{
        const struct pw_segment_layout *layout = &segment->layout;

        (void)tell(teller, pw_round_up(segment->slot_top * sizeof(struct pw_entry), PW_PAGE_BYTES), layout->names_offset);
        (void)tell(teller, layout->room_offset + pw_round_up(segment->body_top, PW_PAGE_BYTES), layout->bytes);
}

/* Entries are written as soon as they are granted, while rooms have their pages taken behind whatever was to be given back. Where
 * frozen values come, a lane gets one slot, and no other before what is copied into its room, likewise behind that. */
static uint64_t coming(const struct segment *segment)
{
        return segment->frozen && !segment->ended ? PW_LANES_MAX * sizeof(struct pw_entry) : 0;
}

void pw_store_each_hole(struct pw_store *store, uint32_t number, void (*hole)(void *context, uint64_t offset, uint64_t bytes),
                        void *context)
{
        struct segment *segment = pw_segment_of(store, number);
        struct teller teller = { hole, context };
        struct idle_span *spans;
        uint32_t count = 0;
        uint64_t at;

        if (segment && segment->layout.kind == PW_SEGMENT_FUTURES)
                each_of_futures(segment, &teller);
        spans = segment && (segment->ended || segment->frozen) ? populated(segment, &count) : NULL;
        if (!spans)
                return;
        at = tell(&teller, pw_round_up(segment->entry_page_bytes + coming(segment), PW_PAGE_BYTES), segment->layout.room_offset);
        for (uint32_t i = 0; i < count; i++) {
                (void)tell(&teller, at, spans[i].offset);
                at = pw_max_u64(at, spans[i].offset + spans[i].bytes);
        }
        (void)tell(&teller, at, segment->layout.bytes);
        free(spans);
}

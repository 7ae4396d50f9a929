/* Populated pages that no extent has: spans in order of offset. Few, since neighbours join. */
#include "store/parts.h"

/* The first span that ends behind `offset`. */
static uint32_t first_behind(const struct idle_pages *idle, uint64_t offset)
{
        uint32_t low = 0, high = idle->count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (idle->spans[middle].offset + idle->spans[middle].bytes > offset)
                        high = middle;
                else
                        low = middle + 1;
        }
        return low;
}

static void remove_span(struct idle_pages *idle, uint32_t i)
{
        memmove(idle->spans + i, idle->spans + i + 1, (idle->count - i - 1) * sizeof *idle->spans);
        idle->count--;
}

static void insert_span(struct idle_pages *idle, uint32_t i, struct idle_span span)
{
        memmove(idle->spans + i + 1, idle->spans + i, (idle->count - i) * sizeof *idle->spans);
        idle->spans[i] = span;
        idle->count++;
}

bool pw_idle_add(struct idle_pages *idle, uint64_t offset, uint64_t bytes)
{
        uint32_t i = first_behind(idle, offset);
        bool before = i && idle->spans[i - 1].offset + idle->spans[i - 1].bytes == offset;
        bool behind = i < idle->count && idle->spans[i].offset == offset + bytes;

        if (!pw_grow((void **)&idle->spans, &idle->capacity, idle->count + 1, sizeof *idle->spans))
                return false;
        idle->bytes += bytes;
        if (before && behind) {
                idle->spans[i - 1].bytes += bytes + idle->spans[i].bytes;
                remove_span(idle, i);
        } else if (before) {
                idle->spans[i - 1].bytes += bytes;
        } else if (behind) {
                idle->spans[i].offset = offset;
                idle->spans[i].bytes += bytes;
        } else {
                insert_span(idle, i, (struct idle_span){ offset, bytes });
        }
        return true;
}

uint64_t pw_idle_overlap(const struct idle_pages *idle, uint64_t offset, uint64_t bytes)
{
        uint64_t sum = 0;

        for (uint32_t i = first_behind(idle, offset); i < idle->count && idle->spans[i].offset < offset + bytes; i++) {
                const struct idle_span *span = &idle->spans[i];

                sum += pw_min_u64(span->offset + span->bytes, offset + bytes) - pw_max_u64(span->offset, offset);
        }
        return sum;
}

bool pw_idle_cut(struct idle_pages *idle, uint64_t offset, uint64_t bytes)
{
        uint64_t end = offset + bytes;
        uint32_t i = first_behind(idle, offset);

        if (!pw_grow((void **)&idle->spans, &idle->capacity, idle->count + 1, sizeof *idle->spans))
                return false;
        while (i < idle->count && idle->spans[i].offset < end) {
                struct idle_span span = idle->spans[i];
                uint64_t span_end = span.offset + span.bytes;

                idle->bytes -= pw_min_u64(span_end, end) - pw_max_u64(span.offset, offset);
                remove_span(idle, i);
                if (span.offset < offset)
                        insert_span(idle, i++, (struct idle_span){ span.offset, offset - span.offset });
                if (span_end > end)
                        insert_span(idle, i++, (struct idle_span){ end, span_end - end });
        }
        return true;
}

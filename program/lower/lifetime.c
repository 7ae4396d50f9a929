/* Lifetimes and rooms: which values of a slice share which part of its block.
 *
 * A value lives from its writer to its last reader, in program order. Rooms are placed greedily, the largest first,
 * each into the smallest gap between those that live at the same time (Pisarchyk and Lee, "Efficient memory management
 * for deep neural net inference", 2020, greedy by size). That looks at each pair that lives together; where thousands do,
 * rooms are taken and given back in the order of the nodes instead. Results have rooms of their own. */
#include "program/lower/lowering.h"

#include "base/memory.h"
#include "base/range.h"
#include "program/lower/heights.h"

/* Pairs that are looked at for the rooms of a program: a tenth of a second. */
#define PROBES_MAX (1u << 21)
/* Nobody has more; offsets and sizes add up without overflow. */
#define BLOCK_BYTES_MAX (UINT64_MAX / 2)

/* What lies in the block of one slice. */
struct block {
        struct pw_low_value *values;
        uint32_t *items;           /* value indexes, in the order of their writers */
        uint32_t *by_size;         /* places in `items` */
        uint32_t *near;            /* of the value being placed: those that are placed and live at the same time */
        uint32_t count;
        uint32_t *probes;           /* of all slices together */
        struct pw_heights ends;    /* per item that is placed: its last use + 1 */
        uint64_t bytes;
};

static int by_writer(const void *a, const void *b, void *context)
{
        const struct pw_low_value *values = context;
        uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

        if (values[first].writer != values[second].writer)
                return values[first].writer < values[second].writer ? -1 : 1;
        return first < second ? -1 : first > second;
}

/* The larger room first; then who is written first. */
static int by_room(const void *a, const void *b, void *context)
{
        const struct block *block = context;
        uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
        uint64_t first_bytes = block->values[block->items[first]].shard_bytes;
        uint64_t second_bytes = block->values[block->items[second]].shard_bytes;

        if (first_bytes != second_bytes)
                return first_bytes > second_bytes ? -1 : 1;
        return first < second ? -1 : first > second;
}

static int by_offset(const void *a, const void *b, void *context)
{
        const struct pw_low_value *values = context;
        uint64_t first = values[*(const uint32_t *)a].offset, second = values[*(const uint32_t *)b].offset;

        return first < second ? -1 : first > second;
}

static enum pw_status too_large(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_TOO_LARGE, "the values of the program have more bytes than 64 bits can count");
}

/* --- the largest first ----------------------------------------------------------------------------------------------- */

/* Those that live at the same time as `value`, by offset. Returns how many. */
static uint32_t find_near(struct block *block, const struct pw_low_value *value)
{
        uint32_t count = 0;

        for (uint32_t i = 0; (i = pw_heights_next(&block->ends, i, (uint64_t)value->writer + 1)) < block->count; i++) {
                if (block->values[block->items[i]].writer > value->last_use)
                        break;
                block->near[count++] = block->items[i];
        }
        *block->probes += count + 1;
        if (count > 1)
                qsort_r(block->near, count, sizeof *block->near, by_offset, block->values);
        return count;
}

/* The smallest gap that holds `value`, else the end of what is there. */
static uint64_t find_gap(struct block *block, const struct pw_low_value *value)
{
        uint64_t room = pw_low_room(value), end = 0, best = UINT64_MAX, offset = 0;
        uint32_t count = find_near(block, value);

        for (uint32_t i = 0; i < count; i++) {
                const struct pw_low_value *other = &block->values[block->near[i]];
                if (other->offset > end && other->offset - end >= room && other->offset - end < best) {
                        best = other->offset - end;
                        offset = end;
                }
                end = pw_max_u64(end, other->offset + pw_low_room(other));
        }
        return best == UINT64_MAX ? end : offset;
}

static enum pw_status place(struct block *block, uint32_t item, struct pw_error *ret_err)
{
        struct pw_low_value *value = &block->values[block->items[item]];
        uint64_t end;

        value->offset = find_gap(block, value);
        if (!pw_add_ok(value->offset, pw_low_room(value), &end) || end > BLOCK_BYTES_MAX)
                return too_large(ret_err);
        pw_heights_raise(&block->ends, item, item, (uint64_t)value->last_use + 1);
        block->bytes = pw_max_u64(block->bytes, end);
        return PW_OK;
}

/* PW_NOT_READY: too many live together to look at them all. */
static enum pw_status place_by_size(struct block *block, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < block->count; i++)
                block->by_size[i] = i;
        qsort_r(block->by_size, block->count, sizeof *block->by_size, by_room, block);
        if (!pw_heights_init(&block->ends, block->count))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t i = 0; i < block->count && status == PW_OK; i++)
                status = *block->probes > PROBES_MAX ? PW_NOT_READY : place(block, block->by_size[i], ret_err);
        pw_heights_done(&block->ends);
        return status;
}

/* --- in the order of the nodes ---------------------------------------------------------------------------------------- */

static int by_last_use(const void *a, const void *b, void *context)
{
        const struct block *block = context;
        uint32_t first = block->values[block->items[*(const uint32_t *)a]].last_use;
        uint32_t second = block->values[block->items[*(const uint32_t *)b]].last_use;

        return first < second ? -1 : first > second;
}

static enum pw_status place_by_time(struct block *block, struct pw_error *ret_err)
{
        struct pw_range *rooms = pw_range_new(BLOCK_BYTES_MAX, PW_LINE_BYTES);
        enum pw_status status = rooms ? PW_OK : pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        uint32_t ended = 0;

        qsort_r(block->by_size, block->count, sizeof *block->by_size, by_last_use, block);
        block->bytes = 0;
        for (uint32_t i = 0; i < block->count && status == PW_OK; i++) {
                struct pw_low_value *value = &block->values[block->items[i]], *old;
                while ((old = &block->values[block->items[block->by_size[ended]]])->last_use < value->writer) {
                        pw_range_give(rooms, old->offset, pw_low_room(old));
                        ended++;
                }
                if (!pw_range_take(rooms, pw_low_room(value), &value->offset))
                        status = too_large(ret_err);
                block->bytes = pw_max_u64(block->bytes, value->offset + pw_low_room(value));
        }
        pw_range_free(rooms);
        return status;
}

/* --- slices ------------------------------------------------------------------------------------------------------------ */

static enum pw_status lay_out(struct pw_lowering *low, struct block *block, uint32_t slice, struct pw_error *ret_err)
{
        enum pw_status status;

        for (uint32_t i = 0; i < low->value_count; i++)
                if (low->values[i].block == slice && low->values[i].result == PW_NODE_NONE)
                        block->items[block->count++] = i;
        qsort_r(block->items, block->count, sizeof *block->items, by_writer, low->values);
        status = place_by_size(block, ret_err);
        if (status == PW_NOT_READY)
                status = place_by_time(block, ret_err);
        low->block_bytes[slice] = block->bytes;
        return status;
}

enum pw_status pw_low_lifetimes(struct pw_lowering *low, struct pw_error *ret_err)
{
        pw_auto_free uint32_t *lists = calloc(3, ((size_t)low->value_count + 1) * sizeof *lists);
        enum pw_status status = PW_OK;
        uint32_t probes = 0;

        if (!lists)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t slice = 0; slice < low->graph->slice_count && status == PW_OK; slice++) {
                struct block block = { .values = low->values,
                                       .items = lists,
                                       .by_size = lists + low->value_count + 1,
                                       .near = lists + 2 * ((size_t)low->value_count + 1),
                                       .probes = &probes };
                status = lay_out(low, &block, slice, ret_err);
        }
        return status;
}

/* Lifetimes and rooms: which values of a slice share which part of its block.
 *
 * A value lives from its writer to its last reader, in program order. Rooms are placed greedily, the largest first,
 * each into the smallest gap between those that live at the same time (Pisarchyk and Lee, "Efficient memory management
 * for deep neural net inference", 2020, greedy by size). Results have rooms of their own. */
#include "scheduler/lowering.h"

#include "base/memory.h"

/* What lies in the block of one slice: value indexes, and those placed already by offset. */
struct block {
        struct pw_low_value *values;
        uint32_t *todo, *placed;
        uint32_t todo_count, placed_count;
        uint64_t bytes;
};

/* The larger room first; then who is written first. */
static int by_room(const void *a, const void *b, void *context)
{
        const struct pw_low_value *values = context;
        uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

        if (values[first].shard_bytes != values[second].shard_bytes)
                return values[first].shard_bytes > values[second].shard_bytes ? -1 : 1;
        if (values[first].writer != values[second].writer)
                return values[first].writer < values[second].writer ? -1 : 1;
        return first < second ? -1 : first > second;
}

static bool live_together(const struct pw_low_value *a, const struct pw_low_value *b)
{
        return a->writer <= b->last_use && b->writer <= a->last_use;
}

/* The smallest gap that holds `value`, else the end of what is there. */
static uint64_t find_gap(const struct block *block, const struct pw_low_value *value)
{
        uint64_t room = pw_low_room(value), end = 0, best = UINT64_MAX, offset = 0;

        for (uint32_t i = 0; i < block->placed_count; i++) {
                const struct pw_low_value *other = &block->values[block->placed[i]];
                if (!live_together(value, other))
                        continue;
                if (other->offset > end && other->offset - end >= room && other->offset - end < best) {
                        best = other->offset - end;
                        offset = end;
                }
                end = pw_max_u64(end, other->offset + pw_low_room(other));
        }
        return best == UINT64_MAX ? end : offset;
}

static enum pw_status place(struct block *block, uint32_t index, struct pw_error *ret_err)
{
        struct pw_low_value *value = &block->values[index];
        uint32_t at = block->placed_count;
        uint64_t end;

        value->offset = find_gap(block, value);
        if (!pw_add_ok(value->offset, pw_low_room(value), &end) || end > UINT64_MAX / 2)
                return pw_error_set(ret_err, PW_TOO_LARGE,
                                    "the values of the program have more bytes than 64 bits can count");
        for (; at > 0 && block->values[block->placed[at - 1]].offset > value->offset; at--)
                block->placed[at] = block->placed[at - 1];
        block->placed[at] = index;
        block->placed_count++;
        block->bytes = pw_max_u64(block->bytes, end);
        return PW_OK;
}

enum pw_status pw_low_lifetimes(struct pw_lowering *low, struct pw_error *ret_err)
{
        pw_auto_free uint32_t *todo = calloc((size_t)low->value_count + 1, sizeof *todo);
        pw_auto_free uint32_t *placed = calloc((size_t)low->value_count + 1, sizeof *placed);

        if (!todo || !placed)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t slice = 0; slice < low->graph->slice_count; slice++) {
                struct block block = { .values = low->values, .todo = todo, .placed = placed };
                for (uint32_t i = 0; i < low->value_count; i++)
                        if (low->values[i].slice == slice && low->values[i].result == PW_NODE_NONE)
                                todo[block.todo_count++] = i;
                qsort_r(todo, block.todo_count, sizeof *todo, by_room, low->values);
                for (uint32_t i = 0; i < block.todo_count; i++) {
                        enum pw_status status = place(&block, todo[i], ret_err);
                        if (status != PW_OK)
                                return status;
                }
                low->block_bytes[slice] = block.bytes;
        }
        return PW_OK;
}

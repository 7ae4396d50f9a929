/* Waits: what must be done on all of its members before any member of a node may start.
 *
 * A device runs its nodes in order, so only reads by other devices are a danger: a room may be written again when the
 * transfers that read it from elsewhere are done. Walking over the nodes, those reads are kept until a node of the same
 * slice waits for them; all later writers of the room come behind that one on every device. Values that travel in the
 * marks are not read; but those of a stage are in flight until they have arrived.
 *
 * For each block that is read and each slice that reads there is one row: the places of the block's rooms, each as high as the
 * last node that read there. What a slice waited for of another covers all earlier reads.
 *
 * A run that takes over the blocks of another one comes behind that one's reads just so, and all of them are there as it starts:
 * the same walk once more. The blocks of slices and of stages may be of different runs, so there what was waited for covers
 * reads of the same block alone. On its own devices it comes behind the last node that uses a room, in whatever way. */
#include "program/lower/lowering.h"

#include "base/memory.h"
#include "program/lower/heights.h"

/* Where rooms of a block begin and end, sorted: the place of a byte is that of the last edge before it. Results lie behind the
 * block of their slice. */
struct edges {
        uint64_t *offsets;
        uint32_t count;
};

/* Reads of rooms in one block by nodes of one slice (another one, or that of the block on other devices). */
struct reads {
        uint32_t reader_slice;
        uint32_t done;           /* what was read by nodes before this one is no danger */
        struct pw_heights nodes; /* per place: the node that read it last, + 1 */
        struct reads *next;
};

struct block {
        struct edges edges;
        struct reads *reads;
        struct pw_heights uses; /* per place: the last use of the values that lie there, + 1; no leaves: none lies there */
};

struct waits {
        struct pw_lowering *low;
        struct block *blocks;   /* of slices, then of stages */
        uint32_t block_count;
        uint32_t *done;         /* per slice, then per slice that reads there: as in `reads`, of all of the first one's blocks */
        uint64_t *offsets;      /* of all edges */
};

static uint32_t *done_of(const struct waits *waits, uint32_t slice, uint32_t reader_slice)
{
        return &waits->done[(size_t)slice * waits->low->graph->slice_count + reader_slice];
}

/* Blocks lie one behind the other: `low` keeps where each begins. Results lie apart, behind every block: a place for each. */
#define RESULTS_OFFSET (UINT64_MAX / 2)
static uint64_t start_of(const struct pw_lowering *low, const struct pw_low_value *value)
{
        return value->result == PW_NODE_NONE ? low->block_starts[value->block] + value->offset : RESULTS_OFFSET + value->result;
}

static uint64_t end_of(const struct pw_lowering *low, const struct pw_low_value *value)
{
        return start_of(low, value) + (value->result == PW_NODE_NONE ? pw_low_room(value) : 1);
}

static enum pw_status find_starts(struct pw_lowering *low, struct pw_error *ret_err)
{
        uint64_t at = 0;

        for (uint32_t b = 0; b < low->graph->slice_count + low->graph->stage_count; b++) {
                low->block_starts[b] = at;
                if (!pw_add_ok(at, low->block_bytes[b], &at) || at > RESULTS_OFFSET)
                        return pw_error_set(ret_err, PW_TOO_LARGE,
                                            "the values of the program have more bytes than 64 bits can count");
        }
        return PW_OK;
}

/* --- places --------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
        uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

        return first < second ? -1 : first > second;
}

static void sort_edges(struct edges *edges)
{
        uint32_t kept = 0;

        qsort(edges->offsets, edges->count, sizeof *edges->offsets, compare);
        for (uint32_t i = 0; i < edges->count; i++)
                if (!kept || edges->offsets[kept - 1] != edges->offsets[i])
                        edges->offsets[kept++] = edges->offsets[i];
        edges->count = kept;
}

static void find_edges(struct waits *waits)
{
        const struct pw_lowering *low = waits->low;
        uint64_t *next = waits->offsets;

        for (uint32_t i = 0; i < low->value_count; i++)
                waits->blocks[low->values[i].block].edges.count += 2;
        for (uint32_t b = 0; b < waits->block_count; b++) {
                waits->blocks[b].edges.offsets = next;
                next += waits->blocks[b].edges.count;
                waits->blocks[b].edges.count = 0;
        }
        for (uint32_t i = 0; i < low->value_count; i++) {
                struct edges *edges = &waits->blocks[low->values[i].block].edges;
                edges->offsets[edges->count++] = start_of(low, &low->values[i]);
                edges->offsets[edges->count++] = end_of(low, &low->values[i]);
        }
        for (uint32_t b = 0; b < waits->block_count; b++)
                sort_edges(&waits->blocks[b].edges);
}

static uint32_t place_of(const struct edges *edges, uint64_t offset)
{
        const uint64_t *found = bsearch(&offset, edges->offsets, edges->count, sizeof offset, compare);

        return (uint32_t)(found - edges->offsets);
}

struct places { uint32_t first, last; };
static struct places places_of(const struct waits *waits, const struct pw_low_value *value)
{
        const struct edges *edges = &waits->blocks[value->block].edges;

        return (struct places){ place_of(edges, start_of(waits->low, value)), place_of(edges, end_of(waits->low, value)) - 1 };
}

/* --- reads ---------------------------------------------------------------------------------------------------------- */

/* Made if there are none yet; NULL: out of memory. */
static struct reads *reads_by(struct block *block, uint32_t reader_slice)
{
        struct reads *reads = block->reads;

        while (reads && reads->reader_slice != reader_slice)
                reads = reads->next;
        if (reads || !(reads = calloc(1, sizeof *reads)))
                return reads;
        if (!pw_heights_init(&reads->nodes, block->edges.count)) {
                free(reads);
                return NULL;
        }
        reads->reader_slice = reader_slice;
        reads->next = block->reads;
        block->reads = reads;
        return reads;
}

/* From now on every device of the slice is behind node `reader` of the same run on every device of the reading one. */
static void forget(struct waits *waits, uint32_t slice, uint32_t reader_slice, uint32_t reader)
{
        uint32_t *done = done_of(waits, slice, reader_slice);

        if (*done <= reader)
                *done = reader + 1;
}

/* `count`: of the node's waits, or of what it comes behind. */
static enum pw_status add_wait(struct waits *waits, uint32_t *count, uint32_t on, struct pw_error *ret_err)
{
        struct pw_low_node *awaited = &waits->low->nodes[on];

        if (awaited->image.seq_slot == PW_NO_SEQ) {
                if (waits->low->seq_count >= PW_NO_SEQ)
                        return pw_error_set(ret_err, PW_TOO_LARGE,
                                            "the program has more than %u transfers to be waited for", PW_NO_SEQ);
                awaited->image.seq_slot = (uint16_t)waits->low->seq_count++;
        }
        ++*count;
        return pw_low_add_link(waits->low, on, ret_err);
}

/* Who read where `value` lies last, of those that are a danger. NULL: nobody. */
static struct reads *last_read(const struct waits *waits, const struct pw_low_value *value, uint32_t *ret_reader)
{
        struct places places = places_of(waits, value);
        struct reads *last = NULL;
        uint64_t highest = 0;

        for (struct reads *reads = waits->blocks[value->block].reads; reads; reads = reads->next) {
                uint64_t height = pw_heights_highest(&reads->nodes, places.first, places.last);
                if (height > reads->done && height > *done_of(waits, value->slice, reads->reader_slice) && height > highest) {
                        highest = height;
                        last = reads;
                }
        }
        *ret_reader = (uint32_t)highest - 1;
        return last;
}

static enum pw_status wait_for_room(struct waits *waits, struct pw_low_node *node, const struct pw_low_value *value,
                                    struct pw_error *ret_err)
{
        struct reads *reads;
        uint32_t reader;

        while ((reads = last_read(waits, value, &reader))) {
                enum pw_status status = add_wait(waits, &node->image.wait_count, reader, ret_err);
                if (status != PW_OK)
                        return status;
                forget(waits, value->slice, reads->reader_slice, reader);
        }
        return PW_OK;
}

/* Do other devices read the node's source in its room? Then remember it. */
static enum pw_status keep_read(struct waits *waits, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_low_node *node = &waits->low->nodes[index];
        const struct pw_low_value *value;
        struct reads *reads;
        struct places places;

        if (node->image.kind != PW_NODE_TRANSFER || node->image.phase == PW_PHASE_SEND || !node->reach.other_device)
                return PW_OK;
        value = &waits->low->values[pw_low_inputs(waits->low, node)[0]];
        if (node->image.eager && value->block == value->slice)
                return PW_OK;
        reads = reads_by(&waits->blocks[value->block], node->image.slice);
        if (!reads)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        places = places_of(waits, value);
        pw_heights_raise(&reads->nodes, places.first, places.last, (uint64_t)index + 1);
        return PW_OK;
}

/* A RECV comes behind its SEND on every device, and so does what its slice does later. */
static enum pw_status wait_for_send(struct waits *waits, struct pw_low_node *node, struct pw_error *ret_err)
{
        forget(waits, node->image.slice, node->image.source_slice, node->image.send_node);
        return add_wait(waits, &node->image.wait_count, node->image.send_node, ret_err);
}

static enum pw_status node_waits(struct waits *waits, uint32_t index, struct pw_error *ret_err)
{
        struct pw_low_node *node = &waits->low->nodes[index];
        enum pw_status status = PW_OK;

        node->image.waits = waits->low->link_count;
        if (node->image.send_node != PW_NODE_NONE)
                status = wait_for_send(waits, node, ret_err);
        for (uint32_t i = 0; i < node->image.output_count && status == PW_OK; i++)
                status = wait_for_room(waits, node, &waits->low->values[pw_low_outputs(waits->low, node)[i]], ret_err);
        return status == PW_OK ? keep_read(waits, index, ret_err) : status;
}

/* --- behind another run ------------------------------------------------------------------------------------------------ */

static enum pw_status find_uses(struct waits *waits, struct pw_error *ret_err)
{
        uint32_t slices = waits->low->graph->slice_count;

        for (uint32_t i = 0; i < waits->low->value_count; i++) {
                const struct pw_low_value *value = &waits->low->values[i];
                struct block *block = &waits->blocks[value->block];
                struct places places = places_of(waits, value);
                if (!block->uses.leaves && !pw_heights_init(&block->uses, block->edges.count))
                        return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
                pw_heights_raise(&block->uses, places.first, places.last, (uint64_t)value->last_use + 1);
        }
        memset(waits->done, 0, (size_t)slices * slices * sizeof *waits->done);
        return PW_OK;
}

static enum pw_status behind_room(struct waits *waits, struct pw_low_node *node, const struct pw_low_value *value,
                                  struct pw_error *ret_err)
{
        struct places places = places_of(waits, value);
        struct reads *reads;
        uint32_t reader, last = (uint32_t)pw_heights_highest(&waits->blocks[value->block].uses, places.first, places.last) - 1;

        node->image.passes = last > node->image.passes ? last : node->image.passes;
        while ((reads = last_read(waits, value, &reader))) {
                enum pw_status status = add_wait(waits, &node->image.behind_count, reader, ret_err);
                if (status != PW_OK)
                        return status;
                reads->done = reader + 1;
        }
        return PW_OK;
}

/* Results are rooms of the run's own. */
static enum pw_status node_behind(struct waits *waits, uint32_t index, struct pw_error *ret_err)
{
        struct pw_low_node *node = &waits->low->nodes[index];
        enum pw_status status = PW_OK;

        node->image.behind = waits->low->link_count;
        node->image.passes = index;
        for (uint32_t i = 0; i < node->image.output_count && status == PW_OK; i++) {
                const struct pw_low_value *value = &waits->low->values[pw_low_outputs(waits->low, node)[i]];
                if (value->result == PW_NODE_NONE)
                        status = behind_room(waits, node, value, ret_err);
        }
        return status;
}

static void waits_done(struct waits *waits)
{
        for (uint32_t b = 0; waits->blocks && b < waits->block_count; b++) {
                for (struct reads *reads = waits->blocks[b].reads, *next; reads; reads = next) {
                        next = reads->next;
                        pw_heights_done(&reads->nodes);
                        free(reads);
                }
                pw_heights_done(&waits->blocks[b].uses);
        }
        free(waits->blocks);
        free(waits->done);
        free(waits->offsets);
}

enum pw_status pw_low_waits(struct pw_lowering *low, struct pw_error *ret_err)
{
        uint32_t slices = low->graph->slice_count;
        __attribute__((cleanup(waits_done))) struct waits waits = { .low = low, .block_count = slices + low->graph->stage_count };
        enum pw_status status = find_starts(low, ret_err);

        waits.blocks = calloc((size_t)waits.block_count + 1, sizeof *waits.blocks);
        waits.done = calloc((size_t)slices * slices + 1, sizeof *waits.done);
        waits.offsets = calloc(2 * (size_t)low->value_count + 1, sizeof *waits.offsets);
        if (!waits.blocks || !waits.done || !waits.offsets)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        if (status == PW_OK)
                find_edges(&waits);
        for (uint32_t i = 0; i < low->node_count && status == PW_OK; i++)
                status = node_waits(&waits, i, ret_err);
        if (status == PW_OK)
                status = find_uses(&waits, ret_err);
        for (uint32_t i = 0; i < low->node_count && status == PW_OK; i++)
                status = node_behind(&waits, i, ret_err);
        return status;
}

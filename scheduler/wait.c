/* Waits: what must be done on all of its members before any member of a node may start.
 *
 * A device runs its nodes in order, so only reads by other devices are a danger: a room may be written again when the
 * transfers that read it from elsewhere are done. Walking over the nodes, those reads are kept until a node of the same
 * slice waits for them; all later writers of the room come behind that one on every device. Values that travel in the
 * marks are not read. */
#include "scheduler/lowering.h"

#include "base/memory.h"

/* Other devices read the room [start, end) of slice `slice` (of result `result`, or of its block) in node `reader`. */
struct pending {
        uint64_t start, end;
        uint32_t slice, result, reader, reader_slice;
};

struct waits {
        struct pw_lowering *low;
        struct pending *pending;
        uint32_t count, capacity;
};

static struct pending room_of(const struct pw_low_value *value)
{
        bool block = value->result == PW_NODE_NONE;

        return (struct pending){ .start = block ? value->offset : 0,
                                 .end = (block ? value->offset : 0) + pw_low_room(value),
                                 .slice = value->slice,
                                 .result = value->result };
}

static bool overlap(const struct pending *a, const struct pending *b)
{
        return a->slice == b->slice && a->result == b->result && a->start < b->end && b->start < a->end;
}

/* From now on every device of `slice` is behind node `reader` on every device of `reader_slice`. */
static void forget(struct waits *waits, uint32_t slice, uint32_t reader_slice, uint32_t reader)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < waits->count; i++) {
                const struct pending *pending = &waits->pending[i];
                if (pending->slice != slice || pending->reader_slice != reader_slice || pending->reader > reader)
                        waits->pending[kept++] = *pending;
        }
        waits->count = kept;
}

static enum pw_status add_wait(struct waits *waits, struct pw_low_node *node, uint32_t on, struct pw_error *ret_err)
{
        struct pw_low_node *awaited = &waits->low->nodes[on];

        if (awaited->image.seq_slot == PW_NO_SEQ) {
                if (waits->low->seq_count >= PW_NO_SEQ)
                        return pw_error_set(ret_err, PW_TOO_LARGE,
                                            "the program has more than %u transfers to be waited for", PW_NO_SEQ);
                awaited->image.seq_slot = (uint16_t)waits->low->seq_count++;
        }
        node->image.wait_count++;
        return pw_low_add_link(waits->low, on, ret_err);
}

/* The last read that is pending of the room, or NULL. */
static const struct pending *last_read(const struct waits *waits, const struct pending *room)
{
        const struct pending *last = NULL;

        for (uint32_t i = 0; i < waits->count; i++)
                if (overlap(&waits->pending[i], room) && (!last || waits->pending[i].reader > last->reader))
                        last = &waits->pending[i];
        return last;
}

static enum pw_status wait_for_rooms(struct waits *waits, struct pw_low_node *node, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < node->image.output_count; i++) {
                struct pending room = room_of(&waits->low->values[pw_low_outputs(waits->low, node)[i]]);
                const struct pending *last;
                while ((last = last_read(waits, &room))) {
                        uint32_t reader = last->reader;
                        enum pw_status status = add_wait(waits, node, reader, ret_err);
                        if (status != PW_OK)
                                return status;
                        forget(waits, node->image.slice, last->reader_slice, reader);
                }
        }
        return PW_OK;
}

/* Do other devices read the node's source in its room? Then remember it. */
static enum pw_status keep_read(struct waits *waits, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_low_node *node = &waits->low->nodes[index];
        struct pending *pending;

        if (node->image.kind != PW_NODE_TRANSFER || node->image.phase == PW_PHASE_SEND || node->image.eager ||
            !node->reach.other_device)
                return PW_OK;
        if (!pw_grow((void **)&waits->pending, &waits->capacity, waits->count + 1, sizeof *waits->pending))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        pending = &waits->pending[waits->count++];
        *pending = room_of(&waits->low->values[pw_low_inputs(waits->low, node)[0]]);
        pending->reader = index;
        pending->reader_slice = node->image.slice;
        return PW_OK;
}

static enum pw_status node_waits(struct waits *waits, uint32_t index, struct pw_error *ret_err)
{
        struct pw_low_node *node = &waits->low->nodes[index];
        enum pw_status status = PW_OK;

        node->image.waits = waits->low->link_count;
        if (node->image.send_node != PW_NODE_NONE) {
                status = add_wait(waits, node, node->image.send_node, ret_err);
                forget(waits, node->image.slice, node->image.source_slice, node->image.send_node);
        }
        if (status == PW_OK)
                status = wait_for_rooms(waits, node, ret_err);
        return status == PW_OK ? keep_read(waits, index, ret_err) : status;
}

enum pw_status pw_low_waits(struct pw_lowering *low, struct pw_error *ret_err)
{
        struct waits waits = { .low = low };
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < low->node_count && status == PW_OK; i++)
                status = node_waits(&waits, i, ret_err);
        free(waits.pending);
        return status;
}

/* Rooms of stages: outputs in flight lie in as many rooms as their stage has credits.
 *
 * Each call that takes a credit has one room for all of its outputs that others read, in the order of the nodes: the one that was
 * given back longest ago. A stage that takes more credits in a run than its quota has them all in the block of one run; another
 * has as many blocks, of consecutive runs, as its quota allows. */
#include "program/lower/lowering.h"

#include "base/memory.h"

/* What a node of the stage takes a credit for. */
static bool in_flight(const struct pw_lowering *low, uint32_t node, const struct pw_low_value *value)
{
        const struct pw_graph_call *call = low->nodes[node].call;

        return call && low->takes[call - low->graph->calls] && value->result == PW_NODE_NONE && !value->is_scratch;
}

struct room { uint32_t free_at, index; }; /* free_at: 1 + the last node that uses what lies there */

struct rooms {
        const uint32_t *nodes; /* of the stage, those that take a credit */
        uint32_t node_count;
        uint64_t bytes;        /* of a room */
        uint32_t count;        /* rooms */
        struct room *heap;     /* the one given back longest ago on top */
};

/* The outputs of a node that are in flight: their bytes together and their last use. 0: none. */
static uint64_t outputs_of(const struct pw_lowering *low, uint32_t node, uint32_t *ret_last)
{
        const uint32_t *outputs = pw_low_outputs(low, &low->nodes[node]);
        uint64_t bytes = 0;

        *ret_last = node;
        for (uint32_t i = 0; i < low->nodes[node].image.output_count; i++) {
                const struct pw_low_value *value = &low->values[outputs[i]];
                if (!in_flight(low, node, value))
                        continue;
                bytes += pw_low_room(value);
                *ret_last = value->last_use > *ret_last ? value->last_use : *ret_last;
        }
        return bytes;
}

/* Nodes of stages that take a credit, stage by stage, in their order. Own: *ret_nodes is the caller's; first[s]: where those of
 * stage `s` begin. */
static bool find_nodes(const struct pw_lowering *low, uint32_t *first, uint32_t **ret_nodes)
{
        uint32_t *nodes = calloc((size_t)low->node_count + 1, sizeof *nodes), last;

        if (!nodes)
                return false;
        for (uint32_t n = 0; n < low->node_count; n++)
                if (low->nodes[n].call && low->nodes[n].call->stage && outputs_of(low, n, &last))
                        first[low->nodes[n].call->stage + 1]++;
        for (uint32_t s = 2; s < low->graph->stage_count + 2; s++)
                first[s] += first[s - 1];
        for (uint32_t n = 0; n < low->node_count; n++)
                if (low->nodes[n].call && low->nodes[n].call->stage && outputs_of(low, n, &last))
                        nodes[first[low->nodes[n].call->stage]++] = n;
        *ret_nodes = nodes;
        return true;
}

static enum pw_status measure(const struct pw_lowering *low, uint32_t stage, struct rooms *rooms, struct pw_error *ret_err)
{
        uint32_t last;

        for (uint32_t i = 0; i < rooms->node_count; i++)
                rooms->bytes = pw_max_u64(rooms->bytes, outputs_of(low, rooms->nodes[i], &last));
        rooms->count = rooms->node_count < low->graph->stages[stage].quota ? rooms->node_count : low->graph->stages[stage].quota;
        if (rooms->count && rooms->bytes > (UINT64_MAX / 4) / rooms->count)
                return pw_error_set(ret_err, PW_TOO_LARGE, "the values of the program have more bytes than 64 bits can count");
        rooms->heap = calloc((size_t)rooms->count + 1, sizeof *rooms->heap);
        for (uint32_t i = 0; rooms->heap && i < rooms->count; i++)
                rooms->heap[i].index = i;
        return rooms->heap ? PW_OK : pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
}

static bool is_before(const struct room *a, const struct room *b)
{
        return a->free_at != b->free_at ? a->free_at < b->free_at : a->index < b->index;
}

/* The room on top is in use until `free_at`. */
static void heap_take(struct rooms *rooms, uint32_t free_at)
{
        struct room taken = { free_at, rooms->heap[0].index };
        uint32_t at = 0;

        for (uint32_t child = 1; child < rooms->count; child = 2 * at + 1) {
                child += child + 1 < rooms->count && is_before(&rooms->heap[child + 1], &rooms->heap[child]);
                if (!is_before(&rooms->heap[child], &taken))
                        break;
                rooms->heap[at] = rooms->heap[child];
                at = child;
        }
        rooms->heap[at] = taken;
}

/* `room` is for the outputs of node `node`. */
static void lay_out(struct pw_lowering *low, uint32_t stage, uint32_t node, uint64_t offset)
{
        const uint32_t *outputs = pw_low_outputs(low, &low->nodes[node]);

        for (uint32_t i = 0; i < low->nodes[node].image.output_count; i++) {
                struct pw_low_value *value = &low->values[outputs[i]];
                if (!in_flight(low, node, value))
                        continue;
                value->block = low->graph->slice_count + stage;
                value->offset = offset;
                offset += pw_low_room(value);
        }
}

static enum pw_status place(struct pw_lowering *low, uint32_t stage, struct rooms *rooms, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < rooms->node_count; i++) {
                uint32_t node = rooms->nodes[i], last;
                (void)outputs_of(low, node, &last);
                if (rooms->heap[0].free_at > node)
                        return pw_error_set(ret_err, PW_BAD_PROGRAM, "stage %s has more outputs in flight than its quota, %u",
                                            low->graph->stages[stage].name, low->graph->stages[stage].quota);
                lay_out(low, stage, node, rooms->heap[0].index * rooms->bytes);
                heap_take(rooms, last + 1);
        }
        return PW_OK;
}

enum pw_status pw_low_stages(struct pw_lowering *low, struct pw_error *ret_err)
{
        pw_auto_free uint32_t *first = calloc((size_t)low->graph->stage_count + 2, sizeof *first), *nodes = NULL;
        enum pw_status status = first && find_nodes(low, first, &nodes) ? PW_OK :
                pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");

        for (uint32_t s = 0; s < low->graph->stage_count && status == PW_OK; s++) {
                struct rooms rooms = { .nodes = nodes + first[s], .node_count = first[s + 1] - first[s] };
                status = measure(low, s, &rooms, ret_err);
                if (status == PW_OK)
                        status = place(low, s, &rooms, ret_err);
                free(rooms.heap);
                low->block_bytes[low->graph->slice_count + s] = rooms.count * rooms.bytes;
                low->stages[s] = (struct pw_low_stage){ rooms.count, rooms.count ? low->graph->stages[s].quota / rooms.count : 0,
                                                        rooms.bytes };
        }
        return status;
}

/* Rooms of stages: outputs in flight lie in as many rooms as their stage has credits.
 *
 * Each call that takes a credit has one room for all of its outputs that others read, in the order of the nodes: the one that was
 * given back longest ago. A stage that takes more credits in a run than its quota has them all in the block of one run; another
 * has as many blocks, of consecutive runs, as its quota allows. */
#include "scheduler/lowering.h"

#include "base/memory.h"

/* What a node of the stage takes a credit for. */
static bool in_flight(const struct pw_lowering *low, uint32_t node, const struct pw_low_value *value)
{
        const struct pw_graph_call *call = low->nodes[node].call;

        return call && low->takes[call - low->graph->calls] && value->result == PW_NODE_NONE;
}

struct rooms {
        uint64_t bytes;    /* of a room */
        uint32_t calls;    /* that take a credit */
        uint32_t count;    /* rooms */
        uint32_t *free_at; /* per room: 1 + the last node that uses what lies there */
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

static bool is_of(const struct pw_low_node *node, uint32_t stage) { return node->call && node->call->stage == stage + 1; }

static enum pw_status measure(const struct pw_lowering *low, uint32_t stage, struct rooms *rooms, struct pw_error *ret_err)
{
        uint32_t last;

        for (uint32_t n = 0; n < low->node_count; n++) {
                uint64_t bytes = is_of(&low->nodes[n], stage) ? outputs_of(low, n, &last) : 0;
                rooms->bytes = pw_max_u64(rooms->bytes, bytes);
                rooms->calls += bytes > 0;
        }
        rooms->count = rooms->calls < low->graph->stages[stage].quota ? rooms->calls : low->graph->stages[stage].quota;
        if (rooms->count && rooms->bytes > (UINT64_MAX / 4) / rooms->count)
                return pw_error_set(ret_err, PW_TOO_LARGE, "the values of the program have more bytes than 64 bits can count");
        rooms->free_at = calloc((size_t)rooms->count + 1, sizeof *rooms->free_at);
        return rooms->free_at ? PW_OK : pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
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
        for (uint32_t n = 0; n < low->node_count; n++) {
                uint32_t room = 0, last;
                if (!is_of(&low->nodes[n], stage) || !outputs_of(low, n, &last))
                        continue;
                for (uint32_t r = 1; r < rooms->count; r++)
                        room = rooms->free_at[r] < rooms->free_at[room] ? r : room;
                if (rooms->free_at[room] > n)
                        return pw_error_set(ret_err, PW_BAD_PROGRAM, "stage %s has more outputs in flight than its quota, %u",
                                            low->graph->stages[stage].name, low->graph->stages[stage].quota);
                rooms->free_at[room] = last + 1;
                lay_out(low, stage, n, room * rooms->bytes);
        }
        return PW_OK;
}

enum pw_status pw_low_stages(struct pw_lowering *low, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t s = 0; s < low->graph->stage_count && status == PW_OK; s++) {
                struct rooms rooms = { 0 };
                status = measure(low, s, &rooms, ret_err);
                if (status == PW_OK)
                        status = place(low, s, &rooms, ret_err);
                free(rooms.free_at);
                low->block_bytes[low->graph->slice_count + s] = rooms.count * rooms.bytes;
                low->stages[s] = (struct pw_low_stage){ rooms.count, rooms.count ? low->graph->stages[s].quota / rooms.count : 0,
                                                        rooms.bytes };
        }
        return status;
}

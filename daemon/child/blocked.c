/* What a gang waits for before it begins. */
#include "daemon/child/blocked.h"

#include "base/layout.h"

#define RECORD_AT(record, type, offset) ((const type *)((const char *)(record) + (offset)))

struct search { const struct pw_daemon *daemon; uint32_t device; const struct pw_child_order *order; struct pw_blocked found; };

static bool is_behind(const struct pw_daemon *daemon, uint32_t device, uint64_t seq)
{
        return device < daemon->device_count && atomic_load(&daemon->children.all[device].board->done.seq) < seq;
}

static const struct pw_slice_record *slice_of(const struct search *search, uint32_t slice)
{
        const struct pw_run_record *record = search->order->record;
        const struct pw_island_board *board = search->daemon->children.islands[record->image_island].board;

        return (const void *)((const char *)board + (uint64_t)RECORD_AT(record, uint32_t, record->slices)[slice] * PW_LINE_BYTES);
}

/* A device, other than the own one, that is not done with node `on`, whose places in the order are in `seqs`. */
static bool is_node_awaited(struct search *search, const struct pw_image_node *on, const _Atomic uint64_t *seqs)
{
        const struct pw_run_record *record = search->order->record;
        const uint32_t *islands = RECORD_AT(record, uint32_t, record->island_numbers);
        const struct pw_slice_record *slice = slice_of(search, on->phase == PW_PHASE_SEND ? on->source_slice : on->slice);

        for (uint32_t i = 0; i < record->island_count; i++) {
                uint64_t seq = atomic_load(&seqs[on->seq_slot * record->island_count + i]);

                for (uint32_t place = 0; seq && place < slice->device_count; place++) {
                        uint32_t device = slice->places[place].device;

                        if (slice->places[place].host != search->daemon->host || slice->places[place].island != islands[i] ||
                            device == search->device || !is_behind(search->daemon, device, seq))
                                continue;
                        search->found.device = device;
                        search->found.node = on;
                        return true;
                }
        }
        return false;
}

static bool is_any_awaited(struct search *search, uint32_t nodes, uint32_t count, uint32_t seqs)
{
        const struct pw_image *image = search->order->image;
        const uint32_t *indexes = PW_IMAGE_AT(image, uint32_t, nodes);

        for (uint32_t i = 0; i < count; i++)
                if (is_node_awaited(search, pw_image_node(image, indexes[i]),
                                    RECORD_AT(search->order->record, _Atomic uint64_t, seqs)))
                        return true;
        return false;
}

static bool is_input_awaited(struct search *search)
{
        const struct pw_run_record *record = search->order->record;
        const struct pw_run_input *input = RECORD_AT(record, struct pw_run_input,
                                                     record->inputs) + search->order->node->input_index;
        const struct pw_run_shard *shards = RECORD_AT(record, struct pw_run_shard, input->shards);

        if (input->in_place || input->status != PW_OK || input->is_inline)
                return false;
        for (uint32_t i = 0; i < input->shard_count; i++) {
                if (shards[i].device == search->device || !is_behind(search->daemon, shards[i].device, shards[i].seq))
                        continue;
                search->found.device = shards[i].device;
                return true;
        }
        return false;
}

static const struct pw_image_stage *stage_of(const struct pw_child_order *order)
{
        const struct pw_image_value *value;
        uint32_t stage;

        if (!order->node->output_count)
                return NULL;
        value = pw_image_value(order->image, PW_IMAGE_AT(order->image, uint32_t, order->node->outputs)[0]);
        stage = value->place == PW_PLACE_RESULT ? 0 : pw_image_block(order->image, value->index)->stage;
        return stage ? pw_image_stage(order->image, stage - 1) : NULL;
}

bool pw_blocked_find(const struct pw_daemon *daemon, uint32_t device, const struct pw_child_order *order,
                     struct pw_blocked *ret_blocked)
{
        struct search search = { .daemon = daemon, .device = device, .order = order };
        const struct pw_image_node *node = order->node;
        bool awaited = is_any_awaited(&search, node->waits, node->wait_count, order->record->seqs);

        if (!awaited)
                awaited = search.found.before = is_any_awaited(&search, node->behind, node->behind_count,
                                                               order->record->ahead_seqs);
        if (awaited)
                search.found.stage = stage_of(order);
        else if (node->kind == PW_NODE_LOAD)
                awaited = is_input_awaited(&search);
        if (awaited)
                *ret_blocked = search.found;
        return awaited;
}

bool pw_blocked_device(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, struct pw_blocked *ret_blocked)
{
        struct pw_child_order order;

        return pw_child_order(daemon, device, seq, &order) && is_behind(daemon, device, seq) &&
               pw_blocked_find(daemon, device, &order, ret_blocked);
}

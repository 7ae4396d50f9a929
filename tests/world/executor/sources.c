/* What a member of a load or of a transfer reads: where its sources lie, what they are, and what has become of them meanwhile. */
#include "tests/world/executor/gang.h"

/* Of several sources all must be the same value; false: they are not. */
static bool join(struct world_shard *all, bool *first, const struct world_shard *next)
{
        bool differs = !*first && all->status == PW_OK && next->status == PW_OK && all->value != next->value;

        if (*first || world_outranks(next->status, all->status))
                *all = *next;
        *first = false;
        return !differs;
}

/* --- loads ------------------------------------------------------------------------------------------------------------------ */

static struct world_shard read_shard(const struct world_gang *gang, const struct pw_run_shard *shard)
{
        struct world_shard in_host = { .status = PW_OK };

        if (shard->device != PW_SHARD_IN_HOST)
                return world_read_head(gang, (const void *)world_memory(gang->world, shard->segment, shard->offset), shard->device);
        in_host.value = world_host_value(gang->world, shard->segment, shard->offset);
        return in_host;
}

static bool read_input(const struct world_gang *gang, struct world_shard *ret_all)
{
        const struct pw_run_input *input = world_input_of(gang, gang->node->input_index);
        const struct pw_run_shard *shards = world_shards_of(gang, input);
        bool first = true, same = true;

        *ret_all = (struct world_shard){ .status = input->status, .cause_node = gang->index,
                                         .cause_device = world_device_id(gang->self->device) };
        if (input->status == PW_OK && input->is_inline)
                memcpy(&ret_all->value, input->value, sizeof ret_all->value);
        for (uint32_t i = 0; input->status == PW_OK && i < input->shard_count; i++) {
                struct world_shard next = read_shard(gang, &shards[i]);
                same &= join(ret_all, &first, &next);
        }
        return same;
}

/* --- transfers -------------------------------------------------------------------------------------------------------------- */

/* What receiver `place` reads. */
static uint32_t sources_of(const struct world_gang *gang, uint32_t place, uint32_t *ret_places)
{
        const struct pw_image_value *from = pw_image_value(gang->image, PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs)[0]);
        const struct pw_image_value *to = pw_image_value(gang->image, PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs)[0]);
        const struct pw_slice_record *source = world_slice_of(gang, from->slice), *slice = world_slice_of(gang, to->slice);
        struct pw_value_layout layout = { .dims = from->dims, .sharding = from->sharding, .places = source->places };
        struct pw_receiver receiver = { .place = from->slice == to->slice ? place : PW_PLACE_NONE, .number = place,
                                        .at = slice->places[place], .flags = gang->node->island_partial };
        uint32_t groups[WORLD_DEVICES];

        memcpy(layout.mesh, source->mesh, sizeof layout.mesh);
        pw_shard_box(&to->dims, &to->sharding, slice->mesh, place, &receiver.wanted);
        pw_sources_part(&to->sharding, slice->mesh, place, &receiver.part, &receiver.part_count);
        return pw_sources(&layout, &receiver, ret_places, groups);
}

uint32_t world_sender_place(const struct world_gang *gang)
{
        return world_place_of(world_slice_of(gang, gang->node->source_slice), gang->self->device);
}

uint32_t world_receiver_place(const struct world_gang *gang)
{
        if (gang->node->phase == PW_PHASE_SEND)
                return PW_PLACE_NONE;
        return world_place_of(world_slice_of(gang, gang->node->slice), gang->self->device);
}

void world_arrive(const struct world_gang *gang)
{
        uint32_t from = PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs)[0], place = world_sender_place(gang);
        struct pw_mark *mark = &gang->self->board->marks[gang->seq % PW_ORDER_LOG];
        struct world_shard shard;

        if (place == PW_PLACE_NONE || gang->node->phase == PW_PHASE_SEND || gang->node->phase == PW_PHASE_RECV)
                return;
        shard = world_read_value(gang, from, place);
        mark->status = shard.status;
        mark->cause_node = shard.cause_node;
        mark->cause_device = shard.cause_device;
        if (shard.status == PW_OK)
                memcpy(mark->value, &shard.value, sizeof shard.value);
        atomic_store(&mark->seq, gang->seq);
}

/* One source as a receiver sees it; false: it has not arrived. `taken`: it was seen before, and is read now. */
static bool read_source(const struct world_gang *gang, uint32_t place, bool taken, struct world_shard *ret_shard)
{
        uint32_t from = PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs)[0];
        uint32_t device = world_slice_of(gang, gang->node->source_slice)->places[place].device;
        const struct pw_mark *mark = &gang->world->executors[device].board->marks[gang->seq % PW_ORDER_LOG];
        bool marked = gang->node->phase != PW_PHASE_RECV;

        if (marked && !taken && atomic_load(&mark->seq) != gang->seq)
                return false;
        *ret_shard = (struct world_shard){ .status = PW_OK };
        if (marked && !taken && mark->status != PW_OK)
                *ret_shard = (struct world_shard){ .status = mark->status, .cause_node = mark->cause_node,
                                                   .cause_device = mark->cause_device };
        else if (marked && gang->node->eager)
                memcpy(&ret_shard->value, mark->value, sizeof ret_shard->value);
        else
                *ret_shard = world_read_value(gang, from, place);
        return true;
}

static bool read_sources(const struct world_gang *gang, bool taken, struct world_shard *ret_all, bool *ret_same)
{
        uint32_t places[WORLD_DEVICES], count = sources_of(gang, world_receiver_place(gang), places);
        bool first = true;

        *ret_same = true;
        *ret_all = (struct world_shard){ .status = PW_OK };
        for (uint32_t i = 0; i < count; i++) {
                struct world_shard next;
                if (!read_source(gang, places[i], taken, &next))
                        return false;
                *ret_same &= join(ret_all, &first, &next);
        }
        return true;
}

/* --- both ------------------------------------------------------------------------------------------------------------------- */

void world_sources_differ(const struct world_gang *gang)
{
        world_fail(gang->world, "gang %lu of device %u (run %lu, node %u) reads different values", (unsigned long)gang->seq,
                   gang->self->device, (unsigned long)gang->record->run, gang->index);
}

bool world_sources_read(const struct world_gang *gang, struct world_shard *ret_all)
{
        bool same = true;

        if (gang->node->kind == PW_NODE_LOAD)
                same = read_input(gang, ret_all);
        else if (!read_sources(gang, false, ret_all, &same))
                return false;
        if (!same)
                world_sources_differ(gang);
        return true;
}

uint64_t world_sources_take(const struct world_gang *gang, bool *ret_same)
{
        struct world_shard all;

        if (gang->node->kind == PW_NODE_LOAD)
                *ret_same = read_input(gang, &all);
        else
                (void)read_sources(gang, true, &all, ret_same);
        return all.value;
}

static struct world_shard shards_again(const struct world_gang *gang)
{
        const struct pw_run_input *input = world_input_of(gang, gang->node->input_index);
        const struct pw_run_shard *shards = world_shards_of(gang, input);
        struct world_shard all = { .status = PW_OK };

        for (uint32_t i = 0; i < input->shard_count; i++) {
                struct world_shard next = read_shard(gang, &shards[i]);
                if (shards[i].device != gang->self->device && world_outranks(next.status, all.status))
                        all = next;
        }
        return all;
}

struct world_shard world_sources_again(const struct world_gang *gang)
{
        uint32_t places[WORLD_DEVICES], count;
        struct world_shard all = { .status = PW_OK };

        if (gang->node->kind == PW_NODE_LOAD)
                return shards_again(gang);
        if (gang->node->eager && gang->node->phase != PW_PHASE_RECV) /* it came with the mark */
                return all;
        count = sources_of(gang, world_receiver_place(gang), places);
        for (uint32_t i = 0; i < count; i++) {
                struct world_shard next;
                (void)read_source(gang, places[i], true, &next);
                if (world_slice_of(gang, gang->node->source_slice)->places[places[i]].device != gang->self->device &&
                    world_outranks(next.status, all.status))
                        all = next;
        }
        return all;
}

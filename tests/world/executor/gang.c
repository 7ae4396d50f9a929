/* What a gang of an executor works on: its record, its rooms and what lies in them. */
#include "tests/world/executor/gang.h"

static const void *line(const struct world_gang *gang, uint32_t island, uint32_t at)
{
        return (const char *)gang->world->boards[island] + (uint64_t)at * PW_LINE_BYTES;
}

const struct pw_slice_record *world_slice_of(const struct world_gang *gang, uint32_t slice)
{
        const uint32_t *slices = (const uint32_t *)((const char *)gang->record + gang->record->slices);

        return line(gang, gang->record->image_island, slices[slice]);
}

struct pw_device_id world_device_id(uint32_t device)
{
        return (struct pw_device_id){ (uint16_t)WORLD_HOST, (uint16_t)device };
}

uint32_t world_place_of(const struct pw_slice_record *slice, uint32_t device)
{
        for (uint32_t i = 0; i < slice->device_count; i++)
                if (slice->places[i].device == device)
                        return i;
        return PW_PLACE_NONE;
}

struct world_gang world_gang_of(struct world *world, struct world_executor *self, const struct pw_order *order, uint64_t seq)
{
        struct world_gang gang = { .world = world, .self = self, .seq = seq };

        gang.record = line(&gang, self->island, order->run);
        gang.image = line(&gang, gang.record->image_island, gang.record->image);
        gang.index = order->node;
        gang.node = pw_image_node(gang.image, gang.index);
        gang.run = world_find_run(world, gang.record->run);
        if (gang.image->magic != PW_IMAGE_MAGIC || !gang.run)
                world_fail(world, "gang %lu of device %u names no run", (unsigned long)seq, self->device);
        return gang;
}

const struct pw_run_input *world_input_of(const struct world_gang *gang, uint32_t index)
{
        return (const struct pw_run_input *)((const char *)gang->record + gang->record->inputs) + index;
}

const struct pw_run_shard *world_shards_of(const struct world_gang *gang, const struct pw_run_input *input)
{
        return (const struct pw_run_shard *)((const char *)gang->record + input->shards);
}

/* Which of the rooms of this host is that of `place`. */
static uint32_t near_of(const struct pw_slice_record *slice, uint32_t place)
{
        uint32_t near = 0;

        for (uint32_t i = 0; i < place; i++)
                near += slice->places[i].host == WORLD_HOST;
        return near;
}

/* The room of a value on the device at `place` of its slice. An executor of the world has the head of a room in the room, and the
 * value behind it. */
struct pw_room_head *world_room_of(const struct world_gang *gang, uint32_t index, uint32_t place)
{
        const struct pw_image_value *value = pw_image_value(gang->image, index);
        const struct pw_image_input *inputs = PW_IMAGE_AT(gang->image, struct pw_image_input, gang->image->inputs);
        bool block = value->place == PW_PLACE_BLOCK;
        const uint32_t *offsets =
                (const uint32_t *)((const char *)gang->record + (block ? gang->record->blocks : gang->record->results));
        const struct pw_run_room *rooms = (const struct pw_run_room *)((const char *)gang->record + offsets[value->index]);
        uint32_t near = near_of(world_slice_of(gang, value->slice), place), segment = rooms[near].segment;
        uint64_t offset = rooms[near].offset + (block ? value->offset : 0);

        for (uint32_t i = 0; i < gang->image->input_count; i++)
                if (inputs[i].value == index && world_input_of(gang, i)->in_place) {
                        segment = world_shards_of(gang, world_input_of(gang, i))[near].segment;
                        offset = world_shards_of(gang, world_input_of(gang, i))[near].offset;
                }
        if (world_segment_device(segment) != world_slice_of(gang, value->slice)->places[place].device ||
            offset + pw_room_bytes(value->shard_bytes) > gang->self->memory_bytes)
                world_fail(gang->world, "value %u of run %lu has no room at place %u", index, (unsigned long)gang->record->run,
                           place);
        return (struct pw_room_head *)world_memory(gang->world, segment, offset);
}

struct world_shard world_read_head(const struct world_gang *gang, const struct pw_room_head *head, uint32_t device)
{
        struct world_shard shard = { .status = head->status, .cause_node = head->cause_node, .cause_device = head->cause_device };

        if (head->seq < atomic_load(&gang->world->boards[gang->self->island]->lost_before[device]))
                shard = (struct world_shard){ .status = PW_DEVICE_LOST, .cause_node = PW_NODE_NONE,
                                              .cause_device = world_device_id(device) };
        else if (head->run != gang->record->run)
                shard.cause_node = PW_NODE_NONE; /* nodes are known by number within one run only */
        memcpy(&shard.value, head + 1, sizeof shard.value);
        return shard;
}

struct world_shard world_read_value(const struct world_gang *gang, uint32_t value, uint32_t place)
{
        const struct pw_slice_record *slice = world_slice_of(gang, pw_image_value(gang->image, value)->slice);

        return world_read_head(gang, world_room_of(gang, value, place), slice->places[place].device);
}

void world_report(const struct world_gang *gang, uint32_t result, const struct world_shard *shard, const char *text)
{
        struct pw_report report = { .run = gang->record->run, .node = gang->index, .status = shard->status, .result = result,
                                    .cause_node = shard->cause_node, .cause_device = shard->cause_device };

        snprintf(report.text, sizeof report.text, "%s", text);
        if (!pw_report_push(gang->self->board, &report)) {
                pw_boards_poll(gang->world->host, gang->world->scheduler, gang->world->now_us);
                if (!pw_report_push(gang->self->board, &report))
                        world_fail(gang->world, "the ring of reports of device %u stays full", gang->self->device);
        }
}

/* The room in which this member has the value. */
static struct pw_room_head *own_room(const struct world_gang *gang, uint32_t index)
{
        const struct pw_image_value *value = pw_image_value(gang->image, index);

        return world_room_of(gang, index, world_place_of(world_slice_of(gang, value->slice), gang->self->device));
}

void world_write_bytes(const struct world_gang *gang, uint32_t index, uint64_t bytes)
{
        if (pw_image_value(gang->image, index)->shard_bytes) /* a room has whole lines */
                memcpy(own_room(gang, index) + 1, &bytes, sizeof bytes);
}

void world_write_head(const struct world_gang *gang, uint32_t index, const struct world_shard *shard)
{
        const struct pw_image_result *results = PW_IMAGE_AT(gang->image, struct pw_image_result, gang->image->results);

        *own_room(gang, index) = (struct pw_room_head){ .seq = gang->seq, .status = shard->status, .cause_node = shard->cause_node,
                                                        .cause_device = shard->cause_device, .run = gang->record->run };
        for (uint32_t i = 0; shard->status != PW_OK && i < gang->image->result_count; i++)
                if (results[i].value == index)
                        world_report(gang, i, shard, "");
}

void world_write_value(const struct world_gang *gang, uint32_t index, const struct world_shard *shard)
{
        world_write_bytes(gang, index, shard->value);
        world_write_head(gang, index, shard);
}

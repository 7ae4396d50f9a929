/* A simulated executor: one step at a time it does what a real one does with boards, marks and rooms. */
#include "tests/world/client/store.h"

#include "base/memory.h"
#include "base/sources.h"

/* What a gang works on. */
struct gang {
        struct world *world;
        struct world_executor *self;
        const struct pw_run_record *record;
        const struct pw_image *image;
        const struct pw_image_node *node;
        uint32_t index;
        struct world_run *run;
};

struct shard { uint64_t value; uint32_t status, cause_node; struct pw_device_id cause_device; };

static const void *line(const struct gang *gang, uint32_t island, uint32_t at)
{
        return (const char *)gang->world->boards[island] + (uint64_t)at * PW_LINE_BYTES;
}

static const struct pw_slice_record *slice_of(const struct gang *gang, uint32_t slice)
{
        const uint32_t *slices = (const uint32_t *)((const char *)gang->record + gang->record->slices);

        return line(gang, gang->record->image_island, slices[slice]);
}

static struct pw_device_id device_id(uint32_t device)
{
        return (struct pw_device_id){ (uint16_t)WORLD_HOST, (uint16_t)device };
}

static uint32_t place_of(const struct pw_slice_record *slice, uint32_t device)
{
        for (uint32_t i = 0; i < slice->device_count; i++)
                if (slice->places[i].device == device)
                        return i;
        return PW_PLACE_NONE;
}

static struct gang gang_of(struct world *world, struct world_executor *self)
{
        struct gang gang = { .world = world, .self = self };

        gang.record = line(&gang, self->island, self->order.run);
        gang.image = line(&gang, gang.record->image_island, gang.record->image);
        gang.index = self->order.node;
        gang.node = pw_image_node(gang.image, gang.index);
        gang.run = world_find_run(world, gang.record->run);
        if (gang.image->magic != PW_IMAGE_MAGIC || !gang.run)
                world_fail(world, "gang %lu of device %u names no run", (unsigned long)self->seq, self->device);
        return gang;
}

static const struct pw_run_input *input_of(const struct gang *gang, uint32_t index)
{
        return (const struct pw_run_input *)((const char *)gang->record + gang->record->inputs) + index;
}

static const struct pw_run_shard *shards_of(const struct gang *gang, const struct pw_run_input *input)
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
static struct pw_room_head *room_of(const struct gang *gang, uint32_t index, uint32_t place)
{
        const struct pw_image_value *value = pw_image_value(gang->image, index);
        const struct pw_image_input *inputs = PW_IMAGE_AT(gang->image, struct pw_image_input, gang->image->inputs);
        bool block = value->place == PW_PLACE_BLOCK;
        const uint32_t *offsets =
                (const uint32_t *)((const char *)gang->record + (block ? gang->record->blocks : gang->record->results));
        const struct pw_run_room *rooms = (const struct pw_run_room *)((const char *)gang->record + offsets[value->index]);
        uint32_t near = near_of(slice_of(gang, value->slice), place), segment = rooms[near].segment;
        uint64_t offset = rooms[near].offset + (block ? value->offset : 0);

        for (uint32_t i = 0; i < gang->image->input_count; i++)
                if (inputs[i].value == index && input_of(gang, i)->in_place) {
                        segment = shards_of(gang, input_of(gang, i))[near].segment;
                        offset = shards_of(gang, input_of(gang, i))[near].offset;
                }
        if (world_segment_device(segment) != slice_of(gang, value->slice)->places[place].device ||
            offset + pw_room_bytes(value->shard_bytes) > gang->self->memory_bytes)
                world_fail(gang->world, "value %u of run %lu has no room at place %u", index, (unsigned long)gang->record->run,
                           place);
        return (struct pw_room_head *)world_memory(gang->world, segment, offset);
}

static struct shard read_head(const struct gang *gang, const struct pw_room_head *head, uint32_t device)
{
        struct shard shard = { .status = head->status, .cause_node = head->cause_node, .cause_device = head->cause_device };

        if (head->seq < atomic_load(&gang->world->boards[gang->self->island]->lost_before[device])) {
                shard = (struct shard){ .status = PW_DEVICE_LOST, .cause_node = PW_NODE_NONE,
                                        .cause_device = device_id(device) };
                return shard;
        }
        if (head->run != gang->record->run)
                shard.cause_node = PW_NODE_NONE; /* nodes are known by number within one run only */
        memcpy(&shard.value, head + 1, sizeof shard.value);
        return shard;
}

static struct shard read_value(const struct gang *gang, uint32_t value, uint32_t place)
{
        const struct pw_slice_record *slice = slice_of(gang, pw_image_value(gang->image, value)->slice);

        return read_head(gang, room_of(gang, value, place), slice->places[place].device);
}

static void report(const struct gang *gang, uint32_t result, const struct shard *shard, const char *text)
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

static void write_value(const struct gang *gang, uint32_t index, const struct shard *shard)
{
        const struct pw_image_value *value = pw_image_value(gang->image, index);
        const struct pw_image_result *results = PW_IMAGE_AT(gang->image, struct pw_image_result, gang->image->results);
        uint32_t place = place_of(slice_of(gang, value->slice), gang->self->device);
        struct pw_room_head *head = room_of(gang, index, place);

        *head = (struct pw_room_head){ .seq = gang->self->seq, .status = shard->status, .cause_node = shard->cause_node,
                                       .cause_device = shard->cause_device, .run = gang->record->run };
        if (value->shard_bytes) /* a room has whole lines */
                memcpy(head + 1, &shard->value, sizeof shard->value);
        for (uint32_t i = 0; shard->status != PW_OK && i < gang->image->result_count; i++)
                if (results[i].value == index)
                        report(gang, i, shard, "");
}

/* --- waiting -------------------------------------------------------------------------------------------------------------- */

static bool is_done(const struct gang *gang, uint32_t device, uint64_t seq)
{
        const struct world_executor *other = &gang->world->executors[device];

        if (seq > atomic_load(&gang->world->boards[other->island]->head))
                world_fail(gang->world, "gang %lu of device %u waits for gang %lu of device %u, which is not ordered",
                           (unsigned long)gang->self->seq, gang->self->device, (unsigned long)seq, device);
        return atomic_load(&other->board->done.seq) >= seq;
}

/* `seqs`: of its own run, where each gang has a number; or of those ahead, which need not have any that is left. */
static bool node_done(const struct gang *gang, uint32_t index, uint32_t seqs_at)
{
        const struct pw_image_node *node = pw_image_node(gang->image, index);
        const struct pw_slice_record *slice = slice_of(gang, node->phase == PW_PHASE_SEND ? node->source_slice : node->slice);
        const uint32_t *islands = (const uint32_t *)((const char *)gang->record + gang->record->island_numbers);
        const _Atomic uint64_t *seqs = (const _Atomic uint64_t *)((const char *)gang->record + seqs_at);

        for (uint32_t i = 0; i < slice->device_count; i++) {
                uint32_t column = 0;
                uint64_t seq;
                while (islands[column] != slice->places[i].island)
                        column++;
                seq = atomic_load(&seqs[(size_t)node->seq_slot * gang->record->island_count + column]);
                if (!seq && node->kind != PW_NODE_LOAD && seqs_at == gang->record->seqs)
                        world_fail(gang->world, "run %lu: node %u waits for node %u, which has no number in island %u",
                                   (unsigned long)gang->record->run, gang->index, index, islands[column]);
                if (seq && !is_done(gang, slice->places[i].device, seq))
                        return false;
        }
        return true;
}

static bool waits_over(const struct gang *gang)
{
        const uint32_t *waits = PW_IMAGE_AT(gang->image, uint32_t, gang->node->waits);
        const uint32_t *behind = PW_IMAGE_AT(gang->image, uint32_t, gang->node->behind);

        for (uint32_t i = 0; i < gang->node->wait_count; i++)
                if (!node_done(gang, waits[i], gang->record->seqs))
                        return false;
        for (uint32_t i = 0; i < gang->node->behind_count; i++)
                if (!node_done(gang, behind[i], gang->record->ahead_seqs))
                        return false;
        if (gang->node->kind == PW_NODE_LOAD && !input_of(gang, gang->node->input_index)->in_place) {
                const struct pw_run_input *input = input_of(gang, gang->node->input_index);
                const struct pw_run_shard *shards = shards_of(gang, input);
                for (uint32_t i = 0; i < input->shard_count; i++)
                        if (shards[i].device != PW_SHARD_IN_HOST && !shards[i].seq)
                                world_fail(gang->world, "run %lu loads a shard that is not ordered",
                                           (unsigned long)gang->record->run);
                        else if (shards[i].device != PW_SHARD_IN_HOST && !is_done(gang, shards[i].device, shards[i].seq))
                                return false;
        }
        return true;
}

/* --- nodes ------------------------------------------------------------------------------------------------------------------ */

/* Of several errors the first counts; a loss only where there is nothing else. */
static bool outranks(uint32_t status, uint32_t other)
{
        return status != PW_OK && (other == PW_OK || (other == PW_DEVICE_LOST && status != PW_DEVICE_LOST));
}

/* Of several sources all must be the same value. */
static void join(const struct gang *gang, struct shard *all, bool *first, struct shard next)
{
        if (*first || outranks(next.status, all->status))
                *all = next;
        else if (all->status == PW_OK && next.status == PW_OK && all->value != next.value)
                world_fail(gang->world, "gang %lu of device %u (run %lu, node %u) reads different values: %lx and %lx",
                           (unsigned long)gang->self->seq, gang->self->device, (unsigned long)gang->record->run, gang->index,
                           (unsigned long)all->value, (unsigned long)next.value);
        *first = false;
}

static void load(const struct gang *gang)
{
        const struct pw_run_input *input = input_of(gang, gang->node->input_index);
        const struct pw_run_shard *shards = shards_of(gang, input);
        struct shard all = { .status = input->status, .cause_node = gang->index,
                             .cause_device = device_id(gang->self->device) };
        bool first = true;

        if (input->in_place)
                return;
        if (input->status == PW_OK && input->is_inline)
                memcpy(&all.value, input->value, sizeof all.value);
        for (uint32_t i = 0; input->status == PW_OK && i < input->shard_count; i++) {
                struct shard next = { .status = PW_OK };
                if (shards[i].device == PW_SHARD_IN_HOST) {
                        next.value = world_host_value(gang->world, shards[i].segment, shards[i].offset);
                } else {
                        const uint8_t *room = world_memory(gang->world, shards[i].segment, shards[i].offset);
                        next = read_head(gang, (const struct pw_room_head *)room, shards[i].device);
                }
                join(gang, &all, &first, next);
        }
        write_value(gang, PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs)[0], &all);
}

static bool cancelled(const struct gang *gang)
{
        return gang->index >= __atomic_load_n(&gang->record->cancelled_at, __ATOMIC_SEQ_CST);
}

/* One member fails, and peers have to learn of it; or all do, where others hold the same shard: who reads theirs learns nothing. */
static bool has_replicas(const struct gang *gang, uint32_t index)
{
        const struct pw_image_value *value = pw_image_value(gang->image, index);
        const struct pw_slice_record *slice = slice_of(gang, value->slice);

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (slice->mesh[i] > 1 && value->sharding.axis[i].layout == PW_LAYOUT_BROADCAST)
                        return true;
        return false;
}

static void call(const struct gang *gang)
{
        const uint32_t *inputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs);
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);
        const struct pw_slice_record *slice = slice_of(gang, gang->node->slice);
        uint32_t place = place_of(slice, gang->self->device);
        struct shard out = { .value = gang->index + 1 };

        for (uint32_t i = 0; i < gang->node->input_count; i++) {
                struct shard in = read_value(gang, inputs[i], place);
                if (outranks(in.status, out.status))
                        out = in;
                out.value = world_mix(out.value, in.value);
        }
        if (cancelled(gang))
                out.status = PW_CANCELLED;
        if (out.status == PW_OK && (gang->run->failing >> (gang->index & 63) & 1) &&
            (place == 0 || has_replicas(gang, outputs[0]))) {
                out = (struct shard){ .status = PW_FAILED, .cause_node = gang->index,
                                      .cause_device = device_id(gang->self->device) };
                report(gang, PW_NODE_NONE, &out, "meant to fail");
        }
        for (uint32_t i = 0; i < gang->node->output_count; i++) {
                struct shard each = out;
                each.value = world_mix(out.value, i);
                write_value(gang, outputs[i], &each);
        }
}

/* What receiver `place` reads. */
static uint32_t sources_of(const struct gang *gang, uint32_t place, uint32_t *ret_places)
{
        const struct pw_image_value *from = pw_image_value(gang->image, PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs)[0]);
        const struct pw_image_value *to = pw_image_value(gang->image, PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs)[0]);
        const struct pw_slice_record *source = slice_of(gang, from->slice), *slice = slice_of(gang, to->slice);
        struct pw_value_layout layout = { .dims = from->dims, .sharding = from->sharding, .places = source->places };
        struct pw_receiver receiver = { .place = from->slice == to->slice ? place : PW_PLACE_NONE, .number = place,
                                        .at = slice->places[place], .flags = gang->node->island_partial };
        uint32_t groups[WORLD_DEVICES];

        memcpy(layout.mesh, source->mesh, sizeof layout.mesh);
        pw_shard_box(&to->dims, &to->sharding, slice->mesh, place, &receiver.wanted);
        pw_sources_part(&to->sharding, slice->mesh, place, &receiver.part, &receiver.part_count);
        return pw_sources(&layout, &receiver, ret_places, groups);
}

static void arrive(const struct gang *gang)
{
        uint32_t from = PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs)[0];
        uint32_t place = place_of(slice_of(gang, gang->node->source_slice), gang->self->device);
        struct pw_mark *mark = &gang->self->board->marks[gang->self->seq % PW_ORDER_LOG];
        struct shard shard;

        if (place == PW_PLACE_NONE)
                return;
        shard = read_value(gang, from, place);
        mark->status = shard.status;
        mark->cause_node = shard.cause_node;
        mark->cause_device = shard.cause_device;
        memcpy(mark->value, &shard.value, sizeof shard.value);
        atomic_store(&mark->seq, gang->self->seq);
}

/* One source as a receiver sees it; false: it has not arrived. */
static bool read_source(const struct gang *gang, uint32_t place, struct shard *ret_shard)
{
        uint32_t from = PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs)[0];
        uint32_t device = slice_of(gang, gang->node->source_slice)->places[place].device;
        const struct pw_mark *mark = &gang->world->executors[device].board->marks[gang->self->seq % PW_ORDER_LOG];

        if (gang->node->phase == PW_PHASE_RECV) {
                *ret_shard = read_value(gang, from, place);
                return true;
        }
        if (atomic_load(&mark->seq) != gang->self->seq)
                return false;
        *ret_shard = (struct shard){ .status = mark->status, .cause_node = mark->cause_node, .cause_device = mark->cause_device };
        if (mark->status != PW_OK)
                return true;
        if (gang->node->eager)
                memcpy(&ret_shard->value, mark->value, sizeof ret_shard->value);
        else
                *ret_shard = read_value(gang, from, place);
        return true;
}

static bool transfer(const struct gang *gang)
{
        uint32_t places[WORLD_DEVICES], place, count;
        struct shard all = { .status = PW_OK };
        bool first = true;

        if (gang->node->phase == PW_PHASE_SEND)
                return true;
        if (gang->node->phase != PW_PHASE_RECV && !gang->self->marked) {
                arrive(gang);
                gang->self->marked = true;
                return false;
        }
        place = place_of(slice_of(gang, gang->node->slice), gang->self->device);
        if (place == PW_PLACE_NONE)
                return true;
        count = sources_of(gang, place, places);
        for (uint32_t i = 0; i < count; i++) {
                struct shard next;
                if (!read_source(gang, places[i], &next))
                        return false;
                join(gang, &all, &first, next);
        }
        write_value(gang, PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs)[0], &all);
        return true;
}

/* --- steps ------------------------------------------------------------------------------------------------------------------ */

static bool find_gang(struct world *world, struct world_executor *self)
{
        struct pw_island_board *board = world->boards[self->island];
        uint64_t head = atomic_load(&board->head);

        if (head - self->next + 1 > PW_ORDER_REACH) {
                self->next = head - PW_ORDER_REACH + 1;
                world->passed_over++;
        }
        for (; self->next <= head; self->next++) {
                const struct pw_order *order = &board->log[self->next % PW_ORDER_LOG];
                if (!(order->members >> self->device & 1))
                        continue;
                self->order = *order;
                self->seq = self->next++;
                self->at_gang = true;
                self->marked = false;
                self->began_us = world->now_us;
                atomic_store(&self->board->running, self->seq);
                gang_of(world, self).run->devices |= UINT64_C(1) << self->device;
                return true;
        }
        return false;
}

static void finish(struct world *world, struct world_executor *self, const struct gang *gang)
{
        uint64_t count = atomic_load(&self->board->history_count);

        self->board->history[count % PW_HISTORY] =
                (struct pw_history){ .seq = self->seq, .run = gang->record->run, .node = gang->index,
                                     .start_ns = self->began_us * 1000, .end_ns = world->now_us * 1000 };
        atomic_store(&self->board->history_count, count + 1);
        atomic_store(&self->board->done.count, atomic_load(&self->board->done.count) + 1);
        atomic_store(&self->board->done.seq, self->seq);
        atomic_store(&self->board->running, 0);
        self->at_gang = false;
        self->gangs++;
        world_log(world, "  device %u: gang %lu, run %lu node %u", self->device, (unsigned long)self->seq,
                  (unsigned long)gang->record->run, gang->index);
}

/* A process of this device died in this gang: nothing of it is run. Its outputs' rooms may still have readers, so it waits as
 * ever. */
static void fail_outputs(const struct gang *gang)
{
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);
        struct shard shard = { .status = atomic_load(&gang->self->board->failed.status), .cause_node = gang->index,
                               .cause_device = device_id(gang->self->device) };

        if (gang->node->kind == PW_NODE_LOAD && input_of(gang, gang->node->input_index)->in_place)
                return;
        for (uint32_t i = 0; i < gang->node->output_count; i++) {
                const struct pw_image_value *value = pw_image_value(gang->image, outputs[i]);
                if (place_of(slice_of(gang, value->slice), gang->self->device) != PW_PLACE_NONE)
                        write_value(gang, outputs[i], &shard);
        }
}

bool world_step(struct world *world, uint32_t device)
{
        struct world_executor *self = &world->executors[device];
        struct gang gang;
        bool marked;

        if (!self->at_gang)
                return find_gang(world, self);
        gang = gang_of(world, self);
        if (!self->marked && !waits_over(&gang))
                return false;
        if (atomic_load(&self->board->failed.seq) == self->seq) {
                fail_outputs(&gang);
                finish(world, self, &gang);
                return true;
        }
        marked = self->marked;
        if (gang.node->kind == PW_NODE_TRANSFER && !transfer(&gang))
                return self->marked != marked;
        if (gang.node->kind == PW_NODE_LOAD)
                load(&gang);
        if (gang.node->kind == PW_NODE_CALL)
                call(&gang);
        finish(world, self, &gang);
        return true;
}

/* A simulated executor: one step at a time it does what a real one does with boards, marks and rooms. */
#include "tests/world/executor/gang.h"

/* --- waiting -------------------------------------------------------------------------------------------------------------- */

static bool is_done(const struct world_gang *gang, uint32_t device, uint64_t seq)
{
        const struct world_executor *other = &gang->world->executors[device];

        if (seq > atomic_load(&gang->world->boards[other->island]->head))
                world_fail(gang->world, "gang %lu of device %u waits for gang %lu of device %u, which is not ordered",
                           (unsigned long)gang->seq, gang->self->device, (unsigned long)seq, device);
        return atomic_load(&other->board->done.seq) >= seq;
}

/* What a late device has launched it does in order: nothing of its own has to be done before the next is launched. */
static bool is_before(const struct world_gang *gang, uint32_t device, uint64_t seq)
{
        return is_done(gang, device, seq) || (device == gang->self->device && world_is_late(gang->world));
}

/* `seqs`: of its own run, where each gang has a number; or of those ahead, which need not have any that is left. */
static bool node_done(const struct world_gang *gang, uint32_t index, uint32_t seqs_at)
{
        const struct pw_image_node *node = pw_image_node(gang->image, index);
        const struct pw_slice_record *slice = world_slice_of(gang, node->phase == PW_PHASE_SEND ? node->source_slice : node->slice);
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
                if (seq && !is_before(gang, slice->places[i].device, seq))
                        return false;
        }
        return true;
}

static bool waits_over(const struct world_gang *gang)
{
        const uint32_t *waits = PW_IMAGE_AT(gang->image, uint32_t, gang->node->waits);
        const uint32_t *behind = PW_IMAGE_AT(gang->image, uint32_t, gang->node->behind);

        for (uint32_t i = 0; i < gang->node->wait_count; i++)
                if (!node_done(gang, waits[i], gang->record->seqs))
                        return false;
        for (uint32_t i = 0; i < gang->node->behind_count; i++)
                if (!node_done(gang, behind[i], gang->record->ahead_seqs))
                        return false;
        if (gang->node->kind == PW_NODE_LOAD && !world_input_of(gang, gang->node->input_index)->in_place) {
                const struct pw_run_input *input = world_input_of(gang, gang->node->input_index);
                const struct pw_run_shard *shards = world_shards_of(gang, input);
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

bool world_outranks(uint32_t status, uint32_t other)
{
        return status != PW_OK && (other == PW_OK || (other == PW_DEVICE_LOST && status != PW_DEVICE_LOST));
}

static void load(const struct world_gang *gang)
{
        struct world_shard all;

        if (world_input_of(gang, gang->node->input_index)->in_place)
                return;
        (void)world_sources_read(gang, &all);
        world_write_value(gang, PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs)[0], &all);
}

bool world_cancelled(const struct world_gang *gang)
{
        return gang->index >= __atomic_load_n(&gang->record->cancelled_at, __ATOMIC_SEQ_CST);
}

/* One member fails, and peers have to learn of it; or all do, where others hold the same shard: who reads theirs learns nothing. */
static bool has_replicas(const struct world_gang *gang, uint32_t index)
{
        const struct pw_image_value *value = pw_image_value(gang->image, index);
        const struct pw_slice_record *slice = world_slice_of(gang, value->slice);

        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (slice->mesh[i] > 1 && value->sharding.axis[i].layout == PW_LAYOUT_BROADCAST)
                        return true;
        return false;
}

bool world_is_failing(const struct world_gang *gang)
{
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);

        return gang->run->failing >> (gang->index & 63) & 1 &&
               (world_place_of(world_slice_of(gang, gang->node->slice), gang->self->device) == 0 || has_replicas(gang, outputs[0]));
}

struct world_shard world_call(const struct world_gang *gang)
{
        const uint32_t *inputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs);
        uint32_t place = world_place_of(world_slice_of(gang, gang->node->slice), gang->self->device);
        struct world_shard out = { .status = PW_OK };
        uint64_t value = gang->index + 1;

        for (uint32_t i = 0; i < gang->node->input_count; i++) {
                struct world_shard in = world_read_value(gang, inputs[i], place);
                value = world_mix(value, in.value);
                if (world_outranks(in.status, out.status))
                        out = in;
        }
        out.value = value; /* whatever the heads say: a device that does not look computes with the bytes */
        return out;
}

struct world_shard world_call_ends(const struct world_gang *gang, struct world_shard out)
{
        if (out.status != PW_OK || !world_is_failing(gang))
                return out;
        out = (struct world_shard){ .status = PW_FAILED, .cause_node = gang->index,
                                    .cause_device = world_device_id(gang->self->device) };
        world_report(gang, PW_NODE_NONE, &out, "meant to fail");
        return out;
}

static void call(const struct world_gang *gang)
{
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);
        struct world_shard out = world_call(gang);

        if (world_cancelled(gang))
                out.status = PW_CANCELLED;
        out = world_call_ends(gang, out);
        for (uint32_t i = 0; i < gang->node->output_count; i++) {
                struct world_shard each = out;
                each.value = world_mix(out.value, i);
                world_write_value(gang, outputs[i], &each);
        }
}

static bool transfer(const struct world_gang *gang)
{
        struct world_shard all;

        if (world_sender_place(gang) != PW_PLACE_NONE && !gang->self->marked) {
                world_arrive(gang);
                gang->self->marked = true;
                return false;
        }
        if (world_receiver_place(gang) == PW_PLACE_NONE)
                return true;
        if (!world_sources_read(gang, &all))
                return false;
        world_write_value(gang, PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs)[0], &all);
        return true;
}

/* --- steps ------------------------------------------------------------------------------------------------------------------ */

void world_gang_begins(const struct world_gang *gang)
{
        gang->self->began_us = gang->world->now_us;
        atomic_store(&gang->self->board->running, gang->seq);
        gang->run->devices |= UINT64_C(1) << gang->self->device;
}

void world_gang_ends(const struct world_gang *gang)
{
        struct pw_device_board *board = gang->self->board;
        uint64_t count = atomic_load(&board->history_count);

        if (gang->seq <= atomic_load(&board->done.seq))
                world_fail(gang->world, "device %u does gang %lu behind gang %lu", gang->self->device, (unsigned long)gang->seq,
                           (unsigned long)atomic_load(&board->done.seq));
        if (atomic_load(&board->running) != gang->seq)
                world_fail(gang->world, "device %u ends gang %lu, which is not what it is at", gang->self->device,
                           (unsigned long)gang->seq);
        board->history[count % PW_HISTORY] =
                (struct pw_history){ .seq = gang->seq, .run = gang->record->run, .node = gang->index,
                                     .start_ns = gang->self->began_us * 1000, .end_ns = gang->world->now_us * 1000 };
        atomic_store(&board->history_count, count + 1);
        atomic_store(&board->done.count, atomic_load(&board->done.count) + 1);
        atomic_store(&board->done.seq, gang->seq);
        atomic_store(&board->running, 0);
        gang->self->gangs++;
        world_log(gang->world, "  device %u: gang %lu, run %lu node %u", gang->self->device, (unsigned long)gang->seq,
                  (unsigned long)gang->record->run, gang->index);
}

static bool find_gang(struct world *world, struct world_executor *self)
{
        struct pw_island_board *board = world->boards[self->island];
        uint64_t head = atomic_load(&board->head);
        struct world_gang gang;

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
                gang = world_gang_of(world, self, &self->order, self->seq);
                if (!world_flights_count(self))
                        world_gang_begins(&gang);
                return true;
        }
        return false;
}

/* A process of this device died in this gang: nothing of it is run. Its outputs' rooms may still have readers, so it waits as
 * ever. */
static void fail_outputs(const struct world_gang *gang)
{
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);
        struct world_shard shard = { .status = atomic_load(&gang->self->board->failed.status), .cause_node = gang->index,
                                     .cause_device = world_device_id(gang->self->device) };

        if (gang->node->kind == PW_NODE_LOAD && world_input_of(gang, gang->node->input_index)->in_place)
                return;
        for (uint32_t i = 0; i < gang->node->output_count; i++) {
                const struct pw_image_value *value = pw_image_value(gang->image, outputs[i]);
                if (world_place_of(world_slice_of(gang, value->slice), gang->self->device) != PW_PLACE_NONE)
                        world_write_value(gang, outputs[i], &shard);
        }
}

static bool has_failed(const struct world_gang *gang) { return atomic_load(&gang->self->board->failed.seq) == gang->seq; }

/* It is at the gang, nothing is under way, and its waits are over. False: it waits for others. */
static bool do_gang(const struct world_gang *gang)
{
        bool marked = gang->self->marked;

        if (has_failed(gang))
                fail_outputs(gang);
        else if (gang->node->kind == PW_NODE_TRANSFER && !transfer(gang))
                return gang->self->marked != marked;
        else if (gang->node->kind == PW_NODE_LOAD)
                load(gang);
        else if (gang->node->kind == PW_NODE_CALL)
                call(gang);
        world_gang_ends(gang);
        gang->self->at_gang = false;
        return true;
}

/* What is launched is done later. All else is done at once, when nothing is under way any more; so is what waits for others: what
 * it has launched may be what they wait for. */
static bool launch_gang(const struct world_gang *gang)
{
        struct world_executor *self = gang->self;
        bool waits = !self->marked && !waits_over(gang);
        bool here = waits || has_failed(gang) || world_cancelled(gang) || gang->node->phase == PW_PHASE_PARTS;
        enum world_launch launch = here ? WORLD_NEVER : world_flight_launch(gang);

        if (launch == WORLD_LAUNCHED)
                self->at_gang = false;
        if (launch != WORLD_NEVER)
                return launch != WORLD_LATER;
        if (world_flights_count(self))
                return false;
        if (atomic_load(&self->board->running) != gang->seq) {
                world_gang_begins(gang);
                return true;
        }
        return !waits && do_gang(gang);
}

static bool step(struct world *world, struct world_executor *self)
{
        struct world_gang gang;

        if (!self->at_gang)
                return find_gang(world, self);
        gang = world_gang_of(world, self, &self->order, self->seq);
        if (world_is_late(world))
                return launch_gang(&gang);
        return (self->marked || waits_over(&gang)) && do_gang(&gang);
}

bool world_step(struct world *world, uint32_t device)
{
        struct world_executor *self = &world->executors[device];

        if (!world_is_late(world))
                return step(world, self);
        if (world_random(world, 3))
                return world_flight_step(world, self) || step(world, self);
        return step(world, self) || world_flight_step(world, self);
}

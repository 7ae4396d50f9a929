/* Virtual devices that run an image: each one strictly in order, a source at a time, in rooms that are really shared.
 * What is in nobody's interest any more is spoilt as soon as its room has a new writer. */
#include "tests/program/rooms_sim.h"

#include "base/memory.h"
#include "base/sources.h"
#include "plane/board/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOWHERE UINT32_MAX

/* What one device is doing: the sources of the transfer that it receives, as far as it has come. */
struct device {
        uint32_t node, source, source_count;
        bool begun;
        uint32_t *places, *groups;
};

struct sim {
        const struct pw_sim_params *params;
        const struct pw_image *image;
        struct device devices[PW_DEVICES_MAX];
        uint32_t device_count;
        uint32_t place_of[PW_GRAPH_SLICES_MAX][PW_DEVICES_MAX]; /* per slice and device */
        uint8_t ***blocks;  /* per block and place */
        uint8_t ***results; /* per result and place */
        bool *done;         /* per node and device */
        bool *arrived;      /* likewise: the mark */
        bool *made, *taken; /* likewise: of a transfer in parts */
        uint8_t (*marks)[PW_MARK_BYTES];
};

static const struct pw_slice_map *slice_of(const struct sim *sim, uint32_t slice)
{
        return &sim->params->graph->slices[slice];
}

static uint8_t *room_of(const struct sim *sim, uint32_t value, uint32_t place)
{
        const struct pw_image_value *image = pw_image_value(sim->image, value);

        if (image->place == PW_PLACE_RESULT)
                return sim->results[image->index][place];
        return sim->blocks[image->index][place] + image->offset;
}

static int32_t *data_of(const struct sim *sim, uint32_t value, uint32_t place)
{
        return (int32_t *)(void *)room_of(sim, value, place);
}

static struct pw_sim_layout layout_of(const struct sim *sim, uint32_t value)
{
        const struct pw_image_value *image = pw_image_value(sim->image, value);

        return (struct pw_sim_layout){ image->dims, image->sharding, slice_of(sim, image->slice), NULL };
}

static uint32_t cell(const struct sim *sim, uint32_t node, uint32_t device)
{
        return node * sim->device_count + device;
}
static uint32_t input_at(const struct sim *sim, const struct pw_image_node *node, uint32_t i)
{
        return PW_IMAGE_AT(sim->image, uint32_t, node->inputs)[i];
}
static uint32_t output_at(const struct sim *sim, const struct pw_image_node *node, uint32_t i)
{
        return PW_IMAGE_AT(sim->image, uint32_t, node->outputs)[i];
}

/* The whole room loses what it held. */
static void spoil(const struct sim *sim, uint32_t value, uint32_t place)
{
        memset(room_of(sim, value, place), 0xee, pw_room_bytes(pw_image_value(sim->image, value)->shard_bytes));
}

static void fill_from_input(const struct sim *sim, uint32_t input, uint32_t place)
{
        uint32_t value = PW_IMAGE_AT(sim->image, struct pw_image_input, sim->image->inputs)[input].value;
        struct pw_sim_layout layout = layout_of(sim, value);
        struct pw_box all = { .rank = layout.dims.rank }, box;
        uint64_t count = pw_sim_whole_count(&layout.dims);
        pw_auto_free int32_t *whole = calloc(count + 1, sizeof *whole);

        for (uint64_t i = 0; i < count; i++)
                whole[i] = pw_sim_input(input, i);
        memcpy(all.size, layout.dims.dim, sizeof all.size);
        pw_shard_box(&layout.dims, &layout.sharding, layout.slice->mesh, place, &box);
        spoil(sim, value, place);
        pw_box_copy(data_of(sim, value, place), &box, whole, &all, &box, sizeof *whole);
}

static bool takes_over(const struct sim *sim, uint32_t input)
{
        return PW_IMAGE_AT(sim->image, struct pw_image_input, sim->image->inputs)[input].donated &&
               sim->params->updates_in_place[input];
}

static void run_call(const struct sim *sim, const struct pw_image_node *node, uint32_t place)
{
        struct pw_sim_task task = { .input_count = node->input_count, .output_count = node->output_count };

        for (uint32_t i = 0; i < node->input_count; i++) {
                struct pw_sim_layout layout = layout_of(sim, input_at(sim, node, i));
                task.inputs[i] = data_of(sim, input_at(sim, node, i), place);
                task.input_counts[i] = pw_sim_count(&layout, place);
        }
        for (uint32_t i = 0; i < node->output_count; i++) {
                struct pw_sim_layout layout = layout_of(sim, output_at(sim, node, i));
                bool in_place = false;
                task.outputs[i] = data_of(sim, output_at(sim, node, i), place);
                task.output_counts[i] = pw_sim_count(&layout, place);
                for (uint32_t k = 0; k < node->input_count; k++)
                        in_place = in_place || task.inputs[k] == task.outputs[i];
                if (!in_place)
                        spoil(sim, output_at(sim, node, i), place);
        }
        /* The image does not say which input is updated; the name of a function of graph_make.h does. */
        if (sscanf(strchr(pw_image_text(sim->image, node->name), '/') + 1, "place%u", &task.in_place) == 1)
                task.in_place++;
        pw_sim_function(&task);
}

static bool all_done(const struct sim *sim, uint32_t node, uint32_t slice)
{
        for (uint32_t i = 0; i < slice_of(sim, slice)->device_count; i++)
                if (!sim->done[cell(sim, node, slice_of(sim, slice)->places[i].device)])
                        return false;
        return true;
}

static bool waits_over(const struct sim *sim, const struct pw_image_node *node)
{
        for (uint32_t i = 0; i < node->wait_count; i++) {
                uint32_t on = PW_IMAGE_AT(sim->image, uint32_t, node->waits)[i];
                const struct pw_image_node *awaited = pw_image_node(sim->image, on);
                if (!all_done(sim, on, awaited->phase == PW_PHASE_SEND ? awaited->source_slice : awaited->slice))
                        return false;
        }
        return true;
}

/* One gang, in which senders and receivers meet. */
static bool is_whole(const struct pw_image_node *node)
{
        return node->phase == PW_PHASE_WHOLE || node->phase == PW_PHASE_PARTS;
}

/* Arrive as a sender, find the sources as a receiver. */
static void begin_transfer(struct sim *sim, uint32_t number, const struct pw_image_node *node)
{
        struct device *device = &sim->devices[number];
        uint32_t sends_at = sim->place_of[node->source_slice][number], receives_at = sim->place_of[node->slice][number];
        const struct pw_image_value *source = pw_image_value(sim->image, input_at(sim, node, 0));
        struct pw_value_layout layout = { .dims = source->dims,
                                          .sharding = source->sharding,
                                          .places = slice_of(sim, source->slice)->places };
        struct pw_receiver receiver = { .number = receives_at, .flags = node->island_partial };
        struct pw_sim_layout output;

        device->source_count = device->source = 0;
        if (is_whole(node) && sends_at != NOWHERE) {
                if (node->eager)
                        memcpy(sim->marks[cell(sim, device->node, number)],
                               data_of(sim, input_at(sim, node, 0), sends_at), source->shard_bytes);
                sim->arrived[cell(sim, device->node, number)] = true;
        }
        if (node->phase == PW_PHASE_SEND || receives_at == NOWHERE)
                return;
        output = layout_of(sim, output_at(sim, node, 0));
        memcpy(layout.mesh, slice_of(sim, source->slice)->mesh, sizeof layout.mesh);
        pw_shard_box(&output.dims, &output.sharding, output.slice->mesh, receives_at, &receiver.wanted);
        receiver.place = node->slice == node->source_slice ? receives_at : PW_PLACE_NONE;
        receiver.at = output.slice->places[receives_at];
        pw_sources_part(&output.sharding, output.slice->mesh, receives_at, &receiver.part, &receiver.part_count);
        device->source_count = pw_sources(&layout, &receiver, device->places, device->groups);
        if (node->phase == PW_PHASE_PARTS) {
                device->source_count *= 3; /* each of them has arrived, has made a part, has taken all */
                if (room_of(sim, output_at(sim, node, 0), receives_at) == room_of(sim, input_at(sim, node, 0), receives_at))
                        return;
        }
        spoil(sim, output_at(sim, node, 0), receives_at);
        /* What no source covers is partial and has its part elsewhere. Ops other than the sum keep every source. */
        for (uint64_t i = 0;
             i < pw_sim_count(&output, receives_at) && pw_sharding_has_partial(&output.sharding, output.slice->mesh);
             i++)
                data_of(sim, output_at(sim, node, 0), receives_at)[i] = 0;
}

/* Take one more source. False: it is not there yet. */
static bool take_source(struct sim *sim, uint32_t number, const struct pw_image_node *node)
{
        struct device *device = &sim->devices[number];
        struct pw_sim_layout from = layout_of(sim, input_at(sim, node, 0)), to = layout_of(sim, output_at(sim, node, 0));
        uint32_t place = device->places[device->source], peer = from.slice->places[place].device;
        uint32_t own = sim->place_of[node->slice][number], at = cell(sim, device->node, peer);
        bool first = !device->source || device->groups[device->source] != device->groups[device->source - 1];
        struct pw_box from_box, to_box, common;
        const void *data = node->eager ? (const void *)sim->marks[at] : data_of(sim, input_at(sim, node, 0), place);

        if (is_whole(node) && !sim->arrived[at])
                return false;
        pw_shard_box(&from.dims, &from.sharding, from.slice->mesh, place, &from_box);
        pw_shard_box(&to.dims, &to.sharding, to.slice->mesh, own, &to_box);
        assert_true(pw_box_meet(&from_box, &to_box, &common));
        if (is_whole(node))
                assert_true(pw_same_island(&from.slice->places[place], &to.slice->places[own]));
        if (first)
                pw_box_copy(data_of(sim, output_at(sim, node, 0), own), &to_box, data, &from_box, &common,
                            sizeof(int32_t));
        else
                assert_int_equal(pw_box_reduce(data_of(sim, output_at(sim, node, 0), own), &to_box, data, &from_box,
                                               &common, PW_I32, (enum pw_op)node->op),
                                 PW_OK);
        device->source++;
        return true;
}

/* The elements of a shard that member `i` of `count` reduces. */
struct range { uint64_t from, to; };
static struct range part_of(uint64_t elements, uint32_t i, uint32_t count)
{
        return (struct range){ elements * i / count, elements * (i + 1) / count };
}

static void make_part(const struct sim *sim, const struct device *device, const struct pw_image_node *node, uint32_t own)
{
        uint32_t count = device->source_count / 3, self = 0;
        struct pw_sim_layout layout = layout_of(sim, output_at(sim, node, 0));
        uint64_t elements = pw_sim_count(&layout, own);
        struct pw_box box = { .rank = 1, .size = { elements } };
        pw_auto_free int32_t *sum = calloc(elements + 1, sizeof *sum);

        while (device->places[self] != own)
                self++;
        struct range range = part_of(elements, self, count);
        struct pw_box part = { .rank = 1, .start = { range.from }, .size = { range.to - range.from } };
        for (uint32_t i = 0; i < count && range.from < range.to; i++) {
                const int32_t *from = data_of(sim, input_at(sim, node, 0), device->places[i]);
                if (!i)
                        pw_box_copy(sum, &box, from, &box, &part, sizeof *sum);
                else
                        assert_int_equal(pw_box_reduce(sum, &box, from, &box, &part, PW_I32, (enum pw_op)node->op), PW_OK);
        }
        for (uint64_t i = range.from; i < range.to; i++)
                data_of(sim, output_at(sim, node, 0), own)[i] = sum[i];
}

static void take_part(const struct sim *sim, const struct device *device, const struct pw_image_node *node, uint32_t own)
{
        uint32_t count = device->source_count / 3, i = device->source % count;
        struct pw_sim_layout layout = layout_of(sim, output_at(sim, node, 0));
        struct range range = part_of(pw_sim_count(&layout, own), i, count);

        if (device->places[i] != own)
                memcpy(data_of(sim, output_at(sim, node, 0), own) + range.from,
                       data_of(sim, output_at(sim, node, 0), device->places[i]) + range.from,
                       (range.to - range.from) * sizeof(int32_t));
}

/* One more step of a transfer in parts. False: another member has not come so far. */
static bool step_parts(struct sim *sim, uint32_t number, const struct pw_image_node *node)
{
        struct device *device = &sim->devices[number];
        uint32_t count = device->source_count / 3, own = sim->place_of[node->slice][number];
        uint32_t place = device->places[device->source % count];
        uint32_t peer = cell(sim, device->node, slice_of(sim, node->slice)->places[place].device);
        const bool *has_come[] = { sim->arrived, sim->made, sim->taken };

        if (!has_come[device->source / count][peer])
                return false;
        assert_true(pw_same_island(&slice_of(sim, node->slice)->places[place], &slice_of(sim, node->slice)->places[own]));
        if (device->source / count == 1)
                take_part(sim, device, node, own);
        device->source++;
        if (device->source == count) {
                make_part(sim, device, node, own);
                sim->made[cell(sim, device->node, number)] = true;
        } else if (device->source == 2 * count) {
                sim->taken[cell(sim, device->node, number)] = true;
        }
        return true;
}

/* Begin the node: false if its waits are not over. */
static bool begin(struct sim *sim, uint32_t number, const struct pw_image_node *node)
{
        struct device *device = &sim->devices[number];
        uint32_t place = sim->place_of[node->slice][number];

        if (!waits_over(sim, node))
                return false;
        device->begun = true;
        device->source = device->source_count = 0;
        if (node->kind == PW_NODE_CALL)
                run_call(sim, node, place);
        else if (node->kind == PW_NODE_LOAD && !takes_over(sim, node->input_index))
                fill_from_input(sim, node->input_index, place);
        else if (node->kind == PW_NODE_TRANSFER)
                begin_transfer(sim, number, node);
        return true;
}

static bool is_member(const struct sim *sim, const struct pw_image_node *node, uint32_t number)
{
        bool receives = sim->place_of[node->slice][number] != NOWHERE,
             sends = sim->place_of[node->source_slice][number] != NOWHERE;

        if (node->kind != PW_NODE_TRANSFER || node->phase == PW_PHASE_RECV)
                return receives;
        return node->phase == PW_PHASE_SEND ? sends : sends || receives;
}

/* One step of one device. False: it cannot go on now. */
static bool step(struct sim *sim, uint32_t number)
{
        struct device *device = &sim->devices[number];
        const struct pw_image_node *node;

        while (device->node < sim->image->node_count &&
               !is_member(sim, pw_image_node(sim->image, device->node), number))
                device->node++;
        if (device->node == sim->image->node_count)
                return false;
        node = pw_image_node(sim->image, device->node);
        if (!device->begun)
                return begin(sim, number, node);
        if (device->source < device->source_count)
                return node->phase == PW_PHASE_PARTS ? step_parts(sim, number, node) : take_source(sim, number, node);
        sim->done[cell(sim, device->node, number)] = true;
        device->begun = false;
        device->node++;
        return true;
}

/* Devices go on by rank, the ranks are drawn anew now and then: so some run far ahead of others. */
static const char *run_all(struct sim *sim)
{
        uint64_t seed = sim->params->seed;
        uint32_t ranks[PW_DEVICES_MAX], patience = 1u << pw_sim_random(&seed) % 12;

        for (uint32_t i = 0; i < sim->device_count; i++)
                ranks[i] = i;
        for (;;) {
                uint32_t i = 0;
                if (!(pw_sim_random(&seed) % patience))
                        for (uint32_t k = sim->device_count; k > 1; k--) {
                                uint32_t other = pw_sim_random(&seed) % k, rank = ranks[k - 1];
                                ranks[k - 1] = ranks[other];
                                ranks[other] = rank;
                        }
                while (i < sim->device_count && !step(sim, ranks[i]))
                        i++;
                if (i == sim->device_count)
                        break;
        }
        for (uint32_t i = 0; i < sim->device_count; i++)
                if (sim->devices[i].node < sim->image->node_count)
                        return "devices wait for each other for ever";
        return NULL;
}

static const char *compare(const struct sim *sim, int32_t *const *expected)
{
        const struct pw_image_result *results = PW_IMAGE_AT(sim->image, struct pw_image_result, sim->image->results);

        for (uint32_t r = 0; r < sim->image->result_count; r++) {
                struct pw_sim_layout layout = layout_of(sim, results[r].value);
                bool equal = true;
                layout.shards = calloc(layout.slice->device_count, sizeof *layout.shards);
                for (uint32_t i = 0; i < layout.slice->device_count; i++)
                        layout.shards[i] = data_of(sim, results[r].value, i);
                for (uint32_t replica = 0; replica < layout.slice->device_count; replica++) {
                        pw_auto_free int32_t *whole = pw_sim_gather(&layout, replica);
                        equal = equal && !memcmp(whole, expected[r], pw_sim_whole_count(&layout.dims) * sizeof *whole);
                }
                free(layout.shards);
                if (!equal)
                        return "a result is wrong";
        }
        return NULL;
}

static uint8_t **make_rooms(const struct pw_slice_map *slice, uint64_t bytes)
{
        uint8_t **rooms = calloc(slice->device_count, sizeof *rooms);

        for (uint32_t i = 0; i < slice->device_count; i++) {
                rooms[i] = malloc(bytes + 1);
                memset(rooms[i], 0xdd, bytes + 1);
        }
        return rooms;
}

static void free_rooms(const struct pw_slice_map *slice, uint8_t **rooms)
{
        for (uint32_t i = 0; i < slice->device_count; i++)
                free(rooms[i]);
        free(rooms);
}

static void find_places(struct sim *sim)
{
        memset(sim->place_of, 0xff, sizeof sim->place_of);
        for (uint32_t s = 0; s < sim->image->slice_count; s++)
                for (uint32_t i = 0; i < slice_of(sim, s)->device_count; i++) {
                        sim->place_of[s][slice_of(sim, s)->places[i].device] = i;
                        if (sim->device_count <= slice_of(sim, s)->places[i].device)
                                sim->device_count = slice_of(sim, s)->places[i].device + 1u;
                }
}

static uint32_t result_slice(const struct sim *sim, uint32_t r)
{
        return pw_image_value(sim->image, PW_IMAGE_AT(sim->image, struct pw_image_result, sim->image->results)[r].value)
                ->slice;
}

static void sim_init(struct sim *sim)
{
        const struct pw_image *image = sim->image;
        size_t cells;

        find_places(sim);
        cells = (size_t)image->node_count * sim->device_count;
        sim->done = calloc(cells, sizeof *sim->done);
        sim->arrived = calloc(cells, sizeof *sim->arrived);
        sim->made = calloc(cells, sizeof *sim->made);
        sim->taken = calloc(cells, sizeof *sim->taken);
        sim->marks = calloc(cells, sizeof *sim->marks);
        sim->blocks = calloc(pw_image_block_count(image), sizeof *sim->blocks);
        sim->results = calloc(image->result_count, sizeof *sim->results);
        for (uint32_t b = 0; b < pw_image_block_count(image); b++)
                sim->blocks[b] = make_rooms(slice_of(sim, pw_image_block(image, b)->slice), pw_image_block(image, b)->bytes);
        for (uint32_t r = 0; r < image->result_count; r++) {
                uint32_t value = PW_IMAGE_AT(image, struct pw_image_result, image->results)[r].value;
                sim->results[r] = make_rooms(slice_of(sim, result_slice(sim, r)),
                                             pw_room_bytes(pw_image_value(image, value)->shard_bytes));
        }
        for (uint32_t i = 0; i < sim->device_count; i++) {
                sim->devices[i].places = calloc(PW_DEVICES_MAX, sizeof(uint32_t));
                sim->devices[i].groups = calloc(PW_DEVICES_MAX, sizeof(uint32_t));
        }
        for (uint32_t i = 0; i < image->input_count; i++) {
                uint32_t value = PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[i].value;
                for (uint32_t place = 0;
                     takes_over(sim, i) && place < slice_of(sim, pw_image_value(image, value)->slice)->device_count;
                     place++)
                        fill_from_input(sim, i, place);
        }
}

static void sim_done(struct sim *sim)
{
        for (uint32_t b = 0; b < pw_image_block_count(sim->image); b++)
                free_rooms(slice_of(sim, pw_image_block(sim->image, b)->slice), sim->blocks[b]);
        for (uint32_t r = 0; r < sim->image->result_count; r++)
                free_rooms(slice_of(sim, result_slice(sim, r)), sim->results[r]);
        for (uint32_t i = 0; i < sim->device_count; i++) {
                free(sim->devices[i].places);
                free(sim->devices[i].groups);
        }
        free(sim->blocks);
        free(sim->results);
        free(sim->done);
        free(sim->arrived);
        free(sim->made);
        free(sim->taken);
        free(sim->marks);
}

const char *pw_sim_run(const struct pw_sim_params *params, int32_t *const *expected)
{
        struct sim sim = { .params = params, .image = params->image };
        const char *wrong;

        sim_init(&sim);
        wrong = run_all(&sim);
        if (!wrong)
                wrong = compare(&sim, expected);
        sim_done(&sim);
        return wrong;
}

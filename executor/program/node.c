/* Resolving one node: who takes part, which function, where its values lie, what a receiver reads. */
#include "executor/program/program.h"

#include "base/memory.h"

static enum pw_status no_memory(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to resolve a program");
}

static enum pw_node_role role_of(const struct pw_exec_program *program, const struct pw_image_node *node)
{
        bool receives = program->slices[node->slice].place != PW_PLACE_NONE, sends;

        if (node->kind != PW_NODE_TRANSFER)
                return receives ? PW_ROLE_RECEIVER : PW_ROLE_NONE;
        sends = program->slices[node->source_slice].place != PW_PLACE_NONE;
        return (receives && node->phase != PW_PHASE_SEND ? PW_ROLE_RECEIVER : PW_ROLE_NONE) |
               (sends && node->phase != PW_PHASE_RECV ? PW_ROLE_SENDER : PW_ROLE_NONE);
}

/* --- values -------------------------------------------------------------------------------------------------------------- */

/* Does the own shard fit into the room that the image gives its value, and that room into the block? */
static bool value_fits(const struct pw_exec_program *program, const struct pw_image_value *value)
{
        const struct pw_exec_program_slice *slice = &program->slices[value->slice];
        uint64_t bytes, room = pw_room_bytes(value->shard_bytes);
        struct pw_box box;

        if (slice->place == PW_PLACE_NONE)
                return true;
        pw_shard_box(&value->dims, &value->sharding, slice->mesh, slice->place, &box);
        if (!pw_mul_ok(pw_box_elements(&box), pw_dtype_bytes(value->dtype), &bytes) || bytes > value->shard_bytes ||
            room < value->shard_bytes)
                return false;
        return value->place != PW_PLACE_BLOCK || (value->offset <= pw_image_block(program->image, value->index)->bytes &&
                                                  room <= pw_image_block(program->image, value->index)->bytes - value->offset);
}

static struct pw_program_room *rooms_resolve(struct pw_exec_program *program, uint32_t list, uint32_t count)
{
        const uint32_t *indexes = PW_IMAGE_AT(program->image, uint32_t, list);
        struct pw_program_room *rooms = pw_program_alloc(program, count, sizeof *rooms);

        for (uint32_t i = 0; rooms && i < count; i++) {
                const struct pw_image_value *value = pw_image_value(program->image, indexes[i]);
                bool block = value->place == PW_PLACE_BLOCK;
                if (!value_fits(program, value))
                        pw_error_set(&program->fault, PW_PROTOCOL,
                                     "value %u of %s does not fit into its room of %lu bytes", indexes[i],
                                     pw_image_text(program->image, program->image->name), (unsigned long)value->shard_bytes);
                rooms[i] = (struct pw_program_room){
                        .value = indexes[i],
                        .base = value->index + (block ? 0 : pw_image_block_count(program->image)),
                        .offset = block ? value->offset : 0,
                        .input = (int32_t)program->input_of[indexes[i]],
                };
        }
        return rooms;
}

static struct pw_task_value *values_resolve(struct pw_exec_program *program, struct pw_program_room *rooms, uint32_t count)
{
        struct pw_task_value *values = pw_program_alloc(program, count, sizeof *values);

        for (uint32_t i = 0; values && i < count; i++) {
                const struct pw_image_value *value = pw_image_value(program->image, rooms[i].value);
                const struct pw_exec_program_slice *slice = &program->slices[value->slice];
                struct pw_box box;
                pw_shard_box(&value->dims, &value->sharding, slice->mesh, slice->place, &box);
                values[i].dtype = value->dtype;
                values[i].dims = pw_box_dims(&box);
                values[i].bytes = pw_box_elements(&box) * pw_dtype_bytes(value->dtype);
                rooms[i].rest =
                        (uint32_t)pw_min_u64(pw_room_bytes(value->shard_bytes) - PW_ROOM_HEAD - values[i].bytes, UINT32_MAX);
        }
        return values;
}

/* --- what a receiver reads ----------------------------------------------------------------------------------------------- */

/* Memory of a program is not given back before the program is: so that of earlier sources serves again, and grows by doubling. */
static bool sources_alloc(struct pw_exec_program *program, uint32_t places, const struct pw_program_sources *before,
                          struct pw_program_sources *ret_sources)
{
        uint32_t capacity = before->capacity * 2 > places ? before->capacity * 2 : places;

        *ret_sources = *before;
        if (places <= before->capacity)
                return true;
        *ret_sources = (struct pw_program_sources){
                .capacity = capacity,
                .places = pw_program_alloc(program, capacity, sizeof *ret_sources->places),
                .groups = pw_program_alloc(program, capacity, sizeof *ret_sources->groups),
                .sources = pw_program_alloc(program, capacity, sizeof *ret_sources->sources),
        };
        return ret_sources->places && ret_sources->groups && ret_sources->sources;
}

/* Do the groups cover the wanted box? They cover different boxes, so elements are counted. */
static bool covered(const struct pw_program_sources *sources)
{
        uint64_t elements = 0;

        for (uint32_t i = 0; i < sources->count; i++) {
                struct pw_box part;
                if ((!i || sources->groups[i] != sources->groups[i - 1]) &&
                    pw_box_meet(&sources->sources[i].box, &sources->to_box, &part))
                        elements += pw_box_elements(&part);
        }
        return elements == pw_box_elements(&sources->to_box);
}

enum pw_status pw_program_sources_find(struct pw_exec_program *program, const struct pw_program_wanted *wanted,
                                       struct pw_program_sources *ret_sources, struct pw_error *ret_err)
{
        const struct pw_exec_program_slice *slice = wanted->to_slice;
        const struct pw_value_layout *layout = wanted->layout;
        struct pw_receiver receiver = { .place = wanted->own_place, .number = slice->place, .at = wanted->at,
                                        .flags = wanted->flags };
        struct pw_program_sources found;

        if (!sources_alloc(program, pw_mesh_count(layout->mesh), ret_sources, &found))
                return no_memory(ret_err);
        pw_shard_box(&wanted->to->dims, &wanted->to->sharding, slice->mesh, slice->place, &found.to_box);
        receiver.wanted = found.to_box;
        pw_sources_part(&wanted->to->sharding, slice->mesh, slice->place, &receiver.part, &receiver.part_count);
        found.count = pw_sources(layout, &receiver, found.places, found.groups);
        for (uint32_t i = 0; i < found.count; i++) {
                pw_shard_box(&layout->dims, &layout->sharding, layout->mesh, found.places[i], &found.sources[i].box);
                found.sources[i].bytes = pw_box_elements(&found.sources[i].box) * pw_dtype_bytes(wanted->to->dtype);
        }
        found.uncovered = !covered(&found);
        found.rest_is_zero = wanted->op == PW_SUM && pw_sharding_has_partial(&wanted->to->sharding, slice->mesh);
        *ret_sources = found;
        return PW_OK;
}

static enum pw_status transfer_resolve(const struct pw_programs *programs, struct pw_exec_program *program,
                                       struct pw_program_node *node, struct pw_error *ret_err)
{
        const struct pw_image_value *from = pw_image_value(program->image, node->inputs[0].value);
        const struct pw_exec_program_slice *slice = &program->slices[node->image->source_slice];
        struct pw_value_layout layout = { .dims = from->dims, .sharding = from->sharding, .places = slice->places };

        if (!(node->role & PW_ROLE_RECEIVER))
                return PW_OK;
        memcpy(layout.mesh, slice->mesh, sizeof layout.mesh);
        return pw_program_sources_find(program, &(struct pw_program_wanted){
                .layout = &layout,
                .to = pw_image_value(program->image, node->outputs[0].value),
                .to_slice = &program->slices[node->image->slice],
                .own_place = node->image->slice == node->image->source_slice ? slice->place : PW_PLACE_NONE, /* as lowering asks */
                .at = { .host = (uint16_t)programs->host, .island = (uint16_t)programs->island },
                .flags = node->image->island_partial,
                .op = node->image->op,
        }, &node->sources, ret_err);
}

/* --- calls --------------------------------------------------------------------------------------------------------------- */

void pw_program_function_find(const struct pw_programs *programs, struct pw_exec_program *program, struct pw_program_node *node)
{
        static const struct pw_error no_memory_for_fault = { .status = PW_NO_MEMORY,
                                                             .text = "no memory to say why there is no function" };
        const struct pw_image_function *function =
                PW_IMAGE_AT(program->image, struct pw_image_function, program->image->functions) + node->image->function;
        const char *name = pw_image_text(program->image, function->name), *slash = strrchr(name, '/');
        struct pw_found_function found;
        struct pw_error fault, *kept;

        if (pw_modules_find(programs->modules, pw_image_text(program->image, function->module), slash ? slash + 1 : name,
                            function->digest, &found, &fault) == PW_OK) {
                node->function = found.function;
                node->module = found.module;
                return;
        }
        kept = pw_program_alloc(program, 1, sizeof fault);
        if (kept)
                *kept = fault;
        node->fault = kept ? kept : &no_memory_for_fault;
}

static void task_resolve(const struct pw_programs *programs, const struct pw_exec_program *program, struct pw_program_node *node)
{
        const struct pw_exec_program_slice *slice = &program->slices[node->image->slice];
        struct pw_task *task = &node->task;

        task->input_count = node->image->input_count;
        task->output_count = node->image->output_count;
        task->inputs = node->input_values;
        task->outputs = node->output_values;
        task->params = PW_IMAGE_AT(program->image, void, node->image->params);
        task->params_bytes = node->image->params_bytes;
        task->shard = slice->place;
        task->shard_count = slice->device_count;
        task->device = programs->device;
        pw_mesh_coords(slice->mesh, slice->place, task->coords);
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                task->mesh[a] = slice->mesh[a] ? slice->mesh[a] : 1;
}

static enum pw_status call_resolve(const struct pw_programs *programs, struct pw_exec_program *program,
                                   struct pw_program_node *node, struct pw_error *ret_err)
{
        node->input_values = values_resolve(program, node->inputs, node->image->input_count);
        node->output_values = values_resolve(program, node->outputs, node->image->output_count);
        if (!node->input_values || !node->output_values)
                return no_memory(ret_err);
        task_resolve(programs, program, node);
        return PW_OK;
}

/* --- waits --------------------------------------------------------------------------------------------------------------- */

/* Append the waits on the devices of `slice` in each island, the own device excepted: that runs in order.
 * `ret_waits` NULL: count. */
static uint32_t waits_on(const struct pw_programs *programs, const struct pw_exec_program *program, const struct pw_image_node *on,
                         struct pw_program_wait *ret_waits)
{
        const struct pw_exec_program_slice *slice = &program->slices[on->phase == PW_PHASE_SEND ? on->source_slice : on->slice];
        uint32_t count = 0;

        for (uint32_t i = 0; i < program->island_count; i++) {
                for (uint32_t p = 0; p < slice->near_count; p++) {
                        const struct pw_slice_place *at = &slice->places[slice->near[p]];
                        if (at->island != program->islands[i] || at->device == programs->device)
                                continue;
                        if (ret_waits)
                                ret_waits[count] = (struct pw_program_wait){ on->seq_slot * program->island_count + i, at->device };
                        count++;
                }
        }
        return count;
}

/* Of the list of nodes at `offset` of the image. */
struct wait_list { struct pw_program_wait *waits; uint32_t count; };
static bool waits_resolve(const struct pw_programs *programs, struct pw_exec_program *program, uint32_t offset, uint32_t nodes,
                          struct wait_list *ret_list)
{
        const uint32_t *on = PW_IMAGE_AT(program->image, uint32_t, offset);
        uint32_t count = 0;

        for (uint32_t i = 0; i < nodes; i++)
                count += waits_on(programs, program, pw_image_node(program->image, on[i]), NULL);
        if (!count)
                return true;
        ret_list->waits = pw_program_alloc(program, count, sizeof *ret_list->waits);
        for (uint32_t i = 0; ret_list->waits && i < nodes; i++)
                ret_list->count +=
                        waits_on(programs, program, pw_image_node(program->image, on[i]), ret_list->waits + ret_list->count);
        return ret_list->waits != NULL;
}

static bool order_resolve(const struct pw_programs *programs, struct pw_exec_program *program, struct pw_program_node *node)
{
        struct wait_list waits = { NULL, 0 }, behind = { NULL, 0 };

        if (!waits_resolve(programs, program, node->image->waits, node->image->wait_count, &waits) ||
            !waits_resolve(programs, program, node->image->behind, node->image->behind_count, &behind))
                return false;
        node->waits = waits.waits;
        node->wait_count = waits.count;
        node->behind = behind.waits;
        node->behind_count = behind.count;
        return true;
}

enum pw_status pw_program_node_resolve(struct pw_programs *programs, struct pw_exec_program *program, uint32_t index,
                                       struct pw_error *ret_err)
{
        struct pw_program_node *node = &program->nodes[index];
        const struct pw_image_node *image = pw_image_node(program->image, index);

        node->image = image;
        node->name = pw_image_text(program->image, image->name);
        node->role = role_of(program, image);
        if (node->role == PW_ROLE_NONE)
                return PW_OK;
        node->inputs = rooms_resolve(program, image->inputs, image->input_count);
        node->outputs = rooms_resolve(program, image->outputs, image->output_count);
        if (!node->inputs || !node->outputs || !order_resolve(programs, program, node))
                return no_memory(ret_err);
        switch (image->kind) {
        case PW_NODE_CALL: return call_resolve(programs, program, node, ret_err);
        case PW_NODE_TRANSFER: return transfer_resolve(programs, program, node, ret_err);
        default: return PW_OK;
        }
}

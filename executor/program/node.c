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

int32_t pw_program_input_of(const struct pw_exec_program *program, uint32_t value)
{
        uint32_t writer = pw_image_value(program->image, value)->first_use;
        const struct pw_image_node *node = writer < program->image->node_count ? pw_image_node(program->image, writer) : NULL;

        return node && node->kind == PW_NODE_LOAD ? (int32_t)node->input_index : -1;
}

/* --- values -------------------------------------------------------------------------------------------------------------- */

/* Does the own shard, `box`, fit into the room that the image gives its value, and that room into the block? */
static bool value_fits(const struct pw_image *image, const struct pw_image_value *value, const struct pw_box *box)
{
        uint64_t bytes, room = pw_room_bytes(value->shard_bytes);

        if (!pw_mul_ok(pw_box_elements(box), pw_dtype_bytes(value->dtype), &bytes) || bytes > value->shard_bytes ||
            room < value->shard_bytes)
                return false;
        return value->place != PW_PLACE_BLOCK || (value->offset <= pw_image_block(image, value->index)->bytes &&
                                                  room <= pw_image_block(image, value->index)->bytes - value->offset);
}

/* The room of a value, and of a call, whose `ret_value` is not NULL, what the function sees of it. */
static void room_resolve(struct pw_exec_program *program, uint32_t index, struct pw_program_room *ret_room,
                         struct pw_task_value *ret_value)
{
        const struct pw_image *image = program->image;
        const struct pw_image_value *value = pw_image_value(image, index);
        const struct pw_exec_program_slice *slice = &program->slices[value->slice];
        bool block = value->place == PW_PLACE_BLOCK;
        struct pw_box box;

        *ret_room = (struct pw_program_room){ .value = index,
                                              .base = value->index + (block ? 0 : pw_image_block_count(image)),
                                              .offset = block ? value->offset : 0,
                                              .input = pw_program_input_of(program, index) };
        if (slice->place == PW_PLACE_NONE)
                return;
        pw_shard_box(&value->dims, &value->sharding, slice->mesh, slice->place, &box);
        if (!value_fits(image, value, &box))
                pw_error_set(&program->fault, PW_PROTOCOL, "value %u of %s does not fit into its room of %lu bytes", index,
                             pw_image_text(image, image->name), (unsigned long)value->shard_bytes);
        if (!ret_value)
                return;
        ret_value->dtype = value->dtype;
        ret_value->dims = pw_box_dims(&box);
        ret_value->bytes = pw_box_elements(&box) * pw_dtype_bytes(value->dtype);
}

static void rests_resolve(struct pw_program_node *node)
{
        for (uint32_t i = 0; i < node->image->output_count; i++) {
                uint64_t room = pw_room_bytes(pw_image_value(node->program->image, node->outputs[i].value)->shard_bytes);
                node->rests[i] = (uint32_t)pw_min_u64(room - node->output_values[i].bytes, UINT32_MAX);
        }
}

/* Of the list of values at `list` of the image; `ret_values` NULL: of no call. */
static void rooms_resolve(struct pw_exec_program *program, uint32_t list, uint32_t count, struct pw_program_room *ret_rooms,
                          struct pw_task_value *ret_values)
{
        const uint32_t *indexes = PW_IMAGE_AT(program->image, uint32_t, list);

        for (uint32_t i = 0; i < count; i++)
                room_resolve(program, indexes[i], &ret_rooms[i], ret_values ? &ret_values[i] : NULL);
}

/* --- lives of rooms, for the measured peak ------------------------------------------------------------------------------- */

/* Is the room of a value that node `index` reads or writes dead behind it, as far as the own device runs nodes? Other devices may
 * read it last, as the next node: the receive of a send. */
static bool is_dead_behind(const struct pw_exec_program *program, const struct pw_program_node *node,
                           const struct pw_image_value *value)
{
        const struct pw_image_node *last;

        if (value->place != PW_PLACE_BLOCK || program->slices[value->slice].place == PW_PLACE_NONE)
                return false;
        if (value->last_use == node->index || node->image->kind != PW_NODE_TRANSFER || node->image->phase != PW_PHASE_SEND)
                return value->last_use == node->index;
        last = pw_image_node(program->image, value->last_use);
        return last->kind == PW_NODE_TRANSFER && last->phase == PW_PHASE_RECV && last->send_node == node->index &&
               role_of(program, last) == PW_ROLE_NONE;
}

static bool is_among(const struct pw_program_room *rooms, uint32_t count, uint32_t value)
{
        for (uint32_t i = 0; i < count; i++)
                if (rooms[i].value == value)
                        return true;
        return false;
}

static void dead_add(const struct pw_exec_program *program, struct pw_program_node *node, const struct pw_program_room *room)
{
        if (room->input >= 0)
                node->dead_inputs[node->dead_input_count++] = room->value;
        else
                node->dead_bytes += pw_room_bytes(pw_image_value(program->image, room->value)->shard_bytes);
}

static void lives_fill(const struct pw_exec_program *program, struct pw_program_node *node)
{
        for (uint32_t i = 0; i < node->image->input_count; i++)
                if (is_dead_behind(program, node, pw_image_value(program->image, node->inputs[i].value)) &&
                    !is_among(node->inputs, i, node->inputs[i].value))
                        dead_add(program, node, &node->inputs[i]);
        for (uint32_t i = 0; i < node->image->output_count; i++) {
                const struct pw_image_value *value = pw_image_value(program->image, node->outputs[i].value);
                if (is_dead_behind(program, node, value))
                        dead_add(program, node, &node->outputs[i]);
                if (value->place == PW_PLACE_BLOCK && program->slices[value->slice].place != PW_PLACE_NONE)
                        node->born_bytes += pw_room_bytes(value->shard_bytes);
        }
}

/* --- what a receiver reads ----------------------------------------------------------------------------------------------- */

/* Memory of earlier sources serves again. */
static bool sources_reserve(struct pw_programs *programs, struct pw_program_node *node, uint32_t places)
{
        struct pw_program_sources *sources = node->sources;
        uint64_t place_bytes = sizeof *sources->places + sizeof *sources->groups + sizeof *sources->sources +
                               sizeof *sources->heads;
        uint8_t *memory;

        if (places <= sources->capacity)
                return true;
        memory = malloc(places * place_bytes);
        if (!memory)
                return false;
        free(sources->sources);
        node->bytes += (places - sources->capacity) * place_bytes;
        programs->node_bytes += (places - sources->capacity) * place_bytes;
        sources->capacity = places;
        sources->sources = (struct pw_source *)memory;
        sources->heads = (struct pw_source_head *)(sources->sources + places);
        sources->places = (uint32_t *)(sources->heads + places);
        sources->groups = sources->places + places;
        return true;
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

enum pw_status pw_program_sources_find(struct pw_programs *programs, struct pw_program_node *node,
                                       const struct pw_program_wanted *wanted, struct pw_error *ret_err)
{
        const struct pw_exec_program_slice *slice = wanted->to_slice;
        const struct pw_value_layout *layout = wanted->layout;
        struct pw_program_sources *found = node->sources;
        struct pw_receiver receiver = { .place = wanted->own_place, .number = slice->place, .at = wanted->at,
                                        .flags = wanted->flags };

        if (!sources_reserve(programs, node, pw_mesh_count(layout->mesh)))
                return no_memory(ret_err);
        pw_shard_box(&wanted->to->dims, &wanted->to->sharding, slice->mesh, slice->place, &found->to_box);
        receiver.wanted = found->to_box;
        pw_sources_part(&wanted->to->sharding, slice->mesh, slice->place, &receiver.part, &receiver.part_count);
        found->count = pw_sources(layout, &receiver, found->places, found->groups);
        for (uint32_t i = 0; i < found->count; i++) {
                pw_shard_box(&layout->dims, &layout->sharding, layout->mesh, found->places[i], &found->sources[i].box);
                found->sources[i].bytes = pw_box_elements(&found->sources[i].box) * pw_dtype_bytes(wanted->to->dtype);
        }
        found->uncovered = !covered(found);
        found->rest_is_zero = wanted->op == PW_SUM && pw_sharding_has_partial(&wanted->to->sharding, slice->mesh);
        return PW_OK;
}

/* Of a transfer in parts sources and result lie alike, and are cut where lines end: rows of elements. */
static void sources_flatten(struct pw_program_sources *sources)
{
        sources->to_box = (struct pw_box){ .rank = 1, .size = { pw_box_elements(&sources->to_box) } };
        for (uint32_t i = 0; i < sources->count; i++)
                sources->sources[i].box = sources->to_box;
}

static enum pw_status transfer_resolve(struct pw_programs *programs, struct pw_program_node *node, struct pw_error *ret_err)
{
        const struct pw_exec_program *program = node->program;
        const struct pw_image_value *from = pw_image_value(program->image, node->inputs[0].value);
        const struct pw_exec_program_slice *slice = &program->slices[node->image->source_slice];
        struct pw_value_layout layout = { .dims = from->dims, .sharding = from->sharding, .places = slice->places };
        enum pw_status status;

        if (!(node->role & PW_ROLE_RECEIVER))
                return PW_OK;
        memcpy(layout.mesh, slice->mesh, sizeof layout.mesh);
        status = pw_program_sources_find(programs, node, &(struct pw_program_wanted){
                .layout = &layout,
                .to = pw_image_value(program->image, node->outputs[0].value),
                .to_slice = &program->slices[node->image->slice],
                .own_place = node->image->slice == node->image->source_slice ? slice->place : PW_PLACE_NONE, /* as lowering asks */
                .at = { .host = (uint16_t)programs->host, .island = (uint16_t)programs->island },
                .flags = node->image->island_partial,
                .op = node->image->op,
        }, ret_err);
        if (status == PW_OK && node->image->phase == PW_PHASE_PARTS)
                sources_flatten(node->sources);
        return status;
}

/* --- calls --------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_program_function_find(struct pw_programs *programs, struct pw_program_node *node, struct pw_error *ret_err)
{
        const struct pw_image *image = node->program->image;
        const struct pw_image_function *function =
                PW_IMAGE_AT(image, struct pw_image_function, image->functions) + node->image->function;
        const char *name = pw_image_text(image, function->name), *slash = strrchr(name, '/');
        struct pw_found_function found;
        struct pw_error fault;

        if (pw_modules_find(programs->modules, pw_image_text(image, function->module), slash ? slash + 1 : name, function->digest,
                            &found, &fault) == PW_OK) {
                node->module = found.module;
                if (programs->kernels ? found.function->cuda != NULL : found.function->run != NULL) {
                        node->function = found.function;
                        return PW_OK;
                }
                pw_error_set(&fault, PW_UNSUPPORTED, "%s has no form for device %u, which is %s GPU", name, programs->device,
                             programs->kernels ? "a" : "no");
        }
        node->fault = malloc(sizeof fault);
        if (!node->fault)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to say why there is no function");
        *node->fault = fault;
        node->bytes += sizeof fault;
        programs->node_bytes += sizeof fault;
        return PW_OK;
}

static void task_resolve(const struct pw_programs *programs, struct pw_program_node *node)
{
        const struct pw_exec_program *program = node->program;
        const struct pw_exec_program_slice *slice = &program->slices[node->image->slice];
        struct pw_task *task = &node->task;

        task->input_count = node->image->input_count;
        task->output_count = node->image->output_count - pw_program_has_scratch(node);
        task->inputs = node->input_values;
        task->outputs = node->output_values;
        task->scratch_bytes = pw_program_has_scratch(node) ? node->output_values[task->output_count].bytes : 0;
        task->params = PW_IMAGE_AT(program->image, void, node->image->params);
        task->params_bytes = node->image->params_bytes;
        task->shard = slice->place;
        task->shard_count = slice->device_count;
        task->device = programs->device;
        pw_mesh_coords(slice->mesh, slice->place, task->coords);
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                task->mesh[a] = slice->mesh[a] ? slice->mesh[a] : 1;
}

/* --- waits --------------------------------------------------------------------------------------------------------------- */

uint32_t pw_program_waits_on(const struct pw_programs *programs, const struct pw_exec_program *program, uint32_t on,
                             struct pw_program_wait ret_waits[PW_DEVICES_MAX])
{
        const struct pw_image_node *node = pw_image_node(program->image, on);
        const struct pw_exec_program_slice *slice =
                &program->slices[node->phase == PW_PHASE_SEND ? node->source_slice : node->slice];
        uint32_t count = 0;

        for (uint32_t i = 0; i < program->island_count; i++) {
                for (uint32_t p = 0; p < slice->near_count && count < PW_DEVICES_MAX; p++) {
                        const struct pw_slice_place *at = &slice->places[slice->near[p]];
                        if (at->island == program->islands[i] && at->device != programs->device)
                                ret_waits[count++] =
                                        (struct pw_program_wait){ node->seq_slot * program->island_count + i, at->device };
                }
        }
        return count;
}

/* Append those of a list of nodes at `offset` of the image, as far as `ret_waits` has room: false where it has not. */
static bool waits_list(const struct pw_programs *programs, const struct pw_exec_program *program, uint32_t offset, uint32_t nodes,
                       struct pw_program_wait ret_waits[PW_NODE_WAITS_MAX], uint32_t *count)
{
        const uint32_t *on = PW_IMAGE_AT(program->image, uint32_t, offset);

        for (uint32_t i = 0; i < nodes; i++) {
                if (*count > PW_NODE_WAITS_MAX - PW_DEVICES_MAX)
                        return false;
                *count += pw_program_waits_on(programs, program, on[i], ret_waits + *count);
        }
        return true;
}

/* --- a node -------------------------------------------------------------------------------------------------------------- */

/* What the parts of a node count. */
struct node_shape { uint32_t args, values, waits; bool has_sources; };

/* One piece of memory: the node, its rooms, what a function sees of them, sources, waits, dead inputs. */
static struct pw_program_node *node_new(struct pw_programs *programs, const struct pw_image_node *image,
                                        const struct node_shape *shape)
{
        uint64_t bytes = sizeof(struct pw_program_node) + shape->args * (sizeof(struct pw_program_room) + 2 * sizeof(uint32_t)) +
                         shape->values * sizeof(struct pw_task_value) + shape->waits * sizeof(struct pw_program_wait) +
                         shape->has_sources * sizeof(struct pw_program_sources);
        struct pw_program_node *node = malloc(bytes);

        if (!node)
                return NULL;
        memset(node, 0, bytes);
        node->bytes = bytes;
        programs->node_bytes += bytes;
        node->inputs = (struct pw_program_room *)(node + 1);
        node->outputs = node->inputs + (shape->args ? image->input_count : 0);
        node->input_values = (struct pw_task_value *)(node->inputs + shape->args);
        node->output_values = node->input_values + (shape->values ? image->input_count : 0);
        node->sources = (struct pw_program_sources *)(node->input_values + shape->values);
        node->waits = (struct pw_program_wait *)(node->sources + shape->has_sources);
        node->dead_inputs = (uint32_t *)(node->waits + shape->waits);
        node->rests = node->dead_inputs + shape->args;
        node->sources = shape->has_sources ? node->sources : NULL;
        return node;
}

void pw_program_node_free(struct pw_programs *programs, struct pw_program_node *node)
{
        pw_module_release(node->module);
        programs->node_bytes -= node->bytes;
        if (node->sources)
                free(node->sources->sources);
        free(node->fault);
        free(node);
}

static enum pw_status member_resolve(struct pw_programs *programs, struct pw_program_node *node, struct pw_error *ret_err)
{
        bool is_call = node->image->kind == PW_NODE_CALL;

        rooms_resolve(node->program, node->image->inputs, node->image->input_count, node->inputs,
                      is_call ? node->input_values : NULL);
        rooms_resolve(node->program, node->image->outputs, node->image->output_count, node->outputs,
                      is_call ? node->output_values : NULL);
        lives_fill(node->program, node);
        if (node->image->kind == PW_NODE_TRANSFER)
                return transfer_resolve(programs, node, ret_err);
        if (is_call) {
                rests_resolve(node);
                task_resolve(programs, node);
        }
        return PW_OK;
}

enum pw_status pw_program_node_resolve(struct pw_programs *programs, struct pw_exec_program *program, uint32_t index,
                                       struct pw_program_node **ret_node, struct pw_error *ret_err)
{
        const struct pw_image_node *image = pw_image_node(program->image, index);
        struct pw_program_wait waits[PW_NODE_WAITS_MAX];
        enum pw_node_role role = role_of(program, image);
        struct node_shape shape = { 0 };
        uint32_t first = 0;
        bool has_many_waits = false;
        struct pw_program_node *node;
        enum pw_status status = PW_OK;

        if (role != PW_ROLE_NONE) {
                shape.args = image->input_count + image->output_count;
                shape.values = image->kind == PW_NODE_CALL ? shape.args : 0;
                shape.has_sources = image->kind != PW_NODE_CALL && role & PW_ROLE_RECEIVER;
                has_many_waits = !waits_list(programs, program, image->waits, image->wait_count, waits, &shape.waits);
                first = shape.waits;
                has_many_waits = has_many_waits ||
                        !waits_list(programs, program, image->behind, image->behind_count, waits, &shape.waits);
                shape.waits = has_many_waits ? 0 : shape.waits;
        }
        node = node_new(programs, image, &shape);
        if (!node)
                return no_memory(ret_err);
        node->program = program;
        node->index = index;
        node->image = image;
        node->role = (uint8_t)role;
        node->has_many_waits = has_many_waits;
        memcpy(node->waits, waits, shape.waits * sizeof *waits);
        node->wait_count = shape.waits ? first : 0;
        node->behind = node->waits + node->wait_count;
        node->behind_count = shape.waits - node->wait_count;
        if (role != PW_ROLE_NONE)
                status = member_resolve(programs, node, ret_err);
        if (status == PW_OK)
                *ret_node = node;
        else
                pw_program_node_free(programs, node);
        return status;
}

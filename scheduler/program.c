/* Programs: taken with their slices, kept until their last run has ended. */
#include "scheduler/state.h"

#include "base/error.h"

static bool copy_map(const struct pw_slice_map *from, struct pw_slice_map *to)
{
        size_t bytes = from->device_count * sizeof *from->devices;
        uint16_t *islands = malloc(bytes), *devices = malloc(bytes);

        if (!islands || !devices) {
                free(islands);
                free(devices);
                return false;
        }
        memcpy(islands, from->islands, bytes);
        memcpy(devices, from->devices, bytes);
        *to = *from;
        to->islands = islands;
        to->devices = devices;
        return true;
}

static enum pw_status take_slices(struct pw_program *program, const struct pw_graph *graph, struct pw_error *ret_err)
{
        struct pw_scheduler *scheduler = program->scheduler;
        const struct pw_image *image = program->row.image;

        program->row.slices = calloc(image->slice_count + 1, sizeof *program->row.slices);
        program->slices = calloc(image->slice_count + 1, sizeof *program->slices);
        if (!program->row.slices || !program->slices)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for program %s", program->row.name);
        for (uint32_t i = 0; i < image->slice_count; i++) {
                struct pw_slice_live *slice = pw_handles_get(&scheduler->slices, graph->slices[i].id);
                if (!slice)
                        return pw_error_set(ret_err, PW_NOT_FOUND, "program %s: slice %u is closed", program->row.name,
                                            graph->slices[i].id);
                if (!copy_map(&slice->map, &program->row.slices[i]))
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for program %s", program->row.name);
                pw_slice_use(slice);
                program->slices[i] = (struct pw_program_slice){ slice->serial };
        }
        return PW_OK;
}

static bool take_blocks(struct pw_program *program)
{
        const struct pw_image *image = program->row.image;

        program->block_count = pw_image_block_count(image);
        program->blocks = calloc(program->block_count + 1, sizeof *program->blocks);
        for (uint32_t i = 0; program->blocks && i < program->block_count; i++) {
                const struct pw_image_block *block = pw_image_block(image, i);
                program->blocks[i] = (struct pw_program_block){ block->slice, block->stage, program->place_count,
                                                                pw_round_up(block->bytes, PW_LINE_BYTES) };
                program->place_count += program->row.slices[block->slice].device_count;
        }
        return program->blocks && pw_chain_init(program);
}

struct pw_program_device *pw_program_device(const struct pw_program *program, uint32_t number)
{
        uint64_t bit = UINT64_C(1) << number;

        if (!(program->device_mask & bit))
                return NULL;
        return &program->devices[__builtin_popcountll(program->device_mask & (bit - 1))];
}

static enum pw_status take_devices(struct pw_program *program, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < program->row.image->slice_count; i++)
                for (uint32_t place = 0; place < program->row.slices[i].device_count; place++)
                        program->device_mask |= UINT64_C(1) << program->row.slices[i].devices[place];
        program->devices = calloc(PW_DEVICES_MAX, sizeof *program->devices);
        if (!program->devices)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for program %s", program->row.name);
        for (uint64_t rest = program->device_mask; rest; rest &= rest - 1) {
                struct pw_program_device *device = &program->devices[program->device_count++];
                device->device = program->scheduler->devices[__builtin_ctzll(rest)];
                device->rooms = pw_device_rooms(device->device, program->row.tenant);
                if (!device->rooms)
                        return pw_error_set(ret_err, PW_INVALID, "program %s: device h%u:%u has no segment of tenant %s",
                                            program->row.name, program->scheduler->host, device->device->number,
                                            program->row.tenant);
        }
        return PW_OK;
}

static void need(struct pw_program *program, uint32_t slice, uint64_t bytes)
{
        const struct pw_slice_map *map = &program->row.slices[slice];

        for (uint32_t place = 0; bytes && place < map->device_count; place++) {
                pw_program_device(program, map->devices[place])->bytes += bytes;
                program->memory_mask |= UINT64_C(1) << map->devices[place];
        }
}

static enum pw_status take_image(struct pw_program *program, struct pw_error *ret_err)
{
        const struct pw_image *image = program->row.image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);

        program->inputs = calloc(image->input_count + 1, sizeof *program->inputs);
        if (!program->inputs || !take_blocks(program) || !pw_program_plan(program))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for program %s", program->row.name);
        for (uint32_t i = 0; i < program->block_count; i++)
                need(program, program->blocks[i].slice, program->blocks[i].bytes);
        for (uint32_t i = 0; i < image->result_count; i++) {
                need(program, pw_program_result_value(program, i)->slice, program->results[i].room_bytes);
                if (results[i].donated_input >= 0)
                        program->inputs[results[i].donated_input] = (struct pw_program_input){ true, i };
        }
        return PW_OK;
}

static struct pw_program *program_new(struct pw_scheduler *scheduler, struct pw_image *image, const char *tenant, uint32_t session)
{
        struct pw_program *program = calloc(1, sizeof *program);

        if (!program)
                return NULL;
        program->scheduler = scheduler;
        program->row = (struct pw_program_row){ .session = session, .name = strdup(pw_image_text(image, image->name)),
                                                .tenant = strdup(tenant), .image = image, .input_count = image->input_count,
                                                .result_count = image->result_count, .own = program };
        pw_list_init(&program->idle_runs);
        pw_list_init(&program->link);
        return program;
}

enum pw_status pw_scheduler_program_add(struct pw_scheduler *scheduler, struct pw_image *image_take, const struct pw_graph *graph,
                                        const char *tenant, uint32_t session, uint32_t *ret_program, struct pw_error *ret_err)
{
        struct pw_program *program = program_new(scheduler, image_take, tenant, session);
        enum pw_status status = PW_OK;

        if (!program || !program->row.name || !program->row.tenant)
                status = pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
        if (status == PW_OK)
                status = take_slices(program, graph, ret_err);
        if (status == PW_OK)
                status = take_devices(program, ret_err);
        if (status == PW_OK)
                status = take_image(program, ret_err);
        if (status == PW_OK)
                status = pw_place_check(program, ret_err);
        if (status == PW_OK) {
                program->row.program = pw_handles_add(&scheduler->programs, program);
                if (!program->row.program)
                        status = pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
        }
        if (status == PW_OK) {
                *ret_program = program->row.program;
                return PW_OK;
        }
        if (program) {
                program->row.image = NULL; /* still the caller's */
                pw_program_destroy(program);
        }
        return status;
}

void pw_program_destroy(struct pw_program *program)
{
        struct pw_live *live;

        pw_list_each(&program->idle_runs, live, struct pw_live, link)
                pw_live_free(live);
        for (uint32_t i = 0; program->row.slices && program->slices && program->slices[i].serial; i++) {
                pw_slice_unuse(program->scheduler, program->row.slices[i].id);
                free((void *)program->row.slices[i].islands);
                free((void *)program->row.slices[i].devices);
        }
        pw_program_plan_done(program);
        free(program->row.slices);
        free(program->slices);
        free(program->blocks);
        free(program->chains);
        free(program->devices);
        free(program->inputs);
        free(program->row.image);
        free(program->row.name);
        free(program->row.tenant);
        free(program->row.client);
        free(program->row.modules);
        free(program);
}

void pw_program_maybe_end(struct pw_program *program)
{
        struct pw_scheduler *scheduler = program->scheduler;

        if (!program->row.freed || program->row.runs_in_flight)
                return;
        pw_handles_remove(&scheduler->programs, program->row.program);
        pw_action_add(scheduler, PW_ACT_PROGRAM_ENDED)->program = &program->row;
        pw_list_append(&scheduler->actions.ended_programs, &program->link);
}

void pw_scheduler_program_free(struct pw_scheduler *scheduler, uint32_t number)
{
        struct pw_program *program = pw_handles_get(&scheduler->programs, number);

        if (!program || program->row.freed)
                return;
        program->row.freed = true;
        pw_program_maybe_end(program);
}

struct pw_program_row *pw_scheduler_program(struct pw_scheduler *scheduler, uint32_t number)
{
        struct pw_program *program = pw_handles_get(&scheduler->programs, number);

        return program ? &program->row : NULL;
}

/* Programs: taken with their slices, kept until their last run has ended. */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/memory.h"

static bool copy_map(const struct pw_slice_map *from, struct pw_slice_map *to)
{
        size_t bytes = from->device_count * sizeof *from->places;
        struct pw_slice_place *places = malloc(bytes);

        if (!places)
                return false;
        memcpy(places, from->places, bytes);
        *to = *from;
        to->places = places;
        return true;
}

static bool copy_maps(struct pw_sched_program *program, const struct pw_slice_map *slices)
{
        uint32_t count = program->row.image->slice_count;

        program->row.slices = calloc(count + 1, sizeof *program->row.slices);
        program->slices = calloc(count + 1, sizeof *program->slices);
        if (!program->row.slices || !program->slices)
                return false;
        for (; program->slice_count < count; program->slice_count++)
                if (!copy_map(&slices[program->slice_count], &program->row.slices[program->slice_count]))
                        return false;
        return true;
}

/* Those of another host are open there. */
static enum pw_status take_slices(struct pw_sched_program *program, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < program->slice_count; i++) {
                struct pw_slice_live *slice = pw_table_get(&program->scheduler->slices, program->row.slices[i].id);
                if (program->requester != program->scheduler->own) {
                        program->slices[i].serial = ++program->scheduler->serial_count;
                        continue;
                }
                if (!slice)
                        return pw_error_set(ret_err, PW_NOT_FOUND, "program %s: slice %u is closed", program->row.name,
                                            program->row.slices[i].id);
                pw_slice_use(slice);
                program->slices[i].serial = slice->serial;
        }
        return PW_OK;
}

static bool take_blocks(struct pw_sched_program *program)
{
        const struct pw_image *image = program->row.image;

        program->block_count = pw_image_block_count(image);
        program->blocks = calloc(program->block_count + 1, sizeof *program->blocks);
        for (uint32_t i = 0; program->blocks && i < program->block_count; i++) {
                const struct pw_image_block *block = pw_image_block(image, i);
                program->blocks[i] = (struct pw_program_block){ block->slice, block->stage, program->here_count,
                                                                pw_round_up(block->bytes, PW_LINE_BYTES) };
                program->here_count += program->slices[block->slice].here_count;
        }
        return program->blocks && pw_chain_init(program);
}

struct pw_program_device *pw_program_device(const struct pw_sched_program *program, uint32_t number)
{
        uint32_t first = 0, end = program->device_count;

        while (first < end) {
                uint32_t middle = first + (end - first) / 2;
                if (program->devices[middle].number < number)
                        first = middle + 1;
                else
                        end = middle;
        }
        return first < program->device_count && program->devices[first].number == number ? &program->devices[first] : NULL;
}

struct pw_room pw_program_room(const struct pw_sched_program *program, const struct pw_program_device *device, uint64_t offset,
                               uint64_t bytes)
{
        return (struct pw_room){ (uint16_t)program->scheduler->host, (uint16_t)device->number, device->rooms->segment, offset,
                                 bytes };
}

bool pw_program_is_in(const struct pw_sched_program *program, const struct pw_island *island)
{
        for (uint32_t i = 0; i < program->device_count; i++)
                if (program->devices[i].device->island == island->number)
                        return true;
        return false;
}

/* A peer's may name any place. */
static enum pw_status check_slices(const struct pw_sched_program *program, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < program->slice_count; i++) {
                enum pw_status status = pw_slice_check(&program->row.slices[i], i, ret_err);

                if (status != PW_OK)
                        return status;
        }
        return PW_OK;
}

/* Devices are where its slices say. */
static enum pw_status check_islands(const struct pw_sched_program *program, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < program->slice_count; i++)
                for (uint32_t h = 0; h < program->slices[i].here_count; h++) {
                        const struct pw_program_place *here = &program->slices[i].here[h];
                        const struct pw_device *device = program->devices[here->device].device;
                        uint32_t island = program->row.slices[i].places[here->place].island;

                        if (device->island != island)
                                return pw_error_set(ret_err, PW_INVALID, "program %s: device h%u:%u is in island %u, not in %u",
                                                    program->row.name, program->scheduler->host, device->number, device->island,
                                                    island);
                }
        return PW_OK;
}

static enum pw_status take_devices(struct pw_sched_program *program, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < program->device_count; i++) {
                struct pw_program_device *device = &program->devices[i];
                device->device = program->scheduler->devices[device->number];
                if (!device->device)
                        return pw_error_set(ret_err, PW_INVALID, "program %s: there is no device h%u:%u", program->row.name,
                                            program->scheduler->host, device->number);
                device->rooms = pw_device_rooms(device->device, program->row.tenant);
                if (!device->rooms)
                        return pw_error_set(ret_err, PW_INVALID, "program %s: device h%u:%u has no segment of tenant %s",
                                            program->row.name, program->scheduler->host, device->number,
                                            program->row.tenant);
        }
        program->quota = pw_quota_of(&program->scheduler->quotas, program->row.tenant);
        if (!program->quota)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
        return check_islands(program, ret_err);
}

static void need(struct pw_sched_program *program, uint32_t slice, uint64_t bytes)
{
        for (uint32_t i = 0; bytes && i < program->slices[slice].here_count; i++) {
                struct pw_program_device *device = &program->devices[program->slices[slice].here[i].device];
                device->bytes += bytes;
                program->memory_members |= UINT64_C(1) << device->number;
        }
}

static bool take_image(struct pw_sched_program *program, uint32_t host)
{
        const struct pw_image *image = program->row.image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);

        program->inputs = calloc(image->input_count + 1, sizeof *program->inputs);
        if (!program->inputs || !take_blocks(program) || !pw_plan_init(&program->plan, image, program->row.slices, host))
                return false;
        for (uint32_t i = 0; i < program->block_count; i++)
                need(program, program->blocks[i].slice, program->blocks[i].bytes);
        program->row.room_count = program->here_count;
        for (uint32_t i = 0; i < image->result_count; i++) {
                uint32_t slice = pw_program_result_value(program, i)->slice;
                need(program, slice, program->plan.results[i].room_bytes);
                program->row.room_count += program->slices[slice].here_count;
                if (results[i].donated_input >= 0)
                        program->inputs[results[i].donated_input] = (struct pw_program_input){ true, i };
        }
        return true;
}

static bool make_types(struct pw_sched_program *program)
{
        program->types = calloc(program->row.result_count + 1, sizeof(struct pw_result_type *));
        for (uint32_t i = 0; program->types && i < program->row.result_count; i++) {
                const struct pw_image_value *value = pw_program_result_value(program, i);

                program->types[i] = pw_type_new(program, value);
                if (!program->types[i])
                        return false;
        }
        return program->types;
}

enum pw_status pw_program_make(struct pw_image *image_take, const struct pw_slice_map *slices, const struct pw_program_of *of,
                               struct pw_program_row **ret_program, struct pw_error *ret_err)
{
        struct pw_sched_program *program = calloc(1, sizeof *program);
        struct pw_image *image = image_take;
        enum pw_status status = PW_OK;
        bool made;

        if (!program)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
        program->row = (struct pw_program_row){ .session = of->session, .name = strdup(pw_image_text(image, image->name)),
                                                .tenant = strdup(of->tenant), .image = image, .input_count = image->input_count,
                                                .result_count = image->result_count, .own = program };
        pw_list_init(&program->idle_runs);
        pw_list_init(&program->idle_host_runs);
        pw_queue_init(&program->queue);
        pw_list_init(&program->link);
        pw_list_init(&program->of_all);
        made = program->row.name && program->row.tenant && copy_maps(program, slices);
        if (made)
                status = check_slices(program, ret_err);
        if (made && status == PW_OK && pw_places_init(program, of->host) && take_image(program, of->host) && make_types(program)) {
                *ret_program = &program->row;
                return PW_OK;
        }
        program->row.image = NULL; /* still the caller's */
        pw_program_destroy(program);
        return status == PW_OK ? pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program") : status;
}

/* Its names, what the host notes of it, places in tables. */
#define APART_BYTES 1024u

uint64_t pw_program_bytes(const struct pw_program_row *row)
{
        const struct pw_sched_program *program = pw_program_of((struct pw_program_row *)(uintptr_t)row);
        uint64_t bytes = sizeof *program + row->image->bytes + APART_BYTES;

        for (uint32_t i = 0; i < program->slice_count; i++)
                bytes += sizeof *row->slices + PW_HEAP_BYTES + row->slices[i].device_count * sizeof *row->slices[i].places;
        bytes += pw_plan_bytes(&program->plan, row->image) + row->input_count * sizeof *program->inputs +
                row->result_count * (sizeof *program->types + sizeof **program->types + PW_HEAP_BYTES);
        return bytes + pw_places_bytes(program) + program->block_count * sizeof *program->blocks;
}

void pw_program_unmake(struct pw_program_row *program)
{
        if (program)
                pw_program_destroy(pw_program_of(program));
}

/* What was taken in vain. */
static void give_slices(struct pw_sched_program *program)
{
        for (uint32_t i = 0; i < program->slice_count; i++) {
                if (program->slices[i].serial && program->requester == program->scheduler->own)
                        pw_slice_unuse(program->scheduler, program->row.slices[i].id);
                program->slices[i].serial = 0;
        }
}

/* What its runs are asked for with, and what is answered. */
static enum pw_status prepare_to_ask(struct pw_scheduler *scheduler, const struct pw_sched_program *program,
                                     struct pw_error *ret_err)
{
        uint32_t here = 0;

        for (uint32_t i = 0; i < program->slice_count; i++)
                here = program->slices[i].here_count > here ? program->slices[i].here_count : here;
        if (pw_grow((void **)&scheduler->asking, &scheduler->asking_capacity, program->row.input_count,
                    sizeof *scheduler->asking) &&
            pw_grow((void **)&scheduler->asking_slots, &scheduler->asking_slot_capacity, program->row.result_count,
                    sizeof *scheduler->asking_slots) &&
            pw_grow((void **)&scheduler->telling_rooms, &scheduler->telling_room_capacity, here,
                    sizeof *scheduler->telling_rooms) &&
            pw_grow((void **)&scheduler->telling_slots, &scheduler->telling_slot_capacity, program->chain_count,
                    sizeof *scheduler->telling_slots))
                return PW_OK;
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
}

/* Numbers: its own here, and what its coordinator calls it. */
static enum pw_status number(struct pw_sched_program *program, struct pw_error *ret_err)
{
        struct pw_scheduler *scheduler = program->scheduler;

        program->row.program = pw_scheduler_number(&scheduler->programs, &scheduler->program_number);
        if (!pw_table_put(&scheduler->programs, program->row.program, program))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
        if (program->requester == scheduler->own || pw_table_put(&program->requester->programs, program->asked_as, program))
                return PW_OK;
        pw_table_remove(&scheduler->programs, program->row.program);
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
}

static enum pw_status install(struct pw_scheduler *scheduler, struct pw_sched_program *program, struct pw_error *ret_err)
{
        enum pw_status status;

        program->scheduler = scheduler;
        status = take_slices(program, ret_err);
        if (status == PW_OK)
                status = take_devices(program, ret_err);
        if (status == PW_OK)
                status = pw_place_check(program, ret_err);
        if (status == PW_OK)
                status = prepare_to_ask(scheduler, program, ret_err);
        if (status == PW_OK)
                status = number(program, ret_err);
        if (status != PW_OK) {
                give_slices(program);
                return status;
        }
        for (uint32_t i = 0; i < program->row.result_count; i++)
                program->types[i]->slice_serial = program->slices[program->types[i]->value.slice].serial;
        pw_list_append(&scheduler->all_programs, &program->of_all);
        scheduler->alone &= program->host_count == 1 && program->hosts[0] == scheduler->host;
        for (uint32_t i = 0; i < program->device_count; i++)
                program->devices[i].rooms->programs++;
        return PW_OK;
}

enum pw_status pw_scheduler_program_install(struct pw_scheduler *scheduler, struct pw_program_row *program_take,
                                            struct pw_error *ret_err)
{
        struct pw_sched_program *program = pw_program_of(program_take);

        program->requester = scheduler->own;
        return install(scheduler, program, ret_err);
}

enum pw_status pw_scheduler_program_install_for(struct pw_scheduler *scheduler, const struct pw_program_requester *requester,
                                                struct pw_program_row *program_take, struct pw_error *ret_err)
{
        struct pw_sched_program *program = pw_program_of(program_take);

        program->requester = pw_requester_of(scheduler, &(struct pw_run_id){ requester->coordinator, requester->epoch, 0 });
        program->asked_as = requester->program;
        if (!program->requester || program->requester == scheduler->own || program->requester->given_up)
                return pw_error_set(ret_err, PW_NOT_FOUND, "program %s is of host %u in epoch %x, which is not known here",
                                    program->row.name, requester->coordinator, requester->epoch);
        if (pw_requester_program(scheduler, program->requester, requester->program))
                return pw_error_set(ret_err, PW_EXISTS, "program %u of host %u is here", requester->program,
                                    requester->coordinator);
        return install(scheduler, program, ret_err);
}

enum pw_status pw_scheduler_program_add(struct pw_scheduler *scheduler, struct pw_image *image_take, const struct pw_graph *graph,
                                        const char *tenant, uint32_t session, uint32_t *ret_program, struct pw_error *ret_err)
{
        struct pw_program_row *program;
        enum pw_status status = pw_program_make(image_take, graph->slices,
                                                &(struct pw_program_of){ tenant, session, scheduler->host }, &program, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_scheduler_program_install(scheduler, program, ret_err);
        if (status != PW_OK) {
                program->image = NULL; /* still the caller's */
                pw_program_unmake(program);
                return status;
        }
        *ret_program = program->program;
        return PW_OK;
}

void pw_program_destroy(struct pw_sched_program *program)
{
        struct pw_host_run *run;
        struct pw_live *live;

        pw_list_each(&program->idle_runs, live, struct pw_live, link)
                pw_live_free(live);
        pw_list_each(&program->idle_host_runs, run, struct pw_host_run, link)
                pw_host_run_free(run);
        give_slices(program);
        pw_types_leave(program);
        pw_places_done(program);
        for (uint32_t i = 0; i < program->slice_count; i++)
                free((void *)program->row.slices[i].places);
        pw_plan_done(&program->plan);
        free(program->row.slices);
        free(program->blocks);
        free(program->chains);
        free(program->inputs);
        if (!program->row.image_placed)
                free(program->row.image);
        free(program->row.name);
        free(program->row.tenant);
        free(program->row.client);
        free(program->row.modules);
        free(program);
}

void pw_program_maybe_end(struct pw_sched_program *program)
{
        struct pw_scheduler *scheduler = program->scheduler;
        struct pw_action *action;

        if (!program->row.freed || program->row.runs_in_flight || program->host_runs || program->listers)
                return;
        pw_table_remove(&scheduler->programs, program->row.program);
        if (program->requester != scheduler->own)
                pw_table_remove(&program->requester->programs, program->asked_as);
        pw_list_remove(&program->of_all);
        for (uint32_t i = 0; i < program->device_count; i++)
                program->devices[i].rooms->programs--;
        action = pw_action_add(scheduler, PW_ACT_PROGRAM_ENDED);
        action->program = &program->row;
        action->message = (struct pw_message){ .kind = PW_MSG_PROGRAM_ENDED, .run.program = program->row.program };
        pw_list_append(&scheduler->actions.ended_programs, &program->link);
}

void pw_scheduler_program_free(struct pw_scheduler *scheduler, uint32_t number)
{
        struct pw_sched_program *program = pw_table_get(&scheduler->programs, number);

        if (!program || program->row.freed)
                return;
        program->row.freed = true;
        pw_program_maybe_end(program);
}

struct pw_program_row *pw_scheduler_program(struct pw_scheduler *scheduler, uint32_t number)
{
        struct pw_sched_program *program = pw_table_get(&scheduler->programs, number);

        return program ? &program->row : NULL;
}

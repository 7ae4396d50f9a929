/* Placing a run: which inputs stay where they are, and a room for everything else, on all devices at once or on none.
 *
 * A run takes blocks of its own if there is room for them and their chain may have more. Else it takes over those of a run that
 * was admitted before it, so that runs go on in as much memory as there is. */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/size.h"

/* Does the input lie on the devices of the program's slice just as the program declares it? */
static bool lies_as_declared(const struct pw_host_run *run, uint32_t index)
{
        const struct pw_host_result *result = run->inputs[index].result;
        const struct pw_image *image = run->program->row.image;
        const struct pw_image_input *input = PW_IMAGE_AT(image, struct pw_image_input, image->inputs) + index;
        const struct pw_image_value *want = pw_image_value(image, input->value);
        const struct pw_slice_map *map = &run->program->row.slices[want->slice];

        if (result->room_count != map->device_count || result->type->value.shard_bytes != want->shard_bytes ||
            memcmp(result->type->mesh, map->mesh, sizeof map->mesh) != 0 ||
            !pw_sharding_equal(&result->type->value.sharding, &want->sharding, map->mesh))
                return false;
        if (result->type->slice_serial == run->program->slices[want->slice].serial)
                return true;
        for (uint32_t i = 0; i < map->device_count; i++)
                if (result->rooms[i].host != map->places[i].host || result->rooms[i].device != map->places[i].device)
                        return false;
        return true;
}

/* A value that takes the room of a result stays in place only if that room is the input's own. */
static void place_input(struct pw_host_run *run, uint32_t index)
{
        struct pw_host_input *place = &run->inputs[index];
        const struct pw_program_input *takes = &run->program->inputs[index];
        const struct pw_image *image = run->program->row.image;
        const struct pw_image_input *input = PW_IMAGE_AT(image, struct pw_image_input, image->inputs) + index;
        bool in_block = pw_image_value(image, input->value)->place == PW_PLACE_BLOCK;
        bool alone = place->given && place->result && !place->result->letting_go;

        place->in_place = place->takes = false;
        if (!place->result || place->status != PW_OK || place->result->donated || place->result->losses ||
            !lies_as_declared(run, index) || !(in_block || (takes->takes_result && alone)))
                return;
        place->in_place = true;
        place->takes = !in_block;
}

void pw_place_inputs(struct pw_host_run *run)
{
        for (uint32_t i = 0; i < run->program->row.input_count; i++)
                place_input(run, i);
}

/* Bytes on each of the program's devices that the results in place need not have. */
static void subtract_saved(const struct pw_host_run *run, uint64_t bytes[PW_DEVICES_MAX])
{
        const struct pw_sched_program *program = run->program;

        for (uint32_t i = 0; i < run->program->row.input_count; i++) {
                const struct pw_program_input *input = &program->inputs[i];
                const struct pw_program_slice *slice;
                if (!input->takes_result || !run->inputs[i].takes)
                        continue;
                slice = &program->slices[pw_program_result_value(program, input->result)->slice];
                for (uint32_t h = 0; h < slice->here_count; h++)
                        bytes[slice->here[h].device] -= program->plan.results[input->result].room_bytes;
        }
}

/* What a run updates in place lies on the device too: it takes as much, whoever brought it. */
enum pw_status pw_place_check(const struct pw_sched_program *program, struct pw_error *ret_err)
{
        char need_text[24], have_text[24], more_text[16];

        for (uint32_t i = 0; i < program->device_count; i++) {
                const struct pw_program_device *device = &program->devices[i];
                uint64_t limit = pw_min_u64(device->device->capacity, device->rooms->bytes);

                if (device->bytes <= limit)
                        continue;
                pw_size_format_two(device->bytes, limit, need_text, have_text);
                return pw_error_set(ret_err, PW_TOO_LARGE, "a run needs %s on device h%u:%u, which has %s: %s too much", need_text,
                                    program->scheduler->host, device->device->number, have_text,
                                    pw_size_format(device->bytes - limit, more_text));
        }
        return PW_OK;
}

uint64_t pw_place_least(const struct pw_sched_program *program, const struct pw_core_input *inputs)
{
        uint64_t need = 0;

        for (uint32_t i = 0; i < program->device_count; i++)
                need += program->devices[i].bytes;
        for (uint32_t i = 0; i < program->row.input_count; i++) {
                uint32_t result = program->inputs[i].result;

                if (program->inputs[i].takes_result && inputs[i].given)
                        need -= program->plan.results[result].room_bytes *
                                program->slices[pw_program_result_value(program, result)->slice].here_count;
        }
        return need;
}

/* --- taking rooms ------------------------------------------------------------------------------------------------------------- */

/* Takes rooms one after the other; after the first that is not there `failed` names its device. */
struct taking {
        struct pw_host_run *run;
        struct pw_device *failed;
        uint64_t bytes;
        bool reuse; /* take blocks over wherever somebody has one */
};

/* Whose blocks of a chain the run would take over; NULL: none, it has new ones. */
static struct pw_host_run *ahead_in(const struct taking *taking, uint32_t index)
{
        const struct pw_sched_chain *chain = &taking->run->program->chains[index];

        if (pw_list_empty(&chain->last) || (!taking->reuse && chain->blocks < chain->limit))
                return NULL;
        return pw_list_first(&chain->last, struct pw_hold, link)->run;
}

static bool take(struct taking *taking, uint32_t index, uint64_t bytes, enum pw_room_use use, uint64_t *ret_offset)
{
        struct pw_program_device *device = &taking->run->program->devices[index];

        if (pw_room_take(device->device, device->rooms, bytes, use, ret_offset))
                return true;
        taking->failed = device->device;
        taking->bytes = bytes;
        return false;
}

static void give(struct pw_host_run *run, uint32_t index, uint64_t offset, uint64_t bytes, enum pw_room_use use)
{
        const struct pw_program_device *device = &run->program->devices[index];
        struct pw_room room = pw_program_room(run->program, device, offset, bytes);

        pw_room_give(device->device, &room, use);
}

static void give_places(struct pw_host_run *run, const struct pw_program_block *block, uint32_t places)
{
        const struct pw_program_slice *slice = &run->program->slices[block->slice];

        while (places--)
                give(run, slice->here[places].device, run->block_offsets[block->first_here + places], block->bytes, PW_USE_BLOCK);
}

static bool take_block(struct taking *taking, uint32_t index)
{
        struct pw_host_run *run = taking->run, *ahead;
        const struct pw_program_block *block = &run->program->blocks[index];
        const struct pw_program_slice *slice = &run->program->slices[block->slice];
        uint64_t *offsets = run->block_offsets + block->first_here;

        if (!block->bytes)
                return true;
        ahead = ahead_in(taking, block->chain);
        if (ahead) {
                memcpy(offsets, ahead->block_offsets + block->first_here, slice->here_count * sizeof *offsets);
                return true;
        }
        for (uint32_t i = 0; i < slice->here_count; i++)
                if (!take(taking, slice->here[i].device, block->bytes, PW_USE_BLOCK, &offsets[i])) {
                        give_places(run, block, i);
                        return false;
                }
        return true;
}

static void give_block(struct taking *taking, uint32_t index)
{
        const struct pw_program_block *block = &taking->run->program->blocks[index];

        if (block->bytes && !ahead_in(taking, block->chain))
                give_places(taking->run, block, taking->run->program->slices[block->slice].here_count);
}

static bool in_place_result(const struct pw_host_run *run, uint32_t result, uint32_t *ret_input)
{
        for (uint32_t i = 0; i < run->program->row.input_count; i++)
                if (run->inputs[i].takes && run->program->inputs[i].result == result) {
                        *ret_input = i;
                        return true;
                }
        return false;
}

static bool take_result(struct taking *taking, uint32_t index)
{
        struct pw_host_run *run = taking->run;
        struct pw_host_result *result = run->results[index];
        const struct pw_program_slice *slice = &run->program->slices[result->type->value.slice];
        uint64_t bytes = run->program->plan.results[index].room_bytes;
        uint32_t input;

        if (in_place_result(run, index, &input))
                return true;
        for (uint32_t i = 0; i < slice->here_count; i++) {
                const struct pw_program_place *at = &slice->here[i];
                struct pw_room *room = &result->rooms[at->place];
                *room = pw_program_room(run->program, &run->program->devices[at->device], 0, bytes);
                if (!take(taking, at->device, bytes, PW_USE_RESULT, &room->offset)) {
                        while (i--)
                                give(run, slice->here[i].device, result->rooms[slice->here[i].place].offset, bytes, PW_USE_RESULT);
                        return false;
                }
        }
        return true;
}

static void give_result(struct pw_host_run *run, uint32_t index)
{
        struct pw_host_result *result = run->results[index];
        const struct pw_program_slice *slice = &run->program->slices[result->type->value.slice];
        uint32_t input;

        if (in_place_result(run, index, &input))
                return;
        for (uint32_t i = 0; i < slice->here_count; i++)
                pw_room_give(run->program->devices[slice->here[i].device].device, &result->rooms[slice->here[i].place],
                             PW_USE_RESULT);
}

/* Rooms on other hosts: on whose devices, no more is known here. */
static void name_others(const struct pw_host_run *run, struct pw_host_result *result)
{
        const struct pw_slice_map *map = &run->program->row.slices[result->type->value.slice];
        const struct pw_program_slice *slice = &run->program->slices[result->type->value.slice];

        for (uint32_t place = 0; slice->here_count < map->device_count && place < map->device_count; place++)
                if (map->places[place].host != run->program->scheduler->host)
                        result->rooms[place] = (struct pw_room){ .host = map->places[place].host,
                                                                 .device = map->places[place].device };
}

/* A donated room goes on as the result's; the input keeps a note of where it was. */
static void settle_result(struct pw_host_run *run, uint32_t index)
{
        struct pw_host_result *result = run->results[index];
        const struct pw_program_slice *slice = &run->program->slices[result->type->value.slice];
        uint32_t input;

        result->room_count = run->program->row.slices[result->type->value.slice].device_count;
        if (in_place_result(run, index, &input)) {
                struct pw_host_result *source = run->inputs[input].result;
                memcpy(result->rooms, source->rooms, result->room_count * sizeof *result->rooms);
                source->donated = true;
                source->heir = result;
                result->source = source;
        } else {
                name_others(run, result);
        }
        if (!result->letting_go)
                return;
        for (uint32_t i = 0; i < slice->here_count; i++)
                pw_room_change(run->program->devices[slice->here[i].device].device, &result->rooms[slice->here[i].place],
                               PW_USE_RESULT, PW_USE_LETTING_GO);
}

static bool take_all(struct taking *taking)
{
        struct pw_host_run *run = taking->run;
        uint32_t blocks = run->program->block_count, results = run->program->row.result_count, b, r;

        for (b = 0; b < blocks && take_block(taking, b); b++)
                ;
        for (r = 0; b == blocks && r < results && take_result(taking, r); r++)
                ;
        if (b == blocks && r == results)
                return true;
        while (r--)
                give_result(run, r);
        while (b--)
                give_block(taking, b);
        return false;
}

static void join_free_rooms(const struct pw_sched_program *program)
{
        for (uint32_t i = 0; i < program->device_count; i++)
                pw_range_join(program->devices[i].rooms->range);
}

/* Results of runs that may not be admitted, of a device or (NULL) of a tenant: who waits for these waits until that is known. */
static uint64_t uncertain(const struct pw_scheduler *scheduler, const struct pw_device *device, const struct pw_device_quota *quota)
{
        const struct pw_host_run *run;
        uint64_t bytes = 0;

        pw_list_each(&scheduler->unadmitted, run, struct pw_host_run, unadmitted)
                for (uint32_t r = 0; r < run->program->row.result_count; r++) {
                        const struct pw_host_result *result = run->results[r];
                        for (uint32_t i = 0; !result->letting_go && !result->source && i < result->room_count; i++)
                                if (pw_host_result_is_here(result, i) &&
                                    (device ? result->rooms[i].device == device->number : run->program->quota == quota))
                                        bytes += result->rooms[i].bytes;
                }
        return bytes;
}

/* Will admitted runs give back what is missing? */
static enum pw_place_verdict lacking(struct pw_host_run *run, const struct pw_device *device, uint64_t need)
{
        const struct pw_rooms *own = pw_program_device(run->program, device->number)->rooms;
        uint64_t coming = device->used[PW_USE_BLOCK] + device->used[PW_USE_LETTING_GO] +
                          uncertain(run->program->scheduler, device, NULL);

        run->over_quota = false;
        run->lacks_of_others |= own->used[PW_USE_BLOCK] + own->used[PW_USE_LETTING_GO] + device->free < need;
        run->short_device = device->number;
        run->short_bytes = need > device->free ? need - device->free : need;
        return coming && need <= device->free + coming ? PW_PLACE_HELD : PW_PLACE_DEFERRED;
}

/* What each of the program's devices is to give: nothing for what is in place or taken over. */
static void needed(const struct taking *taking, uint64_t ret_bytes[PW_DEVICES_MAX])
{
        const struct pw_sched_program *program = taking->run->program;

        for (uint32_t i = 0; i < program->device_count; i++)
                ret_bytes[i] = program->devices[i].bytes;
        subtract_saved(taking->run, ret_bytes);
        for (uint32_t b = 0; b < program->block_count; b++) {
                const struct pw_program_slice *slice = &program->slices[program->blocks[b].slice];
                if (!program->blocks[b].bytes || !ahead_in(taking, program->blocks[b].chain))
                        continue;
                for (uint32_t i = 0; i < slice->here_count; i++)
                        ret_bytes[slice->here[i].device] -= program->blocks[b].bytes;
        }
}

/* Its tenant may not have as much as it needs: will runs of the tenant give back what is missing? */
static enum pw_place_verdict over_quota(struct pw_host_run *run, uint64_t need)
{
        const struct pw_device_quota *quota = run->program->quota;
        uint64_t left = pw_quota_left(quota), coming = quota->used[PW_USE_BLOCK] + quota->used[PW_USE_LETTING_GO] +
                                                       uncertain(run->program->scheduler, NULL, quota);

        run->over_quota = true;
        run->short_bytes = need - left;
        return coming && need <= left + coming ? PW_PLACE_HELD : PW_PLACE_DEFERRED;
}

static enum pw_place_verdict try(struct taking *taking)
{
        struct pw_host_run *run = taking->run;
        const struct pw_sched_program *program = run->program;
        enum pw_place_verdict verdict = PW_PLACED;
        uint64_t need[PW_DEVICES_MAX], all = 0;

        run->lacks_of_others = false;
        needed(taking, need);
        for (uint32_t i = 0; i < program->device_count; i++)
                all += need[i];
        if (all > pw_quota_left(run->program->quota))
                return over_quota(run, all);
        for (uint32_t i = 0; i < program->device_count && verdict != PW_PLACE_DEFERRED; i++)
                if (need[i] > program->devices[i].device->free)
                        verdict = lacking(run, program->devices[i].device, need[i]);
        if (verdict != PW_PLACED || take_all(taking))
                return verdict;
        join_free_rooms(program);
        return take_all(taking) ? PW_PLACED : lacking(run, taking->failed, taking->bytes);
}

/* It has rooms here, and waits for others on further hosts: who takes over from it waits for that. */
static bool waits_elsewhere(const struct pw_host_run *run) { return run->shared && !run->at_once && !run->recorded; }

/* A run that may not wait takes over from none that does. */
static bool would_wait(const struct taking *taking)
{
        const struct pw_sched_program *program = taking->run->program;

        for (uint32_t c = 0; taking->run->at_once && c < program->chain_count; c++) {
                const struct pw_host_run *ahead = program->chains[c].used ? ahead_in(taking, c) : NULL;
                if (ahead && waits_elsewhere(ahead))
                        return true;
        }
        return false;
}

enum pw_place_verdict pw_place_run(struct pw_host_run *run)
{
        struct taking taking = { .run = run };
        enum pw_place_verdict verdict = would_wait(&taking) ? PW_PLACE_HELD : try(&taking);

        taking.reuse = verdict != PW_PLACED;
        if (taking.reuse)
                verdict = would_wait(&taking) ? PW_PLACE_HELD : try(&taking);
        if (verdict != PW_PLACED)
                return verdict;
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                settle_result(run, i);
        for (uint32_t c = 0; c < run->program->chain_count; c++)
                if (run->program->chains[c].used)
                        pw_chain_join(run, c, ahead_in(&taking, c));
        run->placed = true;
        if (run->shared)
                pw_list_append(&run->program->scheduler->unadmitted, &run->unadmitted);
        return PW_PLACED;
}

static void undo_in_place(struct pw_host_result *result)
{
        struct pw_host_result *source = result->source;
        enum pw_room_use from = result->letting_go ? PW_USE_LETTING_GO : PW_USE_RESULT;
        enum pw_room_use to = source->letting_go ? PW_USE_LETTING_GO : PW_USE_RESULT;

        for (uint32_t i = 0; from != to && i < result->room_count; i++)
                if (pw_host_result_is_here(result, i))
                        pw_room_change(result->scheduler->devices[result->rooms[i].device], &result->rooms[i], from, to);
        source->donated = false;
        source->heir = NULL;
        result->source = NULL;
        result->room_count = 0;
}

void pw_place_undo(struct pw_host_run *run)
{
        for (uint32_t i = 0; i < run->program->row.result_count; i++)
                if (run->results[i]->source)
                        undo_in_place(run->results[i]);
        pw_chain_undo(run);
        if (run->shared)
                pw_list_remove(&run->unadmitted);
}

/* What boards are told of a run: its record, as executors read it, and the gangs that are ordered. */
#include "scheduler/island/record.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "scheduler/step.h"

_Static_assert(sizeof(struct pw_run_shard) % 8 == 0, "lists of them have no gaps");

/* Shards of an input that lie on this host. */
static uint32_t shard_count(const struct pw_host_run *run, uint32_t input)
{
        const struct pw_host_input *place = &run->inputs[input];
        uint32_t count = 0;

        if (place->status != PW_OK)
                return 0;
        if (!place->result)
                return !place->is_inline;
        if (place->result->type->slice_hosts == 1)
                return pw_host_result_is_here(place->result, 0) ? place->result->room_count : 0;
        for (uint32_t i = 0; i < place->result->room_count; i++)
                count += pw_host_result_is_here(place->result, i);
        return count;
}

/* Hands out parts of the record one after the other; with `base` NULL it only counts. */
struct writer { char *base; uint32_t at; };

static uint32_t fragment(struct writer *writer, uint64_t count, size_t bytes)
{
        uint32_t at = writer->at;

        writer->at += (uint32_t)pw_round_up(count * bytes, 8);
        return at;
}

static void *at(const struct writer *writer, uint32_t offset) { return writer->base ? writer->base + offset : NULL; }

static uint32_t write_rooms(struct writer *writer, const struct pw_host_run *run, uint32_t block)
{
        const struct pw_sched_program *program = run->program;
        const struct pw_program_slice *slice = &program->slices[program->blocks[block].slice];
        uint32_t offset = fragment(writer, slice->here_count, sizeof(struct pw_run_room));
        struct pw_run_room *rooms = at(writer, offset);

        for (uint32_t i = 0; rooms && i < slice->here_count; i++)
                rooms[i] = (struct pw_run_room){ program->devices[slice->here[i].device].rooms->segment, 0,
                                                 pw_host_run_block(run, block, i), program->blocks[block].bytes };
        return offset;
}

static uint32_t write_result(struct writer *writer, const struct pw_host_run *run, uint32_t index)
{
        const struct pw_host_result *result = run->results[index];
        const struct pw_program_slice *slice = &run->program->slices[pw_program_result_value(run->program, index)->slice];
        uint32_t offset = fragment(writer, slice->here_count, sizeof(struct pw_run_room));
        struct pw_run_room *rooms = at(writer, offset);

        for (uint32_t i = 0; rooms && i < slice->here_count; i++) {
                const struct pw_room *room = &result->rooms[slice->here[i].place];
                rooms[i] = (struct pw_run_room){ room->segment, 0, room->offset, room->bytes };
        }
        return offset;
}

static void write_host_input(const struct pw_host_input *place, struct pw_run_input *input, struct pw_run_shard *shards)
{
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                input->mesh[i] = 1;
        input->bytes = place->bytes;
        input->is_inline = place->is_inline;
        if (place->is_inline)
                memcpy(input->value, place->value, sizeof input->value);
        else
                *shards = (struct pw_run_shard){ place->segment, 0, PW_SHARD_IN_HOST, place->offset, place->bytes, 0 };
}

/* Where a load finds place `place`: in a room of this host that lives. What is in place has no other. */
static struct pw_run_shard shard_of(const struct pw_host_input *input, uint32_t place)
{
        const struct pw_host_result *result = input->result;
        const struct pw_result_type *type = result->type;
        uint32_t living = input->in_place ? place
                                          : pw_living_replica(&type->value.sharding, type->mesh, place, result->lost);
        const struct pw_room *room;

        if (living == UINT32_MAX || !pw_host_result_is_here(result, living)) /* it is an error, and its rooms say so */
                living = place;
        room = &result->rooms[living];
        return (struct pw_run_shard){ room->segment, (uint16_t)place, room->device, room->offset, room->bytes,
                                      result->seqs[living] };
}

static void write_shards(const struct pw_host_input *input, struct pw_run_shard *shards)
{
        for (uint32_t i = 0; i < input->result->room_count; i++)
                if (pw_host_result_is_here(input->result, i))
                        *shards++ = shard_of(input, i);
}

static void write_layout(const struct pw_host_result *result, struct pw_run_input *input)
{
        input->bytes = result->type->bytes;
        input->sharding = result->type->value.sharding;
        memcpy(input->mesh, result->type->mesh, sizeof input->mesh);
}

static void write_input(struct writer *writer, const struct pw_host_run *run, uint32_t index, struct pw_run_input *inputs)
{
        const struct pw_host_input *place = &run->inputs[index];
        uint32_t count = shard_count(run, index), offset = fragment(writer, count, sizeof(struct pw_run_shard));

        if (!inputs)
                return;
        inputs[index] = (struct pw_run_input){ .in_place = run->inputs[index].in_place, .status = run->inputs[index].status,
                                               .shard_count = count, .shards = offset };
        if (run->inputs[index].status != PW_OK)
                return;
        if (!place->result) {
                write_host_input(place, &inputs[index], at(writer, offset));
                return;
        }
        write_layout(place->result, &inputs[index]);
        write_shards(place, at(writer, offset));
}

/* The same walk counts and writes. Returns the bytes of the record. */
static uint32_t write_record(struct writer *writer, const struct pw_host_run *run)
{
        const struct pw_sched_program *program = run->program;
        const struct pw_image *image = program->row.image;
        struct pw_run_record none, *record = &none;
        uint32_t *blocks, *results;
        struct pw_run_input *inputs;

        if (writer->base)
                record = (struct pw_run_record *)writer->base;
        fragment(writer, 1, sizeof *record);
        record->island_numbers = fragment(writer, program->plan.column_count, sizeof(uint32_t));
        record->seqs = fragment(writer, (uint64_t)image->seq_count * program->plan.column_count, sizeof(uint64_t));
        record->ahead_seqs = fragment(writer, (uint64_t)image->seq_count * program->plan.column_count, sizeof(uint64_t));
        record->slices = fragment(writer, image->slice_count, sizeof(uint32_t));
        blocks = at(writer, record->blocks = fragment(writer, program->block_count, sizeof *blocks));
        results = at(writer, record->results = fragment(writer, image->result_count, sizeof *results));
        inputs = at(writer, record->inputs = fragment(writer, image->input_count, sizeof *inputs));
        for (uint32_t i = 0; i < program->block_count; i++) {
                uint32_t offset = write_rooms(writer, run, i);
                if (blocks)
                        blocks[i] = offset;
        }
        for (uint32_t i = 0; i < image->result_count; i++) {
                uint32_t offset = write_result(writer, run, i);
                if (results)
                        results[i] = offset;
        }
        for (uint32_t i = 0; i < image->input_count; i++)
                write_input(writer, run, i, inputs);
        return record->bytes = writer->at;
}

/* What is the program's, and the numbers that are written as gangs are ordered. */
static void write_constants(const struct pw_host_run *run, struct pw_run_record *record)
{
        const struct pw_sched_program *program = run->program;
        const struct pw_image_place *place = &program->row.place;
        uint32_t *numbers = (uint32_t *)((char *)record + record->island_numbers), line = place->slices;
        uint32_t *slices = (uint32_t *)((char *)record + record->slices);
        size_t seqs_bytes = (size_t)program->row.image->seq_count * program->plan.column_count * sizeof(uint64_t);

        record->run = run->number;
        record->image_island = place->island;
        record->image = place->line;
        record->image_serial = place->serial;
        record->island_count = program->plan.column_count;
        record->program = run->program->row.program;
        record->cancelled_at = run->cancelled || run->stopped ? 0 : UINT32_MAX;
        memset((char *)record + record->seqs, 0, 2 * seqs_bytes); /* and ahead_seqs, which come next */
        for (uint32_t c = 0; c < program->plan.column_count; c++)
                numbers[c] = program->plan.columns[c].island;
        for (uint32_t i = 0; i < program->row.image->slice_count; i++) {
                slices[i] = line;
                line += (uint32_t)(pw_slice_record_bytes(program->row.slices[i].device_count) / PW_LINE_BYTES);
        }
}

/* All runs of a program have as much but for what their inputs are. */
static uint32_t record_bytes(const struct pw_host_run *run)
{
        struct pw_sched_program *program = run->program;
        struct writer counter = { NULL, 0 };
        uint64_t shards = 0;

        for (uint32_t i = 0; i < program->row.input_count; i++)
                shards += shard_count(run, i);
        if (!program->record_bytes)
                program->record_bytes = write_record(&counter, run) - (uint32_t)(shards * sizeof(struct pw_run_shard));
        return (uint32_t)pw_round_up(program->record_bytes + shards * sizeof(struct pw_run_shard), PW_LINE_BYTES);
}

static struct pw_fragment *first_in(const struct pw_host_run *run, enum pw_fragment_state state)
{
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->fragments[c].state == state)
                        return &run->fragments[c];
        return NULL;
}

/* May the runs whose blocks it took over give them back yet? Another host's coordinator may say so: then it has none. */
static bool may_lose_blocks(const struct pw_host_run *run)
{
        if (run->requester == run->program->scheduler->own || !run->ahead_count)
                return false;
        for (uint32_t c = 0; c < run->program->chain_count; c++)
                if (run->holds[c].ahead && !run->holds[c].ahead->recorded)
                        return true;
        return false;
}

enum pw_status pw_scheduler_preparing(struct pw_scheduler *scheduler, const struct pw_core_message *prepare,
                                      struct pw_message *ret_message, bool *ret_more, struct pw_error *ret_err)
{
        struct writer writer = { NULL, 0 };
        struct pw_host_run *run = pw_core_host_run(scheduler, prepare);
        struct pw_fragment *fragment;
        uint32_t bytes;
        uint64_t offset;

        *ret_more = false;
        if (!run || run->requester->given_up)
                return pw_core_over(&prepare->run, ret_err);
        if (run->state != PW_HOST_RUN_RESERVED)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no rooms", (unsigned long)run->id.number);
        if (may_lose_blocks(run))
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu took over blocks of a run that is not admitted",
                                    (unsigned long)run->id.number);
        fragment = first_in(run, PW_FRAGMENT_RESERVED);
        if (!fragment)
                return pw_error_set(ret_err, PW_EXISTS, "run %lu is prepared", (unsigned long)run->id.number);
        run->recorded = true;
        if (run->shared)
                pw_list_remove(&run->unadmitted);
        pw_fragment_step(fragment, PW_FRAGMENT_RECORD);
        *ret_more = first_in(run, PW_FRAGMENT_RESERVED);
        bytes = record_bytes(run);
        writer.base = pw_action_bytes(scheduler, bytes, &offset);
        if (!writer.base)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for run %lu", (unsigned long)run->id.number);
        write_record(&writer, run);
        write_constants(run, (struct pw_run_record *)(void *)writer.base);
        run->prepared = true;
        *ret_message = (struct pw_message){ .kind = PW_MSG_PREPARE, .island = fragment->island->number,
                                            .column = fragment->column, .bytes = bytes, .at = offset, .run = pw_run_ref(run),
                                            .image = run->program->row.place };
        return PW_OK;
}

/* All that are to be written are, and one is at least. */
static bool is_being_written(const struct pw_host_run *run)
{
        bool any = false;

        for (uint32_t c = 0; c < run->program->plan.column_count; c++) {
                if (run->fragments[c].state == PW_FRAGMENT_RESERVED)
                        return false;
                any |= run->fragments[c].state == PW_FRAGMENT_RECORDED;
        }
        return any;
}

enum pw_status pw_scheduler_prepared(struct pw_scheduler *scheduler, const struct pw_core_message *prepare, enum pw_status status,
                                     const char *text, uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_host_run *run = pw_core_host_run(scheduler, prepare);

        scheduler->now_us = now_us;
        if (!run)
                return pw_core_over(&prepare->run, ret_err);
        if (!is_being_written(run))
                return pw_error_set(ret_err, first_in(run, PW_FRAGMENT_RESERVED) ? PW_PROTOCOL : PW_EXISTS,
                                    "the records of run %lu are not being written", (unsigned long)run->id.number);
        for (uint32_t c = 0; c < run->program->plan.column_count; c++)
                if (run->fragments[c].state == PW_FRAGMENT_RECORDED)
                        pw_fragment_step(&run->fragments[c], PW_FRAGMENT_ANSWER);
        run->unwritten = status != PW_OK;
        pw_host_tell(run, &(struct pw_core_message){ .kind = PW_CORE_PREPARED, .status = status }, text);
        pw_host_run_maybe_end(run);
        return PW_OK;
}

/* --- orders ------------------------------------------------------------------------------------------------------------------ */

/* Whose block the value lies in that `node` reads. NULL: nobody's, or that run has ended. */
static const struct pw_host_run *ahead_of(const struct pw_host_run *run, const struct pw_image_node *node)
{
        const struct pw_image *image = run->program->row.image;
        const struct pw_image_value *value = pw_image_value(image, PW_IMAGE_AT(image, uint32_t, node->inputs)[0]);

        return run->holds[run->program->blocks[value->index].chain].ahead;
}

static void tell_behind(const struct pw_host_run *run, const struct pw_image_node *node, struct pw_behind *behind,
                        struct pw_order_item *item)
{
        const struct pw_image *image = run->program->row.image;
        const uint32_t *nodes = PW_IMAGE_AT(image, uint32_t, node->behind);

        for (uint32_t i = 0; i < node->behind_count; i++) {
                const struct pw_image_node *on = pw_image_node(image, nodes[i]);
                const struct pw_host_run *ahead = ahead_of(run, on);
                if (ahead)
                        behind[item->behind_count++] = (struct pw_behind){ ahead->number, ahead->slot, on->seq_slot };
        }
}

bool pw_order_tell(struct pw_host_run *run, const struct pw_gang *gang, struct pw_order_item *item)
{
        const struct pw_image_node *node = pw_image_node(run->program->row.image, gang->node);
        const struct pw_host_input *place = gang->load ? &run->inputs[gang->load - 1] : NULL;
        uint32_t shards = place && place->result ? shard_count(run, gang->load - 1) : 0;
        uint32_t behind = run->ahead_count ? node->behind_count : 0;
        struct pw_run_shard *list;

        if (!shards && !behind)
                return true;
        list = pw_action_bytes(run->program->scheduler, shards * sizeof *list + behind * sizeof(struct pw_behind), &item->at);
        if (!list)
                return false;
        item->input = place ? gang->load - 1 : 0;
        item->shard_count = shards;
        if (shards)
                write_shards(place, list);
        if (behind)
                tell_behind(run, node, (struct pw_behind *)(void *)(list + shards), item);
        return true;
}

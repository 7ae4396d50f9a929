/* The prepare of a run: its record in the arena of each of its islands, with the program's image in one of them. */
#include "scheduler/prepare.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"

static bool take(struct pw_host *host, uint32_t island, uint64_t bytes, struct pw_host_record *ret_record)
{
        uint64_t offset;

        if (bytes > UINT32_MAX || !pw_range_take(host->islands[island].arena, bytes, &offset))
                return false;
        ret_record->line = (uint32_t)((offsetof(struct pw_island_board, arena) + offset) / PW_LINE_BYTES);
        ret_record->bytes = (uint32_t)bytes;
        return true;
}

static void give(struct pw_host *host, uint32_t island, uint32_t line, uint32_t bytes)
{
        if (bytes)
                pw_range_give(host->islands[island].arena, (uint64_t)line * PW_LINE_BYTES - offsetof(struct pw_island_board, arena),
                              bytes);
}

/* --- image ---------------------------------------------------------------------------------------------------------------- */

static uint64_t slice_bytes(const struct pw_slice_map *map)
{
        struct pw_slice_record *record;

        return pw_round_up(sizeof *record + map->device_count * sizeof record->devices[0], PW_LINE_BYTES);
}

static void write_slice(struct pw_slice_record *record, const struct pw_slice_map *map)
{
        record->device_count = map->device_count;
        memcpy(record->mesh, map->mesh, sizeof record->mesh);
        record->zero = 0;
        for (uint32_t i = 0; i < map->device_count; i++) {
                record->devices[i].device = map->devices[i];
                record->devices[i].island = map->islands[i];
        }
}

static uint64_t image_bytes(const struct pw_program_row *row) { return pw_round_up(row->image->bytes, PW_LINE_BYTES); }

/* A place in the first board of its islands that has one. */
static bool take_image(struct pw_host *host, const struct pw_program *plans, uint64_t bytes, uint32_t *ret_island,
                       struct pw_host_record *ret_record)
{
        for (uint32_t c = 0; c < plans->plan.column_count; c++) {
                *ret_island = plans->plan.columns[c].island;
                if (take(host, *ret_island, bytes, ret_record))
                        return true;
        }
        return false;
}

/* A place for the image and its slices, one for all islands. */
static enum pw_status reserve_image(struct pw_host *host, struct pw_host_program *program, struct pw_program_row *row,
                                    struct pw_error *ret_err)
{
        uint64_t bytes = image_bytes(row);
        struct pw_host_record record;
        uint32_t island;

        for (uint32_t i = 0; i < row->image->slice_count; i++)
                bytes += slice_bytes(&row->slices[i]);
        if (!take_image(host, pw_program_of(row), bytes, &island, &record))
                return pw_error_set(ret_err, PW_NO_SPACE, "the boards of its islands have no room for program %s", row->name);
        if (!pw_table_put(&host->islands[island].images, record.line, program)) {
                give(host, island, record.line, record.bytes);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the image of program %s", row->name);
        }
        program->image.island = island;
        program->image.line = record.line;
        program->image.bytes = record.bytes;
        program->image.serial = ++host->image_serial;
        program->image.slices = record.line + (uint32_t)(image_bytes(row) / PW_LINE_BYTES);
        return PW_OK;
}

static void fill_image(const struct pw_host *host, const struct pw_program_row *row)
{
        const struct pw_host_program *program = row->host;
        char *at = pw_host_at(host, program->image.island, program->image.line);

        memcpy(at, row->image, row->image->bytes);
        at += image_bytes(row);
        for (uint32_t i = 0; i < row->image->slice_count; i++) {
                write_slice((struct pw_slice_record *)at, &row->slices[i]);
                at += slice_bytes(&row->slices[i]);
        }
}

static struct pw_host_program *program_state(struct pw_host *host, struct pw_program_row *row)
{
        struct pw_host_program *program = row->host;

        if (!program && (program = calloc(1, sizeof *program))) {
                pw_list_append(&host->programs, &program->link);
                row->host = program;
        }
        return program;
}

enum pw_status pw_host_program_reserve(struct pw_host *host, struct pw_program_row *row, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        struct pw_host_program *program = program_state(host, row);
        enum pw_status status = program ? reserve_image(host, program, row, ret_err)
                                        : pw_error_set(ret_err, PW_NO_MEMORY, "no memory for program %s", row->name);

        *ret_bytes = status == PW_OK ? program->image.bytes : 0;
        if (status != PW_OK)
                pw_prepare_forget(host, row);
        return status;
}

void pw_host_program_fill(const struct pw_host *host, const struct pw_program_row *row) { fill_image(host, row); }

struct pw_image *pw_host_program_settle(const struct pw_host *host, struct pw_program_row *row)
{
        const struct pw_host_program *program = row->host;
        struct pw_image *own = row->image;

        row->image = pw_host_at(host, program->image.island, program->image.line);
        row->image_placed = true;
        return own;
}

struct pw_host_range pw_host_program_range(const struct pw_program_row *row)
{
        const struct pw_host_program *program = row->host;

        if (!program)
                return (struct pw_host_range){ 0, 0, 0 };
        return (struct pw_host_range){ program->image.island, program->image.line, program->image.bytes };
}

struct pw_host_range pw_host_program_detach(struct pw_host *host, struct pw_program_row *row)
{
        struct pw_host_range range = pw_host_program_range(row);

        if (range.bytes) {
                pw_table_remove(&host->islands[range.island].images, range.line);
                ((struct pw_host_program *)row->host)->image.bytes = 0;
        }
        return range;
}

void pw_host_range_give(struct pw_host *host, const struct pw_host_range *range) { give(host, range->island, range->line, range->bytes); }

void pw_prepare_free(struct pw_host_program *program)
{
        while (program->runs) {
                struct pw_host_run *run = program->runs;
                program->runs = run->next;
                free(run);
        }
        pw_list_remove(&program->link);
        free(program);
}

void pw_prepare_forget(struct pw_host *host, struct pw_program_row *row)
{
        struct pw_host_program *program = row->host;
        const struct pw_program *plans = pw_program_of(row);
        struct pw_host_range range;

        if (!program)
                return;
        for (const struct pw_host_run *run = program->runs; run; run = run->next)
                for (uint32_t c = 0; c < run->column_count; c++)
                        give(host, plans->plan.columns[c].island, run->records[c].line, run->records[c].bytes);
        range = pw_host_program_detach(host, row);
        pw_host_range_give(host, &range);
        pw_prepare_free(program);
        row->host = NULL;
}

/* --- record ------------------------------------------------------------------------------------------------------------------ */

struct pw_run_record *pw_prepare_record(const struct pw_host *host, const struct pw_run *run, uint32_t column)
{
        const struct pw_host_run *state = run->host;

        return pw_host_at(host, pw_live_of(run)->program->plan.columns[column].island, state->records[column].line);
}

static uint32_t shard_count(const struct pw_live *live, uint32_t input)
{
        const struct pw_input_place *place = &live->run.inputs[input];

        if (live->inputs[input].status != PW_OK)
                return 0;
        return place->source == PW_INPUT_RESULT ? place->result->room_count : !place->is_inline;
}

/* Hands out parts of the record one after the other; with `base` NULL it only counts. */
struct writer { char *base; uint32_t at; };

static uint32_t part(struct writer *writer, uint64_t count, size_t bytes)
{
        uint32_t at = writer->at;

        writer->at += (uint32_t)pw_round_up(count * bytes, 8);
        return at;
}

static void *at(const struct writer *writer, uint32_t offset) { return writer->base ? writer->base + offset : NULL; }

static uint32_t write_rooms(struct writer *writer, const struct pw_live *live, uint32_t block)
{
        const struct pw_slice_map *map = &live->program->row.slices[live->program->blocks[block].slice];
        uint32_t offset = part(writer, map->device_count, sizeof(struct pw_run_room));
        struct pw_run_room *rooms = at(writer, offset);

        for (uint32_t i = 0; rooms && i < map->device_count; i++)
                rooms[i] = (struct pw_run_room){ pw_program_device(live->program, map->devices[i])->rooms->segment, 0,
                                                 pw_live_block(live, block, i), live->program->blocks[block].bytes };
        return offset;
}

static uint32_t write_result(struct writer *writer, const struct pw_live *live, uint32_t index)
{
        const struct pw_result *result = live->run.results[index];
        uint32_t offset = part(writer, result->room_count, sizeof(struct pw_run_room));
        struct pw_run_room *rooms = at(writer, offset);

        for (uint32_t i = 0; rooms && i < result->room_count; i++)
                rooms[i] = (struct pw_run_room){ result->rooms[i].segment, 0, result->rooms[i].offset, result->rooms[i].bytes };
        return offset;
}

static void write_host_input(const struct pw_input_place *place, struct pw_run_input *input, struct pw_run_shard *shards)
{
        input->mesh[0] = input->mesh[1] = 1;
        input->bytes = place->bytes;
        input->is_inline = place->is_inline;
        if (place->is_inline)
                memcpy(input->value, place->value, sizeof input->value);
        else
                *shards = (struct pw_run_shard){ place->segment, PW_NODE_NONE, place->offset, place->bytes, 0 };
}

/* Where a load finds place `place`: in a room that lives. What is in place has no other. */
static struct pw_run_shard shard_of(const struct pw_result *result, uint32_t place, bool in_place)
{
        uint32_t living = in_place ? place : pw_living_replica(&result->value.sharding, result->mesh, place, result->lost);

        if (living == UINT32_MAX) /* it is an error, and its rooms say so */
                living = place;
        return (struct pw_run_shard){ result->rooms[living].segment, result->rooms[living].device, result->rooms[living].offset,
                                      result->rooms[living].bytes, result->seqs[living] };
}

static void write_result_input(const struct pw_result *result, struct pw_run_input *input, struct pw_run_shard *shards)
{
        if (pw_dims_bytes(result->value.dtype, &result->value.dims, &input->bytes, NULL) != PW_OK)
                input->bytes = 0;
        input->sharding = result->value.sharding;
        memcpy(input->mesh, result->mesh, sizeof input->mesh);
        for (uint32_t i = 0; i < result->room_count; i++)
                shards[i] = shard_of(result, i, input->in_place);
}

static void write_input(struct writer *writer, const struct pw_live *live, uint32_t index, struct pw_run_input *inputs)
{
        const struct pw_input_place *place = &live->run.inputs[index];
        uint32_t count = shard_count(live, index), offset = part(writer, count, sizeof(struct pw_run_shard));

        if (!inputs)
                return;
        inputs[index] = (struct pw_run_input){ .in_place = live->inputs[index].in_place, .status = live->inputs[index].status,
                                               .shard_count = count, .shards = offset };
        if (live->inputs[index].status != PW_OK)
                return;
        if (place->source == PW_INPUT_HOST)
                write_host_input(place, &inputs[index], at(writer, offset));
        else
                write_result_input(place->result, &inputs[index], at(writer, offset));
}

/* The same walk counts and writes. Returns the bytes of the record. */
static uint32_t write_record(struct writer *writer, const struct pw_live *live)
{
        const struct pw_program *program = live->program;
        const struct pw_image *image = program->row.image;
        struct pw_run_record none, *record = &none;
        uint32_t *blocks, *results;
        struct pw_run_input *inputs;

        if (writer->base)
                record = (struct pw_run_record *)writer->base;
        part(writer, 1, sizeof *record);
        record->island_numbers = part(writer, program->plan.column_count, sizeof(uint32_t));
        record->seqs = part(writer, (uint64_t)image->seq_count * program->plan.column_count, sizeof(uint64_t));
        record->ahead_seqs = part(writer, (uint64_t)image->seq_count * program->plan.column_count, sizeof(uint64_t));
        record->slices = part(writer, image->slice_count, sizeof(uint32_t));
        blocks = at(writer, record->blocks = part(writer, program->block_count, sizeof *blocks));
        results = at(writer, record->results = part(writer, image->result_count, sizeof *results));
        inputs = at(writer, record->inputs = part(writer, image->input_count, sizeof *inputs));
        for (uint32_t i = 0; i < program->block_count; i++) {
                uint32_t offset = write_rooms(writer, live, i);
                if (blocks)
                        blocks[i] = offset;
        }
        for (uint32_t i = 0; i < image->result_count; i++) {
                uint32_t offset = write_result(writer, live, i);
                if (results)
                        results[i] = offset;
        }
        for (uint32_t i = 0; i < image->input_count; i++)
                write_input(writer, live, i, inputs);
        return record->bytes = writer->at;
}

static void write_constants(const struct pw_live *live, struct pw_run_record *record)
{
        const struct pw_program *program = live->program;
        const struct pw_host_program *state = program->row.host;
        uint32_t *numbers = (uint32_t *)((char *)record + record->island_numbers), line = state->image.slices;
        uint32_t *slices = (uint32_t *)((char *)record + record->slices);
        size_t seqs_bytes = (size_t)program->row.image->seq_count * program->plan.column_count * sizeof(uint64_t);

        record->run = live->run.number;
        record->image_island = state->image.island;
        record->image = state->image.line;
        record->image_serial = state->image.serial;
        record->island_count = program->plan.column_count;
        record->program = live->run.program;
        __atomic_store_n(&record->cancelled_at, UINT32_MAX, __ATOMIC_SEQ_CST);
        memset((char *)record + record->seqs, 0, seqs_bytes);
        memset((char *)record + record->ahead_seqs, 0, seqs_bytes);
        for (uint32_t c = 0; c < program->plan.column_count; c++)
                numbers[c] = program->plan.columns[c].island;
        for (uint32_t i = 0; i < program->row.image->slice_count; i++) {
                slices[i] = line;
                line += (uint32_t)(slice_bytes(&program->row.slices[i]) / PW_LINE_BYTES);
        }
}

static enum pw_status run_state(struct pw_host *host, struct pw_run *run, struct pw_error *ret_err)
{
        struct pw_host_program *program = program_state(host, run->row);
        uint32_t columns = pw_live_of(run)->program->plan.column_count;
        struct pw_host_run *state;

        if (program && !run->host) {
                state = calloc(1, sizeof *state + columns * sizeof state->records[0]);
                if (state) {
                        state->column_count = columns;
                        state->next = program->runs;
                        run->host = program->runs = state;
                }
        }
        return program && run->host ? PW_OK
                                    : pw_error_set(ret_err, PW_NO_MEMORY, "no memory for run %lu", (unsigned long)run->number);
}

enum pw_status pw_prepare_run(struct pw_host *host, struct pw_run *run, uint32_t island, struct pw_error *ret_err)
{
        const struct pw_live *live = pw_live_of(run);
        struct writer counter = { NULL, 0 }, writer = { NULL, 0 };
        struct pw_host_program *program;
        struct pw_host_record *record;
        enum pw_status status = run_state(host, run, ret_err);
        uint32_t column = 0, bytes;

        if (status != PW_OK)
                return status;
        program = run->row->host;
        if (!program->image.bytes) {
                status = reserve_image(host, program, run->row, ret_err);
                if (status != PW_OK)
                        return status;
                fill_image(host, run->row);
        }
        while (live->program->plan.columns[column].island != island)
                column++;
        record = &((struct pw_host_run *)run->host)->records[column];
        bytes = (uint32_t)pw_round_up(write_record(&counter, live), PW_LINE_BYTES);
        if (record->bytes < bytes) {
                give(host, island, record->line, record->bytes);
                record->bytes = 0;
                if (!take(host, island, bytes, record))
                        return pw_error_set(ret_err, PW_NO_SPACE, "the board of island %u has no room for run %lu of %s", island,
                                            (unsigned long)run->number, run->row->name);
        }
        writer.base = pw_host_at(host, island, record->line);
        write_record(&writer, live);
        write_constants(live, (struct pw_run_record *)writer.base);
        return PW_OK;
}

void pw_prepare_load(struct pw_host *host, struct pw_run *run, uint32_t column, uint32_t index)
{
        const struct pw_input_place *place = &run->inputs[index];
        struct pw_run_record *record = pw_prepare_record(host, run, column);
        struct pw_run_input *input = (struct pw_run_input *)((char *)record + record->inputs) + index;
        struct pw_run_shard *shards = (struct pw_run_shard *)((char *)record + input->shards);

        for (uint32_t i = 0; place->source == PW_INPUT_RESULT && i < input->shard_count; i++)
                shards[i] = shard_of(place->result, i, input->in_place);
}

/* Whose block the value lies in that `node` reads. NULL: nobody's, or that run has ended. */
static const struct pw_live *ahead_of(const struct pw_live *live, const struct pw_image_node *node)
{
        const struct pw_image *image = live->program->row.image;
        const struct pw_image_value *value = pw_image_value(image, PW_IMAGE_AT(image, uint32_t, node->inputs)[0]);

        return live->holds[live->program->blocks[value->index].chain].ahead;
}

void pw_prepare_behind(struct pw_host *host, struct pw_run *run, uint32_t column, const struct pw_image_node *node)
{
        const struct pw_live *live = pw_live_of(run), *ahead;
        const struct pw_image *image = run->row->image;
        struct pw_run_record *record = pw_prepare_record(host, run, column), *theirs;
        const uint32_t *behind = PW_IMAGE_AT(image, uint32_t, node->behind);
        size_t bytes = live->program->plan.column_count * sizeof(uint64_t);

        for (uint32_t i = 0; live->ahead_count && i < node->behind_count; i++) {
                const struct pw_image_node *on = pw_image_node(image, behind[i]);
                if (!(ahead = ahead_of(live, on)) || !((struct pw_host_run *)ahead->run.host)->records[column].bytes)
                        continue;
                theirs = pw_prepare_record(host, &ahead->run, column);
                memcpy((char *)record + record->ahead_seqs + on->seq_slot * bytes,
                       (char *)theirs + theirs->seqs + on->seq_slot * bytes, bytes);
        }
}

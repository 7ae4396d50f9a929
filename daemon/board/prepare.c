/* Images of programs and records of runs, in the arenas of islands' boards. */
#include "daemon/board/boards_private.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"

static bool take(struct pw_boards *boards, uint32_t island, uint64_t bytes, struct pw_boards_record *ret_record)
{
        uint64_t offset;

        if (bytes > UINT32_MAX || !pw_range_take(boards->islands[island].arena, bytes, &offset))
                return false;
        ret_record->line = (uint32_t)((offsetof(struct pw_island_board, arena) + offset) / PW_LINE_BYTES);
        ret_record->bytes = (uint32_t)bytes;
        return true;
}

static void give(struct pw_boards *boards, uint32_t island, uint32_t line, uint32_t bytes)
{
        if (bytes)
                pw_range_give(boards->islands[island].arena,
                              (uint64_t)line * PW_LINE_BYTES - offsetof(struct pw_island_board, arena), bytes);
}

/* --- image ---------------------------------------------------------------------------------------------------------------- */

static void write_slice(struct pw_slice_record *record, const struct pw_slice_map *map)
{
        record->device_count = map->device_count;
        memcpy(record->mesh, map->mesh, sizeof record->mesh);
        record->zero = 0;
        memcpy(record->places, map->places, map->device_count * sizeof *map->places);
}

static uint64_t image_bytes(const struct pw_program_row *row) { return pw_round_up(row->image->bytes, PW_LINE_BYTES); }

/* Islands of this host that a program has devices in, a bit each. */
static uint32_t islands_of(const struct pw_boards *boards, const struct pw_program_row *row)
{
        uint32_t islands = 0;

        for (uint32_t i = 0; i < row->image->slice_count; i++)
                for (uint32_t place = 0; place < row->slices[i].device_count; place++)
                        if (row->slices[i].places[place].host == boards->host)
                                islands |= 1u << row->slices[i].places[place].island;
        return islands;
}

/* A place in the first board of its islands that has one. */
static bool take_image(struct pw_boards *boards, uint32_t islands, uint64_t bytes, uint32_t *ret_island,
                       struct pw_boards_record *ret_record)
{
        for (; islands; islands &= islands - 1) {
                *ret_island = (uint32_t)__builtin_ctz(islands);
                if (take(boards, *ret_island, bytes, ret_record))
                        return true;
        }
        return false;
}

enum pw_status pw_boards_image_reserve(struct pw_boards *boards, struct pw_program_row *row, uint64_t *ret_bytes,
                                       struct pw_error *ret_err)
{
        uint64_t bytes = image_bytes(row);
        struct pw_boards_record record;
        uint32_t island;

        *ret_bytes = 0;
        for (uint32_t i = 0; i < row->image->slice_count; i++)
                bytes += pw_slice_record_bytes(row->slices[i].device_count);
        if (!take_image(boards, islands_of(boards, row), bytes, &island, &record))
                return pw_error_set(ret_err, PW_NO_SPACE, "the boards of its islands have no room for program %s", row->name);
        boards->image_serial += 1 + (boards->image_serial == UINT32_MAX); /* never 0 */
        row->place = (struct pw_image_place){ .island = island, .line = record.line, .serial = boards->image_serial,
                                              .bytes = record.bytes,
                                              .slices = record.line + (uint32_t)(image_bytes(row) / PW_LINE_BYTES) };
        if (!pw_table_put(&boards->islands[island].images, record.line, (void *)(uintptr_t)row->place.serial)) {
                give(boards, island, record.line, record.bytes);
                row->place.bytes = 0;
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the image of program %s", row->name);
        }
        *ret_bytes = record.bytes;
        return PW_OK;
}

void pw_boards_image_fill(const struct pw_boards *boards, const struct pw_program_row *row)
{
        char *at = pw_boards_at(boards, row->place.island, row->place.line);

        memcpy(at, row->image, row->image->bytes);
        at += image_bytes(row);
        for (uint32_t i = 0; i < row->image->slice_count; i++) {
                write_slice((struct pw_slice_record *)(void *)at, &row->slices[i]);
                at += pw_slice_record_bytes(row->slices[i].device_count);
        }
}

struct pw_image *pw_boards_image_settle(const struct pw_boards *boards, struct pw_program_row *row)
{
        struct pw_image *own = row->image;

        row->image = pw_boards_at(boards, row->place.island, row->place.line);
        row->image_placed = true;
        return own;
}

struct pw_image_place pw_boards_image_detach(struct pw_boards *boards, struct pw_program_row *row)
{
        struct pw_image_place place = row->place;

        if (place.bytes)
                pw_table_remove(&boards->islands[place.island].images, place.line);
        row->place.bytes = 0;
        return place;
}

void pw_boards_image_give(struct pw_boards *boards, const struct pw_image_place *place)
{
        give(boards, place->island, place->line, place->bytes);
}

const struct pw_image *pw_boards_image(const struct pw_boards *boards, uint32_t island, uint32_t line, uint32_t serial)
{
        uintptr_t known = island < PW_ISLANDS_MAX ? (uintptr_t)pw_table_get(&boards->islands[island].images, line) : 0;

        return known && known == serial ? pw_boards_at(boards, island, line) : NULL;
}

/* --- records ------------------------------------------------------------------------------------------------------------------ */

struct pw_boards_run *pw_boards_run(const struct pw_boards *boards, uint64_t run, uint32_t slot)
{
        struct pw_boards_run *known = slot < boards->run_capacity ? boards->runs[slot] : NULL;

        return known && known->run == run ? known : NULL;
}

static struct pw_boards_program *program_of(struct pw_boards *boards, uint32_t number)
{
        struct pw_boards_program *program = pw_table_get(&boards->programs, number);

        if (program || !(program = calloc(1, sizeof *program)))
                return program;
        if (pw_table_put(&boards->programs, number, program))
                return program;
        free(program);
        return NULL;
}

/* What is kept at a slot, for a run of that program. NULL: out of memory. */
static struct pw_boards_run *run_at(struct pw_boards *boards, const struct pw_run_ref *ref, uint32_t columns)
{
        struct pw_boards_program *program;
        struct pw_boards_run *run;

        if (ref->slot < boards->run_capacity && boards->runs[ref->slot])
                return boards->runs[ref->slot];
        program = program_of(boards, ref->program);
        if (!program || !pw_grow((void **)&boards->runs, &boards->run_capacity, ref->slot + 1, sizeof *boards->runs))
                return NULL;
        run = calloc(1, sizeof *run + columns * sizeof run->records[0]);
        if (!run)
                return NULL;
        run->slot = ref->slot;
        run->column_count = columns;
        run->next = program->runs;
        return boards->runs[ref->slot] = program->runs = run;
}

enum pw_status pw_boards_prepare(struct pw_boards *boards, const struct pw_message *message, const struct pw_message_pools *pools,
                                 struct pw_error *ret_err)
{
        const struct pw_run_record *told = (const void *)(pools->bytes + message->at);
        struct pw_boards_record *record;
        struct pw_boards_run *run;

        if (!message->image.bytes)
                return pw_error_set(ret_err, PW_NO_SPACE, "the boards of its islands have no room for the program of run %lu",
                                    (unsigned long)message->run.run);
        run = run_at(boards, &message->run, told->island_count);
        if (!run)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for run %lu", (unsigned long)message->run.run);
        if (run->column_count != told->island_count || message->column >= run->column_count)
                return pw_error_set(ret_err, PW_INVALID, "slot %u has records for %u islands, run %lu has %u", message->run.slot,
                                    run->column_count, (unsigned long)message->run.run, told->island_count);
        record = &run->records[message->column];
        if (record->bytes < message->bytes) {
                give(boards, message->island, record->line, record->bytes);
                record->bytes = 0;
                if (!take(boards, message->island, message->bytes, record))
                        return pw_error_set(ret_err, PW_NO_SPACE, "the board of island %u has no room for run %lu", message->island,
                                            (unsigned long)message->run.run);
        }
        record->island = message->island;
        run->run = message->run.run;
        memcpy(pw_boards_at(boards, message->island, record->line), told, message->bytes);
        return PW_OK;
}

void pw_boards_forget(struct pw_boards *boards, uint32_t number)
{
        struct pw_boards_program *program = pw_table_remove(&boards->programs, number);

        while (program && program->runs) {
                struct pw_boards_run *run = program->runs;

                program->runs = run->next;
                for (uint32_t c = 0; c < run->column_count; c++)
                        give(boards, run->records[c].island, run->records[c].line, run->records[c].bytes);
                boards->runs[run->slot] = NULL;
                free(run);
        }
        free(program);
}

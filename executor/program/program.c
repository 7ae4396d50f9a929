/* Programs that are known, and what of a program belongs to no single node: how its slices lie. */
#include "executor/program/program.h"

#include "base/memory.h"

struct pw_program_chunk {
        struct pw_program_chunk *next;
        _Alignas(64) uint8_t bytes[];
};

void *pw_program_alloc(struct pw_exec_program *program, uint64_t count, size_t item_bytes)
{
        struct pw_program_chunk *chunk;
        uint64_t bytes;

        if (!pw_mul_ok(count, item_bytes, &bytes) || !pw_add_ok(bytes, sizeof *chunk + 63, &bytes))
                return NULL;
        bytes &= ~UINT64_C(63);
        chunk = aligned_alloc(64, bytes);
        if (!chunk)
                return NULL;
        memset(chunk, 0, bytes);
        chunk->next = program->chunks;
        program->bytes += bytes;
        program->chunks = chunk;
        return chunk->bytes;
}

static void program_free(struct pw_programs *programs, struct pw_exec_program *program)
{
        struct pw_program_node *node;

        if (!program)
                return;
        pw_list_each(&program->nodes, node, struct pw_program_node, of_program)
                pw_program_node_drop(programs, node);
        while (program->chunks) {
                struct pw_program_chunk *chunk = program->chunks;
                program->chunks = chunk->next;
                free(chunk);
        }
        free(program);
}

void pw_exec_programs_init(struct pw_programs *programs) { pw_list_init(&programs->nodes); }

void pw_exec_programs_done(struct pw_programs *programs)
{
        struct pw_exec_program *program;

        for (uint32_t i = 0; (program = pw_table_next(&programs->by_place, &i));)
                program_free(programs, program);
        pw_table_done(&programs->by_place);
}

/* Where the image of a run's program lies, as a key. */
static uint64_t image_place(const struct pw_run_record *record) { return (uint64_t)record->image_island << 32 | record->image; }

static bool slice_copy(const struct pw_programs *programs, struct pw_exec_program *program, uint32_t index,
                       const struct pw_slice_record *record)
{
        struct pw_exec_program_slice *slice = &program->slices[index];

        slice->device_count = record->device_count;
        memcpy(slice->mesh, record->mesh, sizeof slice->mesh);
        slice->place = PW_PLACE_NONE;
        slice->places = pw_program_alloc(program, record->device_count, sizeof *slice->places);
        slice->near = pw_program_alloc(program, pw_min_u64(record->device_count, PW_DEVICES_MAX), sizeof *slice->near);
        slice->near_of = pw_program_alloc(program, record->device_count, sizeof *slice->near_of);
        if (!slice->places || !slice->near || !slice->near_of)
                return false;
        memset(slice->near_of, PW_FAR, record->device_count);
        memcpy(slice->places, record->places, record->device_count * sizeof *slice->places);
        for (uint32_t i = 0; i < record->device_count; i++) {
                if (slice->places[i].host != programs->host || slice->near_count == PW_DEVICES_MAX)
                        continue;
                slice->near_of[i] = (uint8_t)slice->near_count;
                slice->near[slice->near_count++] = i;
                if (slice->places[i].device == programs->device)
                        slice->place = i;
        }
        return true;
}

static bool program_fill(const struct pw_programs *programs, struct pw_exec_program *program, const struct pw_run_record *record)
{
        const struct pw_image *image = program->image;
        const uint32_t *slice_lines = PW_RUN_AT(record, uint32_t, record->slices);

        program->slices = pw_program_alloc(program, image->slice_count, sizeof *program->slices);
        program->islands = pw_program_alloc(program, record->island_count, sizeof *program->islands);
        if (!program->slices || !program->islands)
                return false;
        program->island_count = record->island_count;
        memcpy(program->islands, PW_RUN_AT(record, uint32_t, record->island_numbers),
               record->island_count * sizeof *program->islands);
        for (uint32_t i = 0; i < image->slice_count; i++)
                if (!slice_copy(programs, program, i, pw_board_line(programs->islands[record->image_island], slice_lines[i])))
                        return false;
        return true;
}

/* --- those that are known ----------------------------------------------------------------------------------------------- */

static enum pw_status program_new(struct pw_programs *programs, const struct pw_run_record *record,
                                  struct pw_exec_program **ret_program, struct pw_error *ret_err)
{
        const struct pw_island_board *board = record->image_island < PW_ISLANDS_MAX ?
                programs->islands[record->image_island] : NULL;
        const struct pw_image *image = board ? pw_board_line(board, record->image) : NULL;
        struct pw_exec_program *program;

        if (!image || image->magic != PW_IMAGE_MAGIC)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %llu names an image that is none", (unsigned long long)record->run);
        program = calloc(1, sizeof *program);
        if (program) {
                pw_list_init(&program->nodes);
                program->image = image;
                program->serial = record->image_serial;
                /* Nodes of one program have buckets side by side; programs begin anywhere. */
                program->first_bucket = (uint32_t)((programs->got + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
                if (program_fill(programs, program, record)) {
                        *ret_program = program;
                        return PW_OK;
                }
        }
        program_free(programs, program);
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a program");
}

static void program_forget(struct pw_programs *programs, uint64_t place)
{
        struct pw_exec_program *program = pw_table_remove(&programs->by_place, place);

        pw_programs_settle(programs);
        programs->bytes -= program->bytes;
        program_free(programs, program);
        programs->freed++;
}

/* Make room for one more: those got longest ago go. One that is still in use is made anew when it is met. */
static void programs_shed(struct pw_programs *programs)
{
        while (programs->by_place.count >= PW_PROGRAMS_MAX || (programs->by_place.count && programs->bytes >= PW_PROGRAMS_BYTES)) {
                uint64_t oldest = 0, least = UINT64_MAX, place;
                for (uint32_t i = 0; pw_table_next_key(&programs->by_place, &i, &place);) {
                        const struct pw_exec_program *program = pw_table_get(&programs->by_place, place);
                        oldest = program->used < least ? place : oldest;
                        least = pw_min_u64(least, program->used);
                }
                program_forget(programs, oldest);
        }
}

enum pw_status pw_programs_get(struct pw_programs *programs, const struct pw_run_record *record,
                               struct pw_exec_program **ret_program, struct pw_error *ret_err)
{
        struct pw_exec_program *program = pw_table_get(&programs->by_place, image_place(record));
        enum pw_status status;

        programs->got++;
        if (program && program->serial == record->image_serial) {
                program->used = programs->got;
                *ret_program = program;
                return PW_OK;
        }
        if (program)
                program_forget(programs, image_place(record));
        programs_shed(programs);
        status = program_new(programs, record, &program, ret_err);
        if (status != PW_OK)
                return status;
        if (!pw_table_put(&programs->by_place, image_place(record), program)) {
                program_free(programs, program);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to keep a program");
        }
        program->used = programs->got;
        programs->bytes += program->bytes;
        *ret_program = program;
        return PW_OK;
}

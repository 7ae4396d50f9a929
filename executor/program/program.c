/* The cache of resolved programs, and what of a program belongs to no single node. */
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

void pw_exec_program_free(struct pw_exec_program *program)
{
        if (!program)
                return;
        for (uint32_t n = 0; program->nodes && n < program->node_count; n++)
                pw_module_release(program->nodes[n].module);
        while (program->chunks) {
                struct pw_program_chunk *chunk = program->chunks;
                program->chunks = chunk->next;
                free(chunk);
        }
        free(program);
}

void pw_exec_programs_done(struct pw_programs *programs)
{
        struct pw_exec_program *program;

        for (uint32_t i = 0; (program = pw_table_next(&programs->by_place, &i));)
                pw_exec_program_free(program);
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
        slice->near = pw_program_alloc(program, record->device_count, sizeof *slice->near);
        slice->near_of = pw_program_alloc(program, record->device_count, sizeof *slice->near_of);
        if (!slice->places || !slice->near || !slice->near_of)
                return false;
        memset(slice->near_of, PW_FAR, record->device_count);
        memcpy(slice->places, record->places, record->device_count * sizeof *slice->places);
        for (uint32_t i = 0; i < record->device_count; i++) {
                if (slice->places[i].host != programs->host)
                        continue;
                slice->near_of[i] = (uint8_t)slice->near_count;
                slice->near[slice->near_count++] = i;
                if (slice->places[i].device == programs->device)
                        slice->place = i;
        }
        return true;
}

/* Everything but the nodes. */
static bool program_fill(const struct pw_programs *programs, struct pw_exec_program *program, const struct pw_run_record *record)
{
        const struct pw_image *image = program->image;
        const uint32_t *slice_lines = PW_RUN_AT(record, uint32_t, record->slices);
        const struct pw_image_input *inputs = PW_IMAGE_AT(image, struct pw_image_input, image->inputs);

        program->slices = pw_program_alloc(program, image->slice_count, sizeof *program->slices);
        program->nodes = pw_program_alloc(program, image->node_count, sizeof *program->nodes);
        program->input_of = pw_program_alloc(program, image->value_count, sizeof *program->input_of);
        program->islands = pw_program_alloc(program, record->island_count, sizeof *program->islands);
        if (!program->slices || !program->nodes || !program->input_of || !program->islands)
                return false;
        program->island_count = record->island_count;
        memcpy(program->islands, PW_RUN_AT(record, uint32_t, record->island_numbers),
               record->island_count * sizeof *program->islands);
        memset(program->input_of, 0xff, image->value_count * sizeof *program->input_of);
        for (uint32_t i = 0; i < image->input_count; i++)
                program->input_of[inputs[i].value] = i;
        for (uint32_t i = 0; i < image->slice_count; i++)
                if (!slice_copy(programs, program, i, pw_board_line(programs->islands[record->image_island], slice_lines[i])))
                        return false;
        return true;
}

/* --- lives of rooms, for the measured peak ------------------------------------------------------------------------------ */

static bool dead_input_add(struct pw_exec_program *program, struct pw_program_node *node, uint32_t value)
{
        uint32_t *items = pw_program_alloc(program, node->dead_input_count + 1, sizeof *items);

        if (!items)
                return false;
        memcpy(items, node->dead_inputs ? node->dead_inputs : items, node->dead_input_count * sizeof *items);
        items[node->dead_input_count++] = value;
        node->dead_inputs = items;
        return true;
}

static bool lives_fill(struct pw_exec_program *program)
{
        uint32_t *next = pw_program_alloc(program, program->image->node_count, sizeof *next); /* own node behind each node */

        if (!next)
                return false;
        for (uint32_t n = program->image->node_count, behind = PW_NODE_NONE; n-- > 0;) {
                next[n] = behind;
                if (program->nodes[n].role)
                        behind = n;
        }
        for (uint32_t v = 0; v < program->image->value_count; v++) {
                const struct pw_image_value *value = pw_image_value(program->image, v);
                uint64_t bytes = pw_room_bytes(value->shard_bytes);
                uint32_t end;
                if (value->place != PW_PLACE_BLOCK || program->slices[value->slice].place == PW_PLACE_NONE)
                        continue;
                program->nodes[value->first_use].born_bytes += bytes;
                end = next[value->last_use];
                if (end == PW_NODE_NONE)
                        continue;
                if (program->input_of[v] == UINT32_MAX)
                        program->nodes[end].dead_bytes += bytes;
                else if (!dead_input_add(program, &program->nodes[end], v))
                        return false;
        }
        return true;
}

/* --- the cache ---------------------------------------------------------------------------------------------------------- */

static enum pw_status program_new(struct pw_programs *programs, const struct pw_run_record *record,
                                  struct pw_exec_program **ret_program, struct pw_error *ret_err)
{
        const struct pw_island_board *board = record->image_island < PW_ISLANDS_MAX ?
                programs->islands[record->image_island] : NULL;
        const struct pw_image *image = board ? pw_board_line(board, record->image) : NULL;
        struct pw_exec_program *program;
        enum pw_status status = PW_OK;

        if (!image || image->magic != PW_IMAGE_MAGIC)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %llu names an image that is none", (unsigned long long)record->run);
        program = calloc(1, sizeof *program);
        if (!program)
                goto no_memory;
        program->image = image;
        program->node_count = image->node_count;
        program->serial = record->image_serial;
        if (!program_fill(programs, program, record))
                goto no_memory;
        for (uint32_t n = 0; n < image->node_count && status == PW_OK; n++)
                status = pw_program_node_resolve(programs, program, n, ret_err);
        if (status == PW_OK && !lives_fill(program))
                goto no_memory;
        if (status != PW_OK)
                pw_exec_program_free(program);
        else
                *ret_program = program;
        return status;
no_memory:
        pw_exec_program_free(program);
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to resolve a program");
}

/* Make room for one more: programs that are still in use are resolved again when they are met. */
static void programs_shed(struct pw_programs *programs)
{
        struct pw_exec_program *program;

        if (programs->by_place.count < PW_PROGRAMS_MAX && programs->bytes < PW_PROGRAMS_BYTES_MAX)
                return;
        for (uint32_t i = 0; (program = pw_table_next(&programs->by_place, &i));)
                pw_exec_program_free(program);
        pw_table_done(&programs->by_place);
        programs->by_place = (struct pw_table){ 0 };
        programs->bytes = 0;
        programs->freed++;
}

enum pw_status pw_programs_get(struct pw_programs *programs, const struct pw_run_record *record,
                               struct pw_exec_program **ret_program, struct pw_error *ret_err)
{
        struct pw_exec_program *program = pw_table_get(&programs->by_place, image_place(record));
        enum pw_status status;

        if (program && program->serial == record->image_serial) {
                *ret_program = program;
                return PW_OK;
        }
        if (program) {
                programs->bytes -= program->bytes;
                pw_exec_program_free(pw_table_remove(&programs->by_place, image_place(record)));
                programs->freed++;
        }
        programs_shed(programs);
        status = program_new(programs, record, &program, ret_err);
        if (status != PW_OK)
                return status;
        if (!pw_table_put(&programs->by_place, image_place(record), program)) {
                pw_exec_program_free(program);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to keep a program");
        }
        programs->bytes += program->bytes;
        *ret_program = program;
        return PW_OK;
}

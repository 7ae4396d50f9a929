/* Views of runs: made, found, dropped. */
#include "executor/program/run.h"

#include "base/memory.h"

#include <stdio.h>

static void view_free(struct pw_run_view *view)
{
        if (!view)
                return;
        free(view->bases);
        free(view->in_place);
        free(view);
}

static void runs_clear(struct pw_runs *runs)
{
        struct pw_run_view *view;

        for (uint32_t i = 0; (view = pw_table_next(&runs->by_line, &i));)
                view_free(view);
        pw_table_done(&runs->by_line);
        runs->by_line = (struct pw_table){ 0 };
        runs->bytes = 0;
        runs->last = NULL;
}

void pw_runs_done(struct pw_runs *runs) { runs_clear(runs); }

/* --- rooms --------------------------------------------------------------------------------------------------------------- */

static const struct pw_run_room *room_list(const struct pw_run_view *view, uint32_t base)
{
        const struct pw_run_record *record = view->record;
        uint32_t blocks = pw_image_block_count(view->program->image);
        const uint32_t *lists = PW_RUN_AT(record, uint32_t, base < blocks ? record->blocks : record->results);

        return PW_RUN_AT(record, struct pw_run_room, lists[base < blocks ? base : base - blocks]);
}

/* The slice of a base: the block's, or that of the result's value. */
static const struct pw_exec_program_slice *base_slice(const struct pw_exec_program *program, uint32_t base)
{
        const struct pw_image *image = program->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);

        if (base < pw_image_block_count(image))
                return &program->slices[pw_image_block(image, base)->slice];
        return &program->slices[pw_image_value(image, results[base - pw_image_block_count(image)].value)->slice];
}

/* What base `base` has to hold. */
static uint64_t base_bytes(const struct pw_exec_program *program, uint32_t base)
{
        const struct pw_image *image = program->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);

        if (base < pw_image_block_count(image))
                return pw_image_block(image, base)->bytes;
        return pw_room_bytes(pw_image_value(image, results[base - pw_image_block_count(image)].value)->shard_bytes);
}

static enum pw_status too_small(const struct pw_run_view *view, uint64_t bytes, uint64_t need_bytes, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has a room of %lu bytes for %lu", (unsigned long)view->record->run,
                            (unsigned long)bytes, (unsigned long)need_bytes);
}

static enum pw_status bases_fill(struct pw_runs *runs, struct pw_run_view *view, struct pw_error *ret_err)
{
        const struct pw_image *image = view->program->image;
        uint32_t blocks = pw_image_block_count(image);

        for (uint32_t b = 0; b < blocks + image->result_count; b++) {
                const struct pw_exec_program_slice *slice = base_slice(view->program, b);
                const struct pw_run_room *room;
                enum pw_status status;
                uint64_t bytes = base_bytes(view->program, b);
                if (slice->place == PW_PLACE_NONE || !bytes)
                        continue;
                room = room_list(view, b) + slice->near_of[slice->place];
                if (room->bytes < bytes)
                        return too_small(view, room->bytes, bytes, ret_err);
                status = pw_segments_at(runs->segments, &(struct pw_segments_range){ room->segment, room->offset, bytes },
                                        &view->bases[b], ret_err);
                if (status != PW_OK)
                        return status;
        }
        return PW_OK;
}

const struct pw_run_shard *pw_run_shard(const struct pw_run_view *view, const struct pw_run_input *input, uint32_t place)
{
        const struct pw_run_shard *shards = PW_RUN_AT(view->record, struct pw_run_shard, input->shards);
        uint32_t first = 0, end = input->shard_count;

        if (place < end && shards[place].place == place) /* all places up to it are on this host */
                return &shards[place];
        while (first < end) {
                uint32_t middle = first + (end - first) / 2;
                if (shards[middle].place < place)
                        first = middle + 1;
                else
                        end = middle;
        }
        return first < input->shard_count && shards[first].place == place ? &shards[first] : NULL;
}

enum pw_status pw_run_place_input(struct pw_run_view *view, struct pw_segments *segments, uint32_t index, struct pw_error *ret_err)
{
        const struct pw_image *image = view->program->image;
        const struct pw_image_input *inputs = PW_IMAGE_AT(image, struct pw_image_input, image->inputs);
        const struct pw_run_input *input = pw_run_input(view, index);
        const struct pw_image_value *value = pw_image_value(image, inputs[index].value);
        const struct pw_exec_program_slice *slice = &view->program->slices[value->slice];
        uint64_t bytes = pw_room_bytes(value->shard_bytes);
        const struct pw_run_shard *shard;

        view->in_place[index] = (struct pw_place){ NULL, NULL, false, 0 };
        if (!input->in_place || slice->place == PW_PLACE_NONE)
                return PW_OK;
        shard = pw_run_shard(view, input, slice->place);
        if (!shard || shard->bytes < bytes)
                return too_small(view, shard ? shard->bytes : 0, bytes, ret_err);
        return pw_segments_at(segments, &(struct pw_segments_range){ shard->segment, shard->offset, bytes },
                              &view->in_place[index], ret_err);
}

enum pw_status pw_run_room_at(const struct pw_run_view *view, struct pw_segments *segments, const struct pw_program_room *room,
                              uint32_t place, struct pw_place *ret_place, struct pw_error *ret_err)
{
        const struct pw_run_input *input = room->input >= 0 ? pw_run_input(view, (uint32_t)room->input) : NULL;
        struct pw_segments_range part = { .bytes = pw_room_bytes(pw_image_value(view->program->image, room->value)->shard_bytes) };
        uint64_t bytes;

        if (input && input->in_place) {
                const struct pw_run_shard *shard = pw_run_shard(view, input, place);
                part.segment = shard ? shard->segment : 0;
                part.offset = shard ? shard->offset : 0;
                bytes = shard ? shard->bytes : 0;
        } else {
                uint8_t near = base_slice(view->program, room->base)->near_of[place];
                const struct pw_run_room *all = room_list(view, room->base) + near;
                if (near == PW_FAR)
                        return too_small(view, 0, part.bytes, ret_err);
                part.segment = all->segment;
                part.offset = all->offset + room->offset;
                bytes = all->bytes - pw_min_u64(room->offset, all->bytes);
        }
        if (bytes < part.bytes)
                return too_small(view, bytes, part.bytes, ret_err);
        return pw_segments_at(segments, &part, ret_place, ret_err);
}

/* --- opening ------------------------------------------------------------------------------------------------------------- */

/* Rooms of results are the run's from its start on. */
static uint64_t result_bytes(const struct pw_exec_program *program)
{
        const struct pw_image *image = program->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        uint64_t bytes = 0;

        for (uint32_t r = 0; r < image->result_count; r++) {
                const struct pw_image_value *value = pw_image_value(image, results[r].value);
                if (program->slices[value->slice].place != PW_PLACE_NONE)
                        bytes += pw_room_bytes(value->shard_bytes);
        }
        return bytes;
}

static uint64_t view_bytes(const struct pw_run_view *view)
{
        return view->base_capacity * sizeof *view->bases + view->input_capacity * sizeof *view->in_place;
}

static bool view_reserve(struct pw_runs *runs, struct pw_run_view *view)
{
        const struct pw_image *image = view->program->image;
        uint32_t bases = pw_image_block_count(image) + image->result_count, inputs = image->input_count;
        uint64_t before_bytes = view_bytes(view);
        bool reserved;

        reserved = (bases <= view->base_capacity ||
                    pw_grow((void **)&view->bases, &view->base_capacity, bases, sizeof *view->bases)) &&
                   (inputs <= view->input_capacity ||
                    pw_grow((void **)&view->in_place, &view->input_capacity, inputs, sizeof *view->in_place));
        runs->bytes += view_bytes(view) - before_bytes;
        return reserved;
}

void pw_run_refuse(struct pw_run_view *view, const struct pw_error *err)
{
        view->refused = err->status;
        snprintf(view->why, sizeof view->why, "%.*s", (int)sizeof view->why - 1, err->text);
}

/* Where its rooms and inputs lie. */
static enum pw_status places_fill(struct pw_runs *runs, struct pw_run_view *view, struct pw_error *ret_err)
{
        enum pw_status status = view->program->fault.status;

        if (status != PW_OK) {
                *ret_err = view->program->fault;
                return status;
        }
        status = bases_fill(runs, view, ret_err);
        for (uint32_t i = 0; i < view->program->image->input_count && status == PW_OK; i++)
                status = pw_run_place_input(view, runs->segments, i, ret_err);
        return status;
}

static enum pw_status view_fill(struct pw_runs *runs, struct pw_run_view *view, struct pw_error *ret_err)
{
        enum pw_status status = pw_programs_get(runs->programs, view->record, &view->program, ret_err);

        view->refused = PW_OK;
        if (status != PW_OK)
                return status;
        if (!view_reserve(runs, view))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a run");
        if (view->base_capacity)
                memset(view->bases, 0, view->base_capacity * sizeof *view->bases);
        if (view->input_capacity)
                memset(view->in_place, 0, view->input_capacity * sizeof *view->in_place);
        view->freed = runs->programs->freed;
        view->seqs = PW_RUN_AT(view->record, _Atomic uint64_t, view->record->seqs);
        view->ahead_seqs = PW_RUN_AT(view->record, _Atomic uint64_t, view->record->ahead_seqs);
        status = places_fill(runs, view, ret_err);
        if (status != PW_PROTOCOL)
                return status;
        pw_run_refuse(view, ret_err);
        return PW_OK;
}

static struct pw_run_view *view_new(struct pw_runs *runs, uint32_t line)
{
        struct pw_run_view *view;

        view = calloc(1, sizeof *view);
        if (!view)
                return NULL;
        view->line = line;
        view->record = pw_board_line(runs->programs->islands[runs->programs->island], line);
        if (pw_table_put(&runs->by_line, line, view))
                return view;
        view_free(view);
        return NULL;
}

enum pw_status pw_runs_open(struct pw_runs *runs, uint32_t line, struct pw_run_view **ret_view, struct pw_error *ret_err)
{
        struct pw_run_view *view;
        enum pw_status status = PW_OK;

        if (runs->by_line.count > PW_RUNS_MAX || runs->bytes > PW_RUNS_BYTES) {
                pw_programs_settle(runs->programs);
                runs_clear(runs);
        }
        view = pw_table_get(&runs->by_line, line);
        if (!view)
                view = view_new(runs, line);
        if (!view)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a run");
        if (view->run != view->record->run) { /* the line serves another run by now */
                status = view_fill(runs, view, ret_err);
                if (status != PW_OK)
                        return status;
                view->run = view->record->run;
                view->live_bytes = view->peak_bytes = result_bytes(view->program);
        } else if (view->freed != runs->programs->freed) {
                status = view_fill(runs, view, ret_err);
        }
        if (status == PW_OK)
                runs->last = *ret_view = view;
        return status;
}

/* --- the measured peak --------------------------------------------------------------------------------------------------- */

static void bytes_dead(struct pw_run_view *view, uint64_t bytes)
{
        view->live_bytes -= pw_min_u64(bytes, view->live_bytes); /* an executor that took the run over counts from there */
}

void pw_run_account(struct pw_run_view *view, const struct pw_program_node *node)
{
        if (node->image->kind != PW_NODE_LOAD || !pw_run_input(view, node->image->input_index)->in_place)
                view->live_bytes += node->born_bytes;
        view->peak_bytes = pw_max_u64(view->peak_bytes, view->live_bytes);
        bytes_dead(view, node->dead_bytes);
        for (uint32_t i = 0; i < node->dead_input_count; i++) {
                uint32_t value = node->dead_inputs[i];
                if (!pw_run_input(view, (uint32_t)pw_program_input_of(view->program, value))->in_place)
                        bytes_dead(view, pw_room_bytes(pw_image_value(view->program->image, value)->shard_bytes));
        }
}

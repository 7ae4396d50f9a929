/* Listings of work: programs, runs. */
#include "base/gather.h"
#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/inspect/list.h"
#include "daemon/session/kept.h"

#include <stdio.h>
#include <stdlib.h>

static void slices_text(const struct pw_program_row *row, char *text, size_t bytes)
{
        size_t used = 0;

        text[0] = 0;
        for (uint32_t i = 0; i < row->image->slice_count && used < bytes; i++) {
                char mesh[64];

                used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "",
                                         pw_mesh_format(row->slices[i].mesh, mesh, sizeof mesh));
        }
}

/* "encode 2, decode 4": each with its quota. */
static void stages_text(const struct pw_image *image, char *text, size_t bytes)
{
        size_t used = 0;

        snprintf(text, bytes, "-");
        for (uint32_t i = 0; i < image->stage_count && used < bytes; i++) {
                const struct pw_image_stage *stage = pw_image_stage(image, i);

                used += (size_t)snprintf(text + used, bytes - used, "%s%s %u", i ? ", " : "", pw_image_text(image, stage->name),
                                         stage->quota);
        }
}

static bool program_row(void *context, const struct pw_program_row *row)
{
        struct pw_lister *lister = context;
        struct pw_rows *rows = lister->rows;
        char slices[200], stages[400];

        if (!pw_list_visible(lister, row->tenant))
                return true;
        if (!pw_rows_begin(rows))
                return false;
        slices_text(row, slices, sizeof slices);
        pw_rows_number(rows, "program", row->program);
        pw_rows_text(rows, "name", "%s", row->name);
        pw_rows_number(rows, "session", row->session);
        pw_rows_number(rows, "nodes", row->image->node_count);
        pw_rows_number(rows, "inputs", row->input_count);
        pw_rows_number(rows, "results", row->result_count);
        pw_rows_number(rows, "bytes", row->image->bytes);
        pw_rows_text(rows, "slices", "%s", slices);
        stages_text(row->image, stages, sizeof stages);
        pw_rows_text(rows, "stages", "%s", stages);
        pw_rows_number(rows, "peak", row->image->peak_bytes);
        pw_rows_number(rows, "measured_peak", row->measured_peak_bytes);
        pw_rows_number(rows, "runs", row->runs);
        return true;
}

/* --- the way of a transfer: as executor/gang/gang_joint.c has it, of an image alone ------------------------------------------- */

/* Each device of the slice has a term, and each is to have the sum. */
static bool is_joint(const struct pw_image *image, const struct pw_image_node *node, const struct pw_slice_map *slice)
{
        const struct pw_image_value *from = pw_image_value(image, PW_IMAGE_AT(image, uint32_t, node->inputs)[0]);
        const struct pw_image_value *to = pw_image_value(image, PW_IMAGE_AT(image, uint32_t, node->outputs)[0]);
        bool is = node->transfer == PW_TRANSFER_ALL_REDUCE && node->phase == PW_PHASE_WHOLE && !node->eager &&
                  node->slice == node->source_slice && slice->device_count > 1 && to->shard_bytes && to->dtype != PW_BOOL &&
                  pw_sharding_is_whole(&to->sharding, slice->mesh);

        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX && is; axis++)
                is = slice->mesh[axis] <= 1 || from->sharding.axis[axis].layout == PW_LAYOUT_PARTIAL;
        return is;
}

/* Numbers from 64 on pass for new. */
static bool is_new(uint64_t *numbers, uint32_t number)
{
        uint64_t bit = number < 64 ? UINT64_C(1) << number : 0;
        bool is = !(*numbers & bit);

        *numbers |= bit;
        return is;
}

/* And each of them takes part in such things, as far as it has said, by a GPU of its own. */
static bool all_join(const struct pw_daemon *daemon, const struct pw_slice_map *slice)
{
        bool all = !daemon->settings.no_nccl;
        uint64_t ordinals = 0;

        for (uint32_t i = 0; i < slice->device_count && all; i++) {
                const struct pw_slice_place *place = &slice->places[i];

                all = place->host == daemon->host && place->device < daemon->device_count &&
                      !atomic_load(&daemon->children.all[place->device].board->joint.off) &&
                      is_new(&ordinals, daemon->settings.kinds.of[place->device].ordinal);
        }
        return all;
}

/* By what the bytes of a transfer go. "host": a processor copies and reduces; "peer": GPUs read each other's memory; "nccl": they
 * reduce together, unless one of them finds when it comes to it that it can't. */
static const char *way_of(const struct pw_daemon *daemon, const struct pw_program_row *row, const struct pw_image_node *node)
{
        const struct pw_slice_map *slice = &row->slices[node->slice];

        if (node->kind != PW_NODE_TRANSFER || node->phase == PW_PHASE_SEND)
                return "";
        if (!slice->kernels)
                return "host";
        return is_joint(row->image, node, slice) && all_join(daemon, slice) ? "nccl" : "peer";
}

/* --- nodes -------------------------------------------------------------------------------------------------------------------- */

static void indexes_text(const struct pw_image *image, uint32_t offset, uint32_t count, char *text, size_t bytes)
{
        const uint32_t *items = PW_IMAGE_AT(image, uint32_t, offset);
        size_t used = 0;

        text[0] = 0;
        for (uint32_t i = 0; i < count && used < bytes; i++)
                used += (size_t)snprintf(text + used, bytes - used, "%s%u", i ? " " : "", items[i]);
}

static void room_in_stage(struct pw_rows *rows, const struct pw_image_stage *stage, const struct pw_image *image, uint64_t offset)
{
        pw_rows_text(rows, "room", "credit %llu of %s", (unsigned long long)(offset / stage->room_bytes),
                     pw_image_text(image, stage->name));
}

/* Of a call, of memory besides its outputs. */
static uint64_t scratch_bytes(const struct pw_image *image, const struct pw_image_node *node)
{
        const uint32_t *outputs = PW_IMAGE_AT(image, uint32_t, node->outputs);
        const struct pw_image_value *last = node->output_count ? pw_image_value(image, outputs[node->output_count - 1]) : NULL;

        return last && last->is_scratch ? last->shard_bytes : 0;
}

static void node_row(struct pw_lister *lister, const struct pw_program_row *row, uint32_t index)
{
        static const char *const kinds[] = { "?", "call", "transfer", "load" };
        static const char *const phases[] = { "", " send", " receive", " in parts" };
        const struct pw_image *image = row->image;
        const struct pw_image_node *node = pw_image_node(image, index);
        struct pw_rows *rows = lister->rows;
        uint64_t scratch = scratch_bytes(image, node);
        char text[200];

        pw_rows_number(rows, "node", index);
        pw_rows_text(rows, "kind", "%s%s", node->kind < pw_array_count(kinds) ? kinds[node->kind] : "?",
                     node->phase < pw_array_count(phases) ? phases[node->phase] : "");
        pw_rows_text(rows, "name", "%s", pw_image_text(image, node->name));
        pw_rows_number(rows, "slice", node->slice);
        indexes_text(image, node->inputs, node->input_count, text, sizeof text);
        pw_rows_text(rows, "inputs", "%s", text);
        indexes_text(image, node->outputs, node->output_count - (scratch != 0), text, sizeof text);
        pw_rows_text(rows, "outputs", "%s", text);
        indexes_text(image, node->waits, node->wait_count, text, sizeof text);
        pw_rows_text(rows, "waits", "%s", text);
        pw_rows_text(rows, "way", "%s", way_of(lister->daemon, row, node));
        if (scratch)
                pw_rows_number(rows, "scratch", scratch);
        if (node->output_count) {
                const struct pw_image_value *value = pw_image_value(image, PW_IMAGE_AT(image, uint32_t, node->outputs)[0]);

                if (value->place == PW_PLACE_RESULT)
                        pw_rows_text(rows, "room", "result %u", value->index);
                else if (pw_image_block(image, value->index)->stage)
                        room_in_stage(rows, pw_image_stage(image, pw_image_block(image, value->index)->stage - 1), image,
                                      value->offset);
                else
                        pw_rows_text(rows, "room", "block + %llu", (unsigned long long)value->offset);
        }
}

/* Where a page begins, lister->at: behind so many nodes. */
static bool list_nodes(struct pw_lister *lister, uint32_t slots)
{
        const struct pw_program_row *row = pw_scheduler_program(lister->daemon->scheduler,
                                                                (uint32_t)strtoul(lister->filter, NULL, 10));

        if (!row || !pw_list_visible(lister, row->tenant)) {
                if (!lister->at) /* else it went meanwhile */
                        (void)pw_error_set(lister->err, PW_NOT_FOUND, "program %s: there is none (any more)", lister->filter);
                return false;
        }
        for (; slots && lister->at < row->image->node_count && pw_rows_begin(lister->rows); slots--)
                node_row(lister, row, (uint32_t)lister->at++);
        return lister->at < row->image->node_count;
}

/* Where a page begins: behind the program of this number. */
bool pw_list_programs_step(struct pw_lister *lister, uint32_t slots)
{
        bool more;

        if (lister->filter[0])
                return list_nodes(lister, slots);
        lister->programs.after = (uint32_t)lister->at;
        more = pw_scheduler_programs(lister->daemon->scheduler, &lister->programs, slots, program_row, lister);
        lister->at = lister->programs.after;
        return more;
}

/* False: it does not fit any more. */
static bool run_row(struct pw_lister *lister, const struct pw_run_row *row)
{
        static const char *const states[] = { "?", "waiting", "queued", "running" };
        struct pw_rows *rows = lister->rows;
        bool ended = row->state == PW_RUN_ENDED;

        if (!pw_rows_begin(rows))
                return false;
        pw_rows_number(rows, "run", row->number);
        pw_rows_text(rows, "program", "%s", row->program);
        pw_rows_text(rows, "client", "%s", row->client ? row->client : "-");
        if (ended)
                pw_rows_text(rows, "state", "%s",
                             row->outcome == PW_OK ? "done" : row->outcome == PW_CANCELLED ? "cancelled" : "failed");
        else
                pw_rows_text(rows, "state", "%s", row->state < pw_array_count(states) ? states[row->state] : "?");
        pw_rows_number(rows, "age_us", lister->now_us - row->submitted_us);
        if (row->deadline_us)
                pw_rows_number(rows, "deadline_us", row->deadline_us > lister->now_us ? row->deadline_us - lister->now_us : 0);
        pw_rows_number(rows, "nodes", row->nodes);
        pw_rows_number(rows, "nodes_ordered", row->nodes_ordered);
        pw_rows_text(rows, "waiting_for", "%s", row->waiting_for);
        if (ended)
                pw_rows_number(rows, "took_us", row->ended_us - row->submitted_us);
        if (ended && row->outcome != PW_OK)
                pw_rows_text(rows, "error", "%s", *row->error ? row->error : pw_status_text(row->outcome));
        return true;
}

/* Where a page begins, lister->at: behind this number; whether the oldest were left out, since only so many were asked for. */
#define AT_MAKE(number, left_out) ((number) << 1 | (left_out))
#define AT_NUMBER(at) ((at) >> 1)
#define AT_LEFT_OUT(at) ((at) & 1)

/* Of a page no more than it has; all of them where the newest count, of which no more than these are asked for. */
static bool find_runs(struct pw_lister *lister)
{
        bool newest = !lister->at && lister->rows->limit != UINT32_MAX;
        const struct pw_runs_of of = { .tenant = lister->operator_ ? NULL : lister->tenant,
                                       .after = AT_NUMBER(lister->at),
                                       .most = newest ? UINT32_MAX : PW_LIST_PAGE_ROWS };

        if (pw_scheduler_run_numbers(lister->daemon->scheduler, &of, &lister->numbers, &lister->number_count) != PW_OK) {
                lister->rows->failed = true;
                return false;
        }
        pw_lister_keep(lister, pw_kept_heap_bytes(lister->numbers));
        lister->number_at = 0;
        lister->number_more = lister->number_count == of.most;
        if (newest && lister->number_count > lister->rows->limit) {
                lister->number_at = lister->number_count - lister->rows->limit;
                lister->at = AT_MAKE(0, UINT64_C(1));
        }
        return true;
}

/* There are more behind those, if any of them ended meanwhile. */
static bool find_more_runs(struct pw_lister *lister)
{
        if (!lister->number_more)
                return false;
        pw_lister_forget(lister, pw_kept_heap_bytes(lister->numbers));
        free(lister->numbers);
        lister->numbers = NULL;
        return true;
}

bool pw_list_runs_step(struct pw_lister *lister, uint32_t slots)
{
        struct pw_run_row row;
        uint64_t last, left_out;

        if (!lister->numbers && !find_runs(lister))
                return false;
        left_out = AT_LEFT_OUT(lister->at);
        for (; slots && lister->number_at < lister->number_count; slots--) {
                uint64_t number = lister->numbers[lister->number_at];

                if (pw_scheduler_run_row(lister->daemon->scheduler, number, &row, &last) && !run_row(lister, &row))
                        return true;
                lister->number_at++;
                lister->at = AT_MAKE(number, left_out);
        }
        if (lister->number_at < lister->number_count || find_more_runs(lister))
                return true;
        lister->rows->truncated |= left_out;
        return false;
}

/* A member that loads its shard of an input of the run, from wherever that lies. */
#include "executor/gang/flight.h"
#include "executor/gang/gang_private.h"

#include "base/box_rows.h"
#include "executor/wait.h"

#include <stdio.h>

/* How the input lies, and at which place the own device has a part of it. */
static uint32_t input_layout(const struct pw_exec_gang *gang, const struct pw_run_input *input, struct pw_value_layout *ret_layout)
{
        const struct pw_run_shard *shards = PW_RUN_AT(gang->view->record, struct pw_run_shard, input->shards);
        const struct pw_image_value *to = pw_image_value(gang->view->program->image, gang->node->outputs[0].value);
        uint32_t place = PW_PLACE_NONE;

        *ret_layout = (struct pw_value_layout){ .dims = to->dims, .sharding = input->sharding };
        memcpy(ret_layout->mesh, input->mesh, sizeof ret_layout->mesh);
        for (uint32_t i = 0; !input->is_inline && i < input->shard_count; i++)
                if (shards[i].device == gang->launch->given.device)
                        place = shards[i].place;
        return place;
}

/* The sources of a load are kept for inputs that lie like the last one. */
static enum pw_status sources_find(struct pw_exec_gang *gang, const struct pw_run_input *input, struct pw_error *ret_err)
{
        struct pw_program_sources *sources = gang->node->sources;
        const struct pw_exec_program *program = gang->view->program;
        struct pw_value_layout layout;
        uint32_t place = input_layout(gang, input, &layout);
        struct pw_program_wanted wanted = {
                .layout = &layout,
                .to = pw_image_value(program->image, gang->node->outputs[0].value),
                .to_slice = &program->slices[gang->node->image->slice],
                .own_place = place,
                .op = gang->node->image->op,
        };

        if (sources->layout_known && sources->own_place == place &&
            !memcmp(layout.mesh, sources->layout.mesh, sizeof layout.mesh) &&
            !memcmp(&layout.sharding, &sources->layout.sharding, sizeof layout.sharding))
                return PW_OK;
        sources->layout_known = false;
        if (pw_program_sources_find(&gang->launch->programs, gang->node, &wanted, ret_err) != PW_OK)
                return ret_err->status;
        sources->layout_known = true;
        sources->layout = layout;
        sources->own_place = place;
        return PW_OK;
}

static bool too_short(const struct pw_exec_gang *gang, uint64_t bytes, uint64_t need_bytes, struct pw_room_head *ret_fault)
{
        char text[120];

        snprintf(text, sizeof text, "an input has %lu bytes where it lies, its shape needs %lu", (unsigned long)bytes,
                 (unsigned long)need_bytes);
        *ret_fault = pw_gang_cause(gang, PW_PROTOCOL, text);
        return false;
}

/* The device reads by itself what is copied to it in one piece; what is in rows is gathered by the processor, as is what is added
 * to something. */
static void pin(const struct pw_exec_gang *gang, const struct pw_run_shard *shard, uint32_t i)
{
        const struct pw_program_sources *sources = gang->node->sources;
        const struct pw_source *source = &sources->sources[i];
        size_t element = pw_dtype_bytes(pw_image_value(gang->view->program->image, gang->node->outputs[0].value)->dtype);
        struct pw_box_rows rows;
        struct pw_box part;

        if (!gang->launch->segments.pins.memory)
                return;
        if (!pw_box_meet(&source->box, &sources->to_box, &part) || (i && sources->groups[i] == sources->groups[i - 1]))
                return;
        pw_box_rows_init(&rows, &sources->to_box, &source->box, &part);
        if (rows.left == 1)
                pw_segments_pin(&gang->launch->segments,
                                &(struct pw_segments_range){ shard->segment, shard->offset + rows.from * element,
                                                             rows.elements * element }, gang->seq);
}

/* Wait until the shard is there, and map it. The source is read as far as its box says, which is held against what was granted. */
static bool shard_find(struct pw_exec_gang *gang, const struct pw_run_shard *shard, struct pw_source *source,
                       struct pw_source_head *ret_head, struct pw_room_head *ret_fault)
{
        struct pw_launch *launch = gang->launch;
        struct pw_segments_range part = { shard->segment, shard->offset, source->bytes };
        struct pw_place place = { NULL, NULL, false, 0 };
        enum pw_status status;
        struct pw_error err;

        if (part.bytes > shard->bytes)
                return too_short(gang, shard->bytes, part.bytes, ret_fault);
        if (shard->device != PW_SHARD_IN_HOST && shard->seq)
                pw_wait_done(launch, shard->device, shard->seq);
        launch->segments.in_use = pw_flights_oldest(gang);
        status = shard->device == PW_SHARD_IN_HOST ? pw_segments_lend(&launch->segments, &part, gang->seq, &place.data, &err)
                                                   : pw_segments_at(&launch->segments, &part, &place, &err);
        if (status != PW_OK) {
                *ret_fault = pw_gang_cause(gang, err.status, err.text);
                return false;
        }
        source->data = place.data;
        source->in_host = !place.apart;
        *ret_head = (struct pw_source_head){ place.head, shard->device };
        return !place.head || pw_gang_is_value(gang, place.head, shard->device, ret_fault);
}

/* A small value, which the record holds. */
static bool inline_find(struct pw_exec_gang *gang, const struct pw_run_input *input, struct pw_source *source,
                        struct pw_source_head *ret_head, struct pw_room_head *ret_fault)
{
        source->data = input->value;
        source->in_host = true;
        *ret_head = (struct pw_source_head){ NULL, 0 };
        return source->bytes <= sizeof input->value || too_short(gang, sizeof input->value, source->bytes, ret_fault);
}

struct pw_room_head pw_gang_load(struct pw_exec_gang *gang, const struct pw_run_input *input, bool *ret_launched)
{
        const struct pw_program_sources *sources = gang->node->sources;
        struct pw_room_head fault = pw_gang_fault(gang, PW_OK), next;
        struct pw_error err;

        if (sources_find(gang, input, &err) != PW_OK)
                return pw_gang_cause(gang, err.status, err.text);
        for (uint32_t i = 0; i < sources->count; i++) {
                struct pw_source *source = &sources->sources[i];
                const struct pw_run_shard *shard = pw_run_shard(gang->view, input, sources->places[i]);
                bool found = input->is_inline ? inline_find(gang, input, source, &sources->heads[i], &next)
                             : shard          ? shard_find(gang, shard, source, &sources->heads[i], &next)
                                              : too_short(gang, 0, source->bytes, &next);
                if (!found)
                        pw_gang_fault_join(&fault, &next);
                else if (!input->is_inline && shard->device == PW_SHARD_IN_HOST)
                        pin(gang, shard, i);
        }
        return fault.status == PW_OK ? pw_gang_move(gang, ret_launched) : fault;
}

/* The inputs of a run: what is there, what is to come, what is not what its program was compiled for. */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/size.h"

#include <stdio.h>

void pw_input_fails(struct pw_live *live, uint32_t index, enum pw_status status, const char *text)
{
        struct pw_live_input *input = &live->inputs[index];

        input->status = status;
        if (text && !input->text)
                input->text = strdup(text);
}

bool pw_input_never_comes(const struct pw_live *live, uint32_t index)
{
        const struct pw_input_place *place = &live->run.inputs[index];
        const struct pw_live *maker;

        if (place->source != PW_INPUT_RESULT || live->inputs[index].status != PW_OK || !pw_status_error(place->result->status))
                return false;
        maker = place->result->run ? pw_live_of(place->result->run) : NULL;
        return !maker || maker->stopped || maker->refused; /* else it goes on for us */
}

/* What the program was compiled for is what comes: executors rely on it. */
static void check_value(struct pw_live *live, uint32_t index)
{
        const struct pw_input_place *place = &live->run.inputs[index];
        const struct pw_image *image = live->program->row.image;
        const struct pw_image_input *input = PW_IMAGE_AT(image, struct pw_image_input, image->inputs) + index;
        const struct pw_image_value *want = pw_image_value(image, input->value);
        bool is_result = place->source == PW_INPUT_RESULT;
        const struct pw_dims *dims = is_result ? &place->result->type->value.dims : &place->host.dims;
        enum pw_dtype dtype = is_result ? place->result->type->value.dtype : place->host.dtype;
        char have_text[120], want_text[120], text[400];
        uint64_t bytes = 0;

        if (live->inputs[index].status != PW_OK)
                return;
        if (dtype == want->dtype && pw_dims_equal(dims, &want->dims))
                return;
        if (!is_result && dtype == PW_OPAQUE && pw_dims_bytes(want->dtype, &want->dims, &bytes, NULL) == PW_OK &&
            bytes == place->host.bytes)
                return;
        snprintf(text, sizeof text, "input %u of %s is %s %s, the program wants %s %s", index, live->program->row.name,
                 pw_dtype_text(dtype), pw_dims_format(dims, have_text, sizeof have_text), pw_dtype_text(want->dtype),
                 pw_dims_format(&want->dims, want_text, sizeof want_text));
        pw_input_fails(live, index, PW_SHAPE, text);
}

/* Can the devices that load it read it where it lies? */
static void check_memory(struct pw_live *live, uint32_t index)
{
        const struct pw_input_place *place = &live->run.inputs[index];
        const struct pw_program_row *row = &live->program->row;
        const struct pw_image_input *input = PW_IMAGE_AT(row->image, struct pw_image_input, row->image->inputs) + index;
        const struct pw_slice_memory *reader = &row->slices[pw_image_value(row->image, input->value)->slice].memory;
        char text[300];

        if (live->inputs[index].status != PW_OK || place->source != PW_INPUT_RESULT ||
            pw_slice_reads(reader, &place->result->type->memory))
                return;
        snprintf(text, sizeof text, "input %u of %s lies in memory of devices of kind %s, which those of kind %s do not read: "
                 "bring it to host memory first (pw_relocate(), or pw_get() and pw_put())", index, row->name,
                 place->result->type->memory.kind, reader->kind);
        pw_input_fails(live, index, PW_UNSUPPORTED, text);
}

static void input_missing(struct pw_live *live, uint32_t index)
{
        live->inputs[index].missing = true;
        live->missing++;
}

void pw_input_check(struct pw_live *live, uint32_t index)
{
        struct pw_input_place *place = &live->run.inputs[index];

        if (place->source == PW_INPUT_HOST && place->pending) {
                input_missing(live, index);
                return;
        }
        if (place->source == PW_INPUT_HOST && place->status != PW_OK) {
                pw_input_fails(live, index, place->status, NULL);
                return;
        }
        if (place->source == PW_INPUT_RESULT) {
                place->result->users++;
                pw_result_live(place->result)->waiting++;
                live->inputs[index].waiting = true;
                if (place->result->run && place->result->run->state != PW_RUN_ADMITTED && place->result->status == PW_NOT_READY) {
                        pw_list_append(&pw_result_live(place->result)->waiters, &live->inputs[index].link);
                        input_missing(live, index);
                        return;
                }
                if (pw_status_error(place->result->status))
                        pw_input_fails(live, index, place->result->status, NULL);
        }
        check_value(live, index);
        check_memory(live, index);
}

void pw_inputs_settle(struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                struct pw_result_live *result;
                if (!live->inputs[i].waiting)
                        continue;
                live->inputs[i].waiting = false;
                result = pw_result_live(live->run.inputs[i].result);
                result->waiting--;
                pw_result_maybe_drop(result);
        }
}

void pw_input_arrived(struct pw_live_input *input)
{
        struct pw_live *live = input->live;
        uint32_t index = (uint32_t)(input - live->inputs);
        struct pw_input_place *place = &live->run.inputs[index];

        pw_list_remove(&input->link);
        input->missing = false;
        if (place->source == PW_INPUT_RESULT && pw_status_error(place->result->status))
                pw_input_fails(live, index, place->result->status, NULL);
        check_value(live, index);
        check_memory(live, index);
        if (!--live->missing && live->run.state == PW_RUN_WAITING)
                pw_live_arrive(live);
}

void pw_input_ready(struct pw_live *live, uint32_t index, enum pw_status status, const char *text)
{
        struct pw_run *run = &live->run;

        if (run->state != PW_RUN_WAITING || index >= run->input_count || !live->inputs[index].missing)
                return;
        run->inputs[index].pending = false;
        run->inputs[index].status = status;
        if (status != PW_OK)
                pw_input_fails(live, index, status, text);
        pw_input_arrived(&live->inputs[index]);
}

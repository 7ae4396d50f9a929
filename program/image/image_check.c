/* Is an image consistent in itself? For tests: lowering must never make one that is not. Nothing of it is believed
 * but its length. */
#include "program/image/image.h"

#include "base/memory.h"

#include <inttypes.h>

struct check {
        const struct pw_image *image;
        const struct pw_slice_map *slices;
        uint32_t slice_count;
        struct pw_error *ret_err;
};

#define FAIL(check, ...) pw_error_set((check)->ret_err, PW_BAD_PROGRAM, __VA_ARGS__)

static bool inside(const struct pw_image *image, uint32_t offset, uint64_t bytes, uint32_t align)
{
        return offset % align == 0 && offset <= image->bytes && bytes <= image->bytes - offset;
}

/* A text that ends within the image. */
static bool is_text(const struct pw_image *image, uint32_t offset)
{
        return offset < image->bytes && memchr(pw_image_text(image, offset), 0, image->bytes - offset);
}

static enum pw_status check_arrays(const struct check *check)
{
        const struct pw_image *image = check->image;
        uint64_t values = image->value_count, nodes = image->node_count, slices = image->slice_count;

        if (image->bytes < sizeof *image || image->magic != PW_IMAGE_MAGIC || !is_text(image, image->name) ||
            slices != check->slice_count || !inside(image, image->slices, slices * sizeof(struct pw_image_slice), 8) ||
            !inside(image, image->blocks, (slices + (uint64_t)image->stage_count) * sizeof(struct pw_image_block), 8) ||
            !inside(image, image->stages, (uint64_t)image->stage_count * sizeof(struct pw_image_stage), 8) ||
            !inside(image, image->values, values * sizeof(struct pw_image_value), 8) ||
            !inside(image, image->nodes, nodes * sizeof(struct pw_image_node), 8) ||
            !inside(image, image->functions, (uint64_t)image->function_count * sizeof(struct pw_image_function), 8) ||
            !inside(image, image->inputs, (uint64_t)image->input_count * sizeof(struct pw_image_input), 8) ||
            !inside(image, image->results, (uint64_t)image->result_count * sizeof(struct pw_image_result), 8))
                return FAIL(check, "an array lies outside of the image");
        return PW_OK;
}

/* Names, and what blocks and ends point to. */
static enum pw_status check_tables(const struct check *check)
{
        const struct pw_image *image = check->image;
        const struct pw_image_function *functions = PW_IMAGE_AT(image, struct pw_image_function, image->functions);
        const struct pw_image_input *inputs = PW_IMAGE_AT(image, struct pw_image_input, image->inputs);
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        bool good = true;

        for (uint32_t i = 0; i < image->function_count; i++)
                good &= is_text(image, functions[i].name) && is_text(image, functions[i].module);
        for (uint32_t i = 0; i < image->stage_count; i++)
                good &= is_text(image, pw_image_stage(image, i)->name);
        for (uint32_t i = 0; i < pw_image_block_count(image); i++)
                good &= pw_image_block(image, i)->slice < image->slice_count &&
                        pw_image_block(image, i)->stage <= image->stage_count;
        for (uint32_t i = 0; i < image->input_count; i++)
                good &= inputs[i].value < image->value_count;
        for (uint32_t i = 0; i < image->result_count; i++)
                good &= results[i].value < image->value_count;
        return good ? PW_OK : FAIL(check, "a name, a block or an end points to what is not there");
}

/* Values that a node reads were written by nodes before it; those that it writes were not. */
static enum pw_status check_links(const struct check *check, uint32_t index, bool *written)
{
        const struct pw_image_node *node = pw_image_node(check->image, index);
        const uint32_t *inputs = PW_IMAGE_AT(check->image, uint32_t, node->inputs);
        const uint32_t *outputs = PW_IMAGE_AT(check->image, uint32_t, node->outputs);

        if (!inside(check->image, node->inputs, node->input_count * UINT64_C(4), 4) ||
            !inside(check->image, node->outputs, node->output_count * UINT64_C(4), 4) ||
            !inside(check->image, node->waits, node->wait_count * UINT64_C(4), 4) ||
            !inside(check->image, node->behind, node->behind_count * UINT64_C(4), 4) ||
            !is_text(check->image, node->name) ||
            !inside(check->image, node->params, node->params_bytes, node->params_bytes ? PW_LINE_BYTES : 1))
                return FAIL(check, "node %" PRIu32 ": a list lies outside of the image", index);
        for (uint32_t i = 0; i < node->input_count; i++)
                if (inputs[i] >= check->image->value_count || !written[inputs[i]] ||
                    pw_image_value(check->image, inputs[i])->slice != node->source_slice)
                        return FAIL(check, "node %" PRIu32 ": reads value %" PRIu32 ", which is not there", index,
                                    inputs[i]);
        for (uint32_t i = 0; i < node->output_count; i++) {
                if (outputs[i] < check->image->value_count && pw_image_value(check->image, outputs[i])->is_scratch &&
                    (node->kind != PW_NODE_CALL || i != node->output_count - 1))
                        return FAIL(check, "node %" PRIu32 ": value %" PRIu32 " is scratch memory out of its place", index,
                                    outputs[i]);
                if (outputs[i] >= check->image->value_count || written[outputs[i]] ||
                    pw_image_value(check->image, outputs[i])->slice != node->slice ||
                    pw_image_value(check->image, outputs[i])->first_use != index)
                        return FAIL(check, "node %" PRIu32 ": writes value %" PRIu32 ", which is not its own", index,
                                    outputs[i]);
                written[outputs[i]] = true;
        }
        return PW_OK;
}

static enum pw_status check_node(const struct check *check, uint32_t index, bool *written)
{
        const struct pw_image_node *node = pw_image_node(check->image, index);
        enum pw_status status = PW_OK;

        if (node->kind < PW_NODE_CALL || node->kind > PW_NODE_LOAD || node->transfer >= PW_TRANSFER_KINDS)
                return FAIL(check, "node %" PRIu32 " is of no kind", index);
        if (node->slice >= check->image->slice_count || node->source_slice >= check->image->slice_count)
                return FAIL(check, "node %" PRIu32 ": there is no such slice", index);
        status = check_links(check, index, written);
        for (uint32_t i = 0; i < node->wait_count && status == PW_OK; i++) {
                uint32_t on = PW_IMAGE_AT(check->image, uint32_t, node->waits)[i];
                if (on >= index || pw_image_node(check->image, on)->seq_slot >= check->image->seq_count)
                        status = FAIL(check, "node %" PRIu32 ": waits for node %" PRIu32 ", which nobody can see",
                                      index, on);
        }
        for (uint32_t i = 0; i < node->behind_count && status == PW_OK; i++) {
                uint32_t on = PW_IMAGE_AT(check->image, uint32_t, node->behind)[i];
                if (on >= check->image->node_count || pw_image_node(check->image, on)->seq_slot >= check->image->seq_count)
                        status = FAIL(check, "node %" PRIu32 ": comes behind node %" PRIu32 ", which nobody can see", index, on);
        }
        if (status == PW_OK && (node->passes < index || node->passes >= check->image->node_count))
                status = FAIL(check, "node %" PRIu32 ": passes node %" PRIu32, index, node->passes);
        if (status == PW_OK &&
            (node->kind == PW_NODE_TRANSFER && node->phase == PW_PHASE_RECV) != (node->send_node != PW_NODE_NONE))
                status = FAIL(check, "node %" PRIu32 ": a RECV and only a RECV has a SEND", index);
        if (status == PW_OK && node->kind == PW_NODE_CALL && node->function >= check->image->function_count)
                status = FAIL(check, "node %" PRIu32 ": there is no such function", index);
        return status;
}

/* Two values that live at the same time have different rooms; but an output may take the room of a donated input that
 * its own writer reads last. */
static enum pw_status check_pair(const struct check *check, uint32_t i, uint32_t j)
{
        const struct pw_image_value *a = pw_image_value(check->image, i), *b = pw_image_value(check->image, j);
        bool in_time = a->first_use <= b->last_use && b->first_use <= a->last_use;

        if (a->slice != b->slice || a->place != b->place || !in_time)
                return PW_OK;
        if (a->place == PW_PLACE_BLOCK && a->index == b->index && a->offset < b->offset + pw_room_bytes(b->shard_bytes) &&
            b->offset < a->offset + pw_room_bytes(a->shard_bytes))
                return FAIL(check, "values %" PRIu32 " and %" PRIu32 " lie in the same place at the same time", i, j);
        if (a->place == PW_PLACE_RESULT && a->index == b->index && a->last_use != b->first_use &&
            b->last_use != a->first_use)
                return FAIL(check, "values %" PRIu32 " and %" PRIu32 " lie in result %u at the same time", i, j,
                            a->index);
        return PW_OK;
}

static enum pw_status check_values(const struct check *check, const bool *written)
{
        const struct pw_image *image = check->image;

        for (uint32_t i = 0; i < image->value_count; i++) {
                const struct pw_image_value *value = pw_image_value(image, i);
                bool in_block = value->place == PW_PLACE_BLOCK;
                if (!written[i] || value->last_use < value->first_use || value->last_use >= image->node_count)
                        return FAIL(check, "value %" PRIu32 ": nobody writes it, or its life ends before it begins", i);
                if (value->is_scratch && (!in_block || value->last_use != value->first_use))
                        return FAIL(check, "value %" PRIu32 ": scratch memory is its call's alone", i);
                if (value->shard_bytes > INT64_MAX || value->offset > INT64_MAX || value->dims.rank > PW_RANK_MAX ||
                    !*pw_dtype_text(value->dtype))
                        return FAIL(check, "value %" PRIu32 ": is of no type, or of no size", i);
                if (in_block
                            ? value->index >= pw_image_block_count(image) ||
                                      pw_image_block(image, value->index)->slice != value->slice || value->offset % PW_LINE_BYTES ||
                                      value->offset + pw_room_bytes(value->shard_bytes) > pw_image_block(image, value->index)->bytes
                            : value->index >= image->result_count)
                        return FAIL(check, "value %" PRIu32 ": its room lies outside", i);
                for (uint32_t j = 0; j < i; j++) {
                        enum pw_status status = check_pair(check, i, j);
                        if (status != PW_OK)
                                return status;
                }
        }
        return PW_OK;
}

static enum pw_status check_ends(const struct check *check)
{
        const struct pw_image *image = check->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        const struct pw_image_input *inputs = PW_IMAGE_AT(image, struct pw_image_input, image->inputs);
        uint64_t largest;
        enum pw_status status;

        for (uint32_t i = 0; i < image->result_count; i++) {
                const struct pw_image_value *value = pw_image_value(image, results[i].value);
                int32_t given = results[i].donated_input;
                if (value->place != PW_PLACE_RESULT || value->index != i || value->first_use != results[i].writer)
                        return FAIL(check, "result %" PRIu32 " does not lie in its room", i);
                if (given >= 0 && ((uint32_t)given >= image->input_count || !inputs[given].donated ||
                                   pw_image_value(image, inputs[given].value)->index != i ||
                                   pw_image_value(image, inputs[given].value)->shard_bytes != value->shard_bytes))
                        return FAIL(check, "result %" PRIu32 ": input %" PRId32 " cannot give it its room", i, given);
        }
        status = pw_image_peak(image, check->slices, &largest, check->ret_err);
        if (status == PW_OK && largest != image->peak_bytes)
                status = FAIL(check, "the peak is %" PRIu64 ", not %" PRIu64, largest, image->peak_bytes);
        return status;
}

enum pw_status pw_image_check(const struct pw_image *image, const struct pw_slice_map *slices, uint32_t slice_count,
                              struct pw_error *ret_err)
{
        struct check check = { image, slices, slice_count, ret_err };
        pw_auto_free bool *written = NULL;
        enum pw_status status = check_arrays(&check);

        if (status == PW_OK)
                status = check_tables(&check);
        if (status == PW_OK && !(written = calloc((size_t)image->value_count + 1, sizeof *written)))
                status = pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t i = 0; i < image->node_count && status == PW_OK; i++)
                status = check_node(&check, i, written);
        if (status == PW_OK)
                status = check_values(&check, written);
        return status == PW_OK ? check_ends(&check) : status;
}

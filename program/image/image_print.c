/* Images as people read them. */
#include "program/image/image.h"

#include "base/memory.h"
#include "base/size.h"

#include <inttypes.h>
#include <stdarg.h>

/* Append to a text, cut to fit. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t bytes, const char *format, ...)
{
        size_t used = strlen(text);
        va_list args;

        va_start(args, format);
        vsnprintf(text + used, bytes - used, format, args);
        va_end(args);
}

static void append_numbers(char *text, size_t bytes, const struct pw_image *image, uint32_t offset, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                append(text, bytes, "%s%" PRIu32, i ? " " : "", PW_IMAGE_AT(image, uint32_t, offset)[i]);
}

/* "5 f32 [65, 10] split(0), block+128" */
static void append_value(char *text, size_t bytes, const struct pw_image *image, uint32_t index)
{
        static const uint32_t one_axis[PW_MESH_AXES_MAX] = { 2 };
        const struct pw_image_value *value = pw_image_value(image, index);
        char dims[96], sharding[64];

        append(text, bytes, "%" PRIu32 " %s %s %s, ", index, pw_dtype_text(value->dtype),
               pw_dims_format(&value->dims, dims, sizeof dims),
               pw_sharding_format(&value->sharding, one_axis, sharding, sizeof sharding));
        append(text, bytes, "%s", value->is_scratch ? "scratch, " : "");
        if (value->place == PW_PLACE_RESULT)
                append(text, bytes, "result %u", value->index);
        else if (pw_image_block(image, value->index)->stage)
                append(text, bytes, "stage %s+%" PRIu64,
                       pw_image_text(image, pw_image_stage(image, pw_image_block(image, value->index)->stage - 1)->name),
                       value->offset);
        else
                append(text, bytes, "block+%" PRIu64, value->offset);
}

void pw_image_row(const struct pw_image *image, uint32_t index, struct pw_image_row *ret_row)
{
        static const char *const kinds[] = {
                [PW_NODE_CALL] = "call", [PW_NODE_TRANSFER] = "transfer", [PW_NODE_LOAD] = "load"
        };
        const struct pw_image_node *node = pw_image_node(image, index);
        const uint32_t *outputs = PW_IMAGE_AT(image, uint32_t, node->outputs);
        struct pw_image_row row = { .node = index, .kind = kinds[node->kind], .name = pw_image_text(image, node->name),
                                    .slice = node->slice, .source_slice = node->source_slice, .eager = node->eager };

        append_numbers(row.reads, sizeof row.reads, image, node->inputs, node->input_count);
        append_numbers(row.waits, sizeof row.waits, image, node->waits, node->wait_count);
        for (uint32_t i = 0; i < node->output_count; i++) {
                append(row.writes, sizeof row.writes, "%s", i ? "; " : "");
                append_value(row.writes, sizeof row.writes, image, outputs[i]);
                if (!pw_image_value(image, outputs[i])->is_scratch)
                        row.output_bytes += pw_image_value(image, outputs[i])->shard_bytes;
        }
        *ret_row = row;
}

void pw_image_print(const struct pw_image *image, FILE *file)
{
        fprintf(file, "%s: peak %" PRIu64 ", blocks", pw_image_text(image, image->name), image->peak_bytes);
        for (uint32_t i = 0; i < pw_image_block_count(image); i++)
                fprintf(file, " %" PRIu64, pw_image_block(image, i)->bytes);
        fprintf(file, "\n");
        for (uint32_t i = 0; i < image->node_count; i++) {
                struct pw_image_row row;
                pw_image_row(image, i, &row);
                fprintf(file, "%" PRIu32 " %s, slice %" PRIu32, i, row.name, row.source_slice);
                if (row.slice != row.source_slice)
                        fprintf(file, " to %" PRIu32, row.slice);
                if (*row.reads)
                        fprintf(file, ": %s", row.reads);
                if (*row.writes)
                        fprintf(file, " -> %s", row.writes);
                if (row.eager)
                        fprintf(file, ", eager");
                if (*row.waits)
                        fprintf(file, ", waits for %s", row.waits);
                fprintf(file, "\n");
        }
}

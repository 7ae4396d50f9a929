/* Programs, as traces tell of them: copied once for all traces of a log. */
#include "daemon/inspect/trace/trace_program.h"

#include "base/memory.h"
#include "scheduler/island/island.h"

/* Of one shard of each value that the node writes; of a SEND, which writes none: reads. */
static uint64_t node_bytes(const struct pw_image *image, const struct pw_image_node *node)
{
        uint32_t count = node->output_count ? node->output_count : node->input_count;
        const uint32_t *values = PW_IMAGE_AT(image, uint32_t, node->output_count ? node->outputs : node->inputs);
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < count; i++)
                bytes += pw_image_value(image, values[i])->is_scratch ? 0 : pw_image_value(image, values[i])->shard_bytes;
        return bytes;
}

/* The stage whose outputs in flight the node writes; "": none. */
static const char *node_stage(const struct pw_image *image, const struct pw_image_node *node)
{
        for (uint32_t i = 0; i < node->output_count; i++) {
                const struct pw_image_value *value = pw_image_value(image, PW_IMAGE_AT(image, uint32_t, node->outputs)[i]);
                uint32_t stage = value->place == PW_PLACE_BLOCK ? pw_image_block(image, value->index)->stage : 0;

                if (stage)
                        return pw_image_text(image, pw_image_stage(image, stage - 1)->name);
        }
        return "";
}

void pw_traced_program_free(struct pw_traced_program *program)
{
        if (!program)
                return;
        free(program->message.nodes);
        free(program->nodes);
        free(program->texts);
        free(program);
}

static uint64_t text_bytes(const struct pw_image *image)
{
        uint64_t bytes = strlen(pw_image_text(image, image->name)) + 1;

        for (uint32_t i = 0; i < image->node_count; i++) {
                const struct pw_image_node *node = pw_image_node(image, i);

                bytes += strlen(pw_image_text(image, node->name)) + strlen(node_stage(image, node)) + 2;
        }
        return bytes;
}

static char *add_text(char **at, const char *text)
{
        char *copy = *at;

        *at = stpcpy(copy, text) + 1;
        return copy;
}

static void fill(struct pw_traced_program *program, const struct pw_image *image)
{
        static const char *const kinds[] = { "?", "call", "transfer", "load" };
        char *at = program->texts;

        pathways__wire__trace_program__init(&program->message);
        program->message.name = add_text(&at, pw_image_text(image, image->name));
        for (uint32_t i = 0; i < image->node_count; i++) {
                const struct pw_image_node *node = pw_image_node(image, i);

                pathways__wire__trace_node__init(&program->nodes[i]);
                program->nodes[i].name = add_text(&at, pw_image_text(image, node->name));
                program->nodes[i].kind = (char *)(uintptr_t)(node->kind < pw_array_count(kinds) ? kinds[node->kind] : kinds[0]);
                program->nodes[i].bytes = node_bytes(image, node);
                program->nodes[i].stage = add_text(&at, node_stage(image, node));
        }
}

struct pw_traced_program *pw_traced_program_new(const struct pw_image *image, uint64_t most_bytes)
{
        uint64_t texts = text_bytes(image), bytes = texts + (image->node_count + UINT64_C(1)) *
                (sizeof(Pathways__Wire__TraceNode) + sizeof(Pathways__Wire__TraceNode *));
        struct pw_traced_program *program = bytes <= most_bytes ? calloc(1, sizeof *program) : NULL;
        Pathways__Wire__TraceNode **pointers;

        if (!program)
                return NULL;
        program->bytes = bytes;
        program->texts = malloc(texts);
        program->nodes = calloc(image->node_count + UINT64_C(1), sizeof *program->nodes);
        pointers = calloc(image->node_count + UINT64_C(1), sizeof *pointers);
        if (!program->texts || !program->nodes || !pointers) {
                free(pointers);
                pw_traced_program_free(program);
                return NULL;
        }
        fill(program, image);
        for (uint32_t i = 0; i < image->node_count; i++)
                pointers[i] = &program->nodes[i];
        program->message.nodes = pointers;
        program->message.n_nodes = image->node_count;
        return program;
}

/* Programs as a client sends them: read, checked, shaped, lowered; what comes out is a consistent image. */
#include "base/memory.h"
#include "daemon/work/graph_wire.h"
#include "program/graph/graph_make.h"
#include "program/image/image.h"
#include "program/lower/lower.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

/* Slices 1 to 3 are open: 4 devices, 2 x 2 over two islands, 1 device. */
static const struct pw_slice_map slices[] = {
        { 1, { 4, 1 }, 4, (const struct pw_slice_place[]){ { 0, 0, 0 }, { 0, 0, 1 }, { 0, 0, 2 }, { 0, 0, 3 } },
          { NULL, false }, false },
        { 2, { 2, 2 }, 4, (const struct pw_slice_place[]){ { 0, 0, 2 }, { 0, 0, 3 }, { 0, 1, 4 }, { 0, 1, 5 } },
          { NULL, false }, false },
        { 3, { 1, 1 }, 1, (const struct pw_slice_place[]){ { 0, 1, 6 } }, { NULL, false }, false },
};

struct pw_outgoing *pw_outgoing_new(enum pw_frame_kind kind, const ProtobufCMessage *message)
{
        (void)kind, (void)message;
        return NULL;
}

/* As in a session with those slices. */
static bool resolve(struct pw_graph *graph)
{
        for (uint32_t i = 0; i < graph->slice_count; i++) {
                uint32_t id = graph->slices[i].id;
                if (!id || id > pw_array_count(slices))
                        return false;
                graph->slices[i] = slices[id - 1];
        }
        return true;
}

static void compile(const Pathways__Wire__ProgramCompile *request)
{
        struct pw_graph *graph = NULL;
        struct pw_image *image = NULL;

        if (pw_graph_read(request, &graph, NULL) == PW_OK && resolve(graph) && pw_graph_check(graph, NULL) == PW_OK &&
            pw_make_shapes(graph, NULL) == PW_OK && pw_lower(graph, &image, NULL) == PW_OK) {
                struct pw_error err;
                enum pw_status status = pw_image_check(image, graph->slices, graph->slice_count, &err);
                assert(status == PW_OK);
        }
        free(image);
        pw_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        Pathways__Wire__ProgramCompile *request = pathways__wire__program_compile__unpack(NULL, count, bytes);

        if (request && request->n_values < 64 && request->n_calls < 64)
                compile(request);
        if (request)
                pathways__wire__program_compile__free_unpacked(request, NULL);
        return 0;
}

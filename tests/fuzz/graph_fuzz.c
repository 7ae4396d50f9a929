/* Programs as a client sends them: read, checked, shaped, lowered; what comes out is a consistent image. */
#include "base/memory.h"
#include "daemon/graph_wire.h"
#include "scheduler/graph_make.h"
#include "scheduler/lower.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

/* Slices 1 to 3 are open: 4 devices, 2 x 2 over two islands, 1 device. */
static const struct pw_slice_map slices[] = {
        { 1, { 4, 1 }, 4, (const uint16_t[]){ 0, 0, 0, 0 }, (const uint16_t[]){ 0, 1, 2, 3 } },
        { 2, { 2, 2 }, 4, (const uint16_t[]){ 0, 0, 1, 1 }, (const uint16_t[]){ 2, 3, 4, 5 } },
        { 3, { 1, 1 }, 1, (const uint16_t[]){ 1 }, (const uint16_t[]){ 6 } },
};

const struct pw_slice_map *pw_scheduler_slice(struct pw_scheduler *scheduler, uint32_t id)
{
        (void)scheduler;
        return id && id <= pw_array_count(slices) ? &slices[id - 1] : NULL;
}
void pw_session_reply(struct pw_dsession *session, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count)
{
        (void)session, (void)id, (void)reply, (void)fds, (void)fd_count;
}
void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text)
{
        (void)session, (void)id, (void)status, (void)text;
}

/* As in a session with those slices. */
static void compile(const Pathways__Wire__ProgramCompile *request)
{
        static struct pw_daemon daemon;
        static struct pw_dsession session = { .daemon = &daemon };
        struct pw_graph *graph = NULL;
        struct pw_image *image = NULL;

        for (uint32_t id = 1; id <= pw_array_count(slices); id++)
                pw_table_put(&session.slices, id, &session);
        if (pw_graph_read(&session, request, &graph, NULL) == PW_OK && pw_graph_check(graph, NULL) == PW_OK &&
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

/* What tests of lowering share: a graph on a slice of its own, lowered, as text.
 */
#ifndef PW_PROGRAM_LOWER_LOWER_FIXTURE_H
#define PW_PROGRAM_LOWER_LOWER_FIXTURE_H

#include "base/memory.h"
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "program/image/image.h"
#include "program/lower/lower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct pw_make_slice places[3];

static inline struct pw_graph *make(uint32_t device_count, uint32_t island_count)
{
        struct pw_graph *graph = pw_graph_new("test");

        pw_make_slice(graph, &places[0], &(struct pw_make_slice_params){ { device_count, 0 }, 0, 0, island_count });
        return graph;
}

/* Check, shape and lower; the graph goes. */
static inline struct pw_image *lower(struct pw_graph *graph)
{
        struct pw_image *image = NULL;
        struct pw_error err;
        enum pw_status status = pw_graph_check(graph, &err);

        if (status == PW_OK)
                status = pw_make_shapes(graph, &err);
        if (status == PW_OK)
                status = pw_lower(graph, &image, &err);
        if (status == PW_OK)
                status = pw_image_check(image, graph->slices, graph->slice_count, &err);
        if (status != PW_OK)
                fail_msg("%s", err.text);
        pw_graph_free(graph);
        return image;
}

static inline void expect(struct pw_graph *graph, const char *expected)
{
        struct pw_image *image = lower(graph);
        char *text = NULL;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);

        pw_image_print(image, file);
        fclose(file);
        assert_string_equal(text, expected);
        free(text);
        free(image);
}

#endif

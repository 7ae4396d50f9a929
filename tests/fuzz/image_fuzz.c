/* Images with anything in them: the check finds what does not hold together, within the image's bytes; what passes it can be
 * printed. The input changes an image that lowering made, at places of its choice. */
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "program/image/image.h"
#include "program/lower/lower.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct pw_slice_map slices[] = {
        { 1, { 4, 1 }, 4, (const struct pw_slice_place[]){ { 0, 0, 0 }, { 0, 0, 1 }, { 0, 0, 2 }, { 0, 0, 3 } },
          { NULL, false }, false },
        { 2, { 2, 2 }, 4, (const struct pw_slice_place[]){ { 0, 0, 2 }, { 0, 0, 3 }, { 0, 1, 4 }, { 0, 1, 5 } },
          { NULL, false }, false },
};

/* A donated input, a call with scratch memory, a transfer between slices and islands, two results. */
static struct pw_image *lowered(void)
{
        struct pw_sharding broadcast = PW_BROADCAST, split = PW_SPLIT(0), partial = PW_PARTIAL(PW_SUM);
        struct pw_graph *graph = pw_graph_new("fuzz");
        struct pw_image *image = NULL;
        uint32_t one = 0, two = 1, a, b;
        bool made = graph && pw_graph_add_slice(graph, &slices[0]) && pw_graph_add_slice(graph, &slices[1]);
        enum pw_status status;

        assert(made);
        a = pw_make_input(graph, one, PW_DIMS(64), split, PW_DONATED);
        b = pw_make_call(graph, &(struct pw_make_call){ one, "m/any+scratch100", &a, 1, &partial, 1 });
        pw_graph_add_result(graph, pw_make_call(graph, &(struct pw_make_call){ one, "m/update", &a, 1, &split, 1 }));
        pw_graph_add_result(graph, pw_make_as(graph, b, two, broadcast));
        status = pw_graph_check(graph, NULL);
        if (status == PW_OK)
                status = pw_make_shapes(graph, NULL);
        if (status == PW_OK)
                status = pw_lower(graph, &image, NULL);
        assert(status == PW_OK);
        pw_graph_free(graph);
        return image;
}

static void print(const struct pw_image *image)
{
        FILE *out = fopen("/dev/null", "w");

        if (!out)
                return;
        pw_image_print(image, out);
        fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
        static struct pw_image *good;
        struct fuzz_bytes bytes = { data, count };
        uint8_t *image;

        if (!good)
                good = lowered();
        image = aligned_alloc(64, (good->bytes + 63) & ~63u);
        if (!image)
                return 0;
        memcpy(image, good, good->bytes);
        while (bytes.left) {
                uint32_t at = (uint32_t)fuzz_take(&bytes, 2) % good->bytes;
                unsigned width = 1 + at % 4;

                for (unsigned i = 0; i < width && at + i < good->bytes; i++)
                        image[at + i] = (uint8_t)fuzz_take(&bytes, 1);
        }
        ((struct pw_image *)(void *)image)->bytes = good->bytes; /* whoever copies an image knows its length */
        if (pw_image_check((const struct pw_image *)(const void *)image, slices, 2, NULL) == PW_OK)
                print((const struct pw_image *)(const void *)image);
        free(image);
        return 0;
}

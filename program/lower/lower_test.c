/* Lowering, as text: which nodes a program becomes, where values lie, who waits for whom. */
#include "program/lower/lower_fixture.h"

/* weights (donated), images and labels; gradient; update. */
static struct pw_graph *make_digits(uint32_t device_count, uint32_t island_count)
{
        struct pw_graph *graph = make(device_count, island_count);

        pw_make_input(graph, 0, PW_DIMS(65, 10), PW_BROADCAST, PW_DONATED);
        pw_make_input(graph, 0, PW_DIMS(96, 65), PW_SPLIT(0), 0);
        pw_make_input(graph, 0, PW_DIMS(96), PW_SPLIT(0), 0);
        PW_MAKE_CALL(graph, 0, "digits/gradient", PW_PARTIAL(PW_SUM), 0, 1, 2);
        PW_MAKE_CALL(graph, 0, "digits/update", PW_BROADCAST, 0, 3);
        assert_true(pw_graph_add_result(graph, 4));
        return graph;
}

static void test_digits(void **state)
{
        (void)state;
        expect(make_digits(1, 1), "test: peak 31232, blocks 28416\n"
                                  "0 load 0, slice 0 -> 0 i32 [65, 10] broadcast, result 0\n"
                                  "1 load 1, slice 0 -> 1 i32 [96, 65] split(0), block+0\n"
                                  "2 load 2, slice 0 -> 2 i32 [96] split(0), block+27904\n"
                                  "3 digits/gradient, slice 0: 0 1 2 -> 3 i32 [65, 10] partial(sum), block+25088\n"
                                  "4 digits/update, slice 0: 0 3 -> 4 i32 [65, 10] broadcast, result 0\n");
        expect(make_digits(4, 1), "test: peak 12288, blocks 9472\n"
                                  "0 load 0, slice 0 -> 0 i32 [65, 10] broadcast, result 0\n"
                                  "1 load 1, slice 0 -> 1 i32 [96, 65] split(0), block+0\n"
                                  "2 load 2, slice 0 -> 2 i32 [96] split(0), block+9216\n"
                                  "3 digits/gradient, slice 0: 0 1 2 -> 3 i32 [65, 10] partial(sum), block+6400\n"
                                  "4 all-reduce, slice 0: 3 -> 4 i32 [65, 10] broadcast, block+0\n"
                                  "5 digits/update, slice 0: 0 4 -> 5 i32 [65, 10] broadcast, result 0\n");
}

static void test_digits_over_islands(void **state)
{
        (void)state;
        /* One device in each island: nothing to reduce inside. */
        expect(make_digits(2, 2), "test: peak 18432, blocks 15616\n"
                                  "0 load 0, slice 0 -> 0 i32 [65, 10] broadcast, result 0\n"
                                  "1 load 1, slice 0 -> 1 i32 [96, 65] split(0), block+0\n"
                                  "2 load 2, slice 0 -> 2 i32 [96] split(0), block+15360\n"
                                  "3 digits/gradient, slice 0: 0 1 2 -> 3 i32 [65, 10] partial(sum), block+12544\n"
                                  "4 all-reduce send, slice 0: 3\n"
                                  "5 all-reduce receive, slice 0: 3 -> 4 i32 [65, 10] broadcast, block+0, waits for 4\n"
                                  "6 digits/update, slice 0: 0 4 -> 5 i32 [65, 10] broadcast, result 0\n");
        /* Reduce inside, exchange; every device takes one sum of each island. */
        expect(make_digits(4, 2), "test: peak 12288, blocks 9472\n"
                                  "0 load 0, slice 0 -> 0 i32 [65, 10] broadcast, result 0\n"
                                  "1 load 1, slice 0 -> 1 i32 [96, 65] split(0), block+0\n"
                                  "2 load 2, slice 0 -> 2 i32 [96] split(0), block+9216\n"
                                  "3 digits/gradient, slice 0: 0 1 2 -> 3 i32 [65, 10] partial(sum), block+6400\n"
                                  "4 all-reduce in island, slice 0: 3 -> 4 i32 [65, 10] partial(sum), block+0\n"
                                  "5 all-reduce send, slice 0: 4\n"
                                  "6 all-reduce receive, slice 0: 4 -> 5 i32 [65, 10] broadcast, block+2816, waits for 5\n"
                                  "7 digits/update, slice 0: 0 5 -> 6 i32 [65, 10] broadcast, result 0\n");
}

/* Scratch memory lies in the block while its call runs, where nothing else is then, and what is dead by then before. */
static void test_scratch(void **state)
{
        struct pw_graph *graph = make(2, 1);
        (void)state;

        pw_make_input(graph, 0, PW_DIMS(128), PW_SPLIT(0), 0);
        PW_MAKE_CALL(graph, 0, "t/one+scratch1000", PW_SPLIT(0), 0);
        PW_MAKE_CALL(graph, 0, "t/two+scratch1", PW_SPLIT(0), 1);
        PW_MAKE_CALL(graph, 0, "t/three+scratch0", PW_SPLIT(0), 2);
        assert_true(pw_graph_add_result(graph, 3));
        expect(graph, "test: peak 2560, blocks 2048\n"
                      "0 load 0, slice 0 -> 0 i32 [128] split(0), block+1024\n"
                      "1 t/one+scratch1000, slice 0: 0 -> 1 i32 [128] split(0), block+1536; "
                      "2 u8 [1000] broadcast, scratch, block+0\n"
                      "2 t/two+scratch1, slice 0: 1 -> 3 i32 [128] split(0), block+0; 4 u8 [1] broadcast, scratch, block+512\n"
                      "3 t/three+scratch0, slice 0: 3 -> 5 i32 [128] split(0), result 0\n");
}

/* Outputs in flight are a stage's, scratch memory is not. */
static void test_scratch_in_a_stage(void **state)
{
        struct pw_graph *graph = make(1, 1);
        struct pw_image *image;
        (void)state;

        pw_make_input(graph, 0, PW_DIMS(32), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/one+scratch5000", PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/two", PW_BROADCAST, 1);
        assert_true(pw_graph_add_stage(graph, "first", 1));
        graph->calls[0].stage = 1;
        assert_true(pw_graph_add_result(graph, 2));
        image = lower(graph);
        assert_int_equal(pw_image_block(image, 1)->bytes, pw_room_bytes(128));
        assert_int_equal(pw_image_block(image, 0)->bytes, pw_room_bytes(128) + pw_room_bytes(5000));
        free(image);
}

/* No sum of rooms may overflow, whatever a function says. */
static void test_scratch_is_bounded(void **state)
{
        static const char *const functions[] = { "t/a+scratch18446744073709551615", "t/b+scratch9223372036854775807",
                                                 "t/c+scratch9223372036854775400" };
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(functions); i++) {
                struct pw_graph *graph = make(1, 1);
                struct pw_image *image = NULL;
                struct pw_error err;

                pw_make_input(graph, 0, PW_DIMS(32), PW_BROADCAST, 0);
                PW_MAKE_CALL(graph, 0, functions[i], PW_BROADCAST, 0);
                assert_true(pw_graph_add_result(graph, 1));
                assert_int_equal(pw_graph_check(graph, &err), PW_OK);
                assert_int_equal(pw_make_shapes(graph, &err), PW_OK);
                assert_int_equal(pw_lower(graph, &image, &err), PW_TOO_LARGE);
                assert_true(i == 2 || strstr(err.text, "call 0, t/"));
                pw_graph_free(graph);
        }
}

/* A chain of so many all-reduces; returns the graph. */
static struct pw_graph *make_sums(struct pw_graph *graph, struct pw_dims dims, uint32_t count)
{
        pw_make_input(graph, 0, dims, PW_BROADCAST, 0);
        for (uint32_t i = 0; i < count; i++)
                PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_SUM), i);
        assert_true(pw_graph_add_result(graph, count));
        return graph;
}

/* A chain of scalar all-reduces: the values travel in the marks, nobody waits. */
static void test_eager(void **state)
{
        struct pw_graph *graph = make_sums(make(8, 1), PW_SCALAR, 3);

        (void)state;
        expect(graph, "test: peak 768, blocks 512\n"
                      "0 load 0, slice 0 -> 0 i32 [] broadcast, block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [] partial(sum), block+256\n"
                      "2 all-reduce, slice 0: 1 -> 2 i32 [] broadcast, block+0, eager\n"
                      "3 t/like0, slice 0: 2 -> 3 i32 [] partial(sum), block+256\n"
                      "4 all-reduce, slice 0: 3 -> 4 i32 [] broadcast, block+0, eager\n"
                      "5 t/like0, slice 0: 4 -> 5 i32 [] partial(sum), result 0\n");
}

/* Larger ones are read in their rooms: who writes there next waits for the readers, once. */
static void test_waits(void **state)
{
        struct pw_graph *graph = make_sums(make(2, 1), PW_DIMS(100), 4);

        (void)state;
        expect(graph, "test: peak 1536, blocks 1024\n"
                      "0 load 0, slice 0 -> 0 i32 [100] broadcast, block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [100] partial(sum), block+512\n"
                      "2 all-reduce, slice 0: 1 -> 2 i32 [100] broadcast, block+0\n"
                      "3 t/like0, slice 0: 2 -> 3 i32 [100] partial(sum), block+512, waits for 2\n"
                      "4 all-reduce, slice 0: 3 -> 4 i32 [100] broadcast, block+0\n"
                      "5 t/like0, slice 0: 4 -> 5 i32 [100] partial(sum), block+512, waits for 4\n"
                      "6 all-reduce, slice 0: 5 -> 6 i32 [100] broadcast, block+0\n"
                      "7 t/like0, slice 0: 6 -> 7 i32 [100] partial(sum), result 0\n");
}

/* The donated input is read elsewhere before the call that updates it in place. */
static void test_donation_waits(void **state)
{
        struct pw_graph *graph = make(2, 1);

        (void)state;
        pw_make_input(graph, 0, PW_DIMS(100), PW_SPLIT(0), PW_DONATED);
        pw_make_as(graph, 0, 0, PW_BROADCAST);
        PW_MAKE_CALL(graph, 0, "t/place0", PW_SPLIT(0), 0, 1);
        assert_true(pw_graph_add_result(graph, 2));
        expect(graph, "test: peak 768, blocks 512\n"
                      "0 load 0, slice 0 -> 0 i32 [100] split(0), result 0\n"
                      "1 all-gather, slice 0: 0 -> 1 i32 [100] broadcast, block+0\n"
                      "2 t/place0, slice 0: 0 1 -> 2 i32 [100] split(0), result 0, waits for 1\n");
}

/* A donated input is loaded like any other where its room cannot be taken: read later, passed twice, not in place, another
 * layout. */
static void expect_no_donation(struct pw_graph *graph, uint32_t result)
{
        struct pw_image *image;

        assert_true(pw_graph_add_result(graph, result));
        image = lower(graph);
        assert_int_equal(PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[0].donated, 0);
        assert_int_equal(PW_IMAGE_AT(image, struct pw_image_result, image->results)[0].donated_input, -1);
        assert_int_equal(pw_image_value(image, PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[0].value)->place,
                         PW_PLACE_BLOCK);
        free(image);
}

static struct pw_graph *make_donated(void)
{
        struct pw_graph *graph = make(2, 1);

        pw_make_input(graph, 0, PW_DIMS(100), PW_SPLIT(0), PW_DONATED);
        return graph;
}

static void test_no_donation(void **state)
{
        struct pw_graph *graph = make_donated();
        struct pw_image *image;

        (void)state;
        PW_MAKE_CALL(graph, 0, "t/place0", PW_SPLIT(0), 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_SPLIT(0), 0);
        expect_no_donation(graph, 1);
        graph = make_donated();
        PW_MAKE_CALL(graph, 0, "t/place0", PW_SPLIT(0), 0, 0);
        expect_no_donation(graph, 1);
        graph = make_donated();
        PW_MAKE_CALL(graph, 0, "t/like0", PW_SPLIT(0), 0);
        expect_no_donation(graph, 1);
        graph = make_donated();
        PW_MAKE_CALL(graph, 0, "t/place0", PW_PARTIAL(PW_SUM), 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_BROADCAST, 1);
        expect_no_donation(graph, 2);
        graph = make_donated();
        pw_make_as(graph, 0, 0, PW_BROADCAST);
        PW_MAKE_CALL(graph, 0, "t/place0", PW_BROADCAST, 1);
        expect_no_donation(graph, 2);
        graph = make_donated(); /* and the good one */
        PW_MAKE_CALL(graph, 0, "t/place0", PW_SPLIT(0), 0);
        assert_true(pw_graph_add_result(graph, 1));
        image = lower(graph);
        assert_int_equal(PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[0].donated, 1);
        assert_int_equal(PW_IMAGE_AT(image, struct pw_image_result, image->results)[0].donated_input, 0);
        assert_int_equal(image->peak_bytes, pw_room_bytes(200)); /* once */
        free(image);
}

/* An input passed through, a value named twice, a result that is read on, outputs that nobody reads. */
static void test_results(void **state)
{
        const struct pw_sharding both[] = { PW_BROADCAST, PW_BROADCAST };
        struct pw_graph *graph = make(2, 1);

        (void)state;
        pw_make_input(graph, 0, PW_DIMS(100), PW_SPLIT(0), 0);
        pw_make_input(graph, 0, PW_DIMS(100), PW_BROADCAST, 0);
        pw_make_call(graph, &(struct pw_make_call){ 0, "t/like1", (const uint32_t[]){ 0, 1 }, 2, both, 2 });
        PW_MAKE_CALL(graph, 0, "t/like0", PW_BROADCAST, 2);
        assert_true(pw_graph_add_result(graph, 0) && pw_graph_add_result(graph, 2) && pw_graph_add_result(graph, 2));
        expect(graph, "test: peak 2304, blocks 1024\n"
                      "0 load 0, slice 0 -> 0 i32 [100] split(0), result 0\n"
                      "1 load 1, slice 0 -> 1 i32 [100] broadcast, block+0\n"
                      "2 t/like1, slice 0: 0 1 -> 2 i32 [100] broadcast, result 1; 3 i32 [100] broadcast, block+512\n"
                      "3 t/like0, slice 0: 2 -> 4 i32 [100] broadcast, block+0\n"
                      "4 copy, slice 0: 2 -> 5 i32 [100] broadcast, result 2\n");
}

/* The same conversion is made once, with or without PW_AS; one to the layout that is there already is none. */
static void test_conversions(void **state)
{
        struct pw_graph *graph = make(2, 1);

        (void)state;
        pw_make_input(graph, 0, PW_DIMS(100), PW_SPLIT(0), 0);
        pw_make_as(graph, 0, 0, PW_BROADCAST);
        pw_make_as(graph, 0, 0, PW_SPLIT(0));
        pw_make_as(graph, 2, 0, PW_BROADCAST);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_SUM), 1, 3, 2);
        pw_make_as(graph, 4, 0, PW_BROADCAST);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_BROADCAST, 4, 5);
        assert_true(pw_graph_add_result(graph, 6));
        expect(graph, "test: peak 1792, blocks 1280\n"
                      "0 load 0, slice 0 -> 0 i32 [100] split(0), block+1024\n"
                      "1 all-gather, slice 0: 0 -> 1 i32 [100] broadcast, block+0\n"
                      "2 t/like0, slice 0: 1 1 0 -> 2 i32 [100] partial(sum), block+512\n"
                      "3 all-reduce, slice 0: 2 -> 3 i32 [100] broadcast, block+0\n"
                      "4 t/like0, slice 0: 3 3 -> 4 i32 [100] broadcast, result 0\n");
}

/* Two slices in two islands: send and receive. */
static void test_move(void **state)
{
        struct pw_graph *graph = make(2, 1);

        (void)state;
        pw_make_slice(graph, &places[1], &(struct pw_make_slice_params){ { 4, 0 }, 2, 1, 1 });
        pw_make_slice(graph, &places[2], &(struct pw_make_slice_params){ { 1, 0 }, 1, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(100), PW_SPLIT(0), 0);
        pw_make_as(graph, 0, 1, PW_SPLIT(0));
        pw_make_as(graph, 0, 2, PW_BROADCAST);
        assert_true(pw_graph_add_result(graph, 1) && pw_graph_add_result(graph, 2));
        expect(graph, "test: peak 768, blocks 256 0 0\n"
                      "0 load 0, slice 0 -> 0 i32 [100] split(0), block+0\n"
                      "1 send-recv send, slice 0 to 1: 0\n"
                      "2 send-recv receive, slice 0 to 1: 0 -> 1 i32 [100] split(0), result 0, waits for 1\n"
                      "3 gather, slice 0 to 2: 0 -> 2 i32 [100] broadcast, result 1\n");
}

/* Rooms are shared by values that do not live at the same time: a chain needs two. */
static void test_rooms(void **state)
{
        struct pw_graph *graph = make(1, 1);
        struct pw_image *image;

        (void)state;
        pw_make_input(graph, 0, PW_DIMS(1000), PW_BROADCAST, 0);
        for (uint32_t i = 0; i < 1000; i++)
                PW_MAKE_CALL(graph, 0, "pw/nop", PW_BROADCAST, i);
        assert_true(pw_graph_add_result(graph, 1000));
        image = lower(graph);
        assert_int_equal(image->node_count, 1001);
        assert_int_equal(image->function_count, 1);
        assert_string_equal(pw_image_text(image, PW_IMAGE_AT(image, struct pw_image_function, image->functions)->name), "nop");
        assert_string_equal(pw_image_text(image, PW_IMAGE_AT(image, struct pw_image_function, image->functions)->module), "pw");
        assert_int_equal(image->peak_bytes, 3 * pw_room_bytes(4000));
        assert_int_equal(image->seq_count, 0);
        free(image);
}

/* Large blocks for what lives long, small ones in the gaps. */
static void test_gaps(void **state)
{
        struct pw_graph *graph = make(1, 1);
        struct pw_image *image;

        (void)state;
        pw_make_input(graph, 0, PW_DIMS(8), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/vec4000", PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/vec8", PW_BROADCAST, 1);
        PW_MAKE_CALL(graph, 0, "t/vec1000", PW_BROADCAST, 2);
        PW_MAKE_CALL(graph, 0, "t/vec2000", PW_BROADCAST, 3);
        PW_MAKE_CALL(graph, 0, "t/vec8", PW_BROADCAST, 4, 3);
        assert_true(pw_graph_add_result(graph, 5));
        image = lower(graph);
        /* the most that lives at once is the 4,000 and its neighbours; all that comes later fits into its place */
        assert_int_equal(pw_image_block(image, 0)->bytes, pw_room_bytes(16000) + pw_room_bytes(32));
        free(image);
}

/* Thousands that live at once, as in a training step of many layers: as many rooms as live, whichever way they are placed. */
static void test_deep(void **state)
{
        static const uint32_t layers[] = { 100, 3000 };

        (void)state;
        for (uint32_t l = 0; l < pw_array_count(layers); l++) {
                struct pw_graph *graph = make(1, 1);
                uint32_t last = pw_make_input(graph, 0, PW_DIMS(1000), PW_BROADCAST, 0);
                struct pw_image *image;

                for (uint32_t i = 0; i < layers[l]; i++)
                        last = PW_MAKE_CALL(graph, 0, "pw/nop", PW_BROADCAST, last);
                for (uint32_t i = layers[l]; i > 0; i--)
                        last = PW_MAKE_CALL(graph, 0, "pw/add", PW_BROADCAST, last, i);
                assert_true(pw_graph_add_result(graph, last));
                image = lower(graph);
                assert_int_equal(image->peak_bytes, (layers[l] + 2) * pw_room_bytes(4000));
                free(image);
        }
}

/* The bytes of a compiled program do not change with the number of devices. */
static void test_size(void **state)
{
        struct pw_image *two[2], *sixty_four[2];

        (void)state;
        for (uint32_t islands = 1; islands <= 2; islands++) {
                two[islands - 1] = lower(make_digits(2 * islands, islands));
                sixty_four[islands - 1] = lower(make_digits(64, islands));
                assert_int_equal(two[islands - 1]->bytes, sixty_four[islands - 1]->bytes);
                assert_int_equal(two[islands - 1]->node_count, sixty_four[islands - 1]->node_count);
        }
        for (uint32_t i = 0; i < 2; i++) {
                free(two[i]);
                free(sixty_four[i]);
        }
}

static void test_refusals(void **state)
{
        struct pw_graph *graph = make(2, 1);
        struct pw_image *image = NULL;
        struct pw_error err;

        (void)state;
        pw_make_input(graph, 0, PW_DIMS(100), PW_BROADCAST, 0);
        graph->values[0].dtype = PW_OPAQUE;
        PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_SUM), 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_BROADCAST, 1);
        assert_true(pw_graph_add_result(graph, 2));
        assert_int_equal(pw_graph_check(graph, &err), PW_OK);
        assert_int_equal(pw_lower(graph, &image, &err), PW_BAD_PROGRAM);
        assert_string_equal(err.text, "value 0 has no shape yet");
        assert_int_equal(pw_make_shapes(graph, &err), PW_OK);
        assert_int_equal(pw_lower(graph, &image, &err), PW_SHAPE);
        assert_string_equal(err.text, "call 1, t/like0, argument 0: opaque values cannot be reduced: give them a dtype");
        assert_null(image);
        pw_graph_free(graph);
}

/* Devices whose memory only their own kind reads: others give to them, and take nothing from them. */
static void test_memories(void **state)
{
        static const struct pw_slice_memory near = { "near", false }, far = { "far", true }, else_far = { "elsewhere", true };
        static const struct { const struct pw_slice_memory *from, *to; enum pw_status status; } pairs[] = {
                { &near, &near, PW_OK }, { &near, &far, PW_OK }, { &far, &far, PW_OK },
                { &far, &near, PW_UNSUPPORTED }, { &far, &else_far, PW_UNSUPPORTED },
        };

        (void)state;
        for (uint32_t i = 0; i < pw_array_count(pairs); i++) {
                struct pw_graph *graph = make(2, 1);
                struct pw_image *image = NULL;
                struct pw_error err;

                pw_make_slice(graph, &places[1], &(struct pw_make_slice_params){ { 2, 0 }, 2, 0, 1 });
                graph->slices[0].memory = *pairs[i].from;
                graph->slices[1].memory = *pairs[i].to;
                pw_make_input(graph, 0, PW_DIMS(100), PW_BROADCAST, 0);
                assert_true(pw_graph_add_result(graph, pw_make_as(graph, 0, 1, PW_BROADCAST)));
                assert_int_equal(pw_graph_check(graph, &err), PW_OK);
                assert_int_equal(pw_make_shapes(graph, &err), PW_OK);
                assert_int_equal(pw_lower(graph, &image, &err), pairs[i].status);
                if (pairs[i].status == PW_UNSUPPORTED) {
                        assert_non_null(strstr(err.text, "of kind far"));
                        assert_non_null(strstr(err.text, pairs[i].to->kind));
                }
                pw_graph_free(graph);
                free(image);
        }
}

static void test_too_large(void **state)
{
        struct pw_graph *graph = make(1, 1);
        struct pw_image *image = NULL;
        struct pw_error err;

        (void)state;
        for (uint32_t i = 0; i < 4; i++)
                pw_make_input(graph, 0, PW_DIMS(UINT64_C(1) << 60), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/vec8", PW_BROADCAST, 0, 1, 2, 3);
        assert_true(pw_graph_add_result(graph, 4));
        assert_int_equal(pw_graph_check(graph, &err), PW_OK);
        assert_int_equal(pw_make_shapes(graph, &err), PW_OK);
        assert_int_equal(pw_lower(graph, &image, &err), PW_TOO_LARGE);
        pw_graph_free(graph);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_digits), cmocka_unit_test(test_scratch),
                cmocka_unit_test(test_scratch_in_a_stage), cmocka_unit_test(test_scratch_is_bounded),
                cmocka_unit_test(test_digits_over_islands),
                cmocka_unit_test(test_eager),
                cmocka_unit_test(test_waits),
                cmocka_unit_test(test_donation_waits),
                cmocka_unit_test(test_no_donation),
                cmocka_unit_test(test_results),
                cmocka_unit_test(test_conversions),
                cmocka_unit_test(test_move),
                cmocka_unit_test(test_rooms),
                cmocka_unit_test(test_gaps),
                cmocka_unit_test(test_deep),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_memories),
                cmocka_unit_test(test_too_large),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

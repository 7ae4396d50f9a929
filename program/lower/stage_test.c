/* Stages: in which order calls come where there are quotas, in how many rooms their outputs lie, what is refused. */
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

static struct pw_make_slice places[2];

static struct pw_graph *make_in(uint32_t quota, uint32_t second_island)
{
        struct pw_graph *graph = pw_graph_new("test");

        for (uint32_t i = 0; i < 2; i++)
                pw_make_slice(graph, &places[i], &(struct pw_make_slice_params){ { 1, 0 }, i, i * second_island, 1 });
        assert_true(pw_graph_add_stage(graph, "one", quota) && pw_graph_add_stage(graph, "two", quota));
        return graph;
}

static struct pw_graph *make(uint32_t quota) { return make_in(quota, 1); }

static enum pw_status lower(struct pw_graph *graph, struct pw_image **ret_image, struct pw_error *ret_err)
{
        enum pw_status status = pw_graph_check(graph, ret_err);

        if (status == PW_OK)
                status = pw_make_shapes(graph, ret_err);
        if (status == PW_OK)
                status = pw_lower(graph, ret_image, ret_err);
        if (status == PW_OK)
                status = pw_image_check(*ret_image, graph->slices, graph->slice_count, ret_err);
        pw_graph_free(graph);
        return status;
}

static uint32_t call_in(struct pw_graph *graph, uint32_t stage, const char *function, uint32_t value)
{
        uint32_t output = PW_MAKE_CALL(graph, stage, function, PW_BROADCAST, value);

        graph->calls[graph->call_count - 1].stage = 1 + stage;
        return output;
}

/* `count` microbatches through both stages; traced stage by stage, or one microbatch after the other. */
static struct pw_graph *pipeline(uint32_t quota, uint32_t count, bool by_stage)
{
        struct pw_graph *graph = make(quota);
        uint32_t values[16];

        for (uint32_t i = 0; i < count; i++)
                values[i] = pw_make_input(graph, 0, PW_DIMS(100), (struct pw_sharding)PW_BROADCAST, 0);
        for (uint32_t pass = 0; pass < (by_stage ? 2 : 1); pass++)
                for (uint32_t i = 0; i < count; i++) {
                        if (!pass)
                                values[i] = call_in(graph, 0, "m/one", values[i]);
                        if (!pass)
                                values[i] = pw_make_as(graph, values[i], 1, (struct pw_sharding)PW_BROADCAST);
                        if (pass || !by_stage)
                                values[i] = call_in(graph, 1, "m/two", values[i]);
                }
        for (uint32_t i = 0; i < count; i++)
                assert_true(pw_graph_add_result(graph, values[i]));
        return graph;
}

static void expect(struct pw_graph *graph, const char *expected)
{
        struct pw_image *image = NULL;
        struct pw_error err;
        char *text = NULL;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);

        if (lower(graph, &image, &err) != PW_OK)
                fail_msg("%s", err.text);
        pw_image_print(image, file);
        fclose(file);
        assert_string_equal(text, expected);
        free(text);
        free(image);
}

/* All of the first stage was traced first, and 3 credits are not 2: the third comes when the first was read. */
static void test_in_turn(void **state)
{
        (void)state;
        expect(pipeline(2, 3, true),
               "test: peak 2048, blocks 512 512 1024 0\n"
               "0 load 0, slice 0 -> 0 i32 [100] broadcast, block+0\n"
               "1 m/one, slice 0: 0 -> 3 i32 [100] broadcast, stage one+0\n"
               "2 load 1, slice 0 -> 1 i32 [100] broadcast, block+0\n"
               "3 m/one, slice 0: 1 -> 4 i32 [100] broadcast, stage one+512\n"
               "4 send-recv send, slice 0 to 1: 3\n"
               "5 send-recv receive, slice 0 to 1: 3 -> 5 i32 [100] broadcast, block+0, waits for 4\n"
               "6 m/two, slice 1: 5 -> 6 i32 [100] broadcast, result 0\n"
               "7 load 2, slice 0 -> 2 i32 [100] broadcast, block+0\n"
               "8 m/one, slice 0: 2 -> 7 i32 [100] broadcast, stage one+0, waits for 5\n"
               "9 send-recv send, slice 0 to 1: 4\n"
               "10 send-recv receive, slice 0 to 1: 4 -> 8 i32 [100] broadcast, block+0, waits for 9\n"
               "11 m/two, slice 1: 8 -> 9 i32 [100] broadcast, result 1\n"
               "12 send-recv send, slice 0 to 1: 7\n"
               "13 send-recv receive, slice 0 to 1: 7 -> 10 i32 [100] broadcast, block+0, waits for 12\n"
               "14 m/two, slice 1: 10 -> 11 i32 [100] broadcast, result 2\n");
}

/* In one island a small value travels in the marks; its room is in flight all the same, until it has arrived. */
static void test_in_turn_small(void **state)
{
        struct pw_graph *graph = make_in(1, 0);
        uint32_t inputs[2], values[2];

        (void)state;
        for (uint32_t i = 0; i < 2; i++)
                inputs[i] = pw_make_input(graph, 0, PW_DIMS(10), (struct pw_sharding)PW_BROADCAST, 0);
        for (uint32_t i = 0; i < 2; i++) {
                values[i] = pw_make_as(graph, call_in(graph, 0, "m/one", inputs[i]), 1, (struct pw_sharding)PW_BROADCAST);
                assert_true(pw_graph_add_result(graph, call_in(graph, 1, "m/two", values[i])));
        }
        expect(graph, "test: peak 768, blocks 256 256 256 0\n"
                      "0 load 0, slice 0 -> 0 i32 [10] broadcast, block+0\n"
                      "1 m/one, slice 0: 0 -> 2 i32 [10] broadcast, stage one+0\n"
                      "2 send-recv, slice 0 to 1: 2 -> 3 i32 [10] broadcast, block+0, eager\n"
                      "3 m/two, slice 1: 3 -> 4 i32 [10] broadcast, result 0\n"
                      "4 load 1, slice 0 -> 1 i32 [10] broadcast, block+0\n"
                      "5 m/one, slice 0: 1 -> 5 i32 [10] broadcast, stage one+0, waits for 2\n"
                      "6 send-recv, slice 0 to 1: 5 -> 6 i32 [10] broadcast, block+0, eager\n"
                      "7 m/two, slice 1: 6 -> 7 i32 [10] broadcast, result 1\n");
}

/* --- the order of calls, by the letters of their functions ------------------------------------------------------------- */

static uint32_t letter(struct pw_graph *graph, char name, uint32_t stage, uint32_t first, uint32_t second)
{
        const char function[] = { 'm', '/', name, 0 };
        uint32_t output = PW_MAKE_CALL(graph, 0, function, PW_BROADCAST, first, second);

        graph->calls[graph->call_count - 1].stage = stage;
        return output;
}

static void expect_order(struct pw_graph *graph, const char *expected)
{
        struct pw_image *image = NULL;
        struct pw_error err;
        char order[64] = "";
        uint32_t count = 0;

        if (lower(graph, &image, &err) != PW_OK)
                fail_msg("%s: %s", expected, err.text);
        for (uint32_t i = 0; i < image->node_count; i++)
                if (pw_image_node(image, i)->kind == PW_NODE_CALL)
                        order[count++] = strchr(pw_image_text(image, pw_image_node(image, i)->name), '/')[1];
        assert_string_equal(order, expected);
        free(image);
}

static struct pw_graph *with_input(uint32_t quota)
{
        struct pw_graph *graph = make(quota);

        pw_make_input(graph, 0, PW_DIMS(100), (struct pw_sharding)PW_BROADCAST, 0);
        return graph;
}

/* Of the calls that have all they need, the first of the trace. */
static void test_order_of_the_trace(void **state)
{
        struct pw_graph *graph = with_input(1);
        uint32_t a = letter(graph, 'a', 0, 0, 0), values[7];

        (void)state;
        for (uint32_t i = 0; i < 7; i++)
                values[i] = letter(graph, (char)('b' + i), 0, i % 2 ? a : 0, 0);
        for (uint32_t i = 0; i < 7; i++)
                assert_true(pw_graph_add_result(graph, values[i]));
        expect_order(graph, "abcdefgh");
}

/* b comes when the last of those outside has read a; a reader of the stage's own counts, and so does one by an equal layout. */
static void test_credit_comes_back_once(void **state)
{
        struct pw_graph *graph = with_input(1);
        uint32_t a = letter(graph, 'a', 1, 0, 0), b = letter(graph, 'b', 1, 0, 0);
        uint32_t same = pw_make_as(graph, a, 0, (struct pw_sharding)PW_BROADCAST);

        (void)state;
        assert_true(pw_graph_add_result(graph, letter(graph, 'c', 0, a, 0)));
        assert_true(pw_graph_add_result(graph, letter(graph, 'd', 0, same, 0)));
        assert_true(pw_graph_add_result(graph, letter(graph, 'e', 0, b, 0)));
        expect_order(graph, "acdbe");
}

/* A call of another stage has its credit, but not its argument, which waits for one. */
static void test_credit_without_argument(void **state)
{
        struct pw_graph *graph = with_input(1);
        uint32_t a = letter(graph, 'a', 1, 0, 0), b = letter(graph, 'b', 1, 0, 0), c = letter(graph, 'c', 2, b, b);

        (void)state;
        assert_true(pw_graph_add_result(graph, letter(graph, 'd', 0, a, 0)));
        assert_true(pw_graph_add_result(graph, letter(graph, 'e', 0, c, 0)));
        expect_order(graph, "adbce");
}

/* A result lies in a room of its own, and takes no credit; of two outputs the other one does. */
static void test_results_take_no_credit(void **state)
{
        static const struct pw_sharding both[2] = { PW_BROADCAST, PW_BROADCAST };
        struct pw_graph *graph = with_input(1);
        uint32_t a = letter(graph, 'a', 1, 0, 0), b = letter(graph, 'b', 1, 0, 0), args[] = { 0 };

        (void)state;
        assert_true(pw_graph_add_result(graph, a) && pw_graph_add_result(graph, b));
        assert_true(pw_graph_add_result(graph, letter(graph, 'c', 0, a, 0)));
        assert_true(pw_graph_add_result(graph, letter(graph, 'd', 0, b, 0)));
        expect_order(graph, "abcd");

        graph = with_input(1);
        a = pw_make_call(graph, &(struct pw_make_call){ 0, "m/a", args, 1, both, 2 });
        graph->calls[0].stage = 1;
        b = pw_make_call(graph, &(struct pw_make_call){ 0, "m/b", args, 1, both, 2 });
        graph->calls[1].stage = 1;
        assert_true(pw_graph_add_result(graph, a) && pw_graph_add_result(graph, b));
        assert_true(pw_graph_add_result(graph, letter(graph, 'c', 0, a + 1, 0)));
        assert_true(pw_graph_add_result(graph, letter(graph, 'd', 0, b + 1, 0)));
        expect_order(graph, "acbd");
}

/* --- rooms --------------------------------------------------------------------------------------------------------------- */

static const struct pw_image_stage *stage_of(struct pw_graph *graph, uint32_t stage, struct pw_image **ret_image)
{
        struct pw_error err;

        if (lower(graph, ret_image, &err) != PW_OK)
                fail_msg("%s", err.text);
        return pw_image_stage(*ret_image, stage);
}

/* A quota is for microbatches of one run, and what is left of it for runs that follow. */
static void test_rooms(void **state)
{
        static const struct { uint32_t quota, microbatches, rooms, blocks; } cases[] = {
                { 1, 1, 1, 1 }, { 3, 1, 1, 3 }, { 4, 2, 2, 2 }, { 5, 2, 2, 2 }, { 2, 8, 2, 1 }, { 3, 8, 3, 1 }, { 100, 8, 8, 12 },
        };

        (void)state;
        for (uint32_t i = 0; i < pw_array_count(cases); i++)
                for (uint32_t by_stage = 0; by_stage < 2; by_stage++) {
                        struct pw_image *image = NULL;
                        const struct pw_image_stage *stage =
                                stage_of(pipeline(cases[i].quota, cases[i].microbatches, by_stage), 0, &image);
                        assert_int_equal(stage->rooms, cases[i].rooms);
                        assert_int_equal(stage->blocks, cases[i].blocks);
                        assert_int_equal(stage->room_bytes, pw_room_bytes(400));
                        assert_int_equal(pw_image_block(image, 2)->bytes, cases[i].rooms * stage->room_bytes);
                        assert_int_equal(pw_image_stage(image, 1)->rooms, 0); /* results have rooms of their own */
                        free(image);
                }
}

/* --- behind other runs --------------------------------------------------------------------------------------------------- */

/* What each node comes behind of the run whose blocks this one takes over: "3: 7 9". */
static void expect_behind(struct pw_graph *graph, const char *expected)
{
        struct pw_image *image = NULL;
        struct pw_error err;
        char text[256];
        size_t at = 0;

        if (lower(graph, &image, &err) != PW_OK)
                fail_msg("%s", err.text);
        for (uint32_t i = 0; i < image->node_count; i++) {
                const struct pw_image_node *node = pw_image_node(image, i);

                for (uint32_t b = 0; b < node->behind_count; b++)
                        at += (size_t)snprintf(text + at, sizeof text - at, b ? " %u" : "%u: %u",
                                               b ? PW_IMAGE_AT(image, uint32_t, node->behind)[b] : i,
                                               PW_IMAGE_AT(image, uint32_t, node->behind)[0]);
                at += (size_t)snprintf(text + at, sizeof text - at, "%s", node->behind_count ? ", " : "");
        }
        assert_string_equal(text, expected);
        free(image);
}

/* The stage's block may be of another run than the slice's: to come behind a read of the one says nothing of reads of the other,
 * even of earlier ones. Within one block it does. */
static void test_behind_each_block(void **state)
{
        static const struct { uint32_t stage; const char *expected; } cases[] = { { 1, "1: 7, 2: 4, " }, { 0, "1: 7, " } };

        (void)state;
        for (uint32_t i = 0; i < pw_array_count(cases); i++) {
                struct pw_graph *graph = with_input(4);
                uint32_t late = letter(graph, 'a', cases[i].stage, 0, 0), early = letter(graph, 'b', 0, 0, 0);

                early = pw_make_as(graph, early, 1, (struct pw_sharding)PW_BROADCAST);
                assert_true(pw_graph_add_result(graph, PW_MAKE_CALL(graph, 1, "m/c", PW_BROADCAST, early)));
                late = pw_make_as(graph, late, 1, (struct pw_sharding)PW_BROADCAST);
                assert_true(pw_graph_add_result(graph, PW_MAKE_CALL(graph, 1, "m/d", PW_BROADCAST, late)));
                expect_behind(graph, cases[i].expected);
        }
}

static void refused(struct pw_graph *graph, const char *why)
{
        struct pw_image *image = NULL;
        struct pw_error err;

        assert_int_equal(lower(graph, &image, &err), PW_BAD_PROGRAM);
        assert_string_equal(err.text, why);
}

static void test_refused(void **state)
{
        struct pw_graph *graph = make(1);
        uint32_t input = pw_make_input(graph, 0, PW_DIMS(100), (struct pw_sharding)PW_BROADCAST, 0), one, two;

        (void)state;
        one = call_in(graph, 0, "m/one", input);
        two = call_in(graph, 0, "m/two", input);
        assert_true(pw_graph_add_result(graph, PW_MAKE_CALL(graph, 0, "m/both", PW_BROADCAST, one, two)));
        refused(graph,
                "call 1, m/two, needs a credit of stage one, whose quota is 1: only calls that come later would give one back");
        graph = make(1);
        input = pw_make_input(graph, 0, PW_DIMS(100), (struct pw_sharding)PW_BROADCAST, 0);
        one = call_in(graph, 0, "m/one", input);
        two = call_in(graph, 1, "m/two", pw_make_as(graph, one, 1, (struct pw_sharding)PW_BROADCAST));
        graph->calls[1].stage = 1;
        assert_true(pw_graph_add_result(graph, two));
        refused(graph, "call 1, m/two: stage one has calls on another slice");
        graph = make(0);
        refused(graph, "stage one: a quota of 0");
        graph = make(1);
        assert_true(pw_graph_add_result(graph, call_in(graph, 0, "m/one",
                                                       pw_make_input(graph, 0, PW_DIMS(1), (struct pw_sharding)PW_BROADCAST, 0))));
        graph->calls[0].stage = 7;
        refused(graph, "call 0, m/one: there is no stage 6");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_in_turn), cmocka_unit_test(test_in_turn_small),
                cmocka_unit_test(test_order_of_the_trace),
                cmocka_unit_test(test_credit_comes_back_once),
                cmocka_unit_test(test_credit_without_argument),
                cmocka_unit_test(test_results_take_no_credit),
                cmocka_unit_test(test_rooms),
                cmocka_unit_test(test_behind_each_block),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}

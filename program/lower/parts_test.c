/* Large all-reduces: which go in parts, and what lies in place. */
#include "program/lower/lower_fixture.h"

/* From 32 KiB on an all-reduce goes in parts. */
static void test_parts(void **state)
{
        struct pw_graph *graph = make(4, 1);

        (void)state;
        pw_make_input(graph, 0, PW_DIMS(3, 4096), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_MAX), 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_BROADCAST, 1);
        assert_true(pw_graph_add_result(graph, 2));
        expect(graph, "test: peak 148224, blocks 98816\n"
                      "0 load 0, slice 0 -> 0 i32 [3, 4096] broadcast, block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [3, 4096] partial(max), block+49408\n"
                      "2 all-reduce in parts, slice 0: 1 -> 2 i32 [3, 4096] broadcast, block+0\n"
                      "3 t/like0, slice 0: 2 -> 3 i32 [3, 4096] broadcast, result 0\n");
}

/* What is made in place of a donated input is summed there, too; not if somebody reads it later, or it is a result itself. */
static void test_parts_in_place(void **state)
{
        static const char *const expected[] = {
                "test: peak 49408, blocks 0\n"
                "0 load 0, slice 0 -> 0 i32 [3, 4096] broadcast, result 0\n"
                "1 t/update, slice 0: 0 -> 1 i32 [3, 4096] partial(sum), result 0\n"
                "2 all-reduce in parts, slice 0: 1 -> 2 i32 [3, 4096] broadcast, result 0\n",
                "test: peak 148224, blocks 49408\n"
                "0 load 0, slice 0 -> 0 i32 [3, 4096] broadcast, block+0\n"
                "1 t/update, slice 0: 0 -> 1 i32 [3, 4096] partial(sum), result 1\n"
                "2 all-reduce in parts, slice 0: 1 -> 2 i32 [3, 4096] broadcast, result 0\n",
                "test: peak 160768, blocks 98816\n"
                "0 load 0, slice 0 -> 0 i32 [3, 4096] broadcast, block+0\n"
                "1 t/update, slice 0: 0 -> 1 i32 [3, 4096] partial(sum), block+49408\n"
                "2 all-reduce in parts, slice 0: 1 -> 2 i32 [3, 4096] broadcast, result 0\n"
                "3 reduce-scatter, slice 0: 1 -> 3 i32 [3, 4096] split(1), result 1\n",
        };
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(expected); i++) {
                struct pw_graph *graph = make(4, 1);
                pw_make_input(graph, 0, PW_DIMS(3, 4096), PW_BROADCAST, PW_DONATED);
                PW_MAKE_CALL(graph, 0, "t/update", PW_PARTIAL(PW_SUM), 0);
                assert_true(pw_graph_add_result(graph, pw_make_as(graph, 1, 0, PW_BROADCAST)));
                if (i)
                        assert_true(pw_graph_add_result(graph, i == 1 ? 1 : pw_make_as(graph, 1, 0, PW_SPLIT(1))));
                expect(graph, expected[i]);
        }
}

/* Three replicas of a sum over two devices: one lies in both islands, and is read where another lies in the reader's. */
static void test_groups_over_islands(void **state)
{
        static const uint16_t islands[] = { 0, 1, 0, 0, 1, 1 };
        struct pw_graph *graph = pw_graph_new("test");
        struct pw_sharding along = { { PW_AXIS_BROADCAST, PW_AXIS_PARTIAL(PW_SUM) } };
        (void)state;

        pw_make_slice(graph, &places[0], &(struct pw_make_slice_params){ { 3, 2 }, 0, 0, 2 });
        for (uint32_t i = 0; i < pw_array_count(islands); i++)
                places[0].places[i].island = islands[i];
        pw_make_input(graph, 0, PW_DIMS(3, 4096), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", along, 0);
        assert_true(pw_graph_add_result(graph, pw_make_as(graph, 1, 0, PW_BROADCAST)));
        expect(graph, "test: peak 148224, blocks 98816\n"
                      "0 load 0, slice 0 -> 0 i32 [3, 4096] broadcast, block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [3, 4096] broadcast x partial(sum), block+49408\n"
                      "2 all-reduce, slice 0: 1 -> 2 i32 [3, 4096] broadcast, result 0\n");
}

/* Likewise over both axes at once: each device reduces its part of all of them. And along one of them alone. */
static void test_parts_on_two_axes(void **state)
{
        struct pw_graph *graph = pw_graph_new("test");
        struct pw_sharding both = { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_PARTIAL(PW_SUM) } };
        struct pw_sharding rows = { { PW_AXIS_BROADCAST, PW_AXIS_SPLIT(0) } },
                           partial_rows = { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_SPLIT(0) } };

        (void)state;
        pw_make_slice(graph, &places[0], &(struct pw_make_slice_params){ { 2, 2 }, 0, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(3, 4096), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", both, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_BROADCAST, 1);
        assert_true(pw_graph_add_result(graph, 2));
        expect(graph, "test: peak 148224, blocks 98816\n"
                      "0 load 0, slice 0 -> 0 i32 [3, 4096] broadcast, block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [3, 4096] partial(sum) x partial(sum), block+49408\n"
                      "2 all-reduce in parts, slice 0: 1 -> 2 i32 [3, 4096] broadcast, block+0\n"
                      "3 t/like0, slice 0: 2 -> 3 i32 [3, 4096] broadcast, result 0\n");

        graph = pw_graph_new("test");
        pw_make_slice(graph, &places[0], &(struct pw_make_slice_params){ { 2, 2 }, 0, 0, 1 });
        pw_make_input(graph, 0, PW_DIMS(8192, 4), rows, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", partial_rows, 0);
        assert_true(pw_graph_add_result(graph, pw_make_as(graph, 1, 0, rows)));
        expect(graph, "test: peak 197376, blocks 131584\n"
                      "0 load 0, slice 0 -> 0 i32 [8192, 4] broadcast x split(0), block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [8192, 4] partial(sum) x split(0), block+65792\n"
                      "2 all-reduce in parts, slice 0: 1 -> 2 i32 [8192, 4] broadcast x split(0), result 0\n");
}

/* The processor makes the parts, and writes what goes in a mark: where it does not read the memory, nothing goes in either. */
static void test_apart(void **state)
{
        struct pw_graph *graph = make(4, 1);

        (void)state;
        graph->slices[0].memory = (struct pw_slice_memory){ "far", true };
        pw_make_input(graph, 0, PW_DIMS(3, 4096), PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_MAX), 0);
        assert_true(pw_graph_add_result(graph, pw_make_as(graph, 1, 0, PW_BROADCAST)));
        expect(graph, "test: peak 148224, blocks 98816\n"
                      "0 load 0, slice 0 -> 0 i32 [3, 4096] broadcast, block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [3, 4096] partial(max), block+49408\n"
                      "2 all-reduce, slice 0: 1 -> 2 i32 [3, 4096] broadcast, result 0\n");
        graph = make(4, 1);
        graph->slices[0].memory = (struct pw_slice_memory){ "far", true };
        pw_make_input(graph, 0, PW_SCALAR, PW_BROADCAST, 0);
        PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_MAX), 0);
        assert_true(pw_graph_add_result(graph, pw_make_as(graph, 1, 0, PW_BROADCAST)));
        expect(graph, "test: peak 768, blocks 512\n"
                      "0 load 0, slice 0 -> 0 i32 [] broadcast, block+0\n"
                      "1 t/like0, slice 0: 0 -> 1 i32 [] partial(max), block+256\n"
                      "2 all-reduce, slice 0: 1 -> 2 i32 [] broadcast, result 0\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parts), cmocka_unit_test(test_parts_in_place), cmocka_unit_test(test_groups_over_islands),
                cmocka_unit_test(test_parts_on_two_axes), cmocka_unit_test(test_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

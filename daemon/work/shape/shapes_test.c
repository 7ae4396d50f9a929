/* The cache of shapes: whole questions, bounded. */
#include "daemon/work/shape/shapes.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void keep(struct pw_shapes *shapes, const char *text, uint64_t key, uint64_t digest, uint64_t dim)
{
        struct pw_shape_question question = { (const uint8_t *)text, strlen(text), digest, key };
        struct pw_shape_value output = { .dtype = PW_F32, .dims = PW_DIMS(dim) };
        struct pw_shape_task task = { .output_count = 1, .outputs = &output };
        struct pw_function_facts facts = { .in_place = 2, .time_limit_us = 3, .digest = digest };

        pw_shapes_keep(shapes, &question, &task, &facts);
}

/* The size of the only dim; 0: not known. */
static uint64_t find(struct pw_shapes *shapes, const char *text, uint64_t key, uint64_t digest, uint32_t outputs)
{
        struct pw_shape_question question = { (const uint8_t *)text, strlen(text), digest, key };
        struct pw_shape_value output[2];
        struct pw_shape_task task = { .output_count = outputs, .outputs = output };
        struct pw_function_facts facts;

        if (!pw_shapes_find(shapes, &question, &task, &facts))
                return 0;
        assert_int_equal(facts.in_place, 2);
        assert_int_equal(facts.digest, digest);
        assert_int_equal(task.outputs[0].dtype, PW_F32);
        return task.outputs[0].dims.dim[0];
}

/* Whoever makes two questions of one key gets no answer to the other one. */
static void the_whole_question_counts(void **state)
{
        struct pw_shapes shapes;

        (void)state;
        pw_shapes_init(&shapes);
        keep(&shapes, "nop of much", 7, 1, 1000);
        assert_int_equal(find(&shapes, "nop of much", 7, 1, 1), 1000);
        assert_int_equal(find(&shapes, "add of less", 7, 1, 1), 0);
        assert_int_equal(find(&shapes, "nop of muc", 7, 1, 1), 0);
        assert_int_equal(find(&shapes, "nop of much", 7, 2, 1), 0);
        assert_int_equal(find(&shapes, "nop of much", 7, 1, 2), 0);
        assert_int_equal(find(&shapes, "nop of much", 8, 1, 1), 0);
        keep(&shapes, "add of less", 7, 1, 64);
        assert_int_equal(find(&shapes, "add of less", 7, 1, 1), 64);
        assert_int_equal(find(&shapes, "nop of much", 7, 1, 1), 0);
        pw_shapes_done(&shapes);
        assert_int_equal(shapes.bytes, 0);
}

/* Of another version of the module than was asked about. */
static void an_answer_of_another_module_is_not_kept(void **state)
{
        struct pw_shape_question question = { (const uint8_t *)"a", 1, 1, 7 };
        struct pw_shape_value output = { .dtype = PW_F32 };
        struct pw_shape_task task = { .output_count = 1, .outputs = &output };
        struct pw_function_facts facts = { .digest = 2 };
        struct pw_shapes shapes;

        (void)state;
        pw_shapes_init(&shapes);
        pw_shapes_keep(&shapes, &question, &task, &facts);
        assert_int_equal(find(&shapes, "a", 7, 1, 1), 0);
        pw_shapes_done(&shapes);
}

static void it_is_bounded(void **state)
{
        static char text[PW_SHAPES_QUESTION_MAX + 2];
        struct pw_shapes shapes;

        (void)state;
        pw_shapes_init(&shapes);
        memset(text, 'x', PW_SHAPES_QUESTION_MAX + 1);
        keep(&shapes, text, 1, 1, 5);
        assert_int_equal(find(&shapes, text, 1, 1, 1), 0);
        text[1000] = 0;
        for (uint64_t key = 1; key < 100000; key++) {
                keep(&shapes, text, key, 1, key);
                assert_int_equal(find(&shapes, text, key, 1, 1), key);
                if (key > 1)
                        assert_int_equal(find(&shapes, text, 1, 1, 1), 1); /* what is used stays */
                assert_true(shapes.bytes <= PW_SHAPES_BYTES_MAX);
        }
        assert_int_equal(find(&shapes, text, 2, 1, 1), 0);
        assert_true(shapes.bytes > PW_SHAPES_BYTES_MAX / 2);
        pw_shapes_done(&shapes);
}

static void keys_depend_on_the_secret(void **state)
{
        const struct pw_hash_secret secrets[2] = { { { 7, 1 } }, { { 13, 5 } } };
        const struct pw_shape_question question = { (const uint8_t *)"question", 8, 1, 0 };

        (void)state;
        assert_int_not_equal(pw_shapes_key(&secrets[0], &question), pw_shapes_key(&secrets[1], &question));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_whole_question_counts),
                cmocka_unit_test(an_answer_of_another_module_is_not_kept),
                cmocka_unit_test(it_is_bounded),
                cmocka_unit_test(keys_depend_on_the_secret),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

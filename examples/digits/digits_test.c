/* The module's functions, called as an executor calls them: gradients are those of the loss, and sums over shards do not depend
 * on how the rows are spread.
 */
#include "examples/digits/digits.h"
#include "examples/digits/model.h"
#include "pathways_module.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define FEATURES 5u
#define CLASSES 3u
#define HIDDEN 4u
#define ROWS 7u
#define LARGEST ((HIDDEN + 1) * FEATURES) /* weights of one layer */

extern const struct pw_module pw_module_table;

struct fixture {
        uint32_t layers;
        uint64_t sizes[2][2]; /* rows and columns of each layer's weights */
        float weights[2][LARGEST], sums[2][LARGEST], images[ROWS * FEATURES], loss;
        uint8_t labels[ROWS];
        char text[200];
};

static const struct pw_function *function(const char *name)
{
        for (uint32_t i = 0; i < pw_module_table.function_count; i++)
                if (!strcmp(pw_module_table.functions[i].name, name))
                        return &pw_module_table.functions[i];
        fail_msg("the module has no function %s", name);
        return NULL;
}

static float small_number(uint32_t i)
{
        return (float)((i * 7919u + 13u) % 101u) / 101.0f - 0.4f;
}

static struct fixture fixture_of(uint32_t layers)
{
        struct fixture fixture = { .layers = layers,
                                   .sizes = { { FEATURES, layers == 2 ? HIDDEN : CLASSES }, { HIDDEN + 1, CLASSES } } };

        for (uint32_t i = 0; i < LARGEST; i++) {
                fixture.weights[0][i] = small_number(i);
                fixture.weights[1][i] = small_number(i + 57);
        }
        for (uint32_t i = 0; i < ROWS * FEATURES; i++)
                fixture.images[i] = small_number(i + 31);
        for (uint32_t i = 0; i < ROWS; i++)
                fixture.labels[i] = (uint8_t)(i * 2 % CLASSES);
        return fixture;
}

static struct pw_task_value value_of(void *data, uint32_t dtype, uint64_t rows, uint64_t columns)
{
        struct pw_task_value value = { .data = data, .dtype = dtype,
                                       .dims = { .rank = columns ? 2 : 1, .dim = { rows, columns } } };

        value.bytes = rows * (columns ? columns : 1) * pw_dtype_bytes((enum pw_dtype)dtype);
        return value;
}

/* The gradient's sums and the loss of `rows` rows from `first` on. */
static enum pw_status run_rows(struct fixture *fixture, uint32_t first, uint32_t rows)
{
        uint32_t layers = fixture->layers;
        struct pw_task_value inputs[4], outputs[3];
        struct pw_task task = { .input_count = layers + 2, .output_count = layers + 1, .inputs = inputs, .outputs = outputs,
                                .error_text = fixture->text, .error_text_bytes = sizeof fixture->text };

        for (uint32_t i = 0; i < layers; i++) {
                inputs[i] = value_of(fixture->weights[i], PW_F32, fixture->sizes[i][0], fixture->sizes[i][1]);
                outputs[i] = value_of(fixture->sums[i], PW_F32, fixture->sizes[i][0], fixture->sizes[i][1]);
        }
        inputs[layers] = value_of(fixture->images + first * FEATURES, PW_F32, rows, FEATURES);
        inputs[layers + 1] = value_of(fixture->labels + first, PW_U8, rows, 0);
        outputs[layers] = value_of(&fixture->loss, PW_F32, 1, 0);
        return function(layers == 2 ? "hidden_gradient" : "gradient")->run(&task);
}

static double loss_with(struct fixture fixture, uint32_t layer, uint32_t weight, float change)
{
        fixture.weights[layer][weight] += change;
        assert_int_equal(run_rows(&fixture, 0, ROWS), PW_OK);
        return fixture.loss;
}

static void check_slopes(uint32_t layers)
{
        struct fixture fixture = fixture_of(layers);
        const float step = 1.0f / 128;

        assert_int_equal(run_rows(&fixture, 0, ROWS), PW_OK);
        for (uint32_t layer = 0; layer < layers; layer++)
                for (uint32_t i = 0; i < fixture.sizes[layer][0] * fixture.sizes[layer][1]; i++) {
                        double slope = (loss_with(fixture, layer, i, step) - loss_with(fixture, layer, i, -step)) / (2 * step);
                        if (fabs(slope - fixture.sums[layer][i]) > 2e-3)
                                fail_msg("layer %u, weight %u: slope %g, gradient %g", layer, i, slope, fixture.sums[layer][i]);
                }
}

static void gradients_are_slopes_of_the_loss(void **state)
{
        (void)state;
        check_slopes(1);
        check_slopes(2);
}

static void shards_add_up(void **state)
{
        (void)state;
        for (uint32_t layers = 1; layers <= 2; layers++) {
                struct fixture whole = fixture_of(layers), first = whole, second = whole;
                assert_int_equal(run_rows(&whole, 0, ROWS), PW_OK);
                assert_int_equal(run_rows(&first, 0, 3), PW_OK);
                assert_int_equal(run_rows(&second, 3, ROWS - 3), PW_OK);
                assert_true(fabsf(first.loss + second.loss - whole.loss) < 1e-5f);
                for (uint32_t i = 0; i < whole.sizes[0][0] * whole.sizes[0][1]; i++)
                        assert_true(fabsf(first.sums[0][i] + second.sums[0][i] - whole.sums[0][i]) < 1e-5f);
        }
}

static void an_empty_shard_adds_nothing(void **state)
{
        struct fixture fixture = fixture_of(1);

        (void)state;
        fixture.sums[0][0] = fixture.loss = 5;
        assert_int_equal(run_rows(&fixture, 0, 0), PW_OK);
        assert_true(fixture.loss == 0 && fixture.sums[0][0] == 0);
}

static void a_label_beyond_the_classes_is_an_error(void **state)
{
        struct fixture fixture = fixture_of(1);

        (void)state;
        fixture.labels[4] = CLASSES;
        assert_int_equal(run_rows(&fixture, 0, ROWS), PW_FAILED);
        assert_string_equal(fixture.text, "row 4 has label 3, of 3 classes");
}

static enum pw_status shape(const char *name, uint32_t outputs, uint64_t features, uint64_t labels)
{
        char text[200];
        const struct pw_shape_value inputs[] = { { .dtype = PW_F32, .dims = PW_DIMS(FEATURES, CLASSES) },
                                                 { .dtype = PW_F32, .dims = PW_DIMS(ROWS, features) },
                                                 { .dtype = PW_U8, .dims = PW_DIMS(labels) } };
        struct pw_shape_value given[2];
        struct pw_shape_task task = { .input_count = 3, .output_count = outputs, .inputs = inputs, .outputs = given,
                                      .error_text = text, .error_text_bytes = sizeof text };

        enum pw_status status = function(name)->shape(&task);
        if (status == PW_OK)
                assert_true(task.outputs[0].dims.dim[1] == CLASSES && task.outputs[1].dims.rank == 0);
        return status;
}

static void shapes_are_checked(void **state)
{
        (void)state;
        assert_int_equal(shape("gradient", 2, FEATURES, ROWS), PW_OK);
        assert_int_equal(shape("gradient", 2, FEATURES + 1, ROWS), PW_SHAPE);
        assert_int_equal(shape("gradient", 2, FEATURES, ROWS - 1), PW_SHAPE);
        assert_int_equal(shape("gradient", 1, FEATURES, ROWS), PW_SHAPE);
        assert_int_equal(shape("hidden_gradient", 3, FEATURES, ROWS), PW_SHAPE);
        assert_int_equal(shape("update", 1, FEATURES, ROWS), PW_SHAPE);
}

static void the_start_depends_on_the_seed_alone(void **state)
{
        struct data data = { .features = FEATURES, .classes = CLASSES };
        struct model model = model_of(&data, HIDDEN);
        float a[LARGEST], b[LARGEST];

        (void)state;
        model_start(&model, 0, 1, a);
        model_start(&model, 0, 1, b);
        assert_memory_equal(a, b, model.bytes[0]);
        model_start(&model, 0, 2, b);
        assert_memory_not_equal(a, b, model.bytes[0]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(gradients_are_slopes_of_the_loss), cmocka_unit_test(shards_add_up),
                cmocka_unit_test(an_empty_shard_adds_nothing),      cmocka_unit_test(a_label_beyond_the_classes_is_an_error),
                cmocka_unit_test(shapes_are_checked),               cmocka_unit_test(the_start_depends_on_the_seed_alone),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

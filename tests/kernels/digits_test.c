/* The module digits' forms for GPUs, held against its functions: sums of the same numbers, if not in the same steps; the same bits
 * again when they run again; and what is no label.
 */
#include "base/memory.h"
#include "examples/digits/digits.h"
#include "tests/kernels/kernels.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEEDS 60u
#define MOST 24u                   /* features, units, classes, rows */
#define ROOM ((MOST + 1) * MOST) /* elements of an input or output */
#define MODULE "examples/digits/.libs/digits.so"

/* A call with inputs of its own, and outputs of either form. */
struct call {
        uint64_t state;
        struct pw_task task;
        struct pw_task_value inputs[4], outputs[2][3];
        float rooms[3][3][ROOM]; /* inputs, outputs of either */
        uint8_t labels[MOST];
        uint32_t fault;
        char text[200];
};

static uint32_t draw(struct call *call, uint32_t below) { return (uint32_t)(kernels_random(&call->state) % below); }

static struct pw_task_value value_of(float *room, uint64_t rows, uint64_t columns)
{
        return (struct pw_task_value){ .data = room, .dtype = PW_F32, .dims = PW_DIMS(rows, columns),
                                       .bytes = rows * columns * sizeof *room };
}

/* An input, and an output of either form, of these dims. */
static void add_weights(struct call *call, uint32_t layer, uint64_t rows, uint64_t columns)
{
        call->inputs[layer] = value_of(call->rooms[0][layer], rows, columns);
        call->outputs[0][layer] = value_of(call->rooms[1][layer], rows, columns);
        call->outputs[1][layer] = value_of(call->rooms[2][layer], rows, columns);
}

static void init(struct call *call, uint64_t seed, uint32_t layers)
{
        *call = (struct call){ .state = seed };
        uint64_t features = 1 + draw(call, MOST), classes = 1 + draw(call, MOST), rows = draw(call, MOST), units = draw(call, MOST);
        float size = draw(call, 2) ? 1 : 30; /* of what is large an exponential is 0 */

        call->task = (struct pw_task){ .input_count = layers + 2, .output_count = layers + 1, .inputs = call->inputs,
                                       .services = &kernel_services, .fault = &call->fault, .error_text = call->text,
                                       .error_text_bytes = sizeof call->text };
        for (uint32_t i = 0; i < 3 * ROOM; i++)
                call->rooms[0][i / ROOM][i % ROOM] = size * ((float)draw(call, 2001) - 1000) / 1000;
        memset(call->rooms[1], 0xee, 2 * sizeof call->rooms[1]);
        add_weights(call, 0, features, layers == 2 ? units : classes);
        if (layers == 2)
                add_weights(call, 1, units + 1, classes);
        call->inputs[layers] = value_of(call->rooms[0][2], rows, features);
        for (uint32_t i = 0; i < rows; i++)
                call->labels[i] = (uint8_t)draw(call, (uint32_t)classes);
        call->inputs[layers + 1] = (struct pw_task_value){ .data = call->labels, .bytes = rows, .dtype = PW_U8,
                                                           .dims = PW_DIMS(rows) };
        for (uint32_t form = 0; form < 2; form++)
                call->outputs[form][layers] = (struct pw_task_value){ .data = call->rooms[1 + form][2], .bytes = sizeof(float),
                                                                      .dtype = PW_F32, .dims = PW_SCALAR };
}

static enum pw_status run(struct call *call, const struct pw_function *function, bool is_cuda)
{
        call->task.outputs = call->outputs[is_cuda];
        return is_cuda ? function->cuda(&call->task) : function->run(&call->task);
}

/* Sums of numbers of which the largest are of this size are off by less. */
static void check_close(const struct call *call, uint64_t seed)
{
        double largest = 1;

        for (uint32_t i = 0; i < 3 * ROOM; i++)
                if (((const uint32_t *)(const void *)call->rooms[1])[i] != 0xeeeeeeee)
                        largest = fmax(largest, fabs((double)call->rooms[1][i / ROOM][i % ROOM]));
        for (uint32_t i = 0; i < 3 * ROOM; i++) {
                double want = (double)call->rooms[1][i / ROOM][i % ROOM], got = (double)call->rooms[2][i / ROOM][i % ROOM];
                if (!(fabs(want - got) <= 1e-5 * fabs(want) + 1e-9 * largest))
                        fail_msg("seed %llu: output %u, element %u is %.9g, not %.9g", (unsigned long long)seed, i / ROOM, i % ROOM,
                                 got, want);
        }
}

static void check_gradients(const char *name, uint32_t layers)
{
        const struct pw_function *function = kernels_function(MODULE, name);
        static struct call call;
        static float again[3][ROOM];

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                init(&call, seed, layers);
                assert_int_equal(run(&call, function, false), PW_OK);
                assert_int_equal(run(&call, function, true), PW_OK);
                assert_int_equal(call.fault, 0);
                check_close(&call, seed);
                memcpy(again, call.rooms[2], sizeof again);
                assert_int_equal(run(&call, function, true), PW_OK);
                assert_memory_equal(again, call.rooms[2], sizeof again);
        }
}

static void test_gradient(void **state)
{
        (void)state;
        check_gradients("gradient", 1);
}

static void test_hidden_gradient(void **state)
{
        (void)state;
        check_gradients("hidden_gradient", 2);
}

/* The call fails with the first sentence of the function, and nothing is read beyond the weights. */
static void test_labels(void **state)
{
        static const char *const names[] = { "gradient", "hidden_gradient" };
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                const struct pw_function *function = kernels_function(MODULE, names[seed % 2]);
                init(&call, seed, 1 + seed % 2);
                uint64_t rows = call.inputs[1 + seed % 2].dims.dim[0], classes = call.outputs[0][seed % 2].dims.dim[1];
                if (!rows)
                        continue;
                call.labels[draw(&call, (uint32_t)rows)] = (uint8_t)(draw(&call, 2) ? classes : 255);
                assert_int_equal(run(&call, function, false), PW_FAILED);
                assert_int_equal(run(&call, function, true), PW_OK);
                assert_int_equal(call.fault, 1);
                assert_int_equal(function->fault_count, 1);
                assert_string_equal(function->faults[0], "a row has a label beyond the classes");
        }
}

static void test_update(void **state)
{
        const struct pw_function *function = kernels_function(MODULE, "update");
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                struct digits_update params = { 0.3f, (float)seed };
                init(&call, seed, 1);
                call.inputs[1] = value_of(call.rooms[0][1], call.inputs[0].dims.dim[0], call.inputs[0].dims.dim[1]);
                call.task.params = &params;
                call.task.params_bytes = sizeof params - 1;
                assert_int_equal(run(&call, function, true), PW_FAILED);
                call.task.params_bytes = sizeof params;
                assert_int_equal(run(&call, function, false), PW_OK);
                assert_int_equal(run(&call, function, true), PW_OK);
                assert_memory_equal(call.rooms[1], call.rooms[2], sizeof call.rooms[1]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_gradient), cmocka_unit_test(test_hidden_gradient),
                                            cmocka_unit_test(test_labels), cmocka_unit_test(test_update) };

        kernels_open("libdigits_fake_kernels.so");
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The module tensor's forms for GPUs, held against its functions, and what is no label. */
#include "base/memory.h"
#include "examples/tensor/tensor.h"
#include "tests/kernels/kernels.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEEDS 200u
#define MOST 24u            /* a dim */
#define ROOM (MOST * MOST) /* elements of an input or output */
#define MODULE "examples/tensor/.libs/tensor.so"

/* A call with inputs of its own, and outputs of either form. */
struct call {
        uint64_t state;
        struct pw_task task;
        struct pw_task_value inputs[3], outputs[2][2];
        double rooms[3][3][ROOM]; /* inputs, outputs of either */
        uint8_t labels[MOST];
        uint32_t fault;
        char text[200];
};

static uint32_t draw(struct call *call, uint32_t below) { return (uint32_t)(kernels_random(&call->state) % below); }

static struct pw_task_value value_of(double *room, uint64_t rows, uint64_t columns)
{
        return (struct pw_task_value){ .data = room, .dtype = PW_F64, .dims = PW_DIMS(rows, columns),
                                       .bytes = rows * columns * sizeof *room };
}

/* The call's inputs and output 0 are of these dims, three times rows and columns. */
static void init(struct call *call, uint64_t seed, uint32_t inputs)
{
        *call = (struct call){ .state = seed };
        call->task = (struct pw_task){ .input_count = inputs, .output_count = 1, .inputs = call->inputs,
                                       .services = &kernel_services, .fault = &call->fault, .error_text = call->text,
                                       .error_text_bytes = sizeof call->text };
        for (uint32_t i = 0; i < 3 * ROOM; i++)
                call->rooms[0][i / ROOM][i % ROOM] = ((double)draw(call, 2001) - 1000) / (seed % 2 ? 1000 : 50);
        memset(call->rooms[1], 0x11, 2 * sizeof call->rooms[1]);
}

static void set_dims(struct call *call, const uint64_t inputs[3][2], const uint64_t output[2])
{
        for (uint32_t i = 0; i < call->task.input_count; i++)
                call->inputs[i] = value_of(call->rooms[0][i], inputs[i][0], inputs[i][1]);
        for (uint32_t form = 0; form < 2; form++) {
                call->outputs[form][0] = value_of(call->rooms[1 + form][0], output[0], output[1]);
                call->outputs[form][1] = value_of(call->rooms[1 + form][1], 1, 1);
        }
}

static enum pw_status run(struct call *call, const struct pw_function *function, bool is_cuda)
{
        call->task.outputs = call->outputs[is_cuda];
        return is_cuda ? function->cuda(&call->task) : function->run(&call->task);
}

static void compare(struct call *call, const struct pw_function *function)
{
        assert_int_equal(run(call, function, false), PW_OK);
        assert_int_equal(run(call, function, true), PW_OK);
        assert_int_equal(call->fault, 0);
        for (uint32_t i = 0; i < 3 * ROOM; i++) {
                double want = call->rooms[1][i / ROOM][i % ROOM], got = call->rooms[2][i / ROOM][i % ROOM];
                if (!(fabs(want - got) <= 1e-5 * fabs(want)))
                        fail_msg("%s: output %u, element %u is %.17g, not %.17g", function->name, i / ROOM, i % ROOM, got, want);
        }
}

/* hidden, scores and gradient are products, back too; dims of 0 among them. */
static void test_products(void **state)
{
        static const char *const names[] = { "hidden", "scores", "gradient", "back", "update" };
        struct tensor_update params = { 0.3, 7 };
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                uint32_t which = (uint32_t)seed % pw_array_count(names);
                init(&call, seed, which == 3 ? 3 : 2);
                uint64_t a = draw(&call, MOST), b = draw(&call, MOST), c = draw(&call, MOST);
                const uint64_t inputs[5][3][2] = { { { a, b }, { b, c } }, { { a, b }, { b, c } }, { { a, b }, { a, c } },
                                                   { { a, b }, { c, b }, { a, c } }, { { a, b }, { a, b } } };
                const uint64_t outputs[5][2] = { { a, c }, { a, c }, { b, c }, { a, c }, { a, b } };
                set_dims(&call, inputs[which], outputs[which]);
                call.task.params = &params;
                call.task.params_bytes = sizeof params;
                compare(&call, kernels_function(MODULE, names[which]));
        }
}

static void set_labels(struct call *call, uint64_t rows, uint64_t classes)
{
        set_dims(call, (const uint64_t[3][2]){ { rows, classes } }, (const uint64_t[2]){ rows, classes });
        for (uint32_t i = 0; i < rows; i++)
                call->labels[i] = (uint8_t)draw(call, (uint32_t)classes);
        call->task.output_count = 2;
        call->inputs[1] = (struct pw_task_value){ .data = call->labels, .bytes = rows, .dtype = PW_U8, .dims = PW_DIMS(rows) };
}

static void test_loss(void **state)
{
        const struct pw_function *function = kernels_function(MODULE, "loss");
        static struct call call;
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                init(&call, seed, 2);
                uint64_t rows = draw(&call, MOST), classes = 1 + draw(&call, MOST);
                set_labels(&call, rows, classes);
                compare(&call, function);
                if (!rows)
                        continue;
                call.labels[draw(&call, (uint32_t)rows)] = (uint8_t)(seed % 2 ? classes : 255);
                assert_int_equal(run(&call, function, false), PW_FAILED);
                assert_int_equal(run(&call, function, true), PW_OK);
                assert_int_equal(call.fault, 1);
                assert_int_equal(function->fault_count, 1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_products), cmocka_unit_test(test_loss) };

        kernels_open("libtensor_fake_kernels.so");
        return cmocka_run_group_tests(tests, NULL, NULL);
}

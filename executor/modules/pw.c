/* The module `pw`: general functions, so that programs can be tried, timed and simulated without writing one.
 *
 *   nop       any inputs; output i is input i, an output without an input is empty (u8, dims 0)
 *   fill      every element is `value`; without inputs dtype and dims are in the params, else they are those of input 0
 *   add       one output, the sum of all inputs, of one dtype and dims, in their order
 *   scale     input 0 times `factor`
 *   matmul    input 0 (m, k) times input 1 (k, n), f32 or f64; products are added in the order of k
 *   sleep_us  as nop, and occupies the device for `us` microseconds as its kind does
 *   spin_us   as nop, and burns the processor for `us` microseconds
 *
 * man/pathways-pw.7 is for who calls them; pw_cuda.c has their forms for GPUs. Shapes are those of a shard. Params are the structs
 * of pw.h, in the machine's own byte order; trailing dims may be left out.
 */
#include "executor/modules/pw.h"

#include "executor/modules/numbers.h"

#include <time.h>

/* --- nop and those that take time ----------------------------------------------------------------------------------------- */

static enum pw_status nop_shape(struct pw_shape_task *task)
{
        for (uint32_t i = 0; i < task->output_count; i++) {
                task->outputs[i].dtype = i < task->input_count ? task->inputs[i].dtype : PW_U8;
                task->outputs[i].dims = i < task->input_count ? task->inputs[i].dims : (struct pw_dims){ .rank = 1 };
        }
        return PW_OK;
}

static enum pw_status nop(struct pw_task *task)
{
        for (uint32_t i = 0; i < task->output_count && i < task->input_count; i++)
                if (task->outputs[i].data != task->inputs[i].data)
                        memcpy(task->outputs[i].data, task->inputs[i].data, task->inputs[i].bytes);
        return PW_OK;
}

static enum pw_status duration_shape(struct pw_shape_task *task)
{
        if (task->params_bytes != sizeof(struct pw_duration_params))
                return pw_shape_fail(task, "params are one u64, microseconds");
        return nop_shape(task);
}

static uint64_t duration_us(const struct pw_task *task) { return ((const struct pw_duration_params *)task->params)->us; }

static enum pw_status sleep_us(struct pw_task *task)
{
        task->services->sleep_us(task, duration_us(task));
        return nop(task);
}

static uint64_t clock_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static enum pw_status spin_us(struct pw_task *task)
{
        uint64_t start = clock_ns(), ns = duration_us(task) * 1000;

        while (clock_ns() - start < ns)
                ;
        return nop(task);
}

/* --- elements ------------------------------------------------------------------------------------------------------------- */

static bool is_number(uint32_t dtype) { return dtype > PW_OPAQUE && dtype <= PW_U64 && dtype != PW_BOOL; }
static bool is_fillable(uint32_t dtype) { return is_number(dtype) || dtype == PW_BOOL; }

static enum pw_status fill_shape(struct pw_shape_task *task)
{
        const struct pw_fill_params *params = task->params;

        if (task->params_bytes < sizeof params->value)
                return pw_shape_fail(task, "params begin with an f64, the value");
        if (task->input_count)
                return is_fillable(task->inputs[0].dtype) ? pw_shape_as_input_0(task)
                                                          : pw_shape_fail(task, "fills numbers and bools, not opaque bytes");
        if (task->params_bytes < offsetof(struct pw_fill_params, dim) || !is_fillable((uint32_t)params->dtype) ||
            params->rank > PW_RANK_MAX ||
            task->params_bytes < offsetof(struct pw_fill_params, dim) + params->rank * sizeof(uint64_t))
                return pw_shape_fail(task, "without inputs, params are {f64 value, u64 dtype, u64 rank, u64 dims...}");
        for (uint32_t i = 0; i < task->output_count; i++) {
                task->outputs[i].dtype = (uint32_t)params->dtype;
                task->outputs[i].dims = (struct pw_dims){ .rank = (uint32_t)params->rank };
                memcpy(task->outputs[i].dims.dim, params->dim, params->rank * sizeof(uint64_t));
        }
        return PW_OK;
}

void pw_fill_value(const struct pw_task_value *out, double value)
{
        uint64_t count = pw_elements(out);

        switch (out->dtype) {
#define FILL(number, type, element)                                                                                    \
        case number: {                                                                                                 \
                const type same = (type)(element);                                                                     \
                for (uint64_t i = 0; i < count; i++)                                                                   \
                        ((type *)out->data)[i] = same;                                                                 \
                break;                                                                                                 \
        }
#define FILL_WHOLE(number, name, type, bits, smallest, largest, beyond) FILL(number, type, pw_whole_##name(value))
#define FILL_FLOAT(number, name, type, wide, from, to) FILL(number, type, to((wide)value))
                WHOLE_MAP(FILL_WHOLE)
                FLOAT_MAP(FILL_FLOAT)
                FILL(PW_BOOL, uint8_t, value != 0)
#undef FILL_FLOAT
#undef FILL_WHOLE
#undef FILL
        default: break;
        }
}

static enum pw_status fill(struct pw_task *task)
{
        for (uint32_t i = 0; i < task->output_count; i++)
                pw_fill_value(&task->outputs[i], ((const struct pw_fill_params *)task->params)->value);
        return PW_OK;
}

static enum pw_status add_shape(struct pw_shape_task *task)
{
        if (task->output_count != 1)
                return pw_shape_fail(task, "gives one output");
        for (uint32_t i = 0; i < task->input_count; i++) {
                if (!is_number(task->inputs[i].dtype))
                        return pw_shape_fail(task, "adds numbers, input %u is opaque or bool", i);
                if (task->inputs[i].dtype != task->inputs[0].dtype || task->inputs[i].dims.rank != task->inputs[0].dims.rank ||
                    memcmp(task->inputs[i].dims.dim, task->inputs[0].dims.dim, task->inputs[0].dims.rank * sizeof(uint64_t)))
                        return pw_shape_fail(task, "input %u has another dtype or other dims than input 0", i);
        }
        return pw_shape_as_input_0(task);
}

/* Sums of whole numbers wrap around, those of 16-bit floats are rounded each time. */
static void add_value(const struct pw_task_value *out, const struct pw_task_value *in)
{
        uint64_t count = pw_elements(out);

        switch (out->dtype) {
#define ADD(number, name, type, wide, from, to)                                                                        \
        case number: {                                                                                                 \
                type *sum = out->data;                                                                                 \
                const type *term = in->data;                                                                           \
                for (uint64_t i = 0; i < count; i++)                                                                   \
                        sum[i] = (type)to((wide)(from(sum[i]) + from(term[i])));                                       \
                break;                                                                                                 \
        }
#define ADD_WHOLE(number, name, type, bits, smallest, largest, beyond) ADD(number, name, bits, bits, SAME, SAME)
                WHOLE_MAP(ADD_WHOLE)
                FLOAT_MAP(ADD)
#undef ADD_WHOLE
#undef ADD
        default: break;
        }
}

static enum pw_status add(struct pw_task *task)
{
        struct pw_task first = *task;

        first.input_count = first.output_count = 1;
        nop(&first);
        for (uint32_t i = 1; i < task->input_count; i++)
                add_value(&task->outputs[0], &task->inputs[i]);
        return PW_OK;
}

static enum pw_status scale_shape(struct pw_shape_task *task)
{
        if (task->params_bytes != sizeof(struct pw_scale_params))
                return pw_shape_fail(task, "params are one f64, the factor");
        if (task->input_count != 1 || !is_number(task->inputs[0].dtype))
                return pw_shape_fail(task, "takes one input of numbers");
        if (task->output_count != 1)
                return pw_shape_fail(task, "gives one output");
        return pw_shape_as_input_0(task);
}

static enum pw_status scale(struct pw_task *task)
{
        double factor = ((const struct pw_scale_params *)task->params)->factor;
        const struct pw_task_value *in = &task->inputs[0], *out = &task->outputs[0];
        uint64_t count = pw_elements(out);

        switch (out->dtype) {
#define SCALE(number, type, scaled)                                                                                    \
        case number:                                                                                                   \
                for (uint64_t i = 0; i < count; i++)                                                                   \
                        ((type *)out->data)[i] = (type)(scaled);                                                       \
                break;
#define SCALE_WHOLE(number, name, type, bits, smallest, largest, beyond)                                               \
        SCALE(number, type, pw_scaled_##name(((const type *)in->data)[i], factor))
#define SCALE_FLOAT(number, name, type, wide, from, to)                                                                \
        SCALE(number, type, to((wide)from(((const type *)in->data)[i]) * (wide)factor))
                WHOLE_MAP(SCALE_WHOLE)
                FLOAT_MAP(SCALE_FLOAT)
#undef SCALE_FLOAT
#undef SCALE_WHOLE
#undef SCALE
        default: break;
        }
        return PW_OK;
}

/* --- matmul ----------------------------------------------------------------------------------------------------------------- */

static enum pw_status matmul_shape(struct pw_shape_task *task)
{
        const struct pw_dims *a = &task->inputs[0].dims, *b = &task->inputs[1].dims;

        if (task->input_count != 2 || a->rank != 2 || b->rank != 2 || a->dim[1] != b->dim[0])
                return pw_shape_fail(task, "takes two inputs, (m, k) and (k, n)");
        if (task->inputs[0].dtype != task->inputs[1].dtype || (task->inputs[0].dtype != PW_F32 && task->inputs[0].dtype != PW_F64))
                return pw_shape_fail(task, "takes two f32 or two f64");
        if (task->output_count != 1)
                return pw_shape_fail(task, "gives one output");
        task->outputs[0].dtype = task->inputs[0].dtype;
        task->outputs[0].dims = (struct pw_dims){ .rank = 2, .dim = { a->dim[0], b->dim[1] } };
        return PW_OK;
}

/* Row by row of b: neighbouring elements are computed together, and each adds its products in the order of k. */
#define DEFINE_MATMUL(name, type)                                                                                      \
        static void name(const struct pw_task *task)                                                                   \
        {                                                                                                              \
                uint64_t m = pw_task_dim(task, 0, 0), k = pw_task_dim(task, 0, 1), n = pw_task_dim(task, 1, 1);        \
                const type *a = pw_task_in(task, 0), *b = pw_task_in(task, 1);                                         \
                type *restrict c = pw_task_out(task, 0);                                                               \
                if (!m || !n) /* however large the other one is */                                                     \
                        return;                                                                                        \
                memset(c, 0, m * n * sizeof *c);                                                                       \
                if (!k)                                                                                                \
                        return;                                                                                        \
                for (uint64_t row = 0; row < m; row++)                                                                 \
                        for (uint64_t i = 0; i < k; i++)                                                               \
                                for (uint64_t column = 0; column < n; column++)                                        \
                                        c[row * n + column] += a[row * k + i] * b[i * n + column];                     \
        }
DEFINE_MATMUL(matmul_f32, float)
DEFINE_MATMUL(matmul_f64, double)

static enum pw_status matmul(struct pw_task *task)
{
        if (task->inputs[0].dtype == PW_F32)
                matmul_f32(task);
        else
                matmul_f64(task);
        return PW_OK;
}

PW_MODULE_WITH("pw", pw_module_codes,
               PW_FUNCTION(nop, .shape = nop_shape, .cuda = pw_nop_cuda, .in_place = 1),
               PW_FUNCTION(fill, .shape = fill_shape, .cuda = pw_fill_cuda),
               PW_FUNCTION(add, .shape = add_shape, .cuda = pw_add_cuda, .in_place = 1),
               PW_FUNCTION(scale, .shape = scale_shape, .cuda = pw_scale_cuda, .in_place = 1),
               PW_FUNCTION(matmul, .shape = matmul_shape, .cuda = pw_matmul_cuda),
               PW_FUNCTION(sleep_us, .shape = duration_shape, .cuda = pw_duration_cuda, .in_place = 1),
               PW_FUNCTION(spin_us, .shape = duration_shape, .cuda = pw_duration_cuda, .in_place = 1));

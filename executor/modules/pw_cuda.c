/* The module pw on GPUs: each function launches kernels of pw.cu. */
#include "executor/modules/pw.h"

#include "executor/modules/numbers.h"

#define BLOCK 256u
#define MOST_BLOCKS 4096u /* each thread goes on to further elements */
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const char code[] =
#include "executor/modules/pw.ptx.inc"
        ;
const struct pw_code pw_module_codes[1] = { { .name = "pw", .image = code, .bytes = sizeof code } };

/* The middle of the names of kernels that there is one of per dtype. */
static const char *name_of(uint32_t dtype)
{
        switch (dtype) {
#define NAME(number, name, ...) case number: return #name;
                WHOLE_MAP(NAME)
                FLOAT_MAP(NAME)
#undef NAME
        default: return "";
        }
}

/* A thread for each of `count` elements, if there are any. */
static enum pw_status launch(struct pw_task *task, const char *name, uint64_t count, const void *const *args, uint32_t arg_count)
{
        uint64_t blocks = count / BLOCK + (count % BLOCK > 0);
        const struct pw_kernel kernel = { .code = "pw", .name = name, .args = args, .arg_count = arg_count,
                                          .grid = { blocks < MOST_BLOCKS ? (uint32_t)blocks : MOST_BLOCKS },
                                          .block = { count < BLOCK ? (uint32_t)count : BLOCK } };

        return count ? task->services->launch(task, &kernel) : PW_OK;
}

enum pw_status pw_nop_cuda(struct pw_task *task)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < task->output_count && i < task->input_count && status == PW_OK; i++)
                if (task->outputs[i].data != task->inputs[i].data && task->inputs[i].bytes)
                        status = task->services->copy(task, task->outputs[i].data, task->inputs[i].data, task->inputs[i].bytes);
        return status;
}

/* One thread, and then as nop. */
enum pw_status pw_duration_cuda(struct pw_task *task)
{
        uint64_t ns = ((const struct pw_duration_params *)task->params)->us * 1000;
        const void *args[] = { &ns };
        enum pw_status status = launch(task, "pw_spin", ns > 0, args, COUNT_OF(args));

        return status == PW_OK ? pw_nop_cuda(task) : status;
}

/* The elements of `out`, of which one is `bytes` long: as often as it is in 8. */
static uint64_t pattern_of(const struct pw_task_value *out, uint64_t bytes, double value)
{
        unsigned char pattern[8] = { 0 };
        uint64_t word;
        struct pw_task_value one = { .data = pattern, .bytes = bytes, .dtype = out->dtype };

        pw_fill_value(&one, value);
        for (uint64_t i = bytes; i < sizeof pattern; i++)
                pattern[i] = pattern[i - bytes];
        memcpy(&word, pattern, sizeof word);
        return word;
}

enum pw_status pw_fill_cuda(struct pw_task *task)
{
        double value = ((const struct pw_fill_params *)task->params)->value;
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < task->output_count && status == PW_OK; i++) {
                const struct pw_task_value *out = &task->outputs[i];
                uint64_t count = pw_elements(out);
                uint64_t pattern = count ? pattern_of(out, out->bytes / count, value) : 0;
                const void *args[] = { &out->data, &out->bytes, &pattern };
                status = launch(task, "pw_fill", count, args, COUNT_OF(args));
        }
        return status;
}

enum pw_status pw_add_cuda(struct pw_task *task)
{
        const struct pw_task_value *out = &task->outputs[0];
        uint64_t count = pw_elements(out);
        const void *sum = pw_task_in(task, 0);
        char name[32];

        if (task->input_count == 1)
                return pw_nop_cuda(task);
        snprintf(name, sizeof name, "pw_add_%s", name_of(out->dtype));
        for (uint32_t i = 1; i < task->input_count; i++) {
                const void *args[] = { &out->data, &sum, &task->inputs[i].data, &count };
                enum pw_status status = launch(task, name, count, args, COUNT_OF(args));
                if (status != PW_OK)
                        return status;
                sum = out->data;
        }
        return PW_OK;
}

enum pw_status pw_scale_cuda(struct pw_task *task)
{
        const struct pw_task_value *out = &task->outputs[0];
        const double *factor = &((const struct pw_scale_params *)task->params)->factor;
        bool in_float = out->dtype == PW_F16 || out->dtype == PW_BF16 || out->dtype == PW_F32;
        float rounded = in_float ? (float)*factor : 0;
        uint64_t count = pw_elements(out);
        const void *args[] = { &out->data, &task->inputs[0].data, &count, in_float ? (const void *)&rounded : factor };
        char name[32];

        snprintf(name, sizeof name, "pw_scale_%s", name_of(out->dtype));
        return launch(task, name, count, args, COUNT_OF(args));
}

enum pw_status pw_matmul_cuda(struct pw_task *task)
{
        uint64_t m = pw_task_dim(task, 0, 0), k = pw_task_dim(task, 0, 1), n = pw_task_dim(task, 1, 1);
        const void *args[] = { &task->outputs[0].data, &task->inputs[0].data, &task->inputs[1].data, &m, &k, &n };

        return launch(task, task->inputs[0].dtype == PW_F32 ? "pw_matmul_f32" : "pw_matmul_f64", m * n, args, COUNT_OF(args));
}

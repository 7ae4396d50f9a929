/* The module digits on GPUs: each function launches one kernel of digits.cu. */
#include "examples/digits/digits_cuda.h"

#include "examples/common/launch.h"
#include "examples/digits/digits.h"

static const char code[] =
#include "examples/digits/digits.ptx.inc"
        ;
const struct pw_code digits_codes[1] = { { .name = "digits", .image = code, .bytes = sizeof code } };
const char *const digits_faults[1] = { "a row has a label beyond the classes" };

enum pw_status digits_gradient_cuda(struct pw_task *task)
{
        struct digits_sizes sizes = { .rows = pw_task_dim(task, 1, 0), .features = pw_task_dim(task, 0, 0),
                                      .classes = pw_task_dim(task, 0, 1) };
        struct pw_kernel kernel = { .code = "digits", .name = "digits_gradient",
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->outputs[1].data, &task->inputs[0].data,
                                                &task->inputs[1].data, &task->inputs[2].data, &sizes, &task->fault) };

        return launch_each(task, kernel, sizes.features * sizes.classes + 1);
}

enum pw_status digits_hidden_gradient_cuda(struct pw_task *task)
{
        struct digits_sizes sizes = { .rows = pw_task_dim(task, 2, 0), .features = pw_task_dim(task, 0, 0),
                                      .hidden = pw_task_dim(task, 0, 1), .classes = pw_task_dim(task, 1, 1) };
        struct pw_kernel kernel = { .code = "digits", .name = "digits_hidden_gradient",
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->outputs[1].data, &task->outputs[2].data,
                                                &task->inputs[0].data, &task->inputs[1].data, &task->inputs[2].data,
                                                &task->inputs[3].data, &sizes, &task->fault) };

        return launch_each(task, kernel, sizes.features * sizes.hidden + (sizes.hidden + 1) * sizes.classes + 1);
}

enum pw_status digits_update_cuda(struct pw_task *task)
{
        uint64_t count = task->outputs[0].bytes / sizeof(float);
        struct digits_update params;
        float step;
        struct pw_kernel kernel = { .code = "digits", .name = "digits_step",
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->inputs[0].data, &task->inputs[1].data, &count,
                                                &step) };

        if (task->params_bytes != sizeof params)
                return pw_task_fail(task, "takes struct digits_update as parameters");
        memcpy(&params, task->params, sizeof params);
        step = params.rate / params.rows;
        return launch_each(task, kernel, count);
}

/* The module tensor on GPUs: each function launches one kernel of tensor.cu. */
#include "examples/tensor/tensor_cuda.h"

#include "examples/common/launch.h"
#include "examples/tensor/tensor.h"

static const char code[] =
#include "examples/tensor/tensor.ptx.inc"
        ;
const struct pw_code tensor_codes[1] = { { .name = "tensor", .image = code, .bytes = sizeof code } };
const char *const tensor_faults[1] = { "a row has a label beyond the classes" };

/* a [rows, inner] times b [inner, columns] */
static enum pw_status multiply(struct pw_task *task, const char *name)
{
        uint64_t rows = pw_task_dim(task, 0, 0), inner = pw_task_dim(task, 0, 1), columns = pw_task_dim(task, 1, 1);
        struct pw_kernel kernel = { .code = "tensor", .name = name,
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->inputs[0].data, &task->inputs[1].data, &rows, &inner,
                                                &columns) };

        return launch_each(task, kernel, rows * columns);
}

enum pw_status tensor_hidden_cuda(struct pw_task *task) { return multiply(task, "tensor_hidden"); }
enum pw_status tensor_scores_cuda(struct pw_task *task) { return multiply(task, "tensor_scores"); }

enum pw_status tensor_loss_cuda(struct pw_task *task)
{
        uint64_t rows = pw_task_dim(task, 0, 0), classes = pw_task_dim(task, 0, 1);
        struct pw_kernel kernel = { .code = "tensor", .name = "tensor_loss",
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->outputs[1].data, &task->inputs[0].data,
                                                &task->inputs[1].data, &rows, &classes, &task->fault) };

        return launch_each(task, kernel, rows + 1);
}

enum pw_status tensor_back_cuda(struct pw_task *task)
{
        uint64_t rows = pw_task_dim(task, 0, 0), classes = pw_task_dim(task, 0, 1), units = pw_task_dim(task, 1, 0);
        struct pw_kernel kernel = { .code = "tensor", .name = "tensor_back",
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->inputs[0].data, &task->inputs[1].data,
                                                &task->inputs[2].data, &rows, &classes, &units) };

        return launch_each(task, kernel, rows * units);
}

enum pw_status tensor_gradient_cuda(struct pw_task *task)
{
        uint64_t rows = pw_task_dim(task, 0, 0), left = pw_task_dim(task, 0, 1), right = pw_task_dim(task, 1, 1);
        struct pw_kernel kernel = { .code = "tensor", .name = "tensor_gradient",
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->inputs[0].data, &task->inputs[1].data, &rows, &left,
                                                &right) };

        return launch_each(task, kernel, left * right);
}

enum pw_status tensor_update_cuda(struct pw_task *task)
{
        uint64_t count = task->outputs[0].bytes / sizeof(double);
        struct tensor_update params;
        double step;
        struct pw_kernel kernel = { .code = "tensor", .name = "tensor_step",
                                    LAUNCH_ARGS(&task->outputs[0].data, &task->inputs[0].data, &task->inputs[1].data, &count,
                                                &step) };

        if (task->params_bytes != sizeof params)
                return pw_task_fail(task, "takes struct tensor_update as parameters");
        memcpy(&params, task->params, sizeof params);
        step = params.rate / params.rows;
        return launch_each(task, kernel, count);
}

/* The module `stamp`, in a file of another name: tests copy it to stamp.so with another number behind the mark, as if it had been
 * built again.
 *
 *   number   output 0 is the number, an f64, dims (1)
 */
#include "pathways_module.h"

static const volatile struct { char mark[16]; double number; } stamp = { { "the number is:\n" }, -1 };

static enum pw_status number(struct pw_task *task)
{
        double number = stamp.number;

        memcpy(pw_task_out(task, 0), &number, sizeof number);
        return PW_OK;
}

static enum pw_status number_shape(struct pw_shape_task *task)
{
        task->outputs[0].dtype = PW_F64;
        task->outputs[0].dims = (struct pw_dims){ .rank = 1, .dim = { 1 } };
        return PW_OK;
}

PW_MODULE("stamp", PW_FUNCTION(number, .shape = number_shape));

/* The module `scratch`: functions with memory of their own for a call, on the processor and on GPUs.
 *
 *   through  input 0 goes to scratch memory, and from there to output 0
 *   look     output 0 is what lay in scratch memory, as large as it
 *   none     has none: it fails if it is given some
 *   claim    says that it needs params, one u64, bytes; output 0 is input 0
 *   spill    half of the input fits in scratch memory, of which it writes as many bytes more as params, one u64, say
 */
#include "pathways_module.h"

/* Both are there, where the function runs. */
static enum pw_status copy(struct pw_task *task, void *to, const void *from, uint64_t bytes)
{
        if (task->stream)
                return task->services->copy(task, to, from, bytes);
        memcpy(to, from, bytes);
        return PW_OK;
}

static uint64_t number(const void *params, uint64_t bytes)
{
        uint64_t given = 0;

        if (bytes == sizeof given)
                memcpy(&given, params, sizeof given);
        return given;
}

static enum pw_status through(struct pw_task *task)
{
        void *scratch = pw_task_scratch(task);
        enum pw_status status;

        if (!scratch || (uintptr_t)scratch % 256 || task->scratch_bytes < task->inputs[0].bytes)
                return pw_task_fail(task, "%llu bytes of scratch memory at %p", (unsigned long long)task->scratch_bytes, scratch);
        status = copy(task, scratch, pw_task_in(task, 0), task->inputs[0].bytes);
        return status == PW_OK ? copy(task, pw_task_out(task, 0), scratch, task->outputs[0].bytes) : status;
}

static enum pw_status look(struct pw_task *task)
{
        return copy(task, pw_task_out(task, 0), pw_task_scratch(task), task->outputs[0].bytes);
}

static enum pw_status none(struct pw_task *task)
{
        if (pw_task_scratch(task) || task->scratch_bytes)
                return pw_task_fail(task, "scratch memory that nobody asked for");
        return copy(task, pw_task_out(task, 0), pw_task_in(task, 0), task->outputs[0].bytes);
}

static enum pw_status claim(struct pw_task *task)
{
        return copy(task, pw_task_out(task, 0), pw_task_in(task, 0), task->outputs[0].bytes);
}

static enum pw_status spill(struct pw_task *task)
{
        uint64_t more = number(task->params, task->params_bytes);
        enum pw_status status = copy(task, pw_task_scratch(task), pw_task_in(task, 0), task->scratch_bytes + more);

        return status == PW_OK ? claim(task) : status;
}

/* --- shapes ------------------------------------------------------------------------------------------------------------------ */

static uint64_t input_bytes(const struct pw_shape_task *task)
{
        uint64_t bytes = sizeof(double);

        for (uint32_t i = 0; i < task->inputs[0].dims.rank; i++)
                bytes *= task->inputs[0].dims.dim[i];
        return bytes;
}

static enum pw_status as_large(struct pw_shape_task *task)
{
        enum pw_status status = pw_shape_as_input_0(task);

        if (status == PW_OK)
                pw_shape_scratch(task, input_bytes(task));
        return status;
}

static enum pw_status half(struct pw_shape_task *task)
{
        enum pw_status status = pw_shape_as_input_0(task);

        if (status == PW_OK)
                pw_shape_scratch(task, input_bytes(task) / 2);
        return status;
}

static enum pw_status as_claimed(struct pw_shape_task *task)
{
        pw_shape_scratch(task, number(task->params, task->params_bytes));
        return pw_shape_as_input_0(task);
}

#define BOTH(function, of_shape) PW_FUNCTION(function, .shape = (of_shape), .cuda = (function))
PW_MODULE("scratch", BOTH(through, as_large), BOTH(look, as_large), BOTH(none, pw_shape_as_input_0), BOTH(claim, as_claimed),
          BOTH(spill, half));

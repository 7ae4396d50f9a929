/* Running functions on the processor, and services that a device without kernels does not have. */
#include "executor/device/hostly.h"

static uint8_t *output_end(const struct pw_task *task, uint32_t index)
{
        return (uint8_t *)task->outputs[index].data + task->outputs[index].bytes;
}

static bool is_in_place(const struct pw_task *task, uint32_t output)
{
        for (uint32_t i = 0; i < task->input_count; i++)
                if (task->inputs[i].data == task->outputs[output].data)
                        return true;
        return false;
}

void pw_hostly_zero(const struct pw_device_call *call)
{
        const struct pw_task *task = call->task;

        for (uint32_t i = 0; i < pw_device_call_rooms(call); i++)
                if (pw_device_call_zeroes(call, i) && !is_in_place(task, i))
                        memset(task->outputs[i].data, 0, task->outputs[i].bytes);
}

static void guards_set(const struct pw_device_call *call)
{
        for (uint32_t i = 0; i < pw_device_call_rooms(call); i++)
                pw_guard_set(&call->guard, output_end(call->task, i), call->rests[i]);
}

static void guards_look(const struct pw_device_call *call, struct pw_device_end *end)
{
        for (uint32_t i = 0; i < pw_device_call_rooms(call); i++) {
                enum pw_guard_state state = pw_guard_check(&call->guard, output_end(call->task, i), call->rests[i]);
                end->output = state > end->guard ? i : end->output;
                end->guard = state > end->guard ? state : end->guard;
        }
}

struct pw_device_end pw_hostly_run(const struct pw_device_call *call, const struct pw_task_services *services)
{
        struct pw_device_end end = { PW_OK, PW_GUARD_WHOLE, 0, 0 };
        struct pw_task task;

        if (call->move) {
                end.status = call->move(call);
                return end;
        }
        task = *call->task;
        task.services = services;
        if (call->zeroes)
                pw_hostly_zero(call);
        guards_set(call);
        if (!call->may_run || call->may_run(call))
                end.status = call->function->run(&task);
        guards_look(call, &end);
        return end;
}

static enum pw_status refuse(struct pw_task *task, const char *what)
{
        (void)pw_task_fail(task, "device %u has no %s: only GPUs do", task->device, what);
        return PW_UNSUPPORTED;
}

enum pw_status pw_hostly_launch(struct pw_task *task, const struct pw_kernel *kernel)
{
        (void)kernel;
        return refuse(task, "kernels");
}

enum pw_status pw_hostly_copy(struct pw_task *task, void *to, const void *from, uint64_t bytes)
{
        (void)to;
        (void)from;
        (void)bytes;
        return refuse(task, "copies of its own");
}

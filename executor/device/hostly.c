/* Running functions on the processor, and services that a device without kernels does not have. */
#include "executor/device/hostly.h"

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

static uint8_t *end_of(const struct pw_task_value *output) { return (uint8_t *)output->data + output->bytes; }

/* Each word by itself, as it was written just now: both at once would wait for the two to reach the cache. */
static inline struct pw_guard guard_of(const struct pw_device_call *call)
{
        const volatile uint64_t *words = call->guard.words;

        return (struct pw_guard){ { words[0], words[1] } };
}

static void guards_set(const struct pw_device_call *call)
{
        const struct pw_task_value *outputs = call->task->outputs;
        const uint32_t *rests = call->rests, count = pw_device_call_rooms(call);
        const struct pw_guard guard = guard_of(call);

        for (uint32_t i = 0; i < count; i++)
                pw_guard_set(&guard, end_of(&outputs[i]), rests[i]);
}

static void guards_look(const struct pw_device_call *call, struct pw_device_end *end)
{
        const struct pw_task_value *outputs = call->task->outputs;
        const uint32_t *rests = call->rests, count = pw_device_call_rooms(call);
        const struct pw_guard guard = guard_of(call);

        for (uint32_t i = 0; i < count; i++) {
                enum pw_guard_state state = pw_guard_check(&guard, end_of(&outputs[i]), rests[i]);
                end->output = state > end->guard ? i : end->output;
                end->guard = state > end->guard ? state : end->guard;
        }
}

void pw_hostly_run(const struct pw_device_call *call, const struct pw_task_services *services, struct pw_device_end *ret_end)
{
        struct pw_task task;

        *ret_end = (struct pw_device_end){ PW_OK, PW_GUARD_WHOLE, 0, 0 };
        if (call->move) {
                ret_end->status = call->move(call);
                return;
        }
        task = *call->task;
        task.services = services;
        if (call->zeroes)
                pw_hostly_zero(call);
        guards_set(call);
        if (!call->may_run || call->may_run(call))
                ret_end->status = call->function->run(&task);
        guards_look(call, ret_end);
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

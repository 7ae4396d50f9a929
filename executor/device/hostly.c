/* Services that a device without kernels does not have. */
#include "executor/device/hostly.h"

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

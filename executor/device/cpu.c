/* The plain kind: a share of the host's processor. Functions run in the launching thread, memory is host memory. */
#include "executor/device/kinds.h"

#include "base/memory.h"
#include "executor/device/hostly.h"

#include <errno.h>
#include <time.h>

struct pw_exec_device {
        struct pw_task_services services;
};

static void cpu_sleep_us(struct pw_task *task, uint64_t us)
{
        struct timespec left = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 };

        (void)task;
        while (nanosleep(&left, &left) && errno == EINTR)
                ;
}

static enum pw_status cpu_open(const struct pw_device_params *params, struct pw_exec_device **ret_device, struct pw_error *ret_err)
{
        struct pw_exec_device *device = calloc(1, sizeof *device);

        if (!device)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for device %u", params->number);
        device->services = (struct pw_task_services){ cpu_sleep_us, pw_hostly_launch, pw_hostly_copy };
        *ret_device = device;
        return PW_OK;
}

static void cpu_close(struct pw_exec_device *device) { free(device); }

static void cpu_name_of(const struct pw_exec_device *device, char *text, size_t text_bytes)
{
        (void)device;
        (void)text_bytes;
        text[0] = 0;
}

static uint32_t cpu_caps(const struct pw_exec_device *device)
{
        (void)device;
        return PW_DEVICE_SYNCHRONOUS;
}

static const struct pw_device_memory *cpu_memory(const struct pw_exec_device *device)
{
        (void)device;
        return &pw_memory_host;
}

static enum pw_status cpu_launch(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end)
{
        pw_hostly_run(call, &device->services, ret_end);
        return PW_OK;
}

static bool cpu_done(struct pw_exec_device *device, struct pw_device_end *ret_end)
{
        (void)device;
        (void)ret_end;
        return false;
}

static uint64_t cpu_next_ns(struct pw_exec_device *device)
{
        (void)device;
        return UINT64_MAX;
}

static void cpu_moved(struct pw_exec_device *device, uint64_t bytes)
{
        (void)device;
        (void)bytes;
}

static uint64_t cpu_ended_ns(struct pw_exec_device *device, uint64_t now_ns)
{
        (void)device;
        return now_ns;
}

static void cpu_not_before(struct pw_exec_device *device, uint64_t ns)
{
        (void)device;
        (void)ns;
}

static void cpu_idle(struct pw_exec_device *device) { (void)device; }

const struct pw_device_kind pw_device_cpu = {
        .name = "cpu",
        .about = "a share of the host's processor",
        .open = cpu_open,
        .close = cpu_close,
        .name_of = cpu_name_of,
        .caps = cpu_caps,
        .memory = cpu_memory,
        .launch = cpu_launch,
        .done = cpu_done,
        .next_ns = cpu_next_ns,
        .moved = cpu_moved,
        .ended_ns = cpu_ended_ns,
        .not_before = cpu_not_before,
        .idle = cpu_idle,
};

/* A device that takes time without taking a processor: each function a launch delay, each transfer its bytes over a bandwidth,
 * sleep_us what it says. With a launch delay it does functions later than they are launched, in order, each when its delay is over;
 * without one at once.
 *
 * It has a clock of its own, as a device with a queue in hardware has: a delay begins when the one before has ended and the input
 * is there, by the clocks of the devices, however late this process was woken to learn of either. So late wake-ups do not add up;
 * what this process does between two delays takes its own time. After idle(), when the queue has run empty, the clock is the
 * host's.
 */
#include "executor/device/kinds.h"

#include "base/list.h"
#include "base/memory.h"
#include "executor/device/hostly.h"
#include "executor/device/memory_apart.h"

#include <errno.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
/* No single delay is longer: about 31 years. */
#define DELAY_MAX_NS (NS_PER_S * 1000000000)
/* The clock is no more than that behind the host's: who is woken later still was stopped. */
#define LATE_MAX_NS (NS_PER_S / 100)

struct launched {
        struct pw_list link;
        const struct pw_device_call *call;
};

struct pw_exec_device {
        struct pw_task_services services;
        bool is_apart;
        struct pw_apart apart;
        struct pw_task_value *values; /* of the function that runs, where its memory is apart: where they are for it */
        uint32_t value_capacity;
        uint64_t launch_delay_ns, copy_bandwidth;
        struct pw_list under_way, spare; /* spare: to be used again */
        uint64_t first_ns;   /* the end of the delay of the first under way */
        uint64_t planned_ns; /* the end of the last delay, or when the input came; 0: the queue was empty since */
        uint64_t late_ns;    /* how far the clock is behind the host's */
        uint64_t told_ns;    /* when the last work ended, as others were told: nothing begins before */
};

static uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t limited_ns(uint64_t count, uint64_t ns_each)
{
        uint64_t ns;

        return pw_mul_ok(count, ns_each, &ns) ? pw_min_u64(ns, DELAY_MAX_NS) : DELAY_MAX_NS;
}

static void plan(struct pw_exec_device *device, uint64_t at_ns, uint64_t now)
{
        device->planned_ns = at_ns;
        device->late_ns = now > at_ns ? pw_min_u64(now - at_ns, LATE_MAX_NS) : 0;
}

/* The end of what begins now. A plan that real work has overtaken moves up to the present. */
static uint64_t end_of(const struct pw_exec_device *device, uint64_t duration_ns, uint64_t now)
{
        uint64_t from = device->planned_ns ? device->planned_ns : now;

        return pw_max_u64(from + duration_ns, now - device->late_ns);
}

static void occupy(struct pw_exec_device *device, uint64_t duration_ns)
{
        uint64_t now = now_ns(), end_ns = end_of(device, duration_ns, now);
        struct timespec end = { .tv_sec = (time_t)(end_ns / NS_PER_S), .tv_nsec = (long)(end_ns % NS_PER_S) };

        if (end_ns > now) {
                while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
                        ;
                now = now_ns();
        }
        plan(device, end_ns, now);
}

static void emulated_sleep_us(struct pw_task *task, uint64_t us)
{
        struct pw_exec_device *device = pw_container_of(task->services, struct pw_exec_device, services);

        occupy(device, limited_ns(us, 1000));
}

static enum pw_status emulated_open(const struct pw_device_params *params, struct pw_exec_device **ret_device,
                                    struct pw_error *ret_err)
{
        struct pw_exec_device *device = calloc(1, sizeof *device);

        if (!device)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for device %u", params->number);
        pw_list_init(&device->under_way);
        pw_list_init(&device->spare);
        device->services = (struct pw_task_services){ emulated_sleep_us, pw_hostly_launch, pw_hostly_copy };
        device->launch_delay_ns = limited_ns(params->launch_delay_us, 1000);
        device->copy_bandwidth = params->copy_bandwidth;
        device->is_apart = params->apart;
        *ret_device = device;
        return PW_OK;
}

static void free_all(struct pw_list *all)
{
        struct launched *launched;

        pw_list_each(all, launched, struct launched, link)
                free(launched);
}

static void emulated_close(struct pw_exec_device *device)
{
        free_all(&device->under_way);
        free_all(&device->spare);
        free(device->values);
        free(device);
}

static void emulated_name_of(const struct pw_exec_device *device, char *text, size_t text_bytes)
{
        (void)device;
        (void)text_bytes;
        text[0] = 0;
}

static uint32_t emulated_caps(const struct pw_exec_device *device)
{
        return (device->launch_delay_ns ? 0 : PW_DEVICE_SYNCHRONOUS) | (device->is_apart ? PW_DEVICE_APART : 0);
}

static const struct pw_device_memory *emulated_memory(const struct pw_exec_device *device)
{
        return device->is_apart ? &pw_memory_apart : &pw_memory_host;
}

struct pw_apart *pw_apart_of(struct pw_exec_device *device) { return &device->apart; }

static uint32_t value_count(const struct pw_device_call *call)
{
        return call->task->input_count + pw_device_call_rooms(call);
}

/* So that what was launched has all that it takes. */
static bool values_reserve(struct pw_exec_device *device, const struct pw_device_call *call)
{
        return !device->is_apart || call->move || value_count(call) <= device->value_capacity ||
               pw_grow((void **)&device->values, &device->value_capacity, value_count(call), sizeof *device->values);
}

/* A function reads and writes where the bytes are. */
static void run_apart(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end)
{
        struct pw_device_call here = *call;
        struct pw_task task = *call->task;
        uint32_t count = value_count(call);

        for (uint32_t i = 0; i < count; i++) {
                device->values[i] = i < task.input_count ? task.inputs[i] : task.outputs[i - task.input_count];
                device->values[i].data = pw_apart_at(&device->apart, device->values[i].data);
        }
        task.inputs = device->values;
        task.outputs = device->values + task.input_count;
        task.scratch = task.scratch_bytes ? task.outputs[task.output_count].data : NULL;
        here.task = &task;
        here.may_run = NULL;
        if (!call->may_run || call->may_run(call)) {
                pw_hostly_run(&here, &device->services, ret_end);
                return;
        }
        pw_hostly_zero(&here);
        *ret_end = (struct pw_device_end){ PW_OK, PW_GUARD_WHOLE, 0, 0 };
}

static void run(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end)
{
        if (device->is_apart && !call->move)
                run_apart(device, call, ret_end);
        else
                pw_hostly_run(call, &device->services, ret_end);
}

/* What is moved takes its bytes over the bandwidth, and no launch. */
static void first_begins(struct pw_exec_device *device)
{
        const struct launched *first = pw_list_first(&device->under_way, struct launched, link);

        device->first_ns = end_of(device, first->call->move ? 0 : device->launch_delay_ns, now_ns());
}

static enum pw_status emulated_launch(struct pw_exec_device *device, const struct pw_device_call *call,
                                      struct pw_device_end *ret_end)
{
        struct launched *launched;

        if (!values_reserve(device, call))
                return PW_NO_MEMORY;
        if (!device->launch_delay_ns) {
                run(device, call, ret_end);
                return PW_OK;
        }
        launched = pw_list_empty(&device->spare) ? malloc(sizeof *launched) : pw_list_first(&device->spare, struct launched, link);
        if (!launched)
                return PW_NO_MEMORY;
        if (!pw_list_empty(&device->spare))
                pw_list_remove(&launched->link);
        *launched = (struct launched){ .call = call };
        pw_list_init(&launched->link);
        pw_list_append(&device->under_way, &launched->link);
        if (pw_list_first(&device->under_way, struct launched, link) == launched)
                first_begins(device);
        return PW_OK;
}

static bool emulated_done(struct pw_exec_device *device, struct pw_device_end *ret_end)
{
        struct launched *launched;
        uint64_t now;

        if (pw_list_empty(&device->under_way) || (now = now_ns()) < device->first_ns)
                return false;
        launched = pw_list_first(&device->under_way, struct launched, link);
        plan(device, device->first_ns, now);
        run(device, launched->call, ret_end);
        pw_list_remove(&launched->link);
        pw_list_append(&device->spare, &launched->link);
        if (!pw_list_empty(&device->under_way))
                first_begins(device);
        return true;
}

static uint64_t emulated_next_ns(struct pw_exec_device *device)
{
        return pw_list_empty(&device->under_way) ? UINT64_MAX : device->first_ns;
}

static void emulated_moved(struct pw_exec_device *device, uint64_t bytes)
{
        double ns;

        if (!device->copy_bandwidth || !bytes)
                return;
        ns = (double)bytes / (double)device->copy_bandwidth * (double)NS_PER_S;
        occupy(device, ns < (double)DELAY_MAX_NS ? (uint64_t)ns : DELAY_MAX_NS);
}

static uint64_t emulated_ended_ns(struct pw_exec_device *device, uint64_t now)
{
        device->told_ns = pw_max_u64(device->told_ns, now - device->late_ns);
        return now - device->late_ns;
}

/* Where nothing is planned, the plan begins then: the queue was not empty, its head waited. */
static void emulated_not_before(struct pw_exec_device *device, uint64_t ns)
{
        uint64_t now;

        ns = pw_max_u64(ns, device->told_ns);
        if (ns <= device->planned_ns)
                return;
        now = now_ns();
        plan(device, pw_min_u64(ns, now), now);
}

static void emulated_idle(struct pw_exec_device *device) { device->planned_ns = device->late_ns = 0; }

const struct pw_device_kind pw_device_emulated = {
        .name = "emulated",
        .about = "a device with a capacity, a launch delay and a copy bandwidth of its own",
        .open = emulated_open,
        .close = emulated_close,
        .name_of = emulated_name_of,
        .caps = emulated_caps,
        .memory = emulated_memory,
        .launch = emulated_launch,
        .done = emulated_done,
        .next_ns = emulated_next_ns,
        .moved = emulated_moved,
        .ended_ns = emulated_ended_ns,
        .not_before = emulated_not_before,
        .idle = emulated_idle,
};

/* Calls of a GPU: how they are launched, and how they end. */
#include "executor/device/cuda_private.h"

#include "base/memory.h"

#include <stdio.h>

static struct pw_cuda_flight *flight_at(struct pw_exec_device *device, uint64_t number)
{
        return &device->flights[number % PW_CUDA_FLIGHTS];
}

/* The last function ends here, and another call begins, or none. What goes wrong with what has been launched is nobody else's. */
static enum pw_status end_last(struct pw_exec_device *device, const struct pw_device_call *begins, struct pw_error *ret_err)
{
        uint64_t number = device->unended;
        struct pw_cuda_flight *flight = flight_at(device, number);
        struct pw_cuda_turn turn = { number ? flight->call : NULL, begins, number, device->first + device->count };
        enum pw_status status = pw_cuda_guards(device, &turn, ret_err);

        if (!number)
                return status;
        if (status == PW_OK)
                status = pw_cuda_check(device, device->driver->cuEventRecord(flight->event, device->launches), "an event", ret_err);
        if (status != PW_OK)
                device->params.lost(device->params.context, ret_err->text);
        device->unended = 0;
        return PW_OK;
}

/* Nobody has called what comes behind it. */
static void end_now(struct pw_exec_device *device)
{
        struct pw_error err;

        if (device->unended)
                (void)end_last(device, NULL, &err);
}

static bool is_in_place(const struct pw_task *task, uint32_t output)
{
        for (uint32_t i = 0; i < task->input_count; i++)
                if (task->inputs[i].data == task->outputs[output].data)
                        return true;
        return false;
}

static enum pw_status zero_rooms(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_error *ret_err)
{
        const struct pw_task *task = call->task;
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < pw_device_call_rooms(call) && status == PW_OK; i++)
                if (!is_in_place(task, i))
                        status = pw_memory_cuda.zero(device, task->outputs[i].data, task->outputs[i].bytes, ret_err);
        return status;
}

/* A function that says that it failed may have launched something. */
static enum pw_status launch_function(struct pw_exec_device *device, struct pw_cuda_flight *flight, uint64_t number,
                                      struct pw_error *ret_err)
{
        const struct pw_device_call *call = flight->call;
        enum pw_status status;

        status = end_last(device, call, ret_err);
        if (status == PW_OK && call->zeroes)
                status = zero_rooms(device, call, ret_err);
        if (status != PW_OK)
                return status;
        flight->task = *call->task;
        flight->task.services = &device->services;
        flight->task.stream = device->launches;
        flight->task.fault = (uint32_t *)(uintptr_t)(pw_cuda_words_at(device, number) + offsetof(struct pw_guard_words, fault));
        device->launching = call;
        flight->status = call->function->cuda(&flight->task);
        device->launching = NULL;
        device->unended = number;
        device->asked = false;
        return PW_OK;
}

static enum pw_status launch_move(struct pw_exec_device *device, struct pw_cuda_flight *flight, uint64_t number,
                                  struct pw_error *ret_err)
{
        const struct pw_cuda_driver *driver = device->driver;
        enum pw_status status;

        end_now(device);
        status = flight->status = flight->call->move(flight->call);
        if (status == PW_OK && device->writes)
                status = pw_cuda_check(device, driver->cuStreamWriteValue64(device->launches, pw_cuda_end_at(device, number),
                                                                      pw_guard_end(number, 0, 0, PW_GUARD_WHOLE), 0),
                                       "writing a number", ret_err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuEventRecord(flight->event, device->launches), "an event", ret_err);
        return status;
}

enum pw_status pw_cuda_launch(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end)
{
        uint64_t number = device->first + device->count;
        struct pw_cuda_flight *flight = flight_at(device, number);
        struct pw_error err;
        enum pw_status status;

        (void)ret_end;
        if (device->count == PW_CUDA_FLIGHTS)
                return PW_LIMIT;
        flight->call = call;
        status = call->move ? launch_move(device, flight, number, &err) : launch_function(device, flight, number, &err);
        if (status == PW_OK)
                device->count++;
        else if (!call->move && call->task->error_text_bytes)
                snprintf(call->task->error_text, call->task->error_text_bytes, "%s", err.text);
        return status;
}

static uint64_t end_of(const struct pw_exec_device *device, uint64_t number)
{
        return __atomic_load_n(&device->page->ends[number % PW_CUDA_FLIGHTS], __ATOMIC_ACQUIRE);
}

/* Has flight `number` ended? A device that is lost is found out here. */
static bool has_ended(struct pw_exec_device *device, uint64_t number)
{
        enum pw_cuda_result result;
        struct pw_error err;

        if (pw_guard_end_is(end_of(device, number), number))
                return true;
        if (device->unended == number)
                return false;
        result = device->driver->cuEventQuery(flight_at(device, number)->event);
        if (result == PW_CUDA_NOT_READY)
                return false;
        if (result != PW_CUDA_SUCCESS && pw_cuda_failed(device, result, "running a function", &err) != PW_OK)
                device->params.lost(device->params.context, err.text);
        return true;
}

/* A word that says more than it can is what spoilt memory says. */
static void look_at_end(struct pw_exec_device *device, uint64_t number, struct pw_device_end *end)
{
        const struct pw_device_call *call = flight_at(device, number)->call;
        uint64_t word = end_of(device, number);
        uint32_t fault = pw_guard_end_fault(word);
        uint32_t rooms = pw_device_call_rooms(call);

        end->guard = pw_guard_end_is(word, number) ? (enum pw_guard_state)pw_min_u64(pw_guard_end_state(word), PW_GUARD_PASSED)
                                                   : PW_GUARD_PASSED;
        if (rooms)
                end->output = (uint32_t)pw_min_u64(pw_guard_end_room(word), rooms - 1);
        if (!fault || end->status != PW_OK)
                return;
        end->status = PW_FAILED;
        if (fault <= call->function->fault_count)
                snprintf(call->task->error_text, call->task->error_text_bytes, "%s", call->function->faults[fault - 1]);
        else
                snprintf(call->task->error_text, call->task->error_text_bytes, "a kernel says fault %u", fault);
}

bool pw_cuda_done(struct pw_exec_device *device, struct pw_device_end *ret_end)
{
        if (!device->count)
                return false;
        if (!has_ended(device, device->first)) {
                if (device->asked && device->unended == device->first)
                        end_now(device);
                device->asked = true; /* another call may come first */
                return false;
        }
        *ret_end = (struct pw_device_end){ flight_at(device, device->first)->status, PW_GUARD_WHOLE, 0 };
        if (!flight_at(device, device->first)->call->move)
                look_at_end(device, device->first, ret_end);
        device->first++;
        device->count--;
        return true;
}

uint64_t pw_cuda_next_ns(struct pw_exec_device *device)
{
        if (!device->count)
                return UINT64_MAX;
        if (device->count < PW_CUDA_FLIGHTS || device->unended == device->first) /* else another call comes */
                end_now(device);
        pw_cuda_watch(device, flight_at(device, device->first)->event);
        return PW_DEVICE_RINGS;
}

/* Calls of a GPU: how they are launched, and how they end.
 *
 * They are in this order: those whose end is launched; a batch that is launched, but for its end; and while the device has a batch
 * to do, one that is kept. A call that may end with those that are kept becomes one of them. They are launched, behind the end of
 * the batch ahead, when they are as many as may be, when a call comes that cannot be one of them, when somebody asks for the second
 * time how the batch ahead is doing, and before the launching thread sleeps.
 */
#include "executor/device/cuda_private.h"

#include "base/memory.h"

#include <stdio.h>

static uint64_t behind_last(const struct pw_exec_device *device) { return device->first + device->count; }

/* --- launches ----------------------------------------------------------------------------------------------------------------- */

/* The functions that run end here, and those up to `to` begin, or none. What goes wrong with what has been launched is nobody
 * else's. */
static enum pw_status turn(struct pw_exec_device *device, uint64_t to, struct pw_error *ret_err)
{
        struct CUevent_st *event = pw_cuda_flight(device, device->kept - 1)->event;
        struct pw_cuda_turn turn = { { device->unended, device->kept }, { device->kept, to } };
        enum pw_status status = pw_cuda_guards(device, &turn, ret_err);

        if (device->unended == device->kept)
                return status;
        if (status == PW_OK)
                status = pw_cuda_check(device, device->driver->cuEventRecord(event, device->launches), "an event", ret_err);
        if (status != PW_OK)
                device->params.lost(device->params.context, ret_err->text);
        for (; device->unended < device->kept; device->unended++)
                pw_cuda_flight(device, device->unended)->end = event;
        return PW_OK;
}

/* Nobody has called what comes behind it. */
static void end_now(struct pw_exec_device *device)
{
        struct pw_error err;

        if (device->unended < device->kept)
                (void)turn(device, device->kept, &err);
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
                if (pw_device_call_zeroes(call, i) && !is_in_place(task, i))
                        status = pw_memory_cuda.zero(device, task->outputs[i].data, task->outputs[i].bytes, ret_err);
        return status;
}

static void say(const struct pw_task *task, const struct pw_error *err)
{
        if (task->error_text_bytes)
                snprintf(task->error_text, task->error_text_bytes, "%s", err->text);
}

/* A function that says that it failed may have launched something. */
static enum pw_status launch_function(struct pw_exec_device *device, uint64_t number, struct pw_error *ret_err)
{
        struct pw_cuda_flight *flight = pw_cuda_flight(device, number);
        const struct pw_device_call *call = flight->call;
        enum pw_status status = PW_OK;

        if (call->zeroes)
                status = zero_rooms(device, call, ret_err);
        if (status != PW_OK)
                return status;
        flight->task = *call->task;
        flight->task.services = &device->services;
        flight->task.stream = device->launches;
        flight->task.fault = (uint32_t *)(uintptr_t)(pw_cuda_words_at(device, number) + offsetof(struct pw_guard_words, fault));
        device->launching = call;
        device->refused = PW_OK;
        if (call->launches)
                call->launches(call, true);
        flight->status = call->function->cuda(&flight->task);
        if (call->launches)
                call->launches(call, false);
        device->launching = NULL;
        if (flight->status == PW_OK)
                flight->status = device->refused;
        return PW_OK;
}

static enum pw_status launch_kept(struct pw_exec_device *device, struct pw_error *ret_err)
{
        uint64_t to = behind_last(device);
        enum pw_status status = turn(device, to, ret_err);

        if (status != PW_OK)
                return status;
        device->last = device->kept;
        for (; device->kept < to && status == PW_OK; device->kept += status == PW_OK)
                status = launch_function(device, device->kept, ret_err);
        device->kept_rooms = 0;
        device->asked = false;
        return status;
}

void pw_cuda_flush(struct pw_exec_device *device)
{
        struct pw_error err;

        if (device->kept < behind_last(device) && launch_kept(device, &err) != PW_OK)
                device->params.lost(device->params.context, err.text);
}

void pw_cuda_finish(struct pw_exec_device *device)
{
        pw_cuda_flush(device);
        end_now(device);
}

/* --- a call ------------------------------------------------------------------------------------------------------------------- */

/* One whose rooms are set to 0 first is launched at once, as that may go wrong. */
static bool is_alone(const struct pw_device_call *call) { return call->move || !call->kin || call->zeroes; }

/* Is it one more of those that are kept? *ret_rooms: that they have then beyond what they have. */
static bool may_join(struct pw_exec_device *device, const struct pw_device_call *call, uint32_t *ret_rooms)
{
        struct pw_cuda_batch batch = { device->kept, behind_last(device) };
        const struct pw_device_call *first = pw_cuda_flight(device, batch.from)->call;

        if (batch.from == batch.to)
                return false;
        if (is_alone(call) || call->kin != first->kin || call->function != first->function)
                return false;
        return pw_cuda_guards_fit(device, &batch, call, ret_rooms) && device->kept_rooms + *ret_rooms <= PW_GUARD_ROOMS;
}

/* How many are kept: none where nothing is under way, and twice as many as there are in the batch ahead at most, or the device is
 * done before they come. */
static uint64_t most_kept(const struct pw_exec_device *device)
{
        return pw_min_u64(PW_GUARD_CALLS, 2 * (device->kept - pw_max_u64(device->first, device->last)));
}

static enum pw_status launch_move(struct pw_exec_device *device, struct pw_cuda_flight *flight, uint64_t number)
{
        const struct pw_cuda_driver *driver = device->driver;
        enum pw_status status = PW_OK;
        struct pw_error err;

        end_now(device);
        flight->status = flight->call->move(flight->call);
        if (flight->status != PW_OK)
                return flight->status;
        if (device->writes)
                status = pw_cuda_check(device, driver->cuStreamWriteValue64(device->launches, pw_cuda_end_at(device, number),
                                                                      pw_guard_end(number, 0, 0, PW_GUARD_WHOLE), 0),
                                       "writing a number", &err);
        if (status == PW_OK)
                status = pw_cuda_check(device, driver->cuEventRecord(flight->event, device->launches), "an event", &err);
        if (status != PW_OK && flight->call->task)
                say(flight->call->task, &err);
        if (status != PW_OK)
                return status;
        flight->end = flight->event;
        device->last = number;
        device->unended = device->kept = number + 1;
        device->count++;
        return PW_OK;
}

static enum pw_status launch_call(struct pw_exec_device *device, const struct pw_device_call *call, uint32_t rooms)
{
        enum pw_status status = PW_OK;
        struct pw_error err;

        device->kept_rooms += rooms;
        device->asked = false;
        device->count++;
        if (is_alone(call) || behind_last(device) - device->kept >= most_kept(device))
                status = launch_kept(device, &err);
        if (status == PW_OK)
                return PW_OK;
        device->count--; /* it was the only one */
        device->kept_rooms = 0;
        say(call->task, &err);
        return status;
}

enum pw_status pw_cuda_launch(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end)
{
        uint64_t number = behind_last(device);
        struct pw_cuda_flight *flight = pw_cuda_flight(device, number);
        uint32_t rooms;

        (void)ret_end;
        if (device->count == PW_CUDA_FLIGHTS)
                return PW_LIMIT;
        if (!may_join(device, call, &rooms)) {
                pw_cuda_flush(device);
                rooms = call->move ? 0 : pw_device_call_rooms(call);
        }
        flight->call = call;
        flight->end = NULL;
        if (call->move)
                return launch_move(device, flight, number);
        return launch_call(device, call, rooms);
}

/* --- its end ------------------------------------------------------------------------------------------------------------------ */

static uint64_t end_of(const struct pw_exec_device *device, uint64_t number)
{
        return __atomic_load_n(&device->page->ends[number % PW_CUDA_FLIGHTS], __ATOMIC_ACQUIRE);
}

/* Has flight `number` ended? A device that is lost is found out here. */
static bool has_ended(struct pw_exec_device *device, uint64_t number)
{
        struct CUevent_st *end = pw_cuda_flight(device, number)->end;
        enum pw_cuda_result result;
        struct pw_error err;

        if (number >= device->unended)
                return false;
        if (pw_guard_end_is(end_of(device, number), number))
                return true;
        result = device->driver->cuEventQuery(end);
        if (result == PW_CUDA_NOT_READY)
                return false;
        if (result != PW_CUDA_SUCCESS && pw_cuda_failed(device, result, "running a function", &err) != PW_OK)
                device->params.lost(device->params.context, err.text);
        return true;
}

/* A word that says more than it can is what spoilt memory says. */
static void look_at_end(struct pw_exec_device *device, uint64_t number, struct pw_device_end *end)
{
        const struct pw_device_call *call = pw_cuda_flight(device, number)->call;
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

/* Nobody calls what comes next. The first may be of the last batch that was launched: the device has nothing to do behind that. */
static void hurry(struct pw_exec_device *device)
{
        if (device->kept == behind_last(device) && device->first >= device->unended)
                end_now(device);
        else if (device->first >= device->last)
                pw_cuda_flush(device);
}

/* Of the first, and those behind it: with it ends how many? */
static uint32_t together(struct pw_exec_device *device)
{
        const struct CUevent_st *end = pw_cuda_flight(device, device->first)->end;
        uint32_t count = 1;

        while (count < device->count && pw_cuda_flight(device, device->first + count)->end == end)
                count++;
        return count;
}

bool pw_cuda_done(struct pw_exec_device *device, struct pw_device_end *ret_end)
{
        const struct pw_cuda_flight *first = pw_cuda_flight(device, device->first);

        if (!device->count)
                return false;
        if (!has_ended(device, device->first)) {
                if (device->asked || device->first == device->kept)
                        hurry(device);
                device->asked = true; /* another call may come first */
                return false;
        }
        *ret_end = (struct pw_device_end){ first->status, PW_GUARD_WHOLE, 0, together(device) };
        if (!first->call->move)
                look_at_end(device, device->first, ret_end);
        device->first++;
        device->count--;
        device->asked = false;
        return true;
}

uint64_t pw_cuda_next_ns(struct pw_exec_device *device)
{
        if (!device->count)
                return UINT64_MAX;
        pw_cuda_flush(device);
        if (device->count < PW_CUDA_FLIGHTS || device->first >= device->unended) /* else another call comes */
                end_now(device);
        pw_cuda_watch(device, pw_cuda_flight(device, device->first)->end);
        return PW_DEVICE_RINGS;
}

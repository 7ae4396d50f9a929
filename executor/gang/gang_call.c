/* A member that calls its function on rooms of its own device. */
#include "executor/gang/gang_private.h"

#include "executor/gang/flight.h"

#include <stdio.h>
#include <unistd.h>

#define SHORT_NS 32000u /* a look at the guards of one that takes longer costs less than a tenth of it */

/* Calls of one run may end together, while nothing is between them that others may wait for. A limit is for one function, and is
 * counted from when those that it ends with began. */
static uint64_t kin_of(const struct pw_exec_gang *gang)
{
        struct pw_launch *launch = gang->launch;

        if (launch->row_run != gang->view->run) {
                launch->row_run = gang->view->run;
                launch->row++;
        }
        if (!gang->node->took_ns || gang->node->took_ns > SHORT_NS || gang->node->image->time_limit_us)
                return 0;
        return launch->row;
}

/* All but what kinds need that do it later. Each member has its line: a compiler that clears the rest first takes as long as the
 * guard. */
static inline struct pw_device_call call_of(const struct pw_exec_gang *gang, const struct pw_task *task)
{
        const struct pw_launch *launch = gang->launch;
        struct pw_device_call call;

        call.move = NULL;
        call.function = gang->node->function;
        call.task = task;
        call.rests = gang->node->rests;
        call.codes = NULL;
        call.code_count = 0;
        call.serial = 0;
        call.zeroes = pw_gang_is_shared(launch) ? pw_gang_rooms_take(gang) : 0;
        call.kin = 0;
        call.guard = pw_guard_make(&launch->guard_key, gang->seq);
        call.may_run = NULL;
        call.launches = NULL;
        return call;
}

struct pw_device_call pw_gang_call_make(const struct pw_exec_gang *gang, const struct pw_task *task)
{
        const struct pw_launch *launch = gang->launch;
        struct pw_device_call call = call_of(gang, task);

        call.kin = kin_of(gang);
        if (launch->programs.kernels) {
                call.codes = pw_module_table_of(gang->node->module)->codes;
                call.code_count = pw_module_table_of(gang->node->module)->code_count;
                call.serial = pw_module_serial(gang->node->module);
        }
        return call;
}

static enum pw_status function_run(struct pw_exec_gang *gang, struct pw_device_end *ret_end)
{
        struct pw_launch *launch = gang->launch;
        struct pw_task *task = &gang->node->task;
        struct pw_device_call call = call_of(gang, task);
        uint64_t limit = gang->node->image->time_limit_us;
        enum pw_status status;

        launch->text[0] = 0;
        /* Where the call has a limit of its own, exactly; else as of the gang's start. */
        atomic_store_explicit(&launch->own->running_since_ns, limit ? pw_launch_clock_ns() : pw_launch_now_ns(launch),
                              memory_order_release);
        status = launch->given.kind->launch(launch->given.handle, &call, ret_end);
        if (status != PW_OK)
                pw_gang_rooms_forget(gang);
        atomic_store_explicit(&launch->own->running_since_ns, 0, memory_order_release);
        launch->text[sizeof launch->text - 1] = 0;
        return status;
}

/* The function wrote past output `index`, or past its scratch memory, which comes behind them. If it went past the room too,
 * nothing that lies in the device's memory can be trusted: the process ends, and the device is lost as by a crash. */
__attribute__((cold, noinline)) static struct pw_room_head overrun(const struct pw_exec_gang *gang, uint32_t index,
                                                                   enum pw_guard_state state)
{
        char text[200], what[32] = "its scratch memory";
        struct pw_room_head fault;

        if (index < gang->node->task.output_count)
                snprintf(what, sizeof what, "output %u", index);
        snprintf(text, sizeof text, "%s is %lu bytes here%s", what, (unsigned long)gang->node->output_values[index].bytes,
                 state == PW_GUARD_PASSED ? ", and what it wrote goes on behind its room: the device is lost" : "");
        fault = pw_gang_cause(gang, PW_OVERRUN, text);
        if (state == PW_GUARD_PASSED) {
                atomic_store(&gang->launch->own->spoilt_before, gang->seq);
                _exit(PW_EXIT_OVERRUN);
        }
        return fault;
}

/* A module may harm the process as it is loaded, and a function when it first runs. */
static void end_if_detached(const struct pw_exec_gang *gang)
{
        const struct pw_surroundings *around = gang->launch->given.around;

        if (around->detached)
                around->detached(around->context);
}

static void function_find(struct pw_exec_gang *gang)
{
        enum pw_status status;
        struct pw_error err;

        /* Code of modules runs, which may not come back. */
        atomic_store_explicit(&gang->launch->own->loading, gang->seq, memory_order_relaxed);
        pw_launch_launching(gang->launch, gang->seq);
        status = pw_program_function_find(&gang->launch->programs, gang->node, &err);
        pw_launch_launching(gang->launch, 0);
        atomic_store_explicit(&gang->launch->own->loading, 0, memory_order_relaxed);
        if (status != PW_OK)
                pw_launch_die(gang->launch, &err);
        gang->node->task.error_text = gang->launch->text;
        gang->node->task.error_text_bytes = sizeof gang->launch->text;
        end_if_detached(gang);
}

void pw_gang_tried(const struct pw_exec_gang *gang)
{
        if (gang->node->tried)
                return;
        gang->node->tried = true;
        end_if_detached(gang);
}

/* One that a call under way writes may yet become a value. */
static bool may_be_value(const struct pw_exec_gang *gang, const struct pw_room_head *head, struct pw_room_head *ret_fault)
{
        return pw_flights_writer(gang->launch->flights, head) ||
               pw_gang_is_value(gang, head, gang->launch->given.device, ret_fault);
}

bool pw_gang_call_prepare(struct pw_exec_gang *gang, struct pw_room_head *ret_outcome)
{
        struct pw_program_node *node = gang->node;
        struct pw_room_head next;

        ret_outcome->status = PW_OK;
        for (uint32_t i = 0; i < node->image->input_count; i++) {
                struct pw_place place = pw_run_room(gang->view, &node->inputs[i]);
                if (!may_be_value(gang, place.head, &next))
                        pw_gang_fault_join(ret_outcome, &next);
                node->input_values[i].data = place.data;
        }
        if (ret_outcome->status != PW_OK)
                return false;
        if (!node->function && !node->fault)
                function_find(gang);
        if (!node->function) {
                *ret_outcome = pw_gang_cause(gang, node->fault->status, node->fault->text);
                return false;
        }
        for (uint32_t i = 0; i < node->image->output_count; i++)
                node->output_values[i].data = pw_run_room(gang->view, &node->outputs[i]).data;
        if (node->task.scratch_bytes)
                node->task.scratch = node->output_values[node->task.output_count].data;
        return true;
}

struct pw_room_head pw_gang_call_outcome(const struct pw_exec_gang *gang, const struct pw_device_end *end, const char *text)
{
        enum pw_status status;
        char number[48];

        if (end->guard != PW_GUARD_WHOLE)
                return overrun(gang, end->output, end->guard);
        if (end->status == PW_OK)
                return pw_gang_fault(gang, PW_OK);
        status = pw_status_told((uint32_t)end->status); /* a function may return any number */
        if (!text[0] && status != end->status) {
                snprintf(number, sizeof number, "it returned %d, which is no status", (int)end->status);
                return pw_gang_cause(gang, status, number);
        }
        return pw_gang_cause(gang, status, text[0] ? text : pw_status_text(status));
}

struct pw_room_head pw_gang_call(struct pw_exec_gang *gang)
{
        struct pw_room_head outcome;
        struct pw_device_end end = { PW_OK, PW_GUARD_WHOLE, 0, 0 };
        enum pw_status status;

        if (!pw_gang_call_prepare(gang, &outcome))
                return outcome;
        status = function_run(gang, &end);
        if (status != PW_OK)
                end.status = status;
        pw_gang_tried(gang);
        return pw_gang_call_outcome(gang, &end, gang->launch->text);
}

/* Gangs under way on a device. */
#include "executor/gang/flight.h"

#include "base/memory.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>

static struct pw_flight *flight_at(struct pw_flights *flights, uint32_t i)
{
        return &flights->all[(flights->first + i) % PW_FLIGHTS];
}

struct pw_flights *pw_flights_new(void) { return calloc(1, sizeof(struct pw_flights)); }

void pw_flights_free(struct pw_flights *flights)
{
        for (uint32_t i = 0; flights && i < PW_FLIGHTS; i++) {
                free(flights->all[i].values);
                free(flights->all[i].heads);
                free(flights->all[i].sources);
        }
        free(flights);
}

/* --- what is yet to be written ----------------------------------------------------------------------------------------------- */

static bool writes(const struct pw_flight *flight, const struct pw_room_head *head)
{
        if (flight->kind == PW_FLIGHT_MOVE)
                return flight->heads[0] == head;
        for (uint32_t i = 0; flight->kind == PW_FLIGHT_CALL && i < flight->task.output_count; i++)
                if (flight->heads[flight->task.input_count + i] == head)
                        return true;
        return false;
}

uint64_t pw_flights_writer(struct pw_flights *flights, const struct pw_room_head *head)
{
        for (uint32_t i = flights ? flights->count : 0; i-- > 0;)
                if (writes(flight_at(flights, i), head))
                        return flight_at(flights, i)->gang.seq;
        return 0;
}

/* Those ahead are done, and those behind it have written nothing: what it was given is as the heads say. Status PW_OK: values. */
static struct pw_room_head fault_of(const struct pw_flight *flight)
{
        struct pw_room_head fault = pw_gang_fault(&flight->gang, PW_OK), next;

        for (uint32_t i = 0; i < flight->task.input_count; i++)
                if (!pw_gang_is_value(&flight->gang, flight->heads[i], flight->gang.launch->given.device, &next))
                        pw_gang_fault_join(&fault, &next);
        return fault;
}

/* One whose input failed ahead of it on this device is not run, as where that is known before its launch. (A device that begins by
 * itself cannot ask: its functions will have to bear what one that failed left behind.) */
static bool may_run(const struct pw_device_call *call)
{
        return fault_of(pw_container_of(call, const struct pw_flight, call)).status == PW_OK;
}

static void launches(const struct pw_device_call *call, bool begins)
{
        const struct pw_flight *flight = pw_container_of(call, const struct pw_flight, call);

        pw_launch_launching(flight->gang.launch, begins ? flight->gang.seq : 0);
}

/* --- the end ----------------------------------------------------------------------------------------------------------------- */

/* The first of them is what the device does from now on. */
static void first_begins(struct pw_launch *launch, uint64_t now_ns)
{
        struct pw_flights *flights = launch->flights;
        struct pw_flight *flight = flight_at(flights, 0);

        flights->began_ns = now_ns;
        pw_launch_begins(launch, flight->gang.seq, now_ns);
        if (flight->kind != PW_FLIGHT_CALL)
                return;
        atomic_store_explicit(&launch->own->running_together, flight->call.kin ? PW_TOGETHER_MOST : 1, memory_order_relaxed);
        atomic_store_explicit(&launch->own->running_since_ns, now_ns, memory_order_release);
}

/* Where ends are seen late, several are at once: one of no time at all is not taken at its word. */
static void measure(struct pw_program_node *node, uint64_t took_ns)
{
        node->took_ns = pw_max_u64(pw_max_u64(took_ns, node->took_ns / 8), 1);
}

/* It is done: the next one is the first. `together` end with it, itself among them: each took the same part of the time. */
static void publish_first(struct pw_launch *launch, enum pw_status status, uint32_t together)
{
        struct pw_flights *flights = launch->flights;
        const struct pw_flight *flight = flight_at(flights, 0);
        uint64_t end_ns;

        launch->now_ns = pw_launch_clock_ns();
        end_ns = flights->began_ns + (launch->now_ns - flights->began_ns) / together;
        if (flight->kind == PW_FLIGHT_CALL)
                measure(flight->gang.node, end_ns - flights->began_ns);
        flights->first = (flights->first + 1) % PW_FLIGHTS;
        flights->count--;
        pw_launch_ended(launch, &flight->gang, &(struct pw_launch_span){ flights->began_ns, end_ns }, status);
        if (flights->count)
                first_begins(launch, end_ns);
}

static struct pw_room_head call_outcome(struct pw_flight *flight, const struct pw_device_end *end)
{
        struct pw_room_head fault = fault_of(flight), outcome;

        atomic_store_explicit(&flight->gang.launch->own->running_since_ns, 0, memory_order_release);
        flight->text[sizeof flight->text - 1] = 0;
        pw_gang_tried(&flight->gang);
        outcome = pw_gang_call_outcome(&flight->gang, end, flight->text);
        return fault.status == PW_OK ? outcome : fault;
}

static struct pw_room_head move_outcome(const struct pw_flight *flight, const struct pw_device_end *end)
{
        const struct pw_gang_move *move = &flight->move;

        if (end->status != PW_OK)
                return pw_gang_rooms_clear(&flight->gang), pw_gang_cause(&flight->gang, end->status, flight->text);
        return pw_gang_look_again(&flight->gang, move->heads, move->assembly.source_count);
}

static void end_first(struct pw_launch *launch, const struct pw_device_end *end)
{
        struct pw_flight *flight = flight_at(launch->flights, 0);
        struct pw_room_head outcome = flight->kind == PW_FLIGHT_CALL ? call_outcome(flight, end) : move_outcome(flight, end);

        pw_gang_outputs_set(&flight->gang, &outcome);
        publish_first(launch, outcome.status, end->together ? end->together : 1);
}

void pw_flights_reap(struct pw_launch *launch)
{
        struct pw_device_end end;

        while (launch->flights->count) {
                struct pw_flight *flight = flight_at(launch->flights, 0);
                if (flight->kind == PW_FLIGHT_PASS)
                        publish_first(launch, PW_OK, 1);
                else if (flight->kind == PW_FLIGHT_SEND)
                        publish_first(launch, pw_gang_send(&flight->gang, false), 1);
                else if (launch->given.kind->done(launch->given.handle, &end))
                        end_first(launch, &end);
                else
                        return;
        }
}

static void sleep_until(uint64_t ns)
{
        struct timespec until = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
                ;
}

/* Until no more than `most` are under way. `serves`: nothing is half done, so others need not wait for that. */
static void wait_for(struct pw_launch *launch, uint32_t most, bool serves)
{
        for (pw_flights_reap(launch); launch->flights->count > most; pw_flights_reap(launch)) {
                uint32_t seen = pw_bells_seen(launch->given.bells, launch->given.device);
                uint64_t next_ns;

                if (serves) {
                        pw_launch_serve(launch);
                        if (launch->flights->count <= most || pw_launch_serves(launch))
                                continue; /* nothing would wake it */
                }
                next_ns = launch->given.kind->next_ns(launch->given.handle);
                if (next_ns == PW_DEVICE_RINGS)
                        pw_bells_sleep(launch->given.bells, launch->given.device, seen,
                                       (int64_t)pw_launch_clock_ns() + PW_BELLS_SLEEP_NS);
                else
                        sleep_until(next_ns);
        }
}

static void await(struct pw_launch *launch, uint32_t most) { wait_for(launch, most, false); }

void pw_flights_drain(struct pw_launch *launch) { await(launch, 0); }

void pw_flights_until(struct pw_launch *launch, const struct pw_room_head *head)
{
        while (pw_flights_writer(launch->flights, head))
                await(launch, launch->flights->count - 1);
}

uint64_t pw_flights_first(struct pw_flights *flights)
{
        return flights->count ? flight_at(flights, 0)->gang.seq : UINT64_MAX;
}

uint64_t pw_flights_oldest(const struct pw_exec_gang *gang)
{
        struct pw_flights *flights = gang->launch->flights;

        return flights && flights->count ? flight_at(flights, 0)->gang.seq : gang->seq;
}

void pw_flights_settle(const struct pw_exec_gang *gang)
{
        pw_flights_drain(gang->launch);
        pw_launch_begins(gang->launch, gang->seq, pw_launch_now_ns(gang->launch));
}

/* --- the launch -------------------------------------------------------------------------------------------------------------- */

static bool reserve(struct pw_flight *flight, uint32_t count)
{
        return (count <= flight->value_capacity ||
                pw_grow((void **)&flight->values, &flight->value_capacity, count, sizeof *flight->values)) &&
               (count <= flight->head_capacity ||
                pw_grow((void **)&flight->heads, &flight->head_capacity, count, sizeof *flight->heads));
}

/* The task of the node, with values and a text of its own: another run of the node may be launched before this one is done. */
static void fill(struct pw_flight *flight, const struct pw_exec_gang *gang)
{
        const struct pw_program_node *node = gang->node;
        uint32_t inputs = node->image->input_count, outputs = node->image->output_count;

        flight->gang = *gang;
        flight->kind = PW_FLIGHT_CALL;
        flight->task = node->task;
        flight->text[0] = 0;
        flight->task.error_text = flight->text;
        flight->task.error_text_bytes = sizeof flight->text;
        flight->task.inputs = flight->values;
        flight->task.outputs = flight->values + inputs;
        memcpy(flight->values, node->input_values, inputs * sizeof *flight->values);
        memcpy(flight->values + inputs, node->output_values, outputs * sizeof *flight->values);
        flight->call = pw_gang_call_make(gang, &flight->task);
        flight->call.may_run = may_run;
        flight->call.launches = launches;
        for (uint32_t i = 0; i < inputs; i++)
                flight->heads[i] = pw_run_room(gang->view, &node->inputs[i]).head;
        for (uint32_t i = 0; i < outputs; i++)
                flight->heads[inputs + i] = pw_run_room(gang->view, &node->outputs[i]).head;
}

/* What is wrong with an input is said once it is known of all of them: as where each is done before the next. */
static bool prepare(struct pw_exec_gang *gang, struct pw_room_head *ret_outcome)
{
        struct pw_launch *launch = gang->launch;

        if (pw_gang_call_prepare(gang, ret_outcome))
                return true;
        if (!launch->flights->count)
                return false;
        pw_flights_drain(launch);
        return pw_gang_call_prepare(gang, ret_outcome);
}

bool pw_flight_launch(struct pw_exec_gang *gang, struct pw_room_head *ret_outcome)
{
        struct pw_launch *launch = gang->launch;
        struct pw_flights *flights = launch->flights;
        bool first_run = !gang->node->tried;
        struct pw_device_end end;
        struct pw_flight *flight;
        enum pw_status status;

        wait_for(launch, first_run ? 0 : PW_FLIGHTS - 1, true);
        if (first_run) /* a module may harm the process as it is loaded, and a function when it first runs */
                pw_flights_settle(gang);
        if (!prepare(gang, ret_outcome)) {
                pw_flights_settle(gang);
                return false;
        }
        flight = flight_at(flights, flights->count);
        if (!reserve(flight, gang->node->image->input_count + gang->node->image->output_count))
                pw_launch_die(launch, &(struct pw_error){ PW_NO_MEMORY, "no memory for a call" });
        fill(flight, gang);
        status = launch->given.kind->launch(launch->given.handle, &flight->call, &end);
        if (status != PW_OK) {
                pw_gang_rooms_forget(gang);
                pw_flights_settle(gang);
                *ret_outcome = pw_gang_cause(gang, status, flight->text[0] ? flight->text : pw_status_text(status));
                return false;
        }
        if (!flights->count++)
                first_begins(launch, pw_launch_clock_ns());
        if (first_run)
                wait_for(launch, 0, true);
        return true;
}

/* --- what is moved ----------------------------------------------------------------------------------------------------------- */

/* Another run of the node may find others before this is done. */
static bool keep(struct pw_flight *flight, const struct pw_gang_move *move)
{
        const struct pw_assembly *assembly = &move->assembly;
        uint32_t count = assembly->source_count;

        if (count > flight->source_capacity) {
                free(flight->sources);
                flight->source_capacity = 0;
                flight->sources = malloc(count * (sizeof *flight->sources + sizeof *flight->source_heads + sizeof *flight->groups));
                if (!flight->sources)
                        return false;
                flight->source_capacity = count;
                flight->source_heads = (struct pw_source_head *)(flight->sources + count);
                flight->groups = (uint32_t *)(flight->source_heads + count);
        }
        for (uint32_t i = 0; i < count; i++) { /* of an empty shard there are none */
                flight->sources[i] = assembly->sources[i];
                flight->source_heads[i] = move->heads[i];
                flight->groups[i] = assembly->group_of[i];
        }
        flight->move = *move;
        flight->move.assembly.sources = flight->sources;
        flight->move.assembly.group_of = flight->groups;
        flight->move.heads = flight->source_heads;
        return true;
}

static enum pw_status move(const struct pw_device_call *call)
{
        struct pw_flight *flight = pw_container_of(call, struct pw_flight, call);
        struct pw_error err;
        enum pw_status status = pw_gang_move_make(&flight->gang, &flight->move, &err);

        if (status != PW_OK)
                snprintf(flight->text, sizeof flight->text, "%.*s", (int)sizeof flight->text - 1, err.text);
        return status;
}

bool pw_flight_move(struct pw_exec_gang *gang, const struct pw_gang_move *given, struct pw_room_head *ret_outcome)
{
        struct pw_launch *launch = gang->launch;
        struct pw_flights *flights = launch->flights;
        struct pw_device_end end;
        struct pw_flight *flight;
        enum pw_status status;

        await(launch, PW_FLIGHTS - 1);
        flight = flight_at(flights, flights->count);
        if (!reserve(flight, 1) || !keep(flight, given))
                pw_launch_die(launch, &(struct pw_error){ PW_NO_MEMORY, "no memory for what a member reads" });
        flight->gang = *gang;
        flight->kind = PW_FLIGHT_MOVE;
        flight->text[0] = 0;
        flight->heads[0] = pw_run_room(gang->view, &gang->node->outputs[0]).head;
        flight->task = (struct pw_task){ .error_text = flight->text, .error_text_bytes = sizeof flight->text };
        flight->call = (struct pw_device_call){ .move = move, .task = &flight->task };
        status = launch->given.kind->launch(launch->given.handle, &flight->call, &end);
        if (status != PW_OK) {
                pw_flights_settle(gang);
                *ret_outcome = pw_gang_cause(gang, status, flight->text[0] ? flight->text : pw_status_text(status));
                return false;
        }
        if (!flights->count++)
                first_begins(launch, pw_launch_clock_ns());
        return true;
}

/* --- what is no work of the device ------------------------------------------------------------------------------------------- */

static bool append(const struct pw_exec_gang *gang, enum pw_flight_kind kind)
{
        struct pw_flights *flights = gang->launch->flights;
        struct pw_flight *flight;

        if (!flights || !flights->count)
                return false;
        await(gang->launch, PW_FLIGHTS - 1);
        flight = flight_at(flights, flights->count++);
        flight->gang = *gang;
        flight->kind = kind;
        if (flights->count == 1)
                first_begins(gang->launch, pw_launch_clock_ns());
        return true;
}

bool pw_flight_pass(const struct pw_exec_gang *gang) { return append(gang, PW_FLIGHT_PASS); }

bool pw_flight_send(const struct pw_exec_gang *gang) { return append(gang, PW_FLIGHT_SEND); }

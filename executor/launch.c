/* The launch loop. */
#include "executor/launch.h"

#include "base/log.h"
#include "executor/gang/fetch.h"
#include "executor/gang/flight.h"
#include "executor/gang/unpin.h"
#include "executor/wait.h"

#include <sched.h>
#include <sys/random.h>
#include <time.h>

/* Turns of spinning before a wait yields: with a processor for each device the other one runs; with fewer it may need ours. */
#define SPIN_TURNS 200u
#define SPIN_TURNS_CROWDED 10u

uint64_t pw_launch_clock_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void pw_launch_die(const struct pw_launch *launch, const struct pw_error *err)
{
        pw_log(launch->given.log, PW_LOG_ERROR, "executor cannot go on status=%s text=\"%s\"", pw_status_name(err->status),
               err->text);
        _exit(1);
}

static uint32_t spin_turns(const struct pw_launch_params *params)
{
        cpu_set_t cpus;

        if (sched_getaffinity(0, sizeof cpus, &cpus))
                return SPIN_TURNS_CROWDED;
        return (uint32_t)CPU_COUNT(&cpus) >= params->device_count ? SPIN_TURNS : SPIN_TURNS_CROWDED;
}

static void settle(void *context) { pw_flights_drain(context); }

struct pw_launch *pw_launch_new(const struct pw_launch_params *params)
{
        struct pw_launch *launch = calloc(1, sizeof *launch);

        if (!launch)
                return NULL;
        if (getrandom(&launch->guard_key, sizeof launch->guard_key, 0) != sizeof launch->guard_key) {
                free(launch);
                return NULL;
        }
        launch->given = *params;
        if (!(params->kind->caps(params->handle) & PW_DEVICE_SYNCHRONOUS) && !(launch->flights = pw_flights_new())) {
                free(launch);
                return NULL;
        }
        launch->memory = params->kind->memory(params->handle);
        launch->own = params->boards[params->device];
        launch->board = params->islands[params->island];
        launch->next = pw_wait_load(&launch->own->done.seq) + 1;
        launch->gone = atomic_load(&launch->board->gone[params->device]);
        launch->leaving = atomic_load(&launch->board->leaving[params->device]);
        launch->spin_turns = spin_turns(params);
        pw_segments_init(&launch->segments, params->around);
        if (params->around->leaving)
                pw_pins_init(&launch->segments.pins, launch->memory, params->handle, &launch->own->pins);
        pw_modules_init(&launch->modules, params->around);
        launch->programs = (struct pw_programs){ .modules = &launch->modules, .islands = launch->given.islands,
                                                 .host = params->host,
                                                 .device = params->device,
                                                 .island = params->island,
                                                 .kernels = params->kind->caps(params->handle) & PW_DEVICE_KERNELS,
                                                 .settle = launch->flights ? settle : NULL,
                                                 .context = launch };
        pw_exec_programs_init(&launch->programs);
        launch->runs = (struct pw_runs){ .programs = &launch->programs, .segments = &launch->segments };
        return launch;
}

void pw_launch_free(struct pw_launch *launch)
{
        if (!launch)
                return;
        pw_runs_done(&launch->runs);
        pw_exec_programs_done(&launch->programs);
        pw_modules_done(&launch->modules);
        pw_segments_done(&launch->segments);
        pw_flights_free(launch->flights);
        free(launch);
}

/* --- one gang ------------------------------------------------------------------------------------------------------------ */

/* Readers see whole records up to history_count, and look at the count again for those that may have been overwritten. Member by
 * member: a record that is made elsewhere and copied is read before it is written, which costs as much as the rest. */
static void history_add(const struct pw_launch *launch, const struct pw_exec_gang *gang, const struct pw_launch_span *span,
                        enum pw_status status)
{
        struct pw_device_board *board = launch->own;
        uint64_t count = atomic_load_explicit(&board->history_count, memory_order_relaxed);
        struct pw_history *record = &board->history[count % PW_HISTORY];

        record->seq = gang->seq;
        record->run = gang->view->run;
        record->start_ns = span->start_ns;
        record->end_ns = span->end_ns;
        record->node = gang->index;
        record->status = status;
        record->peak_bytes = gang->view->peak_bytes;
        atomic_store_explicit(&board->history_count, count + 1, memory_order_release);
}

/* Say that gang `seq` is done here, wake who waits for it. */
static void publish_done(struct pw_launch *launch, uint64_t seq)
{
        uint32_t device = launch->given.device;
        uint64_t count = atomic_load_explicit(&launch->own->done.count, memory_order_relaxed) + 1, ring_at;

        atomic_store_explicit(&launch->own->done.at_ns, pw_launch_device_ns(launch), memory_order_relaxed);
        atomic_store_explicit(&launch->own->done.count, count, memory_order_relaxed);
        atomic_store(&launch->own->done.seq, seq);
        atomic_store_explicit(&launch->own->running, 0, memory_order_relaxed);
        pw_bells_ring(launch->given.bells, &launch->given.bells->sleepers[device].bits, UINT64_MAX);
        if (!atomic_load(&launch->board->daemon_asleep))
                return;
        ring_at = atomic_load(&launch->board->ring_at[device]);
        if (count < ring_at || ring_at == launch->rung_at)
                return;
        launch->rung_at = ring_at; /* the daemon writes a higher one before it sleeps again */
        launch->given.around->doorbell(launch->given.around->context);
}

void pw_launch_begins(struct pw_launch *launch, uint64_t seq, uint64_t now_ns)
{
        atomic_store_explicit(&launch->own->started_ns, now_ns, memory_order_relaxed);
        atomic_store_explicit(&launch->own->running, seq, memory_order_release);
}

void pw_launch_launching(struct pw_launch *launch, uint64_t seq)
{
        if (seq)
                atomic_store_explicit(&launch->own->launching_since_ns, pw_launch_clock_ns(), memory_order_relaxed);
        atomic_store_explicit(&launch->own->launching, seq, memory_order_release);
}

void pw_launch_ended(struct pw_launch *launch, const struct pw_exec_gang *gang, const struct pw_launch_span *span,
                     enum pw_status status)
{
        atomic_store_explicit(&launch->own->busy_ns, atomic_load_explicit(&launch->own->busy_ns, memory_order_relaxed) +
                                                             span->end_ns - span->start_ns, memory_order_relaxed);
        history_add(launch, gang, span, status);
        publish_done(launch, gang->seq);
}

static void run_gang(struct pw_launch *launch, const struct pw_order *order, uint64_t seq)
{
        uint64_t start_ns = launch->now_ns = pw_launch_now_ns(launch);
        struct pw_exec_gang gang = { .launch = launch, .index = order->node, .seq = seq, .members = order->members };
        enum pw_status status = PW_OK;
        bool launched = false;
        struct pw_error err;

        if (!launch->flights || !launch->flights->count)
                pw_launch_begins(launch, seq, start_ns);
        if (pw_runs_get(&launch->runs, order->run, &gang.view, &err) != PW_OK ||
            pw_program_node_get(&launch->programs, gang.view->program, order->node, &gang.node, &err) != PW_OK)
                pw_launch_die(launch, &err);
        if (gang.view->program->fault.status != PW_OK && gang.view->refused == PW_OK)
                pw_run_refuse(gang.view, &gang.view->program->fault);
        if (gang.node->role)
                status = pw_gang_run(&gang, &launched);
        else if (launch->flights)
                pw_flights_settle(&gang);
        if (launched)
                return;
        launch->now_ns = pw_launch_clock_ns();
        if (launch->flights) /* those ahead of it may have been done only then */
                start_ns = atomic_load_explicit(&launch->own->started_ns, memory_order_relaxed);
        pw_launch_ended(launch, &gang, &(struct pw_launch_span){ start_ns, launch->now_ns }, status);
}

bool pw_launch_serves(const struct pw_launch *launch)
{
        return pw_launch_has_fetches(launch) || pw_launch_has_leaving(launch);
}

void pw_launch_serve(struct pw_launch *launch)
{
        if (pw_launch_has_fetches(launch))
                pw_fetches_serve(launch);
        if (pw_launch_has_leaving(launch))
                pw_pins_leave(launch);
}

/* --- the loop ------------------------------------------------------------------------------------------------------------ */

/* Read before what the caller loads next: each load is an acquire. */
static struct pw_order order_read(struct pw_order *order)
{
        return (struct pw_order){ .run = __atomic_load_n(&order->run, __ATOMIC_ACQUIRE),
                                  .node = __atomic_load_n(&order->node, __ATOMIC_ACQUIRE),
                                  .members = __atomic_load_n(&order->members, __ATOMIC_ACQUIRE) };
}

static void let_go(struct pw_launch *launch)
{
        if (launch->flights)
                pw_flights_drain(launch);
        /* before it asks: what comes later counts up again */
        launch->gone = atomic_load(&launch->board->gone[launch->given.device]);
        pw_segments_let_go(&launch->segments);
}

uint32_t pw_launch_turn(struct pw_launch *launch)
{
        struct pw_island_board *board = launch->board;
        uint64_t member = UINT64_C(1) << launch->given.device, head = pw_wait_load(&board->head);
        uint32_t count = 0;

        if (pw_launch_has_gone(launch))
                let_go(launch);
        pw_launch_serve(launch);
        /* What lies farther back was not ours, or is done. */
        if (head >= PW_ORDER_REACH)
                launch->next = pw_max_u64(launch->next, head - PW_ORDER_REACH + 1);
        if (launch->flights)
                pw_flights_reap(launch);
        for (; launch->next <= head; launch->next++) {
                struct pw_order order = order_read(&board->log[launch->next % PW_ORDER_LOG]);
                if (!(order.members & member) || pw_wait_load(&board->written) >= launch->next + PW_ORDER_LOG)
                        continue; /* of others, or overwritten while it was read */
                run_gang(launch, &order, launch->next);
                count++;
                if (launch->flights)
                        pw_flights_reap(launch);
                pw_launch_serve(launch);
        }
        return count;
}

void pw_launch_wait(struct pw_launch *launch)
{
        struct pw_bells *bells = launch->given.bells;

        pw_wait_rung(launch, &launch->board->head, launch->next, &bells->order_sleepers[launch->given.island].bits,
                     launch->now_ns ? launch->now_ns + PW_YIELD_NS : 0);
}

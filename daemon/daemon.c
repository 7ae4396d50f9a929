/* pathwaysd from start to end: what is made in which order, the loop, draining and stopping. */
#include "daemon/daemon.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/yield.h"
#include "daemon/child/child.h"
#include "daemon/child/measure.h"
#include "daemon/client/tenant.h"
#include "daemon/client/client.h"
#include "daemon/closer.h"
#include "daemon/device/gpus.h"
#include "daemon/effect.h"
#include "daemon/http/http.h"
#include "daemon/inspect/list_peer.h"
#include "daemon/inspect/observer.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/freezer/frozen.h"
#include "daemon/memory/limits.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"
#include "daemon/meta/carry.h"
#include "daemon/meta/own.h"
#include "daemon/meta/meta.h"
#include "daemon/meta/place.h"
#include "daemon/module/module.h"
#include "daemon/notify.h"
#include "daemon/peer/page/paging.h"
#include "daemon/rundir.h"
#include "daemon/session/complaint.h"
#include "daemon/session/output.h"
#include "daemon/settings/operators.h"
#include "daemon/settings/quota.h"
#include "daemon/settings/reload.h"
#include "daemon/loop/calls.h"
#include "daemon/loop/timer.h"
#include "daemon/loop/turn.h"
#include "daemon/work/compiler.h"
#include "daemon/work/shape/describe.h"
#include "daemon/work/program.h"
#include "daemon/work/submit.h"
#include "plane/hint.h"

#include <errno.h>
#include <event2/event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

/* While work is in flight the loop yields this often before it sleeps: a wake-up costs more than what is awaited. */
#define YIELDS 40
/* Turns between looks at sockets while there is work, unless they take long. */
#define TURNS_PER_POLL 16
#define POLL_US 1000u
#define FDS_MAX (1u << 20)

/* --- start ---------------------------------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *context)
{
        struct pw_daemon *daemon = context;

        (void)what;
        pw_log(&daemon->log, PW_LOG_INFO, "stopping signal=%d runs_in_flight=%llu", (int)number,
               (unsigned long long)daemon->counters.runs_in_flight);
        if (daemon->phase < PW_DRAINING)
                daemon->phase = PW_DRAINING;
        else
                daemon->phase = PW_STOPPING;
        pw_daemon_notify(daemon, "STOPPING=1\nSTATUS=%llu runs are in flight", (unsigned long long)daemon->counters.runs_in_flight);
}

static void on_hangup(evutil_socket_t number, short what, void *context)
{
        struct pw_daemon *daemon = context;

        (void)number;
        (void)what;
        if (daemon->phase < PW_DRAINING && daemon->store)
                pw_reload(daemon);
}

/* A session takes a few descriptors, and there may be thousands. */
static void raise_limits(struct pw_daemon *daemon)
{
        struct rlimit limit;

        daemon->clients.fd_limit = 1024; /* everywhere */
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        daemon->clients.fd_limit = (uint32_t)pw_min_u64(limit.rlim_cur, FDS_MAX);
        limit.rlim_cur = pw_min_u64(limit.rlim_max, FDS_MAX);
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                pw_log(&daemon->log, PW_LOG_WARNING, "limit of descriptors not raised");
        else
                daemon->clients.fd_limit = (uint32_t)limit.rlim_cur;
}

static enum pw_status make_loop(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct event_config *config = event_config_new();

        if (config)
                event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        daemon->loop.base = config ? event_base_new_with_config(config) : NULL;
        if (config)
                event_config_free(config);
        daemon->loop.signals[0] = daemon->loop.base ? evsignal_new(daemon->loop.base, SIGTERM, on_signal, daemon) : NULL;
        daemon->loop.signals[1] = daemon->loop.base ? evsignal_new(daemon->loop.base, SIGINT, on_signal, daemon) : NULL;
        daemon->loop.signals[2] = daemon->loop.base ? evsignal_new(daemon->loop.base, SIGHUP, on_hangup, daemon) : NULL;
        if (!daemon->loop.base)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the loop");
        for (uint32_t i = 0; i < pw_array_count(daemon->loop.signals); i++)
                if (!daemon->loop.signals[i] || event_add(daemon->loop.signals[i], NULL) < 0)
                        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for signals");
        signal(SIGPIPE, SIG_IGN);
        raise_limits(daemon);
        return pw_alarm_init(&daemon->loop.alarm, daemon->loop.base, ret_err);
}

/* No more than a memory cgroup leaves: beyond it the kernel kills. An eighth of that is for the processes themselves. */
static void cap_memory(struct pw_daemon *daemon, const struct pw_limits *limits)
{
        uint64_t asked = daemon->settings.host_memory, most = limits->group_bytes - limits->group_bytes / 8;
        char asked_text[16], left_text[16], most_text[16];

        daemon->memory.asked_bytes = asked;
        if (limits->group_bytes == UINT64_MAX || asked <= most)
                return;
        daemon->settings.host_memory = most;
        pw_size_format(asked, asked_text);
        pw_size_format(limits->group_bytes, left_text);
        pw_size_format(most, most_text);
        snprintf(daemon->memory.capped, sizeof daemon->memory.capped, "%s were asked for, cgroup %s leaves %s", asked_text,
                 limits->group, left_text);
        pw_log(&daemon->log, PW_LOG_WARNING, "host memory capped asked=\"%s\" has=\"%s\" cgroup=%s leaves=\"%s\"",
               asked_text, most_text, limits->group, left_text);
}

/* The memory of every device lies inside of host memory. */
static enum pw_status size_memory(struct pw_daemon *daemon, uint64_t *ret_reserved, struct pw_error *ret_err)
{
        struct pw_settings *settings = &daemon->settings;
        uint32_t count = pw_settings_in_host(settings);
        uint64_t reserved;
        struct pw_limits limits;
        char has[16], needs[16];
        enum pw_status status = pw_limits_read("", &limits, ret_err);

        if (status != PW_OK)
                return status;
        if (!settings->host_memory)
                settings->host_memory = pw_min_u64(limits.available_bytes, limits.group_bytes) / 4;
        if (settings->host_memory > limits.available_bytes)
                return pw_error_set(ret_err, PW_NO_SPACE, "--host-memory: %s asked for, %s are available",
                                    pw_size_format(settings->host_memory, has), pw_size_format(limits.available_bytes, needs));
        cap_memory(daemon, &limits);
        settings->host_memory &= ~UINT64_C(4095);
        if (!pw_mul_ok(settings->device_memory, count, &reserved) || reserved + PW_MIB > settings->host_memory)
                return pw_error_set(ret_err, PW_NO_SPACE,
                                    "host memory of %s does not hold %u devices of %s each: raise --host-memory or lower "
                                    "--device-memory%s%s",
                                    pw_size_format(settings->host_memory, has), count,
                                    pw_size_format(settings->device_memory, needs), daemon->memory.capped[0] ? ": " : "",
                                    daemon->memory.capped);
        *ret_reserved = reserved;
        return PW_OK;
}

static enum pw_status make_core(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        uint64_t reserved;
        enum pw_status status = daemon->settings.device_memory ? PW_OK : pw_children_measure(daemon, ret_err);

        if (status == PW_OK)
                status = size_memory(daemon, &reserved, ret_err);
        if (status != PW_OK)
                return status;
        daemon->store = pw_store_new(&(struct pw_store_params){ daemon->host, daemon->epoch, daemon->settings.host_memory,
                                                                reserved, daemon->hash_secret,
                                                                daemon->carried.cluster != NULL,
                                                                pw_settings_apart(&daemon->settings) });
        daemon->boards = pw_boards_new(daemon->host);
        pw_fetches_told(daemon, pw_fetched_value);
        if (!daemon->store || !daemon->boards)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory");
        daemon->scheduler = pw_scheduler_new(&(struct pw_scheduler_params){ .ahead = daemon->settings.ahead, .host = daemon->host,
                                                                            .epoch = daemon->epoch,
                                                                            .policy = daemon->settings.policy,
                                                                            .admit_us = daemon->settings.admit_us },
                                             ret_err);
        return daemon->scheduler ? PW_OK : ret_err->status;
}

/* Standard error, without blocking on it: its reader may be stopped. */
static enum pw_status set_log(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        pw_log_limits_init(&daemon->complaints);
        daemon->log = (struct pw_log){ .fd = pw_log_unblocked(STDERR_FILENO), .who = "pathwaysd",
                                       .journal = daemon->environment.journal,
                                       .lost = &daemon->counters.lines_lost };
        enum pw_status status = pw_settings_log_level(&daemon->settings, &daemon->log.level, ret_err);

        if (daemon->log.fd < 0)
                daemon->log.fd = STDERR_FILENO;
        for (uint32_t i = 0; i < pw_array_count(daemon->environment.odd) && daemon->environment.odd[i][0]; i++)
                pw_log(&daemon->log, PW_LOG_WARNING,
                       "variable of the environment makes no sense, it is not used: see ENVIRONMENT in pathwaysd(8) name=%s",
                       daemon->environment.odd[i]);
        return status;
}

/* This host's number and epoch. One that is new in its cluster has none before metadata says so: meanwhile whoever connects is
 * told. */
static enum pw_status take_place(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_meta_carry_params params = { .hosts = NULL };
        enum pw_status status = pw_own_host_name(daemon, ret_err);

        if (status == PW_OK && daemon->settings.listen)
                status = pw_peers_new(daemon, &daemon->peers, ret_err);
        pw_paging_made_by(daemon, &pw_list_for_hosts);
        pw_peers_travels(daemon, pw_traces_travelled);
        if (daemon->peers)
                params = (struct pw_meta_carry_params){ &pw_peers_hear, daemon->peers, pw_peers_addresses(daemon->peers) };
        if (status == PW_OK)
                status = pw_meta_carry_open(daemon, &params, ret_err);
        if (status != PW_OK || daemon->epoch)
                return status;
        status = pw_sessions_listen(daemon, ret_err);
        return status == PW_OK ? pw_place_await(daemon, ret_err) : status;
}

static enum pw_status start(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        enum pw_status status;

        pw_environment_read(&daemon->environment);
        status = set_log(daemon, ret_err);
        if (status == PW_OK && getrandom(&daemon->hash_secret, sizeof daemon->hash_secret, 0) != sizeof daemon->hash_secret)
                status = pw_error_errno(ret_err, errno, "getrandom");
        if (status == PW_OK)
                status = pw_futex_check(ret_err);
        daemon->device_count = daemon->settings.kinds.count;
        if (status == PW_OK)
                status = pw_operators_find(daemon->settings.operators, &daemon->operators, ret_err);
        if (status == PW_OK)
                status = pw_rundir_take(daemon, ret_err);
        if (status == PW_OK)
                status = make_loop(daemon, ret_err);
        if (status == PW_OK)
                status = take_place(daemon, ret_err);
        if (status == PW_OK)
                status = make_core(daemon, ret_err);
        if (status == PW_OK)
                status = pw_worker_new(daemon, &daemon->memory.worker, ret_err);
        if (status == PW_OK)
                status = pw_modules_new(daemon, &daemon->modules, ret_err);
        if (status == PW_OK)
                status = pw_describe_new(daemon, &daemon->work.describe, ret_err);
        if (status == PW_OK)
                status = pw_compiler_new(daemon, &daemon->work.compiler, ret_err);
        if (status == PW_OK)
                status = pw_gpus_new(daemon, &daemon->gpus, ret_err);
        if (status == PW_OK)
                status = pw_children_start(daemon, &pw_child_calls, ret_err);
        if (status == PW_OK && !daemon->clients.listener)
                status = pw_sessions_listen(daemon, ret_err);
        if (status == PW_OK && daemon->settings.http)
                status = pw_http_new(daemon, &daemon->http, ret_err);
        daemon->http_address = pw_http_address(daemon->http);
        if (status == PW_OK)
                pw_watchdog_start(daemon);
        return status;
}

static void warn_of_quotas(const struct pw_daemon *daemon)
{
        struct pw_quotas_unknown unknown = { 0 };

        pw_quotas_look_up(&daemon->settings.quotas, &unknown);
        pw_quotas_warn(daemon, &unknown);
        pw_quotas_unknown_done(&unknown);
}

enum pw_status pw_daemon_new(struct pw_settings *settings_take, int argc, char **argv, struct pw_daemon **ret_daemon,
                             struct pw_error *ret_err)
{
        struct pw_daemon *daemon = calloc(1, sizeof *daemon);
        enum pw_status status;

        if (!daemon)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory");
        daemon->settings = *settings_take;
        daemon->argc = argc;
        daemon->argv = argv;
        daemon->started_us = pw_now_us();
        daemon->lock_fd = -1;
        daemon->loop.settle = pw_effects;
        pw_loop_init(&daemon->loop);
        daemon->clients.observer = &pw_inspect_observer;
        daemon->registry.tenancy = &pw_tenants_by_name;
        pw_clients_init(&daemon->clients);
        pw_memory_init(&daemon->memory);
        pw_work_init(&daemon->work);
        pw_children_init(&daemon->children);
        pw_inspection_init(&daemon->inspection);
        status = start(daemon, ret_err);
        if (status != PW_OK) {
                daemon->settings = (struct pw_settings){ 0 }; /* still the caller's */
                pw_daemon_free(daemon);
                return status;
        }
        pw_log(&daemon->log, PW_LOG_INFO, "started host=h%u epoch=%x socket=%s devices=%s islands=%u", daemon->host,
               daemon->epoch, daemon->socket_path, daemon->settings.devices, daemon->settings.islands);
        warn_of_quotas(daemon);
        *ret_daemon = daemon;
        return PW_OK;
}

/* All children are there. */
static void become_ready(struct pw_daemon *daemon)
{
        daemon->phase = PW_SERVING;
        pw_log(&daemon->log, PW_LOG_INFO, "ready took_us=%llu%s%s", (unsigned long long)(pw_now_us() - daemon->started_us),
               daemon->http ? " http=" : "", daemon->http_address);
        pw_daemon_notify(daemon, "READY=1\nSTATUS=%u devices in %u islands, socket %s", daemon->device_count,
                         daemon->settings.islands, daemon->socket_path);
        if (!daemon->settings.ready_fd)
                return;
        if (TEMP_FAILURE_RETRY(write((int)daemon->settings.ready_fd, "\n", 1)) != 1)
                pw_log(&daemon->log, PW_LOG_WARNING, "nobody was told by --ready-fd reason=\"%s\"", strerror(errno));
        if (daemon->settings.ready_fd > STDERR_FILENO)
                close((int)daemon->settings.ready_fd);
}

/* --- the loop --------------------------------------------------------------------------------------------------------- */

static void sleep_until_something(struct pw_daemon *daemon)
{
        pw_alarm_set(&daemon->loop.alarm, pw_timers_next_us(daemon));
        event_base_loop(daemon->loop.base, EVLOOP_ONCE);
}

typedef bool (*over_fn)(const struct pw_daemon *daemon);

struct rests { uint32_t yields; struct pw_yield yield; };

static bool yield_once(struct rests *rests)
{
        uint64_t begun_ns = (uint64_t)pw_now_ns();

        if (rests->yields == YIELDS || !pw_yield_may(&rests->yield, begun_ns))
                return false;
        rests->yields++;
        sched_yield();
        pw_yield_took(&rests->yield, begun_ns, (uint64_t)pw_now_ns());
        return true;
}

/* Nothing to do: yield for a while if work is in flight elsewhere on this host, then sleep. What is decided by the last look at
 * sockets and the turn after it rings nobody: whether the loop is over is asked again before it sleeps. */
static void rest(struct pw_daemon *daemon, struct rests *rests, over_fn over)
{
        if ((daemon->counters.runs_in_flight || !pw_list_empty(&daemon->clients.hot)) && yield_once(rests))
                return;
        rests->yields = 0;
        if (!over(daemon) && pw_turn_may_sleep(daemon))
                sleep_until_something(daemon);
        pw_boards_awake(daemon->boards);
}

/* A turn (daemon/loop/turn.h) takes what came in rings and boards, lets store and scheduler decide, and does what they want. */
static void turn_until(struct pw_daemon *daemon, over_fn over)
{
        struct rests rests = { 0 };
        uint32_t turns = 0;

        while (!over(daemon)) {
                uint64_t started_us = daemon->loop.woken_us ? daemon->loop.woken_us : pw_now_us();

                if (turns++ % TURNS_PER_POLL == 0 || started_us - daemon->loop.polled_us >= POLL_US) {
                        pw_peers_write(daemon);
                        event_base_loop(daemon->loop.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
                        daemon->loop.polled_us = started_us;
                }
                bool any = pw_turn(daemon);
                pw_outputs_write(daemon);
                if (daemon->phase == PW_STARTING && pw_children_ready(daemon))
                        become_ready(daemon);
                if (!any)
                        pw_peers_write(daemon);
                if (any || daemon->loop.more) {
                        rests.yields = 0;
                        pw_turn_took(daemon, started_us);
                        daemon->loop.woken_us = 0;
                        continue;
                }
                turns = 0;
                daemon->loop.woken_us = 0;
                rest(daemon, &rests, over);
        }
        pw_outputs_write(daemon);
}

static bool told_to_stop(const struct pw_daemon *daemon)
{
        return daemon->phase >= PW_DRAINING;
}

static bool drained(const struct pw_daemon *daemon)
{
        return daemon->phase >= PW_STOPPING || !daemon->counters.runs_in_flight || pw_now_us() >= daemon->loop.stop_at_us;
}

void pw_daemon_run(struct pw_daemon *daemon)
{
        turn_until(daemon, told_to_stop);
        daemon->loop.stop_at_us = pw_now_us() + daemon->settings.shutdown_us;
        turn_until(daemon, drained);
        daemon->phase = PW_STOPPING;
        if (daemon->counters.runs_in_flight)
                pw_log(&daemon->log, PW_LOG_WARNING, "runs cut off by the shutdown runs=%llu",
                       (unsigned long long)daemon->counters.runs_in_flight);
        pw_log(&daemon->log, PW_LOG_INFO, "stopped runs_done=%llu", (unsigned long long)daemon->counters.runs_done);
}

/* --- end ---------------------------------------------------------------------------------------------------------------- */

static void free_segments(struct pw_daemon *daemon)
{
        struct pw_segment *segment;

        while (daemon->memory.segments.count) /* each removal may move another behind the cursor */
                for (uint32_t i = 0; (segment = pw_table_next(&daemon->memory.segments, &i));)
                        pw_segment_remove(daemon, segment);
        pw_table_done(&daemon->memory.segments);
        free(daemon->memory.spare_segments);
        daemon->memory.spare_segments = NULL;
        daemon->memory.spare_segment_count = daemon->memory.spare_segment_capacity = 0;
}

static void stop_compiling(struct pw_daemon *daemon)
{
        struct pw_compiler *compiler = daemon->work.compiler;

        daemon->work.compiler = NULL;
        pw_compiler_free(compiler);
        pw_programs_done(daemon);
}

void pw_daemon_free(struct pw_daemon *daemon)
{
        if (!daemon)
                return;
        daemon->phase = PW_STOPPING;
        pw_sessions_done(daemon);
        if (daemon->store) {
                pw_children_done(daemon);
                pw_complaints_tick(daemon, UINT64_MAX); /* what was left out until now */
        }
        pw_reload_free(daemon->reload);
        pw_closer_free(daemon->closer);
        pw_http_free(daemon->http);
        pw_gpus_free(daemon->gpus);
        pw_audits_done(daemon);
        pw_fetches_done(daemon);
        pw_worker_free(daemon->memory.worker);
        stop_compiling(daemon);
        pw_describe_free(daemon->work.describe);
        pw_modules_free(daemon->modules);
        pw_frozen_done(daemon);
        pw_rooms_done(daemon);
        pw_peers_free(daemon->peers);
        pw_meta_close(daemon->meta); /* its last answers go to the store */
        pw_scheduler_free(daemon->scheduler);
        pw_boards_free(daemon->boards);
        if (daemon->store)
                free_segments(daemon);
        pw_store_free(daemon->store);
        pw_processes_done(daemon);
        pw_tenants_done(daemon);
        for (uint32_t i = 0; i < pw_array_count(daemon->loop.signals); i++)
                if (daemon->loop.signals[i])
                        event_free(daemon->loop.signals[i]);
        pw_alarm_done(&daemon->loop.alarm);
        if (daemon->loop.base)
                event_base_free(daemon->loop.base);
        pw_rundir_leave(daemon);
        pw_settings_done(&daemon->settings);
        if (daemon->log.fd > STDERR_FILENO)
                close(daemon->log.fd);
        free(daemon);
}

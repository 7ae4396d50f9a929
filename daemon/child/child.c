/* Children: their life. What they share with the daemon is made in child_board.c, how they are spawned in spawn.c. */
#include "daemon/child/child.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/child/arena.h"
#include "daemon/child/child_board.h"
#include "daemon/child/child_end.h"
#include "daemon/child/limit.h"
#include "daemon/child/spawn.h"
#include "daemon/device/gpus.h"

#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define BACKOFF_FIRST_US 100000u
#define BACKOFF_MAX_US 5000000u
#define LASTED_US 10000000u /* an executor that was ready so long is none that crashes at once */
#define STOP_MS 2000
#define BEGINNINGS 5u /* of a child, in vain, until a daemon that starts is given up: within a second or two */

static void on_exited(evutil_socket_t fd, short what, void *context);

/* Functions may have started processes: these go with it. Nobody has waited for it yet, so the number is that of its group. */
static void end_group(const struct pw_child *child) { kill(-child->pid, SIGKILL); }

static void forget_segments(struct pw_child *child)
{
        pw_table_done(&child->mapped);
        child->mapped = (struct pw_table){ 0 };
        child->gone_count = 0;
        pw_child_unpin_none(child);
}

uint32_t pw_child_maps(struct pw_daemon *daemon, uint32_t device, uint32_t segment, uint32_t **ret_gone)
{
        struct pw_child *child = &daemon->children.all[device];
        uint32_t count = child->gone_count;

        if (segment)
                (void)!pw_table_put(&child->mapped, segment, child); /* else it stays mapped there */
        child->gone_count = 0;
        *ret_gone = child->gone;
        return count;
}

void pw_children_segment_gone(struct pw_daemon *daemon, uint32_t segment)
{
        for (uint32_t i = 0; daemon->children.all && i < daemon->device_count; i++) {
                struct pw_child *child = &daemon->children.all[i];
                if (!pw_table_remove(&child->mapped, segment) ||
                    !pw_grow((void **)&child->gone, &child->gone_capacity, child->gone_count + 1, sizeof *child->gone))
                        continue;
                child->gone[child->gone_count++] = segment;
                if (child->gone_count == 1) { /* else it was told that there are some, and has not asked yet */
                        atomic_fetch_add(&daemon->children.islands[child->island].board->gone[i], 1);
                        pw_bells_ring_one(daemon->children.bells, i);
                }
        }
}

void pw_child_wants(struct pw_daemon *daemon, uint32_t device)
{
        atomic_fetch_add(&daemon->children.islands[daemon->children.all[device].island].board->fetches[device], 1);
        pw_bells_ring_one(daemon->children.bells, device);
}

/* Kill it and wait for its end: nobody else would notice that. */
static void reap(struct pw_child *child)
{
        siginfo_t info;

        kill(child->pid, SIGKILL);
        end_group(child);
        waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED);
        if (child->exited)
                event_free(child->exited);
        child->exited = NULL;
        pw_close_fd(&child->pidfd);
        child->pidfd = -1;
        child->state = PW_CHILD_DEAD;
        forget_segments(child);
}

static enum pw_status start(struct pw_child *child, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = child->daemon;
        struct pw_spawned spawned;
        bool apart = !pw_child_describes(child) && daemon->settings.kinds.of[child->number].apart;
        enum pw_status status = apart ? pw_child_arena_begin(&child->arena, ret_err) : PW_OK;

        if (status == PW_OK)
                status = pw_spawn(daemon, pw_child_describes(child) ? -1 : (int)child->number, &spawned, ret_err);

        if (status != PW_OK)
                return status;
        child->pid = spawned.pid;
        child->pidfd = spawned.pidfd;
        child->state = PW_CHILD_STARTING;
        child->started_us = pw_now_us();
        child->done_at_start = child->board ? atomic_load(&child->board->done.count) : 0;
        child->kill_reason[0] = 0;
        child->kill_seq = child->give_up_seq = 0;
        child->exited = event_new(daemon->loop.base, child->pidfd, EV_READ, on_exited, child);
        if (child->exited && event_add(child->exited, NULL) == 0) {
                status = daemon->children.calls->connect(daemon, spawned.socket, spawned.pid, ret_err);
        } else {
                close(spawned.socket);
                reap(child);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a child");
        }
        if (status != PW_OK)
                kill(child->pid, SIGKILL); /* what follows its exit comes by itself */
        return status;
}

/* pw_children_tick() starts it then. */
static void start_later(struct pw_child *child, uint64_t wait_us)
{
        struct pw_daemon *daemon = child->daemon;

        child->next_start_us = pw_now_us() + wait_us;
        child->waits = true;
        daemon->children.start_us = pw_min_u64(daemon->children.start_us, child->next_start_us);
}

/* False: it was not started, and nothing comes by itself. */
static bool start_now(struct pw_child *child)
{
        struct pw_error err;

        if (start(child, &err) == PW_OK)
                return true;
        pw_log(&child->daemon->log, PW_LOG_ERROR, "executor not started reason=\"%s\"", err.text);
        return child->pidfd >= 0; /* it is on its way out, and comes to its end by itself */
}

/* Start it again, now or later. */
static void start_again(struct pw_child *child)
{
        uint64_t wait_us = child->crashes < 2 ? 0 : BACKOFF_FIRST_US;

        if (child->daemon->phase >= PW_STOPPING)
                return;
        for (uint32_t i = 2; i < child->crashes && wait_us < BACKOFF_MAX_US; i++)
                wait_us *= 2;
        child->restarts++;
        if (wait_us || !start_now(child))
                start_later(child, wait_us ? pw_min_u64(wait_us, BACKOFF_MAX_US) : BACKOFF_MAX_US);
}

static void start_due(struct pw_daemon *daemon, uint64_t now_us)
{
        daemon->children.start_us = UINT64_MAX;
        for (uint32_t i = 0; daemon->phase < PW_STOPPING && i <= daemon->device_count; i++) {
                struct pw_child *child = &daemon->children.all[i];

                if (child->waits && child->next_start_us > now_us) {
                        daemon->children.start_us = pw_min_u64(daemon->children.start_us, child->next_start_us);
                } else if (child->waits) {
                        child->waits = false;
                        if (start_now(child))
                                continue;
                        child->crashes++;
                        start_again(child);
                }
        }
}

static void executor_down(struct pw_child *child, enum pw_status status)
{
        pw_child_board_down(child, status);
        child->daemon->children.calls->executor_down(child->daemon, child->number);
}

/* Nobody is served before all are ready, and this one does not get there. */
static void abandon_start(struct pw_child *child)
{
        struct pw_daemon *daemon = child->daemon;
        char who[40];

        pw_child_name(child, who);
        pw_error_set(&daemon->children.refused, PW_CRASHED,
                     "%s: its process ended %u times before it was ready, at last with: %s; what it wrote stands before this", who,
                     child->crashes, child->ended_how);
        daemon->phase = PW_STOPPING;
}

static void on_exited(evutil_socket_t fd, short what, void *context)
{
        struct pw_child *child = context;
        struct pw_daemon *daemon = child->daemon;
        siginfo_t info = { 0 };
        enum pw_status status;
        bool was_useful;

        (void)what;
        end_group(child);
        if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) < 0 || !info.si_pid) {
                event_add(child->exited, NULL);
                return;
        }
        pw_child_end_note(child, &info);
        child->was_ready = child->state == PW_CHILD_READY;
        if (child->session)
                pw_session_end(child->session, NULL);
        event_free(child->exited);
        child->exited = NULL;
        pw_close_fd(&child->pidfd);
        child->pidfd = -1;
        child->state = PW_CHILD_DEAD;
        forget_segments(child);
        if (!pw_child_describes(child))
                pw_gpus_executor(daemon->gpus, child->number, 0);
        was_useful = child->board ? atomic_load(&child->board->done.count) > child->done_at_start + 1 : false;
        child->crashes = was_useful || (child->was_ready && pw_now_us() - child->started_us > LASTED_US) ? 1 : child->crashes + 1;
        pw_child_end_log(child);
        if (daemon->phase == PW_STARTING && !child->was_ready && child->crashes >= BEGINNINGS)
                abandon_start(child);
        if (daemon->phase >= PW_STOPPING)
                return;
        if (child->kill_reason[0])
                status = child->kill_status;
        else
                status = pw_child_overran(&info) && !pw_child_describes(child) ? PW_OVERRUN : PW_CRASHED;
        if (!pw_child_describes(child))
                executor_down(child, status);
        else if (daemon->children.calls->describer_down(daemon, status, child->ended_how))
                child->crashes = 1; /* who asked has had that, and others are not to wait for it */
        daemon->loop.more = true;
        start_again(child);
}

enum pw_status pw_children_start(struct pw_daemon *daemon, const struct pw_child_calls *calls, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        daemon->children.calls = calls;
        daemon->children.all = calloc(daemon->device_count + 1, sizeof *daemon->children.all);
        if (!daemon->children.all)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for children");
        for (uint32_t i = 0; i <= daemon->device_count; i++)
                daemon->children.all[i] =
                        (struct pw_child){ .daemon = daemon, .number = i, .pidfd = -1, .board_fd = -1, .board_ro_fd = -1,
                                           .arena = { -1, -1, -1 } };
        status = pw_child_boards(daemon, ret_err);
        daemon->children.start_us = UINT64_MAX;
        for (uint32_t i = 0; status == PW_OK && i <= daemon->device_count; i++)
                status = start(&daemon->children.all[i], ret_err);
        return status;
}

/* Its socket is closed, so it ends by itself; if not in time, by force. */
static void stop_child(struct pw_child *child)
{
        struct pollfd poll_fd = { .fd = child->pidfd, .events = POLLIN };
        siginfo_t info;

        if (child->pidfd < 0)
                return;
        if (poll(&poll_fd, 1, STOP_MS) <= 0)
                kill(child->pid, SIGKILL);
        end_group(child);
        waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED);
        pw_close_fd(&child->pidfd);
}

void pw_children_done(struct pw_daemon *daemon)
{
        for (uint32_t i = 0; daemon->children.all && i <= daemon->device_count; i++) {
                struct pw_child *child = &daemon->children.all[i];

                stop_child(child);
                if (child->exited)
                        event_free(child->exited);
                forget_segments(child);
                free(child->gone);
        }
        pw_child_boards_done(daemon);
        free(daemon->children.all);
        daemon->children.all = NULL;
}

bool pw_children_ready(const struct pw_daemon *daemon)
{
        for (uint32_t i = 0; i <= daemon->device_count; i++)
                if (daemon->children.all[i].state != PW_CHILD_READY)
                        return false;
        return true;
}

enum pw_status pw_child_attached(struct pw_dsession *session, bool executor, uint32_t device, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        uint32_t number = executor ? device : daemon->device_count;
        struct pw_child *child;

        if (number > daemon->device_count || (executor && number == daemon->device_count))
                return pw_error_set(ret_err, PW_INVALID, "device %u: this host has %u", device, daemon->device_count);
        child = &daemon->children.all[number];
        if (child->pid != session->pid || child->state == PW_CHILD_DEAD)
                return pw_error_set(ret_err, PW_DENIED, "only the process that pathwaysd started is an executor");
        if (child->session)
                return pw_error_set(ret_err, PW_INVALID, "the executor has attached already");
        child->session = session;
        if (executor)
                return PW_OK; /* its device is to be opened yet */
        child->state = PW_CHILD_READY;
        daemon->children.calls->describer_up(daemon, session);
        return PW_OK;
}

void pw_child_up(struct pw_daemon *daemon, uint32_t device, const char *name)
{
        struct pw_child *child = &daemon->children.all[device];

        if (child->state != PW_CHILD_STARTING)
                return;
        child->state = PW_CHILD_READY;
        child->refused[0] = 0;
        snprintf(child->device_name, sizeof child->device_name, "%s", name);
        pw_text_make_plain(child->device_name);
        pw_scheduler_device_up(daemon->scheduler, device, pw_now_us());
        pw_gpus_executor(daemon->gpus, device, child->pid);
        pw_gpus_ask(daemon->gpus, pw_now_us());
}

void pw_child_not_up(struct pw_daemon *daemon, uint32_t device, const struct pw_error *err)
{
        pw_log(&daemon->log, PW_LOG_ERROR, "device cannot be opened device=h%u:%u status=%s reason=\"%s\"", daemon->host, device,
               pw_status_name(err->status), err->text);
        pw_text_format(daemon->children.all[device].refused, sizeof daemon->children.all[device].refused, "%s", err->text);
        if (daemon->phase != PW_STARTING)
                return; /* it is tried again */
        pw_error_set(&daemon->children.refused, err->status, "device h%u:%u: %s", daemon->host, device, err->text);
        daemon->phase = PW_STOPPING;
}

/* Without its socket it is of no use: it ends itself, or is made to; its exit does the rest. */
void pw_child_detached(struct pw_dsession *session)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_child *child = &daemon->children.all[session->role == PW_ROLE_EXECUTOR ? session->device : daemon->device_count];

        if (child->session != session)
                return;
        child->session = NULL;
        if (pw_child_describes(child))
                daemon->children.calls->describer_detached(daemon);
        if (child->pidfd >= 0 && daemon->phase < PW_STOPPING)
                kill(child->pid, SIGKILL);
}

void pw_child_kill(struct pw_daemon *daemon, uint32_t number, enum pw_status status, const char *why)
{
        struct pw_child *child = &daemon->children.all[number];

        if (child->pidfd < 0 || child->kill_reason[0])
                return;
        snprintf(child->kill_reason, sizeof child->kill_reason, "%s", why);
        child->kill_status = status;
        kill(child->pid, SIGKILL);
}

uint32_t pw_child_island(const struct pw_daemon *daemon, uint32_t device)
{
        return daemon->children.all[device].island;
}

uint64_t pw_children_next_us(const struct pw_daemon *daemon)
{
        return pw_min_u64(daemon->children.start_us, pw_limits_next_us(daemon));
}

void pw_children_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        if (daemon->children.start_us <= now_us)
                start_due(daemon, now_us);
        pw_limits_tick(daemon, now_us);
}

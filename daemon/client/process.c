/* Attached processes: one pidfd each, whose end ends all sessions of the process. */
#include "base/memory.h"
#include "daemon/client/lane.h"
#include "daemon/client/client.h"
#include "daemon/memory/segment.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/syscall.h>

#define DYING_PART 64u   /* sessions that end in a turn when their process is dead */
#define DYING_LANES 8u   /* of a session, which are looked at in the time that its end takes */

/* The process is dead, or the daemon ends. */
static void end_last(struct pw_process *process)
{
        struct pw_ended_session ended = process->ended[--process->ended_count];

        if (ended.own)
                pw_segment_remove(process->daemon, ended.own);
        ended.tenant->sessions--;
        if (process->daemon->phase != PW_STOPPING)
                pw_store_session_dead(process->daemon->store, ended.number, pw_now_us());
}

static void free_process(struct pw_process *process)
{
        while (process->ended_count)
                end_last(process);
        pw_list_remove(&process->dying);
        if (process->event)
                event_free(process->event);
        pw_backing_leave(process);
        pw_close_fd(&process->pidfd);
        if (pw_table_get(&process->daemon->registry.processes, (uint64_t)process->pid) == process)
                pw_table_remove(&process->daemon->registry.processes, (uint64_t)process->pid);
        free(process->ended);
        free(process);
}

/* As long as it lives it may write into memory that its sessions had, which is measured so long. */
static void free_if_unused(struct pw_process *process)
{
        if (pw_list_empty(&process->sessions) && !process->ended_count && !(process->backing && process->pidfd >= 0))
                free_process(process);
}

/* The process is dead: whatever its sessions held goes now, in parts. */
static void on_exit_(evutil_socket_t fd, short what, void *context)
{
        struct pw_process *process = context;
        struct pw_daemon *daemon = process->daemon;

        (void)fd;
        (void)what;
        pw_woken(&daemon->loop);
        event_del(process->event);
        pw_close_fd(&process->pidfd);
        process->pidfd = -1;
        pw_list_append(&daemon->clients.dying, &process->dying);
        daemon->loop.more = true;
}

/* Is all read that it published? It writes no more. All that end in a turn have one part of it together. */
static bool is_read(struct pw_dsession *session)
{
        if (!session->dead)
                session->wish = pw_lanes_pass(session);
        session->dead = true;
        return pw_lanes_read_quantum(session, session->wish);
}

/* Some of what its sessions held. False: there is no more. */
static bool die_in_part(struct pw_process *process)
{
        struct pw_dsession *session;
        uint32_t part = DYING_PART;

        for (; part && process->ended_count; part--)
                end_last(process);
        process->daemon->clients.round++;
        pw_list_each(&process->sessions, session, struct pw_dsession, of_process) {
                if (!part)
                        break;
                if (session->ended)
                        continue;
                if (!is_read(session))
                        return true;
                part -= (uint32_t)pw_min_u64(part, 1 + session->lane_count / DYING_LANES);
                pw_session_end(session, NULL);
        }
        return !part;
}

bool pw_processes_turn(struct pw_daemon *daemon)
{
        struct pw_process *process;

        if (pw_list_empty(&daemon->clients.dying))
                return false;
        process = pw_list_first(&daemon->clients.dying, struct pw_process, dying);
        pw_list_remove(&process->dying);
        if (die_in_part(process))
                pw_list_append(&daemon->clients.dying, &process->dying); /* behind others */
        else
                free_if_unused(process);
        return true;
}

enum pw_status pw_process_get(struct pw_daemon *daemon, pid_t pid, struct pw_process **ret_process, struct pw_error *ret_err)
{
        struct pw_process *process = pw_table_get(&daemon->registry.processes, (uint64_t)pid);

        if (process && process->pidfd >= 0) {
                *ret_process = process;
                return PW_OK;
        }
        process = calloc(1, sizeof *process);
        if (!process)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a process");
        process->pid = pid;
        process->daemon = daemon;
        pw_list_init(&process->sessions);
        pw_list_init(&process->dying);
        process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (process->pidfd < 0) {
                int number = errno;

                free(process);
                return pw_error_errno(ret_err, number, "pidfd_open of process %d", (int)pid);
        }
        process->event = event_new(daemon->loop.base, process->pidfd, EV_READ, on_exit_, process);
        if (!process->event || event_add(process->event, NULL) < 0 ||
            !pw_table_put(&daemon->registry.processes, (uint64_t)pid, process)) {
                free_process(process);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a process");
        }
        *ret_process = process;
        return PW_OK;
}

void pw_process_leave(struct pw_dsession *session)
{
        if (!session->process)
                return;
        pw_list_remove(&session->of_process);
        free_if_unused(session->process);
        session->process = NULL;
}

void pw_processes_done(struct pw_daemon *daemon)
{
        struct pw_process *process;

        while (daemon->registry.processes.count) /* each removal may move another behind the cursor */
                for (uint32_t i = 0; (process = pw_table_next(&daemon->registry.processes, &i));)
                        free_process(process);
        pw_table_done(&daemon->registry.processes);
}

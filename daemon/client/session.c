/* Sessions: accepting, reading frames, ending. */
#include "daemon/client/client.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/client/lane.h"
#include "daemon/client/object/name.h"
#include "daemon/client/observer.h"
#include "daemon/client/tenant.h"
#include "daemon/closer.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "daemon/meta/place.h"
#include "daemon/own_file.h"
#include "daemon/session/complaint.h"
#include "daemon/session/foreign.h"
#include "daemon/session/kept.h"
#include "daemon/settings/operators.h"
#include "daemon/work/ending.h"
#include "daemon/work/program.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define ACCEPT_BUDGET 64
#define REAPED_PART 128u /* lanes and slices of ended sessions, and sessions, let go in a turn: well below a millisecond */
#define LISTEN_AGAIN_US 10000
#define FDS_OF_CLIENT 5u /* socket, and once more while its replies wait, pidfd, memory twice */
#define PEERPIDFD 77 /* SO_PEERPIDFD, which headers do not know yet */
#define HELLO_US 10000000u
#define STRANGERS_PART 4u /* of the descriptors: what connections of a user may have that did not say Hello */
#define FDS_KEPT 320u    /* for executors, the worker, those who are told that there are no more, and what one message may bring */

static enum pw_status bind_socket(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_clients *clients = &daemon->clients;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        enum pw_status status;

        if (strlen(daemon->socket_path) >= sizeof address.sun_path)
                return pw_error_set(ret_err, PW_INVALID, "--run-dir: %s is too long for a socket (%zu bytes at most)",
                                    daemon->socket_path, sizeof address.sun_path - 1);
        strcpy(address.sun_path, daemon->socket_path);
        clients->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (clients->listen_fd < 0)
                return pw_error_errno(ret_err, errno, "socket");
        daemon->may_be_sent_files = !pw_closer_refuse_files(clients->listen_fd); /* who connects gets a socket like it */
        status = pw_old_socket_remove(daemon->socket_path, ret_err); /* a dead daemon's: the lock of the run dir is ours */
        if (status != PW_OK)
                return status;
        if (bind(clients->listen_fd, (struct sockaddr *)&address, sizeof address) < 0)
                return pw_error_errno(ret_err, errno, "bind %s", daemon->socket_path);
        if (chmod(daemon->socket_path, daemon->settings.socket_mode) < 0 || listen(clients->listen_fd, 1024) < 0)
                return pw_error_errno(ret_err, errno, "listen on %s", daemon->socket_path);
        return PW_OK;
}

/* One line of the log for all that are refused in a row. */
static void refuse(struct pw_daemon *daemon, int fd, uid_t uid, const struct pw_error *err)
{
        if (fd >= 0)
                pw_session_refuse(fd, err->status, err->text);
        if (!daemon->clients.refusing)
                pw_complain(daemon, uid, "connection refused reason=\"%s\"", err->text);
        daemon->clients.refusing = true;
        daemon->counters.refused++;
}

static bool has_reserve(struct pw_clients *clients)
{
        if (clients->reserve_fd < 0)
                clients->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return clients->reserve_fd >= 0;
}

/* No descriptor is left. A client that stayed in the queue would wake the loop for ever: the reserve lets it in, to be told. */
static bool refuse_next(struct pw_daemon *daemon, int number)
{
        struct pw_error err;
        struct rlimit limit = { 0 };
        bool came = false;
        int fd;

        pw_close_fd(&daemon->clients.reserve_fd);
        daemon->clients.reserve_fd = -1;
        fd = accept4(daemon->clients.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        getrlimit(RLIMIT_NOFILE, &limit);
        pw_error_set(&err, PW_LIMIT,
                     "pathwaysd has no descriptor left for another session (%s; its limit is %llu): close sessions, or raise the "
                     "limit", strerrorname_np(number), (unsigned long long)limit.rlim_cur);
        if (fd >= 0) { /* else nobody was there: the kernel looks for a descriptor first */
                refuse(daemon, fd, PW_LOG_OTHERS, &err);
                pw_closer_take_socket(daemon, &fd);
                came = true;
        }
        (void)has_reserve(&daemon->clients); /* who was refused may be open for a moment yet */
        return came;
}

/* --- who did not say Hello ---------------------------------------------------------------------------------------------------- */

uint64_t pw_strangers_next_us(const struct pw_daemon *daemon)
{
        const struct pw_list *strangers = &daemon->clients.strangers;

        return pw_list_empty(strangers) ? UINT64_MAX :
                pw_list_first(strangers, struct pw_dsession, stranger)->came_us + HELLO_US;
}

void pw_strangers_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_dsession *session;

        pw_list_each(&daemon->clients.strangers, session, struct pw_dsession, stranger) {
                if (session->came_us + HELLO_US > now_us)
                        break;
                pw_session_end(session, "it did not say Hello within 10 s");
        }
}

static void estrange(struct pw_dsession *session)
{
        session->came_us = pw_now_us();
        session->tenant->strangers++;
        pw_list_append(&session->daemon->clients.strangers, &session->stranger);
}

void pw_session_known(struct pw_dsession *session)
{
        if (pw_list_empty(&session->stranger))
                return;
        pw_list_remove(&session->stranger);
        session->tenant->strangers--;
}

/* Descriptors are the lowest that are free, so this one says how many are in use. Half as many as are kept for the daemon are kept
 * for operators. */
static bool is_crowded(const struct pw_daemon *daemon, int fd, bool operator_)
{
        uint64_t kept = pw_min_u64(FDS_KEPT, daemon->clients.fd_limit / 4);

        return (uint32_t)fd + FDS_OF_CLIENT + kept + (operator_ ? 0 : kept / 2) > daemon->clients.fd_limit;
}

/* Who is told only by being refused: where waiting for its Hello would take what is for operators, or too much. */
static enum pw_status check_place(const struct pw_daemon *daemon, int fd, uid_t uid, struct pw_error *ret_err)
{
        const struct pw_tenant *tenant = pw_table_get(&daemon->registry.tenants, (uint64_t)uid + 1);

        if (!tenant)
                tenant = pw_table_get(&daemon->registry.users, (uint64_t)uid + 1);
        if (pw_operators_has(daemon, fd, uid))
                return PW_OK;
        if (tenant && tenant->strangers >= daemon->clients.fd_limit / STRANGERS_PART)
                return pw_error_set(ret_err, PW_LIMIT,
                                    "user %u has %u connections that did not say Hello, as many as there may be", (unsigned)uid,
                                    tenant->strangers);
        if (!is_crowded(daemon, fd, true))
                return PW_OK;
        return pw_error_set(ret_err, PW_LIMIT,
                            "pathwaysd has %u descriptors for %u sessions: end some, or raise its limit (LimitNOFILE, ulimit -n)",
                            daemon->clients.fd_limit, daemon->registry.sessions.count);
}

/* The process that connected, whatever its number names by now; -1: the kernel does not say (before Linux 6.5). */
static int peer_pidfd(int fd)
{
        socklen_t bytes = sizeof(int);
        int pidfd;

        return getsockopt(fd, SOL_SOCKET, PEERPIDFD, &pidfd, &bytes) == 0 ? pidfd : -1;
}

/* Else what pidfd_open() gave by its number is it: numbers of the living are not given again. */
static bool is_dead(int pidfd)
{
        struct pollfd on = { .fd = pidfd, .events = POLLIN };

        return pidfd >= 0 && poll(&on, 1, 0) == 1;
}

/* --- accepting ---------------------------------------------------------------------------------------------------------------- */

static void accept_one(struct pw_daemon *daemon, int fd)
{
        struct ucred peer;
        socklen_t bytes = sizeof peer;
        int inline_ = 1; /* else the kernel drops an urgent byte as it is passed by, and what came with it, on this thread */
        struct pw_dsession *session;
        pw_auto_close int peer_fd = peer_pidfd(fd);
        struct pw_error err;

        (void)!setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &inline_, sizeof inline_);
        if (!daemon->store) {
                pw_place_explain(daemon, &err);
                refuse(daemon, fd, PW_LOG_OTHERS, &err);
                pw_closer_take_socket(daemon, &fd);
                return;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0 || peer.pid == 0) {
                pw_error_set(&err, PW_DENIED, "pathwaysd cannot see this process from where it runs");
                refuse(daemon, fd, PW_LOG_OTHERS, &err);
                pw_closer_take_socket(daemon, &fd);
                return;
        }
        if (check_place(daemon, fd, peer.uid, &err) != PW_OK) {
                refuse(daemon, fd, peer.uid, &err);
                pw_closer_take_socket(daemon, &fd);
        } else if (pw_session_new(daemon, fd, peer.pid, peer.uid, &session, &err) == PW_OK) {
                daemon->clients.refusing = false;
                session->crowded = is_crowded(daemon, fd, session->operator_);
                estrange(session);
                if (is_dead(peer_fd))
                        pw_session_end(session, "its process is dead, its number perhaps another's by now");
        } else {
                refuse(daemon, -1, peer.uid, &err);
        }
}

/* Until what a refused client sent is closed, the queue waits: nobody in it could be told. */
static void rest_from_listening(struct pw_clients *clients)
{
        event_del(clients->listener);
        clients->listen_again_us = pw_now_us() + LISTEN_AGAIN_US;
}

uint64_t pw_listening_next_us(const struct pw_daemon *daemon) { return daemon->clients.listen_again_us; }

void pw_listening_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        bool listens = event_add(daemon->clients.listener, NULL) == 0;

        daemon->clients.listen_again_us = listens ? UINT64_MAX : now_us + LISTEN_AGAIN_US;
}

static void on_accept(evutil_socket_t listen_fd, short what, void *context)
{
        struct pw_daemon *daemon = context;

        (void)what;
        pw_woken(&daemon->loop);
        for (int i = 0; i < ACCEPT_BUDGET; i++) {
                if (!has_reserve(&daemon->clients)) {
                        rest_from_listening(&daemon->clients);
                        return;
                }
                int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd >= 0)
                        accept_one(daemon, fd);
                else if (errno == EAGAIN || (errno != ECONNABORTED && errno != EINTR && !refuse_next(daemon, errno)))
                        return;
        }
}

enum pw_status pw_sessions_listen(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_clients *clients = &daemon->clients;
        enum pw_status status = bind_socket(daemon, ret_err);

        if (status != PW_OK)
                return status;
        (void)has_reserve(clients);
        clients->listener = event_new(daemon->loop.base, clients->listen_fd, EV_READ | EV_PERSIST, on_accept, daemon);
        if (!clients->listener || event_add(clients->listener, NULL) < 0)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the listener");
        return PW_OK;
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
        (void)fd;
        (void)what;
        pw_session_speaks(context);
}

static void describe_client(struct pw_dsession *session)
{
        char path[64], command[17] = "?";
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/comm", (int)session->pid);
        file = fopen(path, "re");
        if (file) {
                if (fscanf(file, "%16[^\n]", command) != 1)
                        strcpy(command, "?");
                fclose(file);
        }
        for (char *c = command; *c; c++) /* a process names itself: nothing that a terminal obeys */
                if (*c < ' ' || *c > '~')
                        *c = '?';
        snprintf(session->client, sizeof session->client, "%s[%d]", command, (int)session->pid);
}

static enum pw_status join(struct pw_dsession *session, uid_t uid, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        enum pw_status status = pw_tenant_connect(daemon, uid, &session->tenant, ret_err);

        if (status == PW_OK)
                status = pw_process_get(daemon, session->pid, &session->process, ret_err);
        if (status != PW_OK)
                return status;
        pw_list_append(&session->process->sessions, &session->of_process);
        session->readable = event_new(daemon->loop.base, session->fd, EV_READ | EV_PERSIST, on_readable, session);
        if (!session->readable || event_add(session->readable, NULL) < 0 ||
            !pw_table_put(&daemon->registry.sessions, session->number, session))
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a session");
        return PW_OK;
}

static void free_session(struct pw_dsession *session)
{
        if (session->readable)
                event_free(session->readable);
        pw_process_leave(session);
        pw_session_output_done(session);
        pw_session_input_done(session);
        pw_unmap(&session->control_map);
        pw_closer_take_socket(session->daemon, &session->fd);
        pw_backed_done(session->daemon, &session->control_backed);
        if (session->own && !session->own->number)
                pw_segment_remove(session->daemon, session->own);
        pw_table_done(&session->slices);
        pw_table_done(&session->programs);
        if (session->kept_bytes)
                pw_kept_count(session->daemon, session->tenant, PW_KEPT_SESSIONS, -(int64_t)session->kept_bytes);
        if (session->tenant)
                pw_tenant_disconnect(session->daemon, session->tenant);
        free(session);
}

/* The store forgets at once what nobody writes into any more; else a living process's rooms stay until it is dead. */
static void leave_store(struct pw_dsession *session)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_process *process = session->process;
        struct pw_segment *unused = session->own && !session->own->number ? session->own : NULL;
        bool dead = process->pidfd < 0 || session->left;

        if (!session->in_store)
                return;
        session->in_store = false;
        if (!dead && !pw_grow((void **)&process->ended, &process->ended_capacity, process->ended_count + 1, sizeof *process->ended))
                dead = true; /* cannot be told later */
        if (dead)
                session->tenant->sessions--;
        else
                process->ended[process->ended_count++] = (struct pw_ended_session){ session->number, session->tenant, unused };
        if (dead && unused)
                pw_segment_remove(daemon, unused);
        session->own = NULL;
        pw_store_session_end(daemon->store, session->number, dead, pw_now_us());
}

/* Everything but what the store has of it, and what it may have very many of. */
static void hang_up(struct pw_dsession *session)
{
        session->ended = true;
        pw_list_remove(&session->held);
        event_del(session->readable);
        pw_list_remove(&session->of_speakers);
        pw_list_remove(&session->of_scan);
        pw_session_known(session);
        if (session->sendable)
                event_del(session->sendable);
        pw_list_remove(&session->sending);
        shutdown(session->fd, SHUT_RDWR);
        pw_rooms_session_end(session);
        pw_fetches_session_end(session);
        if (session->daemon->registry.foreign)
                session->daemon->registry.foreign->session_end(session);
        session->daemon->clients.observer->session_ended(session);
        pw_programs_session_end(session);
        pw_list_append(&session->daemon->clients.ended, &session->of_ended);
}

static void end(struct pw_dsession *session, const char *why)
{
        struct pw_daemon *daemon = session->daemon;

        if (session->ended)
                return;
        if (session->role == PW_ROLE_CLIENT && !why)
                pw_lanes_drain(session); /* what it published before it left counts */
        pw_session_write(session); /* what it was told first */
        if (session->ended)
                return; /* it left with a record that cannot be */
        if (why)
                pw_complain(daemon, session->tenant->uid, "session ended session=%u client=%s reason=\"%s\"", session->number,
                            session->client, why);
        else
                pw_log(&daemon->log, PW_LOG_DEBUG, "session ended session=%u client=%s", session->number, session->client);
        daemon->loop.doing = "the end of a session";
        session->left &= !why; /* who broke the protocol is believed nothing */
        if (why && session->in_store)
                pw_store_session_misbehaved(daemon->store, session->number);
        hang_up(session);
        leave_store(session);
        if (session->role == PW_ROLE_EXECUTOR || session->role == PW_ROLE_DESCRIBER)
                pw_child_detached(session);
        daemon->loop.more = true;
}

static const struct pw_session_calls calls = { .end = end, .mind = pw_session_input_mind };

enum pw_status pw_session_new(struct pw_daemon *daemon, int fd_take, pid_t pid, uid_t uid, struct pw_dsession **ret_session,
                              struct pw_error *ret_err)
{
        struct pw_dsession *session = calloc(1, sizeof *session);
        enum pw_status status;

        if (!session) {
                pw_closer_take_socket(daemon, &fd_take);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a session");
        }
        session->daemon = daemon;
        session->calls = &calls;
        session->fd = fd_take;
        session->sendable_fd = -1;
        session->pid = pid;
        session->number = ++daemon->registry.next_session;
        session->heard = true;
        session->operator_ = pw_operators_has(daemon, fd_take, uid);
        pw_list_init(&session->outgoing);
        pw_list_init(&session->sending);
        pw_list_init(&session->held);
        pw_list_init(&session->of_speakers);
        pw_list_init(&session->fetches);
        pw_list_init(&session->stranger);
        pw_list_init(&session->of_process);
        pw_list_init(&session->room_waits);
        pw_list_init(&session->of_ended);
        pw_list_init(&session->of_scan);
        pw_list_init(&session->jobs);
        pw_session_input_init(session);
        describe_client(session);
        status = join(session, uid, ret_err);
        if (status != PW_OK) {
                if (ret_err)
                        pw_session_refuse(fd_take, status, ret_err->text);
                pw_table_remove(&daemon->registry.sessions, session->number);
                free_session(session);
                return status;
        }
        *ret_session = session;
        return PW_OK;
}

void pw_sessions_reap(struct pw_daemon *daemon)
{
        uint32_t part = REAPED_PART;

        while (part && !pw_list_empty(&daemon->clients.ended)) {
                struct pw_dsession *session = pw_list_first(&daemon->clients.ended, struct pw_dsession, of_ended);

                pw_list_remove(&session->of_ended);
                if (!pw_lanes_end(session, &part) || !pw_work_ending_go_on(session, &part)) {
                        pw_list_append(&daemon->clients.ended, &session->of_ended); /* behind others */
                        break;
                }
                part -= part != 0;
                daemon->clients.observer->session_freed(session);
                pw_table_remove(&daemon->registry.sessions, session->number);
                free_session(session);
                pw_heap_freed(&daemon->loop);
        }
        daemon->loop.more |= !pw_list_empty(&daemon->clients.ended);
}

void pw_sessions_done(struct pw_daemon *daemon)
{
        struct pw_dsession *session;

        /* Nothing is decided any more: whoever waits hears that the daemon is gone. */
        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                if (!session->ended)
                        hang_up(session);
        while (!pw_list_empty(&daemon->clients.ended))
                pw_sessions_reap(daemon);
        pw_table_done(&daemon->registry.sessions);
        if (daemon->clients.listener)
                event_free(daemon->clients.listener);
        pw_close_fd(&daemon->clients.reserve_fd);
        if (daemon->clients.listen_fd >= 0) {
                close(daemon->clients.listen_fd);
                (void)!pw_old_socket_remove(daemon->socket_path, NULL);
        }
}

/* A network between daemons. */
#include "tests/integration/cluster/relay.h"

#include "daemon/transport/greeting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WIRES_MAX 256
#define PIECE (64u << 10)
#define SLOW_US 20000

/* From end `i` of a wire to the other one. */
struct way {
        uint8_t bytes[PIECE];
        size_t start, end;
        int64_t due_us;
};

/* A connection of two hosts: end 0 called. */
struct wire {
        int fds[2], hosts[2];
        enum relay_use use;
        bool greeted;
        struct way ways[2];
};

struct carrier {
        const struct relay *relay;
        int listeners[CLUSTER_HOSTS];
        struct wire *wires[WIRES_MAX];
        int wire_count;
};

static void path_of(const struct cluster *cluster, int i, const char *what, struct sockaddr_un *ret_address)
{
        *ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "%.60s/%s.%s", cluster->server.folder, cluster_name(i), what);
}

/* --- the process -------------------------------------------------------------------------------------------------------------- */

static enum relay_weather weather_of(const struct carrier *carrier, const struct wire *wire, int i)
{
        const int *hosts = wire->hosts;

        return (enum relay_weather)atomic_load(&carrier->relay->board->weather[hosts[i]][hosts[!i]][wire->use]);
}

static void hang_up(struct carrier *carrier, int at)
{
        struct wire *wire = carrier->wires[at];

        close(wire->fds[0]);
        close(wire->fds[1]);
        free(wire);
        carrier->wires[at] = carrier->wires[--carrier->wire_count];
}

static int host_of_caller(const struct carrier *carrier, int fd)
{
        struct ucred peer = { 0 };
        socklen_t bytes = sizeof peer;

        (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                if (carrier->relay->cluster->hosts[i].pid == peer.pid)
                        return i;
        return -1;
}

static void take_call(struct carrier *carrier, int to)
{
        int fd = accept4(carrier->listeners[to], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        int from = host_of_caller(carrier, fd), on = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        struct wire *wire = calloc(1, sizeof *wire);
        struct sockaddr_un address;

        path_of(carrier->relay->cluster, to, "real", &address);
        assert_true(carrier->wire_count < WIRES_MAX);
        if (!wire || from < 0 || connect(on, (const struct sockaddr *)&address, sizeof address) < 0) {
                free(wire);
                close(fd);
                close(on);
                return;
        }
        wire->fds[0] = fd;
        wire->fds[1] = on;
        wire->hosts[0] = from;
        wire->hosts[1] = to;
        carrier->wires[carrier->wire_count++] = wire;
}

/* What the connection is for is said in its first bytes, which come in one piece here. */
static void see_greeting(struct wire *wire, const struct way *way)
{
        struct pw_greeting greeting;
        uint32_t need;

        if (pw_greeting_decode(way->bytes, (uint32_t)way->end, &greeting, &need, NULL) == PW_OK)
                wire->use = greeting.use == PW_USE_BULK ? RELAY_BULK : RELAY_CONTROL;
        wire->greeted = true;
}

/* False: the wire is over. */
static bool take_in(const struct carrier *carrier, struct wire *wire, int i)
{
        struct way *way = &wire->ways[i];
        ssize_t bytes = recv(wire->fds[i], way->bytes, PIECE, 0);

        if (bytes < 0 && errno == EAGAIN)
                return true;
        if (bytes <= 0)
                return false;
        way->start = 0;
        way->end = (size_t)bytes;
        if (!i && !wire->greeted)
                see_greeting(wire, way);
        way->due_us = weather_of(carrier, wire, i) == RELAY_SLOW ? it_now_us() + SLOW_US : 0;
        return true;
}

static bool pass_on(const struct carrier *carrier, struct wire *wire, int i)
{
        const int *hosts = wire->hosts;
        struct way *way = &wire->ways[i];
        ssize_t bytes = send(wire->fds[!i], way->bytes + way->start, way->end - way->start, MSG_NOSIGNAL);

        if (bytes < 0)
                return errno == EAGAIN;
        way->start += (size_t)bytes;
        atomic_fetch_add(&carrier->relay->board->bytes[hosts[i]][hosts[!i]][wire->use], (uint64_t)bytes);
        return true;
}

/* Nothing of a call came through yet, and nothing does: who calls may hang up, and calls again and again. */
static bool is_held_call(const struct carrier *carrier, const struct wire *wire)
{
        return !wire->greeted && weather_of(carrier, wire, 0) == RELAY_HELD;
}

/* What is to be waited for of a wire; *ret_due_us is lowered to when a piece may go on. An end of which nothing is wanted is not
 * looked at, unless it ends the wire: that it was hung up would be said again and again. */
static void wants(const struct carrier *carrier, const struct wire *wire, struct pollfd *fds, int64_t *ret_due_us)
{
        fds[0] = (struct pollfd){ .fd = is_held_call(carrier, wire) ? wire->fds[0] : -1 };
        fds[1] = (struct pollfd){ .fd = -1 };
        for (int i = 0; i < 2; i++) {
                const struct way *way = &wire->ways[i];
                bool empty = way->start == way->end;

                if (weather_of(carrier, wire, i) == RELAY_HELD)
                        continue;
                if (!empty && way->due_us > it_now_us()) {
                        *ret_due_us = way->due_us < *ret_due_us ? way->due_us : *ret_due_us;
                        continue;
                }
                fds[empty ? i : !i].fd = wire->fds[empty ? i : !i];
                fds[empty ? i : !i].events |= empty ? POLLIN : POLLOUT;
        }
}

/* False: the wire is over. */
static bool carry(const struct carrier *carrier, struct wire *wire, const struct pollfd *fds)
{
        if (is_held_call(carrier, wire) && fds[0].revents & (POLLHUP | POLLERR))
                return false;
        for (int i = 0; i < 2; i++) {
                struct way *way = &wire->ways[i];
                bool empty = way->start == way->end;
                short got = fds[empty ? i : !i].revents;

                if (weather_of(carrier, wire, i) == RELAY_BROKEN)
                        return false;
                if (weather_of(carrier, wire, i) == RELAY_HELD || (!empty && way->due_us > it_now_us()))
                        continue;
                if (empty && (got & (POLLIN | POLLHUP | POLLERR)) && !take_in(carrier, wire, i))
                        return false;
                if (!empty && (got & (POLLOUT | POLLHUP | POLLERR)) && !pass_on(carrier, wire, i))
                        return false;
        }
        return true;
}

/* False: it cannot wait. */
static bool turn(struct carrier *carrier)
{
        struct pollfd fds[1 + CLUSTER_HOSTS + 2 * WIRES_MAX] = { { .fd = carrier->relay->wake, .events = POLLIN } };
        struct pollfd *wires = fds + 1 + CLUSTER_HOSTS;
        int64_t due_us = INT64_MAX, wait_us;
        eventfd_t rings;

        for (int i = 0; i < CLUSTER_HOSTS; i++)
                fds[1 + i] = (struct pollfd){ .fd = carrier->listeners[i], .events = POLLIN };
        for (int i = 0; i < carrier->wire_count; i++)
                wants(carrier, carrier->wires[i], wires + 2 * i, &due_us);
        wait_us = due_us - it_now_us();
        wait_us = due_us == INT64_MAX ? -1000 : wait_us < 0 ? 0 : wait_us + 1000;
        if (poll(fds, (nfds_t)(1 + CLUSTER_HOSTS + 2 * carrier->wire_count), (int)(wait_us / 1000)) < 0 && errno != EINTR)
                return false;
        if (fds[0].revents)
                (void)eventfd_read(carrier->relay->wake, &rings);
        for (int i = carrier->wire_count - 1; i >= 0; i--) /* from the end on: who goes is replaced by one that was looked at */
                if (!carry(carrier, carrier->wires[i], wires + 2 * i))
                        hang_up(carrier, i);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                if (fds[1 + i].revents)
                        take_call(carrier, i);
        if (fds[0].revents)
                atomic_fetch_add(&carrier->relay->board->seen, 1);
        return true;
}

static int carry_all(void *context, int pipe)
{
        struct carrier *carrier = calloc(1, sizeof *carrier);

        assert_non_null(carrier);
        carrier->relay = context;
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                struct sockaddr_un address;

                path_of(carrier->relay->cluster, i, "peer", &address);
                carrier->listeners[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
                assert_int_equal(bind(carrier->listeners[i], (const struct sockaddr *)&address, sizeof address), 0);
                assert_int_equal(listen(carrier->listeners[i], 128), 0);
        }
        assert_int_equal(write(pipe, "r", 1), 1);
        while (turn(carrier)) {
        }
        return 1;
}

/* --- the test's side ---------------------------------------------------------------------------------------------------------- */

/* The daemon listens there. */
static void await_socket(const char *path)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        struct stat stat;

        while (lstat(path, &stat) < 0) {
                assert_true(it_now_us() < limit_us);
                sched_yield();
        }
}

/* While Redis stands still nobody has a number, and so nobody calls. */
void relay_begin(struct relay *relay, struct cluster *cluster)
{
        char byte;

        *relay = (struct relay){ .cluster = cluster, .wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) };
        relay->board = mmap(NULL, sizeof *relay->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(relay->wake >= 0 && relay->board != MAP_FAILED);
        assert_int_equal(kill(cluster->server.pid, SIGSTOP), 0);
        cluster->linked = true;
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_launch(cluster, i, NULL, i == 0);
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                struct sockaddr_un peer, real;

                path_of(cluster, i, "peer", &peer);
                path_of(cluster, i, "real", &real);
                await_socket(peer.sun_path);
                assert_int_equal(rename(peer.sun_path, real.sun_path), 0);
        }
        relay->child = it_fork(carry_all, relay);
        it_read(&relay->child, &byte, 1);
        assert_int_equal(kill(cluster->server.pid, SIGCONT), 0);
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_await(cluster, i);
        cluster_meet(cluster);
}

void relay_set(struct relay *relay, int from, int to, enum relay_use use, enum relay_weather weather)
{
        uint64_t seen = atomic_load(&relay->board->seen);

        for (int i = 0; i < CLUSTER_HOSTS; i++)
                for (int other = 0; other < CLUSTER_HOSTS; other++)
                        if ((from < 0 || from == i) && (to < 0 || to == other))
                                atomic_store(&relay->board->weather[i][other][use], (int)weather);
        assert_int_equal(eventfd_write(relay->wake, 1), 0);
        while (atomic_load(&relay->board->seen) == seen) {
                assert_int_equal(kill(relay->child.pid, 0), 0);
                sched_yield();
        }
}

void relay_end(struct relay *relay)
{
        assert_int_equal(it_reap(&relay->child, SIGKILL), 128 + SIGKILL);
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                struct sockaddr_un peer, real;

                path_of(relay->cluster, i, "peer", &peer);
                path_of(relay->cluster, i, "real", &real);
                unlink(peer.sun_path);
                unlink(real.sun_path);
        }
        munmap(relay->board, sizeof *relay->board);
        close(relay->wake);
}

/* Half requests over HTTP, as many as can be had, opened again as soon as one ends: /health is answered to who asks whole ones.
 */
#include "tests/attack/attack.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HALF "GET /health HTTP/1.1\r\nHost: "
#define WHOLE HALF "localhost\r\n\r\n"
#define ASKED 20

struct attacked { in_port_t port; uint32_t connections; };

static int dial(in_port_t port)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0);
        (void)!connect(fd, (struct sockaddr *)&in, sizeof in);
        return fd;
}

static int ask_by_halves(void *context, int pipe)
{
        const struct attacked *attacked = context;
        struct pollfd *all = calloc(attacked->connections, sizeof *all);
        char bytes[512];

        for (uint32_t i = 0; i < attacked->connections; i++)
                all[i] = (struct pollfd){ .fd = dial(attacked->port), .events = POLLOUT };
        assert_int_equal(write(pipe, "h", 1), 1);
        while (poll(all, attacked->connections, -1) >= 0)
                for (uint32_t i = 0; i < attacked->connections; i++) {
                        if (all[i].revents & POLLOUT && !(all[i].revents & (POLLHUP | POLLERR))) {
                                (void)!send(all[i].fd, HALF, strlen(HALF), MSG_NOSIGNAL);
                                all[i].events = POLLIN;
                        } else if (all[i].revents && recv(all[i].fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) {
                                close(all[i].fd);
                                all[i] = (struct pollfd){ .fd = dial(attacked->port), .events = POLLOUT };
                        }
                }
        return 0;
}

/* Is it answered within `most_us`? */
static bool is_answered(in_port_t port, int64_t most_us)
{
        int64_t until_us = it_now_us() + most_us;
        struct pollfd on = { .fd = dial(port), .events = POLLOUT };
        char bytes[512];
        ssize_t got = 0;

        if (poll(&on, 1, (int)(most_us / 1000)) == 1 && send(on.fd, WHOLE, strlen(WHOLE), MSG_NOSIGNAL) > 0 &&
            it_now_us() < until_us) {
                on.events = POLLIN;
                if (poll(&on, 1, (int)((until_us - it_now_us()) / 1000)) == 1)
                        got = recv(on.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        }
        close(on.fd);
        return got > 12 && !strncmp(bytes, "HTTP/1.1 200", 12);
}

static void run(struct it_host *host)
{
        struct attacked attacked = { .connections = (uint32_t)it_environment("PW_HALVES", 200) };
        struct pw_listing *status = it_list(host->session, "status", NULL);
        int answered = 0;
        char byte;

        attacked.port = (in_port_t)strtoul(strrchr(it_text(status, 0, "http"), ':') + 1, NULL, 10);
        pw_listing_free(status);
        struct it_child child = attack_fork(ATTACK_USER, ask_by_halves, &attacked);
        it_read(&child, &byte, 1);
        for (int i = 0; i < ASKED; i++)
                answered += is_answered(attacked.port, 50000 * it_slack());
        printf("half_http: %d of %d answered\n", answered, ASKED);
        it_reap(&child, SIGKILL);
        assert_true(answered >= ASKED * 9 / 10);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "half_http",
                                             .rule = "who asks half a request makes room for who asks a whole one",
                                             .args = IT_ARGS("--devices", "emulated:2", "--host-memory", "64MiB",
                                                             "--device-memory", "16MiB", "--http", "127.0.0.1:0"),
                                             .users = true, .alone = true, .run = run });
}

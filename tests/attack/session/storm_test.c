/* Thousands of processes attach and hang up, and are killed. What their sessions leave, most of it addresses without pages, is
 * given back no slower than they can be made; meanwhile somebody else is granted room as ever, and `check` finds nothing wrong. */
#include "tests/attack/attack.h"
#include "tests/integration/process.h"
#include "tests/integration/raw.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define STORMS 200u     /* times that all processes are killed */
#define PROCESSES 8u
#define MOST_US 30000u  /* how long they have before that */
#define PUTS 5u
#define SLACK 64u       /* descriptors of the daemon besides */
#define PUT_US 1000000  /* what a session, its first put and its first large one may take; judged at it_slack() times that */
#define LARGE_BYTES (2u << 20)

static int reconnect(void *context, int pipe)
{
        uint8_t hello[512], answer[300];
        size_t bytes = raw_pack_hello(hello);
        int fd;

        (void)pipe;
        (void)!nice(10);
        for (uint32_t i = 0; (fd = raw_connect(context)) >= 0; i++) {
                (void)!send(fd, hello, bytes, MSG_NOSIGNAL);
                if (i % 3 == 0)
                        (void)!recv(fd, answer, sizeof answer, 0);
                if (i % 4)
                        close(fd);
        }
        return 0;
}

static void storm(struct it_host *host, uint32_t round)
{
        struct it_child children[PROCESSES];

        for (uint32_t i = 0; i < PROCESSES; i++)
                children[i] = attack_fork(ATTACK_USER, reconnect, host);
        usleep(round * 7919 % MOST_US); /* they are killed wherever they are */
        for (uint32_t i = 0; i < PROCESSES; i++)
                (void)it_reap(&children[i], 9);
}

/* Tells the longest time that one took. */
static int put(void *context, int pipe)
{
        static char data[LARGE_BYTES];
        int64_t most_us = 0, took_us;

        for (uint32_t i = 0; i < PUTS; i++) {
                int64_t since_us = it_now_us();
                struct pw_session *session = it_connect(context);
                struct pw_future *small, *large;

                it_ok(pw_put(session, data, 10, NULL, &small, IT_ERR));
                it_ok(pw_put(session, data, sizeof data, NULL, &large, IT_ERR));
                took_us = it_now_us() - since_us;
                most_us = took_us > most_us ? took_us : most_us;
                pw_unref(small);
                pw_unref(large);
                pw_close(session);
        }
        assert_int_equal(write(pipe, &most_us, sizeof most_us), sizeof most_us);
        return 0;
}

/* Only what is held may be told of as such. */
static void check(struct it_host *host)
{
        struct pw_listing *problems = it_list(host->session, "check", NULL);

        for (size_t i = 0; i < it_rows(problems); i++)
                if (strstr(it_text(problems, i, "problem"), "could not be looked at"))
                        fail_msg("%s: %s, and %zu others", it_text(problems, i, "where"), it_text(problems, i, "problem"),
                                 it_rows(problems) - 1);
        pw_listing_free(problems);
}

static bool is_clean(const struct pw_listing *check, void *context)
{
        (void)context;
        return it_rows(check) == 0;
}

struct most { const struct it_host *host; uint64_t fds; };

/* The memfds of those that were killed. */
static bool has_closed(const struct pw_listing *status, void *context)
{
        const struct most *most = context;

        (void)status;
        return it_has(most->host->pid).fds <= most->fds;
}

static void run(struct it_host *host)
{
        struct most most = { host, it_has(host->pid).fds + SLACK };
        uint32_t storms = (uint32_t)it_environment("PW_STORMS", STORMS);
        struct it_child putter;
        int64_t since_us = it_now_us(), storm_us, clean_us, took_us;

        (void)setpriority(PRIO_PROCESS, (id_t)host->pid, -20); /* of its threads the loop alone: the others are soon behind */
        for (uint32_t i = 0; i < storms; i++)
                storm(host, i);
        storm_us = it_now_us() - since_us;
        check(host);
        putter = attack_fork(ATTACK_VICTIM, put, host);
        it_read(&putter, &took_us, sizeof took_us);
        assert_int_equal(it_reap(&putter, 0), 0);
        printf("a session and two puts: %lld us\n", (long long)took_us);
        assert_in_range(took_us, 0, PUT_US * it_slack());
        it_until(host->session, "check", is_clean, NULL);
        it_until(host->session, "status", has_closed, &most);
        clean_us = it_now_us() - since_us - storm_us;
        printf("a storm of %lld ms, given back %lld ms after it\n", (long long)storm_us / 1000, (long long)clean_us / 1000);
        assert_in_range(clean_us, 0, storm_us); /* else it is longer the longer it lasts */
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "storm",
                                             .rule = "what one tenant gives back does not keep another from being granted more",
                                             .args = IT_ARGS("--devices", "emulated:2", "--host-memory", "4GiB",
                                                             "--device-memory", "16MiB"),
                                             .users = true, .alone = true, .run = run });
}

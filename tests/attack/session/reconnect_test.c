/* One process that attaches and hangs up, again and again: each session that ended counts until the process is dead, so it is
 * refused; meanwhile the daemon keeps no map and no number for any of them, as nothing was granted to them. Nor does it keep a map
 * where all that was put is gone. Who comes afterwards is served, and once the process is dead its user is, too. */
#include "tests/attack/attack.h"
#include "tests/integration/process.h"
#include "tests/integration/raw.h"

#include "base/id.h"
#include "libclient/session.h"
#include "libclient/socket/connection_private.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUOTA 2000u /* 16,384 unless it is said */
#define PUTS 200u   /* sessions that put something, of another process */
#define SLACK 64u   /* maps of the daemon, and numbers, besides */

static int reconnect(void *context, int pipe)
{
        uint32_t count = (uint32_t)it_environment("PW_RECONNECTS", QUOTA + 200), i = 0;
        enum pw_status status = PW_OK;
        char text[200];

        for (; i < count && status == PW_OK; i++) {
                int fd = raw_connect(context);

                assert_true(fd >= 0);
                status = raw_hello(fd, text);
                close(fd);
        }
        if (status != PW_LIMIT)
                fail_msg("%u times attached, then: %d %s", i, (int)status, text);
        assert_int_equal(write(pipe, "d", 1), 1);
        pause();
        return 0;
}

/* The daemon hears of a death when its turn comes: until then the dead are counted. */
static int attach(void *context, int pipe)
{
        const struct it_host *host = context;
        int64_t limit_us = it_now_us() + IT_LONG;
        struct pw_session *session = NULL;
        enum pw_status status;
        struct pw_error err;

        (void)pipe;
        while ((status = pw_connect(host->socket, &session, &err)) == PW_LIMIT && it_now_us() < limit_us)
                sched_yield();
        if (status != PW_OK)
                fail_msg("%s: %s", pw_status_name(status), err.text);
        pw_close(session);
        return 0;
}

/* Puts something, drops it, and hangs up without a word: its memory stays mapped here. */
static int put_and_go(void *context, int pipe)
{
        for (uint32_t i = 0; i < PUTS; i++) {
                struct pw_session *session = it_connect(context);
                struct pw_future *future;

                it_ok(pw_put(session, "something", 10, NULL, &future, IT_ERR));
                pw_unref(future);
                it_ok(pw_session_fence(session, IT_ERR));
                assert_int_equal(shutdown(session->connection->socket.fd, SHUT_RDWR), 0);
        }
        assert_int_equal(write(pipe, "d", 1), 1);
        pause();
        return 0;
}

/* Tells the number of the segment in which a value comes to lie that is put now. */
static int put_one(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;

        it_ok(pw_put(session, "something", 10, NULL, &future, IT_ERR));
        assert_int_equal(write(pipe, &future->segment, sizeof future->segment), sizeof future->segment);
        pw_unref(future);
        pw_close(session);
        return 0;
}

static uint32_t next_number(struct it_host *host)
{
        struct it_child other = attack_fork(ATTACK_VICTIM, put_one, host);
        uint32_t segment;

        it_read(&other, &segment, sizeof segment);
        assert_int_equal(it_reap(&other, 0), 0);
        return segment;
}

struct most { const struct it_host *host; uint64_t maps; };

static bool has_few_maps(const struct pw_listing *status, void *context)
{
        const struct most *most = context;

        (void)status;
        return it_has(most->host->pid).maps <= most->maps;
}

static bool is_clean(const struct pw_listing *check, void *context)
{
        (void)context;
        return it_rows(check) == 0;
}

static void run(struct it_host *host)
{
        struct most most = { host, it_has(host->pid).maps + SLACK };
        uint32_t first = next_number(host), last;
        struct it_child child = attack_fork(ATTACK_USER, reconnect, host), putter;
        char byte;

        it_read(&child, &byte, 1);
        it_until(host->session, "status", has_few_maps, &most);
        last = next_number(host);
        if (last > first + SLACK)
                fail_msg("%u times attached: the segment before was %u, then %u", QUOTA, first, last);
        putter = attack_fork(ATTACK_VICTIM, put_and_go, host);
        it_read(&putter, &byte, 1);
        it_until(host->session, "status", has_few_maps, &most);
        it_reap(&putter, 9);
        struct it_child other = attack_fork(ATTACK_VICTIM, attach, host);
        assert_int_equal(it_reap(&other, 0), 0);
        assert_int_equal(it_reap(&child, 9), 128 + 9);
        other = attack_fork(ATTACK_USER, attach, host);
        assert_int_equal(it_reap(&other, 0), 0);
        it_until(host->session, "check", is_clean, NULL); /* the pages of so many sessions go back one after the other */
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "reconnect", .rule = "a session that ended counts until its process is dead",
                                             .args = IT_ARGS("--devices", "emulated:2", "--host-memory", "512MiB",
                                                             "--device-memory", "16MiB", "--quota", "*:sessions=2000"),
                                             .users = true, .alone = true, .run = run });
}

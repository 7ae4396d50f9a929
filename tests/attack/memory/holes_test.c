/* A client reads where nothing is in its own memory, and so makes pages that it was not granted: it loses its sessions, the pages
 * are taken back, and others have their memory, also while its process lives on and does it again. */
#include "tests/attack/attack.h"

#include "base/size.h"
#include "libclient/session.h"

#include <signal.h>
#include <unistd.h>

#define HOST_BYTES (512 * PW_MIB)
#define APART_BYTES (64 * PW_MIB)
#define READ_BYTES (384 * PW_MIB)
#define WANTED_BYTES (400 * PW_MIB)
#define TIMES 3

/* Behind all that it may have been granted. */
static void read_holes(volatile const uint8_t *base)
{
        for (uint64_t at = 0; at < READ_BYTES; at += 4096)
                (void)base[at];
}

static bool is_ended(struct pw_session *session)
{
        struct pw_future *future;
        struct pw_error err;
        enum pw_status status = pw_put(session, "a value of more than 24 bytes", 29,
                                       &(struct pw_put_params){ .timeout_us = IT_LONG }, &future, &err);

        if (status == PW_OK)
                pw_unref(future);
        return status == PW_DAEMON_GONE;
}

/* Says 'r' each time that it has read, and goes on at SIGUSR1. */
static int make_pages(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        const struct pw_map *map = &session->own->map;
        volatile const uint8_t *base = map->base + map->bytes / 2;
        sigset_t next;
        int number;

        sigemptyset(&next);
        sigaddset(&next, SIGUSR1);
        assert_int_equal(sigprocmask(SIG_BLOCK, &next, NULL), 0);
        assert_false(is_ended(session));
        for (int i = 0; i < TIMES; i++) {
                read_holes(base);
                if (write(pipe, "r", 1) != 1 || sigwait(&next, &number))
                        return 1;
        }
        while (!is_ended(session))
                ;
        if (write(pipe, "e", 1) != 1)
                return 1;
        pause();
        return 0;
}

/* The same of the memory of its tenant's futures, which the daemon writes and it only reads: there nobody loses anything. */
static int make_futures(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        const struct pw_map *map = &session->futures->map;

        for (;;) {
                read_holes(map->base + map->bytes / 2);
                assert_false(is_ended(session));
                if (write(pipe, "r", 1) != 1)
                        return 1;
        }
}

/* Others get what nobody was granted. */
static void have_it_all(struct it_host *host)
{
        struct pw_future *future;
        void *data;

        it_ok(pw_create(host->session, WANTED_BYTES, &(struct pw_put_params){ .timeout_us = IT_LONG }, &future, &data, IT_ERR));
        it_ok(pw_seal(future, IT_ERR));
        pw_unref(future);
}

/* What is there and was granted to nobody: little. To ask for the listing is to have it looked at. */
static bool is_little(const struct pw_listing *memory, void *context)
{
        const struct it_host *host = context;
        uint64_t free = (uint64_t)it_number(memory, it_find(memory, "term", "free"), "bytes");

        return attack_memfd_bytes(host->pid) + free <= HOST_BYTES + APART_BYTES;
}

static void attack_holes(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, make_pages, host);
        char byte;

        for (int i = 0; i < TIMES; i++) {
                it_read(&child, &byte, 1);
                assert_int_equal(byte, 'r');
                have_it_all(host);
                it_until(host->session, "memory", is_little, host);
                assert_int_equal(kill(child.pid, SIGUSR1), 0);
        }
        it_read(&child, &byte, 1);
        assert_int_equal(byte, 'e');
        it_reap(&child, SIGKILL);
        child = attack_fork(ATTACK_USER, make_futures, host);
        it_read(&child, &byte, 1);
        assert_int_equal(kill(child.pid, SIGSTOP), 0);
        it_until(host->session, "memory", is_little, host);
        have_it_all(host);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "holes",
                                             .rule = "who makes pages that it was not granted loses its sessions, and they are "
                                                     "taken back",
                                             .args = IT_ARGS("--devices", "emulated:2", "--device-memory", "16MiB",
                                                             "--host-memory", "512MiB"),
                                             .users = true,
                                             .alone = true,
                                             .run = attack_holes });
}

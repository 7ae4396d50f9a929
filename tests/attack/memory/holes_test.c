/* A client reads where nothing is in its own memory, and so makes pages that it was not granted: it loses its sessions, the pages
 * are taken back, and others have their memory, also while its process lives on and does it again. In memory of its tenant that it
 * only reads, futures and frozen values, they are taken back as well. */
#include "tests/attack/attack.h"

#include "base/size.h"
#include "libclient/listing.h"
#include "libclient/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
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

/* Where the process has its tenant's frozen values. */
static const uint8_t *frozen_base(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        unsigned long base = 0;
        char line[600];

        assert_non_null(maps);
        while (!base && fgets(line, sizeof line, maps))
                if (strstr(line, "pathways-frozen"))
                        assert_int_equal(sscanf(line, "%lx", &base), 1);
        fclose(maps);
        assert_int_not_equal(base, 0);
        return (const uint8_t *)base; /* NOLINT: as the system says it */
}

/* The same of frozen values, behind their entries, where there is room for 16 million. A name keeps one when all have left. */
static int make_frozen(void *context, int pipe)
{
        static const char value[1000] = "a value that nobody can change";
        struct pw_session *session = it_connect(context);
        struct pw_put_params params = { .flags = PW_PUT_FROZEN, .timeout_us = IT_LONG };
        struct pw_future *future, *other;
        struct pw_view view;

        it_ok(pw_put(session, value, sizeof value, &params, &future, IT_ERR));
        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        it_ok(pw_name_for(future, "kept", 0, IT_ERR));
        for (;;) {
                read_holes(frozen_base());
                it_ok(pw_put(session, value, sizeof value, &params, &other, IT_ERR));
                assert_memory_equal(view.data, value, sizeof value);
                pw_unref(other);
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

/* Of memory that the child only reads, with nobody to ask it to stop: looked at as it is listed, and once its process has left. */
static void only_read(struct it_host *host, int (*work)(void *context, int pipe))
{
        struct it_child child = attack_fork(ATTACK_USER, work, host);
        char byte;

        for (int i = 0; i < TIMES; i++) {
                it_read(&child, &byte, 1);
                assert_int_equal(byte, 'r');
        }
        assert_int_equal(kill(child.pid, SIGSTOP), 0);
        it_until(host->session, "memory", is_little, host);
        have_it_all(host);
        it_reap(&child, SIGKILL);
}

/* The name that is left of the child. */
static void free_frozen(struct it_host *host)
{
        struct pw_listing *objects = it_list(host->session, "objects", NULL);
        struct pw_id id;

        it_ok(pw_id_parse(it_text(objects, it_find(objects, "names", "kept"), "id"), &id, IT_ERR));
        it_ok(pw_free_object(host->session, id, true, IT_ERR));
        pw_listing_free(objects);
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
        only_read(host, make_futures);
        only_read(host, make_frozen);
        free_frozen(host);
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

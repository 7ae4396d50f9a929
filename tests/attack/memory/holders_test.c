/* Large holders are killed while others wait for what they hold: what was a dead one's is granted when the system has its pages
 * back, not before, so all that the daemon has stays within its host memory; a memory cgroup with a little more does not kill it.
 *
 * With 1,000 kills (PW_HOLDERS) in the soak. Where the test may make a memory cgroup, the daemon and its executors move into
 * one. */
#include "tests/attack/attack.h"
#include "tests/attack/group.h"

#include "base/memory.h"
#include "base/size.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOST_BYTES (1024 * PW_MIB)
#define HELD_BYTES (896 * PW_MIB)
#define WAITERS 6u
#define APART_BYTES (64 * PW_MIB)   /* how far what there is may be above what is said */
#define GROUP_BYTES (HOST_BYTES + 512 * PW_MIB)

/* --- what there is ------------------------------------------------------------------------------------------------------------ */

struct watch { pid_t pid; atomic_bool stop; uint64_t peak; pthread_t thread; };

static void *watch_it(void *context)
{
        struct watch *watch = context;

        while (!atomic_load(&watch->stop)) {
                watch->peak = pw_max_u64(watch->peak, attack_memfd_bytes(watch->pid));
                usleep(1000); /* nothing is waited for: a sample each, of what has no event */
        }
        return NULL;
}

/* What `memory` says that is in use. */
static uint64_t said_bytes(const struct it_host *host)
{
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        uint64_t bytes = (uint64_t)it_number(memory, it_find(memory, "term", "capacity"), "bytes") -
                         (uint64_t)it_number(memory, it_find(memory, "term", "free"), "bytes");

        assert_int_equal(it_number(memory, it_find(memory, "term", "unaccounted"), "bytes"), 0);
        pw_listing_free(memory);
        return bytes;
}

/* --- the attack --------------------------------------------------------------------------------------------------------------- */

static int wait_and_hold(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        void *data;

        it_ok(pw_create(session, HELD_BYTES, &(struct pw_put_params){ .timeout_us = PW_FOREVER }, &future, &data, IT_ERR));
        it_ok(pw_seal(future, IT_ERR));
        if (write(pipe, "g", 1) != 1)
                return 1;
        pause();
        return 0;
}

/* Index of the one that has room now. */
static uint32_t whose_turn(struct it_child *children)
{
        struct pollfd fds[WAITERS];

        for (uint32_t i = 0; i < WAITERS; i++)
                fds[i] = (struct pollfd){ .fd = children[i].pipe, .events = POLLIN };
        if (poll(fds, WAITERS, (int)(IT_LONG / 1000)) < 1)
                fail_msg("nobody was granted what the one before had");
        for (uint32_t i = 0; i < WAITERS; i++)
                if (fds[i].revents)
                        return i;
        return 0;
}

/* Bytes that the daemon has in memfds, or with its executors in their group; its records and theirs are in the second. */
static uint64_t there_bytes(const struct it_host *host, const struct group *group)
{
        return pw_max_u64(attack_memfd_bytes(host->pid), group ? group_used(group) : 0);
}

/* Pages that come and go as we look are seen once, not twice. */
static void compare(const struct it_host *host, const struct group *group)
{
        uint64_t before = there_bytes(host, group), said = said_bytes(host), after = there_bytes(host, group);

        if (pw_min_u64(before, after) > said + APART_BYTES)
                fail_msg("%llu MiB are there, %llu MiB are said", (unsigned long long)(pw_min_u64(before, after) / PW_MIB),
                         (unsigned long long)(said / PW_MIB));
}

static void kill_holders(struct it_host *host, const struct group *group, uint32_t kills)
{
        uint64_t looks = it_environment("PW_LOOKS", 20); /* after each kill */
        struct it_child children[WAITERS];
        char byte;

        for (uint32_t i = 0; i < WAITERS; i++)
                children[i] = attack_fork(ATTACK_USER, wait_and_hold, host);
        for (uint32_t kill = 0; kill < kills; kill++) {
                uint32_t holder = whose_turn(children);

                it_read(&children[holder], &byte, 1);
                assert_int_equal(it_reap(&children[holder], SIGKILL), 128 + SIGKILL);
                for (uint64_t i = 0; i < looks; i++)
                        compare(host, group);
                children[holder] = attack_fork(ATTACK_USER, wait_and_hold, host);
        }
        for (uint32_t i = 0; i < WAITERS; i++)
                it_reap(&children[i], SIGKILL);
}

static void attack_holders(struct it_host *host)
{
        uint32_t kills = (uint32_t)it_environment("PW_HOLDERS", 16);
        struct watch watch = { .pid = host->pid };
        struct group group;
        bool grouped = group_make(host, GROUP_BYTES, &group);
        uint64_t most = 0;

        assert_int_equal(pthread_create(&watch.thread, NULL, watch_it, &watch), 0);
        kill_holders(host, grouped ? &group : NULL, kills);
        atomic_store(&watch.stop, true);
        pthread_join(watch.thread, NULL);
        if (grouped) {
                most = group_peak(&group);
                group_leave(&group, host);
        } else {
                print_message("no memory cgroup can be made here: only what the memfds have was watched\n");
        }
        print_message("%u kills: at most %llu MiB of memfds, of %llu; in its cgroup %llu MiB, of %llu\n", kills,
                      (unsigned long long)(watch.peak / PW_MIB), (unsigned long long)(HOST_BYTES / PW_MIB),
                      (unsigned long long)(most / PW_MIB), (unsigned long long)(GROUP_BYTES / PW_MIB));
        assert_true(watch.peak <= HOST_BYTES + APART_BYTES);
        assert_true(most <= HOST_BYTES + APART_BYTES);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "holders",
                                             .rule = "what a dead client held is free when the system has its pages back, not "
                                                     "before",
                                             .args = IT_ARGS("--devices", "emulated:1", "--device-memory", "16MiB",
                                                             "--host-memory", "1GiB"),
                                             .users = true,
                                             .alone = true,
                                             .unwatched = true,
                                             .seconds = (uint32_t)it_environment("PW_HOLDERS", 0) + 120,
                                             .run = attack_holders });
}

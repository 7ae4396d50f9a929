/* Others in the daemon's memory cgroup took what it counted on when it started: who puts then waits, until there is memory again or
 * its deadline has passed, and the system kills nobody. */
#include "tests/attack/attack.h"
#include "tests/attack/group.h"

#include "base/size.h"

#include <pthread.h>

#define LEFT_BYTES (128 * PW_MIB)
#define WANTED_BYTES (384 * PW_MIB)

struct putter { struct pw_session *session; enum pw_status status; struct pw_future *future; };

static void *put_it(void *context)
{
        struct putter *putter = context;
        struct pw_error err;
        void *data;

        putter->status = pw_create(putter->session, WANTED_BYTES, &(struct pw_put_params){ .timeout_us = IT_LONG },
                                   &putter->future, &data, &err);
        return NULL;
}

static bool one_waits(const struct pw_listing *status, void *context)
{
        (void)context;
        return it_number(status, 0, "puts_waiting") == 1;
}

static void attack_crowded_group(struct it_host *host)
{
        struct putter putter = { .session = it_connect(host) };
        struct pw_future *future;
        struct group group;
        pthread_t thread;
        void *data;

        if (!group_make(host, UINT64_C(1) << 40, &group)) {
                print_message("no memory cgroup can be made here\n");
                pw_close(putter.session);
                skip();
        }
        assert_true(group_limit(&group, group_used(&group) + LEFT_BYTES));
        it_fails(pw_create(host->session, WANTED_BYTES, &(struct pw_put_params){ .timeout_us = IT_SECOND / 4 }, &future, &data,
                           IT_ERR), PW_NO_SPACE,
                 "384 MiB|its memory cgroup or the system has too little left");
        assert_int_equal(pthread_create(&thread, NULL, put_it, &putter), 0);
        it_until(host->session, "status", one_waits, NULL);
        /* that there is */
        it_ok(pw_create(host->session, PW_MIB, &(struct pw_put_params){ .timeout_us = IT_LONG }, &future, &data, IT_ERR));
        assert_true(group_limit(&group, UINT64_C(1) << 40));
        pthread_join(thread, NULL);
        assert_int_equal(putter.status, PW_OK);
        pw_unref(putter.future);
        pw_unref(future);
        pw_close(putter.session);
        group_leave(&group, host);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "crowded_group",
                                             .rule = "the limits of memory cgroups and the host are looked at before pages are "
                                                     "taken",
                                             .args = IT_ARGS("--devices", "emulated:1", "--device-memory", "16MiB",
                                                             "--host-memory", "1GiB"),
                                             .users = true,
                                             .alone = true,
                                             .unwatched = true,
                                             .run = attack_crowded_group });
}

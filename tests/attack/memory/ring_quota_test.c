/* A tenant with a quota writes over the rings of all lanes of many sessions, memory that nobody asked for: it counts as any other,
 * first it is refused more, then its sessions end. Others have what is left of the quota's other side. */
#include "tests/attack/attack.h"

#include "base/size.h"
#include "libclient/session.h"
#include "plane/control.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS 6
#define WANTED_BYTES (320 * PW_MIB)   /* of 512, with 32 for devices and a quota of 64 */
#define PUT_BYTES (48 * PW_MIB)
#define FEW_LANES 160u                /* 21 MiB */

static void fill_lanes(struct pw_session *session, uint32_t count)
{
        atomic_store(&session->control->lane_count, count);
        it_ok(pw_session_fence(session, IT_ERR));
        for (uint32_t i = 1; i < count; i++) /* its own is in use */
                memset(session->control->lanes[i].ring.cells, 0, sizeof session->control->lanes[i].ring.cells);
}

/* Over its quota by a little: no more for it, and no end. */
static int fill_few(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_put_params soon = { .timeout_us = IT_SECOND / 5 };
        struct pw_future *large, *future;
        struct pw_error err;
        void *data;

        (void)pipe;
        it_ok(pw_create(session, PUT_BYTES, NULL, &large, &data, IT_ERR));
        it_ok(pw_seal(large, IT_ERR));
        fill_lanes(session, FEW_LANES);
        pw_listing_free(it_list(session, "owners", NULL));
        assert_int_equal(pw_create(session, PW_MIB, &soon, &future, &data, &err), PW_NO_SPACE);
        if (!strstr(err.text, "quota") || !strstr(err.text, "pages"))
                fail_msg("does not say what it has: %s", err.text);
        pw_unref(large);
        it_ok(pw_create(session, PW_MIB, NULL, &future, &data, IT_ERR)); /* that came back */
        pw_close(session);
        return 0;
}

static int fill_all(void *context, int pipe)
{
        struct pw_session *sessions[SESSIONS];

        for (int i = 0; i < SESSIONS; i++) {
                sessions[i] = it_connect(context);
                fill_lanes(sessions[i], PW_LANES_MAX);
        }
        assert_int_equal(write(pipe, "f", 1), 1);
        for (int i = 0; i < SESSIONS; i++)
                for (enum pw_status status = PW_OK; status == PW_OK;) {
                        struct pw_future *future;

                        status = pw_put(sessions[i], "a value of more than 24 bytes", 29,
                                        &(struct pw_put_params){ .timeout_us = IT_LONG }, &future, NULL);
                        if (status == PW_OK)
                                pw_unref(future);
                        else
                                assert_int_equal(status, PW_DAEMON_GONE);
                }
        assert_int_equal(write(pipe, "e", 1), 1);
        pause();
        return 0;
}

static void attack(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, fill_few, host);
        struct pw_future *future;
        void *data;
        char byte;

        assert_int_equal(it_reap_within(&child, IT_LONG), 0);
        child = attack_fork(ATTACK_USER, fill_all, host);
        it_read(&child, &byte, 1);
        assert_int_equal(byte, 'f');
        pw_listing_free(it_list(host->session, "memory", NULL)); /* it is seen */
        it_ok(pw_create(host->session, WANTED_BYTES, &(struct pw_put_params){ .timeout_us = IT_LONG }, &future, &data, IT_ERR));
        memset(data, 1, WANTED_BYTES);
        it_ok(pw_seal(future, IT_ERR));
        pw_unref(future);
        it_read(&child, &byte, 1);
        assert_int_equal(byte, 'e');
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "ring_quota",
                                             .rule = "what a client's memory has beyond its grants is its tenant's, and within "
                                                     "its quota",
                                             .args = IT_ARGS("--devices", "emulated:2", "--device-memory", "16MiB",
                                                             "--host-memory", "512MiB", "--quota", "uid-65531:host=64MiB"),
                                             .users = true,
                                             .alone = true,
                                             .run = attack });
}

/* An operator frees by force what clients hold and have read: a handle that names it says that it is gone, and never gives the
 * bytes of what was put into its room since. Nobody misbehaves: the holder is the one whose values would be confused. */
#include "tests/attack/attack.h"

#include "libclient/session.h"

#include <string.h>
#include <unistd.h>

#define BYTES 1024u
#define HELD 64u
#define OTHERS 512u
#define ROUNDS 8u

struct holder { struct it_host *host; int told; };

static struct pw_future *put_filled(struct pw_session *session, uint8_t with)
{
        uint8_t bytes[BYTES];
        struct pw_future *future;

        memset(bytes, with, sizeof bytes);
        it_ok(pw_put(session, bytes, sizeof bytes, NULL, &future, IT_ERR));
        return future;
}

static void read_one(struct pw_future *future)
{
        struct pw_view view;

        it_ok(pw_get(future, 0, &view, IT_ERR));
        assert_int_equal(*(const uint8_t *)view.data, 'A');
        pw_view_done(&view);
}

/* Until the daemon has let go of it, it is what it was. */
static void find_gone(struct pw_future *future)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        struct pw_view view;
        enum pw_status status;

        while ((status = pw_get(future, 0, &view, NULL)) == PW_OK) {
                assert_int_equal(*(const uint8_t *)view.data, 'A');
                pw_view_done(&view);
                if (it_now_us() > limit_us)
                        fail_msg("an object that was freed by force is there");
        }
        assert_int_equal(status, PW_GONE);
}

static void hold_round(struct pw_session *session, const struct holder *holder, int pipe)
{
        struct pw_future *held[HELD], *others[OTHERS];
        struct pw_id ids[HELD];
        char byte;

        for (uint32_t i = 0; i < HELD; i++) {
                held[i] = put_filled(session, 'A');
                ids[i] = pw_future_id(held[i]);
                read_one(held[i]);
        }
        assert_int_equal(write(pipe, ids, sizeof ids), sizeof ids);
        assert_int_equal(read(holder->told, &byte, 1), 1);
        for (uint32_t i = 0; i < OTHERS; i++)
                others[i] = put_filled(session, 'B');
        for (uint32_t i = 0; i < HELD; i++)
                find_gone(held[i]);
        for (uint32_t i = 0; i < OTHERS; i++) {
                struct pw_view view;

                it_ok(pw_get(others[i], 0, &view, IT_ERR));
                assert_int_equal(*(const uint8_t *)view.data, 'B');
                pw_view_done(&view);
                pw_unref(others[i]);
        }
        for (uint32_t i = 0; i < HELD; i++)
                pw_unref(held[i]);
}

static int hold(void *context, int pipe)
{
        const struct holder *holder = context;
        struct pw_session *session = it_connect(holder->host);

        for (uint32_t i = 0; i < ROUNDS; i++)
                hold_round(session, holder, pipe);
        pw_close(session);
        return 0;
}

static void attack(struct it_host *host)
{
        int tell[2];

        assert_int_equal(pipe(tell), 0);
        struct holder holder = { host, tell[0] };
        struct it_child child = attack_fork(ATTACK_VICTIM, hold, &holder);

        for (uint32_t i = 0; i < ROUNDS; i++) {
                struct pw_id ids[HELD];

                it_read(&child, ids, sizeof ids);
                for (uint32_t j = 0; j < HELD; j++)
                        it_ok(pw_free_object(host->session, ids[j], true, IT_ERR));
                it_ok(pw_session_fence(host->session, IT_ERR));
                assert_int_equal(write(tell[1], "x", 1), 1);
        }
        assert_int_equal(it_reap(&child, 0), 0);
        close(tell[0]);
        close(tell[1]);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "freed_get", .rule = "what was freed by force is gone for who held it",
                                             .run = attack,
                                             .users = true });
}

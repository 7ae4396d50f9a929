/* An operator opens an object of another tenant by its id, and views it; the owner drops it, and puts others into the room. */
#include "tests/attack/attack.h"

#include "libclient/session.h"

#include <string.h>
#include <unistd.h>

#define BYTES (64u << 10)
#define OBJECTS 8u /* of another tenant, one after the other */
#define OTHERS 64u /* put after each was dropped */

struct owner { struct it_host *host; int told; };

static struct pw_future *put_filled(struct pw_session *session, uint8_t with)
{
        static uint8_t bytes[BYTES];
        struct pw_future *future;

        memset(bytes, with, sizeof bytes);
        it_ok(pw_put(session, bytes, sizeof bytes, NULL, &future, IT_ERR));
        return future;
}

static int own(void *context, int pipe)
{
        const struct owner *owner = context;
        struct pw_session *session = it_connect(owner->host);
        struct pw_future *others[OTHERS];
        char byte;

        for (uint32_t i = 0; i < OBJECTS; i++) {
                struct pw_future *future = put_filled(session, 'A');
                struct pw_id id = pw_future_id(future);

                assert_int_equal(write(pipe, &id, sizeof id), sizeof id);
                assert_int_equal(read(owner->told, &byte, 1), 1);
                pw_unref(future);
                for (uint32_t j = 0; j < OTHERS; j++)
                        others[j] = put_filled(session, 'B');
                it_ok(pw_session_fence(session, IT_ERR));
                for (uint32_t j = 0; j < OTHERS; j++)
                        pw_unref(others[j]);
                it_ok(pw_session_fence(session, IT_ERR));
                for (uint32_t j = 0; j < OTHERS; j++)
                        others[j] = put_filled(session, 'B');
                for (uint32_t j = 0; j < OTHERS; j++)
                        pw_unref(others[j]);
                assert_int_equal(write(pipe, &byte, 1), 1);
                assert_int_equal(read(owner->told, &byte, 1), 1);
        }
        pw_close(session);
        return 0;
}

static void attack(struct it_host *host)
{
        int tell[2];

        assert_int_equal(pipe(tell), 0);
        struct owner owner = { host, tell[0] };
        struct it_child child = attack_fork(ATTACK_VICTIM, own, &owner);
        struct pw_session *session = it_connect(host);

        for (uint32_t i = 0; i < OBJECTS; i++) {
                struct pw_future *future;
                struct pw_view view;
                struct pw_id id;
                char byte;

                it_read(&child, &id, sizeof id);
                it_ok(pw_open(session, id, &future, IT_ERR));
                it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
                uint8_t *seen = malloc(BYTES);
                assert_non_null(seen);
                memcpy(seen, view.data, BYTES);
                assert_int_equal(write(tell[1], "x", 1), 1);
                it_read(&child, &byte, 1);
                assert_int_equal(view.bytes, BYTES);
                assert_memory_equal(view.data, seen, BYTES);
                assert_int_equal(seen[0], 'A');
                free(seen);
                pw_view_done(&view);
                pw_unref(future);
                assert_int_equal(write(tell[1], "x", 1), 1);
        }
        pw_close(session);
        assert_int_equal(it_reap(&child, 0), 0);
        close(tell[0]);
        close(tell[1]);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "operator_view", .rule = "a value that an operator views does not change",
                                             .run = attack,
                                             .users = true });
}

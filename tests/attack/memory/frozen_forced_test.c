/* One thread puts large frozen values, another frees by force what is pending: while the daemon copies it. */
#include "tests/attack/attack.h"

#include "libclient/listing.h"
#include "libclient/session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES ((size_t)96 << 20)
#define PUTS 6

struct freeing {
        struct pw_session *session;
        _Atomic bool stop;
        _Atomic uint32_t count;
};

static void *free_pending(void *context)
{
        struct freeing *freeing = context;

        while (!freeing->stop) {
                struct pw_listing *objects;
                struct pw_id id;

                if (pw_list(freeing->session, "objects", NULL, 0, &objects, NULL) != PW_OK)
                        return NULL;
                for (size_t i = 0; i < it_rows(objects); i++)
                        if (!strcmp(it_text(objects, i, "state"), "pending") &&
                            pw_id_parse(it_text(objects, i, "id"), &id, NULL) == PW_OK)
                                freeing->count += pw_free_object(freeing->session, id, true, NULL) == PW_OK;
                pw_listing_free(objects);
        }
        return NULL;
}

static int put_and_free(void *context, int pipe)
{
        struct freeing freeing = { .session = it_connect(context) };
        struct pw_session *session = it_connect(context);
        char *bytes = malloc(VALUE_BYTES);
        pthread_t thread;

        (void)pipe;
        assert_non_null(bytes);
        memset(bytes, 7, VALUE_BYTES);
        assert_int_equal(pthread_create(&thread, NULL, free_pending, &freeing), 0);
        for (int i = 0; i < PUTS; i++) {
                struct pw_future *future;
                struct pw_error err;
                enum pw_status status = pw_put(session, bytes, VALUE_BYTES, &(struct pw_put_params){ .flags = PW_PUT_FROZEN },
                                               &future, &err);

                if (status == PW_DAEMON_GONE)
                        return 2;
                if (status == PW_OK)
                        pw_unref(future);
        }
        freeing.stop = true;
        pthread_join(thread, NULL);
        free(bytes);
        pw_close(session);
        pw_close(freeing.session);
        return freeing.count ? 0 : 3; /* 3: none was freed while it was on its way */
}

static void attack(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, put_and_free, host);

        assert_int_equal(it_reap_within(&child, 3 * IT_LONG), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "frozen_forced",
                                             .rule = "a room that is written into stays until that is done", .run = attack,
                                             .args = IT_ARGS("--devices", "emulated:8", "--islands", "2", "--host-memory", "1GiB",
                                                             "--device-memory", "16MiB"),
                                             .users = true, .alone = true });
}

/* A client that waits for as many names as it can, all of which give up at once, and one that waits for the same name many times
 * until it binds it. Lookups that wait are bounded, and end in parts. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"

#include <stdio.h>
#include <unistd.h>

#define SESSIONS 8u

struct lookups { int64_t until_us; bool same; char names[64][40]; };

/* All but the last one, which is the longest, give up at the same time. */
static void fill(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__NameLookup body;
        struct lookups *lookups = context;
        char *name = lookups->names[i % 64];
        int64_t left_us = lookups->until_us - it_now_us();

        pathways__wire__name_lookup__init(&body);
        snprintf(name, sizeof lookups->names[0], "attack/%d/%u", (int)getpid(), lookups->same ? 0 : i);
        body.name = name;
        body.timeout_us = left_us > 0 ? left_us : 1;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP;
        request->name_lookup = &body;
}

static int look_up(void *context, int pipe)
{
        uint32_t count = (uint32_t)it_environment("PW_LOOKUPS", attack_is_shared() ? 40000 : 200000) / SESSIONS;
        int fds[SESSIONS];
        char text[200];

        for (uint32_t i = 0; i < SESSIONS; i++) {
                struct lookups lookups = { .until_us = it_now_us() + 2 * IT_SECOND, .same = i & 1 };

                fds[i] = raw_connect(context);
                assert_int_equal(raw_hello(fds[i], text), PW_OK);
                raw_flood(&(struct raw_flood){ .fd = fds[i], .count = count, .fill = fill, .context = &lookups,
                                               .limit_us = 4 * IT_LONG,
                                               .unread = i < SESSIONS - 1 });
        }
        (void)pipe;
        for (uint32_t i = 0; i < SESSIONS; i++)
                close(fds[i]);
        return 0;
}

/* As many threads of a tenant as may, in the library, wait for a name, and have it once it is bound. */
static int bind_late(void *context, int pipe)
{
        uint32_t count = 1000;
        struct pw_session *session = it_connect(context);
        struct lookups lookups = { .until_us = it_now_us() + 60 * IT_SECOND, .same = true };
        struct raw_flood flood = { .fill = fill, .context = &lookups, .count = count, .limit_us = 4 * IT_LONG, .unread = true };
        struct pw_future *future;
        char text[200], name[40];

        (void)pipe;
        it_ok(pw_put(session, "x", 1, NULL, &future, IT_ERR));
        flood.fd = raw_connect(context);
        assert_int_equal(raw_hello(flood.fd, text), PW_OK);
        raw_flood(&flood);
        snprintf(name, sizeof name, "attack/%d/0", (int)getpid());
        it_ok(pw_name(future, name, IT_ERR));
        flood.unread = false;
        flood.count = 1; /* bound by now */
        assert_true(raw_flood(&flood) >= 1);
        it_ok(pw_unname(session, name, IT_ERR));
        pw_unref(future);
        pw_close(session);
        close(flood.fd);
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, look_up, host);

        assert_int_equal(it_reap_within(&child, 4 * IT_LONG), 0);
        child = attack_fork(ATTACK_USER, bind_late, host);
        assert_int_equal(it_reap_within(&child, 4 * IT_LONG), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "lookups",
                                             .rule = "lookups that wait are bounded, found by name and by their end",
                                             .users = true, .run = run });
}

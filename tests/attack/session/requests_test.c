/* A client that writes requests as fast as it can: cheap ones, and `status`. Another tenant is answered in its turn. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"

#include <string.h>
#include <unistd.h>

#define CLIENTS 40u
#define OBJECTS 1000u

static void fill_status(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__ListRequest body;

        (void)context;
        (void)i;
        pathways__wire__list_request__init(&body);
        body.what = (char *)(uintptr_t)"status";
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request->list = &body;
}

/* Of many objects, so that each answer takes its time; nobody waits for the last one. */
static void ask_status(const struct it_host *host, int fd)
{
        static struct pw_future *futures[OBJECTS];
        struct pw_session *session = it_connect(host);

        for (uint32_t i = 0; i < OBJECTS; i++)
                it_ok(pw_put(session, &i, sizeof i, NULL, &futures[i], IT_ERR));
        raw_flood(&(struct raw_flood){ .fd = fd, .count = (uint32_t)it_environment("PW_STATUSES", 4000), .fill = fill_status,
                                       .limit_us = 3 * IT_SECOND, .unread = true });
        for (uint32_t i = 0; i < OBJECTS; i++)
                pw_unref(futures[i]);
        pw_close(session);
}

static int flood(void *context, int pipe)
{
        char text[200];
        int fd = raw_connect(context);

        (void)pipe;
        assert_int_equal(raw_hello(fd, text), PW_OK);
        raw_flood(&(struct raw_flood){ .fd = fd, .count = (uint32_t)it_environment("PW_REQUESTS", 20000), .fill = raw_fill_remove,
                                       .limit_us = 4 * IT_LONG });
        ask_status(context, fd);
        close(fd);
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child children[CLIENTS];

        for (uint32_t i = 0; i < CLIENTS; i++)
                children[i] = attack_fork(ATTACK_USER, flood, host);
        for (uint32_t i = 0; i < CLIENTS; i++)
                assert_int_equal(it_reap_within(&children[i], 4 * IT_LONG), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "requests", .rule = "users take turns, each within a time", .users = true,
                                             .run = run });
}

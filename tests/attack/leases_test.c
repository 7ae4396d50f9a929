/* A client that takes leases with falling ends, many of one object, until it is refused; then all end. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"

#include "libclient/session.h"

#include <unistd.h>

#define OBJECTS 64u

struct leases { uint32_t count; struct pw_id ids[OBJECTS]; };

static void fill(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__Lease body;
        static Pathways__Wire__ObjectId id;
        const struct leases *leases = context;

        pathways__wire__lease__init(&body);
        pathways__wire__object_id__init(&id);
        id = pw_wire_id(leases->ids[i % OBJECTS]);
        body.object = &id;
        body.ttl_us = 2 * IT_SECOND + (leases->count - i) * INT64_C(10);
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_LEASE;
        request->lease = &body;
}

static int lease(void *context, int pipe)
{
        struct leases leases = { .count = (uint32_t)it_environment("PW_LEASES", 100000) };
        struct pw_session *session = it_connect(context);
        struct pw_future *futures[OBJECTS];
        char text[200];
        int fd = raw_connect(context);

        (void)pipe;
        assert_int_equal(raw_hello(fd, text), PW_OK);
        for (uint32_t i = 0; i < OBJECTS; i++) {
                it_ok(pw_put(session, &i, sizeof i, NULL, &futures[i], IT_ERR));
                leases.ids[i] = pw_future_id(futures[i]);
        }
        assert_true(raw_flood(&(struct raw_flood){ .fd = fd, .count = leases.count, .fill = fill, .context = &leases, .limit_us = 4 * IT_LONG }) > 0);
        for (uint32_t i = 0; i < OBJECTS; i++)
                pw_unref(futures[i]);
        pw_close(session);
        close(fd);
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, lease, host);

        assert_int_equal(it_reap_within(&child, 4 * IT_LONG), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "leases", .rule = "leases are bounded, lie in a heap by their end, and end in parts",
                                             .users = true, .run = run });
}

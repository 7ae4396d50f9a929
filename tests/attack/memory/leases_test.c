/* A client that takes leases with falling ends, many of one object, until it is refused; then all end. And one that binds names for
 * a time, each of which ends at once. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"

#include "libclient/session.h"

#include <stdio.h>
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

/* --- names for a time --------------------------------------------------------------------------------------------------------- */

#define NAME_BYTES 200
#define KEPT_MAX_BYTES (UINT64_C(4) << 20) /* of what has ended */

static void fill_name(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static char name[NAME_BYTES + 1];
        static Pathways__Wire__NameBind body;
        static Pathways__Wire__ObjectId id;
        const struct leases *leases = context;

        pathways__wire__name_bind__init(&body);
        pathways__wire__object_id__init(&id);
        id = pw_wire_id(leases->ids[i % OBJECTS]);
        snprintf(name, sizeof name, "%0*u", NAME_BYTES, i);
        body.name = name;
        body.object = &id;
        body.ttl_us = 1;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND;
        request->name_bind = &body;
}

/* --- both --------------------------------------------------------------------------------------------------------------------- */

/* How many of what; at least `least` are granted. */
static int ask_for_many(const struct it_host *host, uint32_t count, void (*what)(void *, uint32_t, Pathways__Wire__Request *),
                        uint32_t least)
{
        struct leases leases = { .count = count };
        struct pw_session *session = it_connect(host);
        struct pw_future *futures[OBJECTS];
        char text[200];
        int fd = raw_connect(host);

        assert_int_equal(raw_hello(fd, text), PW_OK);
        for (uint32_t i = 0; i < OBJECTS; i++) {
                it_ok(pw_put(session, &i, sizeof i, NULL, &futures[i], IT_ERR));
                leases.ids[i] = pw_future_id(futures[i]);
        }
        assert_true(raw_flood(&(struct raw_flood){ .fd = fd, .count = count, .fill = what, .context = &leases,
                                                   .limit_us = 4 * IT_LONG }) > least);
        for (uint32_t i = 0; i < OBJECTS; i++)
                pw_unref(futures[i]);
        pw_close(session);
        close(fd);
        return 0;
}

static int lease(void *context, int pipe)
{
        (void)pipe;
        return ask_for_many(context, (uint32_t)it_environment("PW_LEASES", 100000), fill, 0);
}

/* Each ends at once, and nobody keeps it. */
static int name_for_a_time(void *context, int pipe)
{
        uint32_t count = (uint32_t)it_environment("PW_NAMES_FOR_A_TIME", 40000);

        (void)pipe;
        return ask_for_many(context, count, fill_name, count / 2);
}

struct most { const struct it_host *host; uint64_t bytes; };

/* A session that ended goes in parts, and what it had in the heap a second later. */
static bool has_kept_little(const struct pw_listing *status, void *context)
{
        const struct most *most = context;

        (void)status;
        return attack_is_shared() || attack_anonymous_bytes(most->host->pid) < most->bytes;
}

static void run(struct it_host *host)
{
        uint64_t before = attack_anonymous_bytes(host->pid), after;
        struct it_child child = attack_fork(ATTACK_USER, name_for_a_time, host);

        assert_int_equal(it_reap_within(&child, 4 * IT_LONG), 0);
        it_until(host->session, "status", has_kept_little, &(struct most){ host, before + KEPT_MAX_BYTES });
        after = attack_anonymous_bytes(host->pid);
        printf("leases: the daemon has %lld KiB more after names for a time\n", (long long)(after - before) / 1024);
        child = attack_fork(ATTACK_USER, lease, host);
        assert_int_equal(it_reap_within(&child, 4 * IT_LONG), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "leases",
                                             .rule = "leases are bounded, lie in a heap by their end, and end in parts",
                                             .users = true, .run = run });
}

/* Requests that come faster than any client of the library has them come: a client that opens objects of a host that does not
 * answer, without end, is refused, the link stays, and others go on; of two values that are asked for at once one has the room. */
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/raw.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define WAIT 1024u      /* may: PW_ASKS_OF_SESSION in daemon/peer/asks.h */
#define REFUSED 100000u

struct opens { struct cluster *cluster; struct pw_id last; int64_t until_us; };

/* Each of another object; till the end of all, which does not come. */
static void fill(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__ObjectId id;
        static Pathways__Wire__ObjectOpen body;
        const struct opens *opens = context;
        int64_t left_us = opens->until_us - it_now_us();

        pathways__wire__object_id__init(&id);
        pathways__wire__object_open__init(&body);
        id.place = opens->last.place;
        id.epoch = opens->last.epoch;
        id.generation = opens->last.generation + 1 + i;
        body.object = &id;
        body.timeout_us = left_us > 0 ? left_us : 1;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_OBJECT_OPEN;
        request->object_open = &body;
}

static int64_t term(struct cluster *cluster)
{
        struct pw_listing *hosts = it_list(cluster->hosts[1].session, "hosts", NULL);
        int64_t found = -1;

        for (size_t row = 0; row < it_rows(hosts); row++)
                if (!strcmp(it_text(hosts, row, "name"), "anna"))
                        found = it_number(hosts, row, "term");
        pw_listing_free(hosts);
        return found;
}

static int flood(void *context, int pipe)
{
        struct opens *opens = context;
        struct raw_flood flood = { .fill = fill, .context = opens, .count = WAIT, .limit_us = IT_LONG, .unread = true };
        char text[200];

        (void)pipe;
        opens->until_us = it_now_us() + 10 * (int64_t)IT_LONG;
        flood.fd = raw_connect(&opens->cluster->hosts[1]);
        assert_int_equal(raw_hello(flood.fd, text), PW_OK);
        raw_flood(&flood);
        flood.unread = false;
        flood.count = REFUSED; /* each is answered, and nothing else is, by their ends */
        assert_int_equal(raw_flood(&flood), 0);
        close(flood.fd);
        return 0;
}

static void a_flood_of_opens(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made, *opened;
        struct pw_view view;
        struct opens opens = { .cluster = cluster };
        struct it_child child;
        int64_t before;

        cluster->linked = true;
        cluster->lease = "60s";
        cluster_start(cluster, 0, true);
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
        it_ok(pw_put(cluster->hosts[0].session, "value", 5, NULL, &made, IT_ERR));
        opens.last = pw_future_id(made);
        before = term(cluster);
        assert_int_equal(kill(cluster->hosts[0].pid, SIGSTOP), 0);
        child = it_fork(flood, &opens);
        assert_int_equal(it_reap_within(&child, 3 * IT_LONG), 0);
        assert_int_equal(term(cluster), before);
        assert_int_equal(kill(cluster->hosts[0].pid, SIGCONT), 0);
        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(made), &opened, IT_ERR));
        it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
        pw_view_done(&view);
        assert_int_equal(term(cluster), before);
        pw_unref(opened);
        pw_unref(made);
}

/* --- room for one of two ------------------------------------------------------------------------------------------------------ */

#define MIB (UINT64_C(1) << 20)
#define BYTES (16 * MIB)
#define FILLER (25 * MIB) /* of 56 MiB: two times BYTES do not fit beside it */

struct fetches { struct pw_future *opened[2]; };

static void fill_fetch(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__ObjectId id;
        static Pathways__Wire__ObjectFetch body;
        const struct fetches *fetches = context;
        struct pw_id of = pw_future_id(fetches->opened[i]);

        pathways__wire__object_id__init(&id);
        pathways__wire__object_fetch__init(&body);
        id.place = of.place;
        id.epoch = of.epoch;
        id.generation = of.generation;
        body.object = &id;
        body.timeout_us = -1;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_OBJECT_FETCH;
        request->object_fetch = &body;
}

static struct pw_future *put(struct cluster *cluster, int i, uint64_t bytes)
{
        struct pw_future *future;
        void *data;

        it_ok(pw_create(cluster->hosts[i].session, bytes, NULL, &future, &data, IT_ERR));
        it_ok(pw_seal(future, IT_ERR));
        return future;
}

static void get(struct pw_future *future)
{
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, BYTES);
        pw_view_done(&view);
}

static struct pw_future *open_new(struct cluster *cluster)
{
        struct pw_future *made = put(cluster, 0, BYTES), *opened;

        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(made), &opened, IT_ERR));
        pw_unref(made);
        return opened;
}

/* Both are asked for in one turn, and pages for one are there, which come with no wait: one has them, the other one waits. */
static void two_are_asked_for_at_once(void **state)
{
        struct cluster *cluster = *state;
        struct fetches fetches;
        struct raw_flood flood = { .fill = fill_fetch, .context = &fetches, .count = 2, .limit_us = IT_LONG, .unread = true };
        struct pw_future *filler;
        char text[200];

        cluster->linked = true;
        cluster->lease = "60s";
        for (int i = 0; i < 2; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
        fetches.opened[0] = open_new(cluster);
        get(fetches.opened[0]);
        pw_unref(fetches.opened[0]);
        filler = put(cluster, 1, FILLER);
        for (int i = 0; i < 2; i++)
                fetches.opened[i] = open_new(cluster);
        flood.fd = raw_connect(&cluster->hosts[1]);
        assert_int_equal(raw_hello(flood.fd, text), PW_OK);
        assert_int_equal(kill(cluster->hosts[1].pid, SIGSTOP), 0);
        raw_flood(&flood);
        assert_int_equal(kill(cluster->hosts[1].pid, SIGCONT), 0);
        flood = (struct raw_flood){ .fd = flood.fd, .fill = raw_fill_remove, .count = 1, .before = 1, .limit_us = IT_LONG };
        raw_flood(&flood);
        pw_unref(filler);
        for (int i = 0; i < 2; i++) {
                get(fetches.opened[i]);
                pw_unref(fetches.opened[i]);
        }
        close(flood.fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(a_flood_of_opens), CLUSTER_TEST(two_are_asked_for_at_once) };

        return cmocka_run_group_tests_name("flood", tests, NULL, NULL);
}

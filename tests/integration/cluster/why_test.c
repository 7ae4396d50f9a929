/* `pathways why` between hosts: each wait for another host is walked down to that host, its link, and what a person can do. */
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/operator/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Who is silent is given up late, so that there is time to ask. */
static void start(struct cluster *cluster)
{
        cluster->linked = true;
        cluster->lease = "20s";
        cluster_start(cluster, 0, true);
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
}

/* What a child is to do on a host with an object of another one. */
struct errand { struct it_host *host; struct pw_id id; };

static int open_it(void *context, int pipe)
{
        const struct errand *errand = context;
        struct pw_session *session = it_connect(errand->host);
        struct pw_future *opened;

        assert_int_equal(write(pipe, "c", 1), 1);
        it_ok(pw_open(session, errand->id, &opened, IT_ERR));
        return 0;
}

static int get_it(void *context, int pipe)
{
        const struct errand *errand = context;
        struct pw_session *session = it_connect(errand->host);
        struct pw_future *opened;
        struct pw_view view;

        it_ok(pw_open(session, errand->id, &opened, IT_ERR));
        assert_int_equal(write(pipe, "c", 1), 1);
        it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
        return 0;
}

/* Again and again, until it is killed. */
static int pull_it(void *context, int pipe)
{
        const struct errand *errand = context;
        struct pw_session *session = it_connect(errand->host);
        struct pw_future *opened;
        struct pw_view view;

        assert_int_equal(write(pipe, "c", 1), 1);
        while (pw_open(session, errand->id, &opened, NULL) == PW_OK) {
                it_ok(pw_get(opened, IT_LONG, &view, IT_ERR));
                pw_view_done(&view);
                pw_unref(opened);
        }
        return 1;
}

static const char *pid_of(const struct it_child *child, char text[24])
{
        snprintf(text, 24, "pid %d", (int)child->pid);
        return text;
}

static struct pw_future *put_zeros(struct cluster *cluster, size_t count)
{
        void *bytes = calloc(1, count);
        struct pw_future *future;

        assert_non_null(bytes);
        it_ok(pw_put(cluster->hosts[0].session, bytes, count, NULL, &future, IT_ERR));
        free(bytes);
        return future;
}

/* Instead of anna somebody listens there, and answers nobody. */
static int stand_in(const struct cluster *cluster)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%s/anna.peer", cluster->server.folder);
        assert_int_equal(unlink(address.sun_path), 0);
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(fd, 100), 0);
        return fd;
}

/* It is opened, and not made there: the chain ends at the host where it is to be asked again. Then that host says nothing; then its
 * connection is cut. */
static void what_is_not_made_there(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[1];
        struct errand errand = { .host = host };
        struct pw_future *made;
        struct it_child child;
        char pid[24], id[PW_ID_TEXT_BYTES], expected[300];
        void *bytes;
        int silent;

        start(cluster);
        it_ok(pw_create(cluster->hosts[0].session, 8, NULL, &made, &bytes, IT_ERR));
        errand.id = pw_future_id(made);
        child = it_start_child(&errand, get_it);
        snprintf(expected, sizeof expected,
                 "0 |[%d]|waits for object|1 object %s: waits for host anna (h1), which holds it|2 host anna (h1)|link is up|"
                 "`pathways why %s` on host anna", (int)child.pid, it_id_of(made, id), id);
        it_chain_expect(host, pid_of(&child, pid), expected);
        it_chain_expect(host, id, "0 object|waits for host anna (h1)|1 host anna (h1)|link is up");
        it_chain_expect(&cluster->hosts[0], id, "0 object|to seal it"); /* what it says to do */
        assert_int_equal(kill(cluster->hosts[0].pid, SIGSTOP), 0);
        it_chain_expect(host, pid, "host anna (h1)|said nothing for|given up in|is stopped on host anna");
        it_chain_expect(host, "h1", "host anna (h1)|said nothing for");
        silent = stand_in(cluster);
        it_host_end(&cluster->hosts[0], SIGKILL);
        it_chain_expect(host, pid, "host anna (h1)|its link, which is cut|given up in|pathwaysd runs on host anna");
        cluster->hosts[0].session = NULL; /* it ended with its host */
        it_reap(&child, SIGKILL);
        close(silent);
}

/* Its host does not answer: who opens it is listed, by process and by id. */
static void an_open_without_an_answer(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[1];
        struct errand errand = { .host = host };
        struct pw_future *future;
        struct it_child child;
        char pid[24], id[PW_ID_TEXT_BYTES];

        start(cluster);
        future = put_zeros(cluster, 10);
        errand.id = pw_future_id(future);
        assert_int_equal(kill(cluster->hosts[0].pid, SIGSTOP), 0);
        child = it_start_child(&errand, open_it);
        it_chain_expect(host, pid_of(&child, pid), "0 |to be opened|1 object|waits for host anna (h1) to hold it|2 host anna (h1)|"
                        "said nothing for");
        it_chain_expect(host, it_id_of(future, id), "0 |to be opened|waits for host anna (h1) to hold it|2 host anna (h1)");
        assert_int_equal(kill(cluster->hosts[0].pid, SIGCONT), 0);
        assert_int_equal(it_reap(&child, 0), 0);
        pw_unref(future);
}

/* Where the object of host anna is, as host bert sees it. */
static void expect_cells(struct it_host *host, const char *id, const char *where, const char *mark)
{
        struct pw_listing *listing = it_list(host->session, "object", id);

        assert_string_equal(it_text(listing, 0, "where"), where);
        assert_string_equal(it_text(listing, 0, "mark"), mark);
        assert_string_equal(it_text(listing, 0, "home"), "h1");
        assert_string_equal(it_text(listing, 0, "lender"), "h1");
        pw_listing_free(listing);
}

/* Its bytes are there, and their host does not send them. */
static void bytes_that_do_not_come(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[1];
        struct errand errand = { .host = host };
        struct pw_future *future, *opened;
        struct it_child child;
        char pid[24], id[PW_ID_TEXT_BYTES];

        start(cluster);
        future = put_zeros(cluster, 3 << 20);
        errand.id = pw_future_id(future);
        it_ok(pw_open(host->session, errand.id, &opened, IT_ERR));
        it_chain_expect(host, it_id_of(future, id), "the bytes of object|somebody here to read them: they are 3 MiB, on host anna|"
                        "held by");
        expect_cells(host, id, "h1, not here", "elsewhere");
        assert_int_equal(kill(cluster->hosts[0].pid, SIGSTOP), 0);
        child = it_start_child(&errand, get_it);
        it_chain_expect(host, pid_of(&child, pid), "0 |waits for the bytes of object|1 the bytes of object|host anna (h1) to name|"
                        "none of 3 MiB|2 host anna (h1)|said nothing for");
        it_chain_expect(host, id, "0 the bytes of object|host anna (h1) to name");
        assert_int_equal(kill(cluster->hosts[0].pid, SIGCONT), 0);
        assert_int_equal(it_reap(&child, 0), 0);
        it_chain_expect(host, id, "0 object|held by");
        expect_cells(host, id, "h2, of h1", "");
        pw_unref(opened);
        pw_unref(future);
}

/* How far it is, and how fast. */
static void bytes_that_come(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[1];
        struct errand errand = { .host = host };
        struct pw_future *future;
        struct it_child child;
        char id[PW_ID_TEXT_BYTES];

        start(cluster);
        future = put_zeros(cluster, 32 << 20);
        errand.id = pw_future_id(future);
        child = it_start_child(&errand, pull_it);
        it_chain_expect(host, it_id_of(future, id), "the bytes of object|host anna (h1), which sends them: |MiB of 32 MiB "
                        "are here, |/s, the last of them came |1 host anna (h1)");
        it_reap(&child, SIGKILL);
        pw_unref(future);
}

/* There is no room for them here: the chain goes on to who has it. */
static void no_room_for_the_bytes(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[1];
        struct errand errand = { .host = host };
        struct pw_future *future, *full;
        struct it_child child;
        char pid[24];
        void *bytes;

        start(cluster);
        future = put_zeros(cluster, 32 << 20);
        errand.id = pw_future_id(future);
        it_ok(pw_create(host->session, 40 << 20, NULL, &full, &bytes, IT_ERR));
        child = it_start_child(&errand, get_it);
        it_chain_expect(host, pid_of(&child, pid), "0 |waits for the bytes of object|1 the bytes of object|room of 32 MiB|"
                        "host memory h2");
        it_ok(pw_abort(full, IT_ERR));
        pw_unref(full);
        assert_int_equal(it_reap(&child, 0), 0);
        pw_unref(future);
}

static void a_host_is_asked_about(void **state)
{
        struct cluster *cluster = *state;

        start(cluster);
        it_chain_expect(&cluster->hosts[1], "h1", "0 host anna (h1)|its link is up|`pathways why h1` on host anna");
        it_chain_expect(&cluster->hosts[1], "h7", "h7: this host is h2");
}

/* What is asked about where it is not: whose it is, where to ask, and what can be done from here. */
static void what_is_of_another_host(void **state)
{
        struct cluster *cluster = *state;
        struct it_host *host = &cluster->hosts[1];
        struct pw_future *made, *found;
        char id[PW_ID_TEXT_BYTES], expected[100];

        start(cluster);
        made = put_zeros(cluster, 8);
        it_ok(pw_name(made, "weights", IT_ERR));
        snprintf(expected, sizeof expected, "%s: of host h1, and nobody here holds it: ask there", it_id_of(made, id));
        it_chain_expect(host, id, expected);
        it_command_expect(host, 5, expected, IT_ARGS("object", id));
        it_command_expect(host, 5, expected, IT_ARGS("free", id));
        it_chain_expect(host, "weights", "that is bound to an object of this host");
        it_command_expect(host, 5, "that is bound to an object of this host", IT_ARGS("object", "weights"));
        it_chain_expect(host, "anna", "0 host anna (h1)|link is up|`pathways why h1` on host anna");
        it_chain_expect(host, "bert", "0 host h2|waits for nothing");
        it_command_expect(host, 0, "", IT_ARGS("free", "weights"));
        it_fails(pw_lookup(cluster->hosts[0].session, "weights", 0, &found, IT_ERR), PW_NOT_FOUND, "weights");
        it_command_expect(&cluster->hosts[0], 5, "neither name nor lease", IT_ARGS("free", id)); /* whoever put it has it still */
        pw_unref(made);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(what_is_not_made_there), CLUSTER_TEST(what_is_of_another_host),
                CLUSTER_TEST(an_open_without_an_answer),
                CLUSTER_TEST(bytes_that_do_not_come), CLUSTER_TEST(bytes_that_come),
                CLUSTER_TEST(no_room_for_the_bytes),  CLUSTER_TEST(a_host_is_asked_about),
        };

        return cmocka_run_group_tests_name("why", tests, NULL, NULL);
}

/* Another user on another host, who knows the id of an object that is not theirs: nothing is handed out, and what is said is what
 * is said of an id that nobody ever had. */
#include "libclient/session.h"
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/other.h"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Who has no name on this host is told nothing of others; this one has, and runs nothing. */
#define STRANGER "games"

struct stranger {
        struct it_host *host;
        uid_t user;
        struct pw_id ids[4]; /* held by others: there, here and there, named, not ready; all of the first host */
        struct pw_id never;  /* that nobody had */
};

/* What is said, without the id. */
static enum pw_status open_it(struct pw_session *session, struct pw_id id, char ret_said[sizeof(struct pw_error)])
{
        struct pw_error err = { PW_OK, "" };
        char text[PW_ID_TEXT_BYTES], *at;
        struct pw_future *opened;
        enum pw_status status = pw_open(session, id, &opened, &err);

        strcpy(ret_said, err.text);
        while ((at = strstr(ret_said, pw_id_format(id, text))))
                memmove(at, at + strlen(text), strlen(at + strlen(text)) + 1);
        return status;
}

static struct pw_session *connect_as(const struct stranger *stranger)
{
        assert_int_equal(setgroups(0, NULL), 0);
        assert_int_equal(setresgid(stranger->user, stranger->user, stranger->user), 0);
        assert_int_equal(setresuid(stranger->user, stranger->user, stranger->user), 0);
        assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
        return it_connect(stranger->host);
}

static int be_a_stranger(void *context, int pipe)
{
        const struct stranger *stranger = context;
        struct pw_session *session = connect_as(stranger);
        char expected[sizeof(struct pw_error)], said[sizeof(struct pw_error)];
        struct pw_listing *objects;
        struct pw_future *found;

        assert_int_equal(open_it(session, stranger->never, expected), PW_GONE);
        for (size_t i = 0; i < 4; i++) {
                assert_int_equal(open_it(session, stranger->ids[i], said), PW_GONE);
                assert_string_equal(said, expected);
        }
        it_fails(pw_lookup(session, "weights", 0, &found, IT_ERR), PW_NOT_FOUND, "not bound");
        it_fails(pw_lookup(session, "weights", 20000, &found, IT_ERR), PW_DEADLINE, "weights");
        it_fails(pw_unname(session, "weights", IT_ERR), PW_NOT_FOUND, "weights");
        objects = it_list(session, "objects", NULL);
        assert_int_equal(it_rows(objects), 0);
        pw_listing_free(objects);
        pw_close(session);
        return write(pipe, "s", 1) == 1 ? 0 : 1;
}

static void nothing_is_said_to_strangers(void **state)
{
        const struct passwd *user = getpwnam(STRANGER);
        struct cluster *cluster = *state;
        struct pw_future *held[4], *here;
        struct stranger stranger;
        struct it_child child;
        struct pw_view view;
        char large[70000];
        void *bytes;

        if (it_alone(&cluster->hosts[1]))
                skip();
        if (!user)
                it_skip("there is no user " STRANGER " here");
        cluster->linked = true;
        for (int i = 0; i < 2; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
        memset(large, 's', sizeof large);
        it_ok(pw_put(cluster->hosts[0].session, "secret", 6, NULL, &held[0], IT_ERR));
        it_ok(pw_put(cluster->hosts[0].session, large, sizeof large, NULL, &held[1], IT_ERR));
        it_ok(pw_put(cluster->hosts[0].session, "named", 5, NULL, &held[2], IT_ERR));
        it_ok(pw_create(cluster->hosts[0].session, 100, NULL, &held[3], &bytes, IT_ERR));
        it_ok(pw_name(held[2], "weights", IT_ERR));
        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(held[1]), &here, IT_ERR));
        it_ok(pw_get(here, IT_LONG, &view, IT_ERR)); /* its replica is on the stranger's host */
        stranger.host = &cluster->hosts[1];
        stranger.user = user->pw_uid;
        for (size_t i = 0; i < 4; i++)
                stranger.ids[i] = pw_future_id(held[i]);
        stranger.never = stranger.ids[0];
        stranger.never.generation += 100;
        child = it_fork(be_a_stranger, &stranger);
        assert_int_equal(it_reap(&child, 0), 0);
        pw_view_done(&view);
        pw_unref(here);
        it_ok(pw_session_fence(cluster->hosts[1].session, IT_ERR)); /* the DROP is read */
        it_ok(pw_unname(cluster->hosts[0].session, "weights", IT_ERR));
        for (size_t i = 0; i < 4; i++)
                pw_unref(held[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(nothing_is_said_to_strangers) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

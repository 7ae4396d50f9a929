/* Transfer of ownership: who is charged for an object, and holds it, is another process or a name, whoever lets go. */
#include "tests/integration/harness.h"

#include "libclient/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char value[100] = "a value that changes hands";

struct heir { struct it_host *host; int go; };

/* Attached; told an id, it opens the object, reads it, and lets go of it. */
static int inherit(void *context, int pipe)
{
        const struct heir *heir = context;
        struct pw_session *session = it_connect(heir->host);
        struct pw_future *future;
        struct pw_view view;
        struct pw_id id;

        if (write(pipe, "c", 1) != 1 || read(heir->go, &id, sizeof id) != sizeof id)
                return 2;
        it_ok(pw_open(session, id, &future, IT_ERR));
        it_ok(pw_get(future, 0, &view, IT_ERR));
        bool same = view.bytes == sizeof value && !memcmp(view.data, value, sizeof value);
        pw_view_done(&view);
        pw_unref(future);
        if (write(pipe, "d", 1) != 1 || read(heir->go, &id, 1) != 1)
                return 3;
        pw_close(session);
        return same ? 0 : 4;
}

static void expect_charged(struct pw_session *session, struct pw_id id, const char *who)
{
        char text[PW_ID_TEXT_BYTES];
        struct pw_listing *object = it_list(session, "object", pw_id_format(id, text));
        struct pw_listing *owners = it_list(session, "owners", NULL), *objects = it_list(session, "objects", NULL);

        assert_string_equal(it_text(object, it_find(object, "part", "object"), "charged"), who);
        assert_string_equal(it_text(objects, it_find(objects, "id", text), "owner"), who);
        assert_int_equal(it_number(owners, it_find(owners, "client", who), "objects"), 1);
        pw_listing_free(object);
        pw_listing_free(objects);
        pw_listing_free(owners);
}

/* One of the answers to `why` has both texts in what the object waits for. */
static void expect_why(struct pw_session *session, struct pw_id id, const char *first, const char *second)
{
        char text[PW_ID_TEXT_BYTES];
        struct pw_listing *why = it_list(session, "why", pw_id_format(id, text));

        for (size_t i = 0; i < it_rows(why); i++)
                if (strstr(it_text(why, i, "waits_for"), first) && strstr(it_text(why, i, "waits_for"), second)) {
                        pw_listing_free(why);
                        return;
                }
        it_print(why);
        fail_msg("no row says \"%s\" and \"%s\"", first, second);
}

static bool none(const struct pw_listing *objects, void *context)
{
        (void)context;
        return it_rows(objects) == 0;
}

static struct pw_future *put(struct pw_session *session)
{
        struct pw_future *future;

        it_ok(pw_put(session, value, sizeof value, NULL, &future, IT_ERR));
        return future;
}

/* It holds what it was given before it has opened it, and what it opens is that one reference. */
static void to_a_process(void **state)
{
        struct it_host *host = *state;
        struct pw_session *giver = it_connect(host);
        struct pw_future *future = put(giver);
        struct pw_id id = pw_future_id(future);
        char to[80], byte;
        int go[2];

        assert_int_equal(pipe(go), 0);
        struct heir heir = { host, go[0] };
        struct it_child child = it_fork(inherit, &heir);
        it_read(&child, &byte, 1);
        snprintf(to, sizeof to, "pid %d", (int)child.pid);
        it_ok(pw_transfer(future, to, IT_ERR));
        snprintf(to, sizeof to, "%.60s[%d]", program_invocation_short_name, (int)child.pid);
        it_ok(pw_transfer(future, to, IT_ERR)); /* again, by its other name: nothing changes */
        expect_charged(host->session, id, to);
        expect_why(host->session, id, to, "charged");
        pw_unref(future);
        pw_close(giver);
        expect_charged(host->session, id, to);
        assert_int_equal(write(go[1], &id, sizeof id), sizeof id);
        it_read(&child, &byte, 1);
        it_until(host->session, "objects", none, NULL);
        assert_int_equal(write(go[1], "e", 1), 1);
        assert_int_equal(it_reap(&child, 0), 0);
        close(go[0]);
        close(go[1]);
}

/* A process has several sessions: it is the one that holds the object that is charged, and once that lets go nobody holds it. */
static void to_who_holds_it(void **state)
{
        struct it_host *host = *state;
        struct pw_session *sessions[3];
        struct pw_future *future = put(host->session), *held;
        struct pw_id id = pw_future_id(future);
        char to[32];

        for (int i = 0; i < 3; i++)
                sessions[i] = it_connect(host);
        it_ok(pw_open(sessions[1], id, &held, IT_ERR));
        it_ok(pw_wait(&held, 1, 1, 0, NULL, IT_ERR));
        pw_unref(future);
        snprintf(to, sizeof to, "pid %d", (int)getpid());
        it_ok(pw_transfer(held, to, IT_ERR));
        it_ok(pw_transfer(held, to, IT_ERR));
        pw_unref(held);
        it_until(host->session, "objects", none, NULL);
        for (int i = 0; i < 3; i++)
                pw_close(sessions[i]);
}

/* Who was given it and never asked for it takes it along. */
static void it_ends_with_its_owner(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future = put(host->session);
        struct heir heir = { host, -1 };
        struct it_child child;
        char to[32], byte;
        int go[2];

        assert_int_equal(pipe(go), 0);
        heir.go = go[0];
        child = it_fork(inherit, &heir);
        it_read(&child, &byte, 1);
        snprintf(to, sizeof to, "pid %d", (int)child.pid);
        it_ok(pw_transfer(future, to, IT_ERR));
        pw_unref(future);
        assert_int_equal(it_listed(host->session, "status", "objects"), 1);
        it_reap(&child, SIGKILL);
        it_until(host->session, "objects", none, NULL);
        close(go[0]);
        close(go[1]);
}

static void to_a_name(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future = put(host->session);
        struct pw_id id = pw_future_id(future);
        char self[80];

        snprintf(self, sizeof self, "%.60s[%d]", program_invocation_short_name, (int)getpid());
        it_ok(pw_name(future, "weights", IT_ERR));
        expect_charged(host->session, id, self);
        it_ok(pw_transfer(future, "name weights", IT_ERR));
        expect_charged(host->session, id, "name weights");
        expect_why(host->session, id, "name weights", "charged");
        it_ok(pw_unname(host->session, "weights", IT_ERR)); /* to its oldest holder */
        expect_charged(host->session, id, self);
        pw_unref(future);
}

static void to_nobody(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future = put(host->session), *other = put(host->session);

        it_ok(pw_name(other, "other", IT_ERR));
        it_fails(pw_transfer(future, NULL, IT_ERR), PW_INVALID, "nobody");
        it_fails(pw_transfer(future, "", IT_ERR), PW_INVALID, "nobody");
        it_fails(pw_transfer(NULL, "name other", IT_ERR), PW_INVALID, NULL);
        it_fails(pw_transfer(future, "nobody[1]", IT_ERR), PW_NOT_FOUND, "nobody[1]|owners");
        it_fails(pw_transfer(future, "pid 1", IT_ERR), PW_NOT_FOUND, "pid 1");
        it_fails(pw_transfer(future, "pid 1x", IT_ERR), PW_NOT_FOUND, "pid 1x");
        it_fails(pw_transfer(future, "name never", IT_ERR), PW_NOT_FOUND, "never");
        it_fails(pw_transfer(future, "name other", IT_ERR), PW_EXISTS, "other|another object");
        it_ok(pw_unname(host->session, "other", IT_ERR));
        pw_unref(future);
        pw_unref(other);
}

/* A client that is not ours may send any id. */
static void not_by_who_does_not_hold_it(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_future *future = put(host->session);
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Transfer transfer = PATHWAYS__WIRE__TRANSFER__INIT;
        Pathways__Wire__ObjectId id = pw_wire_id(pw_future_id(future));
        char to[32];

        snprintf(to, sizeof to, "pid %d", (int)getpid());
        transfer.object = &id;
        transfer.to = to;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_TRANSFER;
        request.transfer = &transfer;
        it_fails(pw_session_tell(other, &request, IT_ERR), PW_DENIED, "does not hold");
        it_ok(pw_session_tell(host->session, &request, IT_ERR));
        pw_unref(future);
        pw_close(other);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(to_a_process), IT_TEST(to_who_holds_it), IT_TEST(it_ends_with_its_owner), IT_TEST(to_a_name),
                        IT_TEST(to_nobody),
                IT_TEST(not_by_who_does_not_hold_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What keeps an object alive, and who waits for room: references by id, names, leases, full memory. */
#include "tests/integration/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

static const char value[100] = "a value that another process reads";

static bool is_gone(const struct pw_listing *objects, void *context)
{
        (void)context;
        return it_rows(objects) == 0;
}

/* --- by id ------------------------------------------------------------------------------------------------------------ */

struct reader { struct it_host *host; struct pw_id id; int go; };

/* Takes a reference, says so, reads when it is told to. */
static int open_and_read(void *context, int pipe)
{
        struct reader *reader = context;
        struct pw_session *session;
        struct pw_future *future;
        struct pw_view view;
        char byte = 0;

        if (pw_connect(reader->host->socket, &session, NULL) != PW_OK)
                return 2;
        enum pw_status status = pw_open(session, reader->id, &future, NULL);
        if (write(pipe, &status, sizeof status) != sizeof status || status != PW_OK)
                return 3;
        if (read(reader->go, &byte, 1) < 0 || pw_get(future, PW_FOREVER, &view, NULL) != PW_OK)
                return 4;
        int same = view.bytes == sizeof value && !memcmp(view.data, value, sizeof value);
        pw_view_done(&view);
        pw_unref(future);
        pw_close(session);
        return same ? 0 : 5;
}

static void a_reference_by_id_keeps_it_alive(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future, *again;
        enum pw_status status;
        char text[PW_ID_TEXT_BYTES];
        struct pw_id id;
        int go[2];

        it_ok(pw_put(host->session, value, sizeof value, NULL, &future, IT_ERR));
        it_ok(pw_id_parse(pw_id_format(pw_future_id(future), text), &id, IT_ERR));
        assert_int_equal(pipe(go), 0);
        struct reader reader = { host, id, go[0] };
        struct it_child child = it_fork(open_and_read, &reader);
        it_read(&child, &status, sizeof status);
        assert_int_equal(status, PW_OK);
        pw_unref(future);
        for (int i = 0; i < 1000; i++) {
                it_ok(pw_put(host->session, text, sizeof value - 40, NULL, &again, IT_ERR));
                pw_unref(again);
        }
        assert_int_equal(write(go[1], "g", 1), 1);
        assert_int_equal(it_reap(&child, 0), 0);
        close(go[0]);
        close(go[1]);
}

/* A reference of one session is given back by another's end: the id is gone then, and stays gone when its slot is used again. */
static void an_id_whose_object_is_gone(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_future *future, *again;
        struct pw_id id, never = { 0 };

        it_ok(pw_put(other, value, sizeof value, NULL, &future, IT_ERR));
        id = pw_future_id(future);
        it_ok(pw_open(host->session, id, &again, IT_ERR));
        pw_unref(again);
        pw_unref(future);
        pw_close(other);
        it_until(host->session, "objects", is_gone, NULL); /* a DROP may be read late */
        it_fails(pw_open(host->session, id, &again, IT_ERR), PW_GONE, "");
        it_fails(pw_open(host->session, never, &again, IT_ERR), PW_GONE, "");
        never = (struct pw_id){ id.place | UINT64_C(0xffffff) << 24, id.epoch, id.generation };
        it_fails(pw_open(host->session, never, &again, IT_ERR), PW_NOT_FOUND, "");
        never = (struct pw_id){ id.place, id.epoch - 1, id.generation };
        it_fails(pw_open(host->session, never, &again, IT_ERR), PW_GONE, "");
}

static void a_reference_to_what_is_not_ready_yet(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future;
        enum pw_status status;
        void *data;
        int go[2];

        it_ok(pw_create(host->session, sizeof value, NULL, &future, &data, IT_ERR));
        assert_int_equal(pipe(go), 0);
        struct reader reader = { host, pw_future_id(future), go[0] };
        struct it_child child = it_fork(open_and_read, &reader);
        it_read(&child, &status, sizeof status);
        assert_int_equal(status, PW_OK);
        assert_int_equal(write(go[1], "g", 1), 1);
        memcpy(data, value, sizeof value);
        it_ok(pw_seal(future, IT_ERR));
        pw_unref(future);
        assert_int_equal(it_reap(&child, 0), 0);
        close(go[0]);
        close(go[1]);
}

/* --- names and leases ------------------------------------------------------------------------------------------------- */

static void names_outlive_their_session(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_future *future, *found;
        struct pw_view view;
        char long_name[300];

        it_ok(pw_put(other, value, sizeof value, NULL, &future, IT_ERR));
        it_ok(pw_name(future, "weights", IT_ERR));
        it_ok(pw_put(other, "x", 1, NULL, &found, IT_ERR));
        it_fails(pw_name(found, "weights", IT_ERR), PW_EXISTS, "weights");
        pw_unref(found);
        it_fails(pw_name(future, "", IT_ERR), PW_INVALID, "");
        it_fails(pw_name(future, "two words", IT_ERR), PW_INVALID, "");
        memset(long_name, 'x', sizeof long_name);
        long_name[256] = 0;
        it_fails(pw_name(future, long_name, IT_ERR), PW_INVALID, "");
        long_name[255] = 0;
        it_ok(pw_name(future, long_name, IT_ERR));
        it_ok(pw_unname(other, long_name, IT_ERR));
        pw_unref(future);
        pw_close(other);
        it_ok(pw_lookup(host->session, "weights", 0, &found, IT_ERR));
        it_ok(pw_get(found, 0, &view, IT_ERR));
        assert_memory_equal(view.data, value, sizeof value);
        pw_view_done(&view);
        pw_unref(found);
        it_ok(pw_unname(host->session, "weights", IT_ERR));
        it_fails(pw_unname(host->session, "weights", IT_ERR), PW_NOT_FOUND, "weights");
        it_fails(pw_lookup(host->session, "weights", 0, &found, IT_ERR), PW_NOT_FOUND, "weights");
        it_fails(pw_lookup(host->session, "weights", 1000, &found, IT_ERR), PW_DEADLINE, "weights");
}

/* Names that this host keeps are read in shared memory: the daemon is stopped meanwhile. What it takes back is not found there. */
static void a_lookup_needs_no_daemon(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future, *found;
        struct pw_id id;

        it_ok(pw_put(host->session, value, sizeof value, NULL, &future, IT_ERR));
        id = pw_future_id(future);
        it_ok(pw_name(future, "weights", IT_ERR));
        it_ok(pw_name(future, "weights/again", IT_ERR));
        pw_unref(future);
        assert_int_equal(kill(host->pid, SIGSTOP), 0);
        for (int i = 0; i < 100; i++) {
                it_ok(pw_lookup(host->session, i % 2 ? "weights" : "weights/again", 0, &found, IT_ERR));
                assert_true(pw_future_id(found).place == id.place);
                pw_unref(found);
        }
        assert_int_equal(kill(host->pid, SIGCONT), 0);
        it_ok(pw_unname(host->session, "weights/again", IT_ERR));
        it_fails(pw_lookup(host->session, "weights/again", 0, &found, IT_ERR), PW_NOT_FOUND, "weights/again");
        it_ok(pw_lookup(host->session, "weights", 0, &found, IT_ERR));
        it_ok(pw_free_object(host->session, id, true, IT_ERR));
        pw_unref(found);
        it_fails(pw_lookup(host->session, "weights", 0, &found, IT_ERR), PW_NOT_FOUND, "weights");
}

static int look_up(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session;
        struct pw_future *found;
        struct pw_view view;

        if (pw_connect(host->socket, &session, NULL) != PW_OK || write(pipe, "c", 1) != 1)
                return 2;
        if (pw_lookup(session, "later", IT_LONG, &found, NULL) != PW_OK || pw_get(found, IT_LONG, &view, NULL) != PW_OK)
                return 3;
        return memcmp(view.data, value, sizeof value) ? 4 : 0;
}

static void a_lookup_waits_for_the_name(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_fork(look_up, host);
        struct pw_future *future;
        char byte;

        it_read(&child, &byte, 1);
        it_ok(pw_put(host->session, value, sizeof value, NULL, &future, IT_ERR));
        it_ok(pw_name(future, "later", IT_ERR));
        assert_int_equal(it_reap(&child, 0), 0);
        pw_unref(future);
        it_ok(pw_unname(host->session, "later", IT_ERR));
}

static void a_lease_ends_by_itself(void **state)
{
        struct it_host *host = *state;
        struct pw_session *other = it_connect(host);
        struct pw_future *future, *found;
        struct pw_id id;

        it_ok(pw_put(other, value, sizeof value, NULL, &future, IT_ERR));
        id = pw_future_id(future);
        it_fails(pw_lease(future, 0, IT_ERR), PW_INVALID, "");
        it_fails(pw_lease(future, -1, IT_ERR), PW_INVALID, "");
        int64_t start_us = it_now_us();
        it_ok(pw_lease(future, 300000, IT_ERR));
        pw_close(other);
        pw_unref(future);
        it_ok(pw_open(host->session, id, &found, IT_ERR));
        pw_unref(found);
        it_until(host->session, "objects", is_gone, NULL);
        assert_true(it_now_us() - start_us >= 300000);
        it_within("a lease of 300 ms ends", start_us, 300000 + IT_SECOND);
        it_fails(pw_open(host->session, id, &found, IT_ERR), PW_GONE, "");
}

#define CLAIMS 1024 /* names and leases of an object */

/* A name for a time takes two of them: where only one is left it is not bound, and one that was bound without stays so. */
static void a_time_that_finds_no_place(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future, *found;

        it_ok(pw_put(host->session, value, sizeof value, NULL, &future, IT_ERR));
        it_ok(pw_name(future, "kept", IT_ERR));
        for (int i = 1; i < CLAIMS - 1; i++)
                it_ok(pw_lease(future, IT_LONG, IT_ERR));
        it_fails(pw_name_for(future, "new", IT_LONG, IT_ERR), PW_LIMIT, "1024 names and leases");
        it_fails(pw_lookup(host->session, "new", 0, &found, IT_ERR), PW_NOT_FOUND, "new");
        it_ok(pw_lease(future, IT_LONG, IT_ERR));
        it_fails(pw_name_for(future, "kept", IT_LONG, IT_ERR), PW_LIMIT, "1024 names and leases");
        it_ok(pw_lookup(host->session, "kept", 0, &found, IT_ERR));
        pw_unref(found);
        it_ok(pw_free_object(host->session, pw_future_id(future), false, IT_ERR));
        pw_unref(future);
}

/* --- full memory ------------------------------------------------------------------------------------------------------ */

/* Puts of 32 MiB until nothing more fits; returns how many. */
static size_t fill(struct pw_session *session, struct pw_future *futures[16])
{
        struct pw_put_params params = { .dtype = PW_OPAQUE, .timeout_us = 1000 };
        size_t count = 0;
        void *data;

        while (count < 16 && pw_create(session, 32 * MIB, &params, &futures[count], &data, NULL) == PW_OK)
                count++;
        assert_in_range(count, 8, 12); /* of 512 MiB, 128 of which are devices' */
        return count;
}

static void full_memory_names_its_holder(void **state)
{
        struct it_host *host = *state;
        struct pw_put_params params = { .dtype = PW_OPAQUE, .timeout_us = 1000 };
        struct pw_session *other = it_connect(host);
        struct pw_future *futures[16], *more;
        char holder[40];
        void *data;

        size_t count = fill(host->session, futures);
        snprintf(holder, sizeof holder, "[%d]|32 MiB", (int)getpid());
        it_fails(pw_create(other, 32 * MIB, &params, &more, &data, IT_ERR), PW_NO_SPACE, holder);
        for (size_t i = 0; i < count; i++)
                pw_unref(futures[i]);
        it_ok(pw_create(other, 32 * MIB, NULL, &more, &data, IT_ERR));
        pw_unref(more);
        pw_close(other);
}

static int put_and_wait(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session;
        struct pw_future *future;
        struct pw_error err;
        void *data;

        if (pw_connect(host->socket, &session, NULL) != PW_OK || write(pipe, "c", 1) != 1)
                return 2;
        enum pw_status status = pw_create(session, 32 * MIB, NULL, &future, &data, &err);
        return write(pipe, &status, sizeof status) == sizeof status && status == PW_OK ? 0 : 3;
}

static void a_put_waits_until_another_frees(void **state)
{
        struct it_host *host = *state;
        struct pw_future *futures[16];
        enum pw_status status = PW_FAILED;
        char byte;

        size_t count = fill(host->session, futures);
        struct it_child child = it_fork(put_and_wait, host);
        it_read(&child, &byte, 1);
        for (int i = 0; i < 100; i++)
                assert_int_equal(it_listed(host->session, "status", "host"), 0);
        int64_t start_us = it_now_us();
        pw_unref(futures[--count]);
        it_read(&child, &status, sizeof status);
        assert_int_equal(status, PW_OK);
        it_within("the put goes on", start_us, IT_SECOND);
        assert_int_equal(it_reap(&child, 0), 0);
        while (count)
                pw_unref(futures[--count]);
}

/* What a killed client held goes to who waits for it. */
static int fill_and_stay(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_put_params params = { .dtype = PW_OPAQUE, .timeout_us = 1000 };
        struct pw_session *session;
        struct pw_future *future;
        void *data;

        if (pw_connect(host->socket, &session, NULL) != PW_OK)
                return 2;
        while (pw_create(session, 32 * MIB, &params, &future, &data, NULL) == PW_OK)
                ;
        if (write(pipe, "f", 1) != 1)
                return 3;
        return (int)pause();
}

static void a_put_waits_until_another_dies(void **state)
{
        struct it_host *host = *state;
        struct it_child holder = it_fork(fill_and_stay, host), waiter;
        enum pw_status status = PW_FAILED;
        char byte;

        it_read(&holder, &byte, 1);
        waiter = it_fork(put_and_wait, host);
        it_read(&waiter, &byte, 1);
        int64_t start_us = it_now_us();
        it_reap(&holder, SIGKILL);
        it_read(&waiter, &status, sizeof status);
        assert_int_equal(status, PW_OK);
        it_within("the put goes on", start_us, IT_SECOND);
        assert_int_equal(it_reap(&waiter, 0), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(a_reference_by_id_keeps_it_alive),
                IT_TEST(an_id_whose_object_is_gone),
                IT_TEST(a_reference_to_what_is_not_ready_yet),
                IT_TEST(names_outlive_their_session),
                IT_TEST(a_lookup_needs_no_daemon),
                IT_TEST(a_lookup_waits_for_the_name),
                IT_TEST(a_lease_ends_by_itself),
                IT_TEST(a_time_that_finds_no_place),
                IT_TEST(full_memory_names_its_holder),
                IT_TEST(a_put_waits_until_another_frees),
                IT_TEST(a_put_waits_until_another_dies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

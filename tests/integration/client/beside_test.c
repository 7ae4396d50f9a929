/* Two tenants beside each other: in one process, waiting for one name, on one device, under an operator. */
#include "tests/integration/other.h"
#include "tests/integration/trace.h"

#include "libclient/program/program.h"
#include "libclient/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- one process, two users --------------------------------------------------------------------------------------------------- */

/* The memory that its clients' rooms lie in, each named once. */
static uint32_t client_memories(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        unsigned long inodes[16], inode;
        uint32_t count = 0, i;
        char line[600];

        assert_non_null(maps);
        while (fgets(line, sizeof line, maps)) {
                if (!strstr(line, "memfd:pathways-client") || sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
                        continue;
                for (i = 0; i < count && inodes[i] != inode; i++)
                        ;
                if (i == count && count < 16)
                        inodes[count++] = inode;
        }
        fclose(maps);
        return count;
}

static int connect_as_both(void *context, int pipe)
{
        struct pw_session *sessions[4];
        struct pw_future *futures[4];
        uint32_t before = client_memories();

        (void)pipe;
        for (int i = 0; i < 4; i++) {
                assert_int_equal(seteuid(i % 2 ? IT_OTHER : 0), 0);
                sessions[i] = it_connect(context);
                assert_int_equal(seteuid(0), 0);
        }
        for (int i = 0; i < 4; i++) {
                it_ok(pw_put(sessions[i], "x", 1, NULL, &futures[i], IT_ERR));
                it_fails(pw_name(futures[i], "own", IT_ERR), i < 2 ? PW_OK : PW_EXISTS, ""); /* a name of each of the two */
        }
        assert_in_range(client_memories() - before, 2, 4); /* none is of both */
        for (int i = 0; i < 2; i++)
                it_ok(pw_unname(sessions[i], "own", IT_ERR));
        for (int i = 0; i < 4; i++) {
                pw_unref(futures[i]);
                pw_close(sessions[i]);
        }
        return 0;
}

/* Memory that one user wrote never serves another, though both are one process. */
static void a_process_that_is_two_users(void **state)
{
        struct it_host *host = *state;

        if (it_alone(host))
                return;
        struct it_child child = it_fork(connect_as_both, host);
        assert_int_equal(it_reap(&child, 0), 0);
}

/* --- a name that both wait for ---------------------------------------------------------------------------------------------- */

static int look_up_later(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        struct pw_future *found;

        it_ok(pw_lookup(session, "later", PW_FOREVER, &found, IT_ERR));
        struct pw_id id = pw_future_id(found);
        assert_int_equal(write(pipe, &id, sizeof id), sizeof id);
        pw_unref(found);
        pw_close(session);
        return 0;
}

/* Writes what it bound, and once more when the name may go. */
static int bind_later(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        struct pw_future *mine;

        it_ok(pw_put(session, "mine", 4, NULL, &mine, IT_ERR));
        it_ok(pw_name(mine, "later", IT_ERR));
        struct pw_id id = pw_future_id(mine);
        assert_int_equal(write(pipe, &id, sizeof id), sizeof id);
        it_ok(pw_unname(session, "later", IT_ERR));
        pw_unref(mine);
        pw_close(session);
        return 0;
}

static bool waits_for_name(const struct pw_listing *why)
{
        return it_rows(why) && strstr(it_text(why, 0, "waits_for"), "name later to be bound");
}

static void until_it_waits(struct pw_session *session, const struct it_child *child)
{
        for (int64_t end_us = it_now_us() + IT_LONG;;) {
                char filter[32];
                struct pw_listing *why = NULL;

                snprintf(filter, sizeof filter, "pid %d", (int)child->pid);
                bool waits = pw_list(session, "why", filter, 0, &why, NULL) == PW_OK && waits_for_name(why);
                pw_listing_free(why);
                if (waits)
                        return;
                assert_true(it_now_us() < end_us);
        }
}

/* Whoever waits for a name is given what its own tenant binds to it, and nothing of another's. */
static void a_waiting_lookup_is_of_its_tenant(void **state)
{
        struct it_host *host = *state;
        struct pw_id found, bound;
        struct pw_future *mine;

        if (it_alone(host))
                skip();
        struct it_child waiter = it_fork(look_up_later, host);
        until_it_waits(host->session, &waiter);
        it_ok(pw_put(host->session, "ours", 4, NULL, &mine, IT_ERR));
        it_ok(pw_name(mine, "later", IT_ERR));
        until_it_waits(host->session, &waiter); /* whom that served was answered before */
        struct it_child binder = it_fork(bind_later, host);
        it_read(&binder, &bound, sizeof bound);
        it_read(&waiter, &found, sizeof found);
        assert_memory_equal(&found, &bound, sizeof found);
        assert_int_equal(it_reap(&waiter, 0), 0);
        assert_int_equal(it_reap(&binder, 0), 0);
        it_ok(pw_unname(host->session, "later", IT_ERR));
        pw_unref(mine);
}

/* --- one device of both ----------------------------------------------------------------------------------------------------- */

static struct pw_program *program_everywhere(struct pw_session *session)
{
        struct pw_slice *slice = it_slice(session, 8, 2);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_DIMS(8), NULL);

        pw_slice_close(slice);
        return program;
}

/* Before and after it may wait for a device that is at a gang of its own. */
static bool waits_for_other(const struct pw_listing *runs, void *context)
{
        const char *what = it_rows(runs) == 1 ? it_text(runs, 0, "waiting_for") : "";

        (void)context;
        if (!strstr(what, "of another tenant"))
                return false;
        assert_null(strstr(what, "pw/"));
        assert_null(strstr(what, "run"));
        return true;
}

/* The device that its run waits for is at a gang of the first tenant. */
static int run_behind(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        struct pw_program *program = program_everywhere(session);
        struct pw_future *input = it_put_f64(session, PW_DIMS(8), 0), *result = it_run_1(program, input);

        (void)pipe;
        it_until(session, "runs", waits_for_other, NULL);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_close(session);
        return 0;
}

static bool runs_one(const struct pw_listing *runs, void *context)
{
        (void)context;
        return it_rows(runs) == 1 && !strcmp(it_text(runs, 0, "state"), "running");
}

static void waiting_for_another_tenant_tells_nothing_of_it(void **state)
{
        struct it_host *host = *state;
        const double expected[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

        if (it_alone(host))
                skip();
        struct pw_program *program = program_everywhere(host->session);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 0), *result;
        assert_true(it_signal_executor(host, "h0:0", SIGSTOP));
        result = it_run_1(program, input);
        it_until(host->session, "runs", runs_one, NULL);
        struct it_child child = it_fork(run_behind, host);
        assert_int_equal(it_reap(&child, 0), 0);
        assert_true(it_signal_executor(host, "h0:0", SIGCONT));
        it_expect_f64(result, expected, 8);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
}

/* --- an operator ------------------------------------------------------------------------------------------------------------ */

static int put_and_stay(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        struct pw_future *mine;

        it_ok(pw_put(session, "mine", 4, NULL, &mine, IT_ERR));
        struct pw_id id = pw_future_id(mine);
        if (write(pipe, &id, sizeof id) == sizeof id)
                pause();
        return 1;
}

/* Root sees what every tenant has, and may hold it; a name would be neither tenant's. */
static void an_operator_holds_but_does_not_name(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future;
        struct pw_id id;

        if (it_alone(host))
                skip();
        struct it_child child = it_fork(put_and_stay, host);
        it_read(&child, &id, sizeof id);
        it_ok(pw_open(host->session, id, &future, IT_ERR));
        it_fails(pw_name(future, "weights", IT_ERR), PW_DENIED, "the object is of tenant|root");
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        pw_unref(future);
        it_fails(pw_lookup(host->session, "weights", 0, &future, IT_ERR), PW_NOT_FOUND, "not bound");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(a_waiting_lookup_is_of_its_tenant), IT_TEST(a_process_that_is_two_users),
                IT_TEST(waiting_for_another_tenant_tells_nothing_of_it), IT_TEST(an_operator_holds_but_does_not_name),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The operator's hands: `pathways object`, `wait`, and the exit code of each kind of end.
 */
#include "tests/integration/operator/command.h"
#include "tests/integration/trace.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPECT(code, texts, ...) it_command_expect(host, code, texts, IT_ARGS(__VA_ARGS__))

static void an_object_whole(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(64), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(64), 0), *result = it_run_1(program, input);
        char id[PW_ID_TEXT_BYTES];

        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        it_ok(pw_name(result, "weights", IT_ERR));
        it_ok(pw_lease(result, 3600 * IT_SECOND, IT_ERR));
        pw_id_format(pw_future_id(result), id);
        EXPECT(0, "weights|f64 [64]|split(0)|ready|512 B|pw/nop|Shards:|h0:0|128|Holders:|hands_test|lease|name", "object",
               "weights");
        EXPECT(0, "\"part\": \"shard\", \"shard\": 3|\"device_bytes\": 512|\"kind\": \"name\", \"holder\": \"weights\"", "object",
               id, "--json");
        EXPECT(5, "neither an id nor a name", "object", "nothing");
        it_ok(pw_unname(host->session, "weights", IT_ERR));
        it_ok(pw_free_object(host->session, pw_future_id(result), false, IT_ERR));
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* The id of the object whose room the value of `id` lies in. */
static const char *moved_into(struct it_host *host, const char *id, char *ret_id)
{
        struct pw_listing *objects = it_list(host->session, "objects", NULL);

        for (size_t i = 0; i < it_rows(objects); i++)
                if (it_number(objects, i, "bytes") == 512 && strcmp(it_text(objects, i, "id"), id) &&
                    !strcmp(it_text(objects, i, "owner"), "name weights"))
                        snprintf(ret_id, PW_ID_TEXT_BYTES, "%s", it_text(objects, i, "id"));
        pw_listing_free(objects);
        return ret_id;
}

static void moves_are_traced(const struct it_command *trace, const char *id)
{
        char line[4096], object[100];
        FILE *file = fopen(trace->out, "r");
        int there = 0, back = 0;

        snprintf(object, sizeof object, "\"object\":\"%s\"", id);
        while (file && fgets(line, sizeof line, file)) {
                if (!strstr(line, "\"cat\":\"move\"") || !strstr(line, object))
                        continue;
                there += strstr(line, "\"to\":\"host memory\",\"bytes\":512") != NULL;
                back += strstr(line, "\"to\":\"h0:") != NULL;
        }
        if (file)
                fclose(file);
        assert_int_equal(there, 2);
        assert_int_equal(back, 2);
}

/* By hand only what names and leases alone hold; the trace shows it. */
static void a_value_is_moved(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(64), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(64), 0), *result = it_run_1(program, input);
        char id[PW_ID_TEXT_BYTES], put[PW_ID_TEXT_BYTES];
        struct it_command trace;

        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        it_ok(pw_name(result, "weights", IT_ERR));
        EXPECT(1, "it cannot be moved while hands_test[", "move", "weights");
        pw_id_format(pw_future_id(result), id);
        pw_id_format(pw_future_id(input), put);
        pw_unref(result);
        EXPECT(1, "a client put it", "move", put, "--devices", "2");
        trace = it_command_start(host, IT_ARGS("trace", "--seconds", "1min"));
        while (!it_listed(host->session, "status", "traces"))
                ;
        EXPECT(0, id, "move", "weights", "--json");
        EXPECT(0, "moved there|\"device_bytes\": 0|\"charged\": \"name weights\"", "object", id, "--json");
        EXPECT(0, "was moved into its room", "why", moved_into(host, id, put));
        EXPECT(0, "object", "object", put);
        EXPECT(0, "", "move", id, "--devices", "4", "--sharding", "split:0");
        EXPECT(0, "split(0) on h0:", "object", "weights");
        EXPECT(2, "say how many, with --devices", "move", "weights", "--kind", "emulated");
        EXPECT(1, "there are 0 of kind mainframe", "move", "weights", "--devices", "1", "--kind", "mainframe");
        EXPECT(2, "", "move", "weights", "--sharding", "sideways");
        EXPECT(5, "", "move", "nothing");
        assert_int_equal(it_command_end(&trace, SIGINT), 0);
        moves_are_traced(&trace, id);
        it_ok(pw_unname(host->session, "weights", IT_ERR));
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* 1: a run, 2: a thread */
static int waiters_of(const struct pw_listing *object)
{
        int kinds = 0;

        for (size_t i = 0; i < it_rows(object); i++)
                if (!strcmp(it_text(object, i, "part"), "waiter"))
                        kinds |= !strcmp(it_text(object, i, "kind"), "run") ? 1 : 2;
        return kinds;
}

static void who_waits_for_an_object(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_put_params params = { .dtype = PW_F64 };
        struct pw_future *pending, *result;
        struct pw_listing *object;
        char id[PW_ID_TEXT_BYTES];
        int kinds = 0;
        void *data;

        it_ok(pw_create(host->session, 8, &params, &pending, &data, IT_ERR));
        it_ok(pw_name(pending, "pending", IT_ERR));
        pw_id_format(pw_future_id(pending), id);
        result = it_run_1(program, pending);
        struct it_child child = it_fork(it_wait_for_pending, host);
        for (int64_t end_us = it_now_us() + IT_LONG; kinds != 3 && it_now_us() < end_us;) {
                object = it_list(host->session, "object", id);
                kinds = waiters_of(object);
                pw_listing_free(object);
        }
        assert_int_equal(kinds, 3);
        EXPECT(4, "pending|the deadline passed", "wait", "pending", "--timeout", "20ms");
        *(double *)data = 1;
        it_ok(pw_seal(pending, IT_ERR));
        EXPECT(0, "ready", "wait", "pending", id);
        assert_int_equal(it_reap(&child, 0), 0);
        it_ok(pw_unname(host->session, "pending", IT_ERR));
        pw_unref(pending);
        pw_unref(result);
        pw_program_free(program);
        pw_slice_close(slice);
}

#define EARLY_MS 4000
#define WAIT_US (EARLY_MS * INT64_C(1000) + IT_SECOND)

static int bind_early(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future = it_put_scalar(session, 1);

        assert_int_equal(poll(&(struct pollfd){ .fd = pipe }, 1, EARLY_MS), 0);
        it_ok(pw_name(future, "early", IT_ERR));
        pw_unref(future);
        pw_close(session);
        return 0;
}

/* One deadline is that of all names: what is left of it when the first was bound is what the next has. */
static void names_have_one_deadline(void **state)
{
        struct it_host *host = *state;
        struct it_child binder = it_fork(bind_early, host);
        int64_t since_us = it_now_us();

        EXPECT(4, "name never: nobody bound it", "wait", "early", "never", "--wait", "--timeout", "5s");
        assert_true(it_now_us() - since_us >= WAIT_US);
        if (it_now_us() - since_us >= WAIT_US + EARLY_MS * INT64_C(1000))
                fail_msg("it waited for %d ms", (int)((it_now_us() - since_us) / 1000));
        assert_int_equal(it_reap(&binder, 0), 0);
        it_ok(pw_unname(host->session, "early", IT_ERR));
}

static void waits_end(void **state)
{
        struct it_host *host = *state;
        struct pw_put_params params = { .dtype = PW_F64 };
        struct pw_future *ready = it_put_scalar(host->session, 1), *pending, *broken;
        void *data;

        it_ok(pw_create(host->session, 8, &params, &pending, &data, IT_ERR));
        it_ok(pw_create(host->session, 8, &params, &broken, &data, IT_ERR));
        it_ok(pw_abort(broken, IT_ERR));
        it_ok(pw_name(ready, "ready", IT_ERR));
        it_ok(pw_name(pending, "pending", IT_ERR));
        it_ok(pw_name(broken, "broken", IT_ERR));
        EXPECT(0, "ready", "wait", "ready");
        EXPECT(0, "pending|PW_NOT_READY", "wait", "--any", "pending", "ready");
        EXPECT(4, "deadline", "wait", "pending", "ready", "--timeout", "20ms");
        EXPECT(1, "PW_CANCELLED|1 of 2 is in error", "wait", "ready", "broken");
        EXPECT(5, "nobody: not bound", "wait", "nobody");
        EXPECT(4, "nobody bound it", "wait", "nobody", "--wait", "--timeout", "20ms");
        it_ok(pw_unname(host->session, "ready", IT_ERR));
        it_ok(pw_unname(host->session, "pending", IT_ERR));
        it_ok(pw_unname(host->session, "broken", IT_ERR));
        pw_unref(ready);
        pw_unref(pending);
        pw_unref(broken);
}

static void get_as_another(struct it_host *host, const char *id, int expected)
{
        char *err;
        int code;

        it_command_as(12345);
        code = it_command(host, NULL, &err, "get", id);
        it_command_as(0);
        if (code != expected)
                fail_msg("exit code %d, not %d: %s", code, expected, err);
        free(err);
}

/* Another user has its own tenant, and for it there is nothing of this one; it may be kept away from the socket. Only root can
 * become it. */
static void another_user_is_denied(struct it_host *host, const char *id)
{
        if (geteuid()) {
                print_message("not root: the exit code 6 is not tried\n");
                return;
        }
        chmod(host->folder, 0777);
        get_as_another(host, id, 5);
        chmod(host->socket, 0600);
        get_as_another(host, id, 6);
        chmod(host->socket, 0666);
}

static void each_kind_of_end_has_a_code(void **state)
{
        struct it_host *host = *state, nowhere = *host;
        struct pw_future *value = it_put_scalar(host->session, 1);
        char id[PW_ID_TEXT_BYTES];

        snprintf(nowhere.socket, sizeof nowhere.socket, "%s/nowhere", host->folder);
        pw_id_format(pw_future_id(value), id);
        EXPECT(0, "version", "status");
        EXPECT(1, "", "run", "broken/fail", "--params-u64", "0");
        EXPECT(5, "no nothing.so", "run", "nothing/nothing");
        EXPECT(5, "pathways: pw/nope: call 0, pw/nope: module pw has no function nope", "run", "pw/nope");
        EXPECT(2, "did you mean memory", "memroy");
        EXPECT(2, "needs ID|NAME", "wait");
        EXPECT(2, "is too much", "status", "x");
        EXPECT(2, "", "get", id, "--timeout", "soon");
        EXPECT(4, "", "get", "nobody", "--wait", "--timeout", "10ms");
        EXPECT(5, "not bound", "get", "nobody");
        EXPECT(5, "", "object", "h0.1/1.1.1");
        assert_int_equal(it_command(&nowhere, NULL, NULL, "status"), 3);
        another_user_is_denied(host, id);
        pw_unref(value);
}

static int print_to_nowhere(void *context, int pipe)
{
        const struct it_host *host = context;
        char program[600];
        int full = open("/dev/full", O_WRONLY);

        (void)pipe;
        it_built("cli/pathways", program);
        if (full < 0 || dup2(full, STDOUT_FILENO) < 0)
                return 126;
        execl(program, program, "status", "--socket", host->socket, (char *)NULL);
        return 127;
}

/* Where what it prints, or writes to a file, does not arrive the command has not done its work. */
static void output_that_is_lost(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_fork(print_to_nowhere, host);
        struct pw_future *value = it_put_scalar(host->session, 1); /* short: it stays with the C library until it is flushed */
        char id[PW_ID_TEXT_BYTES];

        assert_int_equal(it_reap(&child, 0), 1);
        pw_id_format(pw_future_id(value), id);
        EXPECT(1, "write /dev/full|No space left", "get", id, "-o", "/dev/full");
        pw_unref(value);
}

static bool none_named(const struct pw_listing *objects, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(objects); i++)
                if (*it_text(objects, i, "names"))
                        return false;
        return true;
}

/* A put that finds no room waits as long as it is told to, and says who has it. */
static void a_put_without_room(void **state)
{
        struct it_host *host = *state;
        struct pw_future *held;
        char path[200];
        void *data;

        snprintf(path, sizeof path, "%s/large", host->folder);
        FILE *file = fopen(path, "w");
        assert_true(file && !ftruncate(fileno(file), 6 << 20) && !fclose(file));
        it_ok(pw_create(host->session, 10 << 20, NULL, &held, &data, IT_ERR));
        EXPECT(1, "6 MiB of host memory|10 MiB held by|hands_test", "put", path, "--timeout", "20ms");
        int64_t since_us = it_now_us();
        EXPECT(1, "6 MiB of host memory|10 MiB held by", "put", path, "--timeout", "0");
        assert_true(it_now_us() - since_us < 20 * IT_SECOND); /* it does not wait: 30 s is what it would */
        it_ok(pw_abort(held, IT_ERR));
        pw_unref(held);
        EXPECT(0, "h0.", "put", path, "--timeout", "20s", "--ttl", "1ms");
        EXPECT(0, "h0.", "put", "/proc/self/status", "--ttl", "1ms");
        EXPECT(0, "h0.", "put", "/proc/self/status", "--name", "brief", "--ttl", "200ms");
        EXPECT(0, "Name:", "get", "brief");
        it_until(host->session, "objects", none_named, NULL);
        EXPECT(5, "not bound", "get", "brief");
}

/* What has no end is read no longer than it is told to, and no further than what can be put at all. */
static void a_put_without_end(void **state)
{
        struct it_host *host = *state;
        char path[200];
        int64_t since_us = it_now_us();

        EXPECT(1, "/dev/zero: more than the 16 MiB of host memory", "put", "/dev/zero");
        EXPECT(1, "/dev/zero: more than the 16 MiB of host memory", "put", "/dev/zero", "--frozen", "--timeout", "20s");
        snprintf(path, sizeof path, "%s/pipe", host->folder);
        assert_int_equal(mkfifo(path, 0600), 0);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(write(fd, "some", 4), 4);
        EXPECT(4, "pipe: the timeout passed while it was read, after 4 B", "put", path, "--timeout", "30ms");
        EXPECT(4, "pipe: the timeout passed while it was read, after 0 B", "put", path, "--timeout", "0");
        assert_int_equal(close(fd), 0);
        assert_true(it_now_us() - since_us < 20 * IT_SECOND);
}

/* A frozen value says so, and goes to another owner with its id. */
static void a_value_is_handed_over(void **state)
{
        struct it_host *host = *state;
        char self[40], path[200];

        snprintf(path, sizeof path, "%s/value", host->folder);
        FILE *file = fopen(path, "w");
        assert_true(file && fputs("a value", file) > 0 && !fclose(file));
        snprintf(self, sizeof self, "%d", (int)getpid());
        EXPECT(0, "h0.", "put", path, "--frozen", "--name", "value");
        EXPECT(0, "a value", "get", "value");
        EXPECT(0, "a value", "get", "value", "-o", "-");
        assert_int_equal(access("-", F_OK), -1);
        EXPECT(0, "named: value; mark: frozen", "objects");
        EXPECT(0, "mark      frozen|charged   name value|name  value", "object", "value");
        EXPECT(2, "CLIENT[PID], `pid N` or `name NAME`", "transfer", "value", "pid");
        EXPECT(5, "nobody[1]", "transfer", "value", "nobody[1]");
        EXPECT(0, "", "transfer", "value", "pid", self);
        EXPECT(0, "charged   hands_test[|session  hands_test[|name     value", "object", "value");
        EXPECT(0, "\"id\": \"h0.", "transfer", "value", "name", "value", "--json");
        EXPECT(0, "charged   name value", "object", "value");
        EXPECT(0, "", "free", "value", "--force");
}

/* Options may stand before the subcommand, `help` is one, and the newest rows are those that are shown. */
static void the_command_line_is_forgiving(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        struct pw_future *input = it_put_scalar(host->session, 1), *result;
        struct pw_listing *rows = NULL;

        for (int i = 0; i < 3; i++) {
                result = it_run_1(program, input);
                it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(result);
        }
        EXPECT(0, "\"version\"", "--json", "status");
        EXPECT(0, "Usage: pathways why", "help", "why");
        EXPECT(0, "Usage: pathways COMMAND", "help");
        EXPECT(0, " to h0:7, each\n|unaccounted 0\n", "memory");
        EXPECT(0, "puts waiting    0|runs waiting    0|host            h0\n", "status");
        it_ok(pw_list(host->session, "runs", NULL, 1, &rows, IT_ERR));
        assert_int_equal(it_rows(rows), 1);
        assert_int_equal(it_number(rows, 0, "run"), it_listed(host->session, "status", "runs_done"));
        pw_listing_free(rows);
        it_ok(pw_list(host->session, "gangs", NULL, 8, &rows, IT_ERR));
        assert_int_equal(it_rows(rows), 2); /* one of each device that ran any */
        assert_int_equal(it_number(rows, 0, "run"), it_listed(host->session, "status", "runs_done"));
        pw_listing_free(rows);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static int setup_small(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--device-memory", "1MiB", "--host-memory", "16MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(an_object_whole),
                IT_TEST(a_value_is_moved),
                IT_TEST(who_waits_for_an_object),
                IT_TEST(waits_end), IT_TEST(names_have_one_deadline),
                IT_TEST(each_kind_of_end_has_a_code),
                IT_TEST(output_that_is_lost),
                IT_TEST(a_value_is_handed_over),
                IT_TEST(the_command_line_is_forgiving),
                cmocka_unit_test_setup_teardown(a_put_without_room, setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(a_put_without_end, setup_small, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

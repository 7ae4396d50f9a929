/* Values on devices whose memory the processor does not read, while who wants them waits, is refused, or ends; and what another
 * tenant finds in such memory. */
#include "tests/integration/folder.h"
#include "tests/integration/other.h"
#include "tests/integration/scene.h"

#include "base/memory.h"
#include "libclient/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 12u
#define MIB_COUNT (1u << 17) /* elements of 1 MiB */
#define NAP_US 1000000u

static const double put_there[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };

static struct it_host *begin_over(void **state, const char *devices)
{
        struct it_host *host = *state;

        it_start(host, IT_ARGS("--devices", devices, "--islands", "1", "--emulated-apart", "--host-memory", "64MiB",
                               "--device-memory", "8MiB"));
        host->session = it_connect(host);
        return host;
}

static struct it_host *begin(void **state) { return begin_over(state, "emulated:1"); }

static void end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* One function over the device, of a value of `dims`. */
static struct pw_program *over_device(struct pw_session *session, const char *function, struct pw_dims dims,
                                      const struct pw_call_params *params)
{
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, function, dims, params);

        pw_slice_close(slice);
        return program;
}

static struct pw_future *run_once(struct pw_session *session, struct pw_program *program, struct pw_dims dims)
{
        struct pw_future *input = it_put_f64(session, dims, 1), *result = it_run_1(program, input);

        pw_unref(input);
        pw_program_free(program);
        return result;
}

/* There, and not fetched. */
static struct pw_future *value(struct it_host *host, struct pw_dims dims)
{
        struct pw_future *result = run_once(host->session, over_device(host->session, "pw/nop", dims, NULL), dims);

        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        return result;
}

static bool is_asleep(const struct pw_listing *gangs, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(gangs); i++)
                if (!strcmp(it_text(gangs, i, "state"), "running") && strstr(it_text(gangs, i, "node"), "sleep_us"))
                        return true;
        return false;
}

static void not_on_gpus(void)
{
        if (getenv("PW_GPUS"))
                it_skip("executors of GPUs copy values beside functions");
}

/* The device is in a function for `us` from now on, and copies nothing. */
static struct pw_future *sleep_for(struct it_host *host, uint64_t us)
{
        struct pw_call_params params = { .params = &us, .params_bytes = sizeof us };
        struct pw_future *result = run_once(host->session, over_device(host->session, "pw/sleep_us", PW_DIMS(1), &params),
                                            PW_DIMS(1));

        it_until(host->session, "gangs", is_asleep, NULL);
        return result;
}

/* A cell of the listing says so, of this object. */
static bool says(struct pw_session *session, const char *what, struct pw_future *future, const char *key, const char *text)
{
        char id[PW_ID_TEXT_BYTES];
        struct pw_listing *listing = it_list(session, what, pw_id_format(pw_future_id(future), id));
        bool so = false;

        for (size_t i = 0; i < it_rows(listing); i++)
                so = so || strstr(it_text(listing, i, key), text);
        pw_listing_free(listing);
        return so;
}

static void until_says(struct pw_session *session, const char *what, struct pw_future *future, const char *key, const char *text)
{
        for (int64_t end_us = it_now_us() + IT_LONG; !says(session, what, future, key, text);)
                if (it_now_us() > end_us)
                        fail_msg("%s does not say \"%s\"", what, text);
}

/* --- waiting ---------------------------------------------------------------------------------------------------------------- */

static void who_waits_is_told(void **state)
{
        struct it_host *host = (not_on_gpus(), begin(state));
        struct pw_future *future = value(host, PW_DIMS(COUNT)), *nap;
        struct pw_view view;

        assert_true(says(host->session, "objects", future, "mark", "apart"));
        assert_true(says(host->session, "why", future, "waits_for", "somebody to read them"));
        nap = sleep_for(host, NAP_US);
        it_fails(pw_get(future, 0, &view, IT_ERR), PW_NOT_READY, "on a device");
        it_fails(pw_get(future, 20000, &view, IT_ERR), PW_DEADLINE, "on a device|pathways why");
        assert_true(says(host->session, "why", future, "waits_for", "device h0:0 to copy them"));
        assert_true(says(host->session, "why", future, "what", "the bytes of object"));
        it_expect_f64(future, put_there, COUNT);
        assert_false(says(host->session, "objects", future, "mark", "apart"));
        assert_false(says(host->session, "why", future, "what", "the bytes of object"));
        it_ok(pw_get(future, 0, &view, IT_ERR));
        pw_view_done(&view);
        pw_unref(nap);
        pw_unref(future);
        end(host);
}

enum { WIDTH = 1000, FLOOD = 17 }; /* runs of so many results */

static void run_wide(struct it_host *host, struct pw_future **results)
{
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/wide");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(1), PW_BROADCAST, 0);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(1), 1);

        for (uint32_t i = 0; i < WIDTH; i++)
                pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        for (uint32_t i = 0; i < FLOOD; i++)
                it_ok(pw_run(program, PW_FUTURES(input), &results[i * WIDTH], IT_ERR));
        it_ok(pw_wait(results, FLOOD * WIDTH, FLOOD * WIDTH, IT_LONG, NULL, IT_ERR));
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* Who asks for more than may be on their way is told, whether somebody waits for those or not; the daemon has time for others. */
static void many_at_a_time(void **state)
{
        struct it_host *host = *state;
        static struct pw_future *results[FLOOD * WIDTH];
        struct pw_future *nap;
        struct pw_view view;
        struct pw_error err;
        int64_t since_us, begun = 0, refused = 0;

        not_on_gpus();
        it_start(host, IT_ARGS("--devices", "emulated:1", "--emulated-apart", "--host-memory", "128MiB", "--device-memory",
                               "32MiB"));
        host->session = it_connect(host);
        run_wide(host, results);
        nap = sleep_for(host, 60 * IT_SECOND);
        for (uint32_t i = 0; i < FLOOD * WIDTH; i++) {
                enum pw_status status = pw_get(results[i], 0, &view, &err);

                begun += status == PW_NOT_READY;
                refused += status == PW_LIMIT && strstr(err.text, "are fetched from devices") != NULL;
        }
        assert_int_equal(begun, 16384);
        assert_int_equal(refused, FLOOD * WIDTH - 16384);
        since_us = it_now_us();
        it_ok(pw_session_fence(host->session, IT_ERR));
        it_within("a fence beside them", since_us, 1000);
        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        it_fails(pw_get(results[0], IT_LONG, &view, IT_ERR), PW_DEVICE_LOST, "h0:0");
        for (uint32_t i = 0; i < FLOOD * WIDTH; i++)
                pw_unref(results[i]);
        pw_unref(nap);
        nap = value(host, PW_DIMS(COUNT)); /* of those nobody waits any more */
        it_expect_f64(nap, put_there, COUNT);
        pw_unref(nap);
        end(host);
}

struct asker { const struct it_host *host; struct pw_id id; enum pw_status status; const char *texts; };

static int get_it(void *context, int pipe)
{
        const struct asker *asker = context;
        struct pw_session *session = it_connect(asker->host);
        struct pw_future *opened;
        struct pw_view view;

        (void)pipe;
        it_ok(pw_open(session, asker->id, &opened, IT_ERR));
        if (asker->status == PW_OK) {
                it_expect_f64(opened, put_there, COUNT);
        } else {
                it_fails(pw_get(opened, IT_LONG, &view, IT_ERR), asker->status, asker->texts);
        }
        pw_unref(opened);
        pw_close(session);
        return 0;
}

/* Of the listing of one object, how many rows are askers of its bytes. */
static size_t askers(struct pw_session *session, struct pw_future *future)
{
        char id[PW_ID_TEXT_BYTES];
        struct pw_listing *listing = it_list(session, "object", pw_id_format(pw_future_id(future), id));
        size_t count = 0;

        for (size_t i = 0; i < it_rows(listing); i++)
                count += !strcmp(it_text(listing, i, "part"), "waiter") && !strcmp(it_text(listing, i, "kind"), "bytes");
        pw_listing_free(listing);
        return count;
}

static void until_askers(struct pw_session *session, struct pw_future *future, size_t count)
{
        for (int64_t end_us = it_now_us() + IT_LONG; askers(session, future) != count;)
                assert_true(it_now_us() < end_us);
}

static int64_t objects(struct it_host *host) { return it_listed(host->session, "status", "objects"); }

static void all_wait_for_one_copy(void **state)
{
        struct it_host *host = (not_on_gpus(), begin(state));
        struct pw_future *future = value(host, PW_DIMS(COUNT)), *nap;
        struct asker asker = { .host = host, .id = pw_future_id(future) };
        int64_t before = objects(host);
        struct it_child children[3];

        nap = sleep_for(host, NAP_US);
        for (size_t i = 0; i < pw_array_count(children); i++)
                children[i] = it_fork(get_it, &asker);
        until_askers(host->session, future, pw_array_count(children));
        it_expect_f64(future, put_there, COUNT);
        for (size_t i = 0; i < pw_array_count(children); i++)
                assert_int_equal(it_reap(&children[i], 0), 0);
        assert_int_equal(objects(host), before + 2); /* the copy, and what the nap became */
        pw_unref(nap);
        pw_unref(future);
        end(host);
}

/* --- ends -------------------------------------------------------------------------------------------------------------------- */

/* A process that waits is killed: the value is there for others, and so it is when all have given it up. */
static void who_waited_ends(void **state)
{
        struct it_host *host = (not_on_gpus(), begin(state));
        struct pw_future *future = value(host, PW_DIMS(COUNT)), *gone = value(host, PW_DIMS(COUNT)), *nap;
        struct asker asker = { .host = host, .id = pw_future_id(future) }, other = { .host = host, .id = pw_future_id(gone) };
        struct it_child child, second;

        nap = sleep_for(host, NAP_US);
        child = it_fork(get_it, &asker);
        second = it_fork(get_it, &other);
        until_askers(host->session, future, 1);
        until_askers(host->session, gone, 1);
        pw_unref(gone);
        it_reap(&child, SIGKILL);
        it_reap(&second, SIGKILL);
        it_expect_f64(future, put_there, COUNT);
        pw_unref(nap);
        pw_unref(future);
        end(host);
}

static void the_executor_ends(void **state)
{
        struct it_host *host = begin(state);
        struct pw_future *future = value(host, PW_DIMS(COUNT)), *nap = sleep_for(host, 60 * IT_SECOND);
        struct asker asker = { .host = host, .id = pw_future_id(future), .status = PW_DEVICE_LOST, .texts = "h0:0" };
        struct it_child child = it_fork(get_it, &asker);

        until_askers(host->session, future, 1);
        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        assert_int_equal(it_reap(&child, 0), 0);
        assert_int_equal(pw_poll(future), PW_DEVICE_LOST);
        pw_unref(future);
        pw_unref(nap);
        future = value(host, PW_DIMS(COUNT)); /* it is there again, and its arena, too */
        it_expect_f64(future, put_there, COUNT);
        pw_unref(future);
        end(host);
}

static bool has_restarted(const struct pw_listing *devices, void *context)
{
        return it_number(devices, it_find(devices, "device", context), "restarts") == 1;
}

/* Of two shards one is copied, and lost before the other is: who waits is told of that. */
static void a_shard_is_lost_behind_its_copy(void **state)
{
        struct it_host *host = begin_over(state, "emulated:2");
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = pw_program_new(host->session, "test/halves");
        struct pw_value *halves = pw_input(program, slice, PW_F64, PW_DIMS(COUNT), PW_SPLIT(0), 0);
        struct pw_future *future;
        struct asker asker = { .host = host, .status = PW_DEVICE_LOST, .texts = "h0:1" };
        struct it_child child;

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(halves), PW_SPLIT(0)));
        it_ok(pw_compile(program, IT_ERR));
        future = run_once(host->session, program, PW_DIMS(COUNT));
        pw_slice_close(slice);
        it_ok(pw_wait(&future, 1, 1, IT_LONG, NULL, IT_ERR));
        asker.id = pw_future_id(future);
        assert_true(it_signal_executor(host, "h0:0", SIGSTOP));
        child = it_fork(get_it, &asker);
        until_says(host->session, "why", future, "waits_for", "device h0:0 to copy them");
        assert_true(it_signal_executor(host, "h0:1", SIGKILL));
        it_until(host->session, "devices", has_restarted, (void *)(uintptr_t)"h0:1");
        assert_true(it_signal_executor(host, "h0:0", SIGCONT));
        assert_int_equal(it_reap(&child, 0), 0);
        pw_unref(future);
        end(host);
}

/* --- no room ----------------------------------------------------------------------------------------------------------------- */

/* Room is looked for once the request is there: one whose time was over before is made again, with more. */
static void expect_no_space(struct pw_future *future, const char *texts)
{
        struct pw_view view;
        struct pw_error err;
        enum pw_status status = PW_DEADLINE;

        for (int64_t timeout_us = 100000; status == PW_DEADLINE && timeout_us < IT_LONG; timeout_us *= 2)
                status = pw_get(future, timeout_us, &view, &err);
        it_judge(status, &err, &(struct it_expected){ PW_NO_SPACE, texts, "pw_get()", __FILE__, __LINE__ });
}

static void without_room_it_stays_where_it_is(void **state)
{
        struct it_host *host = begin(state);
        struct pw_future *future = value(host, PW_DIMS(2 * MIB_COUNT)), *full[64];
        struct pw_put_params soon = { .timeout_us = 1000 };
        struct pw_view view;
        size_t count = 0;
        void *data;

        while (count < 64 && pw_create(host->session, 1 << 20, &soon, &full[count], &data, NULL) == PW_OK)
                count++;
        it_fails(pw_get(future, 0, &view, IT_ERR), PW_NOT_READY, "on a device");
        expect_no_space(future, "2 MiB of host memory on h0|fetches_test[|pathways free");
        assert_true(says(host->session, "why", future, "waits_for", "room of 2 MiB in host memory"));
        assert_true(says(host->session, "objects", future, "mark", "apart"));
        while (count)
                pw_unref(full[--count]);
        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_true(((const double *)view.data)[2 * MIB_COUNT - 1] == 2 * MIB_COUNT);
        pw_view_done(&view);
        pw_unref(future);
        end(host);
}

/* --- others ------------------------------------------------------------------------------------------------------------------ */

/* Who has it by a name, and nobody else does any more. */
static void names_keep_it_where_it_is(void **state)
{
        struct it_host *host = begin(state);
        struct pw_session *other = it_connect(host);
        struct pw_future *future = value(host, PW_DIMS(COUNT)), *found;

        it_ok(pw_name(future, "weights", IT_ERR));
        pw_unref(future);
        it_ok(pw_lookup(other, "weights", 0, &found, IT_ERR));
        until_says(other, "objects", found, "mark", "apart");
        it_expect_f64(found, put_there, COUNT);
        it_ok(pw_unname(other, "weights", IT_ERR));
        it_expect_f64(found, put_there, COUNT);
        pw_unref(found);
        pw_close(other);
        end(host);
}

/* To host memory and back, to another place on devices, before and after it was read: the id stays, and the value. */
static void it_is_moved(void **state)
{
        struct it_host *host = begin(state);
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_relocate_params there = { .slice = slice };

        for (uint32_t way = 0; way < 8; way++) {
                struct pw_future *future = value(host, PW_DIMS(COUNT));
                struct pw_id before = pw_future_id(future), after;

                for (uint32_t step = 0; step < 3; step++) {
                        if (way >> step & 1)
                                it_expect_f64(future, put_there, COUNT);
                        it_ok(pw_relocate(&future, step == 1 ? NULL : &there, IT_ERR));
                        assert_true(says(host->session, "objects", future, "where", "moved there") == (step == 1));
                        assert_true(says(host->session, "objects", future, "mark", "apart") == (step != 1));
                }
                it_expect_f64(future, put_there, COUNT);
                after = pw_future_id(future);
                assert_memory_equal(&before, &after, sizeof before);
                pw_unref(future);
        }
        pw_slice_close(slice);
        end(host);
}

/* --- what another tenant left ------------------------------------------------------------------------------------------------ */

/* All of the device is full of numbers that are not 0. */
static void fill_device(struct pw_session *session)
{
        struct pw_future *mine = run_once(session, over_device(session, "pw/nop", PW_DIMS(3 * MIB_COUNT), NULL),
                                          PW_DIMS(3 * MIB_COUNT));

        it_ok(pw_wait(&mine, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(mine);
}

/* A function that writes nothing is given nothing but zeros, in as much as there is. */
static void expect_zeros(struct pw_session *session)
{
        struct pw_future *future = run_once(session, over_device(session, "parts/leave", PW_DIMS(MIB_COUNT), NULL),
                                            PW_DIMS(MIB_COUNT));
        const double *data;
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        data = view.data;
        for (uint32_t i = 0; i < MIB_COUNT; i++)
                if (data[i] != 0)
                        fail_msg("element %u was left by another tenant: %g", i, data[i]);
        pw_view_done(&view);
        pw_unref(future);
}

static int look_as_other(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        char go = 0;

        expect_zeros(session);
        fill_device(session);
        assert_int_equal(write(pipe, &go, 1), 1);
        pw_close(session);
        return 0;
}

/* Each finds zeros where the other was, in the first life of the executor and in the next. */
static void nothing_of_another_tenant_is_seen(void **state)
{
        struct it_host *host = *state;
        struct it_child child;
        char go;

        if (it_alone(host))
                skip();
        begin(state);
        for (int life = 0; life < 2; life++) {
                fill_device(host->session);
                if (life) {
                        int64_t start_us = it_now_us();

                        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
                        it_back_within_a_second(host->session, 1, start_us);
                }
                child = it_fork(look_as_other, host);
                it_read(&child, &go, 1);
                assert_int_equal(it_reap(&child, 0), 0);
                expect_zeros(host->session);
        }
        end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(many_at_a_time),
                IT_FOLDER_TEST(who_waits_is_told), IT_FOLDER_TEST(all_wait_for_one_copy), IT_FOLDER_TEST(who_waited_ends),
                IT_FOLDER_TEST(the_executor_ends), IT_FOLDER_TEST(a_shard_is_lost_behind_its_copy),
                IT_FOLDER_TEST(without_room_it_stays_where_it_is),
                IT_FOLDER_TEST(names_keep_it_where_it_is), IT_FOLDER_TEST(it_is_moved),
                IT_FOLDER_TEST(nothing_of_another_tenant_is_seen),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What functions find in rooms that they have not written yet, where two tenants have rooms in one device's memory: nothing of the
 * other, ever; and their own, where nobody else's came between, for nothing is set to 0 then.
 *
 * One tenant's numbers are all 1, the other's -1; there are guards of the executor's besides. In a child the other tenant does as
 * it is told.
 */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/other.h"
#include "tests/integration/scene.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIB_COUNT (1024u / (uint32_t)sizeof(double))
#define ALL_COUNT (3072u * KIB_COUNT) /* of a device of 8 MiB three quarters are full while such a value is copied */
#define ROUNDS 24u
#define DEVICE_BYTES (8 << 20)

static struct it_gpus gpus;

struct kind { const char *devices, *more, *conf; bool sums; }; /* sums: by NCCL */
static const struct kind apart = { "emulated:1", "--launch-delay=0", NULL, false },
                         late = { "emulated:1", "--launch-delay=1ms", NULL, false },
                         cuda = { "cuda:1", NULL, NULL, false }, pair = { "cuda:2", NULL, NULL, true },
                         failing = { "cuda:1", NULL, "fail = cuMemsetD8Async@1=2\n", false }; /* to zero the first room */

/* The other tenant, and how it is told. */
struct other { struct it_child child; int to; struct it_host *host; int from; double sign; };
enum task { FILL, LOOK, LOOK_AT_SCRATCH, LOOK_FOR_OWN, LOOK_FOR_OWN_SCRATCH, LOOK_AT_MANY, LOOK_OFTEN, SUM, SPILL, FAIL, END };
struct told { enum task task; uint32_t count; };

static struct it_host *begin(void **state, const struct kind *kind)
{
        struct it_host *host = *state;
        char driver[IT_GPUS_PATH + 16] = "", nccl[IT_GPUS_PATH + 20];

        if (!kind->more) {
                it_gpus_init(&gpus, kind->conf);
                snprintf(driver, sizeof driver, "--cuda-driver=%s", gpus.driver);
        }
        if (kind->sums) {
                it_gpus_nccl(&gpus, NULL);
                snprintf(nccl, sizeof nccl, "--nccl-library=%s", gpus.nccl);
        }
        it_start(host, IT_ARGS("--devices", kind->devices, "--islands", "1", "--host-memory", "64MiB", "--device-memory", "8MiB",
                               "--emulated-apart", kind->more ? kind->more : driver, kind->sums ? nccl : NULL));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host, const struct kind *kind)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        if (!kind->more)
                it_gpus_done(&gpus);
}

/* --- what a tenant does ------------------------------------------------------------------------------------------------------- */

/* A value of the tenant's number, through one function. */
static struct pw_future *through(struct pw_session *session, const char *function, uint32_t count, double sign)
{
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, function, PW_DIMS(count), NULL);
        struct pw_future *input = it_put_same(session, count, sign), *result = it_run_1(program, input);

        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        return result;
}

static void fill(struct pw_session *session, uint32_t count, double sign)
{
        struct pw_future *result = through(session, "pw/nop", count, sign);

        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
}

/* The sum of what two devices have, which is the tenant's number. */
static void sum(struct pw_session *session, uint32_t count, double sign)
{
        struct pw_slice *slice = it_slice(session, 2, 1);
        struct pw_program *program = pw_program_new(session, "test/sum");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(count), PW_BROADCAST, 0);
        struct pw_future *input = it_put_same(session, count, sign / 2), *result;

        pw_result(program, pw_as(pw_call(program, slice, "pw/nop", PW_ARGS(value), PW_PARTIAL(PW_SUM)), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, input);
        it_expect_same(result, count, sign);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* It writes on behind its scratch memory, in the room of that. */
static void spill(struct pw_session *session, uint32_t count, double sign)
{
        const uint64_t more = 128;
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, "scratch/spill", PW_DIMS(count),
                                                 &(struct pw_call_params){ .params = &more, .params_bytes = sizeof more });
        struct pw_future *input = it_put_same(session, count, sign), *result = it_run_1(program, input);

        it_fails_with(result, PW_OVERRUN, "scratch");
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void fail_once(struct pw_session *session, uint32_t count, double sign)
{
        struct pw_future *result = through(session, "parts/leave", count, sign);

        it_fails_with(result, PW_NO_SPACE, "zeroing");
        pw_unref(result);
}

/* Nothing of what is there is the other's; where `own` is set, all of it is the tenant's. */
static void look(struct pw_session *session, const char *function, const struct told *told, double sign, bool own)
{
        struct pw_future *result = through(session, function, told->count, sign);
        const double *data;
        struct pw_view view;

        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        data = view.data;
        for (uint32_t i = 0; i < told->count; i++) {
                if (data[i] == -sign)
                        fail_msg("%s: element %u of %u was left by another tenant: %g", function, i, told->count, data[i]);
                if (own && data[i] == 0)
                        fail_msg("%s: element %u of %u was the tenant's own, and was set to 0", function, i, told->count);
        }
        pw_view_done(&view);
        pw_unref(result);
}

static void expect_none_of_another(struct pw_future *result, uint32_t count, double sign)
{
        struct pw_view view;

        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        for (uint32_t i = 0; i < count; i++)
                if (((const double *)view.data)[i] == -sign)
                        fail_msg("element %u of %u was left by another tenant", i, count);
        pw_view_done(&view);
}

/* In more rooms of one call than a word has bits. */
#define OUTPUTS 80u
static void look_at_many(struct pw_session *session, uint32_t count, double sign)
{
        static const uint32_t which[] = { 0, 1, 62, 63, 64, 79 };
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = pw_program_new(session, "test/many");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(count), PW_SPLIT(0), 0);
        struct pw_future *input = it_put_same(session, count, sign), *results[pw_array_count(which)];
        struct pw_sharding shardings[OUTPUTS];

        for (uint32_t i = 0; i < OUTPUTS; i++)
                shardings[i] = PW_SPLIT(0);
        value = pw_call_with(program, slice, "parts/leave", PW_ARGS(value), PW_SPLIT(0),
                             &(struct pw_call_params){ .output_count = OUTPUTS, .output_shardings = shardings });
        for (size_t i = 0; i < pw_array_count(which); i++)
                pw_result(program, pw_output(value, which[i]));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), results, IT_ERR));
        for (size_t i = 0; i < pw_array_count(which); i++) {
                expect_none_of_another(results[i], count, sign);
                pw_unref(results[i]);
        }
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* In small rooms, one behind another. */
#define SMALL 500u
static void look_often(struct pw_session *session, uint32_t count, double sign)
{
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = it_one_node(session, slice, "parts/leave", PW_DIMS(count), NULL);
        struct pw_future *input = it_put_same(session, count, sign), *results[SMALL];

        for (uint32_t i = 0; i < SMALL; i++) {
                results[i] = it_run_1(program, input);
                expect_none_of_another(results[i], count, sign);
        }
        for (uint32_t i = 0; i < SMALL; i++)
                pw_unref(results[i]);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void act(struct pw_session *session, const struct told *told, double sign)
{
        switch (told->task) {
        case FILL: fill(session, told->count, sign); break;
        case FAIL: fail_once(session, told->count, sign); break;
        case SUM: sum(session, told->count, sign); break;
        case SPILL: spill(session, told->count, sign); break;
        case LOOK_AT_MANY: look_at_many(session, told->count, sign); break;
        case LOOK_OFTEN: look_often(session, told->count, sign); break;
        case LOOK: look(session, "parts/leave", told, sign, false); break;
        case LOOK_AT_SCRATCH: look(session, "scratch/look", told, sign, false); break;
        case LOOK_FOR_OWN: look(session, "parts/leave", told, sign, true); break;
        case LOOK_FOR_OWN_SCRATCH: look(session, "scratch/look", told, sign, true); break;
        case END: break;
        }
}

static int be_other(void *context, int pipe)
{
        struct other *other = context;
        struct pw_session *session = it_connect_as_other(other->host, 0);
        struct told told;

        do {
                assert_int_equal(read(other->from, &told, sizeof told), sizeof told);
                act(session, &told, -1);
                assert_int_equal(write(pipe, &told, sizeof told), sizeof told);
        } while (told.task != END);
        pw_close(session);
        return 0;
}

static void other_begin(struct other *other, struct it_host *host)
{
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        *other = (struct other){ .to = ends[1], .from = ends[0], .host = host };
        other->child = it_fork(be_other, other);
}

static void other_does(struct other *other, enum task task, uint32_t count)
{
        struct told told = { task, count };

        assert_int_equal(write(other->to, &told, sizeof told), sizeof told);
        it_read(&other->child, &told, sizeof told);
}

static void other_end(struct other *other)
{
        other_does(other, END, 0);
        assert_int_equal(it_reap(&other->child, 0), 0);
        close(other->to);
        close(other->from);
}

static void does(struct it_host *host, enum task task, uint32_t count) { act(host->session, &(struct told){ task, count }, 1); }

/* The executor ends, and another goes on with what lies there. */
static void restart(struct it_host *host, int restarts)
{
        int64_t start_us = it_now_us();

        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        it_back_within_a_second(host->session, restarts, start_us);
}

/* --- the tests ---------------------------------------------------------------------------------------------------------------- */

/* In turn and in any order, with values of all sizes, in the first life of the executor and in the next. */
static void nothing_of_another_is_seen(void **state, const struct kind *kind)
{
        static const uint32_t counts[] = { 1, 31, 2 * KIB_COUNT, 300 * KIB_COUNT + 5, 1024 * KIB_COUNT, 2000 * KIB_COUNT };
        struct it_host *host = *state;
        struct other other;
        unsigned seed = 1;

        if (it_alone(host))
                skip();
        begin(state, kind);
        other_begin(&other, host);
        does(host, FILL, ALL_COUNT);
        for (uint32_t i = 0; i < ROUNDS; i++) {
                uint32_t count = counts[(unsigned)rand_r(&seed) % pw_array_count(counts)];
                enum task task = (enum task)((unsigned)rand_r(&seed) % 3);

                if (i == ROUNDS / 2)
                        restart(host, 1);
                if (rand_r(&seed) % 2)
                        does(host, task, count);
                else
                        other_does(&other, task, count);
        }
        does(host, LOOK, 1024 * KIB_COUNT);
        other_does(&other, LOOK, 2000 * KIB_COUNT);
        does(host, LOOK_AT_SCRATCH, 1024 * KIB_COUNT);
        other_end(&other);
        end(host, kind);
}

/* Each has come after the other, and then after itself. */
static void who_comes_after_himself_finds_his_own(void **state, const struct kind *kind)
{
        struct it_host *host = *state;
        struct other other;

        if (it_alone(host))
                skip();
        begin(state, kind);
        does(host, FILL, ALL_COUNT);
        does(host, LOOK_FOR_OWN, 1024 * KIB_COUNT);
        other_begin(&other, host);
        for (int life = 0; life < 2; life++) {
                other_does(&other, LOOK, 1024 * KIB_COUNT);
                other_does(&other, FILL, ALL_COUNT);
                other_does(&other, LOOK_FOR_OWN, 1024 * KIB_COUNT);
                other_does(&other, LOOK_FOR_OWN_SCRATCH, 1024 * KIB_COUNT);
                does(host, LOOK, 1024 * KIB_COUNT);
                does(host, FILL, ALL_COUNT);
                does(host, LOOK_FOR_OWN_SCRATCH, 1000 * KIB_COUNT);
                does(host, LOOK_FOR_OWN, 1024 * KIB_COUNT);
                if (!life)
                        restart(host, 1);
        }
        other_end(&other);
        end(host, kind);
}

static bool is_free(const struct pw_listing *memory, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(memory); i++)
                if (!strcmp(it_text(memory, i, "memory"), "h0:0") && !strcmp(it_text(memory, i, "term"), "free"))
                        return it_number(memory, i, "bytes") == DEVICE_BYTES;
        return false;
}

/* A call that was not launched has not set its rooms to 0: the next one does. */
static void a_call_that_is_not_launched(void **state)
{
        struct it_host *host = *state;
        struct other other;

        if (it_alone(host))
                skip();
        begin(state, &failing);
        does(host, FILL, ALL_COUNT);
        other_begin(&other, host);
        other_does(&other, FAIL, 2048 * KIB_COUNT);
        it_until(host->session, "memory", is_free, NULL);
        other_does(&other, LOOK_AT_SCRATCH, 2048 * KIB_COUNT); /* it lies where that output was */
        other_end(&other);
        end(host, &failing);
}

/* What a call wrote behind its room, and what it left in its last ones. */
static void in_all_rooms(void **state, const struct kind *kind)
{
        struct it_host *host = *state;
        struct other other;

        if (it_alone(host))
                skip();
        begin(state, kind);
        other_begin(&other, host);
        does(host, FILL, 10);
        other_does(&other, FILL, ALL_COUNT);
        it_until(host->session, "memory", is_free, NULL);
        does(host, SPILL, 4096);
        it_until(host->session, "memory", is_free, NULL);
        other_does(&other, LOOK_OFTEN, 20);
        does(host, FILL, ALL_COUNT);
        other_does(&other, LOOK_AT_MANY, 600);
        other_end(&other);
        end(host, kind);
}

/* A sum is its tenant's, though each device has part of it from the other. */
static void sums_are_a_tenants(void **state)
{
        struct it_host *host = *state;
        struct other other;

        if (it_alone(host))
                skip();
        begin(state, &pair);
        other_begin(&other, host);
        does(host, FILL, 10);
        for (uint32_t i = 0; i < 4; i++) {
                other_does(&other, SUM, 1500 * KIB_COUNT);
                it_until(host->session, "memory", is_free, NULL);
                does(host, SUM, (300 + 300 * i) * KIB_COUNT);
                it_until(host->session, "memory", is_free, NULL);
                other_does(&other, LOOK, 1500 * KIB_COUNT);
                other_does(&other, LOOK, (2000 - 300 * i) * KIB_COUNT);
        }
        other_end(&other);
        end(host, &pair);
}

#define OVER(kind)                                                                                                     \
        static void nothing_of_another_on_##kind(void **state) { nothing_of_another_is_seen(state, &kind); }           \
        static void after_himself_on_##kind(void **state) { who_comes_after_himself_finds_his_own(state, &kind); } \
        static void in_all_rooms_on_##kind(void **state) { in_all_rooms(state, &kind); }
OVER(apart)
OVER(late)
OVER(cuda)
#define TESTS_OVER(kind)                                                                                               \
        IT_FOLDER_TEST(nothing_of_another_on_##kind), IT_FOLDER_TEST(after_himself_on_##kind),                         \
                IT_FOLDER_TEST(in_all_rooms_on_##kind)

int main(void)
{
        const struct CMUnitTest tests[] = { TESTS_OVER(apart), TESTS_OVER(late), TESTS_OVER(cuda),
                                            IT_FOLDER_TEST(sums_are_a_tenants), IT_FOLDER_TEST(a_call_that_is_not_launched) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

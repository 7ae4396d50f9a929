/* Puts of sizes that change all the time: rooms stay as large as their values, and nothing grows. Many objects of one session.
 *
 * PW_PUTS is how many (10^8 in `make soak`), PW_OBJECTS how many are held at once, PW_SEED the seed of another round.
 */
#include "tests/integration/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELD 2000u
#define LEAST 256.0          /* smaller values take whole lines, or lie in their entries */
#define SPAN 250.0           /* the largest over the smallest */
#define PHASE_PUTS 20000u    /* then most values have other sizes */
#define CHECKS 20u

struct churn {
        struct it_host *host;
        uint64_t seed, bytes; /* bytes: of all that is held */
        struct { struct pw_future *future; uint32_t bytes; } held[HELD];
        uint8_t value[65536];
};

static double random_share(struct churn *churn)
{
        return (double)(it_random(&churn->seed) >> 11) / (double)(UINT64_C(1) << 53);
}

/* Any size now and then; most lie within a third of the doublings, which wanders. */
static uint32_t random_bytes(struct churn *churn, uint64_t put)
{
        double phase = (double)(put / PHASE_PUTS % 7) / 7, share = random_share(churn);

        if (random_share(churn) < 0.8)
                share = fmod(phase + share / 3, 1);
        return (uint32_t)(LEAST * pow(SPAN, share));
}

static void put(struct churn *churn, uint64_t number)
{
        uint32_t i = (uint32_t)(it_random(&churn->seed) % HELD), bytes = random_bytes(churn, number);

        if (churn->held[i].future)
                pw_unref(churn->held[i].future);
        churn->bytes -= churn->held[i].bytes;
        memcpy(churn->value, &number, sizeof number);
        it_ok(pw_put(churn->host->session, churn->value, bytes, NULL, &churn->held[i].future, IT_ERR));
        churn->held[i].bytes = bytes;
        churn->bytes += bytes;
}

static uint64_t term(struct it_host *host, const char *name)
{
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        uint64_t bytes = (uint64_t)it_number(memory, it_find(memory, "term", name), "bytes"); /* host memory comes first */

        pw_listing_free(memory);
        return bytes;
}

/* Ready values that are held, by the bytes of their rooms. */
static void rooms_fit(struct churn *churn)
{
        uint64_t rooms = term(churn->host, "used");
        double ratio = (double)rooms / (double)churn->bytes;

        if (ratio >= 1.15)
                print_message("seed %llu: rooms of %llu bytes for values of %llu\n", (unsigned long long)churn->seed,
                              (unsigned long long)rooms, (unsigned long long)churn->bytes);
        assert_true(ratio < 1.15);
        assert_int_equal(term(churn->host, "unaccounted"), 0);
}

static void nothing_grew(const char *who, const struct it_has *before, const struct it_has *after)
{
        print_message("%s: %llu descriptors (%llu), %llu maps (%llu), %llu KiB (%llu)\n", who, (unsigned long long)after->fds,
                      (unsigned long long)before->fds, (unsigned long long)after->maps, (unsigned long long)before->maps,
                      (unsigned long long)after->private_kib, (unsigned long long)before->private_kib);
        assert_true(after->fds <= before->fds + 2);
        assert_true(after->maps <= before->maps + 8);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed for a while: a buffer for each bell that rang */
        assert_true(after->private_kib <= before->private_kib + before->private_kib / 4 + 1024);
#endif
}

static void test_churn(void **state)
{
        struct it_host *host = *state;
        uint64_t puts = it_environment("PW_PUTS", 400000), every = puts / CHECKS;
        struct churn *churn = calloc(1, sizeof *churn);
        struct it_has daemon = { 0 }, mine = { 0 }, daemon_now, mine_now;

        assert_non_null(churn);
        churn->host = host;
        churn->seed = it_environment("PW_SEED", 1);
        for (uint64_t i = 0; i < puts; i++) {
                put(churn, i);
                if (i % every || !i)
                        continue;
                rooms_fit(churn);
                if (i / every == CHECKS / 2) { /* every size was there by now */
                        daemon = it_has(host->pid);
                        mine = it_has(getpid());
                }
        }
        daemon_now = it_has(host->pid);
        mine_now = it_has(getpid());
        nothing_grew("pathwaysd", &daemon, &daemon_now);
        nothing_grew("client", &mine, &mine_now);
        for (uint32_t i = 0; i < HELD; i++)
                pw_unref(churn->held[i].future);
        free(churn);
}

/* --- many at once ------------------------------------------------------------------------------------------------------- */

static void test_many_objects(void **state)
{
        struct it_host *host = *state;
        uint64_t count = it_environment("PW_OBJECTS", 100000), number[2] = { 0, 0 };
        struct pw_future **futures = calloc(count, sizeof(struct pw_future *));
        struct pw_view view;

        assert_non_null(futures);
        for (uint64_t i = 0; i < count; i++) {
                number[0] = i;
                it_ok(pw_put(host->session, number, sizeof number, NULL, &futures[i], IT_ERR));
        }
        assert_true(it_listed(host->session, "status", "objects") >= (int64_t)count);
        for (uint64_t i = 0; i < count; i += count / 1000) {
                it_ok(pw_get(futures[i], 0, &view, IT_ERR));
                assert_int_equal(*(const uint64_t *)view.data, i);
                pw_view_done(&view);
        }
        for (uint64_t i = 0; i < count; i++)
                pw_unref(futures[i]);
        print_message("%llu objects of one session at once\n", (unsigned long long)count);
        free(futures);
}

static int setup_large(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--device-memory", "1MiB", "--host-memory", "2GiB"));
}

static int setup(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--device-memory", "1MiB", "--host-memory", "128MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_many_objects, setup_large, it_teardown),
                cmocka_unit_test_setup_teardown(test_churn, setup, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

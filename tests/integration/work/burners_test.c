/* Others compute on every processor: executors and the daemon have their share of it, though they wait for each other all the time.
 */
#include "tests/integration/trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES 100
#define RUNS 10
#define BURNERS_MAX 16

static int burn(void *context, int pipe)
{
        (void)context;
        for (_Atomic uint64_t turns = 0;; turns++)
                if (turns % (UINT64_C(1) << 32) == 0 && write(pipe, "b", 1) != 1)
                        return 1;
}

/* How often executors gave the processor away though they could go on (yields; a few slices that ended) and how often they
 * slept. */
struct switches { uint64_t yielded, slept; };

static uint64_t number_in(const char *text, const char *key)
{
        const char *at = strstr(text, key);

        return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static struct switches switches_of(struct pw_session *session)
{
        struct pw_listing *devices = it_list(session, "devices", NULL);
        struct switches sum = { 0 };

        for (size_t i = 0; i < it_rows(devices); i++) {
                char path[64], text[4096];

                snprintf(path, sizeof path, "/proc/%d/status", (int)it_number(devices, i, "pid"));
                FILE *file = fopen(path, "re");
                assert_non_null(file);
                text[fread(text, 1, sizeof text - 1, file)] = 0;
                fclose(file);
                sum.yielded += number_in(text, "nonvoluntary_ctxt_switches:");
                sum.slept += number_in(text, "\nvoluntary_ctxt_switches:");
        }
        pw_listing_free(devices);
        return sum;
}

/* Gathers from all devices: each member waits for the others, every time. */
static struct pw_program *gathers(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "gathers");
        struct pw_sharding split = PW_SPLIT(0);
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);

        for (uint32_t i = 0; i < NODES; i++)
                x = pw_as(it_grow(program, slice, pw_as(x, split), split, 1), (struct pw_sharding)PW_BROADCAST);
        pw_result(program, x);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static void test_beside_who_computes(void **state)
{
        struct it_host *host = *state;
        struct it_child burners[BURNERS_MAX];
        long count = 2 * sysconf(_SC_NPROCESSORS_ONLN);
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        struct pw_program *program = gathers(host->session, slice);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(8), 0);
        struct switches before, after;
        char byte;

        count = count < BURNERS_MAX ? count : BURNERS_MAX;
        struct pw_future *result = it_run_1(program, input);

        it_expect_f64(result, (const double[]){ 100, 101, 102, 103, 104, 105, 106, 107 }, 8);
        pw_unref(result);
        for (long i = 0; i < count; i++) {
                burners[i] = it_fork(burn, NULL);
                it_read(&burners[i], &byte, 1);
        }
        before = switches_of(host->session);
        int64_t took_us, since_us = it_now_us();
        for (int i = 0; i < RUNS; i++) {
                result = it_run_1(program, input);
                it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(result);
        }
        after = switches_of(host->session);
        took_us = it_now_us() - since_us;
        print_message("%d gangs of 4 beside %ld who compute: %d ms, %d yields, %d sleeps\n", RUNS * NODES, count,
                      (int)(took_us / 1000), (int)(after.yielded - before.yielded), (int)(after.slept - before.slept));
        for (long i = 0; i < count; i++)
                it_reap(&burners[i], 9);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        /* Where the system has them all run at once, as it may, nobody is in their way. */
        assert_true(took_us < IT_SECOND / 2 || after.yielded - before.yielded < (after.slept - before.slept) * 4);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(test_beside_who_computes) };

        alarm(300);
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `pathways why` of memory that is full: what is missing, and what is enough to let go.
 */
#include "plane/control.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

static int put_too_much(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        void *data;

        assert_int_equal(write(pipe, "c", 1), 1);
        it_ok(pw_create(session, 60 * MIB, NULL, &future, &data, IT_ERR));
        it_ok(pw_abort(future, IT_ERR));
        pw_unref(future);
        pw_close(session);
        return 0;
}

/* A process that breaks the protocol, and lives: what it had stays where it may write. */
static int spoil_its_ring(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        unsigned long from, to;
        char line[600];
        void *data;
        FILE *maps = fopen("/proc/self/maps", "r");

        it_ok(pw_create(session, 20 * MIB, NULL, &future, &data, IT_ERR));
        it_ok(pw_seal(future, IT_ERR));
        while (fgets(line, sizeof line, maps))
                if (sscanf(line, "%lx-%lx rw-s", &from, &to) == 2 && to - from == PW_CONTROL_BYTES)
                        atomic_store(&((struct pw_control *)from)->lanes[0].ring.tail, 1u << 30);
        fclose(maps);
        assert_int_equal(write(pipe, "c", 1), 1);
        pause();
        return 0;
}

static void host_memory_that_is_full(void **state)
{
        struct it_host *host = *state;
        struct pw_future *held;
        struct it_child child;
        char pid[32], id[PW_ID_TEXT_BYTES], expected[400];
        void *data;

        it_ok(pw_create(host->session, 40 * MIB, NULL, &held, &data, IT_ERR));
        child = it_start_child(host, put_too_much);
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        snprintf(expected, sizeof expected,
                 "room of |in host memory|host memory h0: waits for |more than is free; remedy: the object below is enough; or a "
                 "larger "
                 "--host-memory|object %s, 40 MiB|why_memory_test|free --force %s",
                 it_id_of(held, id), id);
        it_chain_expect(host, pid, expected);
        it_chain_expect(host, "h0", expected);
        it_ok(pw_abort(held, IT_ERR));
        pw_unref(held);
        assert_int_equal(it_reap(&child, 0), 0);
        it_chain_expect(host, "h0", "host h0: waits for nothing: its 1 device is without a gang, nobody waits for its memory");
        it_chain_expect(host, "h7", "h7: this host is h0");
}

/* Nothing is offered that would not help: what is let go is enough, or it is said that all there is would not be. */
static void what_is_enough(void **state)
{
        struct it_host *host = *state;
        struct pw_future *held[4], *small[500];
        struct it_child child;
        char pid[32], *chain;
        void *data;

        for (uint32_t i = 0; i < 4; i++)
                it_ok(pw_create(host->session, (6 + i) * MIB, NULL, &held[i], &data, IT_ERR));
        for (uint32_t i = 0; i < 500; i++)
                it_ok(pw_create(host->session, 16384, NULL, &small[i], &data, IT_ERR));
        child = it_start_child(host, put_too_much);
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        it_chain_expect(host, pid,
                        "more than is free; remedy: the |objects below together, |MiB, are enough; or a larger --host-memory|9 "
                        "MiB|8 MiB");
        chain = it_chain_of(host, pid);
        assert_false(it_chain_has(chain, "16 KiB"));
        free(chain);
        for (uint32_t i = 0; i < 4; i++) {
                it_ok(pw_abort(held[i], IT_ERR));
                pw_unref(held[i]);
        }
        assert_int_equal(it_reap(&child, 0), 0);
        for (uint32_t i = 0; i < 500; i++) {
                it_ok(pw_abort(small[i], IT_ERR));
                pw_unref(small[i]);
        }
}

static void host_memory_of_sessions_that_ended(void **state)
{
        static const char had[] = "host memory h0: waits for 40 MiB that ended sessions had, into which processes";
        struct it_host *host = *state;
        struct it_child vandals[2] = { it_start_child(host, spoil_its_ring), it_start_child(host, spoil_its_ring) },
                child = it_start_child(host, put_too_much);
        char expected[200], *chain;

        snprintf(expected, sizeof expected, "room of |%s| may still write; remedy: end them: `kill ", had);
        it_chain_expect(host, "h0", expected);
        chain = it_chain_of(host, "h0");
        assert_false(it_chain_has(chain, "that ended sessions had|that ended sessions had")); /* 20 MiB each, said once */
        for (uint32_t i = 0; i < 2; i++) {
                snprintf(expected, sizeof expected, " %d|end them: `kill| %d", (int)vandals[i].pid, (int)vandals[i].pid);
                assert_true(it_chain_has(chain, expected));
        }
        free(chain);
        for (uint32_t i = 0; i < 2; i++)
                it_reap(&vandals[i], SIGKILL);
        assert_int_equal(it_reap(&child, 0), 0);
}

static struct pw_program *large(struct it_host *host, struct pw_slice *slice, uint64_t sleep_us)
{
        return it_one_node(host->session, slice, "pw/sleep_us", PW_DIMS(5 * MIB / 8),
                           &(struct pw_call_params){ .params = &sleep_us, .params_bytes = sizeof sleep_us });
}

/* A run takes 10 MiB of 16, of which its result keeps 5: one waits for another that is admitted, and where two results are held,
 * for their holders. */
static void device_memory_that_is_full(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = large(host, slice, 0), *slow = large(host, slice, 1000000);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(5 * MIB / 8), 0), *results[3], *behind;
        char id[PW_ID_TEXT_BYTES], expected[300];

        results[0] = it_run_1(slow, input);
        results[1] = it_run_1(program, input);
        behind = it_run_1(program, input);
        it_chain_expect(host, it_id_of(behind, id),
               "runs that came earlier wait|room: device h0:0 lacks |memory of device h0:0|to give back its room|device "
               "h0:0|pw/sleep_us");
        it_ok(pw_cancel(behind, IT_ERR));
        pw_unref(behind);
        it_chain_expect(host, it_id_of(results[1], id),
               "room: device h0:0 lacks |memory of device h0:0|to give back its room|run |device h0:0|pw/sleep_us");
        it_ok(pw_wait(results, 2, 2, IT_LONG, NULL, IT_ERR));
        results[2] = it_run_1(program, input);
        snprintf(expected, sizeof expected,
                 "room: device h0:0 lacks |memory of device h0:0, 4 MiB short|object |5 MiB, of tenant |, made by test/one|"
                 "object |free --force ");
        it_chain_expect(host, it_id_of(results[2], id), expected);
        it_chain_expect(host, "h0",
                        "host h0: waits for memory of devices for 1 run, the oldest is run |room: device h0:0 lacks |object |free "
                        "--force ");
        pw_unref(results[0]);
        it_ok(pw_wait(&results[2], 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(results[1]);
        pw_unref(results[2]);
        pw_unref(input);
        pw_program_free(program);
        pw_program_free(slow);
        pw_slice_close(slice);
}

/* 80 MiB beside the memory of the device. */
static int setup_small(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--host-memory", "96MiB", "--device-memory", "16MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(device_memory_that_is_full),
                cmocka_unit_test_setup_teardown(host_memory_that_is_full, setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(what_is_enough, setup_small, it_teardown),
                cmocka_unit_test_setup_teardown(host_memory_of_sessions_that_ended, setup_small, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The policy `share` on real processes: four tenants that want one device for gangs of 330 us get it by their weights, and it is
 * busy; other weights count from SIGHUP on.
 *
 * Tenants are users, whom only root can become.
 */
#include "tests/integration/folder.h"
#include "tests/integration/other.h"
#include "tests/integration/trace.h"

#include <grp.h>
#include <math.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TENANTS 4u
#define FIRST_USER 65500u
#define IN_FLIGHT 128u
#define GANG_US UINT64_C(330)

static struct { /* with the children */
        _Atomic uint64_t gangs[TENANTS]; /* done, of each tenant */
        sem_t first;                     /* those of the first, as they are done */
} *shared;

struct tenant { const struct it_host *host; unsigned number; };

static int want_device(void *context, int pipe)
{
        const struct tenant *tenant = context;
        unsigned user = FIRST_USER + tenant->number;
        struct pw_future *results[IN_FLIGHT] = { NULL };
        uint64_t us = GANG_US;

        (void)pipe;
        assert_int_equal(setgroups(0, NULL), 0);
        assert_int_equal(setresgid(user, user, user), 0);
        assert_int_equal(setresuid(user, user, user), 0);
        assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
        struct pw_session *session = it_connect(tenant->host);
        struct pw_program *program = it_one_node(session, it_slice(session, 1, 1), "pw/sleep_us", PW_DIMS(2),
                                                 &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        struct pw_future *input = it_put_f64(session, PW_DIMS(2), 5);

        for (uint32_t i = 0;; i = (i + 1) % IN_FLIGHT) { /* until it is killed */
                struct pw_view view;

                if (results[i]) {
                        it_ok(pw_get(results[i], IT_LONG, &view, IT_ERR));
                        pw_view_done(&view);
                        pw_unref(results[i]);
                        atomic_fetch_add(&shared->gangs[tenant->number], 1);
                        if (!tenant->number)
                                sem_post(&shared->first);
                }
                results[i] = it_run_1(program, input);
        }
        return 0;
}

/* What each has of all that was done in so many us, in parts of 10,000. */
static void measure(uint64_t us, uint64_t *ret_parts, uint64_t *ret_all)
{
        uint64_t before[TENANTS];

        for (uint32_t t = 0; t < TENANTS; t++)
                before[t] = atomic_load(&shared->gangs[t]);
        usleep((useconds_t)us);
        *ret_all = 0;
        for (uint32_t t = 0; t < TENANTS; t++)
                *ret_all += ret_parts[t] = atomic_load(&shared->gangs[t]) - before[t];
        for (uint32_t t = 0; t < TENANTS; t++)
                ret_parts[t] = ret_parts[t] * 10000 / (*ret_all ? *ret_all : 1);
}

static void expect_shares(struct it_host *host, const uint32_t *weights)
{
        struct it_child children[TENANTS];
        struct tenant tenants[TENANTS];
        uint64_t parts[TENANTS], all, weight = 0;
        int64_t since_us;
        double busy;

        for (uint32_t t = 0; t < TENANTS; t++) {
                tenants[t] = (struct tenant){ host, t };
                children[t] = it_fork(want_device, &tenants[t]);
                weight += weights[t];
        }
        for (uint32_t t = 0; t < TENANTS; t++)
                while (atomic_load(&shared->gangs[t]) < 200)
                        usleep(1000);
        since_us = it_now_us();
        measure(it_environment("PW_SHARE_US", 2000000), parts, &all);
        busy = (double)(all * GANG_US) / (double)(it_now_us() - since_us);
        printf("the device was in gangs for %.3f of the time\n", busy);
        for (uint32_t t = 0; t < TENANTS; t++)
                printf("weight %u: %.4f of the gangs, due %.4f\n", weights[t], (double)parts[t] / 1e4,
                       (double)weights[t] / (double)weight);
        for (uint32_t t = 0; t < TENANTS; t++) {
                double due = 1e4 * weights[t] / (double)weight, off = fabs((double)parts[t] - due);

                /* Others may have the processors; what is exact is in policy_test. */
                if (it_slack() == 1 ? off > due / 100 + 1 || busy < 0.98 : parts[t] * 2 < due || parts[t] > due * 2)
                        fail_msg("weight %u of %lu: %lu of 10,000 gangs, not %.1f; busy %.3f", weights[t],
                                 (unsigned long)weight, (unsigned long)parts[t], due, busy);
        }
        for (uint32_t t = 0; t < TENANTS; t++)
                it_reap(&children[t], SIGKILL);
}

static void start(struct it_host *host, const uint32_t *weights)
{
        char lines[TENANTS][40];

        for (uint32_t t = 0; t < TENANTS; t++) {
                atomic_store(&shared->gangs[t], 0);
                snprintf(lines[t], sizeof lines[t], "uid-%u=%u", FIRST_USER + t, weights[t]);
        }
        it_start(host, IT_ARGS(IT_SMALL, "--devices", "emulated:1", "--policy", "share", "--weight", lines[0], "--weight", lines[1],
                               "--weight", lines[2], "--weight", lines[3]));
        host->session = it_connect(host);
}

static void even(void **state)
{
        static const uint32_t weights[TENANTS] = { 1, 1, 1, 1 };
        struct it_host *host = *state;

        if (it_alone(host))
                skip();
        start(host, weights);
        expect_shares(host, weights);
}

static void doubling(void **state)
{
        static const uint32_t weights[TENANTS] = { 1, 2, 4, 8 };
        struct it_host *host = *state;

        if (it_alone(host))
                skip();
        start(host, weights);
        expect_shares(host, weights);
}

/* --- other weights ------------------------------------------------------------------------------------------------------- */

#define CONFIG "devices = emulated:1\nhost-memory = 64 MiB\ndevice-memory = 4 MiB\npolicy = share\n"
#define WINDOW 64u /* gangs of the first tenant */

static void wait_for_first(void)
{
        struct timespec end;

        assert_int_equal(clock_gettime(CLOCK_REALTIME, &end), 0);
        end.tv_sec += IT_LONG / 1000000;
        if (sem_timedwait(&shared->first, &end))
                fail_msg("the first tenant has no gang for %d s", (int)(IT_LONG / 1000000));
}

/* Gangs of the second tenant in the time of WINDOW of the first's. */
static uint64_t seconds_gangs(void)
{
        uint64_t before;

        while (!sem_trywait(&shared->first)) /* those from before */
                ;
        before = atomic_load(&shared->gangs[1]);
        for (uint32_t i = 0; i < WINDOW; i++)
                wait_for_first();
        return atomic_load(&shared->gangs[1]) - before;
}

/* As it becomes of the weights, which may need some windows to be seen. */
static void until_second_has(uint64_t least, uint64_t most)
{
        uint64_t had = seconds_gangs();

        for (int64_t end_us = it_now_us() + IT_LONG; had < least || had > most; had = seconds_gangs())
                if (it_now_us() > end_us)
                        fail_msg("%lu gangs of the second tenant to %u of the first's, not %lu to %lu", (unsigned long)had, WINDOW,
                                 (unsigned long)least, (unsigned long)most);
}

static void reloaded(void **state)
{
        struct it_host *host = *state;
        struct tenant tenants[] = { { host, 0 }, { host, 1 } };
        struct it_child children[2];

        if (it_alone(host))
                skip();
        it_start_configured(host, CONFIG);
        for (uint32_t t = 0; t < 2; t++)
                children[t] = it_fork(want_device, &tenants[t]);
        until_second_has(WINDOW / 2, WINDOW * 2);
        it_reload(host, CONFIG "weight = uid-65501=8\n");
        until_second_has(WINDOW * 4, UINT64_MAX);
        it_reload(host, CONFIG "weight = uid-65500=8\n");
        until_second_has(0, WINDOW / 4);
        it_reload(host, CONFIG);
        until_second_has(WINDOW / 2, WINDOW * 2);
        for (uint32_t t = 0; t < 2; t++)
                it_reap(&children[t], SIGKILL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(even),
                IT_FOLDER_TEST(doubling),
                IT_FOLDER_TEST(reloaded),
        };

        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return shared == MAP_FAILED || sem_init(&shared->first, 1, 0) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}

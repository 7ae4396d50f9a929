/* The policy `share` on real processes: four tenants that want one device for gangs of 330 us get it by their weights, and it is
 * busy.
 *
 * Tenants are users, whom only root can become.
 */
#include "tests/integration/folder.h"
#include "tests/integration/other.h"
#include "tests/integration/trace.h"

#include <grp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TENANTS 4u
#define FIRST_USER 65500u
#define IN_FLIGHT 128u
#define GANG_US UINT64_C(330)

static _Atomic uint64_t *gangs; /* done, of each tenant; shared with the children */

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
                        atomic_fetch_add(&gangs[tenant->number], 1);
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
                before[t] = atomic_load(&gangs[t]);
        usleep((useconds_t)us);
        *ret_all = 0;
        for (uint32_t t = 0; t < TENANTS; t++)
                *ret_all += ret_parts[t] = atomic_load(&gangs[t]) - before[t];
        for (uint32_t t = 0; t < TENANTS; t++)
                ret_parts[t] = ret_parts[t] * 10000 / (*ret_all ? *ret_all : 1);
}

static void expect_shares(struct it_host *host, const uint32_t *weights)
{
        struct it_child children[TENANTS];
        struct tenant tenants[TENANTS];
        uint64_t parts[TENANTS], all, weight = 0;
        int64_t since_us;

        for (uint32_t t = 0; t < TENANTS; t++) {
                tenants[t] = (struct tenant){ host, t };
                children[t] = it_fork(want_device, &tenants[t]);
                weight += weights[t];
        }
        for (uint32_t t = 0; t < TENANTS; t++)
                while (atomic_load(&gangs[t]) < 200)
                        usleep(1000);
        since_us = it_now_us();
        measure(it_environment("PW_SHARE_US", 2000000), parts, &all);
        printf("the device was in gangs for %.3f of the time\n", (double)(all * GANG_US) / (double)(it_now_us() - since_us));
        for (uint32_t t = 0; t < TENANTS; t++)
                printf("weight %u: %.4f of the gangs, due %.4f\n", weights[t], (double)parts[t] / 1e4,
                       (double)weights[t] / (double)weight);
        for (uint32_t t = 0; t < TENANTS; t++) {
                uint64_t due = 10000 * weights[t] / weight;

                if (parts[t] * 2 < due || parts[t] > due * 2) /* others may have the processors; what is exact is in policy_test */
                        fail_msg("weight %u of %lu: %lu of 10,000 gangs, not %lu", weights[t], (unsigned long)weight,
                                 (unsigned long)parts[t], (unsigned long)due);
        }
        for (uint32_t t = 0; t < TENANTS; t++)
                it_reap(&children[t], SIGKILL);
}

static void start(struct it_host *host, const uint32_t *weights)
{
        char lines[TENANTS][40];

        for (uint32_t t = 0; t < TENANTS; t++) {
                atomic_store(&gangs[t], 0);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(even),
                IT_FOLDER_TEST(doubling),
        };

        gangs = mmap(NULL, TENANTS * sizeof *gangs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return gangs == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}

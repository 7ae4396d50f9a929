/* A tenant makes the daemon keep as much as it may, of one kind alone at a time: what the system says that the daemon has more
 * stands under that tenant, within a twentieth. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include "base/memory.h"
#include "base/size.h"
#include "libclient/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define RINGS 200u                   /* of a session, written over */
#define NAMES 20000u
#define EXTENTS 30000u               /* of a slot each */
#define MOST_RUNS 1000000u
#define QUOTA_BYTES (32 * PW_MIB)
#define APART_BYTES (512 * 1024)     /* made with the first of a tenant: its futures, a thread's stack and heap */
#define LEAST_BYTES (3 * PW_MIB)     /* that a kind has, to be told from that */

struct keeping { const struct it_host *host; void (*keep)(const struct it_host *host); };

static struct pw_future *one(struct pw_session *session)
{
        struct pw_future *future;

        it_ok(pw_put(session, "x", 1, NULL, &future, IT_ERR));
        return future;
}

static void keep_objects(const struct it_host *host)
{
        struct pw_session *session = it_connect(host);

        for (uint32_t i = 0; i < 200000; i++)
                one(session);
        it_ok(pw_session_fence(session, IT_ERR));
}

static void keep_names(const struct it_host *host)
{
        struct pw_session *session = it_connect(host);
        struct pw_future *future = NULL;
        char name[64];

        for (uint32_t i = 0; i < NAMES; i++) {
                if (i % 1000 == 0)
                        future = one(session);
                snprintf(name, sizeof name, "attack/%u", i);
                it_ok(pw_name(future, name, IT_ERR));
        }
}

static void keep_runs(const struct it_host *host)
{
        struct pw_session *session = it_connect(host);
        struct pw_program *program = it_one_node(session, it_slice(session, 1, 1), "pw/nop", PW_SCALAR, NULL);
        struct pw_future *input, *result;
        void *data;

        it_ok(pw_create(session, sizeof(double), &(struct pw_put_params){ .dtype = PW_F64 }, &input, &data, IT_ERR));
        for (uint32_t i = 0; i < 20000; i++)
                it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_ok(pw_session_fence(session, IT_ERR));
}

static void keep_programs(const struct it_host *host)
{
        struct pw_session *session = it_connect(host);
        struct pw_slice *slice = it_slice(session, 1, 1);

        for (uint32_t i = 0; i < 8; i++) {
                struct pw_program *program = pw_program_new(session, "attack/charged");
                struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0), *value = input;
                for (uint32_t node = 0; node < 20000; node++)
                        value = pw_call(program, slice, "pw/add", PW_ARGS(value, input), PW_BROADCAST);
                pw_result(program, value);
                it_ok(pw_compile(program, IT_ERR));
        }
}

static void keep_small_programs(const struct it_host *host)
{
        struct pw_session *session = it_connect(host);
        struct pw_slice *slice = it_slice(session, 1, 1);

        for (uint32_t i = 0; i < 2000; i++)
                it_one_node(session, slice, "pw/nop", PW_SCALAR, NULL);
}

static void keep_slices(const struct it_host *host)
{
        struct pw_session *session = it_connect(host);

        for (uint32_t i = 0; i < 20000; i++)
                it_slice(session, 1, 1);
}

static void keep_sessions(const struct it_host *host)
{
        for (uint32_t i = 0; i < 400; i++)
                it_connect(host);
}

static void keep_rings(const struct it_host *host)
{
        struct pw_session *session = it_connect(host);

        atomic_store(&session->control->lane_count, RINGS);
        it_ok(pw_session_fence(session, IT_ERR));
        for (uint32_t i = 1; i < RINGS; i++)
                memset(session->control->lanes[i].ring.cells, 0, sizeof session->control->lanes[i].ring.cells);
}

static void fill_lookup(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__NameLookup body;
        static char name[64];

        pathways__wire__name_lookup__init(&body);
        snprintf(name, sizeof name, "attack/%d/%u", *(const int *)context, i);
        body.name = name;
        body.timeout_us = 10 * IT_LONG;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP;
        request->name_lookup = &body;
}

static void keep_lookups(const struct it_host *host)
{
        char text[200];

        for (int i = 0; i < 30; i++) {
                int fd = raw_connect(host);

                assert_int_equal(raw_hello(fd, text), PW_OK);
                raw_flood(&(struct raw_flood){ .fd = fd, .count = 1000, .fill = fill_lookup, .context = &i, .limit_us = IT_LONG,
                                               .unread = true });
        }
}

static void fill_room(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__RoomRequest body;

        pathways__wire__room_request__init(&body);
        body.lane = (*(const uint32_t *)context + i) % PW_LANES_MAX;
        body.inline_only = true;
        body.count = 1;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_ROOM;
        request->room = &body;
}

/* Few on the way at a time: what was freed between them would count. */
static void keep_extents(const struct it_host *host)
{
        char text[200];
        int fd = raw_connect(host);

        assert_int_equal(raw_hello(fd, text), PW_OK);
        for (uint32_t i = 0; i < EXTENTS; i += 100)
                raw_flood(&(struct raw_flood){ .fd = fd, .count = 100, .fill = fill_room, .context = &i, .limit_us = IT_LONG });
}

static int keep(void *context, int pipe)
{
        const struct keeping *keeping = context;

        keeping->keep(keeping->host);
        assert_int_equal(write(pipe, "k", 1), 1);
        pause();
        return 0;
}

/* The attacker's row that has its tenant's sums. */
static uint64_t told_bytes(struct it_host *host, uint64_t *ret_room_bytes)
{
        struct pw_listing *owners = it_list(host->session, "owners", NULL);
        char tenant[32];
        uint64_t told = 0;

        snprintf(tenant, sizeof tenant, "uid-%u", geteuid() == 0 ? ATTACK_USER : (unsigned)geteuid());
        *ret_room_bytes = 0;
        for (size_t i = 0; i < it_rows(owners); i++) {
                if (strcmp(it_text(owners, i, "tenant"), tenant) != 0 || !it_number(owners, i, "kept_bytes"))
                        continue;
                told = (uint64_t)it_number(owners, i, "kept_bytes");
                *ret_room_bytes = (uint64_t)(it_number(owners, i, "tenant_host_bytes") - it_number(owners, i, "kept_bytes"));
        }
        pw_listing_free(owners);
        return told;
}

static bool is_near(uint64_t told, uint64_t has)
{
        return has <= told + told / 20 + APART_BYTES && told <= has + has / 20 + APART_BYTES;
}

static void judge(struct it_host *host, const char *name, void (*what)(const struct it_host *host))
{
        uint64_t before = attack_anonymous_bytes(host->pid) + attack_memfd_bytes(host->pid), has, told, rooms;
        int64_t end_us = it_now_us() + IT_LONG;
        struct keeping keeping = { host, what };
        struct it_child child = attack_fork(ATTACK_USER, keep, &keeping);
        char byte;

        it_read(&child, &byte, 1);
        do { /* what a compilation had is charged until a thread has given it back */
                told = told_bytes(host, &rooms);
                has = attack_anonymous_bytes(host->pid) + attack_memfd_bytes(host->pid) - before - rooms;
        } while (!is_near(told, has) && attack_anonymous_bytes(host->pid) && it_now_us() < end_us);
        printf("charged: %s: the daemon has %llu KiB more, %llu KiB stand under the tenant\n", name, (unsigned long long)has / 1024,
               (unsigned long long)told / 1024);
        assert_true(told >= LEAST_BYTES);
        if (attack_anonymous_bytes(host->pid)) /* else a sanitizer keeps what was freed */
                assert_true(is_near(told, has));
        it_reap(&child, SIGKILL);
}

/* Runs that wait, for as long as there are slots for their results. */
static int submit_all(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_program *program = it_one_node(session, it_slice(session, 1, 1), "pw/nop", PW_SCALAR, NULL);
        struct pw_future *input, *result;
        void *data;

        assert_int_equal(write(pipe, "a", 1), 1);
        it_ok(pw_create(session, sizeof(double), &(struct pw_put_params){ .dtype = PW_F64 }, &input, &data, IT_ERR));
        for (uint32_t i = 0; i < MOST_RUNS; i++)
                it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        return 0;
}

static bool says_quota(const struct pw_listing *chain)
{
        for (size_t i = 0; i < it_rows(chain); i++)
                if (strstr(it_text(chain, i, "what"), "quota of tenant"))
                        return true;
        return false;
}

static void test_no_end_of_runs(void **state)
{
        struct it_host *host = *state;
        uint64_t before = attack_anonymous_bytes(host->pid), has;
        struct it_child child = attack_fork(ATTACK_USER, submit_all, host);
        int64_t end_us = it_now_us() + IT_LONG;
        struct pw_listing *chain;
        char what[40], byte;

        it_read(&child, &byte, 1); /* it is attached */

        snprintf(what, sizeof what, "pid %d", (int)child.pid);
        for (bool waits = false; !waits; pw_listing_free(chain)) {
                assert_true(it_now_us() < end_us);
                chain = it_list(host->session, "why", what);
                waits = says_quota(chain);
        }
        has = attack_anonymous_bytes(host->pid) - before;
        printf("charged: who may have %llu KiB submits runs until the daemon has %llu KiB\n",
               (unsigned long long)QUOTA_BYTES / 1024, (unsigned long long)has / 1024);
        assert_true(has < 2 * QUOTA_BYTES);
        pw_listing_free(it_list(host->session, "owners", NULL));
        it_reap(&child, SIGKILL);
}

static int set_up_small(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:2", "--host-memory", "256MiB", "--device-memory", "16MiB",
                                            "--quota", "uid-65531:host=32MiB")) ||
               chmod(((struct it_host *)*state)->folder, 0711) ? -1 : 0;
}

static int drop_names(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        char name[64];

        (void)pipe;
        for (uint32_t i = 0; i < NAMES; i++) {
                snprintf(name, sizeof name, "attack/%u", i);
                it_ok(pw_unname(session, name, IT_ERR));
        }
        pw_close(session);
        return 0;
}

static int set_up(void **state)
{
        return it_setup(state) || chmod(((struct it_host *)*state)->folder, 0711) ? -1 : 0;
}

#define KIND(kind) \
        static void test_##kind(void **state) { judge(*state, #kind, keep_##kind); }
KIND(objects)
KIND(runs)
KIND(programs)
KIND(small_programs)
KIND(slices)
KIND(sessions)
KIND(lookups)
KIND(rings)
KIND(extents)

static void test_names(void **state)
{
        judge(*state, "names", keep_names);
        struct it_child child = attack_fork(ATTACK_USER, drop_names, *state); /* they outlive who gave them */
        assert_int_equal(it_reap_within(&child, IT_LONG), 0);
}

int main(void)
{
#define TEST(kind) cmocka_unit_test_setup_teardown(test_##kind, set_up, it_teardown)
        const struct CMUnitTest tests[] = { TEST(objects), TEST(runs), TEST(programs), TEST(small_programs), TEST(slices),
                                            TEST(sessions), TEST(lookups), TEST(rings), TEST(extents), TEST(names),
                                            cmocka_unit_test_setup_teardown(test_no_end_of_runs, set_up_small, it_teardown) };

        if (attack_is_shared()) {
                printf("charged: needs a daemon of its own\n");
                return 77;
        }
        return cmocka_run_group_tests_name("charged", tests, NULL, NULL);
}

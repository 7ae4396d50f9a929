/* What a memfd takes beyond its grants: pages on their way out are nobody's excess, lanes and rings are its tenant's, more than
 * these ends the sessions in it. */
#include "base/memory.h"
#include "base/size.h"
#include "daemon/session/kept.h"
#include "daemon/session/session.h"
#include "daemon/memory/freezer/freezer.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FD 7
#define HEADS_FD 8
#define SEGMENT 3u
#define SESSION 5u
#define GRANTED (200 * PW_MIB)

static struct {
        uint64_t has, granted;    /* of the memfd, in the segment */
        uint64_t heads;           /* of rooms on a device */
        int64_t overhead;         /* as the store was told: the tenant's */
        uint64_t charged, of_others; /* of the tenant; of other memfds of it */
        enum pw_kept_kind kind;   /* as which it is told */
        uint32_t ended, asked;    /* sessions; works */
        struct pw_tenant tenant;
        struct pw_segment segment;
        struct pw_dsession session;
        struct pw_store_action action;
        struct pw_store_actions actions;
} world;

enum pw_status pw_memfd_allocated(int fd, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        (void)ret_err;
        *ret_bytes = fd == FD ? world.has : fd == HEADS_FD ? world.heads : 0;
        return PW_OK;
}
struct pw_segment *pw_segment_get(const struct pw_memory *memory, uint32_t number)
{
        (void)memory;
        return number == SEGMENT ? &world.segment : NULL;
}
struct pw_dsession *pw_session_get(const struct pw_registry *registry, uint32_t number)
{
        (void)registry;
        return number == SESSION ? &world.session : NULL; /* attached still: its lanes stay */
}
void pw_session_end(struct pw_dsession *session, const char *why)
{
        (void)session, (void)why;
        world.ended++;
}
struct pw_store_actions *pw_store_actions(struct pw_store *store)
{
        (void)store;
        return &world.actions;
}
void pw_store_each_hole(struct pw_store *store, uint32_t segment, void (*hole)(void *, uint64_t, uint64_t), void *context)
{
        (void)store, (void)segment;
        hole(context, 0, PW_MIB);
}
/* Of the daemon's own nothing is measured here. */
void pw_store_overhead(struct pw_store *store, int64_t bytes)
{
        (void)store;
        assert_int_equal(bytes, 0);
}
void pw_kept_count(struct pw_daemon *daemon, const struct pw_tenant *tenant, enum pw_kept_kind kind, int64_t bytes)
{
        (void)daemon;
        assert_ptr_equal(tenant, &world.tenant);
        assert_int_equal(kind, world.kind);
        world.overhead += bytes;
}
struct pw_use pw_store_use(const struct pw_store *store, const char *tenant)
{
        (void)store, (void)tenant;
        return (struct pw_use){ .host_bytes = world.charged, .kept[PW_KEPT_PAGES] = (uint64_t)world.overhead + world.of_others };
}
uint64_t pw_store_segment_bytes(const struct pw_store *store, uint32_t segment)
{
        (void)store;
        return segment == SEGMENT ? world.granted : 0;
}
struct pw_backing *pw_freezer_backing(const struct pw_freezer *freezer)
{
        (void)freezer;
        return NULL; /* there are none */
}
void pw_worker_ask(struct pw_worker *worker, const struct pw_memory_work *work)
{
        (void)worker, (void)work;
        world.asked++;
}

struct place { struct pw_daemon daemon; struct pw_backing backing; };

/* A session's memfd, with all that was granted there. */
static void begin(struct place *place)
{
        memset(&world, 0, sizeof world);
        *place = (struct place){ .backing = { .fd = FD, .taken = 1, .place_count = 1, .place_bytes = PW_GIB,
                                              .daemon = &place->daemon,
                                             .tenant = &world.tenant } };
        world.tenant.quota.host_bytes = PW_QUOTA_NONE;
        pw_list_init(&place->daemon.memory.backings);
        pw_list_init(&place->backing.of_daemon);
        pw_list_init(&place->backing.segments_in);
        pw_list_append(&place->daemon.memory.backings, &place->backing.of_daemon);
        world.segment = (struct pw_segment){ .number = SEGMENT, .session = SESSION, .backed = { &place->backing, 0, PW_GIB } };
        pw_list_append(&place->backing.segments_in, &world.segment.of_backing);
        world.has = world.granted = GRANTED;
        world.kind = PW_KEPT_PAGES;
}

static void measure(struct place *place)
{
        pw_overhead_refresh(&place->daemon);
        pw_overhead_turn(&place->daemon);
}

/* The store has given them up, the worker was asked, the system has them: in no part of that are they anything but what they
 * were. */
static void test_on_their_way_out(void **state)
{
        struct place place;

        (void)state;
        begin(&place);
        measure(&place);
        assert_int_equal(world.overhead, 0);
        world.granted = 0;
        world.action = (struct pw_store_action){ .kind = PW_STORE_PUNCH, .segment = SEGMENT, .bytes = GRANTED };
        world.actions = (struct pw_store_actions){ .items = &world.action, .count = 1 };
        measure(&place);
        assert_int_equal(world.overhead, 0);
        measure(&place); /* nor twice */
        assert_int_equal(world.overhead, 0);
        world.actions.count = 0;
        place.backing.leaving_bytes = GRANTED;
        measure(&place);
        assert_int_equal(world.overhead, 0);
        place.backing.leaving_bytes = world.has = 0;
        measure(&place);
        assert_int_equal(world.overhead, 0);
        assert_int_equal(world.ended + world.asked, 0);
}

/* Until they are given back they serve nobody else: what comes in their place counts beside them. */
static void test_beside_what_leaves(void **state)
{
        struct place place;

        (void)state;
        begin(&place);
        place.backing.leaving_bytes = GRANTED;
        world.has = 2 * GRANTED + 5 * PW_MIB;
        measure(&place);
        assert_int_equal(world.overhead, 5 * PW_MIB);
        assert_int_equal(world.ended, 0);
}

static void test_too_much(void **state)
{
        struct place place;

        (void)state;
        begin(&place);
        world.has = GRANTED + 39 * PW_MIB;
        measure(&place);
        assert_int_equal(world.overhead, 39 * PW_MIB);
        assert_int_equal(world.ended + world.asked, 0);
        world.has = GRANTED + 100 * PW_MIB;
        measure(&place);
        assert_int_equal(world.ended, 1);
        assert_int_equal(world.asked, 1);
        assert_int_equal(world.overhead, 40 * PW_MIB); /* the rest is about to be taken back: nobody has less for it */
        world.has = GRANTED;
        measure(&place);
        assert_int_equal(world.overhead, 0);
        assert_int_equal(world.ended, 1);
}

/* Who has more than its quota, and much of that in such pages, has few of them; each process may have some. */
static void test_over_quota(void **state)
{
        struct place place;

        (void)state;
        begin(&place);
        world.has = GRANTED + 20 * PW_MIB;
        world.of_others = 20 * PW_MIB;
        world.charged = 500 * PW_MIB;
        measure(&place);
        assert_int_equal(world.ended, 0);
        world.tenant.quota.host_bytes = 500 * PW_MIB; /* not more than that */
        measure(&place);
        assert_int_equal(world.ended, 0);
        world.charged++;
        world.of_others = 10 * PW_MIB; /* little of it in such pages */
        measure(&place);
        assert_int_equal(world.ended, 0);
        world.of_others = 20 * PW_MIB;
        measure(&place);
        assert_int_equal(world.ended, 1);
        assert_int_equal(world.overhead, 20 * PW_MIB); /* charged until they are gone */
        world.has = GRANTED + PW_MIB;
        world.of_others = 40 * PW_MIB; /* of others */
        measure(&place);
        assert_int_equal(world.ended, 1);
}

/* Of frozen values: nobody loses a session, as nobody knows who read; it goes with its tenant. */
static void test_frozen(void **state)
{
        struct place place;

        (void)state;
        begin(&place);
        world.kind = PW_KEPT_FUTURES;
        place.backing.frozen = true;
        world.segment.session = 0;
        world.has = GRANTED + 7 * PW_MIB;
        measure(&place);
        assert_int_equal(world.overhead, 7 * PW_MIB);
        assert_int_equal(world.ended + world.asked, 0);
        world.has = GRANTED + 9 * PW_MIB;
        measure(&place);
        assert_int_equal(world.overhead, 8 * PW_MIB);
        assert_int_equal(world.ended, 0);
        assert_int_equal(world.asked, 1);
}

/* They are the tenant's, from the first room to its end. */
static void test_heads(void **state)
{
        struct pw_backing futures = { .fd = 0 }, heads = { .fd = HEADS_FD };
        struct pw_segment of_futures = { .backed = { .backing = &futures } }, rooms = { .heads = { .backing = &heads } };
        struct place place;

        (void)state;
        begin(&place);
        world.kind = PW_KEPT_FUTURES;
        place.backing.frozen = true;
        world.tenant.futures = &of_futures;
        world.tenant.devices[1] = &rooms; /* it had no slice with the others */
        world.heads = 64 << 10;
        assert_true(pw_table_put(&place.daemon.registry.tenants, 1, &world.tenant));
        pw_overhead_refresh(&place.daemon);
        assert_int_equal(world.overhead, 64 << 10);
        world.heads = 68 << 10;
        pw_overhead_refresh(&place.daemon);
        assert_int_equal(world.overhead, 68 << 10);
        pw_overhead_forget_tenant(&place.daemon, &world.tenant);
        assert_int_equal(world.overhead, 0);
        pw_table_done(&place.daemon.registry.tenants);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_on_their_way_out), cmocka_unit_test(test_beside_what_leaves),
                                            cmocka_unit_test(test_too_much), cmocka_unit_test(test_over_quota),
                                            cmocka_unit_test(test_frozen), cmocka_unit_test(test_heads) };

        return cmocka_run_group_tests_name("overhead", tests, NULL, NULL);
}

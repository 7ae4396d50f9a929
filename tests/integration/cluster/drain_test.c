/* Hosts that drain: what others hold of them stays good, by the ids that they have, before, in between and afterwards. */
#include "base/id.h"
#include "libclient/listing.h"
#include "tests/integration/cluster/cluster.h"
#include "tests/integration/operator/command.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (3u << 20)

static void start(struct cluster *cluster, int count)
{
        cluster->linked = true;
        for (int i = 0; i < count; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
}

static struct pw_session *of(struct cluster *cluster, int i) { return cluster->hosts[i].session; }

static uint8_t *bytes_of(uint8_t seed)
{
        uint8_t *bytes = malloc(LARGE);

        assert_non_null(bytes);
        for (uint32_t i = 0; i < LARGE; i++)
                bytes[i] = (uint8_t)(i * 31 + i / 4099 + seed);
        return bytes;
}

static struct pw_future *put(struct cluster *cluster, int i, uint8_t seed)
{
        uint8_t *bytes = bytes_of(seed);
        struct pw_future *future;

        it_ok(pw_put(of(cluster, i), bytes, LARGE, NULL, &future, IT_ERR));
        free(bytes);
        return future;
}

static void expect(struct pw_future *future, uint8_t seed)
{
        uint8_t *bytes = bytes_of(seed);
        struct pw_view view;

        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, LARGE);
        assert_memory_equal(view.data, bytes, LARGE);
        pw_view_done(&view);
        free(bytes);
}

/* Somebody at host `i` has the id, and nothing else. */
static void expect_by_id(struct cluster *cluster, int i, struct pw_id id, uint8_t seed)
{
        struct pw_future *future;

        it_ok(pw_open(of(cluster, i), id, &future, IT_ERR));
        expect(future, seed);
        pw_unref(future);
}

static void end_host(struct cluster *cluster, int i)
{
        pw_close(cluster->hosts[i].session);
        cluster->hosts[i].session = NULL;
        assert_int_equal(it_host_end(&cluster->hosts[i], SIGTERM), 0);
}

/* Bert holds an object of Anna's that he has not read. Anna drains and ends; the id is good all the time, for him and for Cleo. */
static void ids_are_good_before_during_and_after(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made, *held, *read;
        struct pw_id id, read_id;
        struct pw_listing *listing;

        start(cluster, 3);
        made = put(cluster, 0, 1);
        id = pw_future_id(made);
        it_ok(pw_open(of(cluster, 1), id, &held, IT_ERR));
        pw_unref(made);
        made = put(cluster, 0, 2);
        read_id = pw_future_id(made);
        it_ok(pw_open(of(cluster, 1), read_id, &read, IT_ERR));
        expect(read, 2);
        pw_unref(made);
        expect_by_id(cluster, 2, read_id, 2);

        assert_int_equal(it_command(&cluster->hosts[0], NULL, NULL, "drain", "anna", "--to", "cleo"), 0);
        listing = it_list(of(cluster, 1), "hosts", NULL);
        assert_string_equal(it_text(listing, it_find(listing, "name", "anna"), "drain"), "draining to h3");
        pw_listing_free(listing);
        listing = it_list(of(cluster, 0), "hosts", NULL);
        assert_string_equal(it_text(listing, it_find(listing, "name", "anna"), "drain"), "drained to h3");
        pw_listing_free(listing);
        expect_by_id(cluster, 2, id, 1);
        expect_by_id(cluster, 2, read_id, 2);

        end_host(cluster, 0);
        cluster_until_link(cluster, 1, 0, "away");
        cluster_until_link(cluster, 2, 0, "away");
        expect_by_id(cluster, 2, id, 1);
        expect_by_id(cluster, 2, read_id, 2);
        expect(held, 1); /* it was not here before: it comes from who took over */
        expect(read, 2);
        pw_unref(held);
        pw_unref(read);
}

static void expect_by_name(struct cluster *cluster, int i, const char *name, struct pw_id id, uint8_t seed)
{
        struct pw_future *future;
        char wanted[PW_ID_TEXT_BYTES], found[PW_ID_TEXT_BYTES];

        it_ok(pw_lookup(of(cluster, i), name, IT_LONG, &future, IT_ERR));
        assert_string_equal(pw_id_format(pw_future_id(future), found), pw_id_format(id, wanted));
        expect(future, seed);
        pw_unref(future);
}

static bool has_no_objects(const struct pw_listing *listing, void *context)
{
        (void)context;
        return it_rows(listing) == 0;
}

static bool anna_drained(const struct pw_listing *listing, void *context)
{
        (void)context;
        return !strcmp(it_text(listing, it_find(listing, "name", "anna"), "drain"), "draining to h2");
}

/* What only names and leases hold of Anna is Bert's to hold once she has drained, by the ids that it has: also when she has ended,
 * and when she is back. Who removes a name then removes it at Bert. */
static void names_and_leases_go_on(void **state)
{
        struct cluster *cluster = *state;
        struct pw_id named, leased, short_named;
        struct pw_future *made, *none;

        start(cluster, 3);
        made = put(cluster, 0, 1);
        named = pw_future_id(made);
        it_ok(pw_name(made, "weights", IT_ERR));
        pw_unref(made);
        made = put(cluster, 0, 2);
        leased = pw_future_id(made);
        it_ok(pw_lease(made, 10 * 60 * IT_SECOND, IT_ERR));
        pw_unref(made);
        made = put(cluster, 0, 3);
        short_named = pw_future_id(made);
        it_ok(pw_name_for(made, "for-a-while", 3 * IT_SECOND, IT_ERR));
        pw_unref(made);

        it_ok(pw_drain_host(of(cluster, 0), "anna", "bert", IT_LONG, IT_ERR));
        it_fails(pw_lookup(of(cluster, 0), "weights", 0, &none, IT_ERR), PW_BUSY, "are on host h2 now");
        expect_by_name(cluster, 2, "weights", named, 1);
        expect_by_name(cluster, 2, "for-a-while", short_named, 3);
        end_host(cluster, 0);
        cluster_until_link(cluster, 1, 0, "away");
        cluster_until_link(cluster, 2, 0, "away");
        expect_by_name(cluster, 1, "weights", named, 1);
        expect_by_name(cluster, 2, "weights", named, 1);
        expect_by_id(cluster, 2, leased, 2);
        cluster_start(cluster, 0, false);
        cluster_meet(cluster);
        expect_by_name(cluster, 0, "weights", named, 1);
        expect_by_id(cluster, 0, leased, 2);

        it_ok(pw_unname(of(cluster, 2), "weights", IT_ERR));
        for (int i = 0; i < 3; i++)
                it_fails(pw_lookup(of(cluster, i), "weights", 0, &none, IT_ERR), PW_NOT_FOUND, "not bound");
        it_command_expect(&cluster->hosts[1], 0, "", IT_ARGS("free", pw_id_format(leased, (char[PW_ID_TEXT_BYTES]){ 0 })));
        it_until(of(cluster, 1), "objects", has_no_objects, NULL); /* the other one has had its time */
}

/* Who joins when she who drained has gone finds at once who took over, and after a new start too, when Redis is away. */
static void a_late_comer_finds_who_took_over(void **state)
{
        struct cluster *cluster = *state;
        struct pw_listing *listing;
        struct pw_future *made;
        struct pw_id id;

        start(cluster, 2);
        made = put(cluster, 0, 1);
        id = pw_future_id(made);
        it_ok(pw_lease(made, 10 * 60 * IT_SECOND, IT_ERR));
        pw_unref(made);
        it_ok(pw_drain_host(of(cluster, 0), "anna", NULL, IT_LONG, IT_ERR));
        end_host(cluster, 0);
        cluster_start(cluster, 2, false);
        cluster_until_link(cluster, 2, 1, "up");
        it_until(of(cluster, 2), "hosts", anna_drained, NULL);
        expect_by_id(cluster, 2, id, 1);
        end_host(cluster, 2);
        server_kill(&cluster->server);
        cluster_start(cluster, 2, false);
        cluster_until_link(cluster, 2, 1, "up");
        listing = it_list(of(cluster, 2), "hosts", NULL);
        assert_string_equal(it_text(listing, it_find(listing, "name", "anna"), "drain"), "draining to h2");
        pw_listing_free(listing);
        expect_by_id(cluster, 2, id, 1);
        it_command_expect(&cluster->hosts[1], 0, "", IT_ARGS("free", pw_id_format(id, (char[PW_ID_TEXT_BYTES]){ 0 })));
        it_until(of(cluster, 1), "objects", has_no_objects, NULL);
}

/* She who takes over drains as well: what she was given goes on. */
static void names_go_on_from_one_to_the_next(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made;
        struct pw_id named;

        start(cluster, 3);
        made = put(cluster, 0, 1);
        named = pw_future_id(made);
        it_ok(pw_name(made, "weights", IT_ERR));
        pw_unref(made);
        it_ok(pw_drain_host(of(cluster, 0), "anna", "bert", IT_LONG, IT_ERR));
        end_host(cluster, 0);
        cluster_until_link(cluster, 1, 0, "away");
        cluster_until_link(cluster, 2, 0, "away");
        it_ok(pw_drain_host(of(cluster, 1), "bert", NULL, IT_LONG, IT_ERR));
        end_host(cluster, 1);
        cluster_until_link(cluster, 2, 1, "away");
        expect_by_name(cluster, 2, "weights", named, 1);
        it_ok(pw_unname(of(cluster, 2), "weights", IT_ERR));
}

/* What is not ready is waited for; who drains takes no new work. */
static void what_is_not_ready_is_waited_for(void **state)
{
        struct cluster *cluster = *state;
        struct pw_future *made, *held, *none;
        struct pw_session *late;
        struct pw_slice *slice;
        uint8_t *large = bytes_of(1);
        void *bytes;

        start(cluster, 2);
        it_ok(pw_create(of(cluster, 0), 5000, NULL, &made, &bytes, IT_ERR));
        it_ok(pw_open(of(cluster, 1), pw_future_id(made), &held, IT_ERR));
        it_fails(pw_drain_host(of(cluster, 0), "anna", NULL, 50000, IT_ERR), PW_DEADLINE, "1 references");
        memset(bytes, 5, 5000);
        it_ok(pw_seal(made, IT_ERR));
        it_ok(pw_drain_host(of(cluster, 0), "h1", NULL, IT_LONG, IT_ERR));
        it_fails(pw_name(made, "late", IT_ERR), PW_BUSY, "host anna drains");
        late = it_connect(&cluster->hosts[0]);
        it_fails(pw_put(late, large, LARGE, NULL, &none, IT_ERR), PW_BUSY, "host anna drains");
        it_fails(pw_create(late, LARGE, NULL, &none, &bytes, IT_ERR), PW_BUSY, "host anna drains");
        it_fails(pw_slice_open(late, &(struct pw_slice_params){ .device_count = 1 }, &slice, IT_ERR), PW_BUSY, "host anna drains");
        pw_close(late);
        free(large);
        pw_unref(made);
        end_host(cluster, 0);
        cluster_until_link(cluster, 1, 0, "away");
        it_ok(pw_wait(&held, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(held);
}

/* What was compiled before does not run there any more, and says where to go. */
static void runs_go_elsewhere(void **state)
{
        struct cluster *cluster = *state;
        static const double ones[4] = { 1, 1, 1, 1 };
        const struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(4) };
        struct pw_future *input, *result = NULL;
        struct pw_program *program;
        struct pw_slice *slice;
        struct pw_view view;

        start(cluster, 2);
        it_ok(pw_slice_open(of(cluster, 0), &(struct pw_slice_params){ .device_count = 1 }, &slice, IT_ERR));
        it_ok(pw_put(of(cluster, 0), ones, sizeof ones, &params, &input, IT_ERR));
        program = pw_program_new(of(cluster, 0), "nop");
        pw_result(program, pw_call(program, slice, "pw/nop",
                                   PW_ARGS(pw_input(program, slice, PW_F64, PW_DIMS(4), PW_BROADCAST, 0)), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR)); /* it has slots for results of others by then */
        it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(result);
        it_ok(pw_drain_host(of(cluster, 0), "anna", NULL, IT_LONG, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_fails(pw_get(result, IT_LONG, &view, IT_ERR), PW_CANCELLED, "which drains: run it on h2");
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

/* Asked at any host, of any other. */
static void another_host_is_drained(void **state)
{
        struct cluster *cluster = *state;
        struct pw_listing *listing;
        struct pw_future *made;
        struct pw_id named;
        void *bytes;

        start(cluster, 3);
        it_fails(pw_drain_host(of(cluster, 1), "anna", "dora", IT_LONG, IT_ERR), PW_NOT_FOUND, "--to dora is not known");
        it_fails(pw_drain_host(of(cluster, 1), "anna", "anna", IT_LONG, IT_ERR), PW_INVALID, "from itself");
        it_ok(pw_create(of(cluster, 0), 5000, NULL, &made, &bytes, IT_ERR));
        named = pw_future_id(made);
        it_ok(pw_name(made, "weights", IT_ERR));
        it_fails(pw_drain_host(of(cluster, 1), "anna", "h3", 50000, IT_ERR), PW_DEADLINE, "leases are not taken over yet");
        memset(bytes, 5, 5000);
        it_ok(pw_seal(made, IT_ERR));
        pw_unref(made);
        assert_int_equal(it_command(&cluster->hosts[1], NULL, NULL, "drain", "anna", "--to", "cleo"), 0);
        listing = it_list(of(cluster, 0), "hosts", NULL);
        assert_string_equal(it_text(listing, it_find(listing, "name", "anna"), "drain"), "drained to h3");
        pw_listing_free(listing);
        end_host(cluster, 0);
        cluster_until_link(cluster, 1, 0, "away");
        it_ok(pw_lookup(of(cluster, 1), "weights", IT_LONG, &made, IT_ERR));
        assert_true(pw_id_equal(pw_future_id(made), named));
        it_ok(pw_wait(&made, 1, 1, IT_LONG, NULL, IT_ERR));
        pw_unref(made);
        it_ok(pw_unname(of(cluster, 1), "weights", IT_ERR));
}

/* The last host has nobody to take over. */
static void who_cannot_drain_is_told(void **state)
{
        struct cluster *cluster = *state;

        start(cluster, 2);
        it_fails(pw_drain_host(of(cluster, 0), "dora", NULL, IT_LONG, IT_ERR), PW_NOT_FOUND, "pathways hosts");
        it_fails(pw_drain_host(of(cluster, 0), "anna", "anna", IT_LONG, IT_ERR), PW_INVALID, "from itself");
        end_host(cluster, 1);
        cluster_until_link(cluster, 0, 1, "away");
        it_fails(pw_drain_host(of(cluster, 0), "anna", NULL, IT_LONG, IT_ERR), PW_NOT_FOUND, "no other host is there");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(ids_are_good_before_during_and_after),
                CLUSTER_TEST(names_and_leases_go_on),
                CLUSTER_TEST(a_late_comer_finds_who_took_over),
                CLUSTER_TEST(names_go_on_from_one_to_the_next),
                CLUSTER_TEST(what_is_not_ready_is_waited_for),
                CLUSTER_TEST(runs_go_elsewhere),
                CLUSTER_TEST(another_host_is_drained),
                CLUSTER_TEST(who_cannot_drain_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

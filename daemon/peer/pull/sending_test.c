/* What traces are told of values that are sent: once, and of what there was, also when chunks are under way that were staged of a
 * value that is no more. */
#include "daemon/peer/pull/sending.h"

#include "base/memory.h"
#include "cluster/pull/pull_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOST 3u
#define BYTES (2 * (uint64_t)PW_PULL_CHUNK_BYTES)

static struct { uint32_t count, to; uint64_t bytes, place; char tenant[8]; } told;

static void tell(struct pw_daemon *daemon, const struct pw_travelled *travelled)
{
        (void)daemon;
        told.count++;
        told.to = travelled->to;
        told.bytes = travelled->bytes;
        told.place = travelled->id.place;
        assert_true(strlen(travelled->tenant) < sizeof told.tenant);
        strcpy(told.tenant, travelled->tenant);
}

static int make(void **state)
{
        struct pw_peers *peers = calloc(1, sizeof *peers);

        if (!peers)
                return -1;
        pw_list_init(&peers->sendings);
        peers->travelled = tell;
        memset(&told, 0, sizeof told);
        *state = peers;
        return 0;
}

static int drop(void **state)
{
        pw_sending_done(*state);
        free(*state);
        return 0;
}

/* Own: offer_end(). */
static struct pw_offered *offer(void)
{
        struct pw_offered *offered = calloc(1, sizeof *offered);

        assert_non_null(offered);
        offered->bytes = BYTES;
        offered->id.place = 17;
        offered->tenant = strdup("ann");
        assert_non_null(offered->tenant);
        return offered;
}

static void offer_end(struct pw_offered *offered)
{
        free((char *)(uintptr_t)offered->tenant);
        free(offered);
}

static void expect(uint64_t bytes)
{
        assert_int_equal(told.count, 1);
        assert_int_equal(told.to, HOST);
        assert_int_equal(told.bytes, bytes);
        assert_int_equal(told.place, 17);
        assert_string_equal(told.tenant, "ann");
}

static void test_all_of_it(void **state)
{
        struct pw_peers *peers = *state;
        struct pw_offered *offered = offer();

        pw_sending_begin(peers, offered, HOST, 1);
        pw_sending_begin(peers, offered, HOST, 2);
        pw_sending_sent(peers, 1, PW_OK, 10);
        assert_int_equal(told.count, 0);
        pw_sending_sent(peers, 2, PW_OK, 20);
        expect(BYTES);
        pw_sending_let_go(peers, offered);
        offer_end(offered);
        expect(BYTES);
}

/* The place at which it was offered is another's before its last chunk has left. */
static void test_let_go_meanwhile(void **state)
{
        struct pw_peers *peers = *state;
        struct pw_offered *offered = offer();

        pw_sending_begin(peers, offered, HOST, 1);
        pw_sending_begin(peers, offered, HOST, 2);
        pw_sending_sent(peers, 1, PW_OK, 10);
        pw_sending_let_go(peers, offered);
        offer_end(offered);
        assert_int_equal(told.count, 0);
        pw_sending_sent(peers, 2, PW_OK, 20);
        expect(BYTES);
        pw_sending_ended(peers, HOST);
        expect(BYTES);
}

static void test_the_term_ends(void **state)
{
        struct pw_peers *peers = *state;
        struct pw_offered *offered = offer();

        pw_sending_begin(peers, offered, HOST, 1);
        pw_sending_begin(peers, offered, HOST, 2);
        pw_sending_sent(peers, 1, PW_OK, 10);
        pw_sending_ended(peers, HOST);
        pw_sending_let_go(peers, offered);
        offer_end(offered);
        pw_sending_sent(peers, 2, PW_HOST_LOST, 20);
        expect(PW_PULL_CHUNK_BYTES);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_all_of_it, make, drop),
                cmocka_unit_test_setup_teardown(test_let_go_meanwhile, make, drop),
                cmocka_unit_test_setup_teardown(test_the_term_ends, make, drop),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Who knows the secret is believed; who repeats, reflects or carries on what others said is not. */
#include "base/memory.h"
#include "daemon/transport/proof/challenge.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint8_t here[PW_CHALLENGE_ABOUT] = "from a port to a port", there[PW_CHALLENGE_ABOUT] = "from another port";
static struct pw_secret secret = { (uint8_t *)"what both know", 14 };

static void begin(struct pw_challenge *challenge, bool caller, const uint8_t *about)
{
        assert_int_equal(pw_challenge_begin(challenge, &secret, caller, about, NULL), PW_OK);
}

/* One says its step to the other. */
static enum pw_status pass(struct pw_challenge *from, struct pw_challenge *to)
{
        assert_true(pw_challenge_says(from) && !pw_challenge_says(to));
        assert_int_equal(from->need, to->need);
        memcpy(to->bytes, from->bytes, from->need);
        assert_int_equal(pw_challenge_moved(from, from->need, NULL), PW_OK);
        return pw_challenge_moved(to, to->need, NULL);
}

static void test_both_know(void **state)
{
        struct pw_challenge caller, other;

        (void)state;
        begin(&caller, true, here);
        begin(&other, false, here);
        assert_int_equal(pass(&caller, &other), PW_OK);
        assert_int_equal(pass(&other, &caller), PW_OK);
        assert_int_equal(pass(&caller, &other), PW_OK);
        assert_int_equal(caller.step, PW_CHALLENGE_STEPS);
        assert_int_equal(other.step, PW_CHALLENGE_STEPS);
}

/* Each bit of each hash counts. */
static void test_other_hash(void **state)
{
        struct pw_challenge caller, other;

        (void)state;
        for (uint32_t bit = 0; bit < 8 * PW_CHALLENGE_HASH; bit++) {
                begin(&caller, true, here);
                begin(&other, false, here);
                assert_int_equal(pass(&caller, &other), PW_OK);
                other.bytes[PW_CHALLENGE_MAGIC + PW_CHALLENGE_NUMBER + bit / 8] ^= (uint8_t)(1u << bit % 8);
                assert_int_equal(pass(&other, &caller), PW_DENIED);
                begin(&caller, true, here);
                begin(&other, false, here);
                assert_int_equal(pass(&caller, &other), PW_OK);
                assert_int_equal(pass(&other, &caller), PW_OK);
                caller.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
                assert_int_equal(pass(&caller, &other), PW_DENIED);
        }
}

/* A relay between two connections: each side sees its own ports. */
static void test_relay(void **state)
{
        struct pw_challenge caller, other;

        (void)state;
        begin(&caller, true, here);
        begin(&other, false, there);
        assert_int_equal(pass(&caller, &other), PW_OK);
        assert_int_equal(pass(&other, &caller), PW_DENIED);
}

/* What a caller said once, said again to the same host. */
static void test_replay(void **state)
{
        struct pw_challenge caller, other, again;
        uint8_t first[PW_CHALLENGE_MAX], last[PW_CHALLENGE_HASH];

        (void)state;
        begin(&caller, true, here);
        begin(&other, false, here);
        memcpy(first, caller.bytes, caller.need);
        assert_int_equal(pass(&caller, &other), PW_OK);
        assert_int_equal(pass(&other, &caller), PW_OK);
        memcpy(last, caller.bytes, sizeof last);
        begin(&again, false, here);
        memcpy(again.bytes, first, again.need);
        assert_int_equal(pw_challenge_moved(&again, again.need, NULL), PW_OK);
        assert_int_equal(pw_challenge_moved(&again, again.need, NULL), PW_OK);
        memcpy(again.bytes, last, sizeof last);
        assert_int_equal(pw_challenge_moved(&again, again.need, NULL), PW_DENIED);
}

/* A host's own words, said back to it: what it proved as one side proves nothing as the other. */
static void test_reflection(void **state)
{
        struct pw_challenge first, second;

        (void)state;
        begin(&first, false, here);
        begin(&second, false, here);
        memcpy(first.bytes, second.bytes, first.need);
        memcpy(first.bytes, "pwC\1", PW_CHALLENGE_MAGIC);
        assert_int_equal(pw_challenge_moved(&first, first.need, NULL), PW_OK);
        second = first; /* its answer stands in `first.bytes` */
        assert_int_equal(pw_challenge_moved(&first, first.need, NULL), PW_OK);
        memcpy(first.bytes, second.bytes + PW_CHALLENGE_MAGIC + PW_CHALLENGE_NUMBER, PW_CHALLENGE_HASH);
        assert_int_equal(pw_challenge_moved(&first, first.need, NULL), PW_DENIED);
}

static void test_no_challenge(void **state)
{
        struct pw_challenge other;

        (void)state;
        begin(&other, false, here);
        memset(other.bytes, 0xff, other.need);
        assert_int_equal(pw_challenge_moved(&other, other.need, NULL), PW_PROTOCOL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_both_know), cmocka_unit_test(test_other_hash), cmocka_unit_test(test_relay),
                cmocka_unit_test(test_replay),    cmocka_unit_test(test_reflection), cmocka_unit_test(test_no_challenge),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

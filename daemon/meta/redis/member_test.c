/* When a host calls, beats and gives its server up; what answers mean; addresses. Without a server. */
#include "daemon/meta/redis/member.h"

#include "base/memory.h"
#include "daemon/meta/redis/address.h"
#include "daemon/meta/redis/answer.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LEASE 3000000u
#define NONE UINT64_MAX

static void assert_due(const struct pw_redis_member *member, uint64_t asked_us, uint64_t now_us, enum pw_redis_due due)
{
        assert_int_equal(pw_redis_member_due(member, asked_us, now_us), due);
        assert_true((pw_redis_member_next_us(member, asked_us) <= now_us) == (due != PW_REDIS_DUE_NOTHING));
}

static void test_states(void **state)
{
        struct pw_redis_member member;

        (void)state;
        pw_redis_member_init(&member, LEASE, NULL);
        assert_due(&member, NONE, 0, PW_REDIS_DUE_CALL);
        assert_false(pw_redis_member_step(&member, PW_REDIS_ENTER, 0));
        assert_true(pw_redis_member_step(&member, PW_REDIS_CALL, 10));
        assert_due(&member, NONE, LEASE + 9, PW_REDIS_DUE_NOTHING);
        assert_due(&member, NONE, LEASE + 10, PW_REDIS_DUE_CUT); /* nobody took the connection */
        assert_true(pw_redis_member_step(&member, PW_REDIS_GREET, 20));
        assert_true(pw_redis_member_step(&member, PW_REDIS_ENTER, 30));
        member.settled_us = 1000;
        member.owed = 1;
        assert_due(&member, NONE, 1000, PW_REDIS_DUE_NOTHING);
        member.owed = 0;
        assert_due(&member, NONE, 999, PW_REDIS_DUE_NOTHING);
        assert_due(&member, NONE, 1000, PW_REDIS_DUE_SETTLE);
        assert_true(pw_redis_member_step(&member, PW_REDIS_SETTLE, 1000));
        assert_due(&member, NONE, LEASE * 3 / 5 + 29, PW_REDIS_DUE_NOTHING);
        assert_due(&member, NONE, LEASE * 3 / 5 + 30, PW_REDIS_DUE_BEAT);
        pw_redis_member_beat(&member, 2000000);
        assert_due(&member, 2000000, 2000000, PW_REDIS_DUE_NOTHING);
        assert_due(&member, 2000000, 2000000 + LEASE, PW_REDIS_DUE_CUT);
        pw_redis_member_hurry(&member, 2010000);
        assert_due(&member, NONE, 2049999, PW_REDIS_DUE_NOTHING);
        assert_due(&member, NONE, 2050000, PW_REDIS_DUE_BEAT);
        pw_redis_member_beat(&member, 2050000);
        pw_redis_member_hurry(&member, 2500000);
        assert_due(&member, NONE, 2500000, PW_REDIS_DUE_BEAT);
        pw_redis_member_hurry(&member, 2600000); /* it was due before, and stays so */
        assert_due(&member, NONE, 2500000, PW_REDIS_DUE_BEAT);
        assert_true(pw_redis_member_step(&member, PW_REDIS_REFUSE, 3000000));
        assert_due(&member, 0, NONE - 1, PW_REDIS_DUE_NOTHING);
}

/* The first call anew is made at once, later ones less and less often; a server that takes nothing is left alone for half a
 * lease. */
static void test_pauses(void **state)
{
        struct pw_redis_member member;
        uint64_t last_us = 0;

        (void)state;
        pw_redis_member_init(&member, LEASE, NULL);
        for (uint32_t i = 0; i < 20; i++) {
                assert_true(pw_redis_member_step(&member, PW_REDIS_CALL, 0));
                pw_redis_member_broke(&member, false, 0);
                assert_true(member.call_us >= last_us && member.call_us <= LEASE / 2);
                assert_true(i || !member.call_us);
                last_us = member.call_us;
        }
        assert_int_equal(last_us, LEASE / 2);
        pw_redis_member_init(&member, LEASE, NULL);
        assert_true(pw_redis_member_step(&member, PW_REDIS_CALL, 0));
        pw_redis_member_broke(&member, true, 0);
        assert_int_equal(member.call_us, LEASE / 2);
}

static enum pw_redis_word word_of(const char *word)
{
        return pw_redis_word(&(struct pw_redis_said){ .count = 1, .words = &word });
}

static enum pw_redis_word word_of_error(const char *error)
{
        return pw_redis_word(&(struct pw_redis_said){ .error = error });
}

/* Empty, old, replaced, of another incarnation, and all that a server may say instead. */
static void test_answers(void **state)
{
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_redis_act(word_of("OK"), true), PW_REDIS_GO_ON);
        assert_int_equal(pw_redis_act(word_of("EMPTY"), true), PW_REDIS_JOIN_ANEW);
        assert_int_equal(pw_redis_act(word_of("EMPTY"), false), PW_REDIS_HOLD);
        assert_int_equal(pw_redis_act(word_of("RUN"), true), PW_REDIS_CALL_ANEW);
        assert_int_equal(pw_redis_act(word_of("FENCED"), true), PW_REDIS_JOIN_ANEW);
        assert_int_equal(pw_redis_act(word_of("OTHER"), true), PW_REDIS_HOLD);
        assert_int_equal(pw_redis_act(word_of("EPOCH"), true), PW_REDIS_GIVE_UP);
        assert_int_equal(word_of("NOSCRIPT"), PW_REDIS_STRANGE);
        assert_int_equal(word_of_error("NOSCRIPT No matching script."), PW_REDIS_NO_SCRIPT);
        assert_int_equal(word_of_error("OK"), PW_REDIS_STRANGE);
        assert_int_equal(word_of_error("OOM command not allowed"), PW_REDIS_OUT_OF_MEMORY);
        assert_int_equal(word_of_error("MOVED 1 127.0.0.1:1"), PW_REDIS_CLUSTERED);
        assert_int_equal(word_of_error("LOADING Redis is loading"), PW_REDIS_NOT_NOW);
        assert_int_equal(pw_redis_word(&(struct pw_redis_said){ .cut = true }), PW_REDIS_CUT);
        assert_int_equal(pw_redis_word(&(struct pw_redis_said){ .count = 0 }), PW_REDIS_STRANGE);
        for (uint32_t i = PW_REDIS_EMPTY; i < PW_REDIS_WORDS; i++)
                assert_true(pw_redis_explain(i, i % 2, NULL, "here", &err) != PW_OK && strlen(err.text) > 20);
        pw_redis_explain(PW_REDIS_STRANGE, true, &(struct pw_redis_said){ .error = "ERR \033[2J" }, "here", &err);
        assert_null(strchr(err.text, '\033'));
}

static void test_server(void **state)
{
        struct pw_redis_server server;

        (void)state;
        pw_redis_server_read("# Server\r\nrun_id:0123456789abcdef0123\r\nmaxmemory:5\r\nmaxmemory_policy:allkeys-lru\r\n"
                             "role:slave\r\nmaster_replid:fedcba9876543210ffff\r\n", &server);
        assert_string_equal(server.run, "0123456789abcdef-fedcba9876543210");
        assert_true(server.read_only && server.evicts);
        pw_redis_server_read("run_id:short\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", &server);
        assert_string_equal(server.run, "");
        assert_false(server.read_only || server.evicts);
}

static void test_addresses(void **state)
{
        static const char *const bad[] = { "", "redis://", "redis://host:1", "redis://127.0.0.1:0", "redis://127.0.0.1:65536",
                                           "redis://[::1", "redis://[::1]x", "redis://127.0.0.1:1x", "redis+unix:path",
                                           "redis+unix:", "http://1.2.3.4" };
        struct pw_redis_address address;
        struct pw_error err;

        (void)state;
        for (uint32_t i = 0; i < pw_array_count(bad); i++)
                assert_int_equal(pw_redis_address_parse(bad[i], &address, &err), PW_INVALID);
        assert_int_equal(pw_redis_address_parse("redis://127.0.0.1:7000", &address, &err), PW_OK);
        assert_true(address.port == 7000 && address.is_loopback && !address.is_path);
        assert_int_equal(pw_redis_address_parse("redis://[::1]", &address, &err), PW_OK);
        assert_true(address.port == 6379 && address.is_loopback);
        assert_int_equal(pw_redis_address_parse("redis://10.0.0.1:1", &address, &err), PW_OK);
        assert_false(address.is_loopback);
        assert_int_equal(pw_redis_address_parse("redis+unix:/run/r.sock", &address, &err), PW_OK);
        assert_true(address.is_path && address.is_loopback && !strcmp(address.host, "/run/r.sock"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_states), cmocka_unit_test(test_pauses), cmocka_unit_test(test_answers),
                cmocka_unit_test(test_server), cmocka_unit_test(test_addresses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

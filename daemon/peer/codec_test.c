/* What daemons say: what is written is what is read, and nothing else is. */
#include "daemon/peer/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct pw_hello hello = { .version = 1, .incarnation = UINT64_MAX, .cluster = "c", .name = "node-1.site_a",
                                       .address = "10.0.0.1:7400", .host = 4095, .met = true,
                                       .peer = { 7, UINT64_C(1) << 63, { 3, UINT64_MAX, 5 } } };

static void test_hello(void **state)
{
        struct pw_peer_said said;
        uint8_t *bytes;
        uint32_t count;

        (void)state;
        assert_int_equal(pw_peer_pack_hello(&hello, &bytes, &count), PW_OK);
        assert_int_equal(pw_peer_unpack(bytes, count, &said, NULL), PW_OK);
        assert_true(said.is_hello && said.hello.met);
        assert_string_equal(said.hello.cluster, "c");
        assert_string_equal(said.hello.name, "node-1.site_a");
        assert_string_equal(said.hello.address, "10.0.0.1:7400");
        assert_int_equal(said.hello.version, 1);
        assert_int_equal(said.hello.host, 4095);
        assert_true(said.hello.incarnation == UINT64_MAX);
        assert_memory_equal(&said.hello.peer.stand, &hello.peer.stand, 20);
        assert_int_equal(said.hello.peer.epoch, 7);
        assert_true(said.hello.peer.instance == UINT64_C(1) << 63);
        pw_peer_said_done(&said);
        for (uint32_t cut = 0; cut < count; cut++) /* a name is missing, or half of something */
                assert_int_equal(pw_peer_unpack(bytes, cut, &said, NULL), PW_PROTOCOL);
        free(bytes);
}

static void test_names(void **state)
{
        static const char *const wrong[] = { "", "a b", "a\n", "caf\xc3\xa9", "/x",
                                             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
        struct pw_peer_said said;
        uint8_t *bytes;
        uint32_t count;

        (void)state;
        for (uint32_t i = 0; i < 2 * sizeof wrong / sizeof *wrong; i++) {
                struct pw_hello bad = hello;
                struct pw_error err;

                *(i % 2 ? &bad.name : &bad.cluster) = wrong[i / 2];
                assert_int_equal(pw_peer_pack_hello(&bad, &bytes, &count), PW_OK);
                assert_int_equal(pw_peer_unpack(bytes, count, &said, &err), PW_PROTOCOL);
                assert_string_equal(err.text, "a host's hello has a name that is none: up to 64 letters, digits and \"-._\"");
                free(bytes);
        }
}

static void test_addresses(void **state)
{
        char long_one[PW_HOST_ADDRESS_MAX + 2];
        const char *const wrong[] = { "a b", "a\n", "\t", long_one };
        struct pw_peer_said said;
        struct pw_error err;
        uint8_t *bytes;
        uint32_t count;

        (void)state;
        memset(long_one, 'a', sizeof long_one);
        long_one[PW_HOST_ADDRESS_MAX + 1] = 0;
        for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct pw_hello bad = hello;

                bad.address = wrong[i];
                assert_int_equal(pw_peer_pack_hello(&bad, &bytes, &count), PW_OK);
                assert_int_equal(pw_peer_unpack(bytes, count, &said, &err), PW_PROTOCOL);
                assert_non_null(strstr(err.text, "an address that is none"));
                free(bytes);
        }
}

static enum pw_status frame(const struct pw_link_head *head, uint8_t whose, const char *body, struct pw_error *ret_err)
{
        struct pw_link_frame *link_frame = body ? pw_link_frame_new(body, (uint32_t)strlen(body), head->work) : NULL;
        struct pw_peer_said said;
        enum pw_status status;
        uint8_t *bytes;
        uint32_t count;

        if (link_frame)
                link_frame->whose = whose;
        assert_int_equal(pw_peer_pack_frame(head, link_frame, &bytes, &count), PW_OK);
        status = pw_peer_unpack(bytes, count, &said, ret_err);
        if (status == PW_OK) {
                assert_false(said.is_hello);
                assert_int_equal(said.head.number, head->number);
                assert_int_equal(said.head.received, head->received);
                assert_int_equal(said.head.granted, head->granted);
                assert_int_equal(said.head.work, head->work);
                assert_int_equal(said.head.held_us, head->held_us);
                assert_memory_equal(&said.head.stamps, &head->stamps, sizeof head->stamps);
                assert_int_equal(said.whose, body ? whose : 0);
                assert_int_equal(said.body_bytes, body ? strlen(body) : 0);
                assert_true(!body || !memcmp(said.body, body, said.body_bytes));
                pw_peer_said_done(&said);
        }
        free(bytes);
        pw_link_frame_free(link_frame);
        return status;
}

static void test_frames(void **state)
{
        struct pw_error err;

        (void)state;
        assert_int_equal(frame(&(struct pw_link_head){ 1, 2, 3, true, { 4, 5, 6 }, 7 }, 1, "1body", NULL), PW_OK);
        assert_int_equal(frame(&(struct pw_link_head){ .number = 0, .work = false }, 1, NULL, NULL), PW_OK);
        assert_int_equal(frame(&(struct pw_link_head){ .number = 0, .work = false }, 1, "1body", &err), PW_PROTOCOL);
        assert_string_equal(err.text, "a host's frame 0 has 5 bytes");
        assert_int_equal(frame(&(struct pw_link_head){ .number = 9, .work = false }, 1, NULL, &err), PW_PROTOCOL);
        assert_string_equal(err.text, "a host's frame 9 has 0 bytes");
        assert_int_equal(frame(&(struct pw_link_head){ .number = 0, .work = true }, 1, NULL, &err), PW_PROTOCOL);
        assert_int_equal(frame(&(struct pw_link_head){ .number = 4 }, PW_PEER_BODY_LAST + 1, "body", &err), PW_PROTOCOL);
        assert_int_equal(frame(&(struct pw_link_head){ .number = 4, .work = false }, 0, "body", &err), PW_PROTOCOL);
        assert_string_equal(err.text, "a host's frame 4 is for 0: there is nobody of that number");
}

static void test_garbage(void **state)
{
        struct pw_peer_said said;
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_peer_unpack((const uint8_t *)"\xff\xff\xff\xff", 4, &said, &err), PW_PROTOCOL);
        assert_string_equal(err.text, "4 bytes that no pathwaysd says");
        assert_int_equal(pw_peer_unpack((const uint8_t *)"", 0, &said, &err), PW_PROTOCOL);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_hello), cmocka_unit_test(test_names),
                                            cmocka_unit_test(test_addresses), cmocka_unit_test(test_frames),
                                            cmocka_unit_test(test_garbage) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What daemons say of names: what is written is what is read, and nothing else is. */
#include "daemon/peer/name/name_codec.h"

#include "cluster/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct pw_peer_name bind = { .kind = PW_PEER_NAME_BIND, .number = UINT64_MAX, .tenant = "ann", .name = "weights/0",
                                          .id = { UINT64_C(3) << 48 | 7, 9, 11 }, .ttl_us = INT64_MAX };
static const struct pw_peer_name removal = { .kind = PW_PEER_NAME_REMOVE, .number = 1, .tenant = "a", .name = "!" };
static const struct pw_peer_name lease = { .kind = PW_PEER_NAME_TAKE, .number = 4, .tenant = "a", .name = "", .id = { 7, 8, 9 },
                                           .ttl_us = 5 };
static const struct pw_peer_name done = { .kind = PW_PEER_NAME_ANSWER, .number = 2, .status = PW_OK, .text = "" };
static const struct pw_peer_name taken = { .kind = PW_PEER_NAME_ANSWER, .number = 3, .status = PW_EXISTS, .text = "taken" };

static enum pw_status pass(const struct pw_peer_name *message, struct pw_peer_name *ret_message, struct pw_error *ret_err)
{
        struct pw_link_frame *frame = pw_peer_name_frame(message);
        enum pw_status status;

        assert_non_null(frame);
        assert_int_equal(frame->work, message->kind == PW_PEER_NAME_BIND || message->kind == PW_PEER_NAME_REMOVE ||
                                      message->kind == PW_PEER_NAME_TAKE);
        status = pw_peer_name_unpack(frame->data, frame->bytes, ret_message, ret_err);
        pw_link_frame_free(frame);
        return status;
}

static void test_questions(void **state)
{
        struct pw_peer_name read;

        (void)state;
        assert_int_equal(pass(&bind, &read, NULL), PW_OK);
        assert_int_equal(read.kind, PW_PEER_NAME_BIND);
        assert_true(read.number == UINT64_MAX && read.ttl_us == INT64_MAX);
        assert_string_equal(read.tenant, "ann");
        assert_string_equal(read.name, "weights/0");
        assert_true(pw_id_equal(read.id, bind.id));
        pw_peer_name_done(&read);
        assert_int_equal(pass(&lease, &read, NULL), PW_OK);
        assert_int_equal(read.kind, PW_PEER_NAME_TAKE);
        assert_true(read.ttl_us == 5 && !read.name[0] && pw_id_equal(read.id, lease.id));
        pw_peer_name_done(&read);
        assert_int_equal(pass(&removal, &read, NULL), PW_OK);
        assert_int_equal(read.kind, PW_PEER_NAME_REMOVE);
        assert_string_equal(read.name, "!");
        pw_peer_name_done(&read);
}

static void test_answers(void **state)
{
        struct pw_peer_name read;

        (void)state;
        assert_int_equal(pass(&done, &read, NULL), PW_OK);
        assert_int_equal(read.kind, PW_PEER_NAME_ANSWER);
        assert_int_equal(read.number, 2);
        assert_int_equal(read.status, PW_OK);
        assert_string_equal(read.text, "");
        pw_peer_name_done(&read);
        assert_int_equal(pass(&taken, &read, NULL), PW_OK);
        assert_int_equal(read.status, PW_EXISTS);
        assert_string_equal(read.text, "taken");
        pw_peer_name_done(&read);
}

static void test_waits(void **state)
{
        struct pw_peer_name waits = { .kind = PW_PEER_NAME_WAITS }, bound = { .kind = PW_PEER_NAME_BOUND, .number = 9 }, read;

        (void)state;
        assert_int_equal(pass(&waits, &read, NULL), PW_OK);
        assert_true(read.kind == PW_PEER_NAME_WAITS && !read.number);
        pw_peer_name_done(&read);
        assert_int_equal(pass(&bound, &read, NULL), PW_OK);
        assert_true(read.kind == PW_PEER_NAME_BOUND && read.number == 9);
        pw_peer_name_done(&read);
}

static void refused(struct pw_peer_name message, const char *says)
{
        struct pw_peer_name read = { .own = NULL };
        struct pw_error err = { PW_OK, "" };

        assert_int_equal(pass(&message, &read, &err), PW_PROTOCOL);
        assert_int_equal(err.status, PW_PROTOCOL);
        assert_non_null(strstr(err.text, says));
        assert_null(read.own);
}

static void test_wrong(void **state)
{
        struct pw_peer_name message, read;
        char longer[300];

        (void)state;
        memset(longer, 'x', sizeof longer - 1);
        longer[sizeof longer - 1] = 0;
        message = bind, message.number = 0;
        refused(message, "number 0: that is nothing");
        message = taken, message.number = 0;
        refused(message, "number 0: that is nothing");
        message = bind, message.kind = (enum pw_peer_name_kind)7;
        refused(message, "says 7 of names");
        message = bind, message.tenant = "";
        refused(message, "a name of no tenant");
        message = bind, message.tenant = longer;
        refused(message, "a name of no tenant");
        message = bind, message.ttl_us = -1;
        refused(message, "less than no time");
        message = bind, message.kind = PW_PEER_NAME_TAKE, message.name = "", message.ttl_us = 0;
        refused(message, "a lease for ever");
        message = bind, message.kind = PW_PEER_NAME_TAKE, message.number = 0;
        refused(message, "number 0: that is nothing");
        message = bind, message.name = "";
        refused(message, "name: 0 bytes");
        message = removal, message.name = longer;
        refused(message, "name: 299 bytes");
        message = removal, message.name = "a b";
        refused(message, "name: byte 1, 0x20");
        message = taken, message.status = (enum pw_status)9999;
        refused(message, "status 9999");
        assert_int_equal(pw_peer_name_unpack((const uint8_t *)"\xff\xff\xff", 3, &read, NULL), PW_PROTOCOL);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_questions), cmocka_unit_test(test_answers),
                                            cmocka_unit_test(test_waits), cmocka_unit_test(test_wrong) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

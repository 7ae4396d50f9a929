/* What daemons say of listings: what is written is what is read, and nothing else is. */
#include "daemon/peer/page/page_codec.h"

#include "cluster/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct pw_peer_page question = { .number = UINT64_MAX, .tenant = "ann", .all = true, .what = "objects",
                                              .filter = "h1.2/3.4.5", .limit = 7, .after = UINT64_MAX };
static const struct pw_peer_page trace = { .number = 1, .tenant = "ann", .what = "", .filter = "", .trace = true, .after = 12,
                                           .limit = PW_PEER_TRACE_END };
static const struct pw_peer_page rows = { .answers = true, .number = 2, .status = PW_OK, .text = "",
                                          .rows = (const uint8_t *)"\x08\x01", .rows_bytes = 2 };
static const struct pw_peer_page refusal = { .answers = true, .number = 3, .status = PW_NOT_FOUND, .text = "there is no such" };

static enum pw_status pass(const struct pw_peer_page *message, struct pw_peer_page *ret_message, struct pw_error *ret_err)
{
        struct pw_link_frame *frame = pw_peer_page_frame(message);
        enum pw_status status;

        assert_non_null(frame);
        assert_int_equal(frame->work, !message->answers);
        status = pw_peer_page_unpack(frame->data, frame->bytes, ret_message, ret_err);
        pw_link_frame_free(frame);
        return status;
}

static void test_questions(void **state)
{
        struct pw_peer_page read;

        (void)state;
        assert_int_equal(pass(&question, &read, NULL), PW_OK);
        assert_true(!read.answers && read.number == UINT64_MAX && read.all && read.limit == 7 && read.after == UINT64_MAX);
        assert_string_equal(read.tenant, "ann");
        assert_string_equal(read.what, "objects");
        assert_string_equal(read.filter, "h1.2/3.4.5");
        assert_false(read.trace);
        pw_peer_page_done(&read);
        assert_int_equal(pass(&trace, &read, NULL), PW_OK);
        assert_true(read.trace && read.limit == PW_PEER_TRACE_END && read.after == 12);
        pw_peer_page_done(&read);
}

static void test_answers(void **state)
{
        struct pw_peer_page read;

        (void)state;
        assert_int_equal(pass(&rows, &read, NULL), PW_OK);
        assert_true(read.answers && read.number == 2 && read.status == PW_OK && read.rows_bytes == 2);
        assert_memory_equal(read.rows, rows.rows, 2);
        pw_peer_page_done(&read);
        assert_int_equal(pass(&refusal, &read, NULL), PW_OK);
        assert_int_equal(read.status, PW_NOT_FOUND);
        assert_string_equal(read.text, "there is no such");
        pw_peer_page_done(&read);
}

static void refuse(const struct pw_peer_page *message, const char *word)
{
        struct pw_peer_page read;
        struct pw_error err;

        assert_int_equal(pass(message, &read, &err), PW_PROTOCOL);
        assert_non_null(strstr(err.text, word));
}

static void test_what_cannot_be(void **state)
{
        struct pw_peer_page bad = question, read;
        struct pw_error err;
        char tenant[300];

        (void)state;
        bad.number = 0;
        refuse(&bad, "listing");
        bad = question;
        bad.tenant = "";
        refuse(&bad, "no tenant");
        memset(tenant, 'a', sizeof tenant - 1);
        tenant[sizeof tenant - 1] = 0;
        bad.tenant = tenant;
        refuse(&bad, "no tenant");
        bad = trace;
        bad.limit = PW_PEER_TRACE_END + 1;
        refuse(&bad, "of a trace");
        bad = rows;
        bad.status = (enum pw_status)999;
        refuse(&bad, "999");
        assert_int_equal(pw_peer_page_unpack((const uint8_t *)"\xff\xff", 2, &read, &err), PW_PROTOCOL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_questions),
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_what_cannot_be),
        };

        return cmocka_run_group_tests_name("page_codec", tests, NULL, NULL);
}

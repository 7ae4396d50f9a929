/* Messages between hosts as bytes: each kind comes back as it was, byte for byte; what nobody would have encoded is refused. */
#include "cluster/link/link.h"
#include "cluster/borrow/talk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t ids[2 * PW_TALK_ID_BYTES] = { 1, 2, 3, [20] = 9 };
static const struct pw_talk_message messages[] = {
        { .kind = PW_TALK_OPEN, .number = 1, .id = { 0x1000003000007, 0x65, 9 }, .tenant = { "ann", 3 } },
        { .kind = PW_TALK_OPENED, .number = 2, .known = { .state = PW_TALK_NONE, .status = PW_GONE, .text = { "gone", 4 } } },
        { .kind = PW_TALK_OPENED, .number = 2, .known = { .state = PW_TALK_PENDING } },
        { .kind = PW_TALK_OPENED, .number = 2,
          .known = { .state = PW_TALK_ELSEWHERE, .dtype = PW_F32, .dims = { 2, { 3, 1 << 20 } }, .bytes = 12 << 20 } },
        { .kind = PW_TALK_OPENED, .number = 2, .known = { .state = PW_TALK_WHOLE, .bytes = 5, .value = { "value", 5 } } },
        { .kind = PW_TALK_OPENED, .number = 2, .known = { .state = PW_TALK_ENDED, .status = PW_DEVICE_LOST } },
        { .kind = PW_TALK_TOLD, .number = UINT64_MAX,
          .known = { .state = PW_TALK_FAILED, .status = PW_FAILED, .text = { "no", 2 } } },
        { .kind = PW_TALK_TOLD, .number = 3, .known = { .state = PW_TALK_WHOLE } },
        { .kind = PW_TALK_RELEASE, .number = 3 },
        { .kind = PW_TALK_SEARCH, .number = 4, .ids = { ids, sizeof ids } },
        { .kind = PW_TALK_FOUND, .number = 4, .ids = { ids, PW_TALK_ID_BYTES } },
        { .kind = PW_TALK_FOUND, .number = 4 },
        { .kind = PW_TALK_DRAINS, .host = 0x10203 },
        { .kind = PW_TALK_TAKES, .host = 1 },
};

static void same_bytes(struct pw_talk_bytes a, struct pw_talk_bytes b)
{
        assert_int_equal(a.count, b.count);
        if (a.count)
                assert_memory_equal(a.at, b.at, a.count);
}

static void test_there_and_back(void **state)
{
        (void)state;
        for (uint32_t i = 0; i < sizeof messages / sizeof *messages; i++) {
                struct pw_link_frame *frame = pw_talk_encode(&messages[i]);
                struct pw_talk_message back;

                assert_non_null(frame);
                assert_int_equal(frame->work, pw_talk_is_work(messages[i].kind));
                assert_int_equal(pw_talk_decode(frame->data, frame->bytes, &back, NULL), PW_OK);
                assert_int_equal(back.kind, messages[i].kind);
                assert_int_equal(back.number, messages[i].number);
                assert_int_equal(back.host, messages[i].host);
                assert_true(pw_id_equal(back.id, messages[i].id));
                assert_int_equal(back.known.state, messages[i].known.state);
                assert_int_equal(back.known.status, messages[i].known.status);
                assert_int_equal(back.known.dtype, messages[i].known.dtype);
                assert_int_equal(back.known.bytes, messages[i].known.bytes);
                assert_memory_equal(&back.known.dims, &messages[i].known.dims, sizeof back.known.dims);
                same_bytes(back.tenant, messages[i].tenant);
                same_bytes(back.ids, messages[i].ids);
                same_bytes(back.known.value, messages[i].known.value);
                same_bytes(back.known.text, messages[i].known.text);
                pw_link_frame_free(frame);
        }
}

/* Each byte of each message, changed or left out: refused, or another message that would have been encoded so. */
static void test_changed(void **state)
{
        (void)state;
        for (uint32_t i = 0; i < sizeof messages / sizeof *messages; i++) {
                struct pw_link_frame *frame = pw_talk_encode(&messages[i]), *again;
                struct pw_talk_message back;

                assert_non_null(frame);
                for (uint32_t length = 0; length < frame->bytes; length++)
                        assert_int_equal(pw_talk_decode(frame->data, length, &back, NULL), PW_PROTOCOL);
                for (uint32_t at = 0; at < frame->bytes * 8; at++) {
                        frame->data[at / 8] ^= (uint8_t)(1u << at % 8);
                        if (pw_talk_decode(frame->data, frame->bytes, &back, NULL) == PW_OK) {
                                again = pw_talk_encode(&back);
                                assert_non_null(again);
                                assert_int_equal(again->bytes, frame->bytes);
                                assert_memory_equal(again->data, frame->data, frame->bytes);
                                pw_link_frame_free(again);
                        }
                        frame->data[at / 8] ^= (uint8_t)(1u << at % 8);
                }
                pw_link_frame_free(frame);
        }
}

static enum pw_status changed(const struct pw_talk_message *message, uint32_t at, uint8_t value, struct pw_error *ret_err)
{
        struct pw_link_frame *frame = pw_talk_encode(message);
        struct pw_talk_message back;
        enum pw_status status;

        assert_non_null(frame);
        frame->data[at] = value;
        status = pw_talk_decode(frame->data, frame->bytes, &back, ret_err);
        pw_link_frame_free(frame);
        return status;
}

static void test_wrong(void **state)
{
        static const struct { uint32_t message, at; uint8_t value; const char *says; } wrong[] = {
                { 0, 0, 2, "a message between hosts of version 2, this is 1" },
                { 0, 2, 9, "a message between hosts of kind 9, state 0, form 0 and dtype 0" },
                { 3, 7, 99, "a message between hosts of kind 2, state 2, form 0 and dtype 99" },
                { 3, 40, 9, "a message between hosts of rank 9, 0 ids, 0 bytes of a value and 0 of text in 72" },
                { 0, 8, 0, "a message between hosts of kind 1 says what such have not, or not all that they have" },
                { 4, 32, 6, "a message between hosts of kind 2 says what such have not, or not all that they have" },
                { 8, 16, 1, "a message between hosts of kind 4 says what such have not, or not all that they have" },
                { 8, 48, 1, "a message between hosts of kind 4 says what such have not, or not all that they have" },
                { 12, 8, 1, "a message between hosts of kind 7 says what such have not, or not all that they have" },
                { 12, 52, 1, "a message between hosts of kind 7 says what such have not, or not all that they have" },
                { 6, 57, 0, "a message between hosts with a zero in its text" },
                { 0, 58, 0, "a message between hosts with a zero in its text" },
        };
        struct pw_error err;

        (void)state;
        for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                assert_int_equal(changed(&messages[wrong[i].message], wrong[i].at, wrong[i].value, &err), PW_PROTOCOL);
                assert_string_equal(err.text, wrong[i].says);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_changed),
                                            cmocka_unit_test(test_wrong) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

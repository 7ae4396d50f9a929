/* Messages of pulls: what is encoded is decoded, what nobody would have encoded is not. */
#include "cluster/pull/pull_message.h"

#include "base/memory.h"
#include "cluster/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ID { .place = 5, .epoch = 6, .generation = 7 }

static const struct pw_pull_message messages[] = {
        { .kind = PW_PULL_MSG_WANT, .number = 1, .id = ID },
        { .kind = PW_PULL_MSG_NAMED, .number = 1, .round = 2, .source = 3, .source_number = 4 },
        { .kind = PW_PULL_MSG_NAMED, .number = 1, .round = 2, .status = PW_NOT_READY },
        { .kind = PW_PULL_MSG_NAMED, .number = 1, .round = 2, .status = PW_HOST_LOST },
        { .kind = PW_PULL_MSG_REPORT, .number = 1, .round = 2, .status = PW_DEADLINE },
        { .kind = PW_PULL_MSG_WHOLE, .number = UINT64_MAX },
        { .kind = PW_PULL_MSG_HAVE, .number = 1, .id = ID },
        { .kind = PW_PULL_MSG_LEAVE, .number = 1 },
        { .kind = PW_PULL_MSG_ASK, .source_number = 4, .ask = 9, .stream = PW_PULL_STREAMS_MAX - 1, .chunk = 11, .id = ID },
        { .kind = PW_PULL_MSG_STOP, .ask = 9 },
        { .kind = PW_PULL_MSG_WAIT, .ask = 9 },
        { .kind = PW_PULL_MSG_REFUSE, .ask = 9, .status = PW_GONE },
};

static void encode(const struct pw_pull_message *message, uint8_t *ret_bytes)
{
        struct pw_link_frame *frame = pw_pull_encode(message);

        assert_non_null(frame);
        assert_int_equal(frame->bytes, PW_PULL_MESSAGE_BYTES);
        assert_int_equal(frame->work, message->kind == PW_PULL_MSG_WANT);
        memcpy(ret_bytes, frame->data, frame->bytes);
        pw_link_frame_free(frame);
}

static enum pw_status decode(const uint8_t *bytes)
{
        struct pw_pull_message message;

        return pw_pull_decode(bytes, PW_PULL_MESSAGE_BYTES, &message, NULL);
}

static void test_there_and_back(void **state)
{
        uint8_t bytes[PW_PULL_MESSAGE_BYTES + 1], again[PW_PULL_MESSAGE_BYTES];
        struct pw_pull_message message;

        (void)state;
        for (size_t i = 0; i < pw_array_count(messages); i++) {
                encode(&messages[i], bytes);
                assert_int_equal(pw_pull_decode(bytes, PW_PULL_MESSAGE_BYTES, &message, NULL), PW_OK);
                encode(&message, again);
                assert_memory_equal(bytes, again, sizeof again);
                assert_true(message.kind == messages[i].kind && message.number == messages[i].number &&
                            message.ask == messages[i].ask && message.chunk == messages[i].chunk &&
                            pw_id_equal(message.id, messages[i].id));
                assert_int_equal(pw_pull_decode(bytes, PW_PULL_MESSAGE_BYTES - 1, &message, NULL), PW_PROTOCOL);
                assert_int_equal(pw_pull_decode(bytes, PW_PULL_MESSAGE_BYTES + 1, &message, NULL), PW_PROTOCOL);
        }
}

/* Whatever a byte is changed to: it is refused, or it is what that message would be encoded as. */
static void test_strict(void **state)
{
        uint8_t bytes[PW_PULL_MESSAGE_BYTES], again[PW_PULL_MESSAGE_BYTES];
        struct pw_pull_message message;
        uint32_t refused = 0;

        (void)state;
        for (size_t i = 0; i < pw_array_count(messages); i++)
                for (uint32_t at = 0; at < sizeof bytes; at++)
                        for (uint32_t value = 0; value < 256; value++) {
                                encode(&messages[i], bytes);
                                bytes[at] = (uint8_t)value;
                                if (pw_pull_decode(bytes, sizeof bytes, &message, NULL) != PW_OK) {
                                        refused++;
                                        continue;
                                }
                                encode(&message, again);
                                assert_memory_equal(bytes, again, sizeof again);
                        }
        assert_true(refused > 10000);
}

static void test_refused(void **state)
{
        static const struct pw_pull_message wrong[] = {
                { .kind = PW_PULL_MSG_WANT, .number = 1 },
                { .kind = PW_PULL_MSG_WANT, .id = ID },
                { .kind = PW_PULL_MSG_WANT, .number = 1, .id = ID, .chunk = 1 },
                { .kind = PW_PULL_MSG_NAMED, .number = 1, .source = 3, .source_number = 4 },
                { .kind = PW_PULL_MSG_NAMED, .number = 1, .round = 2, .source = 3 },
                { .kind = PW_PULL_MSG_NAMED, .number = 1, .round = 2, .source = 3, .status = PW_GONE },
                { .kind = PW_PULL_MSG_REPORT, .number = 1, .round = 2 },
                { .kind = PW_PULL_MSG_REPORT, .number = 1, .round = 2, .status = PW_NOT_READY },
                { .kind = PW_PULL_MSG_HAVE, .number = 1 },
                { .kind = PW_PULL_MSG_ASK, .source_number = 4, .ask = 9, .stream = PW_PULL_STREAMS_MAX, .id = ID },
                { .kind = PW_PULL_MSG_STOP, .ask = 9, .status = PW_GONE },
                { .kind = PW_PULL_MSG_REFUSE, .ask = 9 },
                { .kind = (enum pw_pull_kind)(PW_PULL_MSG_LAST + 1), .number = 1 },
        };
        uint8_t bytes[PW_PULL_MESSAGE_BYTES];

        (void)state;
        for (size_t i = 0; i < pw_array_count(wrong); i++) {
                encode(&wrong[i], bytes);
                assert_int_equal(decode(bytes), PW_PROTOCOL);
        }
}

static void test_head(void **state)
{
        struct pw_pull_head head = { .ask = 3, .checksum = 0, .bytes = PW_PULL_CHUNK_BYTES }, back;
        uint8_t bytes[PW_PULL_HEAD_BYTES];

        (void)state;
        pw_pull_head_encode(&head, bytes);
        assert_int_equal(pw_pull_head_decode(bytes, &back, NULL), PW_OK);
        assert_true(back.ask == 3 && back.bytes == PW_PULL_CHUNK_BYTES && !back.checksum);
        head.bytes++;
        pw_pull_head_encode(&head, bytes);
        assert_int_equal(pw_pull_head_decode(bytes, &back, NULL), PW_PROTOCOL);
        head = (struct pw_pull_head){ .ask = 0, .bytes = 1 };
        pw_pull_head_encode(&head, bytes);
        assert_int_equal(pw_pull_head_decode(bytes, &back, NULL), PW_PROTOCOL);
}

static void test_chunks(void **state)
{
        const uint64_t chunk = PW_PULL_CHUNK_BYTES;

        (void)state;
        assert_int_equal(pw_pull_chunks(1), 1);
        assert_int_equal(pw_pull_chunks(chunk), 1);
        assert_int_equal(pw_pull_chunks(chunk + 1), 2);
        assert_int_equal(pw_pull_chunk_bytes(chunk + 1, 0), chunk);
        assert_int_equal(pw_pull_chunk_bytes(chunk + 1, 1), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_strict), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_head), cmocka_unit_test(test_chunks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Messages between cores: what is encoded is decoded, and nothing else is. */
#include "scheduler/message.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD 72u /* bytes */

static const struct pw_core_message sent = { .kind = PW_CORE_PREPARED, .status = PW_NO_SPACE, .island = 3, .about = 65535,
                                             .detail = 1u << 31, .slot = 0x1020304, .serial = 0x90000000a,
                                             .arrival = 0xb0000000c, .host = 7,
                                             .run = { 4095, 0xfffffffe, UINT64_C(1) << 63 }, .device = { 2, 0x101 } };
static const struct pw_core_body no_room = { .text = "no room" };

static uint8_t *encode(const struct pw_core_message *message, const struct pw_core_body *body, size_t *ret_length)
{
        uint8_t *bytes = malloc(*ret_length = pw_core_bytes(body));

        assert_non_null(bytes);
        pw_core_encode(message, body, bytes);
        return bytes;
}

static enum pw_status decode(const uint8_t *bytes, size_t length, struct pw_error *ret_err)
{
        struct pw_core_message message;
        struct pw_core_body body;
        enum pw_status status;
        void *space;

        status = pw_core_decode(bytes, length, &message, &body, &space, ret_err);
        assert_true(status == PW_OK || !space);
        free(space);
        return status;
}

static void test_there_and_back(void **state)
{
        struct pw_core_message message;
        struct pw_core_body body;
        struct pw_error err;
        size_t length;
        uint8_t *bytes = encode(&sent, &no_room, &length), *again;
        void *space;

        (void)state;
        assert_int_equal(length, HEAD + 7);
        assert_int_equal(pw_core_decode(bytes, length, &message, &body, &space, &err), PW_OK);
        again = encode(&message, &body, &length);
        assert_memory_equal(again, bytes, length);
        free(again);
        assert_string_equal(body.text, "no room");
        assert_int_equal(body.input_count + body.room_count + body.slot_count, 0);
        free(space);
        free(bytes);
        bytes = encode(&sent, NULL, &length);
        assert_int_equal(pw_core_decode(bytes, length, &message, &body, &space, &err), PW_OK);
        assert_null(body.text);
        free(space);
        free(bytes);
}

static const struct pw_core_input inputs[] = {
        { .source = PW_SOURCE_HOST, .is_inline = true, .value = "twenty-three characters" },
        { .source = PW_SOURCE_HOST, .segment = 7, .offset = UINT64_C(1) << 40, .bytes = 4097 },
        { .source = PW_SOURCE_RESULT, .given = true, .run = { 3, 4, 5 }, .result = 255, .slot = 6 },
        { .source = PW_SOURCE_ERROR, .status = PW_DEVICE_LOST } };
static const struct pw_room rooms[] = { { 5, 1, 101, 64, 320 }, { 4095, 63, 102, UINT64_C(1) << 50, 64 } };
static const uint32_t slots[] = { 9, 0xfffffffe, 11 };
static const struct pw_core_body all = { .text = "and so on", .inputs = inputs, .input_count = 4, .rooms = rooms, .room_count = 2,
                                         .slots = slots, .slot_count = 3 };

static void test_bodies(void **state)
{
        struct pw_core_message message;
        struct pw_core_body body;
        struct pw_error err;
        size_t length;
        uint8_t *bytes = encode(&sent, &all, &length);
        void *space;

        (void)state;
        assert_int_equal(length, HEAD + 4 * 80 + 2 * 24 + 3 * 4 + 9);
        assert_int_equal(pw_core_decode(bytes, length, &message, &body, &space, &err), PW_OK);
        assert_int_equal(body.input_count, 4);
        for (uint32_t i = 0; i < 4; i++) {
                assert_int_equal(body.inputs[i].source, inputs[i].source);
                assert_int_equal(body.inputs[i].status, inputs[i].status);
                assert_int_equal(body.inputs[i].given, inputs[i].given);
                assert_int_equal(body.inputs[i].is_inline, inputs[i].is_inline);
                assert_memory_equal(body.inputs[i].value, inputs[i].value, 24);
                assert_int_equal(body.inputs[i].segment, inputs[i].segment);
                assert_int_equal(body.inputs[i].offset, inputs[i].offset);
                assert_int_equal(body.inputs[i].bytes, inputs[i].bytes);
                assert_true(pw_same_run(&body.inputs[i].run, &inputs[i].run));
                assert_int_equal(body.inputs[i].result, inputs[i].result);
                assert_int_equal(body.inputs[i].slot, inputs[i].slot);
        }
        assert_int_equal(body.room_count, 2);
        assert_memory_equal(body.rooms, rooms, sizeof rooms);
        assert_int_equal(body.slot_count, 3);
        assert_memory_equal(body.slots, slots, sizeof slots);
        assert_string_equal(body.text, "and so on");
        free(space);
        free(bytes);
}

/* The same bytes on every host. */
static void test_bytes(void **state)
{
        static const uint8_t want[HEAD + 1] = {
                4,    0,    PW_CORE_PREPARED, 0, PW_NO_SPACE, 0,    1,    0,    3, 0, 0, 0, 0xff, 0xff, 0, 0,
                0,    0,    0,    0x80, 4, 3, 2, 1, 0xff, 0x0f, 0,    0,    0xfe, 0xff, 0xff, 0xff,
                2,    0,    1,    1,    0, 0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0x80,
                10,   0,    0,    0,    9, 0, 0, 0, 12,   0,    0,    0,    11,   0,    0,    0,
                0,    0,    0,    0,    7, 0, 0, 0, 'x' };
        size_t length;
        uint8_t *bytes = encode(&sent, &(struct pw_core_body){ .text = "x" }, &length);

        (void)state;
        assert_int_equal(length, sizeof want);
        assert_memory_equal(bytes, want, sizeof want);
        free(bytes);
}

static void test_long_sentence(void **state)
{
        char sentence[2 * PW_CORE_TEXT_MAX];
        struct pw_core_message message;
        struct pw_core_body body;
        struct pw_error err;
        uint8_t *bytes;
        size_t length;
        void *space;

        (void)state;
        memset(sentence, 'a', sizeof sentence);
        sentence[sizeof sentence - 1] = 0;
        bytes = encode(&sent, &(struct pw_core_body){ .text = sentence }, &length);
        assert_int_equal(length, HEAD + PW_CORE_TEXT_MAX);
        assert_int_equal(pw_core_decode(bytes, length, &message, &body, &space, &err), PW_OK);
        assert_int_equal(strlen(body.text), PW_CORE_TEXT_MAX);
        free(space);
        free(bytes);
}

/* Changes one byte, or the length; each is refused with a sentence that says what is wrong. */
static void test_refused(void **state)
{
        static const struct { size_t at; uint8_t byte; const char *say; } wrong[] = {
                { 0, 1, "version 1" }, { 1, 1, "version 260" }, { 2, 0, "kind 0" }, { 2, PW_CORE_KINDS + 1, "kind 24" },
                { 3, 1, "kind 26" }, { 5, 0xff, "status" }, { 6, 6, "6 bytes of text" }, { 7, 1, "bytes of text" },
                { 36, 3, "3 inputs" }, { 37, 1, "inputs" }, { 38, 4, "4 slots" }, { 64, 1, "1 rooms" }, { 67, 1, "rooms" },
                { HEAD, 3, "input 0" }, { HEAD + 1, 2, "input 0" }, { HEAD + 2, 2, "input 0" }, { HEAD + 3, 1, "input 0" },
                { HEAD + 28, 1, "input 0" }, { HEAD + 80 + 4, 1, "input 1" }, { HEAD + 80 + 7, 1, "input 1" },
                { 4, PW_NOT_READY, "status" }, { HEAD + 240 + 4, 0, "input 3" }, { HEAD + 240 + 4, PW_NOT_READY, "input 3" },
                { HEAD + 320 + 48 + 12 + 8, 0, "zero" } };
        struct pw_error err;
        size_t length;
        uint8_t *bytes = encode(&sent, &all, &length);

        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                uint8_t was = bytes[wrong[i].at];
                bytes[wrong[i].at] = wrong[i].byte;
                assert_int_equal(decode(bytes, length, &err), PW_PROTOCOL);
                assert_non_null(strstr(err.text, wrong[i].say));
                bytes[wrong[i].at] = was;
        }
        for (size_t cut = 0; cut < length; cut++)
                assert_int_equal(decode(bytes, cut, &err), PW_PROTOCOL);
        assert_int_equal(decode(bytes, length, &err), PW_OK);
        free(bytes);
}

/* The fuzzer begins with messages of this version: all but the one with a NUL in its sentence are believed. */
static void test_corpus(void **state)
{
        const char *source = getenv("PW_SRC");
        uint32_t good = 0, bad = 0;
        char pattern[300];
        glob_t found;

        (void)state;
        snprintf(pattern, sizeof pattern, "%s/tests/fuzz/corpus/core_fuzz/*", source ? source : ".");
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
                FILE *file = fopen(found.gl_pathv[i], "r");
                uint8_t bytes[4096];
                struct pw_error err;

                assert_non_null(file);
                bool taken = decode(bytes, fread(bytes, 1, sizeof bytes, file), &err) == PW_OK;
                fclose(file);
                good += taken;
                bad += !taken;
        }
        globfree(&found);
        assert_true(good >= 5);
        assert_int_equal(bad, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_bodies),
                                            cmocka_unit_test(test_bytes), cmocka_unit_test(test_long_sentence),
                                            cmocka_unit_test(test_refused), cmocka_unit_test(test_corpus) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

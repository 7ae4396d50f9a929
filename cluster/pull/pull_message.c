/* Messages of pulls as bytes, little-endian: one form for all kinds, where what a kind does not have is 0. */
#include "cluster/pull/pull_message.h"

#include "cluster/link/link.h"

#include <endian.h>
#include <string.h>

#define MESSAGE_VERSION 1u

struct form {
        uint16_t version, kind;
        uint32_t status;
        uint64_t number, round, source_number, ask;
        uint32_t source, stream, chunk, generation;
        uint64_t place;
        uint32_t epoch, zero;
};
_Static_assert(sizeof(struct form) == PW_PULL_MESSAGE_BYTES, "no gaps");
struct head_form { uint64_t ask, checksum; uint32_t bytes, zero; };
_Static_assert(sizeof(struct head_form) == PW_PULL_HEAD_BYTES, "no gaps");

/* What each kind has: of the first four none is ever 0. */
enum { NUMBER = 1, ROUND = 2, SOURCE_NUMBER = 4, ASK = 8, SOURCE = 16, PART = 32, ID = 64, STATUS = 128 };
static const uint8_t parts[PW_PULL_MSG_LAST + 1] = {
        [PW_PULL_MSG_WANT] = NUMBER | ID,
        [PW_PULL_MSG_NAMED] = NUMBER | ROUND | SOURCE | SOURCE_NUMBER | STATUS,
        [PW_PULL_MSG_REPORT] = NUMBER | ROUND | STATUS,
        [PW_PULL_MSG_WHOLE] = NUMBER,
        [PW_PULL_MSG_HAVE] = NUMBER | ID,
        [PW_PULL_MSG_LEAVE] = NUMBER,
        [PW_PULL_MSG_ASK] = SOURCE_NUMBER | ASK | PART | ID,
        [PW_PULL_MSG_STOP] = ASK,
        [PW_PULL_MSG_WAIT] = ASK,
        [PW_PULL_MSG_REFUSE] = ASK | STATUS,
};

struct pw_link_frame *pw_pull_encode(const struct pw_pull_message *message)
{
        struct form form = { .version = htole16(MESSAGE_VERSION), .kind = htole16((uint16_t)message->kind),
                             .status = htole32(message->status), .number = htole64(message->number),
                             .round = htole64(message->round), .source_number = htole64(message->source_number),
                             .ask = htole64(message->ask), .source = htole32(message->source),
                             .stream = htole32(message->stream), .chunk = htole32(message->chunk),
                             .generation = htole32(message->id.generation), .place = htole64(message->id.place),
                             .epoch = htole32(message->id.epoch) };

        return pw_link_frame_new(&form, sizeof form, pw_pull_is_work(message->kind));
}

/* NAMED without a source has none of its parts. */
static uint8_t parts_of(const struct pw_pull_message *message)
{
        uint8_t all = parts[message->kind];

        return message->kind == PW_PULL_MSG_NAMED && message->status != PW_OK ? (uint8_t)(all & ~(SOURCE | SOURCE_NUMBER)) : all;
}

static bool is_status(const struct pw_pull_message *message)
{
        if (!(parts_of(message) & STATUS))
                return message->status == PW_OK;
        if (message->kind == PW_PULL_MSG_NAMED && (message->status == PW_OK || message->status == PW_NOT_READY))
                return true;
        return pw_status_of_value(message->status);
}

static bool is_whole(const struct pw_pull_message *message)
{
        uint8_t has = parts_of(message);

        return !message->number == !(has & NUMBER) && !message->round == !(has & ROUND) &&
               !message->source_number == !(has & SOURCE_NUMBER) && !message->ask == !(has & ASK) &&
               (has & SOURCE || !message->source) && (has & PART || (!message->stream && !message->chunk)) &&
               message->stream < PW_PULL_STREAMS_MAX && !message->id.epoch == !(has & ID) &&
               (has & ID || (!message->id.place && !message->id.generation)) && is_status(message);
}

enum pw_status pw_pull_decode(const void *bytes, size_t length, struct pw_pull_message *ret_message, struct pw_error *ret_err)
{
        struct pw_pull_message message;
        struct form form;

        if (length != sizeof form)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message about a pull of %zu bytes, not %zu", length, sizeof form);
        memcpy(&form, bytes, sizeof form);
        if (le16toh(form.version) != MESSAGE_VERSION)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message about a pull of version %u, this is %u",
                                    le16toh(form.version), MESSAGE_VERSION);
        message = (struct pw_pull_message){
                .kind = (enum pw_pull_kind)le16toh(form.kind), .status = (enum pw_status)le32toh(form.status),
                .number = le64toh(form.number), .round = le64toh(form.round), .source_number = le64toh(form.source_number),
                .ask = le64toh(form.ask), .source = le32toh(form.source), .stream = le32toh(form.stream),
                .chunk = le32toh(form.chunk),
                .id = { .place = le64toh(form.place), .epoch = le32toh(form.epoch), .generation = le32toh(form.generation) },
        };
        if (message.kind < PW_PULL_MSG_WANT || message.kind > PW_PULL_MSG_LAST || form.zero || !is_whole(&message))
                return pw_error_set(ret_err, PW_PROTOCOL, "a message about a pull, of kind %u, that says what that kind does not",
                                    le16toh(form.kind));
        *ret_message = message;
        return PW_OK;
}

void pw_pull_head_encode(const struct pw_pull_head *head, uint8_t ret_bytes[PW_PULL_HEAD_BYTES])
{
        struct head_form form = { htole64(head->ask), htole64(head->checksum), htole32(head->bytes), 0 };

        memcpy(ret_bytes, &form, sizeof form);
}

enum pw_status pw_pull_head_decode(const uint8_t bytes[PW_PULL_HEAD_BYTES], struct pw_pull_head *ret_head,
                                   struct pw_error *ret_err)
{
        struct head_form form;

        memcpy(&form, bytes, sizeof form);
        if (!form.ask || form.zero || !form.bytes || le32toh(form.bytes) > PW_PULL_CHUNK_BYTES)
                return pw_error_set(ret_err, PW_PROTOCOL, "a chunk of %u bytes, numbered %lu", le32toh(form.bytes),
                                    (unsigned long)le64toh(form.ask));
        *ret_head = (struct pw_pull_head){ le64toh(form.ask), le64toh(form.checksum), le32toh(form.bytes) };
        return PW_OK;
}

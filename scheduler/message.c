/* Messages between cores as bytes: little-endian numbers, then the sentence, whose length is the rest. */
#include "scheduler/message.h"

#include <endian.h>
#include <string.h>

#define MESSAGE_VERSION 1u

struct head {
        uint16_t version, kind, status, text_bytes;
        uint32_t island, from, node, coordinator, epoch;
        uint16_t host, device;
        uint64_t number;
};
_Static_assert(sizeof(struct head) + PW_CORE_TEXT_MAX == PW_CORE_BYTES_MAX, "no gaps");

size_t pw_core_encode(const struct pw_core_message *message, const char *text, uint8_t ret_bytes[PW_CORE_BYTES_MAX])
{
        size_t length = text ? strnlen(text, PW_CORE_TEXT_MAX) : 0;
        struct head head = { .version = htole16(MESSAGE_VERSION),
                             .kind = htole16((uint16_t)message->kind),
                             .status = htole16((uint16_t)message->status),
                             .island = htole32(message->island),
                             .from = htole32(message->from),
                             .node = htole32(message->node),
                             .coordinator = htole32(message->run.coordinator),
                             .epoch = htole32(message->run.epoch),
                             .number = htole64(message->run.number),
                             .host = htole16(message->device.host),
                             .device = htole16(message->device.device),
                             .text_bytes = htole16((uint16_t)length) };

        memcpy(ret_bytes, &head, sizeof head);
        if (length)
                memcpy(ret_bytes + sizeof head, text, length);
        return sizeof head + length;
}

enum pw_status pw_core_decode(const uint8_t *bytes, size_t length, struct pw_core_message *ret_message, struct pw_error *ret_text,
                              struct pw_error *ret_err)
{
        struct head head;
        uint32_t kind, status, text_bytes;

        if (length < sizeof head)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of %zu bytes, at least %zu", length, sizeof head);
        memcpy(&head, bytes, sizeof head);
        kind = le16toh(head.kind);
        status = le16toh(head.status);
        text_bytes = le16toh(head.text_bytes);
        if (le16toh(head.version) != MESSAGE_VERSION)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of version %u, this is %u", le16toh(head.version),
                                    MESSAGE_VERSION);
        if (kind < PW_CORE_PREPARE || kind > PW_CORE_KINDS || !pw_status_known(status) || text_bytes > PW_CORE_TEXT_MAX ||
            text_bytes != length - sizeof head || memchr(bytes + sizeof head, 0, text_bytes))
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of kind %u, status %u and %u bytes of text in %zu",
                                    kind, status, text_bytes, length - sizeof head);
        *ret_message = (struct pw_core_message){ .kind = (enum pw_core_kind)kind,
                                                 .status = (enum pw_status)status,
                                                 .island = le32toh(head.island),
                                                 .from = le32toh(head.from),
                                                 .node = le32toh(head.node),
                                                 .device = { le16toh(head.host), le16toh(head.device) },
                                                 .run = { le32toh(head.coordinator), le32toh(head.epoch), le64toh(head.number) } };
        ret_text->status = ret_message->status;
        memcpy(ret_text->text, bytes + sizeof head, text_bytes);
        ret_text->text[text_bytes] = 0;
        return PW_OK;
}

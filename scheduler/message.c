/* Messages between cores as bytes, little-endian: a head, inputs, rooms, slots, then the sentence. */
#include "scheduler/message.h"

#include "base/error.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_VERSION 4u

struct head {
        uint16_t version, kind, status, text_bytes;
        uint32_t island, about, detail, slot, coordinator, epoch;
        uint16_t device_host, device, inputs, slots;
        uint64_t number, serial, arrival;
        uint32_t rooms, host;
};
struct input {
        uint8_t source, given, is_inline, zero;
        uint32_t status, segment, result, slot, coordinator, epoch, padding;
        uint64_t offset, bytes, number;
        uint8_t value[24];
};
struct room { uint16_t host, device; uint32_t segment; uint64_t offset, bytes; };
_Static_assert(sizeof(struct head) == 72 && sizeof(struct input) == 80 && sizeof(struct room) == 24, "no gaps");

static const struct pw_core_body nothing;

static size_t text_bytes(const struct pw_core_body *body) { return body->text ? strnlen(body->text, PW_CORE_TEXT_MAX) : 0; }

static size_t bytes_before_text(size_t inputs, size_t rooms, size_t slots)
{
        return sizeof(struct head) + inputs * sizeof(struct input) + rooms * sizeof(struct room) + slots * sizeof(uint32_t);
}

size_t pw_core_bytes(const struct pw_core_body *body)
{
        body = body ? body : &nothing;
        return bytes_before_text(body->input_count, body->room_count, body->slot_count) + text_bytes(body);
}

static uint8_t *put(uint8_t *at, const void *from, size_t bytes)
{
        if (bytes)
                memcpy(at, from, bytes);
        return at + bytes;
}

static uint8_t *put_input(uint8_t *at, const struct pw_core_input *from)
{
        struct input input = { .source = (uint8_t)from->source,
                               .given = from->given,
                               .is_inline = from->is_inline,
                               .status = htole32((uint32_t)from->status),
                               .segment = htole32(from->segment),
                               .result = htole32(from->result),
                               .slot = htole32(from->slot),
                               .coordinator = htole32(from->run.coordinator),
                               .epoch = htole32(from->run.epoch),
                               .offset = htole64(from->offset),
                               .bytes = htole64(from->bytes),
                               .number = htole64(from->run.number) };

        memcpy(input.value, from->value, sizeof input.value);
        return put(at, &input, sizeof input);
}

static uint8_t *put_room(uint8_t *at, const struct pw_room *from)
{
        struct room room = { htole16(from->host), htole16(from->device), htole32(from->segment), htole64(from->offset),
                             htole64(from->bytes) };

        return put(at, &room, sizeof room);
}

void pw_core_encode(const struct pw_core_message *message, const struct pw_core_body *body, uint8_t *ret_bytes)
{
        const struct pw_core_body *with = body ? body : &nothing;
        uint8_t *at = ret_bytes;
        struct head head = { .version = htole16(MESSAGE_VERSION),
                             .kind = htole16((uint16_t)message->kind),
                             .status = htole16((uint16_t)message->status),
                             .text_bytes = htole16((uint16_t)text_bytes(with)),
                             .island = htole32(message->island),
                             .about = htole32(message->about),
                             .detail = htole32(message->detail),
                             .slot = htole32(message->slot),
                             .coordinator = htole32(message->run.coordinator),
                             .epoch = htole32(message->run.epoch),
                             .device_host = htole16(message->device.host),
                             .device = htole16(message->device.device),
                             .inputs = htole16((uint16_t)with->input_count),
                             .slots = htole16((uint16_t)with->slot_count),
                             .number = htole64(message->run.number),
                             .serial = htole64(message->serial),
                             .arrival = htole64(message->arrival),
                             .rooms = htole32(with->room_count),
                             .host = htole32(message->host) };

        at = put(at, &head, sizeof head);
        for (uint32_t i = 0; i < with->input_count; i++)
                at = put_input(at, &with->inputs[i]);
        for (uint32_t i = 0; i < with->room_count; i++)
                at = put_room(at, &with->rooms[i]);
        for (uint32_t i = 0; i < with->slot_count; i++) {
                uint32_t slot = htole32(with->slots[i]);
                at = put(at, &slot, sizeof slot);
        }
        put(at, with->text, text_bytes(with));
}

static const uint8_t *get(const uint8_t *at, void *to, size_t bytes)
{
        memcpy(to, at, bytes);
        return at + bytes;
}

/* False: it is none. */
static bool get_input(const uint8_t **at, struct pw_core_input *ret_input)
{
        struct input input;

        *at = get(*at, &input, sizeof input);
        *ret_input = (struct pw_core_input){ .source = (enum pw_core_source)input.source,
                                             .status = (enum pw_status)le32toh(input.status),
                                             .given = input.given,
                                             .is_inline = input.is_inline,
                                             .segment = le32toh(input.segment),
                                             .offset = le64toh(input.offset),
                                             .bytes = le64toh(input.bytes),
                                             .run = { le32toh(input.coordinator), le32toh(input.epoch), le64toh(input.number) },
                                             .result = le32toh(input.result),
                                             .slot = le32toh(input.slot) };
        memcpy(ret_input->value, input.value, sizeof input.value);
        return input.source <= PW_SOURCE_RESULT && input.given <= 1 && input.is_inline <= 1 && !input.zero && !input.padding &&
               pw_core_status(le32toh(input.status)) &&
               (input.source == PW_SOURCE_ERROR) == (le32toh(input.status) != PW_OK);
}

static void get_room(const uint8_t **at, struct pw_room *ret_room)
{
        struct room room;

        *at = get(*at, &room, sizeof room);
        *ret_room = (struct pw_room){ le16toh(room.host), le16toh(room.device), le32toh(room.segment), le64toh(room.offset),
                                      le64toh(room.bytes) };
}

/* What comes behind the head, whose counts fit its length. */
static enum pw_status get_body(const uint8_t *at, const struct head *head, struct pw_core_body *ret_body, void **ret_space,
                               struct pw_error *ret_err)
{
        uint32_t inputs = le16toh(head->inputs), rooms = le32toh(head->rooms), slots = le16toh(head->slots);
        uint32_t text = le16toh(head->text_bytes);
        struct { struct pw_core_input *inputs; struct pw_room *rooms; uint32_t *slots; char *text; } to;

        to.inputs = malloc(inputs * sizeof *to.inputs + rooms * sizeof *to.rooms + slots * sizeof *to.slots + text + 1);
        if (!to.inputs)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a message of %u inputs and %u rooms", inputs, rooms);
        *ret_space = to.inputs;
        to.rooms = (struct pw_room *)(to.inputs + inputs);
        to.slots = (uint32_t *)(to.rooms + rooms);
        to.text = (char *)(to.slots + slots);
        *ret_body = (struct pw_core_body){ .text = text ? to.text : NULL, .inputs = to.inputs, .slots = to.slots,
                                           .rooms = to.rooms, .input_count = inputs, .slot_count = slots, .room_count = rooms };
        for (uint32_t i = 0; i < inputs; i++)
                if (!get_input(&at, &to.inputs[i]))
                        return pw_error_set(ret_err, PW_PROTOCOL, "input %u of a message is of no kind that there is", i);
        for (uint32_t i = 0; i < rooms; i++)
                get_room(&at, &to.rooms[i]);
        for (uint32_t i = 0; i < slots; i++) {
                at = get(at, &to.slots[i], sizeof *to.slots);
                to.slots[i] = le32toh(to.slots[i]);
        }
        memcpy(to.text, at, text);
        to.text[text] = 0;
        if (strlen(to.text) != text)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message with a zero in its %u bytes of text", text);
        return PW_OK;
}

static enum pw_status check(const struct head *head, size_t length, struct pw_error *ret_err)
{
        uint32_t kind = le16toh(head->kind), status = le16toh(head->status), text = le16toh(head->text_bytes);
        uint32_t rooms = le32toh(head->rooms);

        if (le16toh(head->version) != MESSAGE_VERSION)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of version %u, this is %u", le16toh(head->version),
                                    MESSAGE_VERSION);
        if (!kind || kind > PW_CORE_KINDS || !pw_core_status(status))
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of kind %u and status %u", kind, status);
        if (text > PW_CORE_TEXT_MAX || rooms > PW_CORE_ROOMS_MAX ||
            bytes_before_text(le16toh(head->inputs), rooms, le16toh(head->slots)) + text != length)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of %u inputs, %u rooms, %u slots and %u bytes of text in %zu",
                                    le16toh(head->inputs), rooms, le16toh(head->slots), text, length);
        return PW_OK;
}

enum pw_status pw_core_decode(const uint8_t *bytes, size_t length, struct pw_core_message *ret_message,
                              struct pw_core_body *ret_body, void **ret_space, struct pw_error *ret_err)
{
        struct head head;
        enum pw_status status;

        *ret_space = NULL;
        if (length < sizeof head)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message of %zu bytes, at least %zu", length, sizeof head);
        memcpy(&head, bytes, sizeof head);
        status = check(&head, length, ret_err);
        if (status == PW_OK)
                status = get_body(bytes + sizeof head, &head, ret_body, ret_space, ret_err);
        if (status != PW_OK) {
                free(*ret_space);
                *ret_space = NULL;
                return status;
        }
        *ret_message = (struct pw_core_message){ .kind = (enum pw_core_kind)le16toh(head.kind),
                                                 .status = (enum pw_status)le16toh(head.status),
                                                 .host = le32toh(head.host),
                                                 .island = le32toh(head.island),
                                                 .about = le32toh(head.about),
                                                 .detail = le32toh(head.detail),
                                                 .slot = le32toh(head.slot),
                                                 .device = { le16toh(head.device_host), le16toh(head.device) },
                                                 .run = { le32toh(head.coordinator), le32toh(head.epoch), le64toh(head.number) },
                                                 .serial = le64toh(head.serial),
                                                 .arrival = le64toh(head.arrival) };
        return PW_OK;
}

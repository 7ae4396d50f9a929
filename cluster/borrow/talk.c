/* What hosts say about objects, as bytes, little-endian: a head, dims, the tenant, ids, the value, then the sentence. */
#include "cluster/borrow/talk.h"

#include "cluster/link/link.h"

#include <endian.h>

#define MESSAGE_VERSION 1u

struct head {
        uint16_t version;
        uint8_t kind, state;
        uint16_t status;
        uint8_t form, dtype;
        uint64_t number;
        uint64_t place;
        uint32_t epoch, generation;
        uint64_t bytes;
        uint8_t rank, tenant_bytes;
        uint16_t text_bytes, value_bytes, ids;
        uint32_t host, zero;
};
_Static_assert(sizeof(struct head) == 56, "no gaps");

/* --- ids -------------------------------------------------------------------------------------------------------------------- */

struct wire_id { uint64_t place; uint32_t epoch, generation; };
_Static_assert(sizeof(struct wire_id) == PW_TALK_ID_BYTES, "no gaps");

void pw_talk_put_id(uint8_t to[PW_TALK_ID_BYTES], struct pw_id id)
{
        struct wire_id wire = { htole64(id.place), htole32(id.epoch), htole32(id.generation) };

        memcpy(to, &wire, sizeof wire);
}

struct pw_id pw_talk_id(const struct pw_talk_message *message, uint32_t i)
{
        struct wire_id wire;

        memcpy(&wire, (const uint8_t *)message->ids.at + (size_t)i * sizeof wire, sizeof wire);
        return (struct pw_id){ le64toh(wire.place), le32toh(wire.epoch), le32toh(wire.generation) };
}

/* --- out -------------------------------------------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *at, const void *from, size_t bytes)
{
        if (bytes)
                memcpy(at, from, bytes);
        return at + bytes;
}

struct pw_link_frame *pw_talk_encode(const struct pw_talk_message *message)
{
        const struct pw_talk_known *known = &message->known;
        uint32_t text = known->text.count < PW_TALK_TEXT_MAX ? known->text.count : PW_TALK_TEXT_MAX;
        struct head head = { .version = htole16(MESSAGE_VERSION),
                             .kind = (uint8_t)message->kind,
                             .state = (uint8_t)known->state,
                             .status = htole16((uint16_t)known->status),
                             .form = (uint8_t)known->form,
                             .dtype = (uint8_t)known->dtype,
                             .number = htole64(message->number),
                             .place = htole64(message->id.place),
                             .epoch = htole32(message->id.epoch),
                             .generation = htole32(message->id.generation),
                             .bytes = htole64(known->bytes),
                             .rank = (uint8_t)known->dims.rank,
                             .tenant_bytes = (uint8_t)message->tenant.count,
                             .text_bytes = htole16((uint16_t)text),
                             .value_bytes = htole16((uint16_t)known->value.count),
                             .ids = htole16((uint16_t)pw_talk_id_count(message)),
                             .host = htole32(message->host) };
        uint8_t space[sizeof head + PW_RANK_MAX * sizeof(uint64_t) + PW_TALK_TENANT_MAX + PW_TALK_IDS_MAX * PW_TALK_ID_BYTES +
                      PW_TALK_VALUE_MAX + PW_TALK_TEXT_MAX];
        uint8_t *at = put(space, &head, sizeof head);
        struct pw_link_frame *frame;

        for (uint32_t i = 0; i < known->dims.rank; i++)
                at = put(at, &(uint64_t){ htole64(known->dims.dim[i]) }, sizeof(uint64_t));
        at = put(at, message->tenant.at, message->tenant.count);
        at = put(at, message->ids.at, message->ids.count);
        at = put(at, known->value.at, known->value.count);
        at = put(at, known->text.at, text);
        frame = pw_link_frame_new(space, (uint32_t)(at - space), pw_talk_is_work(message->kind));
        if (frame)
                frame->may_wait = message->kind == PW_TALK_RELEASE;
        return frame;
}

/* --- in --------------------------------------------------------------------------------------------------------------------- */

/* What a kind may say, and must. */
enum { SAYS_ID = 1, SAYS_TENANT = 2, SAYS_IDS = 4, SAYS_KNOWN = 8, SAYS_HOST = 16 };
static const uint8_t says[PW_TALK_KINDS + 1] = {
        [PW_TALK_OPEN] = SAYS_ID | SAYS_TENANT, [PW_TALK_OPENED] = SAYS_KNOWN, [PW_TALK_TOLD] = SAYS_KNOWN,
        [PW_TALK_SEARCH] = SAYS_IDS, [PW_TALK_FOUND] = SAYS_IDS,
        [PW_TALK_DRAINS] = SAYS_HOST, [PW_TALK_TAKES] = SAYS_HOST,
};

static size_t length_of(const struct head *head)
{
        return sizeof *head + head->rank * sizeof(uint64_t) + head->tenant_bytes + (size_t)le16toh(head->ids) * PW_TALK_ID_BYTES +
               le16toh(head->value_bytes) + le16toh(head->text_bytes);
}

/* Does the value, or the error, fit the state? */
static bool is_known(const struct head *head)
{
        uint32_t status = le16toh(head->status), value = le16toh(head->value_bytes);
        bool is_described = head->form || head->dtype || head->rank || head->bytes;

        switch (head->state) {
        case PW_TALK_NONE: return head->kind == PW_TALK_OPENED && pw_status_known(status) && status && !is_described && !value;
        case PW_TALK_PENDING: return head->kind == PW_TALK_OPENED && !status && !head->text_bytes && !value;
        case PW_TALK_ELSEWHERE: return !status && !head->text_bytes && !value;
        case PW_TALK_WHOLE: return !status && !head->text_bytes && value == le64toh(head->bytes);
        default: return pw_status_of_value(status) && !is_described && !value;
        }
}

static bool is_nothing_known(const struct head *head)
{
        return !head->state && !head->status && !head->form && !head->dtype && !head->bytes && !head->rank && !head->text_bytes &&
               !head->value_bytes;
}

static bool is_head(const struct head *head)
{
        uint8_t may = says[head->kind];

        if (!head->number != !!(may & SAYS_HOST) || !head->host != !(may & SAYS_HOST) || head->zero ||
            !(may & SAYS_TENANT) != !head->tenant_bytes)
                return false;
        if (!(may & SAYS_ID) && (head->place || head->epoch || head->generation))
                return false;
        if (may & SAYS_IDS ? head->kind == PW_TALK_SEARCH && !head->ids : head->ids != 0)
                return false;
        return may & SAYS_KNOWN ? is_known(head) : is_nothing_known(head);
}

static enum pw_status check(const struct head *head, size_t length, struct pw_error *ret_err)
{
        if (le16toh(head->version) != MESSAGE_VERSION)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message between hosts of version %u, this is %u",
                                    le16toh(head->version), MESSAGE_VERSION);
        if (!head->kind || head->kind > PW_TALK_KINDS || head->state >= PW_TALK_STATES || head->form >= PW_TALK_FORMS ||
            !pw_dtype_bytes((enum pw_dtype)head->dtype))
                return pw_error_set(ret_err, PW_PROTOCOL, "a message between hosts of kind %u, state %u, form %u and dtype %u",
                                    head->kind, head->state, head->form, head->dtype);
        if (head->rank > PW_RANK_MAX || le16toh(head->ids) > PW_TALK_IDS_MAX || le16toh(head->value_bytes) > PW_TALK_VALUE_MAX ||
            le16toh(head->text_bytes) > PW_TALK_TEXT_MAX || length_of(head) != length)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message between hosts of rank %u, %u ids, %u bytes of a value and %u "
                                    "of text in %zu", head->rank, le16toh(head->ids), le16toh(head->value_bytes),
                                    le16toh(head->text_bytes), length);
        if (!is_head(head))
                return pw_error_set(ret_err, PW_PROTOCOL, "a message between hosts of kind %u says what such have not, or not all "
                                    "that they have", head->kind);
        return PW_OK;
}

static struct pw_talk_bytes take(const uint8_t **at, uint32_t count)
{
        struct pw_talk_bytes bytes = { count ? *at : NULL, count };

        *at += count;
        return bytes;
}

static void get_known(const uint8_t **at, const struct head *head, struct pw_talk_known *ret_known)
{
        *ret_known = (struct pw_talk_known){ .state = (enum pw_talk_state)head->state,
                                             .status = (enum pw_status)le16toh(head->status),
                                             .form = (enum pw_talk_form)head->form,
                                             .dtype = (enum pw_dtype)head->dtype,
                                             .dims = { .rank = head->rank },
                                             .bytes = le64toh(head->bytes) };
        for (uint32_t i = 0; i < head->rank; i++) {
                uint64_t dim;

                memcpy(&dim, take(at, sizeof dim).at, sizeof dim);
                ret_known->dims.dim[i] = le64toh(dim);
        }
}

enum pw_status pw_talk_decode(const void *bytes, size_t length, struct pw_talk_message *ret_message, struct pw_error *ret_err)
{
        const uint8_t *at = bytes;
        enum pw_status status;
        struct head head;

        if (length < sizeof head)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message between hosts of %zu bytes, at least %zu", length,
                                    sizeof head);
        memcpy(&head, bytes, sizeof head);
        status = check(&head, length, ret_err);
        if (status != PW_OK)
                return status;
        at += sizeof head;
        *ret_message = (struct pw_talk_message){ .kind = (enum pw_talk_kind)head.kind,
                                                 .number = le64toh(head.number),
                                                 .id = { le64toh(head.place), le32toh(head.epoch), le32toh(head.generation) } };
        ret_message->host = le32toh(head.host);
        get_known(&at, &head, &ret_message->known);
        ret_message->tenant = take(&at, head.tenant_bytes);
        ret_message->ids = take(&at, le16toh(head.ids) * PW_TALK_ID_BYTES);
        ret_message->known.value = take(&at, le16toh(head.value_bytes));
        ret_message->known.text = take(&at, le16toh(head.text_bytes));
        if (memchr(at - le16toh(head.text_bytes), 0, le16toh(head.text_bytes)) ||
            (head.tenant_bytes && memchr(ret_message->tenant.at, 0, head.tenant_bytes)))
                return pw_error_set(ret_err, PW_PROTOCOL, "a message between hosts with a zero in its text");
        return PW_OK;
}

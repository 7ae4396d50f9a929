/* Greetings as bytes. */
#include "daemon/transport/greeting.h"

#include "base/memory.h"

static const uint8_t magic[4] = { 'p', 'w', 'T', 1 };

/* Places in the head. */
enum { USE = 4, STATUS = 4, NAME_BYTES = 5, TICKET_BYTES = 6, ZERO = 7 };

static uint32_t encode(uint8_t kind, const char *name, uint32_t ticket_bytes, uint8_t bytes[PW_GREETING_MAX])
{
        uint32_t name_bytes = (uint32_t)strlen(name);

        memcpy(bytes, magic, sizeof magic);
        bytes[USE] = kind;
        bytes[NAME_BYTES] = (uint8_t)name_bytes;
        bytes[TICKET_BYTES] = (uint8_t)ticket_bytes;
        bytes[ZERO] = 0;
        memcpy(bytes + PW_GREETING_HEAD, name, name_bytes);
        return PW_GREETING_HEAD + name_bytes;
}

uint32_t pw_greeting_encode(const struct pw_greeting *greeting, uint8_t bytes[PW_GREETING_MAX])
{
        uint32_t count = encode((uint8_t)greeting->use, greeting->name, greeting->ticket_bytes, bytes);

        memcpy(bytes + count, greeting->ticket, greeting->ticket_bytes);
        return count + greeting->ticket_bytes;
}

uint32_t pw_greeting_encode_answer(enum pw_status status, const char *name, uint8_t bytes[PW_GREETING_MAX])
{
        return encode((uint8_t)status, name, 0, bytes);
}

/* Its head is looked at as soon as the first bytes are there: who sends something else is not waited for. */
static enum pw_status check_head(const uint8_t *bytes, uint32_t count, uint32_t *ret_need, struct pw_error *ret_err)
{
        if (memcmp(bytes, magic, pw_min_u64(count, 3)) != 0)
                return pw_error_set(ret_err, PW_PROTOCOL, "what it says is no greeting of a pathwaysd");
        if (count > 3 && bytes[3] != magic[3])
                return pw_error_set(ret_err, PW_PROTOCOL, "it greets in version %u, this pathwaysd in %u: use matching ones",
                                    bytes[3], magic[3]);
        *ret_need = PW_GREETING_HEAD;
        if (count < PW_GREETING_HEAD)
                return PW_NOT_READY;
        if (!bytes[NAME_BYTES] || bytes[NAME_BYTES] > PW_HOST_NAME_MAX || bytes[TICKET_BYTES] > PW_TICKET_MAX || bytes[ZERO])
                return pw_error_set(ret_err, PW_PROTOCOL, "its greeting has a name of %u and a ticket of %u bytes",
                                    bytes[NAME_BYTES], bytes[TICKET_BYTES]);
        *ret_need = PW_GREETING_HEAD + bytes[NAME_BYTES] + bytes[TICKET_BYTES];
        return count < *ret_need ? PW_NOT_READY : PW_OK;
}

static enum pw_status decode_name(const uint8_t *bytes, struct pw_greeting *ret_greeting, struct pw_error *ret_err)
{
        uint32_t name_bytes = bytes[NAME_BYTES];

        memcpy(ret_greeting->name, bytes + PW_GREETING_HEAD, name_bytes);
        ret_greeting->name[name_bytes] = 0;
        if (strlen(ret_greeting->name) != name_bytes || !pw_host_name_ok(ret_greeting->name))
                return pw_error_set(ret_err, PW_PROTOCOL, "the name in its greeting is none that a host can have");
        return PW_OK;
}

enum pw_status pw_greeting_decode(const uint8_t *bytes, uint32_t count, struct pw_greeting *ret_greeting, uint32_t *ret_need,
                               struct pw_error *ret_err)
{
        struct pw_greeting greeting = { .ticket_bytes = 0 };
        enum pw_status status = check_head(bytes, count, ret_need, ret_err);

        if (status != PW_OK)
                return status;
        if (bytes[USE] != PW_USE_CONTROL && bytes[USE] != PW_USE_BULK)
                return pw_error_set(ret_err, PW_PROTOCOL, "its greeting is for use %u of a connection; there is none", bytes[USE]);
        greeting.use = (enum pw_greeting_use)bytes[USE];
        status = decode_name(bytes, &greeting, ret_err);
        if (status != PW_OK)
                return status;
        greeting.ticket_bytes = bytes[TICKET_BYTES];
        memcpy(greeting.ticket, bytes + PW_GREETING_HEAD + bytes[NAME_BYTES], greeting.ticket_bytes);
        *ret_greeting = greeting;
        return PW_OK;
}

enum pw_status pw_greeting_decode_answer(const uint8_t *bytes, uint32_t count, struct pw_greeting *ret_greeting, uint32_t *ret_need,
                                      struct pw_error *ret_err)
{
        struct pw_greeting greeting = { .ticket_bytes = 0 };
        enum pw_status status = check_head(bytes, count, ret_need, ret_err);

        if (status != PW_OK)
                return status;
        if (bytes[TICKET_BYTES] || (bytes[STATUS] != PW_OK && !pw_status_of_value(bytes[STATUS])))
                return pw_error_set(ret_err, PW_PROTOCOL, "its answer to a greeting is none");
        status = decode_name(bytes, &greeting, ret_err);
        if (status != PW_OK)
                return status;
        if (bytes[STATUS] != PW_OK)
                return pw_error_set(ret_err, (enum pw_status)bytes[STATUS], "host %s refuses this one: %s; its log says more",
                                    greeting.name, pw_status_text((enum pw_status)bytes[STATUS]));
        *ret_greeting = greeting;
        return PW_OK;
}

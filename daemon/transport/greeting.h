/* What the two sides of a connection say once both have proved themselves: a greeting of the caller, an answer of who listens.
 *
 * Bytes, of a greeting: magic "pwT" and version 1, use, bytes of the name, bytes of the ticket, 0; name; ticket. Of an answer:
 * magic, status (one byte, a number of pathways_types.h), bytes of the name, 0, 0; name. No length can ask for more than
 * PW_GREETING_MAX.
 */
#ifndef PW_DAEMON_TRANSPORT_GREETING_H
#define PW_DAEMON_TRANSPORT_GREETING_H

#include "base/error.h"
#include "base/host_name.h"

#define PW_TICKET_MAX 64u
#define PW_GREETING_HEAD 8u
#define PW_GREETING_MAX (PW_GREETING_HEAD + PW_HOST_NAME_MAX + PW_TICKET_MAX)

enum pw_greeting_use { PW_USE_CONTROL = 1, PW_USE_BULK = 2 };

struct pw_greeting {
        enum pw_greeting_use use;      /* of an answer: the one that was asked for */
        char name[PW_HOST_NAME_MAX + 1];
        uint8_t ticket[PW_TICKET_MAX];
        uint32_t ticket_bytes;
};

/* Both return the count of bytes. `greeting` is sound. */
uint32_t pw_greeting_encode(const struct pw_greeting *greeting, uint8_t bytes[PW_GREETING_MAX]);
uint32_t pw_greeting_encode_answer(enum pw_status status, const char *name, uint8_t bytes[PW_GREETING_MAX]);

/* From the first `count` bytes that came. PW_NOT_READY: *ret_need in all have to be there, never more than PW_GREETING_MAX.
 * Errors: PW_PROTOCOL; of an answer besides the status that it says: this side was refused. */
PW_MUST_CHECK enum pw_status pw_greeting_decode(const uint8_t *bytes, uint32_t count, struct pw_greeting *ret_greeting,
                                                uint32_t *ret_need, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_greeting_decode_answer(const uint8_t *bytes, uint32_t count, struct pw_greeting *ret_greeting,
                                                    uint32_t *ret_need, struct pw_error *ret_err);

#endif

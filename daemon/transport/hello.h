/* What the two sides of a connection say once both have proved themselves: a hello of the caller, an answer of who listens.
 *
 * Bytes, of a hello: magic "pwT" and version 1, use, bytes of the name, bytes of the ticket, 0; name; ticket. Of an answer: magic,
 * status (one byte, a number of pathways_types.h), bytes of the name, 0, 0; name. No length can ask for more than PW_HELLO_MAX.
 */
#ifndef PW_DAEMON_TRANSPORT_HELLO_H
#define PW_DAEMON_TRANSPORT_HELLO_H

#include "base/error.h"

#define PW_HOST_NAME_MAX 253u /* as in the DNS */
#define PW_TICKET_MAX 64u
#define PW_HELLO_HEAD 8u
#define PW_HELLO_MAX (PW_HELLO_HEAD + PW_HOST_NAME_MAX + PW_TICKET_MAX)

enum pw_hello_use { PW_USE_CONTROL = 1, PW_USE_BULK = 2 };

struct pw_hello {
        enum pw_hello_use use;      /* of an answer: the one that was asked for */
        char name[PW_HOST_NAME_MAX + 1];
        uint8_t ticket[PW_TICKET_MAX];
        uint32_t ticket_bytes;
};

/* A name of a host: 1 to PW_HOST_NAME_MAX letters, digits, '.', '-', '_'. */
bool pw_host_name_ok(const char *name);
/* The same, but for the case of letters. */
bool pw_host_name_equal(const char *a, const char *b);

/* Both return the count of bytes. `hello` is sound. */
uint32_t pw_hello_encode(const struct pw_hello *hello, uint8_t bytes[PW_HELLO_MAX]);
uint32_t pw_hello_encode_answer(enum pw_status status, const char *name, uint8_t bytes[PW_HELLO_MAX]);

/* From the first `count` bytes that came. PW_NOT_READY: *ret_need in all have to be there, at least; never more than PW_HELLO_MAX.
 * Errors: PW_PROTOCOL; of an answer besides the status that it says: this side was refused. */
PW_MUST_CHECK enum pw_status pw_hello_decode(const uint8_t *bytes, uint32_t count, struct pw_hello *ret_hello, uint32_t *ret_need,
                                             struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_hello_decode_answer(const uint8_t *bytes, uint32_t count, struct pw_hello *ret_hello,
                                                    uint32_t *ret_need, struct pw_error *ret_err);

#endif

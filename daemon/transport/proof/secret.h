/* Secrets in files that nobody else may read.
 */
#ifndef PW_DAEMON_TRANSPORT_PROOF_SECRET_H
#define PW_DAEMON_TRANSPORT_PROOF_SECRET_H

#include "base/error.h"

#define PW_SECRET_MAX 65536u

struct pw_secret {
        uint8_t *bytes;
        uint32_t count;
};

/* The bytes of the file at `path`, 1 to PW_SECRET_MAX: a regular file of this user or root, mode 0600 or less. `option` is named
 * where it is wrong.
 * Own: freed with pw_secret_done(). Errors: PW_BAD_CONFIG (not there, empty, too long), PW_DENIED (others may read or write it,
 * or it is theirs), PW_NO_MEMORY, PW_SYSTEM.   Blocks: reads a file. */
PW_MUST_CHECK enum pw_status pw_secret_read(const char *option, const char *path, struct pw_secret *ret_secret,
                                            struct pw_error *ret_err);
void pw_secret_done(struct pw_secret *secret); /* its bytes are wiped; accepts one that is zeroed */

#endif

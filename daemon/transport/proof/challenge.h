/* Two sides prove to each other that they know a secret, and neither says it.
 *
 * The caller says a random number; who listens says another, and a keyed hash of both; the caller answers with one of his own. Each
 * hash is HMAC-SHA256, by the secret, of which side it is, both numbers and both addresses of the connection: so none can be said
 * again on another connection or by the other side, nor be carried on by a relay between the two. The idea is that of SCRAM (RFC
 * 5802) without its passwords: the secret is to be random, as who hears a hash may try secrets against it.
 *
 * No socket in here: bytes in, bytes out.   Threads: one at a time.   Blocks: never.
 */
#ifndef PW_DAEMON_TRANSPORT_PROOF_CHALLENGE_H
#define PW_DAEMON_TRANSPORT_PROOF_CHALLENGE_H

#include "daemon/transport/proof/secret.h"

#define PW_CHALLENGE_NUMBER 32u
#define PW_CHALLENGE_HASH 32u
#define PW_CHALLENGE_MAGIC 4u
#define PW_CHALLENGE_MAX (PW_CHALLENGE_MAGIC + PW_CHALLENGE_NUMBER + PW_CHALLENGE_HASH)
#define PW_CHALLENGE_ABOUT 36u /* both addresses of the connection, 16 bytes and a port each, the caller's first */
#define PW_CHALLENGE_STEPS 3u

struct pw_challenge {
        const struct pw_secret *secret; /* borrowed */
        bool caller;
        uint32_t step;                  /* PW_CHALLENGE_STEPS: proved */
        uint8_t numbers[2][PW_CHALLENGE_NUMBER]; /* of the caller, of who listens */
        uint8_t about[PW_CHALLENGE_ABOUT];
        uint8_t bytes[PW_CHALLENGE_MAX]; /* of this step, to be said or heard: */
        uint32_t done, need;
};

/* Errors: PW_SYSTEM: no random number can be had. */
PW_MUST_CHECK enum pw_status pw_challenge_begin(struct pw_challenge *challenge, const struct pw_secret *secret, bool caller,
                                                const uint8_t about[PW_CHALLENGE_ABOUT], struct pw_error *ret_err);
/* The bytes of this step are this side's to say; else the other side's. */
static inline bool pw_challenge_says(const struct pw_challenge *challenge) { return challenge->caller == !(challenge->step & 1); }
/* So many bytes more of the step were said, or heard; with the last of them it is on to the next. What begins as no challenge is
 * not waited for. Errors: PW_PROTOCOL (no challenge), PW_DENIED (another secret). */
PW_MUST_CHECK enum pw_status pw_challenge_moved(struct pw_challenge *challenge, size_t bytes, struct pw_error *ret_err);

#endif

/* Requests to compile that nobody waits for. */
#ifndef PW_TESTS_ATTACK_POST_H
#define PW_TESTS_ATTACK_POST_H

#include "tests/integration/harness.h"

/* Post a program of one call without inputs, with one output, which is its result. */
struct attack_call { const char *function; const void *params; size_t params_bytes; };
void attack_post_call(struct pw_session *session, const struct pw_slice *slice, const struct attack_call *call);

#endif

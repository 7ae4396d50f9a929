/* What `why` answers, as text. */
#ifndef PW_TESTS_INTEGRATION_OPERATOR_CHAIN_H
#define PW_TESTS_INTEGRATION_OPERATOR_CHAIN_H

#include "tests/integration/harness.h"

/* The rows as one text, a line each; the caller's. */
char *it_chain_of(struct it_host *host, const char *what);
/* Are the texts, separated by '|', there in their order? NULL has none. */
bool it_chain_has(const char *chain, const char *texts);
/* Asked again until it is so: what waits comes to its wait a little later. */
void it_chain_expect(struct it_host *host, const char *what, const char *texts);
char *it_id_of(struct pw_future *future, char text[PW_ID_TEXT_BYTES]);
/* A child that has written its first byte. */
struct it_child it_start_child(void *context, int (*work)(void *, int));

#endif

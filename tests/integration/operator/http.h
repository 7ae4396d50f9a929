/* A client of the daemon's HTTP. Failures fail the test.
 */
#ifndef PW_TESTS_INTEGRATION_OPERATOR_HTTP_H
#define PW_TESTS_INTEGRATION_OPERATOR_HTTP_H

#include "tests/integration/harness.h"

#define HTTP_ANSWER_BYTES (256u << 10)

/* Where the daemon serves, as `status` says. */
void http_address(struct it_host *host, char text[120]);
/* Connected to "127.0.0.1:PORT" or "unix:PATH". Own: the caller closes it. */
int http_dial(const char *text);
void http_send(int fd, const char *text);
/* Until the end of the connection, however it ends, which is closed; returns the bytes. `text` has room for HTTP_ANSWER_BYTES. */
size_t http_read(int fd, char *text);
/* The status of the answer; its body in `body`, with as much room. */
int http_ask(const char *address, const char *request, char *body);

#endif

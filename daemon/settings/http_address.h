/* Where --http listens: an address that nobody beyond this host can reach.
 *
 * What crosses a network needs TLS with client certificates, so any other address is refused, with the reason.
 */
#ifndef PW_DAEMON_SETTINGS_HTTP_ADDRESS_H
#define PW_DAEMON_SETTINGS_HTTP_ADDRESS_H

#include "base/error.h"

#include <netinet/in.h>
#include <sys/un.h>

struct pw_http_address {
        union { struct sockaddr any; struct sockaddr_in in; struct sockaddr_in6 in6; struct sockaddr_un un; };
        socklen_t bytes;
};

#define PW_HTTP_ADDRESS_TEXT 120

/* "127.0.0.1:9464", "[::1]:9464", "localhost:9464" (127.0.0.1), "unix:/run/pathways/http.sock". Port 0: any that is free.
 * Errors: PW_INVALID, which names what was meant and what would do. */
PW_MUST_CHECK enum pw_status pw_http_address_parse(const char *text, struct pw_http_address *ret_address, struct pw_error *ret_err);
/* In the same form; returns `text`. */
char *pw_http_address_format(const struct pw_http_address *address, char text[PW_HTTP_ADDRESS_TEXT]);

#endif

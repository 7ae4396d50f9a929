/* Addresses of sockets, as people write them: "127.0.0.1:7400", "[::1]:0", "/run/pathways/peer.sock". Names are not looked up.
 */
#ifndef PW_DAEMON_TRANSPORT_ADDRESS_H
#define PW_DAEMON_TRANSPORT_ADDRESS_H

#include "base/error.h"

#include <netinet/in.h>
#include <sys/un.h>

struct pw_address {
        union { struct sockaddr any; struct sockaddr_in in; struct sockaddr_in6 in6; struct sockaddr_un un; };
        socklen_t bytes;
};

/* ADDR:PORT; port 0: any that is free. Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_address_parse(const char *text, struct pw_address *ret_address, struct pw_error *ret_err);
/* The path of a Unix socket. Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_address_parse_path(const char *text, struct pw_address *ret_address, struct pw_error *ret_err);
/* Nobody beyond this host can reach it. */
bool pw_address_is_local(const struct pw_address *address);
/* In the same form, cut to `text_bytes`; returns `text`. A socket without a name, as of who calls: "a process of this host". */
char *pw_address_format(const struct pw_address *address, char *text, size_t text_bytes);

#endif

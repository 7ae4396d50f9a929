/* Certificates: which ones a host shows and believes, and what is wrong with those that are shown to it.
 */
#ifndef PW_DAEMON_TRANSPORT_PROOF_CERTIFICATE_H
#define PW_DAEMON_TRANSPORT_PROOF_CERTIFICATE_H

#include "daemon/transport/transport.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* A host is named in full, as an alternative name of the subject. */
#define PW_CERTIFICATE_CHECK (X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

/* TLS 1.3 alone, for both sides of connections: shows --tls-cert, believes what --tls-ca signed and nobody else. The certificate
 * names this host, by params->host_name.
 * Own: freed by SSL_CTX_free(). Errors: PW_BAD_CONFIG, PW_DENIED (others may read the key), PW_NO_MEMORY, PW_SYSTEM.
 * Blocks: reads files. */
PW_MUST_CHECK enum pw_status pw_certificate_context(const struct pw_transport_params *params, SSL_CTX **ret_context,
                                                    struct pw_error *ret_err);
/* Why TLS ended, by this thread's queue of errors: PW_DENIED (a certificate, of either side), else PW_PROTOCOL. `expected`: the
 * host that was called, or "". */
PW_MUST_CHECK enum pw_status pw_certificate_error(SSL *ssl, const char *expected, struct pw_error *ret_err);

#endif

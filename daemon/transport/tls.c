/* TLS 1.3 over TCP: both sides show a certificate of one authority, which names their host. */
#include "daemon/transport/kinds.h"
#include "daemon/transport/proof/certificate.h"
#include "daemon/transport/socket.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#define READ_AHEAD_BYTES (256u << 10) /* of a bulk stream: records that are read by one call */

struct tls_pipe {
        struct pw_pipe base;
        SSL_CTX *context;  /* the transport's */
        SSL *ssl;          /* NULL: not begun */
        bool reads_ahead;
};

static struct tls_pipe *tls_of(struct pw_pipe *base) { return pw_container_of(base, struct tls_pipe, base); }

static enum pw_status tls_open(const struct pw_transport_params *params, void **ret_own, struct pw_error *ret_err)
{
        SSL_CTX *context;
        enum pw_status status = pw_certificate_context(params, &context, ret_err);

        if (status == PW_OK)
                *ret_own = context;
        return status;
}

static void tls_close(void *own) { SSL_CTX_free(own); }

static struct pw_pipe *tls_make(void *own)
{
        struct tls_pipe *pipe = calloc(1, sizeof *pipe);

        if (!pipe)
                return NULL;
        pipe->context = own;
        return &pipe->base;
}

/* What a call said that did not do what it was asked. */
static enum pw_status judge(struct tls_pipe *pipe, int result, const char *doing, struct pw_error *ret_err)
{
        int number = errno;

        switch (SSL_get_error(pipe->ssl, result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
                pipe->base.wants_write = SSL_want_write(pipe->ssl);
                return PW_NOT_READY;
        case SSL_ERROR_ZERO_RETURN: return pw_socket_error(EPIPE, doing, ret_err);
        case SSL_ERROR_SYSCALL: return pw_socket_error(number ? number : EPIPE, doing, ret_err);
        default: break;
        }
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
                return pw_socket_error(EPIPE, doing, ret_err);
        return pw_certificate_error(pipe->ssl, pipe->base.expected, ret_err);
}

static enum pw_status begin(struct tls_pipe *pipe, struct pw_error *ret_err)
{
        const char *expected = pipe->base.expected;

        pipe->ssl = SSL_new(pipe->context);
        if (!pipe->ssl || SSL_set_fd(pipe->ssl, pipe->base.fd) != 1)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for TLS");
        SSL_set_hostflags(pipe->ssl, PW_CERTIFICATE_CHECK);
        if (expected[0] && (SSL_set1_host(pipe->ssl, expected) != 1 || SSL_set_tlsext_host_name(pipe->ssl, expected) != 1))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for TLS");
        if (pipe->base.caller)
                SSL_set_connect_state(pipe->ssl);
        else
                SSL_set_accept_state(pipe->ssl);
        return PW_OK;
}

static enum pw_status tls_prove(struct pw_pipe *base, struct pw_error *ret_err)
{
        struct tls_pipe *pipe = tls_of(base);
        enum pw_status status = pipe->ssl ? PW_OK : begin(pipe, ret_err);
        int result;

        if (status != PW_OK)
                return status;
        ERR_clear_error();
        errno = 0;
        result = SSL_do_handshake(pipe->ssl);
        return result == 1 ? PW_OK : judge(pipe, result, "handshake", ret_err);
}

static bool tls_is_of(struct pw_pipe *base, const char *host_name)
{
        X509 *shown = SSL_get0_peer_certificate(tls_of(base)->ssl);

        return shown && X509_check_host(shown, host_name, 0, PW_CERTIFICATE_CHECK, NULL) == 1;
}

static const struct iovec *first_part(const struct iovec *parts, uint32_t count)
{
        while (count > 1 && !parts->iov_len)
                parts++, count--;
        return parts;
}

/* A bulk stream's thread waits in the descriptor alone, so it may take more out of it than it was asked for. */
static void read_ahead(struct tls_pipe *pipe)
{
        pipe->reads_ahead = true;
        SSL_set_default_read_buffer_len(pipe->ssl, READ_AHEAD_BYTES);
        if (SSL_free_buffers(pipe->ssl) == 1) /* the next ones have that length; with something in them they stay as they are */
                SSL_set_read_ahead(pipe->ssl, 1);
}

static enum pw_status tls_read(struct pw_pipe *base, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                               struct pw_error *ret_err)
{
        struct tls_pipe *pipe = tls_of(base);
        const struct iovec *part = first_part(parts, count);
        int result;

        if (base->blocks && !pipe->reads_ahead)
                read_ahead(pipe);
        ERR_clear_error();
        errno = 0;
        result = SSL_read_ex(pipe->ssl, part->iov_base, part->iov_len, ret_bytes);
        base->pending = result == 1 && SSL_pending(pipe->ssl) > 0;
        return result == 1 ? PW_OK : judge(pipe, result, "read", ret_err);
}

static enum pw_status tls_write(struct pw_pipe *base, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                                struct pw_error *ret_err)
{
        struct tls_pipe *pipe = tls_of(base);
        const struct iovec *part = first_part(parts, count);
        int result;

        ERR_clear_error();
        errno = 0;
        result = SSL_write_ex(pipe->ssl, part->iov_base, part->iov_len, ret_bytes);
        return result == 1 ? PW_OK : judge(pipe, result, "write", ret_err);
}

static void tls_free(struct pw_pipe *base)
{
        SSL_free(tls_of(base)->ssl);
        pw_socket_free(base); /* the first thing in it */
}

const struct pw_transport_kind pw_transport_tls = {
        .name = "tls",
        .has = PW_TRANSPORT_NAMES | PW_TRANSPORT_ENCRYPTS | PW_TRANSPORT_BEYOND,
        .open = tls_open,
        .close = tls_close,
        .resolve = pw_address_parse,
        .make = tls_make,
        .prove = tls_prove,
        .is_of = tls_is_of,
        .read = tls_read,
        .write = tls_write,
        .shut = pw_socket_shut,
        .free = tls_free,
};

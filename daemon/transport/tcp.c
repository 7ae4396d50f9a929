/* TCP on loopback: both sides know one secret. What is said is plain, so other addresses are refused. */
#include "daemon/transport/kinds.h"
#include "daemon/transport/proof/challenge.h"
#include "daemon/transport/socket.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <sys/socket.h>

struct tcp_pipe {
        struct pw_pipe base;
        const struct pw_secret *secret;
        bool begun;
        struct pw_challenge challenge;
};

static enum pw_status tcp_open(const struct pw_transport_params *params, void **ret_own, struct pw_error *ret_err)
{
        const char *path = params->secret_file;
        struct pw_secret *secret;
        enum pw_status status;

        if (!path || !*path)
                return pw_error_set(ret_err, PW_BAD_CONFIG, "hosts that meet over TCP on loopback prove themselves by a secret: "
                                    "give all of them one --secret-file, mode 0600, as from `head -c 32 /dev/urandom`");
        secret = calloc(1, sizeof *secret);
        if (!secret)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for %s", path);
        status = pw_secret_read("--secret-file", path, secret, ret_err);
        if (status == PW_OK)
                *ret_own = secret;
        else
                free(secret);
        return status;
}

static void tcp_close(void *own)
{
        if (own)
                pw_secret_done(own);
        free(own);
}

static enum pw_status tcp_resolve(const char *text, struct pw_address *ret_address, struct pw_error *ret_err)
{
        struct pw_address address;
        enum pw_status status = pw_address_parse(text, &address, ret_err);

        if (status == PW_OK && !pw_address_is_local(&address))
                return pw_error_set(ret_err, PW_UNSUPPORTED, "address %.80s: beyond this machine hosts meet by TLS alone; give "
                                    "--tls-cert, --tls-key and --tls-ca, or an address on loopback (127.0.0.1, [::1])", text);
        if (status == PW_OK)
                *ret_address = address;
        return status;
}

static struct pw_pipe *tcp_make(void *own)
{
        struct tcp_pipe *pipe = calloc(1, sizeof *pipe);

        if (!pipe)
                return NULL;
        pipe->secret = own;
        return &pipe->base;
}

/* 16 bytes and a port, the same for an IPv4 address that came as one of IPv6. */
static void write_address(const struct pw_address *address, uint8_t bytes[PW_CHALLENGE_ABOUT / 2])
{
        in_port_t port = address->in.sin_port; /* at the same place in both */

        memset(bytes, 0, 10);
        memset(bytes + 10, 0xff, 2);
        if (address->any.sa_family == AF_INET)
                memcpy(bytes + 12, &address->in.sin_addr, 4);
        else
                memcpy(bytes, &address->in6.sin6_addr, 16);
        memcpy(bytes + 16, &port, 2);
}

static enum pw_status begin(struct tcp_pipe *pipe, struct pw_error *ret_err)
{
        struct pw_address near = { .bytes = sizeof near.un }, far = { .bytes = sizeof far.un };
        uint8_t about[PW_CHALLENGE_ABOUT];
        bool caller = pipe->base.caller;

        if (getsockname(pipe->base.fd, &near.any, &near.bytes) < 0)
                return pw_error_errno(ret_err, errno, "getsockname");
        if (getpeername(pipe->base.fd, &far.any, &far.bytes) < 0)
                return pw_socket_error(errno, "getpeername", ret_err);
        write_address(caller ? &near : &far, about);
        write_address(caller ? &far : &near, about + PW_CHALLENGE_ABOUT / 2);
        pipe->begun = true;
        return pw_challenge_begin(&pipe->challenge, pipe->secret, caller, about, ret_err);
}

static enum pw_status tcp_prove(struct pw_pipe *base, struct pw_error *ret_err)
{
        struct tcp_pipe *pipe = pw_container_of(base, struct tcp_pipe, base);
        struct pw_challenge *challenge = &pipe->challenge;
        enum pw_status status = pipe->begun ? PW_OK : begin(pipe, ret_err);
        size_t bytes = 0;

        while (status == PW_OK && challenge->step < PW_CHALLENGE_STEPS) {
                struct iovec part = { challenge->bytes + challenge->done, challenge->need - challenge->done };

                status = pw_challenge_says(challenge) ? pw_socket_write(base, &part, 1, &bytes, ret_err)
                                                      : pw_socket_read(base, &part, 1, &bytes, ret_err);
                if (status == PW_DAEMON_GONE && !base->caller && challenge->step == 2)
                        return pw_error_set(ret_err, PW_DENIED, "it hung up at this host's proof: it has another secret");
                if (status != PW_OK)
                        break;
                status = pw_challenge_moved(challenge, bytes, ret_err);
        }
        return status;
}

/* Who knows the secret is believed. */
static bool tcp_is_of(struct pw_pipe *pipe, const char *host_name)
{
        (void)pipe, (void)host_name;
        return true;
}

static void tcp_free(struct pw_pipe *base)
{
        struct tcp_pipe *pipe = pw_container_of(base, struct tcp_pipe, base);

        pw_socket_free(&pipe->base); /* the first thing in it */
}

const struct pw_transport_kind pw_transport_tcp = {
        .name = "tcp",
        .open = tcp_open,
        .close = tcp_close,
        .resolve = tcp_resolve,
        .make = tcp_make,
        .prove = tcp_prove,
        .is_of = tcp_is_of,
        .read = pw_socket_read,
        .write = pw_socket_write,
        .shut = pw_socket_shut,
        .free = tcp_free,
};

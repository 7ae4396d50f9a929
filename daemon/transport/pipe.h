/* A pipe: the bytes to and from one peer, and what a kind of transport does with them.
 *
 * Whoever has it uses it: a worker while it is proved, then the loop, or the thread of a bulk stream; one thread at a time.
 */
#ifndef PW_DAEMON_TRANSPORT_PIPE_H
#define PW_DAEMON_TRANSPORT_PIPE_H

#include "daemon/transport/address.h"
#include "daemon/transport/transport.h"

#include <sys/uio.h>

struct pw_pipe {
        const struct pw_transport_kind *kind;
        struct pw_transport *transport;
        int fd;
        bool caller;
        bool wants_write;   /* after PW_NOT_READY: go on when `fd` can be written; else when it can be read */
        bool pending;       /* after a read: more is here already, of which the descriptor knows nothing */
        bool blocks;        /* a bulk stream's: so does `fd` */
        char expected[PW_HOST_NAME_MAX + 1]; /* of a caller: the host that shall answer; "": any */
        char peer[PW_TRANSPORT_ADDRESS_TEXT];
};

/* What a kind has, besides. */
#define PW_TRANSPORT_NAMES 1u    /* what a peer shows to prove itself names its host; of others the name is what he says */
#define PW_TRANSPORT_ENCRYPTS 2u /* nobody on the way reads, or changes, what is said */
#define PW_TRANSPORT_BEYOND 4u   /* it serves addresses of other machines */

struct pw_transport_kind {
        const char *name;
        uint32_t has;
        /* What proves this host. Own: given back with close(). Errors and blocking: as pw_transport_open(). */
        enum pw_status (*open)(const struct pw_transport_params *params, void **ret_own, struct pw_error *ret_err);
        void (*close)(void *own);
        /* Errors: PW_INVALID, PW_UNSUPPORTED. */
        enum pw_status (*resolve)(const char *text, struct pw_address *ret_address, struct pw_error *ret_err);
        /* A pipe of this kind, zeroed; NULL: out of memory. */
        struct pw_pipe *(*make)(void *own);
        /* A step of the proof, of both sides to each other. PW_NOT_READY: see wants_write. Errors: PW_DENIED, PW_PROTOCOL,
         * PW_DAEMON_GONE, PW_SYSTEM, PW_NO_MEMORY.   Threads: a worker. */
        enum pw_status (*prove)(struct pw_pipe *pipe, struct pw_error *ret_err);
        /* Does what was shown name that host? Where nothing does: yes. After prove(). */
        bool (*is_of)(struct pw_pipe *pipe, const char *host_name);
        /* Some of the bytes, at least one, in place. Errors: PW_NOT_READY, PW_DAEMON_GONE (closed, reset), PW_PROTOCOL (spoilt on
         * the way), PW_SYSTEM. What was not written is given again, at least that.   Blocks: if the descriptor does. */
        enum pw_status (*read)(struct pw_pipe *pipe, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                               struct pw_error *ret_err);
        enum pw_status (*write)(struct pw_pipe *pipe, const struct iovec *parts, uint32_t count, size_t *ret_bytes,
                                struct pw_error *ret_err);
        /* Nothing goes through any more; who blocks in it comes out. Threads: any. */
        void (*shut)(struct pw_pipe *pipe);
        void (*free)(struct pw_pipe *pipe);
};

/* Pipes that nobody wants for a stream. Accepts NULL. */
static inline void pw_pipe_free(struct pw_pipe *pipe)
{
        if (pipe)
                pipe->kind->free(pipe);
}

#endif

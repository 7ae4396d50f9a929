/* Transports: how two hosts reach each other, and prove to each other who they are. The plain kind is unix.c.
 *
 * A transport listens at addresses and calls others; both sides of a connection prove themselves, then greet: names of both hosts,
 * and of the caller what the connection is for, and the ticket of its link. What comes of it is a pipe, for a control stream
 * (stream/control.h) or a bulk stream (stream/bulk.h). Nobody hears of a connection that did not come so far but by its refusal.
 *
 * Waiting for a peer is the loop's; each step of a proof, as it may take long to compute, is a worker's (crew.h). So a peer that
 * says nothing holds up nobody, and goes at its deadline; of those that have proved nothing yet the oldest goes when there are
 * many.
 *
 * To add a kind: NAME.c here, a line each in kinds.c and kinds.h, and in daemon/local.mk one, for the library that the daemon and
 * tests/conformance/transport_test share; the test has to be told what proves a host there.
 *
 * Threads: loop thread only, but for what says otherwise.   Blocks: open() and close() only.
 */
#ifndef PW_DAEMON_TRANSPORT_TRANSPORT_H
#define PW_DAEMON_TRANSPORT_TRANSPORT_H

#include "base/list.h"
#include "daemon/transport/greeting.h"

struct pw_loop;
struct pw_observer;
struct pw_pipe;
struct pw_transport;
struct pw_transport_kind;
struct pw_listener;
struct pw_dial;

#define PW_TRANSPORT_ADDRESS_TEXT 120u /* room for any address as text, with its 0 */

struct pw_transport_params {
        struct pw_loop *loop;         /* borrowed */
        const char *host_name;        /* of this host; borrowed; pw_host_name_ok() */
        uint64_t handshake_us;        /* how long one may take; 0: PW_HANDSHAKE_US */
        const char *secret_file;      /* of tcp; NULL or "": none. Read by open(), as are those below */
        const char *tls_cert, *tls_key, *tls_ca; /* of tls, PEM */
        const struct pw_observer *observer; /* of handshakes; NULL: nobody watches; borrowed */
};
#define PW_HANDSHAKE_US 3000000u

/* What proves this host is read and checked.
 * Errors: PW_NOT_FOUND (no kind of that name), PW_BAD_CONFIG (a file is missing, or not what it must be), PW_DENIED (others may
 * read it), PW_NO_MEMORY, PW_SYSTEM.   Blocks: reads files. */
PW_MUST_CHECK enum pw_status pw_transport_open(const char *kind, const struct pw_transport_params *params,
                                               struct pw_transport **ret_transport, struct pw_error *ret_err);
/* All listeners and dials are freed; nobody is told anything any more. Pipes and streams are freed before.
 * Blocks: until steps of handshakes under way are computed. */
void pw_transport_close(struct pw_transport *transport);
const struct pw_transport_kind *pw_transport_kind_of(const struct pw_transport *transport);
/* Refuse who is late, listen again after a pause; UINT64_MAX: nothing is due before the loop hears of something. */
void pw_transport_turn(struct pw_transport *transport, uint64_t now_us);
uint64_t pw_transport_next_us(const struct pw_transport *transport);

/* --- listening -------------------------------------------------------------------------------------------------------------- */

/* Told by the loop, never inside a call here. They may call anything but close() and free(). */
struct pw_listener_events {
        /* Somebody proved himself. Own: the pipe is theirs. `greeting` is borrowed for the call. */
        void (*came)(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting);
        /* Somebody did not: PW_DENIED, PW_PROTOCOL, PW_DEADLINE, PW_DAEMON_GONE, PW_LIMIT (too many at once). Whoever can reach
         * the address can make this be told as often as he likes. */
        void (*refused)(void *context, const struct pw_error *why);
};
/* Errors: PW_INVALID (no address), PW_UNSUPPORTED (an address that this kind does not serve; says what would), PW_EXISTS (in use),
 * PW_SYSTEM, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_transport_listen(struct pw_transport *transport, const char *address,
                                                 const struct pw_listener_events *events, void *context,
                                                 struct pw_listener **ret_listener, struct pw_error *ret_err);
/* Where it listens, with the port that was chosen for 0; good as long as it is. */
const char *pw_listener_address(const struct pw_listener *listener);
/* Who is at a handshake there is hung up on, untold. */
void pw_listener_free(struct pw_listener *listener);

/* --- calling ---------------------------------------------------------------------------------------------------------------- */

struct pw_dial_params {
        const char *address;          /* borrowed for the call */
        const char *expected;         /* the host that shall answer; NULL: any that proves itself */
        enum pw_greeting_use use;
        const void *ticket;           /* up to PW_TICKET_MAX bytes; borrowed for the call */
        uint32_t ticket_bytes;
        /* Called once unless the dial is freed before, by the loop. Own: *pipe_take is theirs; NULL: `why` says why there is none.
         * `greeting`: of the host that answered, its name. */
        void (*done)(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting, const struct pw_error *why);
        void *context;
};
/* Errors: PW_INVALID, PW_UNSUPPORTED, PW_SYSTEM, PW_NO_MEMORY, PW_NOT_FOUND, PW_DAEMON_GONE, PW_BUSY: `done` is not called then.
 * `done` brings PW_NOT_FOUND (its machine says that nobody listens there), PW_DAEMON_GONE (he hung up, or nothing answers),
 * PW_DENIED (one of the two is not who he has to be), PW_PROTOCOL, PW_DEADLINE.
 * Own: *ret_dial is freed by its owner, at the latest after `done`, not inside. */
PW_MUST_CHECK enum pw_status pw_transport_dial(struct pw_transport *transport, const struct pw_dial_params *params,
                                               struct pw_dial **ret_dial, struct pw_error *ret_err);
void pw_dial_free(struct pw_dial *dial);

/* --- kinds ------------------------------------------------------------------------------------------------------------------ */

const struct pw_transport_kind *pw_transport_kind(const char *name); /* NULL: none */
const struct pw_transport_kind *pw_transport_kind_at(uint32_t i);    /* NULL behind the last */

#endif

/* Bulk streams with other hosts: threads that receive chunks of values into rooms, and that send them from rooms.
 *
 * Who pulls opens a stream to the source when it has something to receive there; a ticket says whose it is, and of which term of
 * their link. A job has its range of a room until it was reported, which each is, exactly once, by the loop and never inside a call
 * here. On the wire a chunk is a head (cluster/pull/pull_message.h), with its checksum, and its bytes.
 *
 * Streams outlive the connection that the two have; one that is to be opened waits until there is one. One that cannot be had, or
 * is hung up on before anything came, is tried again after a pause, for a lease.
 * A job that is stopped in its course lets go of its range with the next piece, and the rest goes nowhere: so what others asked of
 * that stream is not lost. Where the other side keeps it waiting, the stream is shut.
 *
 * Threads: loop thread only, but for the rooms, which the jobs' threads have.   Blocks: never, but pw_bulk_free().
 */
#ifndef PW_DAEMON_PEER_PULL_BULK_H
#define PW_DAEMON_PEER_PULL_BULK_H

#include "daemon/peer/peers_private.h"

struct pw_bulk;

/* done_us: when that was so, of CLOCK_MONOTONIC, which may be a while ago where the loop is busy. */
struct pw_bulk_reports {
        /* PW_OK: it is there, and its checksum is right; PW_PROTOCOL: it was wrong; PW_CANCELLED: it was stopped; PW_SYSTEM: the
         * stream is no more; PW_DEADLINE: none could be opened for a lease. */
        void (*received)(void *context, uint64_t ask, enum pw_status status, uint64_t done_us);
        void (*sent)(void *context, uint64_t send, enum pw_status status, uint64_t done_us); /* PW_OK, PW_CANCELLED, PW_SYSTEM */
};

/* Own: given back with pw_bulk_free(). Errors: PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_bulk_new(struct pw_peers *peers, const struct pw_bulk_reports *reports, struct pw_bulk **ret_bulk,
                                         struct pw_error *ret_err);
/* Every stream is shut: nothing is reported any more. */
void pw_bulk_stop(struct pw_bulk *bulk);
/* After pw_transport_close(), which waits for the threads. Accepts NULL. */
void pw_bulk_free(struct pw_bulk *bulk);

struct pw_bulk_job {
        uint64_t number, ask;  /* number: of what is received, the ask; of what is sent, the send */
        uint8_t *at;           /* the range */
        uint32_t bytes;
};
void pw_bulk_receive(struct pw_bulk *bulk, uint32_t host, uint32_t stream, const struct pw_bulk_job *job);
void pw_bulk_send(struct pw_bulk *bulk, uint32_t host, uint32_t stream, const struct pw_bulk_job *job);
/* It is reported soon: at once where its thread has not begun it. What is being sent goes on, if it can. */
void pw_bulk_stop_receiving(struct pw_bulk *bulk, uint32_t host, uint32_t stream, uint64_t ask);
void pw_bulk_stop_sending(struct pw_bulk *bulk, uint64_t send);

/* Somebody opened a bulk stream to this host. */
void pw_bulk_came(struct pw_bulk *bulk, struct pw_pipe *pipe_take, const struct pw_greeting *greeting);
/* The two have a connection: what waited for that is opened. */
void pw_bulk_met(struct pw_bulk *bulk, uint32_t host);
/* The term with `host` has ended: its streams are shut, their jobs are reported. */
void pw_bulk_ended(struct pw_bulk *bulk, uint32_t host);
/* Tries again, shuts what does not stop. By CLOCK_MONOTONIC; UINT64_MAX: nothing is due. */
void pw_bulk_turn(struct pw_bulk *bulk, uint64_t now_us);
uint64_t pw_bulk_next_us(const struct pw_bulk *bulk);

#endif

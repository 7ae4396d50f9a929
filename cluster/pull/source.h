/* What this host sends: chunks of rooms where it has a value, or is getting one, to who asks for them.
 *
 * An *offer* is such a room. A thread that sends from it reads it like a gang: LET_GO of a withdrawn offer comes when each thread
 * that has the room has reported, and not before; until then the room is not freed, moved, donated or written. Who wants to do any
 * of that withdraws the offer first.
 * What the host cannot read (memory of some devices) is staged: an executor copies a chunk into one of a few places of the link's
 * reserve, from which it is sent. It waits for a place here, never in the queue for memory.
 *
 * Of a pull under way only chunks that are here are sent; who asks for another is told to wait, once. A stream of a host has a
 * bounded number of sends at a time; what waits for its chunk, or for a place, keeps nothing else waiting.
 *
 * Events are calls, effects are actions. Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_PULL_SOURCE_H
#define PW_CLUSTER_PULL_SOURCE_H

#include "cluster/pull/pull_message.h"

struct pw_pull_source; /* of a host */
struct pw_observer;

enum pw_offer_state {
        PW_OFFER_NONE = 0,
        PW_OFFER_PART,    /* a pull under way fills it */
        PW_OFFER_ALL,     /* it has all of the value */
        PW_OFFER_LEAVING, /* withdrawn; threads may have its room */
        PW_OFFER_STATES
};
enum pw_offer_event { PW_OFFER_BEGIN = 0, PW_OFFER_FILL, PW_OFFER_WITHDRAW, PW_OFFER_FREE, PW_OFFER_EVENTS };
enum pw_send_state {
        PW_SEND_NONE = 0,
        PW_SEND_WAITING,  /* for its chunk, a place to stage it, or its stream */
        PW_SEND_STAGING,  /* an executor copies it out of the room */
        PW_SEND_STAGED,   /* it waits for its stream; no one has the room */
        PW_SEND_SENDING,  /* a thread sends it, from the room or its place */
        PW_SEND_STOPPING, /* nobody wants it; executor or thread have not reported */
        PW_SEND_REFUSED,  /* who asked is to be told */
        PW_SEND_STATES
};
enum pw_send_event {
        PW_SEND_ASK = 0, PW_SEND_DENY, PW_SEND_STAGE, PW_SEND_FILLED, PW_SEND_SEND, PW_SEND_STOP, PW_SEND_REPORT, PW_SEND_EVENTS
};

enum pw_pull_source_action_kind {
        PW_PULL_SOURCE_SAY = 1, /* `message` to `host`, on its link */
        /* copy `chunk` of `place` to the place `slot` of the reserve of the link with `host`, then pw_pull_source_staged() */
        PW_PULL_SOURCE_STAGE,
        /* the thread of `stream` to `host` is to send `chunk` with the number `ask` before it, of `place`, or, `is_staged`, from
         * `slot`; then pw_pull_source_sent() */
        PW_PULL_SOURCE_SEND,
        PW_PULL_SOURCE_STOP,    /* `send` is not wanted: executor or thread are to report soon, whatever has become of it */
        PW_PULL_SOURCE_LET_GO,  /* no thread has the room of `place`; the offer is no more */
};
struct pw_pull_source_action {
        enum pw_pull_source_action_kind kind;
        uint32_t host, stream, chunk, slot;
        bool is_staged;
        uint64_t send, ask;
        void *place;
        struct pw_pull_message message;
};

struct pw_pull_source_params {
        uint32_t sends;        /* of a stream at a time */
        uint32_t slots;        /* places of each link's reserve: PW_PULL_SOURCE_SLOTS_MAX at most */
        uint64_t first_number; /* of offers: above all that earlier lives of this host used */
        const struct pw_observer *observer; /* NULL: nobody watches; borrowed */
};
#define PW_PULL_SOURCE_SLOTS_MAX 32u
#define PW_PULL_SOURCE_ASKS_MAX 65536u /* of a host at a time */

PW_MUST_CHECK enum pw_status pw_pull_source_new(const struct pw_pull_source_params *params, struct pw_pull_source **ret_source,
                                           struct pw_error *ret_err);
void pw_pull_source_free(struct pw_pull_source *source);

/* --- offers ----------------------------------------------------------------------------------------------------------------- */

struct pw_offer_params {
        struct pw_id id;
        uint64_t bytes;
        bool is_whole;         /* else nothing of it is there yet */
        bool is_staged;        /* this host cannot read the room */
        void *place;           /* the caller's; borrowed until LET_GO */
};
/* *ret_number: by which it is asked for. Errors: PW_INVALID (no bytes), PW_TOO_LARGE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_pull_source_offer(struct pw_pull_source *source, const struct pw_offer_params *params,
                                                  uint64_t *ret_number, struct pw_error *ret_err);
/* A chunk of it is here, and is not written again. */
void pw_pull_source_have(struct pw_pull_source *source, uint64_t number, uint32_t chunk);
/* It is asked for no more; who waits is told `status`, an error. LET_GO comes. Nothing, where it was withdrawn before. */
void pw_pull_source_withdraw(struct pw_pull_source *source, uint64_t number, enum pw_status status);

/* --- threads and other hosts ------------------------------------------------------------------------------------------------ */

/* The executor is done with the room. An error: it could not read it. */
void pw_pull_source_staged(struct pw_pull_source *source, uint64_t send, enum pw_status status);
/* The thread is done with the room, or the slot. PW_CANCELLED: it was told to stop, and sent nothing; who asked is told. Other
 * errors: its stream is broken, which who asked sees. */
void pw_pull_source_sent(struct pw_pull_source *source, uint64_t send, enum pw_status status);
/* ASK, STOP. Errors: PW_PROTOCOL, PW_NO_MEMORY: nothing has changed; give the host up. */
PW_MUST_CHECK enum pw_status pw_pull_source_receive(struct pw_pull_source *source, uint32_t host,
                                                    const struct pw_pull_message *message, struct pw_error *ret_err);
/* The term with `host` has ended: what it asked for is not wanted. Its streams are shut, their threads report as ever. */
void pw_pull_source_ended(struct pw_pull_source *source, uint32_t host);

/* The next action; false: none. All are done before the next event. */
bool pw_pull_source_next(struct pw_pull_source *source, struct pw_pull_source_action *ret_action);

struct pw_pull_source_counts { uint32_t offers, leaving, waiting, staging, staged, sending, stopping, refused; };
struct pw_pull_source_counts pw_pull_source_count(const struct pw_pull_source *source);

#endif

/* A link: what this host keeps of one other host, over connections that come and go.
 *
 * Frames are numbered from 1 on in each direction. They are kept until the other side says that it has them, and written again on
 * the next connection: each arrives once, in order, for as long as the link has the same *term*. A term ends when one side has
 * heard nothing of the other for a lease (pw_link_turn() says GAVE_UP, the term counts up), or when the other was started again; a
 * side that did not know of it learns it when the two meet, from the other's term (pw_link_meet()). Nothing of an ended term is
 * written, believed or kept; what was sent before the two have met in a term goes with whatever term they meet in. No third host is
 * asked.
 *
 * Of two hosts the one with the lower number *decides* which connection is theirs, so that the two agree when both call: it meets
 * when it has read the other's hello, and answers with its stand; the other one meets when it has read that answer. Who has met
 * shuts the connection that was theirs before, and its own calls that are under way.
 * After a break the one that decides leaves the first call to the other for some round trips, a beat at most: else each could shut
 * for ever what the other had just met on.
 *
 * A machine that answers a call with the word that nobody listens there says that the process has ended: a term that was met ends
 * with that, and not only after a lease. (A process that is stopped, or a queue that is full, does not answer so.)
 *
 * Frames that ask for work need a credit, of which the other side has a window (the idea is that of HTTP/2, RFC 9113, 5.2, counted
 * in frames); without one they wait here. All others need none, so that an answer never waits behind a question.
 *
 * A frame that has come is acknowledged with whatever is written next, after PW_LINK_ACK_US at the latest, with the time that it
 * waited for that, as QUIC does (RFC 9000, 13.2); and a frame that may wait for company, like the word that something is held no
 * more, is written with the next one that may not, after PW_LINK_COMPANY_US at the latest. So question and answer are two writes.
 *
 * Holds no socket and no clock: times are fields of events, by CLOCK_BOOTTIME, so that a host that slept knows it. Threads: one at
 * a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_LINK_LINK_H
#define PW_CLUSTER_LINK_LINK_H

#include "base/error.h"
#include "base/list.h"
#include "cluster/link/link_clock.h"

struct pw_observer;

enum pw_link_state {
        PW_LINK_IDLE = 0, /* nobody wants it, nothing is kept of it */
        PW_LINK_CALLING,  /* wanted, and not met in this term */
        PW_LINK_UP,       /* frames go to and fro */
        PW_LINK_CUT,      /* met, its connection broke: it is called again, till its lease is over */
        PW_LINK_AWAY,     /* given up, and not met since: it is called for a lease now and then, also if nobody wants it */
        PW_LINK_STATES
};
enum pw_link_event { PW_LINK_WANT = 0, PW_LINK_MEET, PW_LINK_BREAK, PW_LINK_GIVE_UP, PW_LINK_EVENTS };

struct pw_link_params {
        uint32_t own, host;      /* numbers: of this host, of the other one; they differ */
        uint32_t own_epoch;
        uint64_t lease_us, beat_us;
        uint32_t window;         /* works of the other side under way here at most */
        uint64_t kept_bytes_max; /* of frames with numbers: a side that takes none for so long is given up */
        const struct pw_observer *observer; /* NULL: nobody watches; borrowed */
};

/* A frame, from pw_frame_new(). */
struct pw_link_frame {
        struct pw_list link;
        uint64_t number;         /* 0: it waits for a credit */
        bool work;
        bool may_wait;           /* for company, PW_LINK_COMPANY_US at most; false from pw_link_frame_new() */
        uint8_t whose;           /* which of the cores behind the two links it is for: the daemon's to say */
        uint32_t bytes;
        uint8_t data[];
};
/* What goes before each frame. number 0: a beat, without a frame. held_us: for how long the last frame received has been there. */
struct pw_link_head { uint64_t number, received, granted; bool work; struct pw_link_stamps stamps; uint64_t held_us; };

#define PW_LINK_ACK_US 25000u   /* or half of the time between two beats, where that is less */
#define PW_LINK_ACK_FRAMES 16u  /* so many are acknowledged at once */
#define PW_LINK_COMPANY_US 1000u

/* Where a side stands; both tell each other before anything else. `met`: the epoch of the other host that it met in this term; 0:
 * none. What it received is of that one. */
struct pw_link_stand { uint64_t term, received; uint32_t met; };
struct pw_link_peer {
        uint32_t epoch;          /* of the other host */
        uint64_t instance;       /* random, of its process */
        struct pw_link_stand stand;
};

struct pw_link {
        struct pw_link_params params;
        enum pw_link_state state;
        uint32_t epoch;          /* of the other host; 0: never met */
        uint64_t instance;
        uint64_t term;           /* from 1 on */
        uint64_t connection;     /* counts those that were met */
        uint64_t sent, acked;    /* numbers of frames: given, and known to be there */
        uint64_t received;       /* the last one of the other side */
        uint64_t works_sent, granted;  /* ours: numbered so far, and so many may be */
        uint64_t works_came, works_done; /* theirs */
        uint64_t said;           /* of theirs that may be numbered, as they were told last */
        struct pw_list kept;     /* frames with numbers, from acked + 1 on */
        struct pw_list waiting;  /* works without a credit */
        struct pw_list *cursor;  /* what was written last on this connection: in `kept`, or its head */
        uint64_t kept_bytes;     /* of those in `kept`: what waits for a credit is held back by this side */
        uint64_t heard_us, wrote_us, call_us;
        uint64_t wanted_us;      /* when it was called for a lease from then on, as it was not there */
        uint64_t since_us;       /* when it came into its state, or its term began; 0: it is as it was made */
        uint64_t round_us;       /* from when a frame is written until it is known to be there, smoothed; 0: none was yet */
        uint64_t timed, timed_us; /* the frame that is being timed, and when it was written; 0: none is */
        uint64_t due_us;         /* when something has to be written, as a frame is not acknowledged or waited long enough;
                                  * UINT64_MAX: nothing has to */
        uint32_t owed;           /* frames that came since this side wrote last: they are not acknowledged */
        uint64_t came_us;        /* when the last frame came */
        bool pressed;            /* frames behind the cursor wait for no company any more */
        struct pw_link_clock clock; /* of the other host */
        uint32_t calls;          /* that failed since it was heard */
        uint32_t refusals;       /* of them, the last ones that were refused: nobody listened there */
        uint32_t aways;          /* how often it was given up since the two have met, */
        uint64_t again_us;       /* and, while it is away, when it is called again */
        bool calling;
};

/* Errors: PW_INVALID (a host has no link with itself), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_link_new(const struct pw_link_params *params, struct pw_link **ret_link, struct pw_error *ret_err);
void pw_link_free(struct pw_link *link);

/* --- meeting, and giving up ------------------------------------------------------------------------------------------------- */

/* Somebody has something for the other host. */
void pw_link_want(struct pw_link *link, uint64_t now_us);

/* What the other side is told of this one. */
struct pw_link_stand pw_link_stand(const struct pw_link *link);

struct pw_link_met {
        uint64_t connection;     /* by this number what arrives is told from what an older connection brings */
        uint64_t ended_term;     /* 0, or the term that ended: what was kept of it is gone */
        bool restarted;          /* it ended as the other host was started again; else the other side had given this one up */
};
/* A connection is to be theirs: `peer` is what the other side said last. It takes the place of the one before.
 * Errors: PW_PROTOCOL (an earlier epoch; a stand that cannot be), PW_EXISTS (the same epoch of another process: a machine that was
 * cloned, a state dir that two share), PW_BUSY (one of the two has gone on to a later term since it said hello: call again);
 * nothing has changed then. */
PW_MUST_CHECK enum pw_status pw_link_meet(struct pw_link *link, const struct pw_link_peer *peer, uint64_t now_us,
                                          struct pw_link_met *ret_met, struct pw_error *ret_err);
/* That connection is over. */
void pw_link_break(struct pw_link *link, uint64_t connection, uint64_t now_us);
/* A call came to nothing: the next comes after a pause, which doubles. Nothing where they have met. */
void pw_link_call_failed(struct pw_link *link, uint64_t now_us);
/* The same, as nobody listens at the address that was called. Where they have met, and all `addresses` of the other host have said
 * so, one after the other, its term ends now: true. */
bool pw_link_call_refused(struct pw_link *link, uint32_t addresses, uint64_t now_us);

enum pw_link_due {
        PW_LINK_NOTHING = 0,
        PW_LINK_CALL,            /* connect to it */
        PW_LINK_BEAT,            /* write a head without a frame: pw_link_head() */
        PW_LINK_GAVE_UP,         /* its term has ended */
};
/* Its state as people see it: one that is called again, as it is away, and that nobody wants, is AWAY all the same. */
enum pw_link_state pw_link_seen(const struct pw_link *link);
/* When its term ends if nothing is heard of it; UINT64_MAX: it has ended. */
uint64_t pw_link_ends_us(const struct pw_link *link);
/* What is due at read_us, up to which all of this host's sockets have been read: silence is judged by that. *ret_why: of GAVE_UP, a
 * sentence. */
enum pw_link_due pw_link_turn(struct pw_link *link, uint64_t read_us, struct pw_error *ret_why);
/* Its term ends now, as silence would end it: what the other side says cannot be, or there is no memory to go on with it. Nothing
 * where nothing is kept of it. True: it has ended. */
bool pw_link_give_up(struct pw_link *link, uint64_t now_us);
uint64_t pw_link_next_us(const struct pw_link *link); /* when it is due; UINT64_MAX: not before something comes */

/* --- frames ----------------------------------------------------------------------------------------------------------------- */

/* NULL: out of memory. Own: freed by pw_link_frame_free(), or taken by pw_link_send(). */
struct pw_link_frame *pw_link_frame_new(const void *data, uint32_t bytes, bool work);
void pw_link_frame_free(struct pw_link_frame *frame);
/* Errors: PW_HOST_LOST: the other host was given up, and nobody wanted it since. */
PW_MUST_CHECK enum pw_status pw_link_send(struct pw_link *link, struct pw_link_frame *frame_take, uint64_t now_us,
                                          struct pw_error *ret_err);

/* The next frame to be written on the connection; NULL: none, or there is no connection. Borrowed until the next call. */
const struct pw_link_frame *pw_link_next(const struct pw_link *link);
/* The head of what is written now, `frame` or a beat (NULL). */
struct pw_link_head pw_link_head(const struct pw_link *link, const struct pw_link_frame *frame, uint64_t now_us);
/* It was written, with that head. */
void pw_link_wrote(struct pw_link *link, const struct pw_link_frame *frame, const struct pw_link_head *head, uint64_t now_us);

/* A head came. PW_OK: its frame is new; a beat too. Errors: PW_EXISTS (it came before: drop it), PW_GONE (of an older connection),
 * PW_PROTOCOL (a number left out, one that was never sent acknowledged, a work without a credit): shut the connection. */
PW_MUST_CHECK enum pw_status pw_link_receive(struct pw_link *link, uint64_t connection, const struct pw_link_head *head,
                                             uint64_t now_us, struct pw_error *ret_err);
/* One of the other side's works is answered: it may send another. */
void pw_link_work_done(struct pw_link *link);

#endif

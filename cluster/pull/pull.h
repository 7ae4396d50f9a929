/* What this host pulls: who has a room for a replica, whole, gets its chunks from a source that the home names.
 *
 * Chunks are asked for ahead, a few at a time, in order, over a few bulk streams. For each ask one thread is told to receive into
 * the chunk's range of the room, before the source is told to send; *the range is that thread's until it has reported*, whatever
 * became of the ask meanwhile: only then is it asked for again. So no range has two writers; a chunk that is here has none, and
 * READY, when all are here, comes when no thread has the room. So does LET_GO, of a pull that ended: with that, and not before, the
 * room is free (and when its offer was let go too: cluster/pull/source.h).
 *
 * A source fails that refuses, whose chunks are wrong or lost several times in a row, whose host is given up, or of which nothing
 * comes for `stall_us` although it has not said that it waits itself; all that was asked before a loss is of that one. The home is
 * told, and names another one. A pull without progress for `deadline_us` ends; one whose home is lost, too.
 *
 * Who is to pull what is the caller's: one pull per object at a time (pw_pull_find()), and none of what came in an answer.
 * README.md tells what a driver does, step by step.
 * Events are calls, effects are actions. Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_PULL_PULL_H
#define PW_CLUSTER_PULL_PULL_H

#include "base/hash.h"
#include "cluster/pull/pull_message.h"

struct pw_pulls; /* of a host */
struct pw_pull;
struct pw_observer;

enum pw_pull_state {
        PW_PULL_NONE = 0,
        PW_PULL_WANTING, /* the home is asked for a source, or has said to wait */
        PW_PULL_PULLING, /* from a source */
        PW_PULL_WHOLE,   /* all is here, no thread writes it */
        PW_PULL_ENDING,  /* failed, or nobody wants it; threads may write it still, or its home has not answered */
        PW_PULL_STATES
};
enum pw_pull_event {
        PW_PULL_BEGIN = 0, PW_PULL_NAME, PW_PULL_LOSE, PW_PULL_FINISH, PW_PULL_FAIL, PW_PULL_CANCEL, PW_PULL_FREE, PW_PULL_EVENTS
};
/* What was asked for, and which thread has it. */
enum pw_ask_state {
        PW_ASK_NONE = 0,
        PW_ASK_ASKED,    /* a thread receives it */
        PW_ASK_STOPPING, /* that thread was told to stop, and has not reported */
        PW_ASK_STATES
};
enum pw_ask_event { PW_ASK_ASK = 0, PW_ASK_STOP, PW_ASK_REPORT, PW_ASK_EVENTS };

enum pw_pulls_action_kind {
        PW_PULLS_SAY = 1, /* `message` to `host`, on its link; as work, if pw_pull_is_work() */
        /* the thread of `stream` from `host` is to receive what comes by the number `ask` as `chunk` in the room of `place`, and
         * then to report; it has that range from now on */
        PW_PULLS_RECEIVE,
        PW_PULLS_STOP,    /* that thread is to receive `ask` no more, and to report at once */
        PW_PULLS_HERE,    /* `chunk` of `place` is here: pw_pull_source_have() */
        PW_PULLS_READY,   /* all of `place` is here */
        PW_PULLS_FAILED,  /* it ended, as `status` says, about `host`; its offer is to be withdrawn */
        PW_PULLS_LET_GO,  /* no thread has the room of `place`, and nothing more is said of it */
};
struct pw_pulls_action {
        enum pw_pulls_action_kind kind;
        enum pw_status status;
        uint32_t host, stream, chunk;
        uint64_t ask;
        void *place;
        struct pw_pull_message message;
};

struct pw_pulls_params {
        uint32_t ahead;       /* chunks of a pull that are asked for at a time: 1 to PW_PULL_AHEAD_MAX */
        uint32_t streams;     /* 1 to PW_PULL_STREAMS_MAX */
        uint64_t stall_us, deadline_us;
        uint64_t first_ask;   /* above all that earlier lives of this host used: its epoch, shifted by 32 */
        struct pw_hash_secret secret;
        const struct pw_observer *observer; /* NULL: nobody watches; borrowed */
};
#define PW_PULL_AHEAD_MAX 16u

PW_MUST_CHECK enum pw_status pw_pulls_new(const struct pw_pulls_params *params, struct pw_pulls **ret_pulls,
                                          struct pw_error *ret_err);
void pw_pulls_free(struct pw_pulls *pulls);

/* --- those here ------------------------------------------------------------------------------------------------------------- */

struct pw_pull_request {
        struct pw_id id;
        uint32_t home;        /* the host that lends it to this one */
        uint64_t number;      /* of its offer, which has nothing yet: pw_pull_source_offer() */
        uint64_t bytes;
        void *place;          /* the caller's: where the room is, reserved whole; borrowed until LET_GO */
        uint64_t now_us;
};
/* Errors: PW_EXISTS (one of that object is under way, or whole), PW_INVALID (no bytes), PW_TOO_LARGE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_pull_begin(struct pw_pulls *pulls, const struct pw_pull_request *request, struct pw_pull **ret_pull,
                                           struct pw_error *ret_err);
/* The pull of that object that is under way, or whole; NULL: none. */
struct pw_pull *pw_pull_find(const struct pw_pulls *pulls, struct pw_id id);
/* Its home holds the replica for this host again, in another term; or `home` does, which lends it now: it is told that it is here,
 * and may name it to others. Nothing, where the pull is not whole, or no term ended. */
void pw_pull_renewed(struct pw_pulls *pulls, struct pw_pull *pull, uint32_t home);
/* The last local holder has gone. Nothing is decided by it; LET_GO comes. The offer is to be withdrawn besides. */
void pw_pull_cancel(struct pw_pulls *pulls, struct pw_pull *pull);
/* What is due at now_us: sources that stall, pulls whose time is over. */
void pw_pulls_turn(struct pw_pulls *pulls, uint64_t now_us);
uint64_t pw_pulls_next_us(const struct pw_pulls *pulls); /* UINT64_MAX: not before something comes */

/* --- threads and other hosts ------------------------------------------------------------------------------------------------ */

/* The thread that received `ask` is done with that range. PW_OK: the chunk is there, its checksum is right. PW_PROTOCOL: it came
 * whole, and was wrong. PW_DEADLINE: there is no way to that source. Others: it did not come. */
void pw_pulls_reported(struct pw_pulls *pulls, uint64_t ask, enum pw_status status, uint64_t now_us);
/* NAMED, WAIT, REFUSE. Errors: PW_PROTOCOL (no message for a puller): give the host up. */
PW_MUST_CHECK enum pw_status pw_pulls_receive(struct pw_pulls *pulls, uint32_t host, const struct pw_pull_message *message,
                                              uint64_t now_us, struct pw_error *ret_err);
/* The connection with `host` broke, and there is another one: what broke with it, or was not heard, is no fault of that source. */
void pw_pulls_met(struct pw_pulls *pulls, uint32_t host, uint64_t now_us);
/* The term with `host` has ended. Its bulk streams are shut; threads that receive from it report as ever. */
void pw_pulls_ended(struct pw_pulls *pulls, uint32_t host);

/* The next action; false: none. All are done before the next event. */
bool pw_pulls_next(struct pw_pulls *pulls, struct pw_pulls_action *ret_action);

struct pw_pull_row {
        struct pw_id id;
        void *place;
        enum pw_pull_state state;
        uint32_t home, source;         /* source: of PULLING */
        bool is_alone;                 /* the term with its home has ended, and it was not renewed */
        uint64_t number, source_number;
        uint64_t bytes;
        uint32_t chunks, chunks_here;
        uint32_t asked, stopping;      /* ranges that threads have */
        uint64_t progress_us;          /* when the last chunk came, or it began */
};
void pw_pull_row(const struct pw_pull *pull, struct pw_pull_row *ret_row);
void pw_pulls_each(const struct pw_pulls *pulls, void (*row)(void *, const struct pw_pull_row *), void *context);

#endif

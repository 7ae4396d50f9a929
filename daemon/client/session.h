/* A session: an attached process (client, executor or describer), its socket and its lanes.
 *
 * Life: accepted (no role yet) -> attached (Hello) -> ended (socket closed, protocol broken, process dead) -> freed at the end of a
 * turn, lane by lane. What the store knows of it may outlive it: rooms that a living process might still write into.
 */
#ifndef PW_DAEMON_CLIENT_SESSION_H
#define PW_DAEMON_CLIENT_SESSION_H

#include "daemon/client/tenant.h"
#include "daemon/daemon.h"
#include "daemon/memory/backing.h"
#include "wire/frame.h"
#include "wire/pathways.pb-c.h"

enum pw_role { PW_ROLE_NONE = 0, PW_ROLE_CLIENT, PW_ROLE_EXECUTOR, PW_ROLE_DESCRIBER };

/* The daemon's side of a lane. */
struct pw_dlane {
        struct pw_ring_reader reader;
        struct pw_dsession *session;
        struct pw_list hot;  /* in daemon->hot, or alone */
        uint32_t quiet;      /* turns without a record */
        uint32_t due;        /* cells that are to be read in this round */
        uint64_t seen;       /* the tenant's look at all its lanes at which, or after which, that was seen */
        uint64_t looked;     /* the round in which it was the last to look at the others */
        uint64_t turned;     /* the last turn that read some of it: its round */
        uint32_t mark;       /* cells that its session's pass is still to read of it */
};

struct pw_ended_session {
        uint32_t number;
        struct pw_tenant *tenant;
        struct pw_segment *own; /* that was granted nothing; NULL: the store knows it */
};

/* A process with sessions: one pidfd however many it opens. */
struct pw_process {
        pid_t pid;
        int pidfd;
        struct event *event;
        struct pw_daemon *daemon;
        struct pw_list sessions; /* struct pw_dsession.of_process */
        struct pw_list dying;    /* dead, and not all that its sessions held is gone: in daemon->dying; else alone */
        struct pw_backing *backing; /* where its next session gets memory; NULL: none yet */
        struct pw_ended_session *ended;  /* its ended sessions that the store waits for */
        uint32_t ended_count, ended_capacity;
};

struct pw_outgoing; /* frames that the socket did not take yet */

struct pw_dsession {
        struct pw_daemon *daemon;
        uint32_t number;
        enum pw_role role;
        uint32_t device;           /* of an executor */
        int fd;
        struct event *readable;    /* while it is heard */
        struct pw_list of_speakers; /* it said something that was not taken yet; else alone */
        struct event *sendable;    /* NULL: nothing waits to be sent */
        int sendable_fd;           /* its socket once more, for that; or -1 */
        struct pw_decoder decoder;
        struct pw_list outgoing;
        uint64_t outgoing_bytes;
        uint32_t outgoing_fds;
        uint64_t unread_bytes;     /* of what is outgoing, as its tenant counts it */
        uint32_t kept_bytes;       /* of its own records, likewise */
        uint32_t listings;         /* that were asked for and not answered */
        uint32_t begun_bytes;      /* of its frame that is not whole, as its tenant counts it */
        struct pw_tenant *tenant;
        struct pw_process *process;
        struct pw_list of_process, of_ended;
        char client[48];           /* "digits[4411]" */
        pid_t pid;
        bool operator_, in_store, ended, heard;
        bool left;                 /* its process uses none of its memory any more */
        bool gone, dead;           /* its socket ended; its process: what it published before is read, then it ends */
        bool deaf;                 /* it shut its side of the socket: what it is told goes nowhere */
        bool trace_ended;          /* its trace did, as nobody asked for it */
        bool crowded;              /* its descriptor is one of the last: a client is told so, and refused */
        struct pw_list stranger;   /* in daemon->strangers until it says Hello; else alone */
        uint64_t came_us;          /* then */
        struct pw_backed control_backed;
        struct pw_map control_map;
        struct pw_control *control;
        struct pw_segment *own;    /* NULL: none, or it has ended */
        struct pw_dlane **lanes;    /* those that the client ever used, made when that is seen: lane.c */
        uint32_t lane_count, lane_capacity;
        struct pw_catching catching; /* on its own lanes */
        uint64_t pass;              /* over its lanes: lane.h; the last one */
        uint32_t marked;            /* lanes of which it is still to read some; 0: it is over */
        bool look_next;             /* it is in a look, and is to be in the next as well */
        uint64_t wish, look_wish;   /* passes before what it said is taken, 0: none; and that the look waits for */
        struct pw_list of_look;     /* in its tenant's `looking` or `look_next`, or the daemon's; else alone */
        struct pw_list room_waits;  /* for room: room.c */
        struct pw_table slices, programs; /* handle -> this */
        struct pw_list jobs;        /* its compilations under way: program.c */
        uint32_t job_count;
        struct pw_list lookups;      /* that wait: name.c */
        uint32_t lookup_count;
};

/* It said Hello. */
void pw_session_known(struct pw_dsession *session);
/* Listen, accept. */
PW_MUST_CHECK enum pw_status pw_sessions_listen(struct pw_daemon *daemon, struct pw_error *ret_err);
/* A session over a connected socket (accepted, or a child's pair). Own: `fd_take`. */
PW_MUST_CHECK enum pw_status pw_session_new(struct pw_daemon *daemon, int fd_take, pid_t pid, uid_t uid,
                                            struct pw_dsession **ret_session, struct pw_error *ret_err);
struct pw_dsession *pw_session_get(struct pw_daemon *daemon, uint32_t number); /* NULL: none, or ended */
/* End it; it is freed at the end of this turn or a later one. `why` is logged; NULL: it said goodbye. */
void pw_session_end(struct pw_dsession *session, const char *why);
/* Free some of those that ended, or some of their lanes: what a turn has time for. */
void pw_sessions_reap(struct pw_daemon *daemon);
void pw_sessions_done(struct pw_daemon *daemon);

/* Handshake: answers Hello with descriptors. attach.c */
PW_MUST_CHECK enum pw_status pw_session_attach(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Hello *hello,
                                               struct pw_error *ret_err);
/* A segment as those hear of it who map it. */
void pw_session_describe(Pathways__Wire__SegmentInfo *ret_info, const struct pw_segment *segment);

/* What came in is taken in turn: input.c. A client that leaves much unread, or has many listings outstanding, is not heard until
 * that is less. A session that leaves much unread is not told so at once, since one that writes a long request need not read
 * meanwhile. */
#define PW_HEARD_MAX_BYTES (1u << 20)
#define PW_HEARD_MAX_FDS 32u
#define PW_HEARD_MAX_JOBS 16u /* compilations under way */
#define PW_HEARD_MAX_LISTINGS 8u
void pw_session_input_init(struct pw_dsession *session);
void pw_speakers_init(struct pw_speakers *speakers);
void pw_session_speaks(struct pw_dsession *session); /* there is something to be read of it */
/* Take frames of who speaks, for a part of a turn. True: there were some. */
bool pw_inputs_turn(struct pw_daemon *daemon);
static inline bool pw_session_is_heard(const struct pw_dsession *session)
{
        return (session->outgoing_bytes < PW_HEARD_MAX_BYTES && session->outgoing_fds < PW_HEARD_MAX_FDS &&
                session->listings < PW_HEARD_MAX_LISTINGS && session->job_count < PW_HEARD_MAX_JOBS) ||
               (session->role != PW_ROLE_NONE && session->role != PW_ROLE_CLIENT);
}
void pw_session_mind(struct pw_dsession *session); /* one of these changed */
void pw_session_input_done(struct pw_dsession *session);

/* Send; what the socket does not take is queued up to a limit, beyond it the session ends. `fds` are borrowed. output.c */
/* Is a reply of so many bytes within what the tenant's clients may leave unread? Small ones need not ask. */
bool pw_session_may_send(const struct pw_dsession *session, uint64_t bytes);
void pw_session_reply(struct pw_dsession *session, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count);
void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text);
/* Tell a connection that gets no session why: its handshake takes the first reply, whatever its id.   Blocks: never. */
void pw_session_refuse(int fd, enum pw_status status, const char *text);
void pw_session_reply_object(struct pw_dsession *session, uint64_t id, struct pw_id object); /* that it holds a reference to */
void pw_session_reply_ok(struct pw_dsession *session, uint64_t id);
void pw_session_ask(struct pw_dsession *session, Pathways__Wire__Request *request);
/* A frame without descriptors, packed ahead; NULL: out of memory, or larger than a frame may be. Own: the caller's, of malloc().
 * Threads: any. */
struct pw_outgoing *pw_outgoing_new(enum pw_frame_kind kind, const ProtobufCMessage *message);
void pw_session_send(struct pw_dsession *session, struct pw_outgoing *out_take);
void pw_session_output_done(struct pw_dsession *session);

/* Processes: process.c */
PW_MUST_CHECK enum pw_status pw_process_get(struct pw_daemon *daemon, pid_t pid, struct pw_process **ret_process,
                                            struct pw_error *ret_err);
/* Let some go of what the dead held. True: there was some. */
bool pw_processes_turn(struct pw_daemon *daemon);
void pw_process_leave(struct pw_dsession *session);
void pw_processes_done(struct pw_daemon *daemon);

#endif

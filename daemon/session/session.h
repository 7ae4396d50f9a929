/* A session: an attached process (client, executor or describer), as everybody knows it. It comes, speaks and goes in client/,
 * which hands in a table of what others may have it do.
 */
#ifndef PW_DAEMON_SESSION_SESSION_H
#define PW_DAEMON_SESSION_SESSION_H

#include "daemon/daemon.h"
#include "daemon/session/backed.h"
#include "daemon/session/tenant.h"
#include "wire/frame.h"

enum pw_role { PW_ROLE_NONE = 0, PW_ROLE_CLIENT, PW_ROLE_EXECUTOR, PW_ROLE_DESCRIBER };

struct pw_dlane;
struct pw_dsession;
struct pw_outgoing; /* frames that the socket did not take yet */
struct pw_process;
struct pw_segment;

struct pw_session_calls {
        void (*end)(struct pw_dsession *session, const char *why);
        void (*mind)(struct pw_dsession *session);
};

struct pw_dsession {
        struct pw_daemon *daemon;
        const struct pw_session_calls *calls;
        uint32_t number;
        enum pw_role role;
        uint32_t device;           /* of an executor */
        int fd;
        struct event *readable;    /* while it is heard */
        struct pw_list of_speakers; /* it said something that was not taken yet; else alone */
        struct event *sendable;    /* NULL: nothing waits to be sent */
        struct pw_list sending;    /* in the loop's: it is tried again by itself */
        struct pw_list held;       /* in the loop's: it has something for the end of the turn */
        uint64_t write_count;      /* the loop's, when something was sent last */
        int sendable_fd;           /* its socket once more, for that; or -1 */
        struct pw_decoder decoder;
        struct pw_list outgoing;
        uint64_t outgoing_bytes;
        uint32_t outgoing_fds;
        uint64_t unread_bytes;     /* of what is outgoing, as its tenant counts it */
        uint32_t kept_bytes;       /* of its own records, likewise */
        uint32_t listings;         /* that were asked for and not answered */
        uint32_t asks;             /* requests that other hosts are to answer */
        uint32_t begun_bytes;      /* of its frame that is not whole, as its tenant counts it */
        struct pw_tenant *tenant;
        struct pw_process *process;
        struct pw_list of_process, of_ended;
        struct pw_list fetches;    /* what it waits for of devices (memory/fetch) */
        char client[48];           /* "digits[4411]" */
        pid_t pid;
        bool operator_, in_store, ended, heard;
        bool left;                 /* its process uses none of its memory any more */
        bool gone, dead;           /* its socket ended; its process: what it published before is read, then it ends */
        bool half_closed;          /* it shut its side of the socket: what it is told goes nowhere */
        bool trace_ended;          /* its trace did, as nobody asked for it */
        bool crowded;              /* its descriptor is one of the last: a client is told so, and refused */
        struct pw_list stranger;   /* in daemon->clients.strangers until it says Hello; else alone */
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
        bool scan_next;             /* it is in a scan, and is to be in the next as well */
        uint64_t wish, scan_wish;   /* passes before what it said is taken, 0: none; and that the scan waits for */
        struct pw_list of_scan;     /* in its tenant's `scanning` or `scan_next`, or the daemon's; else alone */
        struct pw_list room_waits;  /* for room: room.c */
        struct pw_table slices, programs; /* handle -> this */
        uint32_t slices_at, programs_at; /* cursors: what is before them has gone, when the session has ended */
        struct pw_list jobs;        /* its compilations under way: program.c */
        uint32_t job_count;
};

struct pw_dsession *pw_session_get(const struct pw_registry *registry, uint32_t number); /* NULL: none, or ended */
/* End it; it is freed at the end of this turn or a later one. `why` is logged; NULL: it said goodbye. */
void pw_session_end(struct pw_dsession *session, const char *why);
/* What bounds how much it is heard changed: replies that are not read, listings and compilations under way. */
void pw_session_mind(struct pw_dsession *session);

#endif

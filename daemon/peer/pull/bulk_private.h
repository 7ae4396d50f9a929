/* What the files of bulk streams share. Nobody else includes this. */
#ifndef PW_DAEMON_PEER_PULL_BULK_PRIVATE_H
#define PW_DAEMON_PEER_PULL_BULK_PRIVATE_H

#include "daemon/peer/pull/bulk.h"
#include "daemon/transport/stream/bulk.h"

#include <pthread.h>

struct XXH3_state_s;

struct pw_bulk_task {
        struct pw_list link;
        struct pw_bulk_job what;
        uint32_t host;            /* with which it is */
        enum pw_status status;    /* once it is reported, */
        uint64_t done_us;         /* and when that was */
        bool sends;
        uint64_t stop_us;         /* begun, and stopped: its stream is shut then; 0: it is not */
};

struct pw_bulk_lane {
        struct pw_list link;      /* in `lanes` */
        struct pw_bulk *bulk;
        uint32_t host, stream;
        bool sends;
        struct pw_dial *dial;     /* of who receives, */
        bool called;              /* which is over */
        struct pw_bulk_stream *connection;
        struct XXH3_state_s *sum; /* its thread's, of who receives: of the chunk that comes */
        struct pw_pipe *next;     /* of who sends: opened anew, before the thread of the one before has ended */
        uint32_t tries;           /* to open it, that came to nothing, */
        uint64_t paused_us;       /* and the pauses after them */
        uint64_t call_us;         /* when it is tried again; 0: nothing is due */
        /* under the bulk's lock: */
        pthread_cond_t changed;
        struct pw_list jobs;
        struct pw_bulk_task *current; /* the thread's, not in `jobs` */
        bool stop;
        bool useful;              /* something came */
};

struct pw_bulk {
        struct pw_peers *peers;
        const struct pw_bulk_reports *reports;
        struct pw_list lanes, over; /* over: lanes that are freed when nothing of them is on the stack */
        uint64_t next_us;         /* nothing is due before */
        int pipe_fds[2];
        struct event *event;
        pthread_mutex_t lock;
        struct pw_list done;      /* jobs, to be reported; under the lock */
};

/* Under the lock: `job`, which is in no list or in its lane's, is over. */
void pw_bulk_report(struct pw_bulk *bulk, struct pw_bulk_task *job, enum pw_status status);
/* The work of a stream: until it is broken, shut or stopped; then the thread has no room. */
void pw_bulk_work(void *lane, struct pw_bulk_stream *stream);

#endif

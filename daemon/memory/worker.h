/* The worker threads: what is too slow for a turn of the loop, or may wait for a client; pages are allocated in steps of 64 MiB,
 * given back in steps that have 128 MiB of them at most where that can be known: what has no pages costs few steps.
 *
 * Touching a new page costs 10 to 50 times what copying to it does. One thread works at a time. After each step the next tenant has
 * its turn, and of a tenant its next memfd: whatever one asks for delays another by one step. Works of one memfd begin in order and
 * take turns, except that none overtakes a punch. Giving back need not come before taking: the store grants pages that are to be
 * given back when they are. Who holds a memfd (worker.c) keeps back the works of that memfd alone. Before pages are allocated it is
 * seen that the system has them to give. Each work is reported on the loop thread at most once, by the pipe that the loop reads;
 * what was given back, as it is.
 */
#ifndef PW_DAEMON_MEMORY_WORKER_H
#define PW_DAEMON_MEMORY_WORKER_H

#include "daemon/daemon.h"
#include "plane/segment.h"
#include "store/store.h"

struct pw_backing;
struct pw_measure;

struct pw_memory_work {
        bool punch;     /* give pages back; else allocate them */
        bool unpinned;  /* no executor has any of them registered with its device */
        struct pw_measure *measure; /* then only look what is there, audit.h; NULL: do not */
        struct pw_backing *from; /* then copy from `from_offset` there, to pages that are there; NULL: do not */
        uint64_t from_offset;
        struct pw_backing *backing; /* stays until it is done */
        uint64_t offset, bytes;
        struct pw_map unmap;    /* of those pages: before they are given back; zeroed: none */
        uint64_t token; /* handed to pw_store_populated(), of a copy to pw_frozen_copied(); 0: nobody waits */
        struct pw_store_leaving leaving; /* of a punch: told to the store as its pages go, whatever becomes of it in the end */
};

PW_MUST_CHECK enum pw_status pw_worker_new(struct pw_daemon *daemon, struct pw_worker **ret_worker, struct pw_error *ret_err);
/* Out of memory answers the work as failed. One of pages that executors may have registered waits until they have let go. */
void pw_worker_ask(struct pw_worker *worker, const struct pw_memory_work *work);
/* A work of that memfd takes so long that somebody else must hold it. */
bool pw_worker_is_held(struct pw_worker *worker, const struct pw_backing *backing);
void pw_worker_free(struct pw_worker *worker);

/* pinned.c: the works that wait for that, on the loop thread. */
enum pw_work_way { PW_WORK_NOW, PW_WORK_LATER, PW_WORK_NEVER }; /* LATER: it is kept, and asked again; NEVER: no memory for that */
enum pw_work_way pw_pinned_keep(struct pw_daemon *daemon, const struct pw_memory_work *work);
void pw_pinned_turn(struct pw_daemon *daemon);
void pw_pinned_done(struct pw_daemon *daemon);

#endif

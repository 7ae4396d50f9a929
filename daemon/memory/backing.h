/* The memfd that segments lie in: one each for futures and devices, and for the sessions of one process and tenant places side by
 * side in one, so that many sessions of a process take few descriptors.
 *
 * A place serves one session and then nobody: its process may go on writing to it. Its pages go back when the session and the
 * segment are gone; the memfd goes with the last of its users.
 */
#ifndef PW_DAEMON_MEMORY_BACKING_H
#define PW_DAEMON_MEMORY_BACKING_H

#include "base/list.h"
#include "daemon/session/backed.h"
#include "plane/segment.h"

struct pw_daemon; /* of sessions */
struct pw_measure;
struct pw_process;
struct pw_tenant;

/* Of a tenant at the worker, with whom others take turns: the tenant's own, and each memfd's that is or was of it. */
struct pw_backing_line {
        uint32_t users;
        struct pw_list ready, of_worker; /* the worker's, under its lock: memfds whose first work may begin; while there are any */
};
/* Own: the caller gives it back with pw_backing_line_unkeep(). NULL: no memory. */
struct pw_backing_line *pw_backing_line_new(void);
void pw_backing_line_unkeep(struct pw_backing_line *line);

struct pw_backing {
        int fd, ro_fd;               /* ro_fd: -1 until somebody asked for it */
        uint64_t file;               /* pw_memfd_file() */
        uint32_t users;              /* windows in use, works, and the process that may get another place */
        uint32_t works;              /* of the worker, under way */
        uint32_t place_count, taken; /* places, and how many were ever given */
        uint64_t place_bytes;
        bool frozen;                 /* of a freezer: only the daemon can write it, and its tenant's processes read it */
        struct pw_daemon *daemon;    /* of sessions and freezers; else NULL */
        struct pw_tenant *tenant;    /* of these: whose; of a freezer until its segment goes */
        struct pw_list of_daemon;    /* of these: in daemon->memory.backings */
        struct pw_list segments_in;  /* of these, that lie in it */
        uint32_t lanes;              /* of sessions, that its process ever used: their rings are no grant */
        uint64_t granted_bytes, overhead_bytes; /* for overhead.c: the latter told to the store */
        uint64_t given_up_bytes;     /* for overhead.c: that the worker is about to be asked for */
        bool exceeds;                /* much more of it is there than was granted, as far as was seen last */
        uint64_t leaving_bytes;      /* that the worker was asked to give back, and the store does not have yet */
        uint32_t segments;           /* for audit.c: how many lie in it, and what looks at them, of the audit that begins */
        struct pw_measure *measure;
        uint32_t overdue;            /* for audit.c: measures in it whose audit is over */
        struct pw_backing_line *line;        /* where its works wait: its tenant's */
        struct pw_list todo, of_line; /* the worker's, under its lock: works, in order; while it is ready for the first */
        uint32_t refused;            /* how often the system did not take pages back */
};

#define PW_BACKING_PLACES 64u

/* A memfd for one user, of a tenant. Own: *ret_backed is given back with pw_backed_done(). Errors: PW_SYSTEM, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_backing_sole(const char *name, uint64_t bytes, const struct pw_tenant *tenant,
                                             struct pw_backed *ret_backed, struct pw_error *ret_err);
/* The same for frozen values: what its readers make of it besides is measured, and counts as the tenant's. */
PW_MUST_CHECK enum pw_status pw_backing_frozen(struct pw_daemon *daemon, uint64_t bytes, struct pw_tenant *tenant,
                                               struct pw_backed *ret_backed, struct pw_error *ret_err);
/* Of frozen values, none of which is left: it counts for nobody from now on. Of others: nothing. */
void pw_backing_thaw(struct pw_backing *backing);
/* A place in the memfd of the process and the tenant, or in a new one: `control_bytes`, then `segment_bytes`, the same for all.
 * Own, Errors: the same, for both. */
struct pw_place_params { struct pw_process *process; struct pw_tenant *tenant; uint64_t control_bytes, segment_bytes; };
PW_MUST_CHECK enum pw_status pw_backing_place(const struct pw_place_params *params, struct pw_backed *ret_control,
                                              struct pw_backed *ret_segment, struct pw_error *ret_err);
/* Its pages go back; the memfd goes with the last user. */
void pw_backed_done(struct pw_daemon *daemon, struct pw_backed *backed);
/* The same, of what the daemon has mapped; `leaving` of it the store is told of. Taking pages back costs by the page, so that the
 * worker does it. */
struct pw_store_leaving;
void pw_backed_unmap(struct pw_daemon *daemon, struct pw_backed *backed, struct pw_map *map,
                     const struct pw_store_leaving *leaving);
/* The process is dead, or has no session: no place is given to it any more. */
void pw_backing_leave(struct pw_process *process);

/* One more user, who has no window. */
void pw_backing_keep(struct pw_backing *backing);
void pw_backing_unkeep(struct pw_backing *backing);
/* The worker allocates or gives back pages of it; it is done. */
void pw_backing_work(struct pw_backing *backing);
void pw_backing_worked(struct pw_backing *backing);

/* *ret_fd: a descriptor that cannot write, the backing's own. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_backing_readonly(struct pw_backing *backing, int *ret_fd, struct pw_error *ret_err);
static inline struct pw_window pw_backed_window(const struct pw_backed *backed)
{
        return (struct pw_window){ backed->backing->fd, backed->offset, backed->bytes };
}

#endif

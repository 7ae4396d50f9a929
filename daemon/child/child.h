/* Children: one executor per device and the describing executor; started, restarted with back-off, killed over a limit. Each is a
 * group of processes of its own, with what its functions start, and they end together.
 *
 * States: STARTING (spawned) -> READY (attached, its device is open) -> DEAD (exited) -> STARTING again, at once or after the
 * back-off. A device that cannot be opened when the daemon starts ends the daemon,
 * and so does a process that ends five times before it was ever ready.
 * The first crash restarts at once; from the second in a row on there is a delay, doubled each time.
 */
#ifndef PW_DAEMON_CHILD_CHILD_H
#define PW_DAEMON_CHILD_CHILD_H

#include "daemon/child/unpin.h"
#include "daemon/session/session.h"

enum pw_child_state { PW_CHILD_DEAD = 0, PW_CHILD_STARTING, PW_CHILD_READY };

struct pw_child {
        struct pw_daemon *daemon;
        uint32_t number;            /* of the device; device_count: the describer */
        enum pw_child_state state;
        pid_t pid;
        int pidfd;
        struct event *exited;
        struct pw_dsession *session;
        uint32_t restarts, crashes; /* crashes: in a row */
        uint64_t started_us, next_start_us;
        bool waits;                 /* for next_start_us */
        uint64_t done_at_start;     /* gangs done when it started */
        char kill_reason[120];      /* why the daemon killed it; empty: it did not */
        char refused[300]; /* why its device could not be opened the last time; empty: it could, or was not tried yet */
        char ended_how[160], ended_in[300]; /* the last one: "SIGSEGV", and the function that it was in; empty: none */
        uint64_t ended_run;         /* of that function */
        enum pw_status kill_status;
        uint64_t kill_seq;          /* the gang that is why, 0: none is; */
        uint64_t ended_seq;         /* that which the last one ended in, 0: none */
        uint64_t ended_before;      /* or else the one ahead of which it ended */
        bool was_ready;             /* the last one, before it ended */
        uint64_t stands_at, stands_us; /* the oldest gang of its device, and since when that waits for nobody (stall.h) */
        uint64_t give_up_seq, give_up_us; /* the joint that it was told to give up, and by when it must have */
        enum pw_status give_up_status;
        /* executors */
        struct pw_child_arena { int mailbox, theirs, fd; } arena; /* arena.c; -1: none */
        char device_name[64];       /* as its driver calls it; "": it has none */
        int board_fd, board_ro_fd;
        struct pw_device_board *board;
        uint32_t island;
        struct pw_table mapped;     /* segments that its process asked for */
        uint32_t *gone;             /* those of them that are no more and it was not told */
        uint32_t gone_count, gone_capacity;
        struct pw_child_unpins unpins;
};

static inline bool pw_child_describes(const struct pw_child *child) { return child->number == child->daemon->device_count; }

/* What those above are asked and told of children, on the loop thread; all are filled. */
struct pw_child_calls {
        /* A session of the child at the other end of the socket. Own: `fd_take`. */
        enum pw_status (*connect)(struct pw_daemon *daemon, int fd_take, pid_t pid, struct pw_error *ret_err);
        /* The describer attached; its session has ended, which may be before its process has; its process has ended, `how`: by
         * itself (PW_CRASHED), or as pw_child_kill() said: in a question (true), or in none. */
        void (*describer_up)(struct pw_daemon *daemon, struct pw_dsession *session);
        void (*describer_detached)(struct pw_daemon *daemon);
        bool (*describer_down)(struct pw_daemon *daemon, enum pw_status status, const char *how);
        void (*executor_down)(struct pw_daemon *daemon, uint32_t device); /* the process has ended */
};

/* Boards, bells, and all children started. `calls` is kept. */
PW_MUST_CHECK enum pw_status pw_children_start(struct pw_daemon *daemon, const struct pw_child_calls *calls,
                                               struct pw_error *ret_err);
void pw_children_done(struct pw_daemon *daemon);
bool pw_children_ready(const struct pw_daemon *daemon);

/* A session says that it is the child's. Errors: PW_DENIED (another process), PW_INVALID (no such device, already attached). */
PW_MUST_CHECK enum pw_status pw_child_attached(struct pw_dsession *session, bool executor, uint32_t device,
                                               struct pw_error *ret_err);
void pw_child_detached(struct pw_dsession *session);
/* The executor of `device` has opened it, and its driver calls it `name`; or it could not, as `err` says. */
void pw_child_up(struct pw_daemon *daemon, uint32_t device, const char *name);
void pw_child_not_up(struct pw_daemon *daemon, uint32_t device, const struct pw_error *err);
/* The process of `device` maps the segment; 0: none. Returns how many of those that it mapped are no more, and which: to be told
 * with the answer, good until the next call. */
uint32_t pw_child_maps(struct pw_daemon *daemon, uint32_t device, uint32_t segment, uint32_t **ret_gone);
/* There are values for its executor to fetch: it asks which. */
void pw_child_wants(struct pw_daemon *daemon, uint32_t device);
/* The segment is no more: who mapped it is told, and asks. */
void pw_children_segment_gone(struct pw_daemon *daemon, uint32_t segment);
/* What its device is in fails with `status` and the text `why`. */
void pw_child_kill(struct pw_daemon *daemon, uint32_t number, enum pw_status status, const char *why);
/* The same if it is in the function of gang `seq`, for a tenth of a second at least, or launches that of a later one of the same
 * run and has not come back for ten: who is told that it goes on asks again. Who waits for other devices has not begun. A joint
 * that all have come to is given up, and what its process else has of the device stays; it is killed if it has not done so in two
 * seconds. */
void pw_child_end_gang(struct pw_daemon *daemon, uint32_t device, uint64_t seq, enum pw_status status, const char *why);
/* When that ends gang `seq`, which the device does or launches, for its run's deadline. */
uint64_t pw_child_ends_us(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, uint64_t deadline_us);
uint32_t pw_child_island(const struct pw_daemon *daemon, uint32_t device);
/* What an executor's Welcome hands over, in the order that pathways.proto names. Returns how many; they stay the daemon's. */
uint32_t pw_child_descriptors(const struct pw_daemon *daemon, uint32_t device, int *fds);

/* When the daemon ends what runs on `device`, about: at its time limit, which is written. UINT64_MAX: never by itself. */
uint64_t pw_child_over_us(const struct pw_daemon *daemon, uint32_t device, uint64_t *ret_limit_us);
/* Functions with a time limit: when to look next, and the look. */
uint64_t pw_children_next_us(const struct pw_daemon *daemon);
void pw_children_tick(struct pw_daemon *daemon, uint64_t now_us);

/* Gang `seq` of the island of `device`: what was ordered. False if the log has it no more. The board's own memory: good until what
 * is there makes place for another run. */
struct pw_child_order { const struct pw_run_record *record; const struct pw_image *image; const struct pw_image_node *node; };
bool pw_child_order(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, struct pw_child_order *ret_order);
/* "digits/gradient", run number: of gang `seq` of an island; false if the log has it no more. */
bool pw_child_gang(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, const struct pw_image_node **ret_node,
                   const char **ret_name, uint64_t *ret_run);

#endif

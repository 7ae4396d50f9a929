/* pathwaysd: the one place with a loop. It turns I/O into events for store and scheduler, and their actions into I/O.
 *
 * One thread owns everything here: no locks. Nothing in the loop blocks; what is slow (allocating pages) goes to the worker
 * thread. A callback never frees the object that called it: sessions end at the end of a turn.
 *
 * A turn (turn.c):  read rings -> swap what lost its last reference to CLOSING -> read the rings of who may refer to it ("look") ->
 *                   free, submit runs -> what executors published -> order -> actions -> sleep if nothing came.
 */
#ifndef PW_DAEMON_DAEMON_H
#define PW_DAEMON_DAEMON_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/table.h"
#include "daemon/alarm.h"
#include "daemon/board/boards.h"
#include "daemon/counters.h"
#include "daemon/settings/environment.h"
#include "daemon/settings/settings.h"
#include "plane/board.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

/* The sessions of a user, or of the executors, that said something: they take turns, and so do users; executors come before
 * (input.c). */
struct pw_speakers { struct pw_list turn, sessions; };

struct event;
struct event_base;
struct pw_worker;
struct pw_describe;
struct pw_modules;
struct pw_child;
struct pw_meta;
struct pw_http;

enum pw_daemon_phase { PW_STARTING = 0, PW_SERVING, PW_DRAINING, PW_STOPPING };

struct pw_daemon {
        struct pw_settings settings;
        struct pw_environment environment;
        int argc;               /* the command line, for when the config file is read again; borrowed */
        char **argv;
        struct pw_log log;
        struct pw_hash_secret hash_secret; /* of keys of what clients choose */
        enum pw_daemon_phase phase;
        uint32_t host, epoch;
        uint64_t asked_memory;  /* of the host */
        char capped[200];       /* why there is less host memory than was asked for; "": there is not */
        uint64_t started_us;
        uint64_t stuck_until_us; /* actions that found no memory are tried again; UINT64_MAX: there are none */
        uint64_t woken_us;      /* when the first event since the loop slept was taken; 0: none yet */
        const char *doing;      /* what took longest in this turn, as far as is known; NULL: nothing special */
        uint64_t stop_at_us;    /* while draining: when runs in flight are cut off; else UINT64_MAX */
        char kind[32];          /* of the devices */
        uint32_t device_count;

        /* Do what store and scheduler want done by now (effect.c): for who cannot go on before. True: there was something. */
        bool (*settle)(struct pw_daemon *daemon, uint64_t now_us);
        struct event_base *base;
        struct pw_alarm alarm;  /* at the nearest deadline of all */
        struct event *signals[3];
        struct event *watchdog; /* tells systemd that the loop turns; NULL: nobody asks */
        struct event *listener, *listen_again;
        int64_t operators;      /* group; -1: none */
        int listen_fd, lock_fd;
        bool may_be_sent_files; /* the system cannot refuse descriptors at the socket's door */
        int reserve_fd;         /* given up for a moment to refuse a client when no descriptor is left */
        bool refusing;          /* the last connection was refused */
        uint32_t fd_limit;      /* of descriptors */
        char *run_dir, *state_dir, *socket_path;

        struct pw_store *store;
        struct pw_scheduler *scheduler;
        struct pw_boards *boards;
        struct pw_meta *meta;
        struct pw_http *http;   /* NULL: not asked for */
        const char *http_address; /* where it listens; "": nowhere */
        struct pw_worker *worker;
        struct pw_reload *reload; /* NULL: nobody asked for one */
        struct pw_closer *closer; /* NULL: nothing was to be closed elsewhere */
        struct pw_modules *modules;
        struct pw_describe *describe;
        struct pw_compiler *compiler; /* NULL: it has not begun, or is at its end */
        uint64_t next_compilation;
        uint64_t placed_bytes;  /* of programs, in boards: charged, so no overhead besides */

        struct pw_table sessions;     /* number -> struct pw_dsession */
        uint32_t next_session;        /* numbers are never used again */
        struct pw_list frozen;        /* puts that are on their way into a freezer */
        struct pw_list speaking;      /* struct pw_speakers.turn */
        struct pw_speakers child_speakers;
        struct pw_list ended;         /* sessions that ended in this turn */
        struct pw_list hot;           /* lanes that are read every turn */
        struct pw_table processes;    /* pid -> struct pw_process */
        struct pw_list dying;         /* those that are dead, and hold something yet */
        struct pw_table tenants;      /* uid -> struct pw_tenant */
        struct pw_table users;        /* the same, of those that only connected so far */
        struct pw_list strangers;     /* connections that did not say Hello, the oldest first */
        struct event *impatience;     /* at the end of what the oldest of them has for it */
        struct pw_table segments;     /* number -> struct pw_segment */
        struct pw_list backings;      /* memfds of sessions */
        uint32_t next_segment;        /* numbers are never used again, but */
        uint32_t *spare_segments;     /* those under which nothing was ever granted */
        uint32_t spare_segment_count, spare_segment_capacity;
        struct pw_table room_tokens;  /* token -> struct pw_room_wait */
        uint64_t next_token;
        struct pw_table watched;      /* object -> runs that wait for it */
        struct pw_list ready;         /* tenants with objects whose runs are to be told */
        struct pw_list submitted;     /* tenants with runs that were read */
        uint64_t look;                /* at lanes: look.h; counts up */
        struct pw_list looking;       /* tenants whose look goes on */
        struct pw_list look_next;     /* sessions that are to be in the next look */
        struct pw_table wanted;       /* names that lookups wait for: name.c */
        struct pw_heap lookups;       /* that wait, by when they give up */
        struct pw_list found;         /* those whose name was bound, to be told */
        struct pw_list listing;       /* tenants whose listings were asked for, in turn */
        struct pw_list audits;        /* whose memfds are being looked at */
        struct pw_list traces;        /* sessions that trace */
        struct pw_list trace_logs;    /* what they are told of */
        uint64_t traced[PW_DEVICES_MAX]; /* of each device's history: how much was taken into the logs */
        struct pw_list recounts;      /* of tenants' hint pages, in turn: recount.c */
        struct pw_list jobs;          /* compilations under way */
        struct pw_list leaving;       /* places of programs that go back */

        const struct pw_child_calls *child_calls;
        const struct pw_onlooker *onlooker;
        struct pw_child *children;    /* device_count, then the describer */
        int bells_fd;
        struct pw_bells *bells;
        struct { int fd, ro_fd; struct pw_island_board *board; } islands[PW_ISLANDS_MAX];

        struct pw_counters counters;
        uint64_t runs_done, runs_in_flight;
        uint64_t children_start_us;   /* when one is started again; UINT64_MAX: none waits for that */
        uint64_t children_looked_us;  /* when functions were looked at that take too long */
        uint64_t shortest_limit_us;   /* of all functions ever compiled in; 0: none has one */
        bool hungry;                  /* somebody queues for room of the host's memory */
        bool runs_aside;              /* a run waits for room of devices that sessions hold */
        bool catching_up;             /* other lanes are being read before a record goes on: lane.c */
        uint64_t round;               /* of reading lanes, counts up: each lane is read once in it, but to catch up */
        bool more;                    /* something was left to do in this turn */
        uint64_t ticked_us;           /* when deadlines were last looked at */
        uint64_t overhead_bytes;      /* told to the store so far of what no session writes: overhead.c */
        uint32_t overhead_looks;      /* at memfds of sessions, that are due */
        bool exceeding;               /* one of these has much more than was granted: overhead.c */
};

uint64_t pw_now_us(void); /* CLOCK_MONOTONIC */

/* An event is taken: the turn that it belongs to began now, if the loop slept before. */
static inline void pw_woken(struct pw_daemon *daemon)
{
        if (!daemon->woken_us)
                daemon->woken_us = pw_now_us();
}

/* Build everything up to a listening socket and started executors. Own: *ret_daemon is given back with pw_daemon_free().
 * Errors: PW_EXISTS (a living daemon has the run dir), PW_UNSUPPORTED (kernel), PW_SYSTEM, PW_INVALID, PW_NO_SPACE. */
PW_MUST_CHECK enum pw_status pw_daemon_new(struct pw_settings *settings_take, int argc, char **argv, struct pw_daemon **ret_daemon,
                                           struct pw_error *ret_err);
/* Serve until SIGTERM or SIGINT, then drain and stop. */
void pw_daemon_run(struct pw_daemon *daemon);
void pw_daemon_free(struct pw_daemon *daemon);

#endif

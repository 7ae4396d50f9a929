/* The launch loop of one device: runs the gangs of its island's order that have it as a member, strictly in order.
 *
 * It works on maps and on three functions that it was handed (surroundings.h), so tests drive it without a daemon. It trusts
 * the boards, which the daemon and other executors write, and nothing in the values that it moves.
 * Threads: one.
 */
#ifndef PW_EXECUTOR_LAUNCH_H
#define PW_EXECUTOR_LAUNCH_H

#include "base/yield.h"
#include "executor/device/device.h"
#include "executor/device/guard.h"
#include "executor/program/program.h"
#include "executor/program/residue.h"
#include "executor/program/run.h"
#include "executor/program/segments.h"

/* Borrowed for the life of the loop. */
struct pw_launch_params {
        uint32_t host, device, island, device_count, island_count;
        struct pw_bells *bells;
        struct pw_device_board *boards[PW_DEVICES_MAX];   /* of every device; the own one is written */
        struct pw_island_board *islands[PW_ISLANDS_MAX];
        const struct pw_device_kind *kind;
        struct pw_exec_device *handle;                         /* of the kind */
        const struct pw_collective_kind *collective;
        struct pw_collective *joints;                          /* of that kind */
        const struct pw_surroundings *around;
        const struct pw_log *log;                              /* NULL: none */
        bool is_used;                                          /* the arena of the device had rooms before: bytes of any tenant */
};

struct pw_exec_gang;
struct pw_flights;

struct pw_launch {
        struct pw_launch_params given;
        struct pw_device_board *own;    /* boards[device] */
        struct pw_island_board *board;  /* islands[island] */
        struct pw_segments segments;
        struct pw_exec_modules modules;
        struct pw_programs programs;
        struct pw_runs runs;
        const struct pw_device_memory *memory; /* of the device */
        struct pw_flights *flights;     /* of a device that does calls later than they are launched; else NULL */
        uint64_t next;                  /* seq to look at; in a gang, its own */
        uint64_t rung_at;               /* the ring_at that the doorbell was rung for last */
        uint64_t gone;                  /* of the board: what was unmapped up to then */
        uint64_t fetches;               /* likewise: what was fetched */
        uint64_t leaving;               /* likewise: which pages were unpinned, */
        uint64_t left;                  /* and the daemon's number of the last of them */
        uint32_t fetched_count;         /* of what was fetched, not reported yet: */
        struct pw_fetched fetched[PW_FETCHES_MAX];
        uint64_t now_ns;                /* end of the last gang, or start of this one; 0: waited since, the clock is to be read */
        struct pw_guard_key guard_key;
        uint64_t row, row_run;          /* of calls, one behind another: its number, and of which run they are */
        uint32_t spin_turns;            /* of a wait, before it yields */
        struct pw_yield yield;
        char text[PW_CAUSE_BYTES];      /* for functions to say what went wrong */
        struct pw_residue residue;      /* of the arena, by segments: begun where it matters (gang_rooms.c) */
};

struct pw_launch *pw_launch_new(const struct pw_launch_params *params); /* NULL: no memory, or no random bytes */
void pw_launch_free(struct pw_launch *launch);

/* Run everything that is ordered, or launch it; publish what the device has done. Returns how many gangs.   Blocks: while a gang
 * waits for others.
 * Ends the process where a run's own rooms cannot be mapped or memory is out: the daemon starts it anew. */
uint32_t pw_launch_turn(struct pw_launch *launch);
/* Sleep until more is ordered, somebody rang, or the device may have done something. */
void pw_launch_wait(struct pw_launch *launch);

/* Gang `seq` is what the device does from now on, as listings and limits see it. */
void pw_launch_begins(struct pw_launch *launch, uint64_t seq, uint64_t now_ns);
/* This thread is in code of others that launches work of gang `seq`, though what is ahead of it may not be done; 0: no more. Its
 * limit counts meanwhile. */
void pw_launch_launching(struct pw_launch *launch, uint64_t seq);
/* What others wait for, who do not for all that is ordered: readers, and who has pages to give back. Where nothing is half done; a
 * part of it, as pw_launch_serves() says then. Publishes what the device has done meanwhile. */
void pw_launch_serve(struct pw_launch *launch);
bool pw_launch_serves(const struct pw_launch *launch); /* there is more */
/* A gang has ended: it goes into the history, and is published as done. */
struct pw_launch_span { uint64_t start_ns, end_ns; };
void pw_launch_ended(struct pw_launch *launch, const struct pw_exec_gang *gang, const struct pw_launch_span *span,
                     enum pw_status status);

/* Segments that are mapped here are no more: the next turn unmaps them. */
static inline bool pw_launch_has_gone(const struct pw_launch *launch)
{
        return atomic_load(&launch->board->gone[launch->given.device]) != launch->gone;
}

/* Values are to be fetched: the next turn does. */
static inline bool pw_launch_has_fetches(const struct pw_launch *launch)
{
        return atomic_load(&launch->board->fetches[launch->given.device]) != launch->fetches;
}

/* Pages are to be unpinned: the next turn does. */
static inline bool pw_launch_has_leaving(const struct pw_launch *launch)
{
        return atomic_load(&launch->board->leaving[launch->given.device]) != launch->leaving;
}

/* CLOCK_MONOTONIC */
uint64_t pw_launch_clock_ns(void);
/* The same, as of the end of the last gang unless there was a wait since. */
static inline uint64_t pw_launch_now_ns(const struct pw_launch *launch)
{
        return launch->now_ns ? launch->now_ns : pw_launch_clock_ns();
}
/* The same by the device's own clock. */
static inline uint64_t pw_launch_device_ns(const struct pw_launch *launch)
{
        return launch->given.kind->ended_ns(launch->given.handle, pw_launch_now_ns(launch));
}
/* The process cannot go on: say why on stderr and end it. */
void pw_launch_die(const struct pw_launch *launch, const struct pw_error *err) __attribute__((noreturn));

#endif

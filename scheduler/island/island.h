/* An island: devices with one total order of gangs, decided here.
 *
 * A *gang* is a node of a program in this island (program/image/plan.h). What is ordered is appended to the log in the island's
 * board (plane/board.h), and the executor of each device does those that it is a member of strictly in that order. A run's gangs
 * are ordered as its program has them; a policy has a say only between tenants that wait for the same devices.
 *
 * A run that was admitted enters the island as a *fragment*, a cursor into the gangs that its program has here, in program order. A
 * turn looks at the fragments that something has come for and at those at the front of lines whose window has opened, and orders of
 * each what it can, all of it one batch. Whoever else waits costs nothing. A gang is ordered if
 *
 *   - each device of it has been given fewer than W gangs (`--ahead`) that it has not done (the window), no fragment of its tenant
 *     that came earlier waits for one of these devices, and no fragment of another tenant whose turn there comes before (line.h,
 *     policy/policy.h): so nobody is overtaken on a device for ever, and a tenant with many gangs waits with one of them at a time;
 *   - the gangs of its run that it needs in other islands are ordered there, as notices said;
 *   - of a load, which brings an input onto a device: the input's writer is ordered wherever it is read; and where the input is
 *     updated in place, whoever else reads that room is done or ordered before it on the same device;
 *   - of each room that it writes and that runs before it used, whose block its run took over, the last use by these is ordered,
 *     and never behind it: a credit of a stage is such a room.
 *
 * So everything that a gang will wait for, when its devices come to it, was ordered before it in time: waits form no cycle.
 */
#ifndef PW_SCHEDULER_ISLAND_ISLAND_H
#define PW_SCHEDULER_ISLAND_ISLAND_H

#include "scheduler/island/host_run.h"
#include "scheduler/island/policy/policy.h"

struct pw_ordered { struct pw_fragment *fragment; uint32_t gang; };

struct pw_island {
        uint32_t number;
        struct pw_scheduler *scheduler;
        const struct pw_policy *policy;
        struct pw_policy_state *state; /* the policy's */
        uint64_t members;       /* its devices */
        struct pw_list woken;   /* fragments that came, or for which came what they waited for */
        bool jumbled;           /* they are not in the order of their keys */
        struct pw_list fronts;  /* fragments that only a window, or the log, may keep */
        uint64_t waited;        /* devices at which fragments stand in line */
        uint64_t kept_back;     /* turns_ahead of all fragments */
        uint32_t admitted;      /* fragments that have not left */
        bool dirty;             /* something may be ordered now */
        uint64_t seq;           /* of the gang ordered last */
        uint64_t reach;         /* known: gangs up to this may be ordered without overwriting one that is not done */
        struct pw_ordered *log; /* PW_ORDER_LOG: what was ordered at seq */
};

struct pw_island *pw_island_new(struct pw_scheduler *scheduler, uint32_t number, const struct pw_policy *policy);
void pw_island_free(struct pw_island *island);
void pw_island_enter(struct pw_island *island, struct pw_fragment *fragment);
/* A notice came: gangs up to `node` are ordered in the island of `column` (which of its program's islands it is). */
void pw_island_notice(struct pw_fragment *fragment, uint32_t column, uint32_t node);
void pw_island_turn(struct pw_island *island);
/* Gangs of this device up to `count` are done: what was marked with one of them happens (island/device.h). */
void pw_island_progress(struct pw_island *island, struct pw_device *device, uint64_t count);

#endif

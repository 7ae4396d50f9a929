/* An island: devices with one total order of gangs, decided here.
 *
 * A *gang* is a node of a program in this island (struct pw_gang, program/image/plan.h). A gang that is ordered gets the next
 * sequence number, `seq`, and its record is appended to the log in the island's board (board/board.h). The executor of each device
 * does those that it is a member of strictly in that order. A run's gangs are ordered as its program has them; a policy says which
 * of a tenant's runs comes first, and which of the tenants that wait for the same devices.
 *
 * A run that was started enters the island as a *fragment* (fragment.h): a cursor into the gangs that its program has here, in
 * program order. pw_island_turn() looks at the *woken* fragments, those for which something came that they waited for, and at those
 * at the *front*, which are first in line at all of their devices (line.h). Of each it orders what it can, and all of that is one
 * batch. Other fragments cost nothing while they wait. A gang is ordered (order_next() in island.c) if
 *
 *   - at each device of it fewer than W gangs (`--ahead`) are ordered and not done: its *window* is open; one that was found closed
 *     opens again when W/2 at most are left. And the log has room: its record overwrites none of a gang that is not done (`reach`);
 *   - on none of these devices a fragment of the same tenant with a lesser key (policy/policy.h) waits for a window, nor one of
 *     another tenant whose *turn*, its place among the tenants that wait there, comes before (line.h): so nobody is overtaken on a
 *     device for ever, and of each tenant one fragment at a time has a turn at a device;
 *   - of a run that is sequential: the node before is done on all devices;
 *   - the gangs of its run that it needs in other islands of the host are ordered there, as notices said (ready.c);
 *   - for a load, which brings an input onto its devices: the gangs that write the input are ordered, wherever the load reads it;
 *     where the input is updated in place, whoever else reads that room is done, or ordered before it on the same device;
 *   - for rooms in a block (all intermediates of a run) that its run took over from an earlier one: the earlier run's last use of
 *     them is ordered, and in this island before this gang (chain.c). A credit of a stage is such a room.
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
        uint64_t members;       /* its devices, a bit each */
        struct pw_list woken;   /* fragments that came, or for which came what they waited for */
        bool jumbled;           /* `woken` is not in the order of the fragments' keys */
        struct pw_list fronts;  /* fragments at the front: only a closed window, or the log, may keep them from being ordered */
        uint64_t waited;        /* devices at which fragments stand in line, a bit each */
        uint64_t kept_back;     /* sum of `turns_ahead` over its fragments */
        uint32_t admitted;      /* fragments that have entered and not left */
        bool dirty;             /* something may be ordered now */
        uint64_t seq;           /* of the gang ordered last */
        uint64_t reach;         /* as found last: up to this seq no log record of a gang that is not done is overwritten */
        struct pw_ordered *log; /* what was ordered as seq: at seq % PW_ORDER_LOG */
};

struct pw_island *pw_island_new(struct pw_scheduler *scheduler, uint32_t number, const struct pw_policy *policy);
void pw_island_free(struct pw_island *island);
void pw_island_enter(struct pw_island *island, struct pw_fragment *fragment);
/* A notice came: gangs up to `node` are ordered in the island of `column` (which of its program's islands it is). */
void pw_island_notice(struct pw_fragment *fragment, uint32_t column, uint32_t node);
/* Order what can be ordered: one message PW_MSG_ORDER to the board. */
void pw_island_turn(struct pw_island *island);
/* Gangs of this device up to its `count`th are done: what the markers at these gangs stand for happens (island/device.h). */
void pw_island_progress(struct pw_island *island, struct pw_device *device, uint64_t count);

#endif

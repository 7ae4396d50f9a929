/* Gangs that were launched on a device that does them later: from then on until they are done, in order. Calls and what is moved
 * are the device's; among them are loads with nothing to do, and senders, who say that their shard is there once what is ahead of
 * them is done.
 *
 * A gang is launched when the others whose rooms it needs are done, and what it reads on its own device is launched, too; nobody
 * knows yet what becomes of that. Heads are written at the end of a call, before it is published as done: a process that ends
 * leaves behind none that says a value which was not made. So what a call reads is looked at when it begins, too, as all that was
 * ahead of it has ended: it is not run, and fails, where that did.
 *
 * What is under way waits for nobody: so who waits for others has it done first, and no wait is for one behind it. What a load or
 * a receiver reads was there when it was launched; it is looked at again at the end.
 */
#ifndef PW_EXECUTOR_GANG_FLIGHT_H
#define PW_EXECUTOR_GANG_FLIGHT_H

#include "executor/gang/gang_private.h"

#define PW_FLIGHTS 64u /* under way at most: as many as the daemon orders ahead */

/* PASS: nothing of it is to be done. Of that and a SEND nothing but the gang is set. */
enum pw_flight_kind { PW_FLIGHT_PASS, PW_FLIGHT_SEND, PW_FLIGHT_CALL, PW_FLIGHT_MOVE };

struct pw_flight {
        enum pw_flight_kind kind;
        struct pw_exec_gang gang;
        struct pw_device_call call;   /* the device's until it is done */
        struct pw_task task;
        struct pw_task_value *values; /* of the task: inputs, then outputs */
        const struct pw_room_head **heads; /* likewise; of a MOVE that of its output alone */
        uint32_t value_capacity, head_capacity;
        struct pw_gang_move move;     /* whose arrays are these: */
        struct pw_source *sources;    /* in one piece of memory */
        struct pw_source_head *source_heads;
        uint32_t *groups, source_capacity;
        char text[PW_CAUSE_BYTES];
};

struct pw_flights {
        uint32_t first, count;
        uint64_t began_ns; /* the first of them, by the host's clock: its launch, or the end of the one before */
        struct pw_flight all[PW_FLIGHTS];
};

struct pw_flights *pw_flights_new(void); /* NULL: no memory */
void pw_flights_free(struct pw_flights *flights); /* accepts NULL */

/* The first gang whose rooms and segments are in use: the first under way, or this one. */
uint64_t pw_flights_oldest(const struct pw_exec_gang *gang);
/* The first under way; UINT64_MAX: none is. */
uint64_t pw_flights_first(struct pw_flights *flights);
/* The last gang under way that writes the room of this head: what that says is of before. 0: none does. Accepts NULL. */
uint64_t pw_flights_writer(struct pw_flights *flights, const struct pw_room_head *head);
/* Launch a call, all of whose waits are over. False: it cannot run, as *ret_outcome says; nothing is under way then.   Blocks:
 * where as many as there may be are under way; the first time of its function here, until it is done. */
bool pw_flight_launch(struct pw_exec_gang *gang, struct pw_room_head *ret_outcome);
/* Launch what makes up its output. False: as above. */
bool pw_flight_move(struct pw_exec_gang *gang, const struct pw_gang_move *move, struct pw_room_head *ret_outcome);
/* A gang of which nothing is to be done, or that is to send: it is done when those before it are. False: there are none. */
bool pw_flight_pass(const struct pw_exec_gang *gang);
bool pw_flight_send(const struct pw_exec_gang *gang);
/* Publish those that the device has done. */
void pw_flights_reap(struct pw_launch *launch);
/* The same of all.   Blocks: until they are done. */
void pw_flights_drain(struct pw_launch *launch);
/* The same of those that write the room of this head. */
void pw_flights_until(struct pw_launch *launch, const struct pw_room_head *head);
/* The same, for a gang that is to run while none is. */
void pw_flights_settle(const struct pw_exec_gang *gang);

#endif

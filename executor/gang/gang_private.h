/* What the files of a gang share: its faults, and what a member does for each kind of node.
 */
#ifndef PW_EXECUTOR_GANG_GANG_PRIVATE_H
#define PW_EXECUTOR_GANG_GANG_PRIVATE_H

#include "executor/gang/gang.h"

/* A device of this host, as everybody knows it. */
static inline struct pw_device_id pw_gang_device(const struct pw_exec_gang *gang, uint32_t device)
{
        return (struct pw_device_id){ (uint16_t)gang->launch->given.host, (uint16_t)device };
}
/* The outcome `status` of this member, as the heads of its outputs say it; PW_OK: a value. */
static inline struct pw_room_head pw_gang_fault(const struct pw_exec_gang *gang, enum pw_status status)
{
        return (struct pw_room_head){ .seq = gang->seq, .status = status, .cause_node = gang->index,
                                      .cause_device = pw_gang_device(gang, gang->launch->given.device), .run = gang->view->run };
}
/* What another process wrote as a status of what it could not do: any number may stand there. */
static inline enum pw_status pw_gang_status(uint32_t told)
{
        return pw_status_told(told);
}
/* The same where the fault begins: the daemon is told, in words. */
struct pw_room_head pw_gang_cause(const struct pw_exec_gang *gang, enum pw_status status, const char *text);
/* What `device` wrote before this order number is lost. */
uint64_t pw_gang_lost_before(const struct pw_launch *launch, uint32_t device);
/* Is there a value in a room of `device`? If not, *ret_fault says why. */
bool pw_gang_is_value(const struct pw_exec_gang *gang, const struct pw_room_head *head, uint32_t device,
                      struct pw_room_head *ret_fault);
/* Add a fault. A loss is the fault of a gang only where no input is in another error: what depends on a function that failed
 * says so. */
void pw_gang_fault_join(struct pw_room_head *fault, const struct pw_room_head *next);

/* Write the heads of its outputs: it ends. The daemon is told of results in error. */
void pw_gang_outputs_set(const struct pw_exec_gang *gang, const struct pw_room_head *outcome);

/* May bytes of several tenants lie in the device's memory? Then it is remembered whose lie where (residue.h), as each gang writes
 * its rooms, in the order of their launches; else nothing is. */
static inline bool pw_gang_is_shared(const struct pw_launch *launch)
{
        return launch->given.is_used || launch->segments.own_apart > 1;
}
/* The member is launched next, and will write all of its rooms. Returns those where another tenant's bytes may lie, as `zeroes` of
 * a call. */
uint64_t pw_gang_rooms_take(const struct pw_exec_gang *gang);
/* It did not, or not all of them: nobody knows whose bytes lie there. */
void pw_gang_rooms_forget(const struct pw_exec_gang *gang);
/* The same where what was launched behind it counts on them: they are set to 0 before that begins. */
void pw_gang_rooms_clear(const struct pw_exec_gang *gang);

/* Call the node's function. Returns what the heads of the outputs are to say, as the others here. */
struct pw_room_head pw_gang_call(struct pw_exec_gang *gang);
/* Its parts, where launch and end are apart. Find function and data, for the node's values. False: it cannot run, as *ret_outcome
 * says. */
bool pw_gang_call_prepare(struct pw_exec_gang *gang, struct pw_room_head *ret_outcome);
/* What the device is to run then; the task is the caller's, with a text of its own. */
struct pw_device_call pw_gang_call_make(const struct pw_exec_gang *gang, const struct pw_task *task);
/* It has ended so, and says `text` of it ("": nothing). */
struct pw_room_head pw_gang_call_outcome(const struct pw_exec_gang *gang, const struct pw_device_end *end, const char *text);
/* Its function has run here, for the first time perhaps. */
void pw_gang_tried(const struct pw_exec_gang *gang);
/* Bring an input of the run to where this member reads it. *ret_launched as of pw_gang_run(): nothing else is said then. */
struct pw_room_head pw_gang_load(struct pw_exec_gang *gang, const struct pw_run_input *input, bool *ret_launched);
/* Publish that this member is there, with its shard where that is eager. Returns the status of the shard. */
enum pw_status pw_gang_send(struct pw_exec_gang *gang, bool cancelled);
/* Publish, in a mark of the own board, an outcome that is known; of a value it is written already. */
void pw_gang_mark(const struct pw_exec_gang *gang, struct pw_mark *mark, const struct pw_room_head *outcome);
/* That of another member. */
static inline const struct pw_mark *pw_gang_mark_of(const struct pw_exec_gang *gang, uint32_t device)
{
        return &gang->launch->given.boards[device]->marks[gang->seq % PW_ORDER_LOG];
}
/* What a mark that was published says: is there a value? If not, *ret_fault says why. */
bool pw_gang_mark_read(struct pw_exec_gang *gang, const struct pw_mark *mark, struct pw_room_head *ret_fault);
/* Was what another device wrote before `seq` lost while it was copied from its room? A function may have written there. */
bool pw_gang_lost_meanwhile(const struct pw_exec_gang *gang, uint32_t device, uint64_t seq, struct pw_room_head *ret_fault);
/* Has a process of `device` ended in this gang? The next one may write its room whoever reads it. */
bool pw_gang_has_ended(struct pw_exec_gang *gang, uint32_t device, struct pw_room_head *ret_fault);
/* Wait for the senders, and make this member's shard up from theirs. *ret_launched: likewise. */
struct pw_room_head pw_gang_receive(struct pw_exec_gang *gang, bool *ret_launched);

/* What output 0 is made up from. */
struct pw_gang_move {
        struct pw_assembly assembly;
        const struct pw_source_head *heads; /* of its sources */
        bool has_rest;                      /* what no source covers is set to 0 */
};
/* Make output 0 up from the node's sources, whose data are all known, or launch that. */
struct pw_room_head pw_gang_move(struct pw_exec_gang *gang, bool *ret_launched);
/* Its parts. Ask the device's memory for it. */
PW_MUST_CHECK enum pw_status pw_gang_move_make(const struct pw_exec_gang *gang, const struct pw_gang_move *move,
                                               struct pw_error *ret_err);
/* It was made: are the sources that were read in rooms of other devices still values? A function may have written there: one behind
 * the mark that said so, or one ahead of it, which was under way as it was said. */
struct pw_room_head pw_gang_look_again(const struct pw_exec_gang *gang, const struct pw_source_head *heads, uint32_t count);
/* Would this member take part in a joint? Then it arrives when what makes its shard has been launched. */
bool pw_gang_joint_may(const struct pw_exec_gang *gang);
/* Say in the own mark, which is not published yet, whether it would. */
void pw_gang_joint_offer(struct pw_exec_gang *gang, struct pw_mark *mark);
/* All members have arrived with values: would all of them take part? They all find the same here. */
bool pw_gang_is_joint(const struct pw_exec_gang *gang);
/* Make output 0 together with them. Of the members' shards nobody has looked yet whether they are values. */
struct pw_room_head pw_gang_joint(struct pw_exec_gang *gang);
/* Make the own part of a transfer in parts. */
struct pw_room_head pw_gang_parts_make(struct pw_exec_gang *gang);
/* Publish the outcome of that, take the parts of the others, and wait until they have taken the own one. */
struct pw_room_head pw_gang_parts_take(struct pw_exec_gang *gang, const struct pw_room_head *made);

#endif

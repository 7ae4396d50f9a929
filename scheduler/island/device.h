/* A device as the scheduler books it: rooms of its memory, how many gangs it was given and has done, what is to happen then.
 *
 * capacity = free + used_results + used_blocks + letting_go: each is counted when a room is taken, changes its use or is given
 * back. The rooms themselves lie in one segment per tenant; capacity is booked over all of them. Where the memory is apart the
 * segments are names of one arena, and their rooms are ranges of that.
 *
 * Markers say what a device's progress means: gangs count up per device, a marker stands at the count of its gang, and progress
 * fires the markers that it passes. Gangs without consequence have none. A fragment of which nothing more is ordered leaves at
 * the count that its device had been given by then.
 */
#ifndef PW_SCHEDULER_ISLAND_DEVICE_H
#define PW_SCHEDULER_ISLAND_DEVICE_H

#include "base/range.h"
#include "scheduler/island/line.h"
#include "scheduler/island/policy/policy.h"
#include "scheduler/quota.h"
#include "scheduler/run.h"

struct pw_fragment;
struct pw_device_add;

struct pw_rooms { /* of one tenant in one device */
        struct pw_device_quota *quota; /* of the tenant */
        uint32_t segment;
        uint64_t bytes;
        struct pw_range *range; /* of the segment; the device's where it has one */
        uint32_t programs; /* that place rooms there */
        uint64_t used[3];  /* by enum pw_room_use */
        struct pw_line line; /* its fragments that wait for the device's window */
};

struct pw_marker { uint64_t count; struct pw_fragment *fragment; uint32_t gang; };

struct pw_device {
        uint32_t number, island;
        char *kind;
        bool up, kernels;
        uint32_t load; /* places of slices */
        /* memory */
        uint64_t capacity, free;
        struct pw_range *range; /* of the arena; NULL: each segment has its own */
        uint64_t used[3]; /* by enum pw_room_use */
        struct pw_rooms **rooms;
        uint32_t room_count, room_capacity;
        /* gangs */
        uint64_t ordered, done, done_seq;
        uint64_t *seqs;        /* of the gangs that are ordered and not done: at count & seq_mask */
        uint64_t seq_mask;
        struct pw_policy_charge *charges; /* of the same gangs, where the policy counts; else NULL */
        bool window_wanted;    /* a gang waits for this device to get on */
        struct pw_list turns;  /* struct pw_stand: a fragment of each tenant at most, as they took turns */
        struct pw_fragment *parked;/* at the front of the island's, it waits for this device's window; NULL: none */
        uint32_t standing;     /* fragments that wait for windows, this one among them */
        struct pw_marker *markers; /* a ring, of as many as the gangs that are ordered and not done: at & seq_mask */
        uint64_t marker_first, marker_end;
        struct pw_list leaving; /* struct pw_stand: fragments that order nothing more on it, as they said so */
        char *lost_text;       /* how it was lost last; NULL: never */
};

/* `counts`: the policy's. NULL: out of memory. */
struct pw_device *pw_device_new(const struct pw_device_add *add, uint32_t ahead, bool counts);
void pw_device_free(struct pw_device *device);

/* memory.c */
PW_MUST_CHECK enum pw_status pw_device_segment(struct pw_device *device, struct pw_device_quota *quota, uint32_t segment,
                                               uint64_t bytes, struct pw_error *ret_err);
struct pw_rooms *pw_device_rooms(const struct pw_device *device, const char *tenant); /* NULL: none */
static inline uint64_t pw_rooms_used(const struct pw_rooms *rooms) { return rooms->used[0] + rooms->used[1] + rooms->used[2]; }
static inline bool pw_rooms_idle(const struct pw_rooms *rooms) { return !rooms->programs && !pw_rooms_used(rooms); }
/* Its tenant's segment of the device is no more; it is idle. */
void pw_rooms_end(struct pw_device *device, struct pw_rooms *rooms);
/* `bytes` is a multiple of 64, as all rooms are. False: no capacity, or no range that is long enough. */
bool pw_room_take(struct pw_device *device, struct pw_rooms *rooms, uint64_t bytes, enum pw_room_use use, uint64_t *ret_offset);
void pw_room_give(struct pw_device *device, const struct pw_room *room, enum pw_room_use use);
void pw_room_change(struct pw_device *device, const struct pw_room *room, enum pw_room_use from, enum pw_room_use to);

/* The next gang of this device is `seq`; its count is device->ordered afterwards. */
static inline void pw_device_order(struct pw_device *device, uint64_t seq)
{
        device->seqs[device->ordered++ & device->seq_mask] = seq;
}
/* Of its gang `index`, from 0 on. */
static inline struct pw_policy_charge *pw_device_charge(const struct pw_device *device, uint64_t index)
{
        return &device->charges[index & device->seq_mask];
}
/* The first gang that it has not done. 0: none, as on its board: no gang has that number, whatever an executor writes there. */
static inline uint64_t pw_device_oldest(const struct pw_device *device)
{
        return device->done == device->ordered ? 0 : device->seqs[device->done & device->seq_mask];
}
/* At the count of the gang ordered last, once for each at most. */
void pw_device_mark(struct pw_device *device, struct pw_fragment *fragment, uint32_t gang);

#endif

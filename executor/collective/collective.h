/* A kind of collective: how the members of a transfer gang meet and how a receiver assembles its shard. The plain kind is
 * host.c (shared memory of one host).
 *
 * This is how bytes move between devices. To add a kind: NAME.c here, a line each in kinds.c, kinds.h and executor/local.mk; which
 * one a device has attach.c says. Members meet by marks in their boards. What is read in rooms that are mapped, by the table
 * of their device's memory, is assembled (gang/gang_assemble.c); what all members do together, each launching its part, is a joint
 * (gang/gang_joint.c). Every kind assembles, for not every transfer is a joint, and one member that takes part in none is enough.
 *
 * A joint goes over a channel, which is of its devices in the order of their ranks. It is named by the gang in which it was made,
 * so members that say the same name have the same one; else all make another, from an id that rank 0 gives the others.
 * Threads: the executor's launching thread.
 */
#ifndef PW_EXECUTOR_COLLECTIVE_H
#define PW_EXECUTOR_COLLECTIVE_H

#include "base/layout.h"
#include "executor/device/memory.h"
#include "plane/board/board.h"

/* One source that a receiver reads: a shard of the source value, in reach of the kind. */
struct pw_source {
        const void *data;
        struct pw_box box; /* of the whole value */
        uint64_t bytes;    /* of the shard: as many may be read */
        bool in_host;      /* `data` is in memory of the processor; else of a device, this or another one */
};

/* What one receiver assembles. */
struct pw_assembly {
        const struct pw_device_memory *memory; /* by which all of it is reached */
        struct pw_exec_device *device;
        uint8_t *to;
        struct pw_box to_box;
        enum pw_dtype dtype;
        enum pw_op op;
        /* Groups of sources: within a group they are reduced in this order (rank order); groups cover different boxes.
         * group_of[i] is the group of source i; groups are consecutive. */
        const struct pw_source *sources;
        const uint32_t *group_of;
        uint32_t source_count;
};

/* What devices do together, each the same: an all-reduce of shards that are alike. */
struct pw_joint {
        uint64_t seq; /* of the gang */
        uint32_t rank, rank_count;
        uint8_t devices[PW_DEVICES_MAX]; /* by rank; 0 behind the last */
        const void *from; /* rooms of the own device; they may be the same */
        void *to;
        uint64_t elements;
        enum pw_dtype dtype;
        enum pw_op op;
};

#define PW_CHANNEL_ID_BYTES 128u
struct pw_channel_id { uint64_t words[PW_CHANNEL_ID_BYTES / sizeof(uint64_t)]; };

struct pw_collective_params {
        char library[256];  /* nccl: a path or a name; "": the usual one */
        uint64_t off;       /* not 0: nothing is done jointly */
        uint64_t nvls;      /* not 0: sums are made in switches, and have other bits */
        uint64_t channels;  /* that are kept at most, at least 1 */
        uint32_t failures;  /* processes of the device that ended, one after the other, as they made a channel */
        uint32_t number;    /* of the device, on its host */
        struct pw_exec_device *device; /* of the kind that the collective is for, */
        void *memory;                  /* and all of its memory; NULL: of no use to others */
        uint64_t memory_bytes;
        const struct pw_log *log; /* NULL: none */
        /* End the process, as the device says `how`; any thread calls it. */
        void (*lost)(void *context, const char *how) __attribute__((noreturn));
        void *context;
};

struct pw_collective; /* of the kind, of one device */

struct pw_collective_kind {
        const char *name;
        /* Own: *ret_collective is given back with close(), before the device; NULL is one too. Errors: PW_NO_MEMORY. */
        enum pw_status (*open)(const struct pw_collective_params *params, struct pw_collective **ret_collective,
                               struct pw_error *ret_err);
        void (*close)(struct pw_collective *collective);
        /* Does it take part in none, from now on? */
        bool (*is_off)(struct pw_collective *collective);
        /* Would it take part in such a joint? Rooms are not known yet. 0: no; else a number of its hardware, which no other member
         * may have.   Blocks: where a library is loaded, the first time. */
        uint32_t (*takes)(struct pw_collective *collective, const struct pw_joint *joint);
        /* The name of its channel for the devices of `joint`; 0: it has none. */
        uint64_t (*channel)(struct pw_collective *collective, const struct pw_joint *joint);
        /* What a new channel is made from; its rank 0 asks. */
        enum pw_status (*id)(struct pw_collective *collective, struct pw_channel_id *ret_id, struct pw_error *ret_err);
        /* Begin, behind what was launched before; by a channel that is made from `id`, in place of the one that there was, or,
         * NULL, by that. On PW_OK and errors alike: until poll() gives PW_OK, or abort().   Blocks: never for others. */
        enum pw_status (*begin)(struct pw_collective *collective, const struct pw_joint *joint, const struct pw_channel_id *id,
                                struct pw_error *ret_err);
        /* PW_OK: the result is in its room. Errors: PW_NOT_READY; what went wrong.   Blocks: never. */
        enum pw_status (*poll)(struct pw_collective *collective, struct pw_error *ret_err);
        /* Of what was begun: is its channel there, and its part launched? */
        bool (*has_launched)(const struct pw_collective *collective);
        /* Stop what was begun, and forget its channel: nothing of it is under way then. Blocks: for a second at most, then the
         * process ends. */
        void (*abort)(struct pw_collective *collective);
        /* Assemble. Every element of to_box lies in at least one group. Same sources, same bits. Returns bytes moved in
         * *ret_moved. Errors: PW_UNSUPPORTED (a reduction of opaque elements), those of the memory. */
        enum pw_status (*assemble)(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err);
};

const struct pw_collective_kind *pw_collective_kind(const char *name);

#endif

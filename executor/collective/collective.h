/* A kind of collective: how the members of a transfer gang meet and how a receiver assembles its shard. The plain kind is
 * host.c (shared memory of one host).
 *
 * This is how bytes move between devices. To add a kind: NAME.c here, a line each in kinds.c, kinds.h and executor/local.mk.
 * There is one so far, which attach.c names; members meet by marks in their boards and read rooms that are mapped, by the table of
 * their device's memory (gang/gang_transfer.c, gang/gang_parts.c), so a kind that reaches another host needs more than this table.
 */
#ifndef PW_EXECUTOR_COLLECTIVE_H
#define PW_EXECUTOR_COLLECTIVE_H

#include "base/layout.h"
#include "executor/device/memory.h"
#include "plane/board/image.h"

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

struct pw_collective_kind {
        const char *name;
        /* Assemble. Every element of to_box lies in at least one group. Same sources, same bits. Returns bytes moved in
         * *ret_moved. Errors: PW_UNSUPPORTED (a reduction of opaque elements), those of the memory. */
        enum pw_status (*assemble)(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err);
};

const struct pw_collective_kind *pw_collective_kind(const char *name);

#endif

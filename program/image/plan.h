/* The plan of a program on one host: what its islands need to know of an image to order their gangs, island by island.
 *
 * Computed once from the image: nothing of it is looked at device by device while runs pass through. It is as large as the host's
 * part of the program: of the devices of other hosts nothing is in it, for what comes from there has arrived before a gang is
 * ordered.
 */
#ifndef PW_PROGRAM_IMAGE_PLAN_H
#define PW_PROGRAM_IMAGE_PLAN_H

#include "plane/board/image.h"
#include "program/graph/graph.h"

/* The islands of a program on this host, ascending, are its columns. Devices and islands are numbers of the host, masks of them a
 * bit each. */
struct pw_need { uint32_t column, node; }; /* gangs up to `node` are ordered there */

struct pw_need_list { uint32_t first, count; }; /* in the plan's needs */

struct pw_gang {                /* a node in one island */
        uint32_t node;
        uint32_t load;          /* of a load: 1 + the program's input */
        uint64_t members;
        uint64_t last;          /* members for which it is the run's last gang in this island */
        uint32_t notify;        /* columns that have a gang which needs this one, in this run or in one behind it */
        struct pw_need_list needs, behind;   /* of its own run; of the runs whose blocks it took over */
        uint32_t seq_slot;      /* others wait for its sequence number, which is written there; PW_NO_SEQ: nobody does */
        bool is_behind;         /* it may come behind nodes of the runs whose blocks its run took over, in any island */
        uint32_t passes;        /* in this island: those runs' gangs before this one are ordered first */
        uint32_t first_result, result_count; /* in the program's `written` */
};

struct pw_plan_island {         /* the gangs of one island, in program order */
        uint32_t island;
        uint64_t members;
        struct pw_gang *gangs;
        struct pw_need *needs;
        uint32_t gang_count, need_count, need_capacity;
};

struct pw_plan_result {
        uint32_t writer_members; /* of the writing node, over all columns */
        uint32_t islands;        /* in which the writer has a gang */
        bool read_afar;          /* other devices read its room while the program runs */
        uint64_t needs;          /* inputs of the first 64 that it is computed from, a bit each */
        uint64_t room_bytes;
};

struct pw_plan {
        struct pw_plan_island *columns;
        uint32_t column_count;
        uint32_t *step_members;         /* per node: members over all columns, 0: no gang */
        struct pw_plan_result *results;
        uint32_t *written;              /* results, by writer */
};

/* Fill *plan, which is all zero, from an image over `slices`, for one of their hosts. False: out of memory.
 * Own: what it holds goes with pw_plan_done(), which takes half-built ones too. */
PW_MUST_CHECK bool pw_plan_init(struct pw_plan *plan, const struct pw_image *image, const struct pw_slice_map *slices,
                                uint32_t host);
void pw_plan_done(struct pw_plan *plan);
uint64_t pw_plan_bytes(const struct pw_plan *plan, const struct pw_image *image); /* of memory */

#endif

/* What child/ has: the children, and the memory that they share with the daemon.
 */
#ifndef PW_DAEMON_CHILD_CHILDREN_H
#define PW_DAEMON_CHILD_CHILDREN_H

#include "base/error.h"
#include "plane/board/board.h"

struct pw_child;
struct pw_child_calls;

struct pw_children {
        const struct pw_child_calls *calls;
        struct pw_child *all;         /* device_count, then the describer */
        uint64_t start_us;            /* when one is started again; UINT64_MAX: none waits for that */
        uint64_t gave_up_us;          /* when to look whether joints were given up that had to be; 0: none had */
        uint64_t looked_us;           /* when functions were looked at that take too long */
        uint64_t stalls_us;           /* likewise, for what stands still */
        uint64_t shortest_limit_us;   /* of all functions ever compiled in; 0: none has one */
        struct pw_error refused;      /* status not PW_OK: a device could not be opened as the daemon started, which ends */
        bool tried_cache, has_cache;  /* cuda_cache.h */
        uint64_t unpins, unpin_answers; /* unpin.h: the number of the last, and how often one was answered */
        int bells_fd;
        struct pw_bells *bells;
        struct pw_shared_island { int fd, ro_fd; struct pw_island_board *board; } islands[PW_ISLANDS_MAX];
};

static inline void pw_children_init(struct pw_children *children)
{
        children->start_us = UINT64_MAX;
        children->bells_fd = -1;
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                children->islands[i].fd = children->islands[i].ro_fd = -1;
}

#endif

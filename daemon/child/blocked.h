/* What a gang that an executor has taken up still waits for before its function, load or transfer begins: the executor looks at
 * the same words in the same order (executor/gang/gang.c).
 */
#ifndef PW_DAEMON_CHILD_BLOCKED_H
#define PW_DAEMON_CHILD_BLOCKED_H

#include "daemon/child/child.h"

struct pw_blocked {
        uint32_t device;                  /* that is not done with */
        const struct pw_image_node *node; /* this one; NULL: with what made the input of a load */
        const struct pw_image_stage *stage; /* whose credit that gives back; NULL: none */
        bool before;                      /* the node is one of the run whose block this run took over */
};

/* False: nothing; `order` is that of a gang which `device` has not done. */
bool pw_blocked_find(const struct pw_daemon *daemon, uint32_t device, const struct pw_child_order *order,
                     struct pw_blocked *ret_blocked);
/* The same of the gang that `device` is in. False, too, where it is in none. */
bool pw_blocked_device(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, struct pw_blocked *ret_blocked);

#endif

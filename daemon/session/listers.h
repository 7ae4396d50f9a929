/* Listings that were asked for by one tenant's sessions, or by other hosts: each has a line, and the lines take turns.
 */
#ifndef PW_DAEMON_SESSION_LISTERS_H
#define PW_DAEMON_SESSION_LISTERS_H

#include "base/list.h"

struct pw_listers {
        struct pw_list turn; /* in daemon->inspection.listing, or alone */
        struct pw_list all;  /* that are not answered yet */
};

static inline void pw_listers_init(struct pw_listers *listers)
{
        pw_list_init(&listers->turn);
        pw_list_init(&listers->all);
}

#endif

/* The daemon's side of a lane (client/lane.h reads them).
 */
#ifndef PW_DAEMON_SESSION_LANE_H
#define PW_DAEMON_SESSION_LANE_H

#include "daemon/session/session.h"

struct pw_dlane {
        struct pw_ring_reader reader;
        struct pw_dsession *session;
        struct pw_list hot;  /* in daemon->clients.hot, or alone */
        uint32_t quiet;      /* turns without a record */
        uint32_t due;        /* cells that are to be read in this round */
        uint64_t seen;       /* the tenant's scan at all its lanes at which, or after which, that was seen */
        uint64_t looked;     /* the round in which it was the last to look at the others */
        uint64_t turned;     /* the last turn that read some of it: its round */
        uint32_t mark;       /* cells that its session's pass is still to read of it */
};

#endif

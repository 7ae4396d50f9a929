/* What meta/ has besides the kind that is open: how this host stands with its metadata, for who asks.
 */
#ifndef PW_DAEMON_META_CARRIED_H
#define PW_DAEMON_META_CARRIED_H

#include "base/error.h"
#include "cluster/link/hosts.h"

struct pw_meta_hosts;

struct pw_carried {
        const struct pw_meta_hosts *hosts; /* who deals with other hosts: carry.h; NULL: nobody */
        void *context;                     /* of it */
        const char *cluster;               /* borrowed of the settings; NULL: this host is of none */
        char host_name[PW_HOST_NAME_MAX + 1], machine[PW_HOST_NAME_MAX + 1];
        uint64_t incarnation, instance;    /* of the cluster; of this daemon: random */
        uint64_t away_us;                  /* since when metadata is away; 0: it is not */
        struct pw_error why;               /* why it is, or what a host without a number waits for; status PW_OK: nothing */
        uint64_t stuck_us;                 /* metadata had no memory for a question: it is not asked again before then; 0: it had */
        bool refused;                      /* this host cannot be of its cluster: the daemon ends */
};

#endif

/* What two daemons tell each other before anything else, and whether they may go on with each other.
 *
 * Threads: any.   Blocks: never.
 */
#ifndef PW_CLUSTER_LINK_HELLO_H
#define PW_CLUSTER_LINK_HELLO_H

#include "cluster/link/link.h"

#define PW_PEER_VERSION 1u /* of what daemons say to each other */

struct pw_hello {
        uint32_t version;
        uint64_t incarnation;    /* of the cluster: random, from when it was founded */
        const char *cluster, *name; /* names of the cluster, and of the host that says this; borrowed */
        const char *address;     /* where that one is called, as in a row of hosts.h; borrowed; NULL or "": not said */
        uint32_t host;           /* its number */
        bool met;                /* for who says this, the connection is theirs: said by who decides (link.h), once it has met */
        struct pw_link_peer peer;
};

/* Can `own`, a host's, go on with `theirs`? `proven`: the name in the certificate that came with it; NULL: its proof names nobody.
 * Errors: PW_UNSUPPORTED (another version), PW_DENIED (another cluster; a name that is not the proven one), PW_EXISTS (another
 * cluster of this name; this host's own number). */
PW_MUST_CHECK enum pw_status pw_hello_check(const struct pw_hello *own, const struct pw_hello *theirs, const char *proven,
                                            struct pw_error *ret_err);

#endif

/* What this host sends to others: values that it lends, and replicas that it pulls or has. cluster/pull/{source,spread}.h decide.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_PEER_PULL_OFFERING_H
#define PW_DAEMON_PEER_PULL_OFFERING_H

#include "daemon/peer/peers_private.h"

/* Where the bytes of an offer are, as the place that cluster/pull/source.h has: of a value of this host, or of a pull. */
struct pw_offered {
        uint8_t *at;           /* NULL: they are not in a row: gather() */
        uint64_t bytes;
        struct pw_id id;
        const char *tenant;    /* borrowed, until let_go() */
        /* Bytes of a value that is spread over devices, to `to`: whole elements. Threads: any, also several at a time. */
        enum pw_status (*gather)(const struct pw_offered *offered, uint64_t first, uint32_t bytes, uint8_t *to);
        void (*let_go)(struct pw_offered *offered); /* no thread has the room any more */
};

/* What `id` names, if it is of this host and has to be fetched from a device before it can be offered; else NULL. */
struct pw_object *pw_offering_apart(struct pw_peers *peers, struct pw_id id);
/* Another host wants to pull `id`: what this host lends of its own is offered, if it is not yet; pulls offer what is of others.
 * Errors: why it cannot be: the error that it is lost by, PW_GONE (it is not here, or not ready), those of pw_value_at(). */
PW_MUST_CHECK enum pw_status pw_offering_wanted(struct pw_peers *peers, struct pw_id id);
/* A host holds it no longer: where none does, it is offered no more. */
void pw_offering_unheld(struct pw_peers *peers, struct pw_id id);
void pw_offering_done(struct pw_peers *peers);

#endif

/* What metadata is told of this host: from the settings, and from the machine.
 */
#ifndef PW_DAEMON_META_OWN_H
#define PW_DAEMON_META_OWN_H

#include "daemon/daemon.h"
#include "daemon/meta/meta.h"

#define PW_OWN_PASSWORD_BYTES 512u

struct pw_own_cluster {
        struct pw_meta_cluster cluster; /* its texts are the settings', daemon->carried's and these: */
        char addresses[PW_HOST_ADDRESS_MAX + 1], password[PW_OWN_PASSWORD_BYTES];
};

/* Fill daemon->carried's name of this host: from the settings, else the machine's. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_own_host_name(struct pw_daemon *daemon, struct pw_error *ret_err);
/* With that, fill daemon->carried's cluster, names and instance, and *ret_own for a host of a cluster. Own: given back with
 * pw_own_cluster_done().
 * Errors: PW_INVALID (addresses that are too long, a file without a password), PW_DENIED (a password that others may read),
 * PW_SYSTEM.   Blocks: on files. */
PW_MUST_CHECK enum pw_status pw_own_cluster_read(struct pw_daemon *daemon, const struct pw_text_list *addresses,
                                                 struct pw_own_cluster *ret_own, struct pw_error *ret_err);
void pw_own_cluster_done(struct pw_own_cluster *own); /* forgets the password */

#endif

/* A host that is new in its cluster, until it has a number: it has no store yet, and serves nobody, but says why.
 *
 * Threads: loop thread only.
 */
#ifndef PW_DAEMON_META_PLACE_H
#define PW_DAEMON_META_PLACE_H

#include "daemon/daemon.h"

/* Run the loop until this host has a number and an epoch; at once where it has. Errors: PW_CANCELLED (the daemon was told to stop),
 * PW_EXISTS and others of metadata (this host cannot be of the cluster).   Blocks: for as long as that takes. */
PW_MUST_CHECK enum pw_status pw_place_await(struct pw_daemon *daemon, struct pw_error *ret_err);
/* What whoever connects meanwhile is told; returns the status. */
enum pw_status pw_place_explain(const struct pw_daemon *daemon, struct pw_error *ret_err);

#endif

/* Spawning an executor: a socket pair, a process of another user, its pidfd.
 */
#ifndef PW_DAEMON_CHILD_SPAWN_H
#define PW_DAEMON_CHILD_SPAWN_H

#include "daemon/daemon.h"

#include <sys/types.h>

struct pw_spawned { pid_t pid; int pidfd, socket; };

/* Who executors run as. Errors: PW_NOT_FOUND. */
struct pw_executor_user { bool change; /* false: as the daemon does */ uid_t uid; gid_t gid; };
PW_MUST_CHECK enum pw_status pw_executor_user(struct pw_daemon *daemon, struct pw_executor_user *ret_user,
                                              struct pw_error *ret_err);

/* Start the executor of `device`, -1: the describing executor. Own: *ret_spawned's descriptors are the caller's.
 * Errors: PW_SYSTEM, PW_NOT_FOUND (no executor program, no such user). */
PW_MUST_CHECK enum pw_status pw_spawn(struct pw_daemon *daemon, int device, struct pw_spawned *ret_spawned,
                                      struct pw_error *ret_err);
/* Start one that says over its socket what memory of `device` is free, "0 BYTES", or a status and a sentence, and ends. The same
 * else; the socket blocks. */
PW_MUST_CHECK enum pw_status pw_spawn_measure(struct pw_daemon *daemon, uint32_t device, struct pw_spawned *ret_spawned,
                                              struct pw_error *ret_err);
/* What executor/options.c reads, a line each. */
#define PW_DEVICE_OPTIONS_BYTES 900
void pw_device_options_format(const struct pw_settings *settings, uint32_t device, char *text, size_t text_bytes);

#endif

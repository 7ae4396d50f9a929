/* An executor's session: the socket to the daemon, and the maps of boards and bells that came with its Welcome.
 */
#ifndef PW_EXECUTOR_ATTACH_H
#define PW_EXECUTOR_ATTACH_H

#include "executor/launch.h"

struct pw_attached; /* ends the process when the daemon is gone */

/* Shake hands as the executor of `device` over the connected socket `fd`, map everything, open the device.
 * `log` outlives it; NULL: nothing is said.
 * Own: *ret_attached is given back with pw_detach(); what its params name lives as long. Errors: PW_DAEMON_GONE, PW_PROTOCOL,
 * PW_NOT_FOUND (a kind of device that this build lacks), those of mapping and of the kind. */
PW_MUST_CHECK enum pw_status pw_attach(int fd, uint32_t device, const struct pw_log *log, struct pw_attached **ret_attached,
                                       struct pw_error *ret_err);
void pw_detach(struct pw_attached *attached);
const struct pw_launch_params *pw_attached_params(const struct pw_attached *attached);

/* "kind=emulated", "capacity=268435456" and so on, a line each, in any order; keys that are not known are passed over.
 * Errors: PW_PROTOCOL (no kind, not a number). */
struct pw_device_options { char kind[32]; struct pw_device_params params; struct pw_collective_params collective; };
PW_MUST_CHECK enum pw_status pw_device_options_parse(const char *text, struct pw_device_options *ret_options,
                                                     struct pw_error *ret_err);

#endif

/* Shares of device time as the operator wrote them, "bo=4", and "*=2" for every tenant: told to the scheduler, whose policy keeps
 * them.
 */
#ifndef PW_DAEMON_SETTINGS_WEIGHT_H
#define PW_DAEMON_SETTINGS_WEIGHT_H

#include "daemon/session/tenant.h"

/* Does every line make sense, and is no tenant named twice? Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_weights_check(const struct pw_text_list *lines, struct pw_error *ret_err);
/* Tell the scheduler the weight of a tenant, as the settings have it now: its own, else that of "*", else 1. */
PW_MUST_CHECK enum pw_status pw_weight_apply(struct pw_daemon *daemon, const struct pw_tenant *tenant, struct pw_error *ret_err);
/* Every tenant's. */
PW_MUST_CHECK enum pw_status pw_weights_apply(struct pw_daemon *daemon, struct pw_error *ret_err);

#endif

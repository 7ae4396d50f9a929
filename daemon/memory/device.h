/* Memory of tenants on this host's devices.
 */
#ifndef PW_DAEMON_MEMORY_DEVICE_H
#define PW_DAEMON_MEMORY_DEVICE_H

#include "daemon/session/tenant.h"

/* Of the tenant on every device, made at its first slice. Errors: PW_SYSTEM, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_tenant_devices(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err);

#endif

/* Tenants as they come and go (session/tenant.h says what one is).
 */
#ifndef PW_DAEMON_CLIENT_TENANT_H
#define PW_DAEMON_CLIENT_TENANT_H

#include "daemon/session/tenant.h"

/* Whoever connects is a user, known while a connection is: the tenant-to-be, without memory. The connection counts. */
PW_MUST_CHECK enum pw_status pw_tenant_connect(struct pw_daemon *daemon, uid_t uid, struct pw_tenant **ret_tenant,
                                               struct pw_error *ret_err);
void pw_tenant_disconnect(struct pw_daemon *daemon, struct pw_tenant *tenant);
/* It said Hello: from now on it has memory. It ends when nothing is left of it: no connection, no session that a living process
 * might still write for, no object, name or lease, nothing kept, no room on devices. Its memory there, its freezer and what its
 * shape functions answered end with it. */
PW_MUST_CHECK enum pw_status pw_tenant_begin(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err);
void pw_tenants_done(struct pw_daemon *daemon);
extern const struct pw_tenancy pw_tenants_by_name;

#endif

/* Quotas of tenants as the operator wrote them, told to store and scheduler, which keep to them.
 */
#ifndef PW_DAEMON_SETTINGS_QUOTA_H
#define PW_DAEMON_SETTINGS_QUOTA_H

#include "daemon/session/tenant.h"
#include "store/account/quota.h"

/* Are these bytes a number alone? No tenant's name is: a user's is none, and who has no name is called "uid-1000". */
bool pw_quota_is_number(const char *tenant, size_t bytes);
/* What `--quota` says of a tenant: of "*" first, then of its name; what is not said has no limit. Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_quota_read(const struct pw_text_list *lines, const char *tenant, struct pw_quota *ret_quota,
                                           struct pw_error *ret_err);
/* Does every line make sense, and is nothing given twice for a tenant? Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_quotas_check(const struct pw_text_list *lines, struct pw_error *ret_err);
/* Which users with a quota do not exist: may ask a server, and wait for it.   Threads: any. */
struct pw_quotas_unknown { uint32_t count; char *names[16]; }; /* the first of them; zeroed to begin with */
void pw_quotas_look_up(const struct pw_text_list *lines, struct pw_quotas_unknown *unknown);
/* A line of the log for each. */
void pw_quotas_warn(const struct pw_daemon *daemon, const struct pw_quotas_unknown *unknown);
void pw_quotas_unknown_done(struct pw_quotas_unknown *unknown);
/* Tell store and scheduler the quota of a tenant, as the settings have it now. */
PW_MUST_CHECK enum pw_status pw_quota_apply(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err);
/* Every tenant's. */
PW_MUST_CHECK enum pw_status pw_quotas_apply(struct pw_daemon *daemon, struct pw_error *ret_err);
/* May the tenant have one more session? Errors: PW_LIMIT. */
PW_MUST_CHECK enum pw_status pw_quota_session(const struct pw_tenant *tenant, struct pw_error *ret_err);

#endif

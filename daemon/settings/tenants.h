/* What tenants are called, as the operator wrote it, "robert=bo": of one cluster, users of the same person may have other names and
 * numbers on each host.
 */
#ifndef PW_DAEMON_SETTINGS_TENANTS_H
#define PW_DAEMON_SETTINGS_TENANTS_H

#include "daemon/settings/settings.h"

/* Does every line make sense, and is no user and no tenant named twice? Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_tenants_check(const struct pw_text_list *lines, struct pw_error *ret_err);
/* What the user's tenant is called; NULL: no line names it. Borrowed. */
const char *pw_tenants_name(const struct pw_text_list *lines, const char *user);
/* The user whose tenant is called `name`, its bytes not ended by a 0; NULL: no line says so. */
const char *pw_tenants_user(const struct pw_text_list *lines, const char *name, size_t *ret_bytes);

#endif

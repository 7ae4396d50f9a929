/* The options of metadata: what goes together.
 */
#ifndef PW_DAEMON_SETTINGS_METADATA_H
#define PW_DAEMON_SETTINGS_METADATA_H

#include "daemon/settings/settings.h"

/* Errors: PW_INVALID, which begins with the option. */
PW_MUST_CHECK enum pw_status pw_metadata_check(const struct pw_settings *settings, struct pw_error *ret_err);

#endif

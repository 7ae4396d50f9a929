/* What the command line and the config file share: finding an option, setting its value.
 *
 * Private to base/option*.c.
 */
#ifndef PW_BASE_OPTION_VALUE_H
#define PW_BASE_OPTION_VALUE_H

#include "base/option.h"

/* The option of that name, or NULL. */
const struct pw_option *pw_option_find(const struct pw_options *options, const char *name);
/* The name of an option that is near to `name`, or NULL. */
const char *pw_option_nearest(const struct pw_options *options, const char *name);
/* Read `text` into the field of the option. A list gets one more item, unless `first`: then it is the only one.
 * Errors: PW_INVALID (does not name the option), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_option_set(const struct pw_option *option, void *settings, const char *text, bool first,
                                           struct pw_error *ret_err);

#endif

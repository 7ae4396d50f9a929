/* --watch: a listing again and again, until the command is interrupted or the daemon is gone.
 */
#ifndef PW_CLI_PRINT_WATCH_H
#define PW_CLI_PRINT_WATCH_H

#include "cli/command.h"

#define PW_WATCH_MIN_US 10000u

/* On a terminal it is drawn over the last one; elsewhere blocks follow each other, with --json one document to a line.
 * Errors: what the subcommand gives.   Blocks: until then. */
PW_MUST_CHECK enum pw_status pw_watch(struct pw_invocation *invocation, struct pw_error *ret_err);

#endif

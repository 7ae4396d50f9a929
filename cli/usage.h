/* What the table of subcommands says of itself: help, the manual's list, the nearest name.
 */
#ifndef PW_CLI_USAGE_H
#define PW_CLI_USAGE_H

#include "cli/command.h"

void pw_usage_print(FILE *out);
void pw_usage_print_command(const struct pw_command *command, FILE *out);
/* The subcommands and their options as mdoc(7), for pathways(1). */
void pw_usage_print_mdoc(FILE *out);
/* For bash; completion.c */
void pw_usage_print_completion(FILE *out);
/* Errors: PW_INVALID, with the nearest name. */
PW_MUST_CHECK enum pw_status pw_usage_find(const char *name, const struct pw_command **ret_command, struct pw_error *ret_err);

#endif

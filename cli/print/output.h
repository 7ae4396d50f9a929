/* Where rows go: as JSON or in a form, as wide as the terminal.
 */
#ifndef PW_CLI_PRINT_OUTPUT_H
#define PW_CLI_PRINT_OUTPUT_H

#include "cli/command.h"

/* Of standard output. */
bool pw_output_is_screen(void);    /* a terminal that can move its cursor */
uint32_t pw_output_lines(void);
uint32_t pw_output_columns(void); /* at least 40; no bound where it is no terminal */

/* All rows, in `form` unless JSON is asked for. */
PW_MUST_CHECK enum pw_status pw_output_rows(struct pw_invocation *invocation, const struct pw_form *form,
                                            const Pathways__Wire__Listing *listing, struct pw_error *ret_err);
/* The same over hosts: with a column for them, where rows say of which host they are, and a line for each that did not answer. */
PW_MUST_CHECK enum pw_status pw_output_listing(struct pw_invocation *invocation, const struct pw_form *form,
                                               const struct pw_listing *listing, struct pw_error *ret_err);
/* Those lines. */
void pw_output_silent(const struct pw_listing *listing, FILE *out);
/* One row of cells, in the subcommand's form. */
PW_MUST_CHECK enum pw_status pw_output_cells(struct pw_invocation *invocation, Pathways__Wire__Cell *cells, size_t count,
                                             struct pw_error *ret_err);

/* The object that an operand names, by id or by a name, which is waited for up to `wait_us`. */
PW_MUST_CHECK enum pw_status pw_operand_open(struct pw_invocation *invocation, const char *operand, int64_t wait_us,
                                             struct pw_future **ret_future, struct pw_error *ret_err);
/* "4,4" or "96": numbers in `items`, at most `max`. Errors: PW_INVALID, which names `what`. */
PW_MUST_CHECK enum pw_status pw_numbers_parse(const char *what, const char *text, uint64_t *items, uint32_t max,
                                              uint32_t *ret_count, struct pw_error *ret_err);
/* "broadcast", "split:0", "partial:sum", over the one axis of a mesh. */
PW_MUST_CHECK enum pw_status pw_sharding_parse(const char *option, const char *text, struct pw_sharding *ret_sharding,
                                               struct pw_error *ret_err);
/* Of --dtype and --dims. */
PW_MUST_CHECK enum pw_status pw_type_parse(const struct pw_command_settings *settings, enum pw_dtype *ret_dtype,
                                           struct pw_dims *ret_dims, struct pw_error *ret_err);

#endif

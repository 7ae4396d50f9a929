/* Option tables: command line, config file, --help and the manual's option list come from one table.
 *
 * A value lands at `offset` of the settings struct. Command line beats file beats the default text. Every option `name` is
 * also the key `name` of the config file (inih). Unknown options and keys are errors that name the nearest known one; an
 * error in a file names file and line.
 */
#ifndef PW_BASE_OPTION_H
#define PW_BASE_OPTION_H

#include "base/error.h"

#include <stdio.h>

enum pw_option_kind {
        PW_OPTION_TEXT,     /* const char *, owned by the settings (strdup'd) */
        PW_OPTION_SIZE,     /* uint64_t bytes */
        PW_OPTION_DURATION, /* uint64_t microseconds */
        PW_OPTION_PERIOD,   /* likewise; a bare --name is a second, other values stand behind `=` */
        PW_OPTION_COUNT,    /* uint32_t */
        PW_OPTION_OCTAL,    /* uint32_t */
        PW_OPTION_FLAG,     /* bool; no argument on the command line, yes/no in a file */
        PW_OPTION_LIST,     /* struct pw_text_list: the option may be given several times */
};

struct pw_text_list { char **items; uint32_t count; };

struct pw_option {
        const char *name;     /* "host-memory": --host-memory on the command line, host-memory in a file */
        char letter;          /* short form, or 0 */
        enum pw_option_kind kind;
        size_t offset;
        const char *fallback; /* default as text, or NULL */
        const char *argument; /* "SIZE", for help; NULL for flags */
        const char *help;     /* one sentence or more: what --help and the manual say */
};

struct pw_options {
        const struct pw_option *items;
        uint32_t count;
        const char *program; /* for messages */
};

/* Set every default; what was in the fields before is not looked at. After a failure the settings may be freed.
 * Errors: PW_INVALID (a bug in the table), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_options_defaults(const struct pw_options *options, void *settings, struct pw_error *ret_err);
/* Parse argv[1..]: options, then operands. *ret_operand is the index of the first operand (argc if none). An option given
 * twice has its last value; a list given here replaces the one of the file or the default.
 * Errors: PW_INVALID, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_options_parse(const struct pw_options *options, void *settings, int argc, char **argv,
                                              int *ret_operand, struct pw_error *ret_err);
/* Read a config file; keys given on the command line are not to be overwritten: call it before pw_options_parse().
 * Only a list may be given twice, on a line each. *ret_lines has place for a number per option: the line of its last value in the
 * file, 0: none; it is written in any case.
 * Errors: PW_BAD_CONFIG with file, line and the nearest known key; PW_NOT_FOUND. */
PW_MUST_CHECK enum pw_status pw_options_read(const struct pw_options *options, void *settings, const char *path,
                                             uint32_t *ret_lines, struct pw_error *ret_err);
void pw_options_help(const struct pw_options *options, FILE *out);
/* The options as mdoc(7) list items, for the manual pages. */
void pw_options_mdoc(const struct pw_options *options, FILE *out);
/* Do both have the same value? */
bool pw_option_same(const struct pw_option *option, const void *settings, const void *others);
/* Exchange the values of the two. */
void pw_option_swap(const struct pw_option *option, void *settings, void *others);
/* The value, as a file might have it: "64", "1.5 GiB", "a, b"; cut to fit; returns `text`. */
char *pw_option_format(const struct pw_option *option, const void *settings, char *text, size_t text_bytes);
/* Free what the texts and lists of `settings` own. */
void pw_options_free(const struct pw_options *options, void *settings);
/* The item of `names` nearest to `word` by edit distance, or NULL if none is near. */
const char *pw_nearest(const char *word, const char *const *names, uint32_t count);

#endif

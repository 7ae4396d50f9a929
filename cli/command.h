/* The `pathways` command: its table of subcommands, and what a running one knows.
 *
 * Invariant: help, usage errors and the manual's list come from pw_commands; a new subcommand is one row of it.
 */
#ifndef PW_CLI_COMMAND_H
#define PW_CLI_COMMAND_H

#include "base/option.h"
#include "cli/print/form.h"
#include "pathways.h"

#include <stdio.h>

#define PW_NOT_GIVEN UINT64_MAX /* of durations: more than can be asked for */
struct pw_command_settings {
        const char *socket; /* of every subcommand */
        bool json, help;
        const char *dtype, *dims; /* of a value: put, run */
        const char *name;         /* put */
        const char *to;           /* drain; NULL: whichever is there */
        uint64_t ttl_us;     /* put; PW_NOT_GIVEN */
        const char *output; /* get, trace */
        uint64_t timeout_us; /* put, there PW_NOT_GIVEN; get, wait, move */
        uint64_t seconds_us; /* trace */
        uint64_t watch_us;   /* listings; PW_NOT_GIVEN: once */
        uint64_t interval_us;/* top */
        bool wait, any, force, frozen; /* get and wait; wait; free; put */
        uint32_t limit;   /* listings */
        const char *host; /* likewise; NULL: all of them, or this one where the subcommand shows one */
        uint32_t devices, islands, repeat, inputs, ahead; /* run; devices: move */
        const char *sharding, *result, *params; /* run; sharding: move */
        const char *kind; /* run, move: of devices; NULL: any */
};

/* One running subcommand. */
struct pw_invocation {
        const struct pw_command *command;
        struct pw_command_settings settings;
        char **operands;
        uint32_t operand_count;
        struct pw_session *session;
        FILE *out;
};

struct pw_command {
        const char *name;
        const char *operands; /* "FILE|-", "" */
        uint32_t operands_min, operands_max;
        const char *help; /* for --help and the manual: the first sentence is the summary */
        enum pw_status (*run)(struct pw_invocation *invocation, struct pw_error *ret_err);
        struct pw_options options;
        struct pw_form form;  /* of the rows that it prints */
        struct pw_form detail; /* of the rows of one item, where the subcommand takes one; else empty */
};

extern const struct pw_command pw_commands[];
extern const uint32_t pw_command_count;

/* Handlers. What they print is buffered in `out`; rows go there as a table or as JSON. */
enum pw_status pw_command_list(struct pw_invocation *invocation, struct pw_error *ret_err); /* of one host */
enum pw_status pw_command_survey(struct pw_invocation *invocation, struct pw_error *ret_err); /* of all hosts */
enum pw_status pw_command_memory(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_why(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_check(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_object(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_wait(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_put(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_get(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_cancel(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_drain(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_move(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_transfer(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_free(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_top(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_trace(struct pw_invocation *invocation, struct pw_error *ret_err);
enum pw_status pw_command_run(struct pw_invocation *invocation, struct pw_error *ret_err);

#endif

/* pathways: looks into the pathwaysd of this host. */
#include "base/error.h"
#include "base/memory.h"
#include "base/standard.h"
#include "base/text.h"
#include "cli/print/watch.h"
#include "cli/usage.h"

#include <errno.h>

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 3, EXIT_DEADLINE = 4, EXIT_NOT_FOUND = 5,
                 EXIT_DENIED = 6 };

static enum exit_code exit_code_of(enum pw_status status)
{
        switch (status) {
        case PW_OK:
                return EXIT_DONE;
        case PW_INVALID:
                return EXIT_USAGE;
        case PW_DAEMON_GONE:
                return EXIT_NO_DAEMON;
        case PW_DEADLINE:
                return EXIT_DEADLINE;
        case PW_NOT_FOUND:
        case PW_GONE:
                return EXIT_NOT_FOUND;
        case PW_DENIED:
                return EXIT_DENIED;
        default:
                return EXIT_FAILED;
        }
}

/* Options may stand before, between and behind the operands, which are gathered at the front of `argv`. */
static enum pw_status parse(struct pw_invocation *invocation, int argc, char **argv, struct pw_error *ret_err)
{
        const struct pw_options *options = &invocation->command->options;
        bool only_operands = false;
        int at = 0;

        invocation->operands = argv;
        while (at < argc) {
                if (!only_operands && argv[at][0] == '-' && argv[at][1]) {
                        int first, count = argc - at + 1;
                        char **rest = argv + at - 1; /* its first item is not looked at */
                        enum pw_status status = pw_options_parse(options, &invocation->settings, count, rest, &first, ret_err);
                        if (status != PW_OK)
                                return status;
                        at += first - 1;
                        only_operands = !strcmp(argv[at - 1], "--");
                } else {
                        invocation->operands[invocation->operand_count++] = argv[at++];
                }
        }
        return PW_OK;
}

static enum pw_status check_operands(const struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const struct pw_command *command = invocation->command;

        if (invocation->operand_count < command->operands_min)
                return pw_error_set(ret_err, PW_INVALID, "%s needs %s", command->name, command->operands);
        if (invocation->operand_count > command->operands_max)
                return pw_error_set(ret_err, PW_INVALID, "%s: \"%.80s\" is too much; it takes %s", command->name,
                                    invocation->operands[command->operands_max],
                                    *command->operands ? command->operands : "no operand");
        return PW_OK;
}

/* "-" is standard output, as no file is. */
static void read_output(struct pw_command_settings *settings)
{
        if (!settings->output || strcmp(settings->output, "-"))
                return;
        free((char *)(uintptr_t)settings->output); /* as pw_options_free() would */
        settings->output = NULL;
}

static enum pw_status check_durations(const struct pw_command_settings *settings, struct pw_error *ret_err)
{
        if (!settings->ttl_us)
                return pw_error_set(ret_err, PW_INVALID, "--ttl 0: at least 1us; `pathways free` drops what is there");
        if (settings->watch_us < PW_WATCH_MIN_US)
                return pw_error_set(ret_err, PW_INVALID, "--watch: at least 10ms");
        return PW_OK;
}

static enum pw_status run_connected(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        enum pw_status status = pw_connect(invocation->settings.socket, &invocation->session, ret_err);

        if (status != PW_OK)
                return status;
        status = invocation->settings.watch_us != PW_NOT_GIVEN ? pw_watch(invocation, ret_err) :
                invocation->command->run(invocation, ret_err);
        pw_close(invocation->session);
        return status;
}

static enum pw_status run(struct pw_invocation *invocation, int argc, char **argv, struct pw_error *ret_err)
{
        const struct pw_options *options = &invocation->command->options;
        enum pw_status status = pw_options_defaults(options, &invocation->settings, ret_err);

        invocation->settings.ttl_us = invocation->settings.watch_us = PW_NOT_GIVEN;
        if (!invocation->settings.timeout_us) /* without a default, as of put */
                invocation->settings.timeout_us = PW_NOT_GIVEN;
        if (status == PW_OK)
                status = parse(invocation, argc, argv, ret_err);
        read_output(&invocation->settings);
        if (status == PW_OK && invocation->settings.help) {
                pw_usage_print_command(invocation->command, invocation->out);
        } else {
                if (status == PW_OK)
                        status = check_operands(invocation, ret_err);
                if (status == PW_OK)
                        status = check_durations(&invocation->settings, ret_err);
                if (status == PW_OK)
                        status = run_connected(invocation, ret_err);
        }
        pw_options_free(options, &invocation->settings);
        if (fflush(invocation->out) && status == PW_OK)
                status = pw_error_errno(ret_err, errno, "write to standard output");
        return status;
}

static bool is_word(const char *argument, const char *word, const char *other)
{
        return !strcmp(argument, word) || !strcmp(argument, other);
}

/* Options may stand before the subcommand, too: it is looked for behind those that every subcommand takes, and goes
 * to the front. */
static void put_command_first(int argc, char **argv)
{
        const struct pw_options common = { pw_commands[0].options.items, pw_commands[0].options.count, "pathways" };
        struct pw_command_settings settings = { 0 };
        int at = argc;

        if (argc > 1 && argv[1][0] == '-' && pw_options_parse(&common, &settings, argc, argv, &at, NULL) == PW_OK && at < argc) {
                char *command = argv[at];
                memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof *argv);
                argv[1] = command;
        }
        pw_options_free(&common, &settings);
}

/* "help why" is "why --help". */
static void read_help(int argc, char **argv)
{
        static char help[] = "--help";
        bool named = argc > 2 && argv[2][0] != '-';

        if (argc < 2 || strcmp(argv[1], "help"))
                return;
        argv[1] = named ? argv[2] : help;
        if (named)
                argv[2] = help;
}

int main(int argc, char **argv)
{
        struct pw_invocation invocation = { .out = stdout };
        struct pw_error error = { 0 };
        enum pw_status status;

        pw_standard_begin();
        if (argc < 2) {
                pw_usage_print(stderr);
                return EXIT_USAGE;
        }
        put_command_first(argc, argv);
        read_help(argc, argv);
        if (is_word(argv[1], "--help", "-h")) {
                pw_usage_print(stdout);
                return EXIT_DONE;
        }
        if (is_word(argv[1], "--version", "-V")) {
                puts("pathways " PACKAGE_VERSION);
                return EXIT_DONE;
        }
        if (!strcmp(argv[1], "--completion")) {
                pw_usage_print_completion(stdout);
                return EXIT_DONE;
        }
        if (!strcmp(argv[1], "--help-mdoc")) {
                pw_usage_print_mdoc(stdout);
                return EXIT_DONE;
        }
        status = pw_usage_find(argv[1], &invocation.command, &error);
        if (status == PW_OK)
                status = run(&invocation, argc - 2, argv + 2, &error);
        if (status != PW_OK)
                fprintf(stderr, "pathways: %s\n", pw_text_make_plain(error.text));
        return exit_code_of(status);
}

/* What the table of subcommands says of itself. */
#include "cli/usage.h"

#include "base/error.h"
#include "base/memory.h"
#include "cli/print/grid.h"

#define INDENT 24
#define COLUMNS 80

/* "output" is of `get` alone; the three that every subcommand has are said once. */
static bool is_common(const struct pw_option *option)
{
        return !strcmp(option->name, "socket") || !strcmp(option->name, "json") || !strcmp(option->name, "help");
}

static struct pw_options own_options(const struct pw_command *command)
{
        struct pw_options options = command->options;

        while (options.count && is_common(&options.items[options.count - 1]))
                options.count--;
        return options;
}

static struct pw_options common_options(void)
{
        struct pw_options own = own_options(&pw_commands[0]), common = pw_commands[0].options;

        common.items += own.count;
        common.count -= own.count;
        return common;
}

static int summary_length(const char *help)
{
        const char *end = strstr(help, ". ");

        return (int)(end ? (size_t)(end - help) + 1 : strlen(help));
}

void pw_usage_print(FILE *out)
{
        struct pw_options common = common_options();

        fputs("Usage: pathways COMMAND [OPTION]... [OPERAND]...\n\nLooks into the pathwaysd of this host.\n\nCommands:\n", out);
        for (uint32_t i = 0; i < pw_command_count; i++) {
                const struct pw_command *command = &pw_commands[i];
                int column = fprintf(out, "  %s%s%s", command->name, *command->operands ? " " : "", command->operands);
                fprintf(out, "%*s%.*s\n", column < INDENT ? INDENT - column : 1, "", summary_length(command->help), command->help);
        }
        fputs("\nEach command takes:\n", out);
        pw_options_help(&common, out);
        fputs("\n`pathways COMMAND --help` says more. Exits with 0 done, 1 failed, 2 usage,\n"
              "3 no daemon, 4 deadline, 5 not found, 6 denied. `pathways --completion` prints\n"
              "what bash needs to complete all this.\n", out);
}

void pw_usage_print_command(const struct pw_command *command, FILE *out)
{
        fprintf(out, "Usage: pathways %s [OPTION]...%s%s\n\n", command->name, *command->operands ? " " : "", command->operands);
        pw_text_print(command->help, 0, COLUMNS, out);
        fputc('\n', out);
        pw_options_help(&command->options, out);
}

/* mdoc(7) wants a sentence to a line. */
static void print_sentences(const char *text, FILE *out)
{
        while (*text) {
                int length = summary_length(text);
                fprintf(out, "%.*s\n", length, text);
                text += length;
                text += *text == ' ';
        }
}

static void print_options_mdoc(const struct pw_options *options, FILE *out)
{
        fputs(".Bl -tag -width Ds -compact\n", out);
        pw_options_mdoc(options, out);
        fputs(".El\n", out);
}

/* "[N]" is an optional argument, "ID|NAME" a choice. */
static void print_operands_mdoc(const char *operands, FILE *out)
{
        if (!*operands)
                fputc('\n', out);
        else if (*operands == '[')
                fprintf(out, " Op Ar %.*s\n", (int)strlen(operands) - 2, operands + 1);
        else
                fprintf(out, " Ar %s\n", operands);
}

void pw_usage_print_mdoc(FILE *out)
{
        struct pw_options common = common_options();

        fputs("Each subcommand takes:\n", out);
        print_options_mdoc(&common, out);
        fputs(".Pp\nThe subcommands are:\n.Bl -tag -width Ds\n", out);
        for (uint32_t i = 0; i < pw_command_count; i++) {
                struct pw_options own = own_options(&pw_commands[i]);
                fprintf(out, ".It Cm %s", pw_commands[i].name);
                print_operands_mdoc(pw_commands[i].operands, out);
                print_sentences(pw_commands[i].help, out);
                if (own.count)
                        print_options_mdoc(&own, out);
        }
        fputs(".El\n", out);
}

enum pw_status pw_usage_find(const char *name, const struct pw_command **ret_command, struct pw_error *ret_err)
{
        pw_auto_free const char **names = calloc(pw_command_count, sizeof *names);
        const char *nearest;

        for (uint32_t i = 0; i < pw_command_count; i++) {
                if (!strcmp(name, pw_commands[i].name)) {
                        *ret_command = &pw_commands[i];
                        return PW_OK;
                }
                if (names)
                        names[i] = pw_commands[i].name;
        }
        nearest = names ? pw_nearest(name, names, pw_command_count) : NULL;
        if (nearest)
                return pw_error_set(ret_err, PW_INVALID, "there is no command %.40s; did you mean %s?", name, nearest);
        return pw_error_set(ret_err, PW_INVALID, "there is no command %.40s; `pathways --help` lists them", name);
}

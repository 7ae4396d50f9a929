/* What bash completes: subcommands, their options, files. Written from the table of subcommands. */
#include "cli/usage.h"

#include "base/memory.h"

/* Options whose values are names of files, and those with a few known values. */
static const char *const file_options[] = { "output", "socket" };
static const struct { const char *option, *values; } known_values[] = {
        { "dtype", "bool u8 u16 u32 u64 i8 i32 i64 f16 bf16 f32 f64 opaque" },
        { "sharding", "broadcast split:" },
        { "result", "broadcast split:" },
        { "kind", "cpu emulated cuda" },
};

static void print_options(const struct pw_options *options, FILE *out)
{
        for (uint32_t i = 0; i < options->count; i++)
                fprintf(out, "%s--%s", i ? " " : "", options->items[i].name);
}

static void print_words(FILE *out)
{
        fputs("        case $command in\n", out);
        for (uint32_t i = 0; i < pw_command_count; i++) {
                const struct pw_command *command = &pw_commands[i];
                fprintf(out, "        %s)\n                options='", command->name);
                print_options(&command->options, out);
                fprintf(out, "'\n                operands='%s' ;;\n", command->operands);
        }
        fputs("        esac\n", out);
}

static void print_values(FILE *out)
{
        fputs("        case $previous in\n        -o", out);
        for (size_t i = 0; i < pw_array_count(file_options); i++)
                fprintf(out, " | --%s", file_options[i]);
        fputs(")\n                mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n                return ;;\n", out);
        for (size_t i = 0; i < pw_array_count(known_values); i++)
                fprintf(out,
                        "        --%s)\n                mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\")\n                "
                        "return ;;\n",
                        known_values[i].option, known_values[i].values);
        fputs("        esac\n", out);
}

void pw_usage_print_completion(FILE *out)
{
        fputs("# bash completion for pathways(1); written by `pathways --completion`\n"
              "_pathways() {\n"
              "        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
              "        local options='' operands=''\n"
              "        COMPREPLY=()\n"
              "        if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
              "                mapfile -t COMPREPLY < <(compgen -W '",
              out);
        for (uint32_t i = 0; i < pw_command_count; i++)
                fprintf(out, "%s ", pw_commands[i].name);
        fputs("--help --version --completion' -- \"$current\")\n                return\n        fi\n", out);
        print_words(out);
        print_values(out);
        fputs("        case $current in\n"
              "        -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\") ;;\n"
              "        *) case $operands in FILE*) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;; esac ;;\n"
              "        esac\n"
              "}\n"
              "complete -o filenames -F _pathways pathways\n",
              out);
}

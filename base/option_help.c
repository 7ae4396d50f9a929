/* An option table as people read it: --help, and the list in the manual. */
#include "base/option.h"

#include "base/memory.h"

#include <ctype.h>

#define HELP_INDENT 26u
#define HELP_COLUMNS 80u

static void print_indent(FILE *out, size_t columns)
{
        fprintf(out, "%*s", (int)columns, "");
}

/* Words of `text`, wrapped; `column` is where the cursor is. Returns where it is then. */
static size_t print_words(FILE *out, const char *text, size_t column)
{
        while (*text) {
                size_t length = strcspn(text, " ");
                if (column > HELP_INDENT && column + 1 + length > HELP_COLUMNS) {
                        fputc('\n', out);
                        print_indent(out, HELP_INDENT);
                        column = HELP_INDENT;
                } else if (column > HELP_INDENT) {
                        fputc(' ', out);
                        column++;
                }
                fwrite(text, 1, length, out);
                column += length;
                text += length;
                text += strspn(text, " ");
        }
        return column;
}

/* That a flag is not given by default goes without saying. */
static bool shows_default(const struct pw_option *option)
{
        return option->fallback && option->kind != PW_OPTION_FLAG;
}

static void print_help_item(const struct pw_option *option, FILE *out)
{
        char head[64];
        int length;

        if (option->letter)
                length = snprintf(head, sizeof head, "  -%c, --%s", option->letter, option->name);
        else
                length = snprintf(head, sizeof head, "      --%s", option->name);
        if (option->argument && (size_t)length < sizeof head)
                length += snprintf(head + length, sizeof head - (size_t)length, option->kind == PW_OPTION_PERIOD ? "[=%s]" : " %s",
                                   option->argument);
        fputs(head, out);
        if (strlen(head) + 2 > HELP_INDENT) {
                fputc('\n', out);
                print_indent(out, HELP_INDENT);
        } else {
                print_indent(out, HELP_INDENT - strlen(head));
        }
        size_t column = print_words(out, option->help, HELP_INDENT);
        if (shows_default(option)) {
                char fallback[96];
                snprintf(fallback, sizeof fallback, "Default: %s.", option->fallback);
                print_words(out, fallback, column);
        }
        fputc('\n', out);
}

void pw_options_help(const struct pw_options *options, FILE *out)
{
        for (uint32_t i = 0; i < options->count; i++)
                print_help_item(&options->items[i], out);
}

/* One line per sentence, as mdoc(7) wants it; nothing in it is taken for a request. */
static void print_mdoc_text(const char *text, FILE *out)
{
        if (*text == '.' || *text == '\'')
                fputs("\\&", out);
        for (; *text; text++) {
                bool sentence_end =
                        *text == '.' && text[1] == ' ' && (isupper((unsigned char)text[2]) || isdigit((unsigned char)text[2]));
                fputs(*text == '\\' ? "\\e" : (char[]){ *text, 0 }, out);
                if (sentence_end) {
                        fputc('\n', out);
                        text++;
                }
        }
        fputc('\n', out);
}

void pw_options_mdoc(const struct pw_options *options, FILE *out)
{
        for (uint32_t i = 0; i < options->count; i++) {
                const struct pw_option *option = &options->items[i];
                fputs(".It ", out);
                if (option->letter)
                        fprintf(out, "Fl %c , ", option->letter);
                fprintf(out, "Fl \\-%s", option->name);
                if (option->argument)
                        fprintf(out, option->kind == PW_OPTION_PERIOD ? " Ns Op = Ns Ar %s" : " Ar %s", option->argument);
                fputc('\n', out);
                print_mdoc_text(option->help, out);
                if (shows_default(option)) {
                        fputs("Default: ", out);
                        print_mdoc_text(option->fallback, out);
                }
        }
}

/* Command lines of the examples. */
#include "examples/common/arguments.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MAX 32
#define FIRST_LETTER 256 /* of the table's first row: no letter that getopt gives itself */

static void print_help(FILE *to, const char *program, const char *purpose, const struct argument *arguments)
{
        size_t width = 0;

        fprintf(to, "Usage: %s [OPTION]...\n%s\n\n", program, purpose);
        for (const struct argument *a = arguments; a->name; a++)
                if (width < strlen(a->name) + strlen(a->unit))
                        width = strlen(a->name) + strlen(a->unit);
        for (const struct argument *a = arguments; a->name; a++)
                fprintf(to, "  --%s %-*s  %s\n", a->name, (int)(width - strlen(a->name)), a->unit, a->help);
}

static void refuse(const char *program, const struct argument *argument, const char *text, const char *wanted)
{
        fprintf(stderr, "%s: --%s: \"%s\" is not %s\n", program, argument->name, text, wanted);
        exit(2);
}

static uint64_t number(const char *program, const struct argument *argument, const char *text)
{
        char *end, wanted[80];
        unsigned long long value = strtoull(text, &end, 10);

        snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu", (unsigned long long)argument->least,
                 (unsigned long long)argument->most);
        if (*text < '0' || *text > '9' || *end || value < argument->least || value > argument->most)
                refuse(program, argument, text, wanted);
        return value;
}

static float positive(const char *program, const struct argument *argument, const char *text)
{
        char *end;
        float value = strtof(text, &end);

        if (end == text || *end || !(value > 0 && value < 1e6f))
                refuse(program, argument, text, "a number above 0 and below 1000000");
        return value;
}

static void take(const char *program, const struct argument *argument, const char *text)
{
        if (argument->text)
                *argument->text = text;
        else if (argument->positive)
                *argument->positive = positive(program, argument, text);
        else if (argument->number)
                *argument->number = (uint32_t)number(program, argument, text);
        else
                *argument->wide_number = number(program, argument, text);
}

void arguments_read(int argc, char **argv, const char *program, const char *purpose, const struct argument *arguments)
{
        struct option names[ARGUMENTS_MAX + 2] = { { "help", no_argument, NULL, 'h' } };
        int letter;

        for (int i = 0; arguments[i].name; i++) {
                assert(i < ARGUMENTS_MAX);
                names[1 + i] = (struct option){ arguments[i].name, required_argument, NULL, FIRST_LETTER + i };
        }
        while ((letter = getopt_long(argc, argv, "h", names, NULL)) >= FIRST_LETTER)
                take(program, &arguments[letter - FIRST_LETTER], optarg);
        if (letter == 'h') {
                print_help(stdout, program, purpose, arguments);
                exit(0);
        }
        if (letter != -1 || optind < argc) {
                print_help(stderr, program, purpose, arguments);
                exit(2);
        }
}

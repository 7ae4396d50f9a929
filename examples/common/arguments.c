/* Numbers on the command lines of the examples. */
#include "examples/common/arguments.h"

#include <stdio.h>
#include <stdlib.h>

static void refuse(const struct argument *argument)
{
        fprintf(stderr, "%s: --%s: \"%s\" is not a number that will do\n", argument->program, argument->name, argument->text);
        exit(2);
}

uint64_t argument_number(const struct argument *argument, uint64_t least, uint64_t most)
{
        const char *text = argument->text;
        char *end;
        unsigned long long value = strtoull(text, &end, 10);

        if (*text < '0' || *text > '9' || *end || value < least || value > most)
                refuse(argument);
        return value;
}

float argument_positive(const struct argument *argument)
{
        char *end;
        float value = strtof(argument->text, &end);

        if (end == argument->text || *end || !(value > 0 && value < 1e6f))
                refuse(argument);
        return value;
}

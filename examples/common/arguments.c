/* Numbers on the command lines of the examples. */
#include "examples/common/arguments.h"

#include <stdio.h>
#include <stdlib.h>

static void refuse(const struct argument *argument, const char *wanted)
{
        fprintf(stderr, "%s: --%s: \"%s\" is not %s\n", argument->program, argument->name, argument->text, wanted);
        exit(2);
}

uint64_t argument_number(const struct argument *argument, uint64_t least, uint64_t most)
{
        const char *text = argument->text;
        char *end, wanted[80];
        unsigned long long value = strtoull(text, &end, 10);

        snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu", (unsigned long long)least, (unsigned long long)most);
        if (*text < '0' || *text > '9' || *end || value < least || value > most)
                refuse(argument, wanted);
        return value;
}

float argument_positive(const struct argument *argument)
{
        char *end;
        float value = strtof(argument->text, &end);

        if (end == argument->text || *end || !(value > 0 && value < 1e6f))
                refuse(argument, "a number above 0 and below 1000000");
        return value;
}

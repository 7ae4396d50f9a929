/* Numbers on the command lines of the examples. What will not do is said on stderr, and the process ends with 2.
 */
#ifndef EXAMPLES_ARGUMENTS_H
#define EXAMPLES_ARGUMENTS_H

#include <stdint.h>

/* The option `name`, for messages, and its text. */
struct argument { const char *program, *name, *text; };

uint64_t argument_number(const struct argument *argument, uint64_t least, uint64_t most);
/* A number above 0, and below a million. */
float argument_positive(const struct argument *argument);

#endif

/* Command lines of the examples: a table of options says what is read, where it goes and what --help prints. What will not do is
 * said on stderr, and the process ends with 2.
 */
#ifndef EXAMPLES_ARGUMENTS_H
#define EXAMPLES_ARGUMENTS_H

#include <stdint.h>

/* `--name UNIT`. One of the four pointers is where the value goes; what is there before is the default. */
struct argument {
        const char *name, *unit, *help;
        const char **text;
        float *positive;       /* above 0, and below a million */
        uint32_t *number;
        uint64_t *wide_number;
        uint64_t least, most;  /* of the numbers */
};

/* What more than one of the programs takes. */
#define ARGUMENT_DATA(to) { "data", "FILE", "CSV or CSV.gz: features, then a class (digits.csv.gz)", .text = (to) }
#define ARGUMENT_DEVICE(to) { "device", "KIND", "of devices of KIND: cpu, emulated or cuda (whatever there is)", .text = (to) }
#define ARGUMENT_SOCKET(to) { "socket", "PATH", "the daemon's socket (where libpathways looks)", .text = (to) }

/* Read the command line; prints help and ends the process where --help is wanted. `arguments` end with one that has no name;
 * `purpose`: the line of the help that says what the program does. */
void arguments_read(int argc, char **argv, const char *program, const char *purpose, const struct argument *arguments);

#endif

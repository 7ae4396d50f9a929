/* The command line of the program digits.
 */
#ifndef DIGITS_OPTIONS_H
#define DIGITS_OPTIONS_H

#include <stdint.h>

struct options {
        uint32_t devices, islands, epochs, hidden, batch;
        uint64_t seed;
        float rate;
        const char *data, *device, *loss_file, *socket;
};

/* Fills *ret, or prints help or what is wrong and ends the process. */
void options_read(int argc, char **argv, struct options *ret);

#endif

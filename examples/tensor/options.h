/* The command line of the program tensor.
 */
#ifndef TENSOR_OPTIONS_H
#define TENSOR_OPTIONS_H

#include <stdint.h>

struct options {
        uint32_t data_devices, tensor_devices, islands, epochs, hidden, batch;
        float rate;
        const char *data, *device, *loss_file, *socket;
};

/* Fills *ret, or prints help or what is wrong and ends the process. */
void options_read(int argc, char **argv, struct options *ret);

#endif

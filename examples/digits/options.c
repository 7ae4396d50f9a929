/* The command line of the program digits. */
#include "examples/digits/options.h"

#include "examples/common/arguments.h"

void options_read(int argc, char **argv, struct options *ret)
{
        static const char purpose[] = "Trains a classifier of hand-written digits on the pathwaysd of this host.";
        const struct argument arguments[] = {
                { "devices", "N", "spread each batch over N devices (1)", .number = &ret->devices, .least = 1, .most = 1 << 20 },
                ARGUMENT_DEVICE(&ret->device),
                { "islands", "N", "of N islands (0: as few as possible)", .number = &ret->islands, .most = 1 << 20 },
                { "epochs", "N", "go N times over the rows (100)", .number = &ret->epochs, .least = 1, .most = 1 << 24 },
                { "hidden", "N", "a hidden layer of N units (0: softmax regression)", .number = &ret->hidden, .most = 1 << 20 },
                { "batch", "N", "rows of a batch (96)", .number = &ret->batch, .least = 1, .most = 1 << 24 },
                { "rate", "X", "learning rate (1.0)", .positive = &ret->rate },
                { "seed", "N", "of the hidden layer's first weights (1)", .wide_number = &ret->seed, .most = UINT64_MAX },
                ARGUMENT_DATA(&ret->data),
                { "loss-file", "FILE", "write the loss of each run, one to a line", .text = &ret->loss_file },
                ARGUMENT_SOCKET(&ret->socket),
                { 0 },
        };

        *ret = (struct options){ .devices = 1, .epochs = 100, .batch = 96, .seed = 1, .rate = 1.0f, .data = "digits.csv.gz" };
        arguments_read(argc, argv, "digits", purpose, arguments);
}

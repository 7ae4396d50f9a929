/* The command line of the program tensor. */
#include "examples/tensor/options.h"

#include "examples/common/arguments.h"

void options_read(int argc, char **argv, struct options *ret)
{
        static const char purpose[] =
                "Trains a network whose layers are spread over a mesh of devices, on the pathwaysd of this host.";
        const struct argument arguments[] = {
                { "data-devices", "N", "rows of the mesh: a batch is split over them (1)", .number = &ret->data_devices, .least = 1,
                  .most = 1 << 10 },
                { "tensor-devices", "N", "columns of the mesh: units are split over them (1)", .number = &ret->tensor_devices,
                  .least = 1, .most = 1 << 10 },
                ARGUMENT_DEVICE(&ret->device),
                { "islands", "N", "spread the mesh over N islands (0: as few as possible)", .number = &ret->islands,
                  .most = 1 << 20 },
                { "epochs", "N", "go N times over the rows (30)", .number = &ret->epochs, .least = 1, .most = 1 << 24 },
                { "hidden", "N", "units of the hidden layer (32)", .number = &ret->hidden, .least = 1, .most = 1 << 20 },
                { "batch", "N", "rows of a batch (96)", .number = &ret->batch, .least = 1, .most = 1 << 24 },
                { "rate", "X", "learning rate (0.5)", .positive = &ret->rate },
                ARGUMENT_DATA(&ret->data),
                { "loss-file", "FILE", "write the loss of each run, one to a line", .text = &ret->loss_file },
                ARGUMENT_SOCKET(&ret->socket),
                { 0 },
        };

        *ret = (struct options){ .data_devices = 1, .tensor_devices = 1, .epochs = 30, .hidden = 32, .batch = 96, .rate = 0.5f,
                               .data = "digits.csv.gz" };
        arguments_read(argc, argv, "tensor", purpose, arguments);
}

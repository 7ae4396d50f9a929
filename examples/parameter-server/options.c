/* The command line of the program parameter-server. */
#include "examples/parameter-server/options.h"

#include "examples/common/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void refuse(const char *sentence, const char *value)
{
        fprintf(stderr, "parameter-server: ");
        fprintf(stderr, sentence, value);
        fputc('\n', stderr);
        exit(2);
}

/* The staleness that `mode` stands for. */
static uint32_t staleness_of(const char *mode, uint32_t bound)
{
        if (!strcmp(mode, "sync"))
                return 0;
        if (!strcmp(mode, "async"))
                return UINT32_MAX;
        if (strcmp(mode, "bounded") != 0)
                refuse("--mode: \"%s\" is not sync, async or bounded", mode);
        return bound;
}

void options_read(int argc, char **argv, struct options *ret)
{
        static const char purpose[] =
                "Trains a classifier of hand-written digits by workers on devices of their own, for a server that holds\n"
                "the weights. Without --worker it is the server, and starts the workers.";
        const char *mode = "sync";
        const struct argument arguments[] = {
                { "workers", "N", "parts of a batch, each for a worker (3)", .number = &ret->workers, .least = 1, .most = 4096 },
                { "start", "N", "start workers 0 to N - 1 (all)", .number = &ret->started, .most = 4096 },
                { "sockets", "PATH,...", "of the daemons of the workers, in turn (--socket)", .text = &ret->sockets },
                ARGUMENT_SOCKET(&ret->socket),
                { "mode", "MODE", "sync, async or bounded (sync)", .text = &mode },
                { "staleness", "N", "bounded: steps that a worker may be ahead (2)", .number = &ret->staleness, .most = 1 << 24 },
                { "levels", "N", "a feature for each of N levels of a pixel (0: pixels)", .number = &ret->levels, .most = 256 },
                { "devices", "N", "of each worker (1)", .number = &ret->devices, .least = 1, .most = 1 << 20 },
                { "epochs", "N", "go N times over the rows (100)", .number = &ret->epochs, .least = 1, .most = 1 << 16 },
                { "batch", "N", "rows of a batch (96)", .number = &ret->batch, .least = 1, .most = 1 << 24 },
                { "rate", "X", "learning rate (1.0)", .positive = &ret->rate },
                { "patience", "S", "give up who is silent for S s (30)", .number = &ret->patience, .least = 1, .most = 1 << 20 },
                ARGUMENT_DATA(&ret->data),
                { "loss-file", "FILE", "write the loss of each step, one to a line", .text = &ret->loss_file },
                { "half-fd", "FD", "write a line there when half of the steps are done", .number = &ret->half_fd, .most = 1 << 20 },
                { "run", "NAME", "what the names of this training begin with", .text = &ret->run },
                { "worker", "K", "be worker K of the training --run", .number = &ret->worker, .most = 4095 },
                { 0 },
        };

        *ret = (struct options){ .worker = OPTIONS_NO_WORKER, .workers = 3, .started = 4096, .devices = 1, .epochs = 100,
                                 .batch = 96, .staleness = 2, .patience = 30, .half_fd = OPTIONS_NO_FD, .rate = 1.0f,
                                 .data = "digits.csv.gz" };
        arguments_read(argc, argv, "parameter-server", purpose, arguments);
        ret->staleness = staleness_of(mode, ret->staleness);
        if (ret->worker != OPTIONS_NO_WORKER && !ret->run)
                refuse("--worker: --run %s", "says of which training");
        if (ret->run && (!*ret->run || strlen(ret->run) > 200))
                refuse("--run: \"%s\" is not a name of 1 to 200 characters", ret->run);
}

/* The command line of the program tensor. */
#include "examples/tensor/options.h"

#include "examples/common/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] = "Usage: tensor [OPTION]...\n"
                           "Trains a network whose layers are spread over a mesh of devices, on the pathwaysd of this host.\n\n"
                           "  --data-devices N    rows of the mesh: a batch is split over them (1)\n"
                           "  --tensor-devices N  columns of the mesh: units are split over them (1)\n"
                           "  --islands N         spread the mesh over N islands (0: as few as possible)\n"
                           "  --epochs N          go N times over the rows (30)\n"
                           "  --hidden N          units of the hidden layer (32)\n"
                           "  --batch N           rows of a batch (96)\n"
                           "  --rate X            learning rate (0.5)\n"
                           "  --data FILE         CSV or CSV.gz: features, then a class (digits.csv.gz)\n"
                           "  --loss-file FILE    write the loss of each run, one to a line\n"
                           "  --socket PATH       the daemon's socket (where libpathways looks)\n";

static void take(struct options *options, int letter, const char *name, const char *text)
{
        struct argument argument = { "tensor", name, text };

        switch (letter) {
        case 'd': options->data_devices = (uint32_t)argument_number(&argument, 1, 1 << 10); break;
        case 't': options->tensor_devices = (uint32_t)argument_number(&argument, 1, 1 << 10); break;
        case 'i': options->islands = (uint32_t)argument_number(&argument, 0, 1 << 20); break;
        case 'e': options->epochs = (uint32_t)argument_number(&argument, 1, 1 << 24); break;
        case 'n': options->hidden = (uint32_t)argument_number(&argument, 1, 1 << 20); break;
        case 'b': options->batch = (uint32_t)argument_number(&argument, 1, 1 << 24); break;
        case 'r': options->rate = argument_positive(&argument); break;
        case 'f': options->data = text; break;
        case 'l': options->loss_file = text; break;
        case 'S': options->socket = text; break;
        case 'h': fputs(help, stdout); exit(0);
        default: fputs(help, stderr); exit(2);
        }
}

void options_read(int argc, char **argv, struct options *ret_options)
{
        static const struct option names[] = {
                { "data-devices", required_argument, NULL, 'd' }, { "tensor-devices", required_argument, NULL, 't' },
                { "islands", required_argument, NULL, 'i' },      { "epochs", required_argument, NULL, 'e' },
                { "hidden", required_argument, NULL, 'n' },       { "batch", required_argument, NULL, 'b' },
                { "rate", required_argument, NULL, 'r' },         { "data", required_argument, NULL, 'f' },
                { "loss-file", required_argument, NULL, 'l' },    { "socket", required_argument, NULL, 'S' },
                { "help", no_argument, NULL, 'h' },               { 0 },
        };
        int letter, which;

        *ret_options = (struct options){ .data_devices = 1, .tensor_devices = 1, .epochs = 30, .hidden = 32, .batch = 96,
                                         .rate = 0.5f, .data = "digits.csv.gz" };
        while ((letter = getopt_long(argc, argv, "h", names, &which)) != -1)
                take(ret_options, letter, letter == 'h' || letter == '?' ? "help" : names[which].name, optarg);
        if (optind < argc)
                take(ret_options, '?', NULL, NULL);
}

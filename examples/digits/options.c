/* The command line of the program digits. */
#include "examples/digits/options.h"

#include "examples/common/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
        "Usage: digits [OPTION]...\n"
        "Trains a classifier of hand-written digits on the pathwaysd of this host.\n\n"
        "  --devices N       spread each batch over N devices (1)\n"
        "  --islands N       of N islands (0: as few as possible)\n"
        "  --epochs N        go N times over the rows (100)\n"
        "  --hidden N        a hidden layer of N units (0: softmax regression)\n"
        "  --batch N         rows of a batch (96)\n"
        "  --rate X          learning rate (1.0)\n"
        "  --seed N          of the hidden layer's first weights (1)\n"
        "  --data FILE       CSV or CSV.gz: features, then a class (digits.csv.gz)\n"
        "  --loss-file FILE  write the loss of each run, one to a line\n"
        "  --socket PATH     the daemon's socket (where libpathways looks)\n";

static void take(struct options *options, int letter, const char *name, const char *text)
{
        struct argument argument = { "digits", name, text };

        switch (letter) {
        case 'd': options->devices = (uint32_t)argument_number(&argument, 1, 1 << 20); break;
        case 'i': options->islands = (uint32_t)argument_number(&argument, 0, 1 << 20); break;
        case 'e': options->epochs = (uint32_t)argument_number(&argument, 1, 1 << 24); break;
        case 'n': options->hidden = (uint32_t)argument_number(&argument, 0, 1 << 20); break;
        case 'b': options->batch = (uint32_t)argument_number(&argument, 1, 1 << 24); break;
        case 's': options->seed = argument_number(&argument, 0, UINT64_MAX); break;
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
                { "devices", required_argument, NULL, 'd' }, { "islands", required_argument, NULL, 'i' },
                { "epochs", required_argument, NULL, 'e' },  { "hidden", required_argument, NULL, 'n' },
                { "batch", required_argument, NULL, 'b' },   { "seed", required_argument, NULL, 's' },
                { "rate", required_argument, NULL, 'r' },    { "data", required_argument, NULL, 'f' },
                { "loss-file", required_argument, NULL, 'l' }, { "socket", required_argument, NULL, 'S' },
                { "help", no_argument, NULL, 'h' },          { 0 },
        };
        int letter, which;

        *ret_options =
                (struct options){ .devices = 1, .epochs = 100, .batch = 96, .seed = 1, .rate = 1.0f, .data = "digits.csv.gz" };
        while ((letter = getopt_long(argc, argv, "h", names, &which)) != -1)
                take(ret_options, letter, letter == 'h' || letter == '?' ? "help" : names[which].name, optarg);
        if (optind < argc)
                take(ret_options, '?', NULL, NULL);
}

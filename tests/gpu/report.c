/* Lines of JSON, and options. */
#include "tests/gpu/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct gpu_options gpu_options_of(int argc, char **argv)
{
        struct gpu_options options = { .driver = "", .nccl = "", .bars = true };

        for (int i = 1; i < argc; i++) {
                if (!strcmp(argv[i], "--driver") && i + 1 < argc)
                        options.driver = argv[++i];
                else if (!strcmp(argv[i], "--nccl") && i + 1 < argc)
                        options.nccl = argv[++i];
                else if (!strcmp(argv[i], "--no-bars"))
                        options.bars = false;
                else if (!strcmp(argv[i], "--no-bar-holds"))
                        options.none_holds = true;
                else if (!strcmp(argv[i], "--small"))
                        options.small = true;
                else {
                        fprintf(stderr, "%s [--driver FILE] [--nccl FILE] [--no-bars] [--small], not %s\n", argv[0], argv[i]);
                        exit(2);
                }
        }
        return options;
}

static void print_text(const char *text)
{
        putchar('"');
        for (; *text; text++) {
                if (*text == '"' || *text == '\\')
                        putchar('\\');
                putchar((unsigned char)*text < ' ' ? ' ' : *text);
        }
        putchar('"');
}

static bool is_good(const struct gpu_figure *figure)
{
        switch (figure->rule) {
        case GPU_AT_LEAST:
                return figure->value >= figure->bar * figure->floor;
        case GPU_AT_MOST:
                return figure->value <= figure->bar * figure->floor;
        case GPU_WITHIN:
                return figure->value <= figure->bar;
        case GPU_NO_BAR:
                break;
        }
        return true;
}

bool gpu_figure_say(const struct gpu_options *options, const struct gpu_figure *figure)
{
        bool has_bar = options->bars && figure->rule != GPU_NO_BAR, ok = !has_bar || (!options->none_holds && is_good(figure));

        printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"bar\": ", figure->name, figure->value, figure->unit);
        if (has_bar)
                printf("%g", figure->bar);
        else
                printf("null");
        if (figure->floor > 0)
                printf(", \"floor\": %.6g, \"ratio\": %.4g", figure->floor, figure->value / figure->floor);
        else
                printf(", \"floor\": null");
        if (figure->count)
                printf(", \"count\": %llu", (unsigned long long)figure->count);
        printf(", \"ok\": %s}\n", ok ? "true" : "false");
        fflush(stdout);
        return ok;
}

void gpu_figure_skipped(const char *name, const char *why)
{
        printf("{\"name\": \"%s\", \"skipped\": ", name);
        print_text(why);
        printf(", \"ok\": true}\n");
        fflush(stdout);
}

void gpu_answer(const char *question, double number)
{
        printf("{\"question\": \"%s\", \"answer\": %.10g}\n", question, number);
        fflush(stdout);
}

void gpu_answer_text(const char *question, const char *text)
{
        printf("{\"question\": \"%s\", \"answer\": ", question);
        print_text(text);
        printf("}\n");
        fflush(stdout);
}

double gpu_now_s(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

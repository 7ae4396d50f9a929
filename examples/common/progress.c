/* A bar with loss and runs per second. */
#include "examples/common/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BAR 30
#define REDRAW_SECONDS 0.1

static double now(void)
{
        struct timespec time;

        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void progress_start(struct progress *progress, size_t total)
{
        *progress = (struct progress){ .total = total, .start = now(), .terminal = isatty(STDOUT_FILENO) };
}

static void draw(const struct progress *progress, size_t done, double loss, double seconds)
{
        int full = (int)(done * BAR / progress->total);

        printf("%s[", progress->terminal ? "\r" : "");
        for (int i = 0; i < BAR; i++)
                putchar(i < full ? '#' : '.');
        printf("] %3zu %%  run %zu  loss %.4f  %.0f runs/s", done * 100 / progress->total, done, loss,
               seconds > 0 ? (double)done / seconds : 0.0);
        printf("%s", progress->terminal && done < progress->total ? "  " : "\n");
        fflush(stdout);
}

void progress_show(struct progress *progress, size_t done, double loss)
{
        double time = now();

        if (progress->terminal && done < progress->total && time - progress->drawn < REDRAW_SECONDS)
                return;
        if (!progress->terminal && done * 10 / progress->total <= progress->tenths)
                return;
        progress->tenths = done * 10 / progress->total;
        progress->drawn = time;
        draw(progress, done, loss, time - progress->start);
}

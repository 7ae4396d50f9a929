/* What others take of the processors while a bench works: a figure taken on a machine that others use says little.
 *
 * All that is busy, from the first line of /proc/stat (proc(5)), time that a hypervisor takes included; less what this process and
 * its children, the daemon and its executors among them, have used.
 */
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double own_seconds(int who)
{
        struct rusage usage;

        getrusage(who, &usage);
        return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

double pw_bench_own_seconds(void) { return own_seconds(RUSAGE_SELF); }

static double busy_seconds(void)
{
        unsigned long user, nice, system, idle, iowait, irq, softirq, steal;
        FILE *file = fopen("/proc/stat", "re");
        int count = 0;

        if (file) {
                count = fscanf(file, "cpu %lu %lu %lu %lu %lu %lu %lu %lu", &user, &nice, &system, &idle, &iowait, &irq,
                               &softirq, &steal);
                fclose(file);
        }
        return count == 8 ? (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK) : NAN;
}

struct pw_bench_span pw_bench_span_begin(void)
{
        return (struct pw_bench_span){ .start = pw_bench_seconds(), .busy = busy_seconds(),
                                       .own = own_seconds(RUSAGE_SELF) + own_seconds(RUSAGE_CHILDREN) };
}

double pw_bench_span_others(const struct pw_bench_span *span)
{
        struct pw_bench_span now = pw_bench_span_begin();
        double all = (now.start - span->start) * (double)sysconf(_SC_NPROCESSORS_ONLN);

        return fmax(0, (now.busy - span->busy - (now.own - span->own)) / all);
}

/* What others took of the processors since the test began: of all that was busy, from the first line of /proc/stat (proc(5)), what
 * this process and its descendants have not used. */
#include "tests/integration/group.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 8192

struct sample { int64_t now_us; double busy, own; bool known; }; /* busy and own in ticks */
static struct sample began;

/* Of one process: who started it, and its time with that of the children it waited for. */
struct process { int pid, parent; double ticks; bool ours; };

static bool read_process(const char *name, struct process *process)
{
        unsigned long user, system, children_user, children_system;
        char path[300], line[1000];
        const char *rest = NULL;

        snprintf(path, sizeof path, "/proc/%.200s/stat", name);
        FILE *file = fopen(path, "re");
        if (file && fgets(line, sizeof line, file))
                rest = strrchr(line, ')');
        if (file)
                fclose(file);
        if (!rest ||
            sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &process->parent, &user, &system,
                            &children_user, &children_system) != 5)
                return false;
        process->pid = atoi(name);
        process->ticks = (double)(user + system + children_user + children_system);
        process->ours = process->pid == getpid();
        return true;
}

static size_t read_processes(struct process *processes)
{
        struct dirent *entry;
        size_t count = 0;
        DIR *all = opendir("/proc");

        while (all && count < PROCESSES_MAX && (entry = readdir(all)))
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
                        count += read_process(entry->d_name, &processes[count]);
        if (all)
                closedir(all);
        return count;
}

static double own_ticks(void)
{
        struct process *processes = calloc(PROCESSES_MAX, sizeof *processes);
        size_t count = processes ? read_processes(processes) : 0;
        bool more = true;
        double sum = 0;

        while (more) {
                more = false;
                for (size_t i = 0; i < count; i++)
                        for (size_t j = 0; j < count && !processes[i].ours; j++)
                                if (processes[j].ours && processes[j].pid == processes[i].parent)
                                        more = processes[i].ours = true;
        }
        for (size_t i = 0; i < count; i++)
                sum += processes[i].ours ? processes[i].ticks : 0;
        free(processes);
        return sum;
}

static struct sample take_sample(void)
{
        unsigned long user, nice, system, idle, iowait, irq, softirq, steal;
        struct sample sample = { .now_us = it_now_us(), .own = own_ticks() };
        FILE *file = fopen("/proc/stat", "re");

        sample.known = file &&
                fscanf(file, "cpu %lu %lu %lu %lu %lu %lu %lu %lu", &user, &nice, &system, &idle, &iowait, &irq, &softirq,
                                      &steal) == 8;
        if (file)
                fclose(file);
        if (sample.known)
                sample.busy = (double)(user + nice + system + irq + softirq + steal);
        return sample;
}

void it_others_begin(void) { began = take_sample(); }

double it_others(void)
{
        struct sample now = take_sample();
        double all = (double)(now.now_us - began.now_us) / IT_SECOND * (double)sysconf(_SC_CLK_TCK) *
                (double)sysconf(_SC_NPROCESSORS_ONLN);
        double share = all > 0 ? (now.busy - began.busy - (now.own - began.own)) / all : 1;

        if (!began.known || !now.known)
                return 1;
        return share < 0 ? 0 : share > 1 ? 1 : share;
}

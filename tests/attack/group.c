/* Memory cgroups of version 1, below the one that the test is in. */
#include "tests/attack/group.h"

#include "base/memory.h"
#include "tests/attack/attack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup/memory"

static bool write_number(const char *folder, const char *name, uint64_t number)
{
        char path[400];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *file = fopen(path, "we");
        bool ok = file && fprintf(file, "%llu", (unsigned long long)number) > 0;
        if (file)
                ok &= fclose(file) == 0;
        return ok;
}

static uint64_t read_number(const char *folder, const char *name)
{
        unsigned long long number = 0;
        char path[400];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%llu", &number) != 1)
                number = 0;
        if (file)
                fclose(file);
        return number;
}

static bool move(const struct it_host *host, const char *folder)
{
        pid_t children[64];
        uint32_t count = attack_children(host->pid, children, pw_array_count(children));
        bool ok = write_number(folder, "cgroup.procs", (uint64_t)host->pid);

        for (uint32_t i = 0; i < count; i++)
                ok &= write_number(folder, "cgroup.procs", (uint64_t)children[i]);
        return ok;
}

bool group_limit(const struct group *group, uint64_t limit_bytes)
{
        return write_number(group->folder, "memory.limit_in_bytes", limit_bytes);
}

uint64_t group_used(const struct group *group) { return read_number(group->folder, "memory.usage_in_bytes"); }
uint64_t group_peak(const struct group *group) { return read_number(group->folder, "memory.max_usage_in_bytes"); }

bool group_make(const struct it_host *host, uint64_t limit_bytes, struct group *ret_group)
{
        struct group group;

        snprintf(group.folder, sizeof group.folder, ROOT "/pathways-test-%d", (int)getpid());
        if (mkdir(group.folder, 0755))
                return false;
        if (!group_limit(&group, limit_bytes) || !move(host, group.folder)) {
                group_leave(&group, host);
                return false;
        }
        *ret_group = group;
        return true;
}

void group_leave(const struct group *group, const struct it_host *host)
{
        if (!move(host, ROOT) || rmdir(group->folder))
                print_message("%s stays: %s\n", group->folder, strerror(errno));
}

/* MemAvailable and the cgroup's limit. */
#include "daemon/limits.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>

static bool read_number(const char *path, uint64_t *ret_number)
{
        FILE *file = fopen(path, "re");
        unsigned long long number;
        bool ok = file && fscanf(file, "%llu", &number) == 1;

        if (file)
                fclose(file);
        if (ok)
                *ret_number = number;
        return ok;
}

/* Bytes left in the memory cgroup (version 2), UINT64_MAX without a limit. */
static uint64_t cgroup_left(void)
{
        char line[4096], path[4200];
        uint64_t max, current;
        FILE *file = fopen("/proc/self/cgroup", "re");
        char *group = NULL;

        while (file && fgets(line, sizeof line, file)) {
                if (strncmp(line, "0::", 3) == 0) {
                        group = line + 3;
                        group[strcspn(group, "\n")] = 0;
                        break;
                }
        }
        if (file)
                fclose(file);
        if (!group)
                return UINT64_MAX;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
        if (!read_number(path, &max)) /* "max", or no such file */
                return UINT64_MAX;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.current", group);
        if (!read_number(path, &current))
                current = 0;
        return max > current ? max - current : 0;
}

enum pw_status pw_limits_available(uint64_t *ret_bytes, struct pw_error *ret_err)
{
        FILE *file = fopen("/proc/meminfo", "re");
        unsigned long long kib = 0;
        char line[256];

        if (!file)
                return pw_error_errno(ret_err, errno, "open /proc/meminfo");
        while (fgets(line, sizeof line, file))
                if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
                        break;
        fclose(file);
        if (!kib)
                return pw_error_set(ret_err, PW_SYSTEM, "/proc/meminfo has no MemAvailable");
        *ret_bytes = pw_min_u64(kib * 1024, cgroup_left());
        return PW_OK;
}

/* MemAvailable and the limits of cgroups. */
#include "daemon/memory/limits.h"

#include "base/memory.h"
#include "base/size.h"

#include <errno.h>
#include <stdio.h>

#define PATH_BYTES 4600u
#define UNLIMITED (UINT64_C(1) << 62) /* version 1 says a number above it where there is no limit */

/* The files of one version. */
struct hierarchy { const char *mount, *limit, *usage, *spare; };

static const struct hierarchy second = { "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file" };
static const struct hierarchy unified = { "/sys/fs/cgroup/unified", "memory.max", "memory.current", "inactive_file" };
static const struct hierarchy first = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                        "total_inactive_file" };

static FILE *open_file(const char *root, const char *mount, const char *group, const char *name)
{
        char path[PATH_BYTES];
        int length = snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, name);

        return length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
}

static bool read_number(FILE *file, uint64_t *ret_number)
{
        unsigned long long number;
        bool ok = file && fscanf(file, "%llu", &number) == 1; /* not "max" */

        if (file)
                fclose(file);
        if (ok)
                *ret_number = number;
        return ok;
}

/* The number behind `key` in a file of lines "key number"; 0 without it. */
static uint64_t read_key(FILE *file, const char *key)
{
        unsigned long long number = 0;
        char line[256], name[64];

        while (file && fgets(line, sizeof line, file)) {
                if (sscanf(line, "%63[^ :]%*[: ]%llu", name, &number) == 2 && !strcmp(name, key))
                        break;
                number = 0;
        }
        if (file)
                fclose(file);
        return number;
}

static void take_group(const char *root, const struct hierarchy *kind, const char *group, struct pw_limits *limits)
{
        uint64_t limit, used = 0, spare;

        if (!read_number(open_file(root, kind->mount, group, kind->limit), &limit) || limit >= UNLIMITED)
                return;
        read_number(open_file(root, kind->mount, group, kind->usage), &used);
        spare = read_key(open_file(root, kind->mount, group, "memory.stat"), kind->spare);
        used -= pw_min_u64(used, spare);
        if (limit - pw_min_u64(limit, used) >= limits->group_bytes)
                return;
        limits->group_bytes = limit - pw_min_u64(limit, used);
        snprintf(limits->group, sizeof limits->group, "%.*s", (int)sizeof limits->group - 1, group[0] ? group : "/");
}

/* `group` and those above it. In a namespace of its own a process may see another path than what is mounted: the mount's root is
 * looked at in any case. */
static void take_groups(const char *root, const struct hierarchy *kind, char *group, struct pw_limits *limits)
{
        char *end;

        if (!strcmp(group, "/"))
                *group = 0;
        take_group(root, kind, group, limits);
        while ((end = strrchr(group, '/'))) {
                *end = 0;
                take_group(root, kind, group, limits);
        }
}

/* One line of /proc/self/cgroup: "0::/a/b", or "4:cpu,memory:/a/b". */
static void take_line(const char *root, char *line, struct pw_limits *limits)
{
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL, *controller,
             copy[PATH_BYTES];

        if (!group)
                return;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (!*++controllers) {
                snprintf(copy, sizeof copy, "%s", group);
                take_groups(root, &second, group, limits);
                take_groups(root, &unified, copy, limits);
                return;
        }
        while ((controller = strsep(&controllers, ",")))
                if (!strcmp(controller, "memory"))
                        take_groups(root, &first, group, limits);
}

enum pw_status pw_limits_read(const char *root, struct pw_limits *ret_limits, struct pw_error *ret_err)
{
        struct pw_limits limits = { .group_bytes = UINT64_MAX };
        FILE *file = open_file(root, "/proc", "", "meminfo");
        char line[4096];

        if (!file)
                return pw_error_errno(ret_err, errno, "open %s/proc/meminfo", root);
        limits.available_bytes = read_key(file, "MemAvailable") * 1024;
        if (!limits.available_bytes)
                return pw_error_set(ret_err, PW_SYSTEM, "%s/proc/meminfo has no MemAvailable", root);
        file = open_file(root, "/proc/self", "", "cgroup");
        while (file && fgets(line, sizeof line, file))
                take_line(root, line, &limits);
        if (file)
                fclose(file);
        *ret_limits = limits;
        return PW_OK;
}

enum pw_status pw_limits_allow(const char *root, uint64_t bytes, struct pw_error *ret_err)
{
        char need[16], left[16];
        struct pw_limits limits;
        enum pw_status status = pw_limits_read(root, &limits, ret_err);
        uint64_t most;

        if (status != PW_OK)
                return status;
        most = pw_min_u64(limits.available_bytes, limits.group_bytes);
        if (bytes + PW_LIMITS_SPARE <= most)
                return PW_OK;
        pw_size_format(bytes, need);
        pw_size_format(most, left);
        if (limits.group_bytes < limits.available_bytes)
                return pw_error_set(ret_err, PW_NO_SPACE, "%s of memory: cgroup %s leaves %s", need, limits.group, left);
        return pw_error_set(ret_err, PW_NO_SPACE, "%s of memory: %s are available", need, left);
}

/* Limits of cgroups of both versions, in folders that look like a host's. */
#include "daemon/memory/limits.h"

#include "base/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct host { char folder[64]; };

/* Write `text` to a file of the host, with the folders above it. */
static void has(const struct host *host, const char *name, const char *text)
{
        char path[300];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", host->folder, name);
        for (char *at = path + strlen(host->folder) + 1; (at = strchr(at, '/')); *at++ = '/') {
                *at = 0;
                mkdir(path, 0700);
        }
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        assert_int_equal(fclose(file), 0);
}

static void open_host(struct host *host, const char *groups)
{
        snprintf(host->folder, sizeof host->folder, "/tmp/pathways-limits-XXXXXX");
        assert_non_null(mkdtemp(host->folder));
        has(host, "proc/meminfo", "MemTotal:       32000000 kB\nMemFree:  1 kB\nMemAvailable:    8388608 kB\nBuffers: 2 kB\n");
        has(host, "proc/self/cgroup", groups);
}

static void leaves(const struct host *host, uint64_t bytes, const char *group)
{
        struct pw_limits limits;
        struct pw_error err;

        assert_int_equal(pw_limits_read(host->folder, &limits, &err), PW_OK);
        assert_int_equal(limits.available_bytes, 8 * PW_GIB);
        assert_int_equal(limits.group_bytes, bytes);
        assert_string_equal(limits.group, group);
}

static void close_host(const struct host *host)
{
        char command[100];

        snprintf(command, sizeof command, "rm -r %s", host->folder);
        assert_int_equal(system(command), 0);
}

static void test_none(void **state)
{
        struct host host;
        struct pw_limits limits;
        struct pw_error err;

        (void)state;
        open_host(&host, "0::/user.slice\n");
        leaves(&host, UINT64_MAX, "");
        has(&host, "sys/fs/cgroup/user.slice/memory.max", "max\n");
        leaves(&host, UINT64_MAX, "");
        has(&host, "proc/meminfo", "MemTotal: 5 kB\n");
        assert_int_equal(pw_limits_read(host.folder, &limits, &err), PW_SYSTEM);
        assert_int_equal(pw_limits_read("/nowhere", &limits, &err), PW_SYSTEM);
        close_host(&host);
}

static void test_second(void **state)
{
        struct host host;

        (void)state;
        open_host(&host, "1:name=systemd:/x\n0::/a/b/c\n");
        has(&host, "sys/fs/cgroup/a/b/c/memory.max", "3000000\n");
        leaves(&host, 3000000, "/a/b/c");
        has(&host, "sys/fs/cgroup/a/b/c/memory.current", "1000000\n");
        leaves(&host, 2000000, "/a/b/c");
        has(&host, "sys/fs/cgroup/a/b/c/memory.stat", "anon 5\ninactive_file 400000\nactive_file 7\n");
        leaves(&host, 2400000, "/a/b/c");
        has(&host, "sys/fs/cgroup/a/b/memory.max", "max\n");
        has(&host, "sys/fs/cgroup/a/memory.max", "5000000\n"); /* one above, with others in it */
        leaves(&host, 2400000, "/a/b/c");
        has(&host, "sys/fs/cgroup/a/memory.current", "4500000\n");
        leaves(&host, 500000, "/a");
        has(&host, "sys/fs/cgroup/a/memory.current", "9000000\n");
        leaves(&host, 0, "/a");
        close_host(&host);
}

static void test_first(void **state)
{
        struct host host;

        (void)state;
        open_host(&host, "9:name=systemd:/\n4:cpu,memory:/box/one\n3:cpuset:/other\n0::/\n");
        has(&host, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        has(&host, "sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1000\n"); /* that process is in it for its cpus only */
        leaves(&host, UINT64_MAX, "");
        has(&host, "sys/fs/cgroup/memory/box/one/memory.limit_in_bytes", "104857600\n");
        has(&host, "sys/fs/cgroup/memory/box/one/memory.usage_in_bytes", "4857600\n");
        has(&host, "sys/fs/cgroup/memory/box/one/memory.stat", "inactive_file 77\ntotal_inactive_file 857600\n");
        leaves(&host, 100857600, "/box/one");
        has(&host, "sys/fs/cgroup/memory/memory.limit_in_bytes", "50000\n"); /* as a container sees its own group */
        leaves(&host, 50000, "/");
        close_host(&host);
}

/* 16 MiB stay besides. */
static void test_allow(void **state)
{
        struct host host;
        struct pw_error err;

        (void)state;
        open_host(&host, "0::/a\n");
        assert_int_equal(pw_limits_allow(host.folder, 8 * PW_GIB - PW_LIMITS_SPARE, &err), PW_OK);
        assert_int_equal(pw_limits_allow(host.folder, 8 * PW_GIB - PW_LIMITS_SPARE + 1, &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, "8 GiB are available"));
        has(&host, "sys/fs/cgroup/a/memory.max", "100000000\n");
        has(&host, "sys/fs/cgroup/a/memory.current", "40000000\n");
        assert_int_equal(pw_limits_allow(host.folder, 60000000 - PW_LIMITS_SPARE, &err), PW_OK);
        assert_int_equal(pw_limits_allow(host.folder, 60000000, &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, "cgroup /a leaves 57.2 MiB"));
        assert_int_equal(pw_limits_allow("/nowhere", 1, &err), PW_SYSTEM);
        close_host(&host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_none), cmocka_unit_test(test_second),
                                            cmocka_unit_test(test_first), cmocka_unit_test(test_allow) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a process has, from /proc. */
#include "tests/integration/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t count_fds(pid_t pid)
{
        char path[40];
        uint64_t count = 0;

        snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        while (readdir(folder))
                count++;
        closedir(folder);
        return count;
}

/* Lines of a file of /proc, and the number behind `key` in it. */
static uint64_t read_lines(pid_t pid, const char *name, const char *key, uint64_t *ret_number)
{
        char path[40], line[512];
        uint64_t count = 0;

        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        for (; fgets(line, sizeof line, file); count++)
                if (!strncmp(line, key, strlen(key)))
                        *ret_number = strtoull(line + strlen(key), NULL, 10);
        fclose(file);
        return count;
}

struct it_has it_has(pid_t pid)
{
        struct it_has has = { .fds = count_fds(pid) };
        uint64_t none;

        has.maps = read_lines(pid, "maps", "\n", &none);
        read_lines(pid, "status", "RssAnon:", &has.private_kib);
        return has;
}

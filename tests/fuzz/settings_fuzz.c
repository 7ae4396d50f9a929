/* What an operator, the environment and the kernel's files say to pathwaysd: command line, config file, quotas, addresses,
 * variables, cgroups. Each is taken or refused with a sentence. */
#include "daemon/memory/limits.h"
#include "daemon/settings/environment.h"
#include "daemon/settings/http_address.h"
#include "daemon/settings/quota.h"
#include "daemon/settings/settings.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_BYTES 2000u

/* Words are parted by zero bytes. No word names a file to read. */
static void read_command(char *text, size_t count)
{
        char *words[24] = { (char *)"pathwaysd" };
        struct pw_settings settings;
        int word_count = 1;

        for (size_t i = 0; i < count && word_count < 23; i += strlen(text + i) + 1)
                if (strncmp(text + i, "--c", 3))
                        words[word_count++] = text + i;
        if (pw_settings_load(&settings, word_count, words, NULL) == PW_OK)
                pw_settings_done(&settings);
}

static void read_config(const char *text, size_t count)
{
        char path[40], *words[] = { (char *)"pathwaysd", (char *)"--config", path, NULL };
        int fd = memfd_create("config", 0);
        struct pw_settings settings;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (write(fd, text, count) == (ssize_t)count && pw_settings_load(&settings, 3, words, NULL) == PW_OK)
                pw_settings_done(&settings);
        close(fd);
}

static void read_line(char *text)
{
        const struct pw_text_list lines = { .items = &text, .count = 1 };
        struct pw_http_address address, again;
        char written[PW_HTTP_ADDRESS_TEXT];
        struct pw_quota quota;

        if (pw_quota_read(&lines, "ann", &quota, NULL) == PW_OK)
                assert(quota.objects && quota.sessions);
        if (pw_http_address_parse(text, &address, NULL) == PW_OK &&
            strlen(pw_http_address_format(&address, written)) < sizeof written - 1)
                assert(pw_http_address_parse(written, &again, NULL) == PW_OK);
}

static void read_environment(char *text, size_t count)
{
        static const char *const names[] = { "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME", "NOTIFY_SOCKET", "WATCHDOG_USEC",
                                             "WATCHDOG_PID", "JOURNAL_STREAM" };
        struct pw_environment environment = { 0 };
        size_t at = 0;

        for (size_t i = 0; i < sizeof names / sizeof *names && at < count; i++, at += strlen(text + at) + 1)
                setenv(names[i], text + at, 1);
        pw_environment_read(&environment);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                unsetenv(names[i]);
}

static void put_file(const char *root, const char *name, const char *text)
{
        char path[200];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", root, name);
        file = fopen(path, "w");
        if (!file)
                return;
        fputs(text, file);
        fclose(file);
}

static const char *const folders[] = { "proc", "proc/self", "sys", "sys/fs", "sys/fs/cgroup", "sys/fs/cgroup/memory" };
static const char *const files[] = { "proc/meminfo", "proc/self/cgroup", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current",
                                     "sys/fs/cgroup/memory.stat", "sys/fs/cgroup/memory/memory.limit_in_bytes" };
static char root[] = "/tmp/pathways-fuzz-XXXXXX";

static void remove_root(void)
{
        char path[200];

        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                snprintf(path, sizeof path, "%s/%s", root, files[i]);
                unlink(path);
        }
        for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
                snprintf(path, sizeof path, "%s/%s", root, folders[i]);
                rmdir(path);
        }
        rmdir(root);
}

static void make_root(void)
{
        char path[200];

        if (!mkdtemp(root))
                return;
        atexit(remove_root);
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
                snprintf(path, sizeof path, "%s/%s", root, folders[i]);
                mkdir(path, 0700);
        }
}

/* Each file is a text, parted by zero bytes. */
static void read_limits(char *text, size_t count)
{
        static bool made;
        struct pw_limits limits;
        size_t at = 0;

        if (!made)
                make_root();
        made = true;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                put_file(root, files[i], at < count ? text + at : "");
                at += at < count ? strlen(text + at) + 1 : 0;
        }
        if (pw_limits_read(root, &limits, NULL) == PW_OK)
                assert(limits.available_bytes && memchr(limits.group, 0, sizeof limits.group));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        static char text[TEXT_BYTES];

        if (!count || count >= sizeof text)
                return 0;
        memcpy(text, bytes + 1, count - 1);
        text[count - 1] = 0;
        switch (bytes[0] % 5) {
        case 0: read_command(text, count); break;
        case 1: read_config(text, count - 1); break;
        case 2: read_line(text); break;
        case 3: read_environment(text, count); break;
        default: read_limits(text, count);
        }
        return 0;
}

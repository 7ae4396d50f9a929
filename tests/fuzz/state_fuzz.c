/* The state file: whatever stands in it, a host starts with an epoch that is higher than what stood there, or is told what to
 * do. */
#include "daemon/meta/meta.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], path[80];

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        abort();
}

static void remove_folder(void)
{
        unlink(path);
        rmdir(folder);
}

static void make_folder(void)
{
        const char *tmp = getenv("TMPDIR");

        snprintf(folder, sizeof folder, "%.30s/pathways-fuzz-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp");
        must(mkdtemp(folder), "mkdtemp");
        snprintf(path, sizeof path, "%s/epoch", folder);
        atexit(remove_folder);
}

/* The epoch that it starts with; 0: it does not. */
static uint32_t start(uint32_t now_s)
{
        struct pw_error err = { PW_OK, "" };
        struct pw_meta_host host = { 0 };
        struct pw_meta *meta = NULL;

        if (pw_meta_kind("embedded")->open(&(struct pw_meta_params){ .state_dir = folder, .now_s = now_s }, &meta, &host,
                                           &err) != PW_OK) {
                must(strstr(err.text, path), "a refusal that does not name the file");
                return 0;
        }
        must(host.epoch >= now_s && host.epoch, "an epoch below the time");
        pw_meta_close(meta);
        return host.epoch;
}

/* The first two bytes: how far the clock is. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct fuzz_bytes left = { bytes, count };
        uint32_t now_s = 1 + (uint32_t)fuzz_take(&left, 2) * 65537u;
        char text[64] = "";
        int fd;

        if (!folder[0])
                make_folder();
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        must(fd >= 0 && write(fd, left.at, left.left) == (ssize_t)left.left && close(fd) == 0, "write the file");
        memcpy(text, left.at, left.left < sizeof text - 1 ? left.left : sizeof text - 1);
        uint32_t epoch = start(now_s);
        if (!epoch)
                return 0;
        if (text[0] >= '0' && text[0] <= '9')
                must(epoch > strtoull(text, NULL, 10), "an epoch that was used before");
        must(start(1) > epoch || epoch == UINT32_MAX, "the same epoch again"); /* behind the last one it is refused */
        return 0;
}

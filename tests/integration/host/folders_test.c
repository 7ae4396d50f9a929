/* Files that the daemon keeps in folders which others may have a hand in: nothing is followed, nobody else's is written or removed,
 * and nobody else can lock it out.
 */
#include "tests/integration/folder.h"
#include "tests/integration/other.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRECIOUS "not to be touched\n"

static char *path_of(const struct it_host *host, const char *name, char path[160])
{
        snprintf(path, 160, "%s/%s", host->folder, name);
        return path;
}

static void make_precious(const struct it_host *host, char path[160])
{
        it_write_file(path_of(host, "precious", path), PRECIOUS);
        assert_int_equal(chmod(path, 0640), 0);
}

static void is_untouched(const char *path)
{
        char text[64] = "";
        struct stat stat;
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0 && fstat(fd, &stat) == 0);
        close(fd);
        assert_string_equal(text, PRECIOUS);
        assert_int_equal(stat.st_mode & 07777, 0640);
}

static void an_http_path_that_is_no_socket(void **state)
{
        struct it_host *host = *state;
        char path[160], address[200];

        make_precious(host, path);
        snprintf(address, sizeof address, "unix:%s", path);
        it_refuses_to_start(host, IT_ARGS(IT_SMALL, "--http", address), "precious|no socket");
        is_untouched(path);
        it_start(host, IT_ARGS(IT_SMALL)); /* the next one finds nothing odd */
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* What stands in the place of the lock or the epoch is put there by `make`; it is refused with `says`, and what it leads to
 * stays. */
static void refuses(struct it_host *host, const char *name, int (*make)(const char *from, const char *to), const char *says)
{
        char path[160], precious[160];

        make_precious(host, precious);
        assert_int_equal(mkdir(path_of(host, "run", path), 0755) < 0 && errno != EEXIST, 0);
        assert_int_equal(mkdir(path_of(host, "state", path), 0755) < 0 && errno != EEXIST, 0);
        path_of(host, name, path);
        (void)unlink(path);
        assert_int_equal(make(precious, path), 0);
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), says);
        is_untouched(precious);
        assert_int_equal(unlink(path), 0);
}

static int make_fifo(const char *from, const char *to) { return (void)from, mkfifo(to, 0666); }

static void links_are_not_followed(void **state)
{
        struct it_host *host = *state;

        refuses(host, "run/pathwaysd.lock", symlink, "pathwaysd.lock: is a link");
        refuses(host, "run/pathwaysd.lock", link, "pathwaysd.lock: is linked to from elsewhere");
        refuses(host, "run/pathwaysd.lock", make_fifo, "pathwaysd.lock: is no regular file");
        refuses(host, "run/pathwaysd.sock", link, "pathwaysd.sock: is there, and no socket");
        refuses(host, "state/epoch", symlink, "epoch: is a link");
        refuses(host, "state/epoch", link, "epoch: is linked to from elsewhere");
        it_start(host, IT_ARGS(IT_SMALL));
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* Of another user, who could change what lies there at any time. */
static void folders_of_others_are_refused(void **state)
{
        struct it_host *host = *state;
        char path[160];

        if (geteuid() != 0)
                skip();
        assert_int_equal(mkdir(path_of(host, "run", path), 0755), 0);
        assert_int_equal(chown(path, IT_OTHER, IT_OTHER), 0);
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "run: belongs to user 65533");
        assert_int_equal(chown(path, 0, 0), 0);
        assert_int_equal(chmod(path, 0777), 0);
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "run: everybody may write to it");
        assert_int_equal(chmod(path, 0755), 0);
        it_start(host, IT_ARGS(IT_SMALL));
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static int open_lock(void *context, int pipe)
{
        int errors = 0;

        if (geteuid() == 0)
                assert_int_equal(setuid(IT_OTHER), 0);
        for (int flags = O_RDONLY; flags <= O_RDWR; flags++)
                errors += open(context, flags | O_CLOEXEC) < 0 && errno == EACCES;
        assert_int_equal(write(pipe, &errors, sizeof errors), sizeof errors);
        return 0;
}

/* A lock of an earlier version could be opened, and so locked, by anybody. */
static void nobody_else_opens_the_lock(void **state)
{
        struct it_host *host = *state;
        char path[160];
        struct stat stat_of;
        int errors;

        if (geteuid() != 0)
                skip();
        assert_int_equal(chmod(host->folder, 0755), 0);
        assert_int_equal(mkdir(path_of(host, "run", path), 0755), 0);
        it_write_file(path_of(host, "run/pathwaysd.lock", path), "1\n");
        assert_int_equal(chmod(path, 0644), 0);
        it_start(host, IT_ARGS(IT_SMALL));
        assert_int_equal(stat(path, &stat_of), 0);
        assert_int_equal(stat_of.st_mode & 07777, 0600);
        struct it_child child = it_fork(open_lock, path);
        it_read(&child, &errors, sizeof errors);
        assert_int_equal(errors, 3);
        assert_int_equal(it_reap(&child, 0), 0);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(an_http_path_that_is_no_socket),
                IT_FOLDER_TEST(links_are_not_followed),
                IT_FOLDER_TEST(folders_of_others_are_refused),
                IT_FOLDER_TEST(nobody_else_opens_the_lock),
        };

        return cmocka_run_group_tests_name("folders", tests, NULL, NULL);
}

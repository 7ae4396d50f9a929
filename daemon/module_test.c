/* The digest of a module is that of the file as it lies there now, whether the file was read for it or not. */
#include "daemon/install.h"
#include "daemon/module.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

void pw_session_reply(struct pw_dsession *session, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count)
{
        (void)session, (void)id, (void)reply, (void)fds, (void)fd_count;
}
void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text)
{
        (void)session, (void)id, (void)status, (void)text;
}

void pw_install_path(enum pw_install_part part, char *path, size_t bytes)
{
        (void)part;
        snprintf(path, bytes, "/nowhere");
}

static void write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        assert_int_equal(fclose(file), 0);
}

static uint64_t digest_of(struct pw_modules *modules)
{
        struct pw_error err = { PW_OK, "" };
        uint64_t digest = 0, opened = 0;
        int fd = -1;

        if (pw_module_digest(modules, "one", &digest, &err) != PW_OK || pw_module_open(modules, "one", &fd, &opened, &err) != PW_OK)
                fail_msg("%s", err.text);
        close(fd);
        assert_int_equal(digest, opened);
        return digest;
}

static void test_digest(void **state)
{
        char folder[] = "/tmp/pathways-modules-XXXXXX", path[64], other[64], *items[] = { folder };
        struct pw_daemon daemon = { .settings.modules = { .items = items, .count = 1 } };
        struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        struct pw_modules *modules;
        struct pw_error err;
        uint64_t first, digest;

        (void)state;
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/one.so", folder);
        snprintf(other, sizeof other, "%s/other", folder);
        assert_int_equal(pw_modules_new(&daemon, &modules, &err), PW_OK);
        write_file(path, "first");
        first = digest_of(modules);
        assert_int_equal(digest_of(modules), first);
        write_file(other, "other");
        assert_int_equal(rename(other, path), 0);
        digest = digest_of(modules);
        assert_int_not_equal(digest, first);
        write_file(path, "first"); /* of the same size, in the same file */
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_int_equal(digest_of(modules), first);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(pw_module_digest(modules, "one", &digest, &err), PW_NOT_FOUND);
        assert_int_equal(pw_module_digest(modules, "../one", &digest, &err), PW_INVALID);
        pw_modules_free(modules);
        assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_digest) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Versions of a module: how many that nobody holds stay loaded, which go, and that their descriptors go with them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/program/module.h"

#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define VERSIONS (2 * PW_MODULES_IDLE)
#define FDS 256

struct host { uint32_t asked; };

/* Each version is a file of its own, or the loader would take them for one. */
static enum pw_status open_copy(void *context, const char *name, uint64_t digest, int *ret_fd, struct pw_error *ret_err)
{
        struct host *host = context;
        const char *top = getenv("PW_BUILD");
        pw_auto_free char *bytes = NULL;
        struct stat stat;
        char path[4096];

        (void)digest, (void)ret_err;
        snprintf(path, sizeof path, "%s/executor/modules/.libs/%s.so", top ? top : ".", name);
        pw_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0 && fstat(fd, &stat) == 0);
        bytes = malloc((size_t)stat.st_size);
        *ret_fd = memfd_create(name, MFD_CLOEXEC);
        assert_true(bytes && *ret_fd >= 0 && read(fd, bytes, (size_t)stat.st_size) == stat.st_size);
        assert_true(write(*ret_fd, bytes, (size_t)stat.st_size) == stat.st_size);
        host->asked++;
        return PW_OK;
}

static uint32_t open_fds(void)
{
        uint32_t count = 0;

        for (int fd = 0; fd < FDS; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static struct pw_loaded_module *find(struct pw_exec_modules *modules, uint64_t digest)
{
        struct pw_found_function found;
        struct pw_error err;

        if (pw_modules_find(modules, "pw", "nop", digest, &found, &err) != PW_OK)
                fail_msg("%s", err.text);
        assert_string_equal(found.function->name, "nop");
        return found.module;
}

/* Of those that nobody holds the last stay, as many as are kept; one that is held stays, however old. */
static void test_old_versions_go(void **state)
{
        struct host host = { 0 };
        const struct pw_surroundings around = { .context = &host, .module = open_copy };
        uint32_t before = open_fds();
        struct pw_loaded_module *held;
        struct pw_exec_modules modules;

        (void)state;
        pw_modules_init(&modules, &around);
        held = find(&modules, VERSIONS);
        for (uint64_t digest = 0; digest < VERSIONS; digest++)
                pw_module_release(find(&modules, digest));
        assert_int_equal(host.asked, 1 + VERSIONS);
        assert_int_equal(open_fds() - before, 1 + PW_MODULES_IDLE);
        for (uint64_t digest = VERSIONS - PW_MODULES_IDLE; digest <= VERSIONS; digest++)
                pw_module_release(find(&modules, digest));
        assert_int_equal(host.asked, 1 + VERSIONS); /* all of these were there */
        pw_module_release(find(&modules, 0));
        assert_int_equal(host.asked, 2 + VERSIONS);
        pw_module_release(held);
        assert_int_equal(open_fds() - before, PW_MODULES_IDLE);
        pw_modules_done(&modules);
        assert_int_equal(open_fds(), before);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_old_versions_go) };

        return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}

/* A module that is built again: programs that were compiled before run the version that there was then, those that are compiled now
 * run the new one, side by side on the same devices and over restarts of executors; what nobody runs is not kept.
 */
#include "tests/integration/folder.h"
#include "tests/integration/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSIONS 100         /* PW_VERSIONS */
#define KEPT 20              /* copies at most, in a process: 16 without a user, those of the test, that of the module `pw` */

static void module_path(const struct it_host *host, const char *folder, const char *file, char path[200])
{
        snprintf(path, 200, "%s/%s", host->folder, folder);
        if (mkdir(path, 0755) < 0)
                assert_int_equal(errno, EEXIST);
        snprintf(path, 200, "%s/%s/%s", host->folder, folder, file);
}

/* The file as it is built, with `number` behind its mark. Own: the caller frees it. */
static char *stamped(double number, size_t *ret_bytes)
{
        static const char mark[16] = "the number is:\n";
        char path[600], *bytes = NULL, *at;
        struct stat info;
        int fd = open(it_built("tests/integration/modules/.libs/stamped.so", path), O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0 && fstat(fd, &info) == 0);
        bytes = malloc((size_t)info.st_size);
        assert_non_null(bytes);
        assert_int_equal(read(fd, bytes, (size_t)info.st_size), info.st_size);
        close(fd);
        at = memmem(bytes, (size_t)info.st_size, mark, sizeof mark);
        assert_non_null(at);
        memcpy(at + sizeof mark, &number, sizeof number);
        *ret_bytes = (size_t)info.st_size;
        return bytes;
}

/* As linkers and `install` do, a new file in the old one's place; or as `cp` does, into the same one. */
static void build(const struct it_host *host, const char *folder, double number, bool in_place)
{
        char path[200], fresh[200], *bytes;
        size_t count;

        module_path(host, folder, "stamp.so", path);
        module_path(host, folder, "stamp.new", fresh);
        bytes = stamped(number, &count);
        int fd = open(in_place ? path : fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, count), count);
        assert_int_equal(close(fd), 0);
        if (!in_place)
                assert_int_equal(rename(fresh, path), 0);
        free(bytes);
}

static struct pw_program *compile(const struct it_host *host, struct pw_slice *slice)
{
        return it_one_node(host->session, slice, "stamp/number", PW_SCALAR, NULL);
}

static double number_of(struct pw_program *program, struct pw_future *input)
{
        struct pw_future *result = it_run_1(program, input);
        double number = it_get_scalar(result);

        pw_unref(result);
        return number;
}

static pid_t executor_of(struct pw_session *session, const char *device)
{
        struct pw_listing *devices = it_list(session, "devices", NULL);
        pid_t pid = (pid_t)it_number(devices, it_find(devices, "device", device), "pid");

        pw_listing_free(devices);
        return pid;
}

/* Copies of modules that a process has open. */
static uint32_t copies_of(pid_t pid)
{
        char path[300], target[100];
        uint32_t count = 0;

        snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
                snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)pid, entry->d_name);
                ssize_t length = readlink(path, target, sizeof target - 1);
                target[length < 0 ? 0 : length] = 0;
                count += strstr(target, ".so (deleted)") != NULL;
        }
        closedir(folder);
        return count;
}

static struct pw_slice *begin(struct it_host *host, struct pw_future **ret_input)
{
        char path[200];

        module_path(host, "modules", "", path);
        build(host, "modules", 0, false);
        it_start(host, IT_ARGS(IT_SMALL, "--modules", path));
        host->session = it_connect(host);
        *ret_input = it_put_scalar(host->session, 1);
        return it_slice(host->session, 1, 1);
}

static void end(struct it_host *host, struct pw_slice *slice, struct pw_future *input)
{
        pw_unref(input);
        pw_slice_close(slice);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static void each_program_runs_its_version(void **state)
{
        struct it_host *host = *state;
        struct pw_future *input;
        struct pw_slice *slice = begin(host, &input);
        struct pw_program *old = compile(host, slice), *before = compile(host, slice);
        int versions = (int)it_environment("PW_VERSIONS", VERSIONS);

        assert_true(number_of(old, input) == 0);
        for (int i = 1; i <= versions; i++) {
                build(host, "modules", i, i % 2);
                struct pw_program *fresh = compile(host, slice);
                if (i % 5 == 0)
                        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
                assert_true(number_of(fresh, input) == i);
                assert_true(number_of(old, input) == 0);
                assert_true(number_of(before, input) == i - 1);
                pw_program_free(before);
                before = fresh;
        }
        assert_in_range(copies_of(host->pid), 2, KEPT);
        assert_in_range(copies_of(executor_of(host->session, "h0:0")), 2, KEPT);
        pw_program_free(before);
        pw_program_free(old);
        end(host, slice, input);
}

/* The old one is a copy: that its file is gone is of no matter to who compiled before. */
static void a_file_that_is_gone_is_missed_by_new_programs_alone(void **state)
{
        struct it_host *host = *state;
        struct pw_future *input;
        struct pw_slice *slice = begin(host, &input);
        struct pw_program *old = compile(host, slice), *fresh;
        char path[200];

        module_path(host, "modules", "stamp.so", path);
        assert_int_equal(truncate(path, 100), 0);
        assert_true(number_of(old, input) == 0);
        assert_int_equal(unlink(path), 0);
        assert_true(it_signal_executor(host, "h0:0", SIGKILL));
        assert_true(number_of(old, input) == 0);
        fresh = pw_program_new(host->session, "fresh");
        pw_result(fresh, pw_call(fresh, slice, "stamp/number",
                                 PW_ARGS(pw_input(fresh, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0)), PW_BROADCAST));
        it_fails(pw_compile(fresh, IT_ERR), PW_NOT_FOUND, "stamp.so");
        pw_program_free(fresh);
        pw_program_free(old);
        end(host, slice, input);
}

static bool has_folder(const struct pw_listing *listing, void *context)
{
        (void)listing;
        const struct it_host *host = context;
        char line[400];
        bool said = false;
        FILE *log = fopen(host->log, "re");

        assert_non_null(log);
        while (fgets(line, sizeof line, log))
                said |= strstr(line, "config read again") != NULL;
        fclose(log);
        return said;
}

static void other_folders_are_for_new_programs(void **state)
{
        struct it_host *host = *state;
        struct pw_future *input;
        struct pw_slice *slice;
        struct pw_program *old, *fresh;
        char config[120], text[300];

        build(host, "first", 1, false);
        build(host, "second", 2, false);
        snprintf(config, sizeof config, "%s/config", host->folder);
        snprintf(text, sizeof text, "modules = %s/first\n", host->folder);
        it_write_file(config, text);
        host->no_modules = true;
        it_start(host, IT_ARGS(IT_SMALL, "--config", config));
        host->session = it_connect(host);
        input = it_put_scalar(host->session, 1);
        slice = it_slice(host->session, 1, 1);
        old = compile(host, slice);
        assert_true(number_of(old, input) == 1);
        snprintf(text, sizeof text, "modules = %s/second\n", host->folder);
        it_write_file(config, text);
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        it_until(host->session, "status", has_folder, host);
        fresh = compile(host, slice);
        assert_true(number_of(fresh, input) == 2);
        assert_true(number_of(old, input) == 1);
        pw_program_free(fresh);
        pw_program_free(old);
        end(host, slice, input);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(each_program_runs_its_version),
                IT_FOLDER_TEST(a_file_that_is_gone_is_missed_by_new_programs_alone),
                IT_FOLDER_TEST(other_folders_are_for_new_programs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

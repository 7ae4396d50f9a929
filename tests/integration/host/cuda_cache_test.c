/* Where the drivers of executors keep what they have compiled, by the fake driver, which leaves a file for each code that it loads.
 */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/other.h"
#include "tests/integration/scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct it_gpus gpus;

static const char *path_of(const struct it_host *host, const char *name, char path[160])
{
        snprintf(path, 160, "%s/%s", host->folder, name);
        return path;
}

/* As whom executors run. */
static uid_t executor_uid(void)
{
        const struct passwd *user = getpwnam("pathways-executor");

        if (geteuid() != 0)
                return geteuid();
        user = user ? user : getpwnam("nobody");
        assert_non_null(user);
        return user->pw_uid;
}

/* Files in `name`, all of them of executors. */
static uint32_t files_in(const struct it_host *host, const char *name)
{
        char path[160];
        DIR *folder = opendir(path_of(host, name, path));
        const struct dirent *entry;
        struct stat info;
        uint32_t count = 0;

        assert_non_null(folder);
        while ((entry = readdir(folder))) {
                if (entry->d_name[0] == '.')
                        continue;
                assert_int_equal(fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW), 0);
                assert_int_equal(info.st_uid, executor_uid());
                count++;
        }
        closedir(folder);
        return count;
}

static void start_on(struct it_host *host, const char *devices)
{
        if (it_gpus_given())
                it_skip("what other drivers keep is their affair");
        it_gpus_init(&gpus, NULL);
        it_start(host, IT_ARGS("--devices", devices, "--cuda-driver", gpus.driver, "--host-memory", "64MiB", "--device-memory",
                               "8MiB"));
        host->session = it_connect(host);
}

/* A daemon whose GPU adds, and ends. */
static void add_once(struct it_host *host)
{
        static const double expected[] = { 2, 4, 6 };
        struct pw_slice *slice;
        struct pw_program *program;
        struct pw_value *value;
        struct pw_future *input, *result;

        start_on(host, "cuda:1");
        program = pw_program_new(host->session, "test/cache");
        it_ok(pw_slice_open(host->session, &(struct pw_slice_params){ .device_count = 1 }, &slice, IT_ERR));
        value = pw_input(program, slice, PW_F64, PW_DIMS(3), PW_BROADCAST, 0);
        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(value, value), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        input = it_put_f64(host->session, PW_DIMS(3), 1);
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_expect_f64(result, expected, 3);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&gpus);
}

static bool is_there(const struct it_host *host, const char *name)
{
        char path[160];
        struct stat info;

        return lstat(path_of(host, name, path), &info) == 0;
}

/* What lies in the state dir is nobody else's to read, also where executors are let pass through it. */
static void is_of_executors_alone(void **state)
{
        struct it_host *host = *state;
        char path[160];
        struct stat info;
        uint32_t count;

        assert_int_equal(chmod(host->folder, 0755), 0);
        add_once(host);
        count = files_in(host, "state/cuda-cache");
        assert_true(count > 0);
        assert_int_equal(stat(path_of(host, "state/cuda-cache", path), &info), 0);
        assert_int_equal(info.st_uid, executor_uid());
        assert_int_equal(info.st_mode & 07777, 0700);
        assert_int_equal(stat(path_of(host, "state", path), &info), 0);
        assert_int_equal(info.st_mode & 07777, geteuid() ? 0700 : 0710);
        add_once(host);
        assert_int_equal(files_in(host, "state/cuda-cache"), count);
        assert_false(it_has_said(host, "compiled anew"));
}

/* Others have rights in the state dir: these stay as they are. */
static void a_state_dir_of_a_group(void **state)
{
        struct it_host *host = *state;
        char path[160];
        struct stat info;

        if (geteuid() != 0)
                it_skip("executors run as the daemon does where that is not root");
        assert_int_equal(chmod(host->folder, 0755), 0);
        assert_int_equal(mkdir(path_of(host, "state", path), 0700), 0);
        assert_int_equal(chown(path, 0, IT_OTHER), 0);
        assert_int_equal(chmod(path, 0750), 0);
        add_once(host);
        assert_true(files_in(host, "state/cuda-cache") > 0);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_gid, IT_OTHER);
        assert_int_equal(info.st_mode & 07777, 0751);
}

/* The daemon goes on, executors have nothing that is kept. */
static void what_is_no_folder_of_ours(void **state)
{
        struct it_host *host = *state;
        char path[160], other[160];

        assert_int_equal(chmod(host->folder, 0755), 0);
        assert_int_equal(mkdir(path_of(host, "state", path), 0700), 0);
        assert_int_equal(mkdir(path_of(host, "precious", other), 0700), 0);
        assert_int_equal(chmod(other, 0777), 0);
        assert_int_equal(symlink(other, path_of(host, "state/cuda-cache", path)), 0);
        add_once(host);
        assert_true(it_has_said(host, "code for GPUs is compiled anew"));
        assert_true(it_has_said(host, "state/cuda-cache: is a link or a file, and no folder; remove it"));
        assert_int_equal(files_in(host, "precious"), 0);
        assert_int_equal(unlink(path), 0);
        if (geteuid() != 0)
                return;
        assert_int_equal(mkdir(path, 0777), 0);
        assert_int_equal(chmod(path, 0777), 0);
        assert_int_equal(chown(path, IT_OTHER, IT_OTHER), 0);
        add_once(host);
        assert_true(it_has_said(host, "state/cuda-cache: belongs to user 65533; remove it"));
        assert_int_equal(files_in(host, "state/cuda-cache"), 0);
}

static void a_folder_above_is_closed(void **state)
{
        struct it_host *host = *state;

        if (geteuid() != 0)
                it_skip("executors run as the daemon does where that is not root");
        assert_int_equal(chmod(host->folder, 0700), 0);
        add_once(host);
        assert_true(it_has_said(host, "state/cuda-cache: Permission denied"));
}

static void another_is_given(void **state)
{
        struct it_host *host = *state;
        char path[160];

        assert_int_equal(chmod(host->folder, 0755), 0);
        assert_int_equal(mkdir(path_of(host, "given", path), 0700), 0);
        assert_int_equal(chmod(path, 0777), 0);
        assert_int_equal(setenv("CUDA_CACHE_PATH", path, 1), 0);
        add_once(host);
        assert_int_equal(unsetenv("CUDA_CACHE_PATH"), 0);
        assert_true(files_in(host, "given") > 0);
        assert_false(is_there(host, "state/cuda-cache"));
}

static void there_are_no_gpus(void **state)
{
        struct it_host *host = *state;

        start_on(host, "cpu:1");
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&gpus);
        assert_false(is_there(host, "state/cuda-cache"));
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(is_of_executors_alone), IT_FOLDER_TEST(a_state_dir_of_a_group),
                                            IT_FOLDER_TEST(what_is_no_folder_of_ours), IT_FOLDER_TEST(a_folder_above_is_closed),
                                            IT_FOLDER_TEST(another_is_given), IT_FOLDER_TEST(there_are_no_gpus) };

        unsetenv("CUDA_CACHE_PATH");
        return cmocka_run_group_tests(tests, NULL, NULL);
}

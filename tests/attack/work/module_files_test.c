/* A folder of modules that a tenant may write: things that are no modules, files that change as they are read, links to what only
 * root may read.
 */
#include "tests/attack/attack.h"
#include "tests/integration/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPARSE_BYTES (INT64_C(40) << 30)
#define TORN_BYTES (INT64_C(200) << 20)
#define TORN_ROUNDS 5 /* PW_TORN_ROUNDS */

static char folder[80], top[64]; /* of modules; where only root may look */

static void place(char path[200], const char *file) { snprintf(path, 200, "%s/%s", folder, file); }

static void empty_file(const char *file, off_t bytes)
{
        char path[200];

        place(path, file);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, bytes), 0);
        close(fd);
}

static void copy_file(const char *from, const char *to, mode_t mode)
{
        static char bytes[1 << 20];
        int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
        ssize_t count = read(in, bytes, sizeof bytes);

        assert_true(in >= 0 && out >= 0 && count > 0);
        assert_int_equal(write(out, bytes, (size_t)count), count);
        close(in);
        close(out);
}

static enum pw_status compile(struct pw_session *session, struct pw_slice *slice, const char *function, struct pw_error *ret_err)
{
        struct pw_program *program = pw_program_new(session, "attack");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_DIMS(4), PW_SPLIT(0), 0);
        enum pw_status status;

        pw_result(program, pw_call(program, slice, function, PW_ARGS(input), PW_SPLIT(0)));
        status = pw_compile(program, ret_err);
        pw_program_free(program);
        return status;
}

static void expect(struct pw_session *session, struct pw_slice *slice, const char *function, const char *text)
{
        int64_t start_us = it_now_us();

        it_fails(compile(session, slice, function, IT_ERR), PW_BAD_MODULE, text);
        it_within(function, start_us, IT_SECOND / 4);
}

/* After the file was read from so often it loses its bytes; the next part of it is not there. */
static pid_t tear_after(int reads, const char *path, uint32_t count)
{
        char events[64 * sizeof(struct inotify_event)];
        pid_t child = fork();

        assert_true(child >= 0);
        if (child)
                return child;
        for (uint32_t i = 0; i < count; i++)
                if (read(reads, events, sizeof events) <= 0)
                        _exit(1);
        _exit(truncate(path, 4096) != 0);
}

/* A file that loses its bytes as it is read, over and over; whoever maps it dies of SIGBUS. */
static void tear(struct pw_session *session, struct pw_slice *slice)
{
        char path[200];

        place(path, "torn.so");
        for (uint32_t i = 0; i < it_environment("PW_TORN_ROUNDS", TORN_ROUNDS); i++) {
                int reads = inotify_init1(IN_CLOEXEC);

                empty_file("torn.so", TORN_BYTES);
                assert_true(reads >= 0 && inotify_add_watch(reads, path, IN_ACCESS) >= 0);
                pid_t child = tear_after(reads, path, 1 + i);
                it_fails(compile(session, slice, "torn/any", IT_ERR), PW_BAD_MODULE, "torn");
                kill(child, SIGKILL); /* it was read in one go, faster than we are told */
                assert_int_equal(waitpid(child, NULL, 0), child);
                close(reads);
        }
}

static int attack_folder(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_slice *slice = it_slice(session, 1, 1);
        char path[200], secret[200];

        place(path, "fifo.so");
        assert_int_equal(mkfifo(path, 0644), 0);
        expect(session, slice, "fifo/any", "fifo.so: not a file");
        place(path, "folder.so");
        assert_int_equal(mkdir(path, 0755), 0);
        expect(session, slice, "folder/any", "folder.so: not a file");
        empty_file("sparse.so", SPARSE_BYTES);
        expect(session, slice, "sparse/any", "at most 256 MiB");
        tear(session, slice);
        place(path, "stamp.so"); /* it is one, and what it says would be run */
        snprintf(secret, sizeof secret, "%s/secret.so", top);
        assert_int_equal(symlink(secret, path), 0);
        expect(session, slice, "stamp/number", "link that leads out");
        assert_int_equal(unlink(path), 0);
        if (link(secret, path) == 0) { /* where the system lets anybody do it */
                expect(session, slice, "stamp/number", "may not be read by --executor-user");
                assert_int_equal(unlink(path), 0);
        }
        /* A link within the folder, to a file of its own, is none of that. */
        assert_int_equal(symlink("own.so", path), 0);
        it_ok(compile(session, slice, "stamp/number", IT_ERR));
        pw_close(session);
        (void)pipe;
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, attack_folder, host);

        assert_int_equal(it_reap(&child, 0), 0);
}

static bool prepare(void)
{
        char built[600], path[200];

        snprintf(top, sizeof top, "/tmp/pathways-files-XXXXXX");
        if (geteuid() != 0 || !mkdtemp(top))
                return false;
        snprintf(folder, sizeof folder, "%s/modules", top);
        assert_int_equal(chmod(top, 0711), 0);
        assert_int_equal(mkdir(folder, 0755), 0);
        it_built("tests/integration/modules/.libs/stamped.so", built);
        snprintf(path, sizeof path, "%s/secret.so", top);
        copy_file(built, path, 0600);
        place(path, "own.so");
        copy_file(built, path, 0644);
        return chown(folder, ATTACK_USER, ATTACK_USER) == 0;
}

static void clean(void)
{
        static const char *const files[] = { "modules/fifo.so", "modules/sparse.so", "modules/torn.so", "modules/stamp.so",
                                             "modules/own.so", "secret.so" };
        char path[200];

        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
                snprintf(path, sizeof path, "%s/%s", top, files[i]);
                unlink(path);
        }
        snprintf(path, sizeof path, "%s/folder.so", folder);
        rmdir(path);
        rmdir(folder);
        rmdir(top);
}

int main(void)
{
        const char *const args[] = { "--devices", "emulated:2", "--host-memory", "512MiB", "--device-memory", "4MiB", "--modules",
                                     folder, NULL };
        const struct attack attack = {
                .name = "module_files",
                .rule = "what lies in a folder of modules is read as what it is, with the rights of who will run it, beside the "
                        "loop",
                .args = args,
                .users = true,
                .alone = true,
                .run = run,
        };
        bool ready = prepare();
        int code = ready || geteuid() != 0 ? attack_main(&attack) : 1;

        clean();
        return code;
}

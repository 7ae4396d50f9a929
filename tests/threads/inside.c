/* The thread of the daemon. */
#include "tests/threads/inside.h"

#include "daemon/daemon.h"

#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static void found(void *context, const char *where, const char *problem)
{
        fprintf(stderr, "%s: %s\n", where, problem);
        ((struct inside *)context)->good = false;
}

static bool serve(struct inside *inside, int argc, char **argv)
{
        struct pw_settings settings;
        struct pw_daemon *daemon;
        struct pw_error err;

        if (pw_settings_load(&settings, argc, argv, &err) != PW_OK ||
            pw_daemon_new(&settings, argc, argv, &daemon, &err) != PW_OK) {
                fprintf(stderr, "pathwaysd: %s\n", err.text);
                return false;
        }
        inside->good = true;
        if (inside->prepare)
                inside->prepare(daemon);
        pw_daemon_run(daemon);
        pw_store_check(daemon->store, found, inside);
        pw_scheduler_check(daemon->scheduler, found, inside);
        pw_daemon_free(daemon);
        return true;
}

static void *run(void *context)
{
        struct inside *inside = context;
        const char *build = getenv("PW_BUILD");
        char run_dir[96], state_dir[96], executor[600], modules[600], ready[16];
        char *argv[] = { (char *)"pathwaysd", (char *)"--run-dir", run_dir, (char *)"--state-dir", state_dir,
                         (char *)"--executor", executor,
                         (char *)"--modules", modules, (char *)"--ready-fd", ready, (char *)"--devices", (char *)"emulated:2",
                         (char *)"--host-memory", (char *)"64MiB", (char *)"--device-memory", (char *)"1MiB", (char *)"--log-level",
                         (char *)"warning", NULL };

        snprintf(run_dir, sizeof run_dir, "%s/run", inside->folder);
        snprintf(state_dir, sizeof state_dir, "%s/state", inside->folder);
        snprintf(executor, sizeof executor, "%s/executor/pathways-executor", build ? build : ".");
        snprintf(modules, sizeof modules, "%s/executor/modules/.libs", build ? build : ".");
        snprintf(ready, sizeof ready, "%d", inside->ready_fd);
        if (!serve(inside, (int)(sizeof argv / sizeof *argv) - 1, argv))
                close(inside->ready_fd);
        return NULL;
}

void inside_start(struct inside *inside, void (*prepare)(struct pw_daemon *daemon))
{
        const char *tmp = getenv("TMPDIR");
        int ready[2];
        char byte;

        *inside = (struct inside){ .good = false, .prepare = prepare };
        snprintf(inside->folder, sizeof inside->folder, "%.30s/pathways-test-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp");
        assert_non_null(mkdtemp(inside->folder));
        snprintf(inside->socket, sizeof inside->socket, "%s/run/pathwaysd.sock", inside->folder);
        assert_int_equal(pipe(ready), 0);
        inside->ready_fd = ready[1];
        assert_int_equal(pthread_create(&inside->thread, NULL, run, inside), 0);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
        (void)stat, (void)kind, (void)place;
        return remove(path);
}

void inside_stop(struct inside *inside)
{
        assert_int_equal(pthread_kill(inside->thread, SIGTERM), 0);
        assert_int_equal(pthread_join(inside->thread, NULL), 0);
        nftw(inside->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        assert_true(inside->good);
}

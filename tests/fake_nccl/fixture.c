/* Ranks: processes with a fake driver and a fake NCCL. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_nccl/fixture.h"

#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define WATCHDOG_S 120u

static void link_make(const char *folder, const char *name, char path[96])
{
        const char *build = getenv("PW_BUILD") ? getenv("PW_BUILD") : ".";
        char real[4096];

        snprintf(path, 96, "%s/%s", folder, strrchr(name, '/') + 1);
        snprintf(real, sizeof real, "%s/tests/%s", build, name);
        assert_int_equal(symlink(real, path), 0);
}

static struct scene *scene_new(const char *conf)
{
        struct scene *scene = mmap(NULL, sizeof *scene, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        char path[96];
        FILE *file;

        assert_ptr_not_equal(scene, MAP_FAILED);
        snprintf(scene->folder, sizeof scene->folder, "/tmp/pw-fake-XXXXXX");
        assert_non_null(mkdtemp(scene->folder));
        link_make(scene->folder, "fake_cuda/.libs/" PW_CUDA_LIBRARY, scene->cuda);
        link_make(scene->folder, "fake_nccl/.libs/" PW_NCCL_LIBRARY, scene->nccl);
        snprintf(scene->log, sizeof scene->log, "%s/stderr", scene->folder);
        snprintf(path, sizeof path, "%s/fake_nccl.conf", scene->folder);
        file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file, "# of a test\n%s", conf);
        assert_int_equal(fclose(file), 0);
        return scene;
}

static void scene_free(struct scene *scene)
{
        DIR *folder = opendir(scene->folder);
        struct dirent *entry;

        assert_non_null(folder);
        while ((entry = readdir(folder)))
                unlinkat(dirfd(folder), entry->d_name, 0);
        closedir(folder);
        assert_int_equal(rmdir(scene->folder), 0);
        munmap(scene, sizeof *scene);
}

/* The first makes the ids. */
static void ids_make(struct rank *rank)
{
        struct scene *scene = rank->scene;

        if (!rank->rank) {
                for (uint32_t i = 0; i < IDS; i++)
                        GOOD(rank->nccl->ncclGetUniqueId(&scene->ids[i]));
                scene->has_ids = 1;
        }
        while (!scene->has_ids)
                sched_yield();
}

/* In the child. A failed assertion ends it, and so does a long time. */
static void child(struct rank *rank, void (*body)(struct rank *rank), bool is_logged)
{
        int fd = is_logged ? open(rank->scene->log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600) : STDERR_FILENO;
        struct pw_error err;

        alarm(WATCHDOG_S);
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        if (fd != STDERR_FILENO)
                dup2(fd, STDERR_FILENO);
        if (pw_cuda_driver_open(rank->scene->cuda, &rank->cuda, &err) != PW_OK ||
            pw_nccl_library_open(rank->scene->nccl, &rank->nccl, &err) != PW_OK)
                fail_msg("%s", err.text);
        GOOD(rank->cuda->cuInit(0));
        GOOD(rank->cuda->cuDevicePrimaryCtxRetain(&rank->context, (int)rank->rank));
        GOOD(rank->cuda->cuCtxSetCurrent(rank->context));
        rank->stream = stream_make(rank);
        ids_make(rank);
        body(rank);
        pw_nccl_library_close(rank->nccl);
        pw_cuda_driver_close(rank->cuda);
        exit(0);
}

/* Did it end as it should? */
static bool is_good(const struct scene *scene, uint32_t rank, int status)
{
        return scene->is_killed[rank] ? status == SIGKILL : status == 0;
}

/* How each ended. Where one fails those that may wait for it are killed; `scene` NULL: all are to die by themselves. */
static void ranks_wait(const struct scene *scene, uint32_t count, const pid_t pids[RANKS_MAX], int statuses[RANKS_MAX])
{
        for (uint32_t ended = 0; ended < count; ended++) {
                uint32_t rank = 0;
                int status;
                pid_t pid = waitpid(-1, &status, 0);

                while (rank < count && pids[rank] != pid)
                        rank++;
                assert_true(rank < count);
                statuses[rank] = status;
                for (uint32_t i = 0; scene && !is_good(scene, rank, status) && i < count; i++)
                        if (statuses[i] < 0)
                                kill(pids[i], SIGKILL);
        }
}

static void ranks_run(struct scene *scene, uint32_t count, void (*body)(struct rank *rank), bool is_dying, int statuses[RANKS_MAX])
{
        pid_t pids[RANKS_MAX];

        fflush(NULL);
        for (uint32_t i = 0; i < count; i++) {
                struct rank rank = { .scene = scene, .rank = i, .count = count };

                statuses[i] = -1;
                pids[i] = fork();
                assert_true(pids[i] >= 0);
                if (!pids[i])
                        child(&rank, body, is_dying);
        }
        ranks_wait(is_dying ? NULL : scene, count, pids, statuses);
}

void ranks_try(const char *conf, uint32_t count, void (*body)(struct rank *rank))
{
        struct scene *scene = scene_new(conf);
        int statuses[RANKS_MAX], bad = 0;

        ranks_run(scene, count, body, false, statuses);
        for (uint32_t i = 0; i < count; i++)
                if (!is_good(scene, i, statuses[i]))
                        bad = statuses[i];
        scene_free(scene);
        assert_int_equal(bad, 0);
}

void ranks_die(const char *conf, uint32_t count, void (*body)(struct rank *rank), const char *text)
{
        struct scene *scene = scene_new(conf);
        int statuses[RANKS_MAX];
        char said[4096] = "";
        FILE *file;

        ranks_run(scene, count, body, true, statuses);
        file = fopen(scene->log, "re");
        assert_non_null(file);
        said[fread(said, 1, sizeof said - 1, file)] = 0;
        fclose(file);
        scene_free(scene);
        for (uint32_t i = 0; i < count; i++)
                assert_true(WIFSIGNALED(statuses[i]) && WTERMSIG(statuses[i]) == SIGABRT);
        if (!strstr(said, text))
                fail_msg("it said: %s", said);
}

void rank_kill(struct rank *rank)
{
        rank->scene->is_killed[rank->rank] = 1;
        raise(SIGKILL);
        abort();
}

void mark_set(struct rank *rank, uint32_t number) { rank->scene->marks[number]++; }

void mark_meet(struct rank *rank, uint32_t number, uint32_t count)
{
        while (rank->scene->marks[number] < count)
                sched_yield();
}

struct ncclComm *comm_ask(struct rank *rank, uint32_t id, uint32_t number, uint32_t of)
{
        struct pw_nccl_config config = PW_NCCL_CONFIG_INIT;
        struct ncclComm *comm;

        GIVES(IN_PROGRESS, rank->nccl->ncclCommInitRankConfig(&comm, (int)of, rank->scene->ids[id], (int)number, &config));
        assert_non_null(comm);
        return comm;
}

struct ncclComm *comm_make(struct rank *rank, uint32_t id, uint32_t number, uint32_t of)
{
        struct ncclComm *comm = comm_ask(rank, id, number, of);

        GIVES(SUCCESS, comm_settle(rank, comm));
        return comm;
}

enum pw_nccl_result comm_state(const struct rank *rank, struct ncclComm *comm)
{
        enum pw_nccl_result result = PW_NCCL_SUCCESS;

        GOOD(rank->nccl->ncclCommGetAsyncError(comm, &result));
        return result;
}

enum pw_nccl_result comm_settle(const struct rank *rank, struct ncclComm *comm)
{
        enum pw_nccl_result result;

        while ((result = comm_state(rank, comm)) == PW_NCCL_IN_PROGRESS)
                sched_yield();
        return result;
}

void comm_did(const struct rank *rank, struct ncclComm *comm, enum pw_nccl_result result)
{
        GIVES(IN_PROGRESS, result);
        GIVES(SUCCESS, comm_settle(rank, comm));
}

unsigned long long memory_make(const struct rank *rank, const void *bytes, size_t count)
{
        unsigned long long address;

        GOOD(rank->cuda->cuMemAlloc(&address, count));
        if (bytes)
                GOOD(rank->cuda->cuMemcpyHtoDAsync(address, bytes, count, rank->stream));
        else
                GOOD(rank->cuda->cuMemsetD8Async(address, 0, count, rank->stream));
        GOOD(rank->cuda->cuStreamSynchronize(rank->stream));
        return address;
}

void memory_read(const struct rank *rank, void *to, unsigned long long from, size_t count)
{
        GOOD(rank->cuda->cuMemcpyDtoHAsync(to, from, count, rank->stream));
}

void *memory_at(unsigned long long address) { return (void *)(uintptr_t)address; }

struct CUstream_st *stream_make(const struct rank *rank)
{
        struct CUstream_st *stream;

        GOOD(rank->cuda->cuStreamCreate(&stream, PW_CUDA_STREAM_NON_BLOCKING));
        return stream;
}

uint64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

bool stream_ends(const struct rank *rank, struct CUstream_st *stream, uint64_t limit_us)
{
        uint64_t end_us = now_us() + limit_us;
        enum pw_cuda_result result;

        while ((result = rank->cuda->cuStreamQuery(stream)) == PW_CUDA_NOT_READY && now_us() < end_us)
                sched_yield();
        assert_true(result == PW_CUDA_SUCCESS || result == PW_CUDA_NOT_READY);
        return result == PW_CUDA_SUCCESS;
}

/* How fast kind nccl reduces, beside a loop of NCCL over one stream, of all GPUs up to eight: a line of JSON for each size, from 4
 * bytes to 256 MiB. And whether NCCL registers an arena, and how long a communicator takes from its making to its end. Of one GPU
 * there are no bars: what is reduced has one rank then, which shows that NCCL is loaded, begins without blocking, and ends.
 * Skipped where there is no NCCL. Exit 1: a bar does not hold, or something fails.
 *
 * Each rank is a process. What they tell each other goes by the first one, which has called no driver.
 */
#include "executor/collective/collective.h"
#include "executor/collective/nccl_library.h"
#include "tests/gpu/site.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS_MAX 8u
#define MIB (UINT64_C(1) << 20)
#define ONE 0x3f800000u /* 1.0f */

struct rank {
        const struct gpu_options *options;
        uint32_t rank, count;
        int socket;
        struct gpu_site site;
        const struct pw_collective_kind *kind;
        struct pw_collective *collective;
        struct pw_joint joint;
        struct pw_nccl_library *nccl; /* and what floors are measured with */
        struct ncclComm *comm;
        void *registration;           /* of the arena, there; NULL: none */
};

/* --- what ranks tell each other ----------------------------------------------------------------------------------------------- */

/* All come here, and take what rank 0 brought. */
static void meet(const struct rank *rank, struct pw_channel_id *id)
{
        if (write(rank->socket, id, sizeof *id) != sizeof *id || recv(rank->socket, id, sizeof *id, MSG_WAITALL) != sizeof *id)
                exit(1); /* another one has ended, and said why */
}

static void barrier(const struct rank *rank)
{
        struct pw_channel_id nothing = { { 0 } };

        meet(rank, &nothing);
}

/* Until one has ended. */
static void pass_on(const int *sockets, uint32_t count)
{
        struct pw_channel_id ids[RANKS_MAX];

        for (;;) {
                for (uint32_t i = 0; i < count; i++)
                        if (recv(sockets[i], &ids[i], sizeof ids[i], MSG_WAITALL) != sizeof ids[i])
                                return;
                for (uint32_t i = 0; i < count; i++)
                        if (send(sockets[i], &ids[0], sizeof ids[0], MSG_NOSIGNAL) != sizeof ids[0])
                                return;
        }
}

/* --- by NCCL alone ------------------------------------------------------------------------------------------------------------ */

/* A call is over when its communicator is not in progress any more. */
static void nccl_must(const struct rank *rank, enum pw_nccl_result result, const char *what)
{
        struct pw_error err;

        while (result == PW_NCCL_IN_PROGRESS && rank->comm) {
                if (rank->nccl->ncclCommGetAsyncError(rank->comm, &result) != PW_NCCL_SUCCESS)
                        result = PW_NCCL_INTERNAL_ERROR;
                sched_yield();
        }
        if (result == PW_NCCL_SUCCESS)
                return;
        (void)pw_nccl_error(rank->nccl, result, what, &err);
        fprintf(stderr, "rank %u: %s\n", rank->rank, err.text);
        exit(1);
}

/* What NCCL says of memory as executors have it. Kind nccl goes without where it is refused. */
static void arena_register(struct rank *rank)
{
        static const char question[] = "NCCL registers an arena";
        enum pw_nccl_result result = rank->nccl->ncclCommRegister(rank->comm, rank->site.base, rank->site.bytes + 4096,
                                                                  &rank->registration);
        struct pw_error err;

        if (result != PW_NCCL_SUCCESS) {
                (void)pw_nccl_error(rank->nccl, result, "it does not", &err);
                rank->registration = NULL;
        }
        if (rank->rank)
                return;
        if (result != PW_NCCL_SUCCESS)
                gpu_answer_text(question, err.text);
        else
                gpu_answer_text(question, rank->registration ? "it does" : "it says so, and gives no handle");
}

static void nccl_begin(struct rank *rank)
{
        double since;

        struct pw_nccl_config config = PW_NCCL_CONFIG_INIT;
        struct pw_channel_id words = { { 0 } };
        struct pw_nccl_id id;
        struct pw_error err;

        gpu_ok(pw_nccl_library_open(rank->options->nccl, &rank->nccl, &err), &err);
        if (!rank->rank) {
                nccl_must(rank, rank->nccl->ncclGetUniqueId(&id), "an id");
                memcpy(&words, &id, sizeof id);
        }
        meet(rank, &words);
        memcpy(&id, &words, sizeof id);
        since = gpu_now_s();
        nccl_must(rank, rank->nccl->ncclCommInitRankConfig(&rank->comm, (int)rank->count, id, (int)rank->rank, &config),
                  "a communicator");
        if (!rank->rank)
                gpu_answer("seconds until a communicator is made", gpu_now_s() - since);
        arena_register(rank);
}

static void nccl_end(struct rank *rank)
{
        double since;

        if (rank->registration)
                nccl_must(rank, rank->nccl->ncclCommDeregister(rank->comm, rank->registration), "deregistering an arena");
        since = gpu_now_s();
        (void)rank->nccl->ncclCommAbort(rank->comm);
        if (!rank->rank)
                gpu_answer("seconds until a communicator is aborted", gpu_now_s() - since);
}

static double by_nccl(const struct rank *rank, uint32_t times)
{
        const struct pw_joint *joint = &rank->joint;
        double since;

        barrier(rank);
        since = gpu_now_s();
        for (uint32_t i = 0; i < times; i++)
                nccl_must(rank,
                          rank->nccl->ncclAllReduce(joint->from, joint->to, joint->elements, PW_NCCL_F32, PW_NCCL_SUM, rank->comm,
                                                    rank->site.raw.stream),
                          "an all-reduce");
        gpu_must(&rank->site.raw, rank->site.raw.driver->cuStreamSynchronize(rank->site.raw.stream), "all-reduces");
        return gpu_now_s() - since;
}

/* --- by kind nccl ------------------------------------------------------------------------------------------------------------- */

static void reduce(const struct rank *rank, const struct pw_channel_id *id)
{
        struct pw_error err;
        enum pw_status status = rank->kind->begin(rank->collective, &rank->joint, id, &err);

        while (status == PW_OK && (status = rank->kind->poll(rank->collective, &err)) == PW_NOT_READY)
                status = PW_OK;
        gpu_ok(status, &err);
}

static double by_kind(const struct rank *rank, uint32_t times)
{
        double since;

        barrier(rank);
        since = gpu_now_s();
        for (uint32_t i = 0; i < times; i++)
                reduce(rank, NULL);
        return gpu_now_s() - since;
}

__attribute__((noreturn)) static void lost(void *context, const char *how)
{
        (void)context;
        fprintf(stderr, "the device is lost: %s\n", how);
        exit(1);
}

/* Of one rank it would be none; what it is asked is whether it has an NCCL. */
static bool kind_takes(const struct rank *rank)
{
        struct pw_joint joint = rank->joint;

        joint.rank_count = joint.rank_count > 1 ? joint.rank_count : 2;
        return rank->kind->takes(rank->collective, &joint);
}

static void kind_begin(struct rank *rank)
{
        struct pw_collective_params params = { .channels = 1, .number = rank->rank, .device = rank->site.device,
                                               .memory = rank->site.base, .memory_bytes = rank->site.bytes + 4096, .lost = lost };
        struct pw_channel_id id = { { 0 } };
        struct pw_error err;
        double since;

        snprintf(params.library, sizeof params.library, "%s", rank->options->nccl);
        rank->kind = pw_collective_kind("nccl");
        gpu_ok(rank->kind->open(&params, &rank->collective, &err), &err);
        rank->joint = (struct pw_joint){ .seq = 1, .rank = rank->rank, .rank_count = rank->count, .from = rank->site.base,
                                         .to = rank->site.base + rank->site.bytes / 2, .elements = 1, .dtype = PW_F32,
                                         .op = PW_SUM };
        for (uint32_t i = 0; i < rank->count; i++)
                rank->joint.devices[i] = (uint8_t)i;
        (void)pw_error_set(&err, PW_SYSTEM, "kind nccl takes no part");
        gpu_ok(kind_takes(rank) ? PW_OK : PW_SYSTEM, &err);
        if (!rank->rank)
                gpu_ok(rank->kind->id(rank->collective, &id, &err), &err);
        meet(rank, &id);
        since = gpu_now_s();
        reduce(rank, &id);
        if (!rank->rank)
                gpu_answer("seconds of kind nccl's first reduction", gpu_now_s() - since);
}

static void kind_end(struct rank *rank)
{
        double since = gpu_now_s();

        rank->kind->close(rank->collective);
        if (!rank->rank)
                gpu_answer("seconds of kind nccl's end", gpu_now_s() - since);
}

/* --- sizes -------------------------------------------------------------------------------------------------------------------- */

/* The last element is the sum of the ones of all. */
static void verify(const struct rank *rank)
{
        const struct pw_joint *joint = &rank->joint;
        float sum = 0;
        struct pw_error err;
        const uint8_t *last = (const uint8_t *)joint->to + 4 * (joint->elements - 1);

        gpu_ok(rank->site.memory->copy_out(rank->site.device, &sum, last, sizeof sum, &err), &err);
        if (sum == (float)rank->count)
                return;
        fprintf(stderr, "rank %u: the sum of %u ones is %g\n", rank->rank, rank->count, (double)sum);
        exit(1);
}

static void measure(struct rank *rank, uint64_t bytes)
{
        uint32_t times = rank->options->small ? 5 : bytes < 16 * MIB ? 200 : 20;
        double took = 1e9, floor = 1e9;
        bool is_one = rank->count == 1;
        char name[60];

        rank->joint.elements = bytes / 4;
        for (uint32_t i = 0; i < (rank->options->small ? 1 : GPU_TIMES); i++) {
                double bare = by_nccl(rank, times), ours = by_kind(rank, times);

                floor = bare < floor ? bare : floor;
                took = ours < took ? ours : took;
        }
        verify(rank);
        snprintf(name, sizeof name, "allreduce_nccl_%s%llu", is_one ? "on_one_gpu_" : "", (unsigned long long)bytes);
        if (!rank->rank)
                gpu_say(&rank->site, &(struct gpu_figure){ .name = name, .unit = "us", .value = took * 1e6 / times,
                                                           .floor = floor * 1e6 / times, .bar = is_one ? 0 : 1.1,
                                                           .rule = is_one ? GPU_NO_BAR : GPU_AT_MOST,
                                                           .count = times });
}

static int work(struct rank *rank)
{
        uint64_t most = rank->options->small ? MIB : 256 * MIB;

        gpu_site_open(&rank->site, rank->options, rank->rank, 2 * most);
        gpu_must(&rank->site.raw, rank->site.raw.driver->cuMemsetD32Async((uintptr_t)rank->site.base, ONE, most / 4,
                                                                          rank->site.raw.stream), "filling");
        gpu_must(&rank->site.raw, rank->site.raw.driver->cuStreamSynchronize(rank->site.raw.stream), "filling");
        nccl_begin(rank);
        kind_begin(rank);
        for (uint64_t bytes = 4; bytes <= most; bytes *= bytes == 4 ? 16384 : 16)
                measure(rank, bytes);
        barrier(rank);
        kind_end(rank);
        nccl_end(rank);
        return rank->site.misses ? 1 : 0;
}

/* 0: it is skipped. In a process of its own. */
static uint32_t ranks_count(const struct gpu_options *options)
{
        struct pw_nccl_library *nccl;
        struct pw_error err;
        struct gpu_raw raw;

        if (!gpu_raw_start(&raw, options->driver, &err)) {
                fprintf(stderr, "%s\n", err.text);
                return RANKS_MAX + 1;
        }
        if (pw_nccl_library_open(options->nccl, &nccl, &err) != PW_OK)
                gpu_figure_skipped("allreduce_nccl", err.text);
        else
                return (uint32_t)raw.count < RANKS_MAX ? (uint32_t)raw.count : RANKS_MAX;
        return 0;
}

static int exit_of(pid_t pid)
{
        int status = -1;

        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
        struct gpu_options options = gpu_options_of(argc, argv);
        int sockets[RANKS_MAX], pair[2], counted, failed = 0;
        pid_t pids[RANKS_MAX], pid = fork();

        if (!pid)
                exit((int)ranks_count(&options));
        counted = exit_of(pid);
        if (counted <= 0 || counted > (int)RANKS_MAX)
                return counted ? 1 : 0;
        for (int i = 0; i < counted; i++) {
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
                        return 1;
                sockets[i] = pair[0];
                pids[i] = fork();
                if (!pids[i]) {
                        static struct rank rank;

                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        for (int k = 0; k <= i; k++)
                                close(sockets[k]);
                        rank = (struct rank){ .options = &options, .rank = (uint32_t)i, .count = (uint32_t)counted,
                                              .socket = pair[1] };
                        exit(work(&rank));
                }
                close(pair[1]);
        }
        pass_on(sockets, (uint32_t)counted);
        for (int i = 0; i < counted; i++)
                close(sockets[i]);
        for (int i = 0; i < counted; i++)
                failed |= exit_of(pids[i]);
        return failed ? 1 : 0;
}

/* Communicators: they are made by a thread of their own, and an error of one stays. */
#include "tests/fake_nccl/fake.h"

#include <time.h>
#include <unistd.h>

struct registered { struct pw_list link; };

static struct pw_list all = { &all, &all };
static unsigned comm_count;

void fake_delay(struct ncclComm *comm)
{
        uint64_t mean_us = fake_conf()->delay_us;
        uint64_t us = mean_us ? (uint64_t)rand_r(&comm->random) % (2 * mean_us + 1) : 0;
        struct timespec now;
        uint64_t now_us, until_us = 0;

        for (; us && !comm->is_aborted; fake_nap()) {
                clock_gettime(CLOCK_MONOTONIC, &now);
                now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
                until_us = until_us ? until_us : now_us + us;
                if (now_us >= until_us)
                        return;
        }
}

bool fake_thread_start(void *(*run)(void *argument), void *argument)
{
        pthread_attr_t detached;
        pthread_t thread;
        bool did;

        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        did = !pthread_create(&thread, &detached, run, argument);
        pthread_attr_destroy(&detached);
        return did;
}

void fake_state_set(struct ncclComm *comm, enum pw_nccl_result state)
{
        if (comm->state == PW_NCCL_SUCCESS || comm->state == PW_NCCL_IN_PROGRESS)
                comm->state = state;
        pthread_cond_broadcast(&fake_changed);
}

/* Under fake_lock. */
static void live_check(const struct ncclComm *comm, const char *call)
{
        struct ncclComm *one;

        pw_list_each(&all, one, struct ncclComm, link)
                if (one == comm && !one->is_gone)
                        return;
        fake_abort("%s of a communicator that is gone, or never was", call);
}

enum pw_nccl_result fake_enter_comm(enum fake_call call, struct ncclComm *comm)
{
        enum pw_nccl_result result = fake_enter(call);

        pthread_mutex_lock(&fake_lock);
        live_check(comm, "a call");
        if (!result && comm->state == PW_NCCL_IN_PROGRESS)
                result = fake_error(PW_NCCL_INVALID_ARGUMENT, "the communicator is not done with what it was asked for before");
        else if (!result)
                result = comm->state;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

static void *comm_make(void *argument)
{
        struct ncclComm *comm = argument;
        enum pw_nccl_result result;

        fake_delay(comm);
        comm->meeting = fake_meeting_open(comm->path);
        result = fake_meeting_join(comm);
        while (!result && !fake_meeting_is_whole(comm)) {
                fake_nap();
                if (comm->is_aborted)
                        result = fake_error(PW_NCCL_INTERNAL_ERROR, "aborted before all ranks had joined");
        }
        if (!result && fake_meeting_has_twins(comm))
                result = fake_error(PW_NCCL_INVALID_USAGE, "Duplicate GPU detected");
        pthread_mutex_lock(&fake_lock);
        fake_state_set(comm, result);
        comm->threads--;
        pthread_mutex_unlock(&fake_lock);
        return NULL;
}

static struct ncclComm *comm_new(const struct ncclComm *like)
{
        struct ncclComm *comm = calloc(1, sizeof *comm);

        if (!comm)
                fake_abort("out of memory");
        *comm = *like;
        comm->state = PW_NCCL_IN_PROGRESS;
        comm->threads = 1;
        comm->scratch = malloc(FAKE_CHUNK_BYTES);
        pw_list_init(&comm->registered);
        pthread_mutex_lock(&fake_lock);
        comm->random = ((unsigned)fake_conf()->seed * 1000003u + comm->rank) * 1009u + comm_count++;
        pw_list_append(&all, &comm->link);
        pthread_mutex_unlock(&fake_lock);
        if (!comm->scratch || !fake_thread_start(comm_make, comm))
                fake_abort("no memory, or no thread");
        return comm;
}

/* It is on unless the environment has it off. */
static bool has_nvls(void)
{
        const char *set = getenv("NCCL_NVLS_ENABLE");

        return !set || strcmp(set, "0") != 0;
}

enum pw_nccl_result ncclCommInitRankConfig(struct ncclComm **ret_comm, int rank_count, struct pw_nccl_id id, int rank,
                                           struct pw_nccl_config *config)
{
        struct ncclComm like = { .rank = (uint32_t)rank, .rank_count = (uint32_t)rank_count, .is_blocking = true };
        enum pw_nccl_result result = fake_enter(FAKE_ncclCommInitRankConfig);

        *ret_comm = NULL;
        if (result)
                return result;
        if (rank < 0 || rank >= rank_count || rank_count > (int)FAKE_RANKS_MAX)
                return fake_error(PW_NCCL_INVALID_ARGUMENT, "no such rank");
        if (config && (config->magic != PW_NCCL_CONFIG_MAGIC || config->size != sizeof *config))
                return fake_error(PW_NCCL_INVALID_ARGUMENT, "the config did not begin as PW_NCCL_CONFIG_INIT");
        if (fake_conf()->refuse_nvls && has_nvls())
                return fake_error(PW_NCCL_SYSTEM_ERROR, "the configuration has no NVLS");
        like.device = fake_driver()->fake_cuda_device();
        if (like.device < 0)
                return fake_error(PW_NCCL_UNHANDLED_CUDA_ERROR, "no current context");
        if (fake_conf()->memory && !fake_driver()->fake_cuda_takes(like.device, fake_conf()->memory))
                return fake_error(PW_NCCL_UNHANDLED_CUDA_ERROR, "no memory for a communicator");
        memcpy(like.path, id.bytes, sizeof like.path);
        if (config && !config->blocking)
                like.is_blocking = false;
        *ret_comm = comm_new(&like);
        pthread_mutex_lock(&fake_lock);
        while (like.is_blocking && (*ret_comm)->state == PW_NCCL_IN_PROGRESS)
                pthread_cond_wait(&fake_changed, &fake_lock);
        result = like.is_blocking ? (*ret_comm)->state : PW_NCCL_IN_PROGRESS;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* What the configuration has this call fail with is what it says: it stays. */
enum pw_nccl_result ncclCommGetAsyncError(struct ncclComm *comm, enum pw_nccl_result *ret_result)
{
        enum pw_nccl_result fails = fake_enter(FAKE_ncclCommGetAsyncError);

        pthread_mutex_lock(&fake_lock);
        live_check(comm, "ncclCommGetAsyncError");
        if (fails)
                fake_state_set(comm, fails);
        *ret_result = comm->state == PW_NCCL_SUCCESS && comm->is_finalized && comm->kernels ? PW_NCCL_IN_PROGRESS : comm->state;
        pthread_mutex_unlock(&fake_lock);
        return PW_NCCL_SUCCESS;
}

enum pw_nccl_result ncclCommFinalize(struct ncclComm *comm)
{
        enum pw_nccl_result result = fake_enter_comm(FAKE_ncclCommFinalize, comm);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (comm->is_finalized)
                result = PW_NCCL_INVALID_ARGUMENT;
        comm->is_finalized = true;
        while (comm->is_blocking && comm->kernels)
                pthread_cond_wait(&fake_changed, &fake_lock);
        if (!result && comm->kernels)
                result = PW_NCCL_IN_PROGRESS;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* Behind its threads and kernels. Its memory stays, so that a later call is seen; what it shared goes. */
static void comm_end(struct ncclComm *comm)
{
        struct registered *one;

        pthread_mutex_lock(&fake_lock);
        while (comm->threads || comm->kernels)
                pthread_cond_wait(&fake_changed, &fake_lock);
        comm->is_gone = true;
        fake_meeting_leave(comm);
        free(comm->scratch);
        pw_list_each(&comm->registered, one, struct registered, link)
                free(one);
        pthread_mutex_unlock(&fake_lock);
        if (fake_conf()->memory)
                fake_driver()->fake_cuda_gives(comm->device, fake_conf()->memory);
}

enum pw_nccl_result ncclCommDestroy(struct ncclComm *comm)
{
        enum pw_nccl_result result = fake_enter_comm(FAKE_ncclCommDestroy, comm);

        if (!result)
                comm_end(comm);
        return result;
}

/* Its kernels end when they look; one that has not begun begins first, in its turn. */
enum pw_nccl_result ncclCommAbort(struct ncclComm *comm)
{
        enum pw_nccl_result result = fake_enter(FAKE_ncclCommAbort);

        pthread_mutex_lock(&fake_lock);
        live_check(comm, "ncclCommAbort");
        pthread_mutex_unlock(&fake_lock);
        if (result)
                return result;
        if (fake_conf()->hang_abort < 2)
                comm->is_aborted = true;
        while (fake_conf()->hang_abort)
                pause();
        comm_end(comm);
        return PW_NCCL_SUCCESS;
}

enum pw_nccl_result ncclCommRegister(struct ncclComm *comm, void *memory, size_t bytes, void **ret_handle)
{
        enum pw_nccl_result result = fake_enter_comm(FAKE_ncclCommRegister, comm);
        struct registered *one;

        if (!result && fake_conf()->refuse_register)
                result = fake_error((enum pw_nccl_result)fake_conf()->refuse_register, "the configuration refuses to register");
        if (!result && !fake_driver()->fake_cuda_reaches(comm->device, (uintptr_t)memory, bytes, true))
                result = fake_error(PW_NCCL_INVALID_ARGUMENT, "the device does not reach all of that");
        if (result)
                return result;
        one = calloc(1, sizeof *one);
        if (!one)
                fake_abort("out of memory");
        pthread_mutex_lock(&fake_lock);
        pw_list_append(&comm->registered, &one->link);
        pthread_mutex_unlock(&fake_lock);
        *ret_handle = one;
        return PW_NCCL_SUCCESS;
}

enum pw_nccl_result ncclCommDeregister(struct ncclComm *comm, void *handle)
{
        enum pw_nccl_result result = fake_enter_comm(FAKE_ncclCommDeregister, comm);
        struct registered *one;

        if (result)
                return result;
        result = fake_error(PW_NCCL_INVALID_USAGE, "nothing is registered so");
        pthread_mutex_lock(&fake_lock);
        pw_list_each(&comm->registered, one, struct registered, link) {
                if (one != handle)
                        continue;
                pw_list_remove(&one->link);
                free(one);
                result = PW_NCCL_SUCCESS;
        }
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* What is asked for, and groups of it: a group is over, and its kernels are in their streams, some time after the call that ends
 * it. A call outside a group is a group of its own. */
#include "tests/fake_nccl/fake.h"

struct launch { struct pw_list kernels; };

/* The group that this thread is in. */
static FAKE_OF_THREAD uint32_t depth;
static FAKE_OF_THREAD struct pw_list group; /* of struct fake_part */
static FAKE_OF_THREAD enum pw_nccl_result group_error;

static void launch_do(struct launch *launch)
{
        struct fake_kernel *kernel;

        pw_list_each(&launch->kernels, kernel, struct fake_kernel, link) {
                struct ncclComm *comm = kernel->comm;

                pw_list_remove(&kernel->link);
                fake_kernel_submit(kernel);
                pthread_mutex_lock(&fake_lock);
                comm->threads--;
                fake_state_set(comm, PW_NCCL_SUCCESS);
                pthread_mutex_unlock(&fake_lock);
        }
        free(launch);
}

static void *launch_late(void *argument)
{
        struct launch *launch = argument;

        fake_delay(pw_list_first(&launch->kernels, struct fake_kernel, link)->comm);
        launch_do(launch);
        return NULL;
}

static struct fake_kernel *kernel_of(struct launch *launch, const struct fake_part *part)
{
        struct fake_kernel *kernel;

        pw_list_each(&launch->kernels, kernel, struct fake_kernel, link) {
                if (kernel->comm != part->comm)
                        continue;
                if (kernel->stream != part->stream)
                        fake_abort("a group that uses two streams for one communicator is left out");
                return kernel;
        }
        kernel = calloc(1, sizeof *kernel);
        if (!kernel)
                fake_abort("out of memory");
        kernel->comm = part->comm;
        kernel->stream = part->stream;
        pw_list_init(&kernel->parts);
        pw_list_append(&launch->kernels, &kernel->link);
        return kernel;
}

/* Takes the parts. */
static enum pw_nccl_result launch_start(struct pw_list *parts)
{
        struct launch *launch = calloc(1, sizeof *launch);
        struct fake_kernel *kernel;
        struct fake_part *part;
        bool is_late = false;

        if (!launch)
                fake_abort("out of memory");
        pw_list_init(&launch->kernels);
        pw_list_each(parts, part, struct fake_part, link) {
                pw_list_remove(&part->link);
                pw_list_append(&kernel_of(launch, part)->parts, &part->link);
        }
        pthread_mutex_lock(&fake_lock);
        pw_list_each(&launch->kernels, kernel, struct fake_kernel, link) {
                fake_state_set(kernel->comm, PW_NCCL_IN_PROGRESS);
                kernel->comm->threads++;
                is_late = is_late || !kernel->comm->is_blocking;
        }
        pthread_mutex_unlock(&fake_lock);
        if (!is_late || !fake_conf()->delay_us || pw_list_empty(&launch->kernels)) {
                launch_do(launch);
                return PW_NCCL_SUCCESS;
        }
        if (!fake_thread_start(launch_late, launch))
                fake_abort("no thread");
        return PW_NCCL_IN_PROGRESS;
}

enum pw_nccl_result ncclGroupStart(void)
{
        enum pw_nccl_result result = fake_enter(FAKE_ncclGroupStart);

        if (result)
                return result;
        if (!depth++) {
                pw_list_init(&group);
                group_error = PW_NCCL_SUCCESS;
        }
        return PW_NCCL_SUCCESS;
}

/* Where a call in it failed, nothing of it is done. */
enum pw_nccl_result ncclGroupEnd(void)
{
        enum pw_nccl_result result = fake_enter(FAKE_ncclGroupEnd);
        struct fake_part *part;

        if (!depth)
                return fake_error(PW_NCCL_INVALID_USAGE, "ncclGroupEnd without ncclGroupStart");
        if (result && !group_error)
                group_error = result;
        if (--depth)
                return PW_NCCL_SUCCESS;
        if (!group_error)
                return launch_start(&group);
        pw_list_each(&group, part, struct fake_part, link)
                free(part);
        return group_error;
}

static enum pw_nccl_result part_check(const struct fake_part *part)
{
        const struct ncclComm *comm = part->comm;

        if (!fake_dtype_bytes(part->dtype) || (unsigned)part->op > PW_NCCL_MIN)
                return fake_error(PW_NCCL_INVALID_ARGUMENT, "no such dtype or op");
        if (part->root < 0 || (uint32_t)part->root >= comm->rank_count)
                return fake_error(PW_NCCL_INVALID_ARGUMENT, "no such rank");
        if (comm->is_finalized)
                return fake_error(PW_NCCL_INVALID_ARGUMENT, "the communicator is finalized");
        if (fake_driver()->fake_cuda_stream_device(part->stream) != comm->device)
                return fake_error(PW_NCCL_UNHANDLED_CUDA_ERROR, "no stream of the communicator's device");
        return PW_NCCL_SUCCESS;
}

static enum pw_nccl_result ask(enum fake_call call, const struct fake_part *like)
{
        enum pw_nccl_result result = fake_enter_comm(call, like->comm);
        struct pw_list alone;
        struct fake_part *part;

        if (!result)
                result = part_check(like);
        if (result && depth && !group_error)
                group_error = result;
        if (result || !like->count)
                return result;
        part = malloc(sizeof *part);
        if (!part)
                fake_abort("out of memory");
        *part = *like;
        if (depth) {
                pw_list_append(&group, &part->link);
                return PW_NCCL_SUCCESS;
        }
        pw_list_init(&alone);
        pw_list_append(&alone, &part->link);
        return launch_start(&alone);
}

enum pw_nccl_result ncclAllReduce(const void *from, void *to, size_t count, enum pw_nccl_dtype dtype, enum pw_nccl_op op,
                                  struct ncclComm *comm, struct CUstream_st *stream)
{
        const struct fake_part part = { .kind = FAKE_ALL_REDUCE, .from = (uintptr_t)from, .to = (uintptr_t)to, .count = count,
                                        .dtype = dtype, .op = op, .comm = comm, .stream = stream };

        return ask(FAKE_ncclAllReduce, &part);
}

enum pw_nccl_result ncclReduceScatter(const void *from, void *to, size_t to_count, enum pw_nccl_dtype dtype, enum pw_nccl_op op,
                                      struct ncclComm *comm, struct CUstream_st *stream)
{
        const struct fake_part part = { .kind = FAKE_REDUCE_SCATTER, .from = (uintptr_t)from, .to = (uintptr_t)to,
                                        .count = to_count, .dtype = dtype, .op = op, .comm = comm, .stream = stream };

        return ask(FAKE_ncclReduceScatter, &part);
}

enum pw_nccl_result ncclAllGather(const void *from, void *to, size_t from_count, enum pw_nccl_dtype dtype, struct ncclComm *comm,
                                  struct CUstream_st *stream)
{
        const struct fake_part part = { .kind = FAKE_ALL_GATHER, .from = (uintptr_t)from, .to = (uintptr_t)to, .count = from_count,
                                        .dtype = dtype, .comm = comm, .stream = stream };

        return ask(FAKE_ncclAllGather, &part);
}

enum pw_nccl_result ncclBroadcast(const void *from, void *to, size_t count, enum pw_nccl_dtype dtype, int root,
                                  struct ncclComm *comm, struct CUstream_st *stream)
{
        const struct fake_part part = { .kind = FAKE_BROADCAST, .from = (uintptr_t)from, .to = (uintptr_t)to, .count = count,
                                        .dtype = dtype, .root = root, .comm = comm, .stream = stream };

        return ask(FAKE_ncclBroadcast, &part);
}

enum pw_nccl_result ncclSend(const void *from, size_t count, enum pw_nccl_dtype dtype, int peer, struct ncclComm *comm,
                             struct CUstream_st *stream)
{
        const struct fake_part part = { .kind = FAKE_SEND, .from = (uintptr_t)from, .count = count, .dtype = dtype, .root = peer,
                                        .comm = comm, .stream = stream };

        return ask(FAKE_ncclSend, &part);
}

enum pw_nccl_result ncclRecv(void *to, size_t count, enum pw_nccl_dtype dtype, int peer, struct ncclComm *comm,
                             struct CUstream_st *stream)
{
        const struct fake_part part = { .kind = FAKE_RECV, .to = (uintptr_t)to, .count = count, .dtype = dtype, .root = peer,
                                        .comm = comm, .stream = stream };

        return ask(FAKE_ncclRecv, &part);
}

/* Kernels: one has its device for itself, among those of NCCL in this process, from when it begins until it is over. A kernel
 * begins in its turn of its stream, after those of its communicator that were submitted before, and when the device is free. So
 * where two communicators share devices and each rank begins with another one, nobody goes on. */
#include "tests/fake_nccl/fake.h"

static _Atomic(const struct fake_kernel *) devices[FAKE_DEVICES_MAX];

bool fake_is_left(const struct fake_kernel *kernel)
{
        return kernel->comm->is_aborted || !fake_driver()->fake_cuda_goes_on(kernel->stream);
}

/* Also of a communicator that is aborted: what has not begun cannot look. False: nobody is there to run for. */
static bool device_take(const struct fake_kernel *kernel)
{
        struct ncclComm *comm = kernel->comm;
        const struct fake_kernel *none = NULL;

        while (atomic_load(&comm->begun) != kernel->number ||
               !atomic_compare_exchange_strong(&devices[comm->device], &none, kernel)) {
                none = NULL;
                if (!fake_driver()->fake_cuda_goes_on(kernel->stream))
                        return false;
                fake_nap();
        }
        atomic_fetch_add(&comm->begun, 1);
        return true;
}

/* Collectives one after the other, then all that is sent and received, at once. */
static enum pw_cuda_result parts_run(const struct fake_kernel *kernel, bool *is_left)
{
        enum pw_cuda_result result = PW_CUDA_SUCCESS;
        struct fake_part *part;

        pw_list_each(&kernel->parts, part, struct fake_part, link)
                if (!result && !*is_left && part->kind != FAKE_SEND && part->kind != FAKE_RECV)
                        result = fake_collective_run(kernel, part, is_left);
        return result || *is_left ? result : fake_pairs_run(kernel, is_left);
}

static enum pw_cuda_result kernel_run(void *argument)
{
        const struct fake_kernel *kernel = argument;
        struct ncclComm *comm = kernel->comm;
        enum pw_cuda_result result = PW_CUDA_SUCCESS;
        bool is_left;

        if (!device_take(kernel))
                return PW_CUDA_SUCCESS;
        /* Of one that is aborted the others see nothing more. */
        is_left = fake_is_left(kernel);
        if (!is_left)
                result = parts_run(kernel, &is_left);
        atomic_store(&devices[comm->device], NULL);
        pthread_mutex_lock(&fake_lock);
        if (is_left && comm->is_aborted)
                fake_state_set(comm, fake_error(PW_NCCL_INTERNAL_ERROR, "a kernel was ended by ncclCommAbort"));
        pthread_mutex_unlock(&fake_lock);
        return result;
}

void fake_kernel_free(struct fake_kernel *kernel)
{
        struct fake_part *part;

        pw_list_each(&kernel->parts, part, struct fake_part, link)
                free(part);
        free(kernel);
}

static void kernel_drop(void *argument)
{
        struct fake_kernel *kernel = argument;

        pthread_mutex_lock(&fake_lock);
        kernel->comm->kernels--;
        pthread_cond_broadcast(&fake_changed);
        pthread_mutex_unlock(&fake_lock);
        fake_kernel_free(kernel);
}

void fake_kernel_submit(struct fake_kernel *kernel)
{
        const struct fake_enqueued work = { .run = kernel_run, .drop = kernel_drop, .argument = kernel };
        struct ncclComm *comm = kernel->comm;

        pthread_mutex_lock(&fake_lock);
        kernel->number = comm->submitted++;
        comm->kernels++;
        pthread_mutex_unlock(&fake_lock);
        if (!comm->is_aborted && !fake_driver()->fake_cuda_enqueue(kernel->stream, &work))
                return;
        pthread_mutex_lock(&fake_lock);
        comm->kernels--;
        fake_state_set(comm, fake_error(comm->is_aborted ? PW_NCCL_INTERNAL_ERROR : PW_NCCL_UNHANDLED_CUDA_ERROR,
                                        "a kernel could not be launched"));
        pthread_mutex_unlock(&fake_lock);
        fake_kernel_free(kernel);
}

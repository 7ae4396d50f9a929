/* All-reduces of GPUs by NCCL; the rest is assembled as in kind host.
 *
 * A channel is a communicator. Rank 0 makes its id, and each member's NCCL finds the others by it. No call waits for other members:
 * a communicator that is being made, or whose first collective connects it, is in progress until poll() finds that it is not. The
 * launching thread alone calls NCCL, but for the deadline, which ends the process.
 *
 * NCCL sums in another order than kind host, the same at each run, and where one of the numbers is a NaN its largest may be another
 * one. */
#include "executor/collective/kinds.h"

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "executor/collective/deadline.h"
#include "executor/collective/nccl_library.h"
#include "executor/device/cuda_private.h"

#include <stdlib.h>
#include <time.h>

#define ABORT_SECONDS 1u  /* members wait for it: a fault is to be over */
#define CLOSE_SECONDS 10u /* nobody does: connections that are whole are torn down, which takes hardware a second */
#define FAILURES_MAX 3u

struct channel {
        struct pw_list link;
        uint64_t seq;
        uint32_t rank_count;
        uint8_t devices[PW_DEVICES_MAX];
        struct ncclComm *comm; /* NULL: it was not even begun */
        bool asked;            /* for the device's memory to be registered; */
        void *registration;    /* NULL: it is not */
};

struct pw_collective {
        struct pw_collective_params params;
        struct pw_nccl_library *library;
        bool asked;               /* for the library: if there is none it was said */
        bool plain;               /* it registers no memory: that was refused once, and said */
        uint32_t failures;        /* of making communicators, in a row */
        struct pw_list channels;  /* the one that was used last is the last */
        uint32_t channel_count;
        struct channel *current;  /* of the joint that was begun; NULL: none was */
        struct pw_joint joint;
        bool launched;            /* it is in the stream, or will be when the communicator is not in progress any more */
};

/* --- what NCCL has ------------------------------------------------------------------------------------------------------------ */

/* -1: none */
static int dtype_of(enum pw_dtype dtype)
{
        static const int dtypes[] = {
                [PW_I8] = 1 + PW_NCCL_I8,   [PW_U8] = 1 + PW_NCCL_U8,   [PW_I32] = 1 + PW_NCCL_I32,   [PW_U32] = 1 + PW_NCCL_U32,
                [PW_I64] = 1 + PW_NCCL_I64, [PW_U64] = 1 + PW_NCCL_U64, [PW_F16] = 1 + PW_NCCL_F16,   [PW_F32] = 1 + PW_NCCL_F32,
                [PW_F64] = 1 + PW_NCCL_F64, [PW_BF16] = 1 + PW_NCCL_BF16,
        };

        return (unsigned)dtype < pw_array_count(dtypes) ? dtypes[dtype] - 1 : -1;
}

static int op_of(enum pw_op op)
{
        switch (op) {
        case PW_SUM: return PW_NCCL_SUM;
        case PW_PROD: return PW_NCCL_PROD;
        case PW_MAX: return PW_NCCL_MAX;
        case PW_MIN: return PW_NCCL_MIN;
        default: return -1;
        }
}

/* When it is first of use: NCCL is large, and has threads. */
static bool library_find(struct pw_collective *collective)
{
        struct pw_error err;

        if (!collective->asked && pw_nccl_library_open(collective->params.library, &collective->library, &err) != PW_OK)
                pw_log(collective->params.log, PW_LOG_WARNING, "no NCCL, GPUs read each other's memory text=\"%s\"", err.text);
        collective->asked = true;
        return collective->library != NULL;
}

static bool nccl_is_off(struct pw_collective *collective)
{
        return collective->params.off || (collective->asked && !collective->library) || collective->failures >= FAILURES_MAX;
}

/* A GPU takes part once. */
static uint32_t nccl_takes(struct pw_collective *collective, const struct pw_joint *joint)
{
        bool takes = joint->rank_count > 1 && joint->elements && dtype_of(joint->dtype) >= 0 && op_of(joint->op) >= 0 &&
               pw_dtype_reduces(joint->dtype, joint->op) && !nccl_is_off(collective) && library_find(collective);

        return takes ? 1 + (uint32_t)collective->params.device->params.ordinal : 0;
}

/* --- channels ----------------------------------------------------------------------------------------------------------------- */

static struct channel *channel_find(struct pw_collective *collective, const struct pw_joint *joint)
{
        struct channel *one;

        pw_list_each(&collective->channels, one, struct channel, link)
                if (one->rank_count == joint->rank_count && !memcmp(one->devices, joint->devices, sizeof one->devices))
                        return one;
        return NULL;
}

static void channel_free(struct pw_collective *collective, struct channel *channel)
{
        pw_list_remove(&channel->link);
        collective->channel_count--;
        free(channel);
}

static void nap(void)
{
        const struct timespec time = { .tv_nsec = 50000 };

        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Until what was launched is no more: of an aborted communicator kernels end by themselves. */
static void drain(const struct pw_exec_device *device)
{
        while (device->driver->cuStreamQuery(device->launches) == PW_CUDA_NOT_READY)
                nap();
}

/* Without it the bytes of a joint go by memory of NCCL's own. */
static void memory_register(struct pw_collective *collective, struct channel *channel)
{
        const struct pw_collective_params *params = &collective->params;
        enum pw_nccl_result result;
        struct pw_error err;

        if (collective->plain || channel->asked || !params->memory)
                return;
        channel->asked = true;
        result = collective->library->ncclCommRegister(channel->comm, params->memory, params->memory_bytes, &channel->registration);
        if (result == PW_NCCL_SUCCESS)
                return;
        (void)pw_nccl_error(collective->library, result, "registering memory", &err);
        pw_log(params->log, PW_LOG_WARNING, "NCCL goes without registered memory text=\"%s\"", err.text);
        channel->registration = NULL;
        collective->plain = true;
}

static void memory_deregister(struct pw_collective *collective, struct channel *channel)
{
        if (channel->registration)
                (void)collective->library->ncclCommDeregister(channel->comm, channel->registration);
        channel->registration = NULL;
}

static void abort_within(struct pw_collective *collective, struct channel *channel, struct pw_deadline *deadline)
{
        deadline->missed = collective->params.lost;
        deadline->context = collective->params.context;
        if (channel->comm) {
                pw_deadline_begin(deadline);
                (void)collective->library->ncclCommAbort(channel->comm);
                drain(collective->params.device);
                pw_deadline_met(deadline);
        }
        channel_free(collective, channel);
}

/* Its joint came to nothing. */
static void channel_abort(struct pw_collective *collective, struct channel *channel)
{
        struct pw_deadline deadline = { .seconds = ABORT_SECONDS, .what = "an abort of NCCL did not come back within a second" };

        abort_within(collective, channel, &deadline);
}

/* Nothing of it is under way, and others have left it, or will. */
static void channel_leave(struct pw_collective *collective, struct channel *channel)
{
        struct pw_deadline deadline = { .seconds = CLOSE_SECONDS, .what = "NCCL did not end a communicator within 10 seconds" };

        abort_within(collective, channel, &deadline);
}

/* Nothing of it is under way. */
static void channel_close(struct pw_collective *collective, struct channel *channel)
{
        struct pw_deadline deadline = { .seconds = CLOSE_SECONDS, .what = "NCCL did not close a communicator within 10 seconds",
                                        .missed = collective->params.lost, .context = collective->params.context };
        const struct pw_nccl_library *library = collective->library;
        enum pw_nccl_result state;

        pw_deadline_begin(&deadline);
        memory_deregister(collective, channel);
        state = library->ncclCommFinalize(channel->comm);
        while (state == PW_NCCL_IN_PROGRESS) {
                enum pw_nccl_result result = library->ncclCommGetAsyncError(channel->comm, &state);
                if (result != PW_NCCL_SUCCESS)
                        state = result;
                else if (state == PW_NCCL_IN_PROGRESS)
                        nap();
        }
        if (state == PW_NCCL_SUCCESS)
                (void)library->ncclCommDestroy(channel->comm);
        else
                (void)library->ncclCommAbort(channel->comm);
        pw_deadline_met(&deadline);
        channel_free(collective, channel);
}

static uint64_t nccl_channel(struct pw_collective *collective, const struct pw_joint *joint)
{
        const struct channel *channel = channel_find(collective, joint);

        return channel ? channel->seq : 0;
}

static enum pw_status nccl_id(struct pw_collective *collective, struct pw_channel_id *ret_id, struct pw_error *ret_err)
{
        struct pw_nccl_id id;
        enum pw_nccl_result result = collective->library->ncclGetUniqueId(&id);

        _Static_assert(sizeof id == sizeof *ret_id, "an id of NCCL is one of a channel");
        if (result != PW_NCCL_SUCCESS)
                return pw_nccl_error(collective->library, result, "an id for a communicator", ret_err);
        memcpy(ret_id, &id, sizeof id);
        return PW_OK;
}

/* Others have no use for the one that was there. */
static void make_room(struct pw_collective *collective, const struct pw_joint *joint)
{
        struct channel *old = channel_find(collective, joint);

        if (old)
                channel_leave(collective, old);
        while (collective->channel_count >= collective->params.channels)
                channel_close(collective, pw_list_first(&collective->channels, struct channel, link));
}

/* One may be for another member's end. Where none is ever made, NCCL is of no use on this host. */
static enum pw_status making_failed(struct pw_collective *collective, enum pw_nccl_result result, struct pw_error *ret_err)
{
        enum pw_status status = pw_nccl_error(collective->library, result, "making a communicator", ret_err);

        if (++collective->failures == FAILURES_MAX)
                pw_log(collective->params.log, PW_LOG_WARNING,
                       "no communicator, GPUs read each other's memory from now on text=\"%s\"", ret_err->text);
        return status;
}

static enum pw_status channel_make(struct pw_collective *collective, const struct pw_channel_id *from, struct pw_error *ret_err)
{
        struct pw_nccl_config config = PW_NCCL_CONFIG_INIT;
        const struct pw_joint *joint = &collective->joint;
        struct channel *channel;
        enum pw_nccl_result result;
        struct pw_nccl_id id;

        make_room(collective, joint);
        channel = calloc(1, sizeof *channel);
        if (!channel)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a communicator");
        channel->seq = joint->seq;
        channel->rank_count = joint->rank_count;
        memcpy(channel->devices, joint->devices, sizeof channel->devices);
        pw_list_append(&collective->channels, &channel->link);
        collective->channel_count++;
        collective->current = channel;
        memcpy(&id, from, sizeof id);
        result = collective->library->ncclCommInitRankConfig(&channel->comm, (int)joint->rank_count, id, (int)joint->rank, &config);
        if (result != PW_NCCL_SUCCESS && result != PW_NCCL_IN_PROGRESS)
                return making_failed(collective, result, ret_err);
        return PW_OK;
}

/* --- a joint ------------------------------------------------------------------------------------------------------------------ */

static enum pw_status nccl_begin(struct pw_collective *collective, const struct pw_joint *joint, const struct pw_channel_id *id,
                                 struct pw_error *ret_err)
{
        collective->joint = *joint;
        collective->launched = false;
        if (id)
                return channel_make(collective, id, ret_err);
        collective->current = channel_find(collective, joint);
        if (!collective->current)
                return pw_error_set(ret_err, PW_SYSTEM, "there is no communicator of these devices");
        pw_list_remove(&collective->current->link);
        pw_list_append(&collective->channels, &collective->current->link);
        return PW_OK;
}

static enum pw_status all_reduce(struct pw_collective *collective, struct pw_error *ret_err)
{
        const struct pw_joint *joint = &collective->joint;
        enum pw_nccl_dtype dtype = (enum pw_nccl_dtype)dtype_of(joint->dtype);
        enum pw_nccl_op op = (enum pw_nccl_op)op_of(joint->op);
        enum pw_nccl_result result;

        pw_cuda_finish(collective->params.device);
        result = collective->library->ncclAllReduce(joint->from, joint->to, joint->elements, dtype, op, collective->current->comm,
                                                    collective->params.device->launches);
        collective->launched = true;
        if (result != PW_NCCL_SUCCESS && result != PW_NCCL_IN_PROGRESS)
                return pw_nccl_error(collective->library, result, "an all-reduce", ret_err);
        return pw_error_set(ret_err, PW_NOT_READY, "an all-reduce is under way");
}

static enum pw_status nccl_poll(struct pw_collective *collective, struct pw_error *ret_err)
{
        struct pw_exec_device *device = collective->params.device;
        enum pw_nccl_result state = PW_NCCL_SUCCESS;
        enum pw_nccl_result result = collective->library->ncclCommGetAsyncError(collective->current->comm, &state);
        enum pw_cuda_result query;

        if (result == PW_NCCL_SUCCESS && state != PW_NCCL_IN_PROGRESS)
                result = state;
        if (result != PW_NCCL_SUCCESS)
                return collective->launched ? pw_nccl_error(collective->library, result, "an all-reduce", ret_err)
                                            : making_failed(collective, result, ret_err);
        if (state == PW_NCCL_IN_PROGRESS)
                return pw_error_set(ret_err, PW_NOT_READY, "NCCL is not done with it");
        if (!collective->launched) {
                collective->failures = 0;
                memory_register(collective, collective->current);
                return all_reduce(collective, ret_err);
        }
        query = device->driver->cuStreamQuery(device->launches);
        if (query == PW_CUDA_NOT_READY)
                return pw_error_set(ret_err, PW_NOT_READY, "an all-reduce is under way");
        if (query == PW_CUDA_SUCCESS)
                collective->current = NULL;
        return pw_cuda_check(device, query, "an all-reduce", ret_err);
}

static bool nccl_has_launched(const struct pw_collective *collective) { return collective->launched; }

static void nccl_abort(struct pw_collective *collective)
{
        if (collective->current)
                channel_abort(collective, collective->current);
        collective->current = NULL;
}

/* --- its life ----------------------------------------------------------------------------------------------------------------- */

static enum pw_status nccl_open(const struct pw_collective_params *params, struct pw_collective **ret_collective,
                                struct pw_error *ret_err)
{
        struct pw_collective *collective = calloc(1, sizeof *collective);

        if (!collective)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for collectives");
        collective->params = *params;
        collective->params.channels = pw_max_u64(params->channels, 1);
        collective->failures = params->failures;
        if (params->failures >= FAILURES_MAX)
                pw_log(params->log, PW_LOG_WARNING,
                       "no communicator, GPUs read each other's memory from now on text=\"%u processes ended as they made one\"",
                       (unsigned)params->failures);
        pw_list_init(&collective->channels);
        if (!params->nvls)
                setenv("NCCL_NVLS_ENABLE", "0", 1);
        *ret_collective = collective;
        return PW_OK;
}

static void nccl_close(struct pw_collective *collective)
{
        if (!collective)
                return;
        while (collective->channel_count)
                channel_leave(collective, pw_list_first(&collective->channels, struct channel, link));
        pw_nccl_library_close(collective->library);
        free(collective);
}

const struct pw_collective_kind pw_collective_nccl = {
        .name = "nccl",
        .open = nccl_open,
        .close = nccl_close,
        .is_off = nccl_is_off,
        .takes = nccl_takes,
        .channel = nccl_channel,
        .id = nccl_id,
        .begin = nccl_begin,
        .poll = nccl_poll,
        .has_launched = nccl_has_launched,
        .abort = nccl_abort,
        .assemble = pw_collective_assemble,
};

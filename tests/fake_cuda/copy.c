/* Work that moves or sets bytes. What it may touch is looked at when it is asked for, and again when it is done: so memory that
 * went in between is an error that sticks. */
#include "tests/fake_cuda/fake.h"

enum copy_kind { TO_DEVICE, TO_HOST, ON_DEVICE, SET_8, SET_32, WRITE_64 };

struct copy {
        struct fake_work work;
        enum copy_kind kind;
        uint64_t to, from, bytes, value; /* addresses, of either side */
        bool is_pinned;                  /* the host's side is, from end to end */
};

static bool is_on_device(const struct copy *copy, bool is_source)
{
        return is_source ? copy->kind == ON_DEVICE || copy->kind == TO_HOST : copy->kind != TO_HOST;
}

/* The real bytes; NULL where the device may not touch them. */
static void *side_at(const struct copy *copy, const struct CUctx_st *context, bool is_source)
{
        uint64_t address = is_source ? copy->from : copy->to;

        if (is_on_device(copy, is_source))
                return fake_at(context, address, copy->bytes, !is_source);
        return copy->is_pinned ? fake_at(context, address, copy->bytes, !is_source) : (void *)(uintptr_t)address;
}

static void copy_do(const struct copy *copy, void *to, const void *from)
{
        uint32_t value = (uint32_t)copy->value;

        switch (copy->kind) {
        case TO_DEVICE:
        case TO_HOST:
        case ON_DEVICE:
                memmove(to, from, copy->bytes);
                break;
        case SET_8:
                memset(to, (int)copy->value, copy->bytes);
                break;
        case SET_32:
                for (uint64_t i = 0; i < copy->bytes / sizeof value; i++)
                        ((uint32_t *)to)[i] = value;
                break;
        case WRITE_64:
                __atomic_store_n((uint64_t *)to, copy->value, __ATOMIC_SEQ_CST);
                break;
        }
}

static enum pw_cuda_result copy_run(struct fake_work *work, struct CUctx_st *context)
{
        const struct copy *copy = pw_container_of(work, struct copy, work);
        bool has_source = copy->kind <= ON_DEVICE;
        void *to, *from;

        pthread_rwlock_rdlock(&fake_maps);
        to = side_at(copy, context, false);
        from = has_source ? side_at(copy, context, true) : NULL;
        if (to && (from || !has_source))
                copy_do(copy, to, from);
        if (to && from && copy->kind == TO_DEVICE && copy->is_pinned)
                fake_host_read(copy->from, to, copy->bytes);
        pthread_rwlock_unlock(&fake_maps);
        return to && (from || !has_source) ? PW_CUDA_SUCCESS : PW_CUDA_ILLEGAL_ADDRESS;
}

static void copy_drop(struct fake_work *work) { free(pw_container_of(work, struct copy, work)); }

/* 1: pinned, so nobody waits; 0: the caller does; -1: cannot be copied. */
static int host_check(const struct copy *copy)
{
        uint64_t address = copy->kind == TO_DEVICE ? copy->from : copy->to;
        int pinned;

        pthread_mutex_lock(&fake_lock);
        pinned = fake_host_pinned((const void *)(uintptr_t)address, copy->bytes);
        if (fake_window_has(address, 1) || (pinned == 1 && !fake_host_at(address, copy->bytes, copy->kind == TO_HOST)))
                pinned = -1;
        pthread_mutex_unlock(&fake_lock);
        return pinned;
}

static enum pw_cuda_result copy_submit(const struct copy *like, struct CUctx_st *context, struct CUstream_st *stream, bool waits)
{
        struct copy *copy = malloc(sizeof *copy);
        struct fake_point *point = NULL;
        enum pw_cuda_result result = PW_CUDA_SUCCESS;

        if (!copy)
                return PW_CUDA_OUT_OF_MEMORY;
        *copy = *like;
        copy->work = (struct fake_work){ .run = copy_run, .drop = copy_drop };
        copy->is_pinned = !waits && (copy->kind == TO_DEVICE || copy->kind == TO_HOST);
        pthread_mutex_lock(&fake_lock);
        fake_submit(stream, &copy->work);
        if (waits)
                result = fake_point_submit(stream, &point);
        if (point)
                result = fake_point_wait(point, context);
        fake_point_unref(point);
        pthread_mutex_unlock(&fake_lock);
        return result;
}

static enum pw_cuda_result copy_ask(enum fake_call call, const char *name, const struct copy *copy, struct CUstream_st *stream)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(call, &context);
        int pinned;

        if (!result)
                result = fake_stream_check(stream, name);
        if (!result && fake_stream_context(stream) != context)
                result = PW_CUDA_INVALID_HANDLE;
        if (result || !copy->bytes)
                return result;
        pinned = copy->kind == TO_DEVICE || copy->kind == TO_HOST ? host_check(copy) : 1;
        if (pinned < 0 || !side_at(copy, context, false) || (copy->kind <= ON_DEVICE && !side_at(copy, context, true)))
                return PW_CUDA_INVALID_VALUE;
        return copy_submit(copy, context, stream, pinned == 0);
}

enum pw_cuda_result cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, struct CUstream_st *stream)
{
        const struct copy copy = { .kind = TO_DEVICE, .to = to, .from = (uintptr_t)from, .bytes = bytes };

        return copy_ask(FAKE_cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync", &copy, stream);
}

enum pw_cuda_result cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, struct CUstream_st *stream)
{
        const struct copy copy = { .kind = TO_HOST, .to = (uintptr_t)to, .from = from, .bytes = bytes };

        return copy_ask(FAKE_cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync", &copy, stream);
}

enum pw_cuda_result cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, struct CUstream_st *stream)
{
        const struct copy copy = { .kind = ON_DEVICE, .to = to, .from = from, .bytes = bytes };

        return copy_ask(FAKE_cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync", &copy, stream);
}

enum pw_cuda_result cuMemsetD8Async(unsigned long long to, unsigned char value, size_t count, struct CUstream_st *stream)
{
        const struct copy copy = { .kind = SET_8, .to = to, .bytes = count, .value = value };

        return copy_ask(FAKE_cuMemsetD8Async, "cuMemsetD8Async", &copy, stream);
}

enum pw_cuda_result cuMemsetD32Async(unsigned long long to, unsigned value, size_t count, struct CUstream_st *stream)
{
        struct copy copy = { .kind = SET_32, .to = to, .value = value };

        if (!pw_mul_ok(count, sizeof value, &copy.bytes) || to % sizeof value)
                return PW_CUDA_INVALID_VALUE;
        return copy_ask(FAKE_cuMemsetD32Async, "cuMemsetD32Async", &copy, stream);
}

enum pw_cuda_result cuStreamWriteValue64_v2(struct CUstream_st *stream, unsigned long long to, uint64_t value, unsigned flags)
{
        const struct copy copy = { .kind = WRITE_64, .to = to, .bytes = sizeof value, .value = value };

        if (fake_conf()->refuse_write_value)
                return PW_CUDA_NOT_SUPPORTED;
        if (to % sizeof value || flags > 1)
                return PW_CUDA_INVALID_VALUE;
        return copy_ask(FAKE_cuStreamWriteValue64, "cuStreamWriteValue64", &copy, stream);
}

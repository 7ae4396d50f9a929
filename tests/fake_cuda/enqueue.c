/* Work that other fakes put on the streams of this driver. */
#include "tests/fake_cuda/enqueue.h"

#include "tests/fake_cuda/fake.h"

struct enqueued { struct fake_work work; struct fake_enqueued own; };

static enum pw_cuda_result enqueued_run(struct fake_work *work, struct CUctx_st *context)
{
        const struct enqueued *enqueued = pw_container_of(work, struct enqueued, work);

        (void)context;
        return enqueued->own.run(enqueued->own.argument);
}

static void enqueued_drop(struct fake_work *work)
{
        struct enqueued *enqueued = pw_container_of(work, struct enqueued, work);

        enqueued->own.drop(enqueued->own.argument);
        free(enqueued);
}

enum pw_cuda_result fake_cuda_enqueue(struct CUstream_st *stream, const struct fake_enqueued *work)
{
        enum pw_cuda_result result = fake_stream_check(stream, "fake_cuda_enqueue");
        struct enqueued *enqueued = calloc(1, sizeof *enqueued);

        if (!result && !enqueued)
                result = PW_CUDA_OUT_OF_MEMORY;
        if (!result) {
                *enqueued = (struct enqueued){ .work = { .run = enqueued_run, .drop = enqueued_drop }, .own = *work };
                pthread_mutex_lock(&fake_lock);
                result = fake_stream_context(stream)->error;
                if (!result)
                        fake_submit(stream, &enqueued->work);
                pthread_mutex_unlock(&fake_lock);
        }
        if (result)
                free(enqueued);
        return result;
}

int fake_cuda_device(void)
{
        const struct CUctx_st *context = fake_current();

        return context ? context->device : -1;
}

bool fake_cuda_takes(int device, uint64_t bytes)
{
        bool did;

        pthread_mutex_lock(&fake_lock);
        did = fake_charge(device, bytes);
        pthread_mutex_unlock(&fake_lock);
        return did;
}

void fake_cuda_gives(int device, uint64_t bytes)
{
        pthread_mutex_lock(&fake_lock);
        fake_uncharge(device, bytes);
        pthread_mutex_unlock(&fake_lock);
}

int fake_cuda_stream_device(struct CUstream_st *stream)
{
        return fake_stream_check(stream, "fake_cuda_stream_device") ? -1 : fake_stream_context(stream)->device;
}

bool fake_cuda_reaches(int device, unsigned long long address, size_t bytes, bool writes)
{
        return fake_at(fake_context(device), address, bytes, writes) != NULL;
}

bool fake_cuda_goes_on(struct CUstream_st *stream)
{
        const struct CUctx_st *context = fake_stream_context(stream);
        bool goes_on;

        pthread_mutex_lock(&fake_lock);
        goes_on = context->holders && !context->error;
        pthread_mutex_unlock(&fake_lock);
        return goes_on;
}

bool fake_cuda_read(struct CUstream_st *stream, void *to, unsigned long long from, size_t bytes)
{
        const void *memory;

        pthread_rwlock_rdlock(&fake_maps);
        memory = fake_at(fake_stream_context(stream), from, bytes, false);
        if (memory)
                memcpy(to, memory, bytes);
        pthread_rwlock_unlock(&fake_maps);
        return memory != NULL;
}

bool fake_cuda_write(struct CUstream_st *stream, unsigned long long to, const void *from, size_t bytes)
{
        void *memory;

        pthread_rwlock_rdlock(&fake_maps);
        memory = fake_at(fake_stream_context(stream), to, bytes, true);
        if (memory)
                memcpy(memory, from, bytes);
        pthread_rwlock_unlock(&fake_maps);
        return memory != NULL;
}

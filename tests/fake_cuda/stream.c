/* Streams: each has a thread that does its work in order, each piece after a delay that the seed decides. */
#include "tests/fake_cuda/fake.h"

#include <time.h>

struct CUstream_st {
        struct pw_list link;          /* of its context; not once it was destroyed */
        struct CUctx_st *context;
        struct pw_list queue;         /* of struct fake_work; the first is being done */
        uint64_t submitted, done;
        bool is_closing;              /* no more work comes: it ends when this is done */
        bool is_ending;               /* nor is what waits done */
        unsigned random;
};

static unsigned stream_count;

static void delay(struct CUstream_st *stream)
{
        uint64_t mean_us = fake_conf()->delay_us;
        uint64_t us = mean_us ? (uint64_t)rand_r(&stream->random) % (2 * mean_us + 1) : 0;
        struct timespec time = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000) };

        if (us)
                clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Under fake_lock, which it lets go meanwhile. */
static void work_do(struct CUstream_st *stream, struct fake_work *work)
{
        struct CUctx_st *context = stream->context;
        enum pw_cuda_result result = PW_CUDA_SUCCESS;

        if (!context->error && !stream->is_ending) {
                pthread_mutex_unlock(&fake_lock);
                delay(stream);
                result = work->run(work, context);
                pthread_mutex_lock(&fake_lock);
        }
        if (result && !context->error)
                context->error = result;
        pw_list_remove(&work->link);
        work->drop(work);
        stream->done++;
        pthread_cond_broadcast(&fake_changed);
}

static void *stream_run(void *argument)
{
        struct CUstream_st *stream = argument;

        pthread_mutex_lock(&fake_lock);
        for (;;) {
                while (pw_list_empty(&stream->queue) && !stream->is_closing)
                        pthread_cond_wait(&fake_changed, &fake_lock);
                if (pw_list_empty(&stream->queue))
                        break;
                work_do(stream, pw_list_first(&stream->queue, struct fake_work, link));
        }
        pthread_mutex_unlock(&fake_lock);
        free(stream);
        return NULL;
}

void fake_submit(struct CUstream_st *stream, struct fake_work *work)
{
        pw_list_append(&stream->queue, &work->link);
        stream->submitted++;
        pthread_cond_broadcast(&fake_changed);
}

enum pw_cuda_result fake_stream_check(const struct CUstream_st *stream, const char *call)
{
        enum pw_cuda_result result = PW_CUDA_INVALID_HANDLE;
        struct CUstream_st *one;

        if (!stream)
                fake_abort("%s on stream 0, which waits for all others: give it a stream of its own", call);
        pthread_mutex_lock(&fake_lock);
        for (int device = 0; fake_context(device); device++)
                pw_list_each(&fake_context(device)->streams, one, struct CUstream_st, link)
                        if (one == stream)
                                result = PW_CUDA_SUCCESS;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

struct CUctx_st *fake_stream_context(struct CUstream_st *stream) { return stream->context; }

enum pw_cuda_result fake_context_wait(const struct CUctx_st *context)
{
        struct CUstream_st *stream;

again:
        if (context->error)
                return context->error;
        pw_list_each(&context->streams, stream, struct CUstream_st, link) {
                if (pw_list_empty(&stream->queue))
                        continue;
                pthread_cond_wait(&fake_changed, &fake_lock);
                goto again;
        }
        return PW_CUDA_SUCCESS;
}

static void stream_close(struct CUstream_st *stream)
{
        pw_list_remove(&stream->link);
        stream->is_closing = true;
        pthread_cond_broadcast(&fake_changed);
}

void fake_streams_end(struct CUctx_st *context)
{
        struct CUstream_st *stream;

        pw_list_each(&context->streams, stream, struct CUstream_st, link) {
                stream->is_ending = true;
                stream_close(stream);
        }
}

static bool thread_start(struct CUstream_st *stream)
{
        pthread_attr_t detached;
        pthread_t thread;
        bool did;

        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        did = pthread_create(&thread, &detached, stream_run, stream) == 0;
        pthread_attr_destroy(&detached);
        return did;
}

enum pw_cuda_result cuStreamCreate(struct CUstream_st **ret_stream, unsigned flags)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuStreamCreate, &context);
        struct CUstream_st *stream;

        if (result || flags & ~PW_CUDA_STREAM_NON_BLOCKING)
                return result ? result : PW_CUDA_INVALID_VALUE;
        stream = calloc(1, sizeof *stream);
        if (!stream)
                return PW_CUDA_OUT_OF_MEMORY;
        stream->context = context;
        pw_list_init(&stream->queue);
        pthread_mutex_lock(&fake_lock);
        stream->random = (unsigned)fake_conf()->seed * 1000003u + stream_count++;
        if (thread_start(stream))
                pw_list_append(&context->streams, &stream->link);
        else
                result = PW_CUDA_OPERATING_SYSTEM;
        pthread_mutex_unlock(&fake_lock);
        if (result)
                free(stream);
        else
                *ret_stream = stream;
        return result;
}

static enum pw_cuda_result enter_stream(enum fake_call call, struct CUstream_st *stream, const char *name)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(call, &context);

        if (result)
                return result;
        result = fake_stream_check(stream, name);
        return result ? result : stream->context->error;
}

/* What it was given is done nevertheless. */
enum pw_cuda_result cuStreamDestroy_v2(struct CUstream_st *stream)
{
        enum pw_cuda_result result = enter_stream(FAKE_cuStreamDestroy, stream, "cuStreamDestroy");

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        stream_close(stream);
        pthread_mutex_unlock(&fake_lock);
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuStreamQuery(struct CUstream_st *stream)
{
        enum pw_cuda_result result = enter_stream(FAKE_cuStreamQuery, stream, "cuStreamQuery");

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (!pw_list_empty(&stream->queue))
                result = PW_CUDA_NOT_READY;
        if (stream->context->error)
                result = stream->context->error;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

enum pw_cuda_result cuStreamSynchronize(struct CUstream_st *stream)
{
        enum pw_cuda_result result = enter_stream(FAKE_cuStreamSynchronize, stream, "cuStreamSynchronize");
        uint64_t submitted;

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        submitted = stream->submitted;
        while (stream->done < submitted && !stream->context->error)
                pthread_cond_wait(&fake_changed, &fake_lock);
        result = stream->context->error;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

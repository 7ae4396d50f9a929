/* Events: each stands for its last record, a point in a stream. A point is passed when its work is over, however it ended. */
#include "tests/fake_cuda/fake.h"

struct CUevent_st {
        struct pw_list link;
        struct CUctx_st *context;
        struct fake_point *point; /* NULL: never recorded, which counts as done */
};
struct point_work { struct fake_work work; struct fake_point *point; };

static struct pw_list all = { &all, &all };

void fake_point_unref(struct fake_point *point)
{
        if (point && !--point->refs)
                free(point);
}

static enum pw_cuda_result mark_run(struct fake_work *work, struct CUctx_st *context)
{
        (void)work, (void)context;
        return PW_CUDA_SUCCESS;
}

static void mark_drop(struct fake_work *work)
{
        struct point_work *mark = pw_container_of(work, struct point_work, work);

        mark->point->is_done = true;
        fake_point_unref(mark->point);
        free(mark);
}

enum pw_cuda_result fake_point_submit(struct CUstream_st *stream, struct fake_point **ret_point)
{
        struct point_work *mark = calloc(1, sizeof *mark);
        struct fake_point *point = calloc(1, sizeof *point);

        if (!mark || !point) {
                free(mark);
                free(point);
                return PW_CUDA_OUT_OF_MEMORY;
        }
        point->refs = 2;
        *mark = (struct point_work){ .work = { .run = mark_run, .drop = mark_drop }, .point = point };
        fake_submit(stream, &mark->work);
        *ret_point = point;
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result fake_point_wait(const struct fake_point *point, const struct CUctx_st *context)
{
        while (point && !point->is_done && !context->error && context->holders)
                pthread_cond_wait(&fake_changed, &fake_lock);
        return context->error;
}

static enum pw_cuda_result wait_run(struct fake_work *work, struct CUctx_st *context)
{
        struct point_work *wait = pw_container_of(work, struct point_work, work);

        pthread_mutex_lock(&fake_lock);
        fake_point_wait(wait->point, context);
        pthread_mutex_unlock(&fake_lock);
        return PW_CUDA_SUCCESS;
}

static void wait_drop(struct fake_work *work)
{
        struct point_work *wait = pw_container_of(work, struct point_work, work);

        fake_point_unref(wait->point);
        free(wait);
}

/* PW_CUDA_INVALID_HANDLE: no such event. */
static enum pw_cuda_result event_check(const struct CUevent_st *event)
{
        enum pw_cuda_result result = PW_CUDA_INVALID_HANDLE;
        struct CUevent_st *one;

        pthread_mutex_lock(&fake_lock);
        pw_list_each(&all, one, struct CUevent_st, link)
                if (one == event)
                        result = PW_CUDA_SUCCESS;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

enum pw_cuda_result cuEventCreate(struct CUevent_st **ret_event, unsigned flags)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuEventCreate, &context);
        struct CUevent_st *event;

        if (result || flags & ~(PW_CUDA_EVENT_BLOCKING_SYNC | PW_CUDA_EVENT_DISABLE_TIMING))
                return result ? result : PW_CUDA_INVALID_VALUE;
        event = calloc(1, sizeof *event);
        if (!event)
                return PW_CUDA_OUT_OF_MEMORY;
        event->context = context;
        pthread_mutex_lock(&fake_lock);
        pw_list_append(&all, &event->link);
        pthread_mutex_unlock(&fake_lock);
        *ret_event = event;
        return PW_CUDA_SUCCESS;
}

static enum pw_cuda_result enter_event(enum fake_call call, const struct CUevent_st *event)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(call, &context);

        return result ? result : event_check(event);
}

/* Who waits for it goes on waiting for what it stood for. */
enum pw_cuda_result cuEventDestroy_v2(struct CUevent_st *event)
{
        enum pw_cuda_result result = enter_event(FAKE_cuEventDestroy, event);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        pw_list_remove(&event->link);
        fake_point_unref(event->point);
        pthread_mutex_unlock(&fake_lock);
        free(event);
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
        enum pw_cuda_result result = enter_event(FAKE_cuEventRecord, event);
        struct fake_point *point;

        if (!result)
                result = fake_stream_check(stream, "cuEventRecord");
        if (!result && fake_stream_context(stream) != event->context)
                result = PW_CUDA_INVALID_HANDLE;
        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        result = fake_point_submit(stream, &point);
        if (!result) {
                fake_point_unref(event->point);
                event->point = point;
        }
        pthread_mutex_unlock(&fake_lock);
        return result;
}

enum pw_cuda_result cuEventQuery(struct CUevent_st *event)
{
        enum pw_cuda_result result = enter_event(FAKE_cuEventQuery, event);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (event->context->error)
                result = event->context->error;
        else if (event->point && !event->point->is_done)
                result = PW_CUDA_NOT_READY;
        pthread_mutex_unlock(&fake_lock);
        return result;
}

enum pw_cuda_result cuEventSynchronize(struct CUevent_st *event)
{
        enum pw_cuda_result result = enter_event(FAKE_cuEventSynchronize, event);
        struct fake_point *point;

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        point = event->point;
        if (point)
                point->refs++;
        result = fake_point_wait(point, event->context);
        fake_point_unref(point);
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* For what the event stands for now: it may be recorded anew meanwhile. */
enum pw_cuda_result cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags)
{
        enum pw_cuda_result result = enter_event(FAKE_cuStreamWaitEvent, event);
        struct point_work *wait;

        if (!result)
                result = fake_stream_check(stream, "cuStreamWaitEvent");
        if (result || flags)
                return result ? result : PW_CUDA_INVALID_VALUE;
        wait = calloc(1, sizeof *wait);
        if (!wait)
                return PW_CUDA_OUT_OF_MEMORY;
        pthread_mutex_lock(&fake_lock);
        *wait = (struct point_work){ .work = { .run = wait_run, .drop = wait_drop }, .point = event->point };
        if (wait->point)
                wait->point->refs++;
        fake_submit(stream, &wait->work);
        pthread_mutex_unlock(&fake_lock);
        return PW_CUDA_SUCCESS;
}

/* The thread that waits for the device while the launching thread waits for other things too. */
#include "executor/device/cuda_private.h"

/* What it comes to the launching thread is told when it asks. */
static void await(struct pw_exec_device *device, struct CUevent_st *event)
{
        const struct pw_cuda_driver *driver = device->driver;
        struct pw_cuda_watch *watch = &device->watch;

        if (driver->cuStreamWaitEvent(watch->stream, event, 0) == PW_CUDA_SUCCESS &&
            driver->cuEventRecord(watch->bell, watch->stream) == PW_CUDA_SUCCESS)
                (void)driver->cuEventSynchronize(watch->bell);
}

static void *watch(void *context)
{
        struct pw_exec_device *device = context;
        struct pw_cuda_watch *watch = &device->watch;
        struct CUevent_st *event;

        (void)device->driver->cuCtxSetCurrent(device->context);
        pthread_mutex_lock(&watch->lock);
        while (!watch->ends) {
                if (!watch->event) {
                        pthread_cond_wait(&watch->changed, &watch->lock);
                        continue;
                }
                event = watch->event;
                watch->event = NULL;
                pthread_mutex_unlock(&watch->lock);
                await(device, event);
                device->params.ring(device->params.context);
                pthread_mutex_lock(&watch->lock);
        }
        pthread_mutex_unlock(&watch->lock);
        return NULL;
}

enum pw_status pw_cuda_watch_open(struct pw_exec_device *device, struct pw_error *ret_err)
{
        struct pw_cuda_watch *of = &device->watch;
        enum pw_status status = pw_cuda_check(device, device->driver->cuStreamCreate(&of->stream, PW_CUDA_STREAM_NON_BLOCKING),
                                              "a stream", ret_err);

        if (status == PW_OK)
                status = pw_cuda_check(device, device->driver->cuEventCreate(&of->bell, PW_CUDA_EVENT_BLOCKING_SYNC |
                                                                                                PW_CUDA_EVENT_DISABLE_TIMING),
                                       "an event", ret_err);
        if (status != PW_OK)
                return status;
        pthread_mutex_init(&of->lock, NULL);
        pthread_cond_init(&of->changed, NULL);
        of->runs = pthread_create(&of->thread, NULL, watch, device) == 0;
        return of->runs ? PW_OK : pw_error_set(ret_err, PW_SYSTEM, "device %u: no thread to wait for it", device->params.number);
}

static void stop(struct pw_cuda_watch *of)
{
        pthread_mutex_lock(&of->lock);
        of->ends = true;
        pthread_cond_signal(&of->changed);
        pthread_mutex_unlock(&of->lock);
        pthread_join(of->thread, NULL);
        pthread_cond_destroy(&of->changed);
        pthread_mutex_destroy(&of->lock);
}

/* What it waits for ends, or has ended. */
void pw_cuda_watch_close(struct pw_exec_device *device)
{
        struct pw_cuda_watch *of = &device->watch;

        if (of->runs)
                stop(of);
        if (of->bell)
                (void)device->driver->cuEventDestroy(of->bell);
        if (of->stream)
                (void)device->driver->cuStreamDestroy(of->stream);
}

void pw_cuda_watch(struct pw_exec_device *device, struct CUevent_st *event)
{
        struct pw_cuda_watch *of = &device->watch;

        pthread_mutex_lock(&of->lock);
        of->event = event;
        pthread_cond_signal(&of->changed);
        pthread_mutex_unlock(&of->lock);
}

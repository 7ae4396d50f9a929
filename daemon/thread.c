/* Threads beside the loop. */
#include "daemon/thread.h"

#include <signal.h>
#include <time.h>

int pw_thread_start(void *(*run)(void *context), void *context, int signal)
{
        pthread_attr_t attributes;
        sigset_t others, before;
        pthread_t thread;
        int number;

        sigfillset(&others);
        if (signal)
                sigdelset(&others, signal);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_sigmask(SIG_SETMASK, &others, &before);
        number = pthread_create(&thread, &attributes, run, context);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return number;
}

void pw_thread_wait(pthread_cond_t *changed, pthread_mutex_t *lock, uint64_t until_us)
{
        struct timespec at = { (time_t)(until_us / 1000000), (long)(until_us % 1000000) * 1000 };

        if (until_us == UINT64_MAX)
                pthread_cond_wait(changed, lock);
        else
                pthread_cond_clockwait(changed, lock, CLOCK_MONOTONIC, &at);
}

/* A thread that waits for as long. */
#include "executor/collective/deadline.h"

#include <errno.h>
#include <time.h>

static void *watch(void *context)
{
        struct pw_deadline *deadline = context;
        struct timespec until;
        int result = 0;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += deadline->seconds;
        pthread_mutex_lock(&deadline->lock);
        while (!deadline->met && result != ETIMEDOUT)
                result = pthread_cond_clockwait(&deadline->changed, &deadline->lock, CLOCK_MONOTONIC, &until);
        if (!deadline->met)
                deadline->missed(deadline->context, deadline->what); /* does not return */
        pthread_mutex_unlock(&deadline->lock);
        return NULL;
}

void pw_deadline_begin(struct pw_deadline *deadline)
{
        pthread_mutex_init(&deadline->lock, NULL);
        pthread_cond_init(&deadline->changed, NULL);
        deadline->met = false;
        deadline->runs = pthread_create(&deadline->thread, NULL, watch, deadline) == 0;
}

void pw_deadline_met(struct pw_deadline *deadline)
{
        pthread_mutex_lock(&deadline->lock);
        deadline->met = true;
        pthread_cond_signal(&deadline->changed);
        pthread_mutex_unlock(&deadline->lock);
        if (deadline->runs)
                pthread_join(deadline->thread, NULL);
        pthread_cond_destroy(&deadline->changed);
        pthread_mutex_destroy(&deadline->lock);
}

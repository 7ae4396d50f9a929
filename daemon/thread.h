/* Threads beside the loop, for what may take long: whom a client can hold for ever nobody joins. */
#ifndef PW_DAEMON_THREAD_H
#define PW_DAEMON_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Detached, and of all signals it takes `signal` alone; 0: none. Returns 0 or an errno. */
int pw_thread_start(void *(*run)(void *context), void *context, int signal);
/* Until `changed`, or CLOCK_MONOTONIC is at `until_us`; UINT64_MAX: no time. */
void pw_thread_wait(pthread_cond_t *changed, pthread_mutex_t *lock, uint64_t until_us);

#endif

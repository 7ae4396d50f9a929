/* A call of a library that may not come back: who is not done in time ends the process.
 */
#ifndef PW_EXECUTOR_DEADLINE_H
#define PW_EXECUTOR_DEADLINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct pw_deadline {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool runs, met;
        uint32_t seconds;
        const char *what; /* borrowed: what is not done then */
        void (*missed)(void *context, const char *what) __attribute__((noreturn));
        void *context;
};

/* From now on there are so many seconds: the caller has set `seconds`, `what`, `missed`, `context`. Where there is no thread to
 * watch it, nobody does. */
void pw_deadline_begin(struct pw_deadline *deadline);
void pw_deadline_met(struct pw_deadline *deadline);

#endif

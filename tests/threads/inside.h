/* A whole pathwaysd in a thread of the test, in a folder of its own.
 */
#ifndef PW_TESTS_THREADS_INSIDE_H
#define PW_TESTS_THREADS_INSIDE_H

#include <pthread.h>
#include <stdbool.h>

struct pw_daemon;

struct inside {
        char folder[64], socket[96];
        pthread_t thread;
        int ready_fd;
        void (*prepare)(struct pw_daemon *daemon);
        bool good; /* it came up, and what the store and the scheduler say of themselves in the end is right */
};

/* Start it and wait until its executors are ready; a failure fails the test. `prepare`, or NULL: called before it runs, on its
 * thread. */
void inside_start(struct inside *inside, void (*prepare)(struct pw_daemon *daemon));
/* As by SIGTERM; it must have found nothing wrong. */
void inside_stop(struct inside *inside);

#endif

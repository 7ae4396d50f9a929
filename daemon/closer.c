/* A thread that closes what clients sent. */
#include "daemon/closer.h"

#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define LET_GO_NS 1000000 /* how long one close() may wait */
#define LET_GO_SIGNAL SIGRTMIN

struct pw_closer {
        pthread_t thread;
        pthread_mutex_t lock; /* of all that follows */
        pthread_cond_t changed;
        int *fds;
        uint32_t count, capacity;
        bool ended;
};

static void let_go(int number) { (void)number; }

/* A timer that interrupts what the calling thread waits in. */
static bool interrupts_make(timer_t *ret_timer)
{
        struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = LET_GO_SIGNAL };

        event._sigev_un._tid = gettid();
        return timer_create(CLOCK_MONOTONIC, &event, ret_timer) == 0;
}

static void interrupts_set(timer_t timer, long every_ns)
{
        struct itimerspec spec = { { 0, every_ns }, { 0, every_ns } };

        timer_settime(timer, 0, &spec, NULL);
}

static void close_all(const int *fds, uint32_t count, timer_t *timer)
{
        if (timer)
                interrupts_set(*timer, LET_GO_NS);
        for (uint32_t i = 0; i < count; i++)
                close(fds[i]); /* interrupted or not, it is closed */
        if (timer)
                interrupts_set(*timer, 0);
}

static void *close_loop(void *argument)
{
        struct pw_closer *closer = argument;
        timer_t timer;
        bool timed = interrupts_make(&timer);

        pthread_mutex_lock(&closer->lock);
        while (closer->count || !closer->ended) {
                if (!closer->count) {
                        pthread_cond_wait(&closer->changed, &closer->lock);
                        continue;
                }
                pw_auto_free int *fds = closer->fds;
                uint32_t count = closer->count;
                closer->fds = NULL;
                closer->count = closer->capacity = 0;
                pthread_mutex_unlock(&closer->lock);
                close_all(fds, count, timed ? &timer : NULL);
                pthread_mutex_lock(&closer->lock);
        }
        pthread_mutex_unlock(&closer->lock);
        if (timed)
                timer_delete(timer);
        return NULL;
}

static bool thread_start(struct pw_closer *closer)
{
        struct sigaction action = { .sa_handler = let_go }; /* without SA_RESTART */
        sigset_t others, before;
        int number;

        sigaction(LET_GO_SIGNAL, &action, NULL);
        sigfillset(&others);
        sigdelset(&others, LET_GO_SIGNAL);
        pthread_sigmask(SIG_SETMASK, &others, &before);
        number = pthread_create(&closer->thread, NULL, close_loop, closer);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return number == 0;
}

static struct pw_closer *closer_new(void)
{
        struct pw_closer *closer = calloc(1, sizeof *closer);

        if (!closer)
                return NULL;
        pthread_mutex_init(&closer->lock, NULL);
        pthread_cond_init(&closer->changed, NULL);
        if (thread_start(closer))
                return closer;
        pthread_cond_destroy(&closer->changed);
        pthread_mutex_destroy(&closer->lock);
        free(closer);
        return NULL;
}

void pw_closer_take(struct pw_daemon *daemon, const int *fds, uint32_t count)
{
        struct pw_closer *closer = daemon->closer ? daemon->closer : (daemon->closer = closer_new());
        bool kept;

        if (!closer) {
                close_all(fds, count, NULL);
                return;
        }
        pthread_mutex_lock(&closer->lock);
        kept = closer->count + count <= closer->capacity ||
               pw_grow((void **)&closer->fds, &closer->capacity, closer->count + count, sizeof *fds);
        if (kept) {
                memcpy(closer->fds + closer->count, fds, count * sizeof *fds);
                closer->count += count;
                pthread_cond_signal(&closer->changed);
        }
        pthread_mutex_unlock(&closer->lock);
        if (!kept)
                close_all(fds, count, NULL);
}

void pw_closer_take_socket(struct pw_daemon *daemon, int *fd)
{
        int unread = 0;

        shutdown(*fd, SHUT_RDWR);
        if (ioctl(*fd, FIONREAD, &unread) == 0 && !unread)
                close(*fd);
        else
                pw_closer_take(daemon, fd, 1);
        *fd = -1;
}

void pw_closer_free(struct pw_closer *closer)
{
        if (!closer)
                return;
        pthread_mutex_lock(&closer->lock);
        closer->ended = true;
        pthread_cond_signal(&closer->changed);
        pthread_mutex_unlock(&closer->lock);
        pthread_join(closer->thread, NULL);
        pthread_cond_destroy(&closer->changed);
        pthread_mutex_destroy(&closer->lock);
        free(closer->fds);
        free(closer);
}

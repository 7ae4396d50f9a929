/* Threads that close what clients sent: one at work, one that stands by, and those that are held by what no signal ends. */
#include "daemon/closer.h"

#include "base/memory.h"
#include "daemon/thread.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define LET_GO_NS 1000000 /* how long one close() may wait, where a signal ends it */
#define LET_GO_SIGNAL SIGRTMIN
#define PASSRIGHTS 83 /* SO_PASSRIGHTS, which headers do not know yet */
#define LATE_US 100000u    /* no signal ended it: another thread goes on */
#define LEAVE_US 1000000u  /* how long the end waits for threads */

struct pw_closer {
        pthread_mutex_t lock; /* of all that follows */
        pthread_cond_t changed;
        int *fds;
        uint32_t count, capacity;
        uint32_t threads, resting;
        uint64_t turn;        /* the thread that took last is at work, unless it is done: 0 */
        uint64_t turns;
        uint64_t since_us;    /* it took then */
        bool ended, told;
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

static void close_all(const int *fds, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                close(fds[i]); /* interrupted or not, it is closed */
}

/* Until there is something to close and nobody is at it, or for good. */
static bool wait_for_turn(struct pw_closer *closer)
{
        while (closer->count || !closer->ended) {
                uint64_t late_us = closer->since_us + LATE_US;

                if (closer->count && (!closer->turn || pw_now_us() >= late_us))
                        return true;
                pw_thread_wait(&closer->changed, &closer->lock, closer->count ? late_us : UINT64_MAX);
        }
        return false;
}

static void *close_loop(void *argument);

/* Nobody joins it: it may be held by who owns a file for ever. */
static bool start_thread(struct pw_closer *closer)
{
        if (closer->threads == PW_CLOSERS_MAX || pw_thread_start(close_loop, closer, LET_GO_SIGNAL) != 0)
                return false;
        closer->threads++;
        closer->resting++;
        return true;
}

/* The last that was taken, closed without the lock, while another thread stands by. */
static void close_next(struct pw_closer *closer, timer_t *timer)
{
        int fd = closer->fds[--closer->count];
        uint64_t turn = closer->turn = ++closer->turns;

        closer->since_us = pw_now_us();
        if (!--closer->resting)
                (void)start_thread(closer); /* without one, the rest waits for this one, or for the next that is taken */
        pthread_mutex_unlock(&closer->lock);
        if (timer)
                interrupts_set(*timer, LET_GO_NS);
        close(fd);
        if (timer)
                interrupts_set(*timer, 0);
        pthread_mutex_lock(&closer->lock);
        closer->resting++;
        if (closer->turn == turn)
                closer->turn = 0;
}

static void *close_loop(void *argument)
{
        struct pw_closer *closer = argument;
        timer_t timer;
        bool timed = interrupts_make(&timer);

        pthread_mutex_lock(&closer->lock);
        while (wait_for_turn(closer))
                close_next(closer, timed ? &timer : NULL);
        closer->threads--;
        closer->resting--;
        pthread_cond_broadcast(&closer->changed);
        pthread_mutex_unlock(&closer->lock);
        if (timed)
                timer_delete(timer);
        return NULL;
}

static struct pw_closer *closer_new(void)
{
        struct pw_closer *closer = calloc(1, sizeof *closer);
        struct sigaction action = { .sa_handler = let_go }; /* without SA_RESTART */

        if (!closer)
                return NULL;
        sigaction(LET_GO_SIGNAL, &action, NULL);
        pthread_mutex_init(&closer->lock, NULL);
        pthread_cond_init(&closer->changed, NULL);
        return closer;
}

/* False: nobody is there to close it. */
static bool enqueue(struct pw_closer *closer, const int *fds, uint32_t count)
{
        if (!closer->resting && !start_thread(closer) && !closer->threads)
                return false;
        if (closer->count + count > closer->capacity &&
            !pw_grow((void **)&closer->fds, &closer->capacity, closer->count + count, sizeof *fds))
                return false;
        memcpy(closer->fds + closer->count, fds, count * sizeof *fds);
        closer->count += count;
        pthread_cond_signal(&closer->changed);
        return true;
}

void pw_closer_take(struct pw_daemon *daemon, const int *fds, uint32_t count)
{
        struct pw_closer *closer = daemon->closer ? daemon->closer : (daemon->closer = closer_new());
        bool kept = false, all_held = false;

        if (closer) {
                pthread_mutex_lock(&closer->lock);
                kept = enqueue(closer, fds, count);
                all_held = !closer->resting && closer->threads == PW_CLOSERS_MAX && !closer->told;
                closer->told |= all_held;
                pthread_mutex_unlock(&closer->lock);
        }
        if (all_held)
                pw_log(&daemon->log, PW_LOG_WARNING,
                       "descriptors of clients stay open: each of %u threads that close them is held, as by a file system that "
                       "does not answer", PW_CLOSERS_MAX);
        if (!kept)
                close_all(fds, count);
}

bool pw_closer_refuse_files(int socket)
{
        return setsockopt(socket, SOL_SOCKET, PASSRIGHTS, &(int){ 0 }, sizeof(int)) == 0;
}

void pw_closer_take_socket(struct pw_daemon *daemon, int *fd)
{
        int unread = 0;

        shutdown(*fd, SHUT_RDWR);
        if (!daemon->may_be_sent_files || (ioctl(*fd, FIONREAD, &unread) == 0 && !unread))
                close(*fd);
        else
                pw_closer_take(daemon, fd, 1);
        *fd = -1;
}

void pw_closer_free(struct pw_closer *closer)
{
        uint64_t until_us = pw_now_us() + LEAVE_US;
        bool left;

        if (!closer)
                return;
        pthread_mutex_lock(&closer->lock);
        closer->ended = true;
        pthread_cond_broadcast(&closer->changed);
        while (closer->threads && pw_now_us() < until_us)
                pw_thread_wait(&closer->changed, &closer->lock, until_us);
        left = !closer->threads;
        pthread_mutex_unlock(&closer->lock);
        if (!left)
                return; /* it is theirs: the process is about to end */
        pthread_cond_destroy(&closer->changed);
        pthread_mutex_destroy(&closer->lock);
        free(closer->fds);
        free(closer);
}

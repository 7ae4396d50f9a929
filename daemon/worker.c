/* One thread, one queue, one pipe. */
#include "daemon/worker.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/backing.h"
#include "daemon/frozen.h"
#include "daemon/overhead.h"
#include "plane/segment.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define STEP_BYTES (64 * PW_MIB)

struct item {
        struct pw_list link;
        struct pw_work work;
        uint64_t at;               /* done up to here */
        enum pw_status status;
        char why[80];              /* it failed */
};

struct pw_worker {
        struct pw_daemon *daemon;
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t asked;
        struct pw_list todo, done; /* under the lock */
        bool stop, running;
        int pipe_fds[2];
        struct event *event;
};

static enum pw_status do_step(const struct pw_work *work, uint64_t at, uint64_t bytes, struct pw_error *ret_err)
{
        if (work->from)
                return pw_memfd_copy(work->backing->fd, work->offset + at, work->from->fd, work->from_offset + at, bytes, ret_err);
        return work->punch ? pw_memfd_punch(work->backing->fd, work->offset + at, bytes, ret_err)
                           : pw_memfd_populate(work->backing->fd, work->offset + at, bytes, ret_err);
}

/* The next step: true: there are more. Others get their turn before them; punching costs by the pages that are there, and is never
 * overtaken by what makes pages in the same place again. */
static bool do_next(struct item *item)
{
        struct pw_work *work = &item->work;
        uint64_t left = work->bytes - item->at, bytes = work->punch ? left : pw_min_u64(STEP_BYTES, left);
        struct pw_error err;

        pw_unmap(&work->unmap);
        item->status = bytes ? do_step(work, item->at, bytes, &err) : PW_OK;
        item->at += bytes;
        if (item->status != PW_OK)
                snprintf(item->why, sizeof item->why, "%.79s", err.text);
        return item->status == PW_OK && item->at < work->bytes;
}

static void *work_loop(void *context)
{
        struct pw_worker *worker = context;

        pthread_mutex_lock(&worker->lock);
        while (!worker->stop) {
                struct item *item;
                bool more;

                if (pw_list_empty(&worker->todo)) {
                        pthread_cond_wait(&worker->asked, &worker->lock);
                        continue;
                }
                item = pw_list_first(&worker->todo, struct item, link);
                pw_list_remove(&item->link);
                pthread_mutex_unlock(&worker->lock);
                more = do_next(item);
                pthread_mutex_lock(&worker->lock);
                pw_list_append(more ? &worker->todo : &worker->done, &item->link);
                if (!more && TEMP_FAILURE_RETRY(write(worker->pipe_fds[1], "", 1)) < 0 && errno != EAGAIN)
                        worker->stop = true; /* the pipe is gone: so is the loop */
        }
        pthread_mutex_unlock(&worker->lock);
        return NULL;
}

/* The pages are there, and booked by nobody: from now on they count as overhead, until they are granted again or the memfd goes. */
static void refused(struct pw_worker *worker, const struct pw_work *work, const char *why)
{
        work->backing->refused++;
        pw_log(&worker->daemon->log, PW_LOG_ERROR, "pages not given back offset=%llu bytes=%llu reason=\"%s\"", (unsigned long long)work->offset,
               (unsigned long long)work->bytes, why);
        pw_overhead_refresh(worker->daemon);
}

static void tell(struct pw_worker *worker, const struct pw_work *work, enum pw_status status)
{
        if (work->from)
                pw_frozen_copied(worker->daemon, work->token, status);
        else if (work->token)
                pw_store_populated(worker->daemon->store, work->token, status, pw_now_us());
}

static void let_go(const struct pw_work *work)
{
        pw_backing_worked(work->backing);
        if (work->from)
                pw_backing_worked(work->from);
}

static void report(struct pw_worker *worker, struct item *item)
{
        if (item->work.punch && item->status != PW_OK)
                refused(worker, &item->work, item->why);
        let_go(&item->work);
        tell(worker, &item->work, item->status);
        free(item);
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        struct pw_worker *worker = context;
        struct pw_list finished;
        struct item *item;
        char bytes[64];

        (void)what;
        pw_woken(worker->daemon);
        while (read(fd, bytes, sizeof bytes) > 0) {
        }
        pw_list_init(&finished);
        pthread_mutex_lock(&worker->lock);
        pw_list_each(&worker->done, item, struct item, link) {
                pw_list_remove(&item->link);
                pw_list_append(&finished, &item->link);
        }
        pthread_mutex_unlock(&worker->lock);
        pw_list_each(&finished, item, struct item, link) {
                pw_list_remove(&item->link);
                report(worker, item);
        }
        worker->daemon->more = true;
}

/* Signals are the loop's. */
static int start_thread(struct pw_worker *worker)
{
        sigset_t all, before;
        int number;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        number = pthread_create(&worker->thread, NULL, work_loop, worker);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        worker->running = number == 0;
        return number;
}

enum pw_status pw_worker_new(struct pw_daemon *daemon, struct pw_worker **ret_worker, struct pw_error *ret_err)
{
        struct pw_worker *worker = calloc(1, sizeof *worker);
        int number;

        if (!worker)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the worker");
        worker->daemon = daemon;
        worker->pipe_fds[0] = worker->pipe_fds[1] = -1;
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->asked, NULL);
        pw_list_init(&worker->todo);
        pw_list_init(&worker->done);
        if (pipe2(worker->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                number = errno;
                pw_worker_free(worker);
                return pw_error_errno(ret_err, number, "pipe of the worker");
        }
        worker->event = event_new(daemon->base, worker->pipe_fds[0], EV_READ | EV_PERSIST, on_done, worker);
        number = !worker->event || event_add(worker->event, NULL) < 0 ? ENOMEM : start_thread(worker);
        if (number) {
                pw_worker_free(worker);
                return pw_error_errno(ret_err, number, "thread of the worker");
        }
        *ret_worker = worker;
        return PW_OK;
}

void pw_worker_ask(struct pw_worker *worker, const struct pw_work *work)
{
        struct item *item = calloc(1, sizeof *item);

        if (!item) {
                pw_unmap(&(struct pw_map){ work->unmap.base, work->unmap.bytes, work->unmap.writable });
                tell(worker, work, PW_NO_MEMORY);
                if (work->punch)
                        refused(worker, work, "pathwaysd is out of memory");
                return;
        }
        item->work = *work;
        pw_backing_work(work->backing);
        if (work->from)
                pw_backing_work(work->from);
        pthread_mutex_lock(&worker->lock);
        pw_list_append(&worker->todo, &item->link);
        pthread_cond_signal(&worker->asked);
        pthread_mutex_unlock(&worker->lock);
}

static void free_items(struct pw_list *list)
{
        struct item *item;

        pw_list_each(list, item, struct item, link) {
                pw_unmap(&item->work.unmap);
                let_go(&item->work);
                free(item);
        }
}

void pw_worker_free(struct pw_worker *worker)
{
        if (!worker)
                return;
        if (worker->running) {
                pthread_mutex_lock(&worker->lock);
                worker->stop = true;
                pthread_cond_signal(&worker->asked);
                pthread_mutex_unlock(&worker->lock);
                pthread_join(worker->thread, NULL);
        }
        free_items(&worker->todo);
        free_items(&worker->done);
        if (worker->event)
                event_free(worker->event);
        pw_close_fd(&worker->pipe_fds[0]);
        pw_close_fd(&worker->pipe_fds[1]);
        pthread_cond_destroy(&worker->asked);
        pthread_mutex_destroy(&worker->lock);
        free(worker);
}

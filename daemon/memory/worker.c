/* A line for each tenant, in it a queue for each memfd, one thread at work, one at rest, one pipe.
 *
 * The system takes pages of a memfd and gives them back under a lock of its inode, which a client holds as long as a write() to its
 * own memfd lasts: for ever, where the bytes come from a page that never arrives. A thread that has been at a memfd for LATE_US no
 * longer counts as working, and the one at rest goes on with the others. */
#include "daemon/memory/worker.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/session/tenant.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/backing.h"
#include "daemon/memory/freezer/frozen.h"
#include "daemon/memory/limits.h"
#include "daemon/memory/overhead.h"
#include "daemon/thread.h"
#include "plane/segment.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define STEP_BYTES (64 * PW_MIB)
#define PUNCH_BYTES (128 * PW_MIB) /* about 10 ms, if all its pages are there */
#define PUNCH_TWICE 3u     /* how often a step of a punch doubles, as long as it finds no pages */
#define LATE_US 20000u
#define HELD_US 500000u    /* so late that it is held */
#define TOLD_US 1000000u   /* so late that the log says it */
#define LEAVE_US 1000000u  /* how long the end waits for threads */

struct item {
        struct pw_list link;       /* in its backing's queue, then among the running, then the done */
        struct pw_memory_work work;
        uint64_t at;               /* done up to here */
        uint32_t twice;            /* steps of a punch that found no pages: the next one is twice as long */
        uint64_t since_us;         /* running since then */
        bool asked, told;          /* the loop was asked to tell that it is late; it did */
        struct pw_list of_gone;    /* among those that gave back what the loop does not know of; else alone */
        uint64_t gone, known;      /* bytes that it gave back; of them, told to the store: the loop's */
        enum pw_status status;
        char why[80];              /* it failed */
};

struct pw_worker {
        struct pw_daemon *daemon;
        pthread_mutex_t lock;           /* of all that follows, and of the queues of backings */
        pthread_cond_t changed;
        struct pw_list ready;           /* lines with backings that have works of which none is running */
        struct pw_list running, done, gone; /* items */
        uint32_t threads, resting;
        bool stop;
        int pipe_fds[2];
        struct event *event;
};

static enum pw_status do_step(const struct pw_memory_work *work, uint64_t at, uint64_t bytes, struct pw_error *ret_err)
{
        enum pw_status status;

        if (work->from)
                return pw_memfd_copy(work->backing->fd, work->offset + at, work->from->fd, work->from_offset + at, bytes, ret_err);
        if (work->punch)
                return pw_memfd_punch(work->backing->fd, work->offset + at, bytes, ret_err);
        status = pw_limits_allow("", bytes, ret_err);
        return status == PW_OK ? pw_memfd_populate(work->backing->fd, work->offset + at, bytes, ret_err) : status;
}

/* If that cannot be told: many. */
static uint64_t allocated(const struct pw_memory_work *work)
{
        uint64_t bytes;

        return work->punch && pw_memfd_allocated(work->backing->fd, &bytes, NULL) == PW_OK ? bytes : UINT64_MAX;
}

/* A memfd's pages cannot be found by looking: those that were allocated and not touched yet look like holes. How many there are in
 * all of it can be told, and a step finds how many were in it. */
static uint64_t step_bytes(const struct item *item, uint64_t had)
{
        uint64_t left = item->work.bytes - item->at;

        if (!item->work.punch)
                return pw_min_u64(STEP_BYTES, left);
        return had <= PUNCH_BYTES ? left : pw_min_u64(PUNCH_BYTES << item->twice, left);
}

/* The next step: true: there are more. Other memfds get their turn before them. *ret_gone: bytes that it gave back. */
static bool do_next(struct item *item, uint64_t *ret_gone)
{
        struct pw_memory_work *work = &item->work;
        uint64_t bytes, had, has;
        struct pw_error err;

        *ret_gone = 0;
        if (work->measure) {
                pw_measure_do(work->measure, work->backing->fd);
                return false;
        }
        pw_unmap(&work->unmap);
        had = allocated(work);
        bytes = step_bytes(item, had);
        item->status = bytes ? do_step(work, item->at, bytes, &err) : PW_OK;
        has = allocated(work);
        item->at += bytes;
        *ret_gone = had == UINT64_MAX ? 0 : had - pw_min_u64(had, has);
        item->twice = *ret_gone ? 0 : item->twice + (item->twice < PUNCH_TWICE);
        if (item->status != PW_OK)
                snprintf(item->why, sizeof item->why, "%.79s", err.text);
        return item->status == PW_OK && item->at < work->bytes;
}

static void tell_loop(struct pw_worker *worker)
{
        if (TEMP_FAILURE_RETRY(write(worker->pipe_fds[1], "", 1)) < 0 && errno != EAGAIN)
                worker->stop = true; /* the pipe is gone: so is the loop */
}

static bool is_working(const struct pw_worker *worker, uint64_t now_us)
{
        const struct item *item;

        pw_list_each(&worker->running, item, struct item, link)
                if (now_us < item->since_us + LATE_US)
                        return true;
        return false;
}

/* It has works, and none of them is running. */
static void make_ready(struct pw_worker *worker, struct pw_backing *backing)
{
        struct pw_backing_line *line = backing->line;

        pw_list_append(&line->ready, &backing->of_line);
        if (pw_list_empty(&line->of_worker))
                pw_list_append(&worker->ready, &line->of_worker);
}

/* Another line is the next, and in this one another backing. */
static struct pw_backing *next_ready(struct pw_worker *worker)
{
        struct pw_backing_line *line = pw_list_first(&worker->ready, struct pw_backing_line, of_worker);
        struct pw_backing *backing = pw_list_first(&line->ready, struct pw_backing, of_line);

        pw_list_remove(&backing->of_line);
        pw_list_remove(&line->of_worker);
        if (!pw_list_empty(&line->ready))
                pw_list_append(&worker->ready, &line->of_worker);
        return backing;
}

/* The next work, if no thread is at one; NULL: none. */
static struct item *take(struct pw_worker *worker)
{
        struct item *item;
        uint64_t now_us = pw_now_us();

        if (pw_list_empty(&worker->ready) || is_working(worker, now_us))
                return NULL;
        item = pw_list_first(&next_ready(worker)->todo, struct item, link);
        pw_list_remove(&item->link);
        pw_list_append(&worker->running, &item->link);
        item->since_us = now_us;
        return item;
}

/* The rest of a punch stays the first, so that what makes pages in the same place again does not overtake it. */
static void step_done(struct pw_worker *worker, struct item *item, bool more, uint64_t gone)
{
        struct pw_backing *backing = item->work.backing;

        item->gone = pw_min_u64(item->gone + gone, item->work.leaving.bytes);
        pw_list_remove(&item->link);
        if (more && item->work.punch)
                pw_list_prepend(&backing->todo, &item->link);
        else
                pw_list_append(more ? &backing->todo : &worker->done, &item->link);
        if (!pw_list_empty(&backing->todo))
                make_ready(worker, backing);
        if (more && item->gone > item->known && pw_list_empty(&item->of_gone))
                pw_list_append(&worker->gone, &item->of_gone);
        if (!more || !pw_list_empty(&item->of_gone))
                tell_loop(worker);
}

/* When the one at rest has to look again though nothing is asked: UINT64_MAX: never. */
static uint64_t next_look_us(struct pw_worker *worker)
{
        uint64_t next_us = UINT64_MAX, now_us = pw_now_us();
        struct item *item;

        pw_list_each(&worker->running, item, struct item, link) {
                if (now_us < item->since_us + LATE_US && !pw_list_empty(&worker->ready))
                        next_us = pw_min_u64(next_us, item->since_us + LATE_US);
                else if (!item->asked && now_us < item->since_us + TOLD_US)
                        next_us = pw_min_u64(next_us, item->since_us + TOLD_US);
                else if (!item->asked) {
                        item->asked = true;
                        tell_loop(worker);
                }
        }
        return next_us;
}

static void *work_loop(void *context);

/* Nobody joins it: it may be held by a client for ever. */
static int start_thread(struct pw_worker *worker)
{
        int number = pw_thread_start(work_loop, worker, 0);

        worker->threads += number == 0;
        worker->resting += number == 0;
        return number;
}

static void *work_loop(void *context)
{
        struct pw_worker *worker = context;
        struct item *item;
        uint64_t gone;
        bool more;

        pthread_mutex_lock(&worker->lock);
        while (!worker->stop) {
                item = take(worker);
                if (!item) {
                        pw_thread_wait(&worker->changed, &worker->lock, next_look_us(worker));
                        continue;
                }
                if (!--worker->resting)
                        (void)start_thread(worker); /* without one, others wait for this one, or for the next work that is asked */
                pthread_mutex_unlock(&worker->lock);
                more = do_next(item, &gone);
                pthread_mutex_lock(&worker->lock);
                worker->resting++;
                step_done(worker, item, more, gone);
        }
        worker->threads--;
        pthread_cond_broadcast(&worker->changed);
        pthread_mutex_unlock(&worker->lock);
        return NULL;
}

/* The pages are there, and booked by nobody: from now on they count as overhead, until they are granted again or the memfd goes. */
static void refused(struct pw_worker *worker, const struct pw_memory_work *work, const char *why)
{
        work->backing->refused++;
        pw_log(&worker->daemon->log, PW_LOG_ERROR, "pages not given back offset=%llu bytes=%llu reason=\"%s\"",
               (unsigned long long)work->offset, (unsigned long long)work->bytes, why);
        pw_overhead_refresh(worker->daemon);
}

static void tell(struct pw_worker *worker, const struct pw_memory_work *work, enum pw_status status)
{
        if (work->measure)
                pw_measure_done(work->measure, status);
        else if (work->from)
                pw_frozen_copied(worker->daemon, work->token, status);
        else if (work->token)
                pw_store_populated(worker->daemon->store, work->token, status, pw_now_us());
}

static void let_go(const struct pw_memory_work *work)
{
        pw_backing_worked(work->backing);
        if (work->from)
                pw_backing_worked(work->from);
}

/* Of what it was to give back, so much is gone. */
static void tell_gone(struct pw_worker *worker, struct item *item, uint64_t gone)
{
        uint64_t bytes = gone - item->known;

        item->known = gone;
        item->work.backing->leaving_bytes -= bytes;
        pw_store_pages_gone(worker->daemon->store, item->work.leaving.owner, bytes, pw_now_us());
}

static void report(struct pw_worker *worker, struct item *item)
{
        tell_gone(worker, item, item->work.leaving.bytes);
        if (item->work.punch && item->status != PW_OK)
                refused(worker, &item->work, item->why);
        /* Lanes, or what nobody was granted: its tenant has less; what was measured meanwhile took some for gone or there. */
        if (item->work.punch)
                pw_overhead_returned(item->work.backing);
        let_go(&item->work);
        tell(worker, &item->work, item->status);
        free(item);
}

static void tell_late(struct pw_worker *worker)
{
        uint64_t now_us = pw_now_us();
        struct item *item;

        pw_list_each(&worker->running, item, struct item, link) {
                if (item->told || now_us < item->since_us + TOLD_US)
                        continue;
                item->told = true;
                pw_log(&worker->daemon->log, PW_LOG_WARNING,
                       "memfd of a client is held for 1 s, as by who writes to its descriptor: its own room waits tenant=%s",
                       item->work.backing->tenant ? item->work.backing->tenant->name : "-");
        }
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        struct pw_worker *worker = context;
        struct pw_list finished;
        struct item *item;
        char bytes[64];

        (void)what;
        pw_woken(&worker->daemon->loop);
        while (read(fd, bytes, sizeof bytes) > 0) {
        }
        pw_list_init(&finished);
        pthread_mutex_lock(&worker->lock);
        tell_late(worker);
        pw_list_each(&worker->gone, item, struct item, of_gone) {
                pw_list_remove(&item->of_gone);
                tell_gone(worker, item, item->gone);
        }
        pw_list_each(&worker->done, item, struct item, link) {
                pw_list_remove(&item->link);
                pw_list_append(&finished, &item->link);
        }
        pthread_mutex_unlock(&worker->lock);
        pw_list_each(&finished, item, struct item, link) {
                pw_list_remove(&item->link);
                report(worker, item);
        }
        worker->daemon->loop.more = true;
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
        pthread_cond_init(&worker->changed, NULL);
        pw_list_init(&worker->ready);
        pw_list_init(&worker->running);
        pw_list_init(&worker->done);
        pw_list_init(&worker->gone);
        if (pipe2(worker->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                number = errno;
                pw_worker_free(worker);
                return pw_error_errno(ret_err, number, "pipe of the worker");
        }
        worker->event = event_new(daemon->loop.base, worker->pipe_fds[0], EV_READ | EV_PERSIST, on_done, worker);
        pthread_mutex_lock(&worker->lock);
        number = !worker->event || event_add(worker->event, NULL) < 0 ? ENOMEM : start_thread(worker);
        pthread_mutex_unlock(&worker->lock);
        if (number) {
                pw_worker_free(worker);
                return pw_error_errno(ret_err, number, "thread of the worker");
        }
        *ret_worker = worker;
        return PW_OK;
}

/* Its backing is ready with its first work, unless it has one that is running. */
static void enqueue(struct pw_worker *worker, struct item *item)
{
        struct pw_backing *backing = item->work.backing;
        const struct item *running;
        bool busy = !pw_list_empty(&backing->todo);

        pw_list_each(&worker->running, running, struct item, link)
                busy |= running->work.backing == backing;
        pw_list_append(&backing->todo, &item->link);
        if (!busy)
                make_ready(worker, backing);
}

void pw_worker_ask(struct pw_worker *worker, const struct pw_memory_work *work)
{
        enum pw_work_way way = pw_pinned_keep(worker->daemon, work);
        struct item *item = way == PW_WORK_NOW ? calloc(1, sizeof *item) : NULL;

        if (way == PW_WORK_LATER)
                return;
        if (!item) {
                pw_unmap(&(struct pw_map){ work->unmap.base, work->unmap.bytes, work->unmap.writable });
                tell(worker, work, PW_NO_MEMORY);
                pw_store_pages_gone(worker->daemon->store, work->leaving.owner, work->leaving.bytes, pw_now_us());
                if (work->punch)
                        refused(worker, work, "pathwaysd is out of memory");
                return;
        }
        item->work = *work;
        pw_list_init(&item->of_gone);
        work->backing->leaving_bytes += work->leaving.bytes;
        pw_backing_work(work->backing);
        if (work->from)
                pw_backing_work(work->from);
        pthread_mutex_lock(&worker->lock);
        enqueue(worker, item);
        if (!worker->resting)
                (void)start_thread(worker); /* there was none to be had when the last one went to work */
        pthread_cond_signal(&worker->changed);
        pthread_mutex_unlock(&worker->lock);
}

bool pw_worker_is_held(struct pw_worker *worker, const struct pw_backing *backing)
{
        uint64_t now_us = pw_now_us();
        const struct item *item;
        bool held = false;

        pthread_mutex_lock(&worker->lock);
        pw_list_each(&worker->running, item, struct item, link)
                held |= item->work.backing == backing && now_us >= item->since_us + HELD_US;
        pthread_mutex_unlock(&worker->lock);
        return held;
}

static void free_items(struct pw_list *list)
{
        struct item *item;

        while (!pw_list_empty(list)) {
                item = pw_list_first(list, struct item, link);
                pw_list_remove(&item->link);
                pw_list_remove(&item->of_gone);
                pw_unmap(&item->work.unmap);
                let_go(&item->work);
                pw_measure_free(item->work.measure);
                free(item);
        }
}

/* What nobody runs is dropped; each backing lives while the item that is freed has it. */
static void free_ready(struct pw_worker *worker)
{
        struct pw_backing *backing;

        while (!pw_list_empty(&worker->ready)) {
                backing = next_ready(worker);
                pw_backing_keep(backing);
                free_items(&backing->todo);
                pw_backing_unkeep(backing);
        }
}

/* False: a thread is held still. */
static bool stop_threads(struct pw_worker *worker)
{
        uint64_t until_us = pw_now_us() + LEAVE_US;
        bool stopped;

        pthread_mutex_lock(&worker->lock);
        worker->stop = true;
        pthread_cond_broadcast(&worker->changed);
        while (worker->threads && pw_now_us() < until_us)
                pw_thread_wait(&worker->changed, &worker->lock, until_us);
        stopped = !worker->threads;
        pthread_mutex_unlock(&worker->lock);
        return stopped;
}

void pw_worker_free(struct pw_worker *worker)
{
        if (!worker)
                return;
        bool stopped = stop_threads(worker);
        pw_pinned_done(worker->daemon);
        free_ready(worker);
        free_items(&worker->done);
        if (worker->event)
                event_free(worker->event);
        pw_close_fd(&worker->pipe_fds[0]);
        if (!stopped)
                return; /* it is theirs: the process is about to end */
        pw_close_fd(&worker->pipe_fds[1]);
        pthread_cond_destroy(&worker->changed);
        pthread_mutex_destroy(&worker->lock);
        free(worker);
}

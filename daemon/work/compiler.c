/* A few threads, a list of tenants whose turn it is, a pipe that the loop reads. */
#include "daemon/work/compiler.h"

#include "base/memory.h"
#include "daemon/thread.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <unistd.h>

#define THREADS_MAX 4u

struct pw_compiler {
        struct pw_daemon *daemon;
        struct pw_compile_lane lane;
        pthread_mutex_t lock;   /* of all that follows, and of lanes */
        pthread_cond_t changed;
        struct pw_list ready;   /* lanes with works of which none is under way */
        struct pw_list done;    /* works */
        uint32_t ready_count;   /* lanes there */
        uint32_t threads, resting;
        bool stop;
        int pipe_fds[2];
        struct event *event;
};

void pw_compile_lane_init(struct pw_compile_lane *lane)
{
        *lane = (struct pw_compile_lane){ .busy = false };
        pw_list_init(&lane->ready);
        pw_list_init(&lane->todo);
}

struct pw_compile_lane *pw_compiler_lane(struct pw_compiler *compiler) { return &compiler->lane; }

static void make_ready(struct pw_compiler *compiler, struct pw_compile_lane *lane)
{
        pw_list_append(&compiler->ready, &lane->ready);
        compiler->ready_count++;
}

/* The next work of the tenant whose turn it is. */
static struct pw_compile_work *take(struct pw_compiler *compiler)
{
        struct pw_compile_lane *lane;
        struct pw_compile_work *work;

        if (pw_list_empty(&compiler->ready))
                return NULL;
        lane = pw_list_first(&compiler->ready, struct pw_compile_lane, ready);
        pw_list_remove(&lane->ready);
        compiler->ready_count--;
        work = pw_list_first(&lane->todo, struct pw_compile_work, link);
        pw_list_remove(&work->link);
        lane->busy = true;
        return work;
}

static void give_back(struct pw_compiler *compiler, struct pw_compile_work *work)
{
        struct pw_compile_lane *lane = work->lane;
        bool first = pw_list_empty(&compiler->done);

        lane->busy = false;
        if (!pw_list_empty(&lane->todo))
                make_ready(compiler, lane);
        pw_list_append(&compiler->done, &work->link);
        if (first && TEMP_FAILURE_RETRY(write(compiler->pipe_fds[1], "", 1)) < 0 && errno != EAGAIN)
                compiler->stop = true; /* the pipe is gone: so is the loop */
}

static void *work_loop(void *context)
{
        struct pw_compiler *compiler = context;
        struct pw_compile_work *work;

        pthread_mutex_lock(&compiler->lock);
        while (!compiler->stop) {
                work = take(compiler);
                if (!work) {
                        compiler->resting++;
                        pw_thread_wait(&compiler->changed, &compiler->lock, UINT64_MAX);
                        compiler->resting--;
                        continue;
                }
                pthread_mutex_unlock(&compiler->lock);
                work->work(work);
                pthread_mutex_lock(&compiler->lock);
                give_back(compiler, work);
        }
        compiler->threads--;
        pthread_cond_broadcast(&compiler->changed);
        pthread_mutex_unlock(&compiler->lock);
        return NULL;
}

static int start_thread(struct pw_compiler *compiler)
{
        int number = pw_thread_start(work_loop, compiler, 0);

        compiler->threads += number == 0;
        return number;
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        struct pw_compiler *compiler = context;
        struct pw_compile_work *work;
        struct pw_list finished;
        char bytes[64];

        (void)what;
        pw_woken(&compiler->daemon->loop);
        while (read(fd, bytes, sizeof bytes) > 0) {
        }
        pw_list_init(&finished);
        pthread_mutex_lock(&compiler->lock);
        pw_list_each(&compiler->done, work, struct pw_compile_work, link) {
                pw_list_remove(&work->link);
                pw_list_append(&finished, &work->link);
        }
        pthread_mutex_unlock(&compiler->lock);
        while (!pw_list_empty(&finished)) {
                work = pw_list_first(&finished, struct pw_compile_work, link);
                pw_list_remove(&work->link);
                work->done(work);
        }
        compiler->daemon->loop.more = true;
}

enum pw_status pw_compiler_new(struct pw_daemon *daemon, struct pw_compiler **ret_compiler, struct pw_error *ret_err)
{
        struct pw_compiler *compiler = calloc(1, sizeof *compiler);
        int number;

        if (!compiler)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the compiler");
        compiler->daemon = daemon;
        pw_compile_lane_init(&compiler->lane);
        compiler->pipe_fds[0] = compiler->pipe_fds[1] = -1;
        pthread_mutex_init(&compiler->lock, NULL);
        pthread_cond_init(&compiler->changed, NULL);
        pw_list_init(&compiler->ready);
        pw_list_init(&compiler->done);
        if (pipe2(compiler->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                number = errno;
                pw_compiler_free(compiler);
                return pw_error_errno(ret_err, number, "pipe of the compiler");
        }
        compiler->event = event_new(daemon->loop.base, compiler->pipe_fds[0], EV_READ | EV_PERSIST, on_done, compiler);
        pthread_mutex_lock(&compiler->lock);
        number = !compiler->event || event_add(compiler->event, NULL) < 0 ? ENOMEM : start_thread(compiler);
        pthread_mutex_unlock(&compiler->lock);
        if (number) {
                pw_compiler_free(compiler);
                return pw_error_errno(ret_err, number, "thread of the compiler");
        }
        *ret_compiler = compiler;
        return PW_OK;
}

void pw_compiler_ask(struct pw_compiler *compiler, struct pw_compile_work *work_keep)
{
        struct pw_compile_lane *lane = work_keep->lane;

        pthread_mutex_lock(&compiler->lock);
        pw_list_append(&lane->todo, &work_keep->link);
        if (!lane->busy && pw_list_empty(&lane->ready))
                make_ready(compiler, lane);
        if (compiler->ready_count > compiler->resting && compiler->threads < THREADS_MAX) /* who was woken rests until it runs */
                (void)start_thread(compiler); /* without another one it waits for those that there are */
        pthread_cond_signal(&compiler->changed);
        pthread_mutex_unlock(&compiler->lock);
}

void pw_compiler_free(struct pw_compiler *compiler)
{
        if (!compiler)
                return;
        pthread_mutex_lock(&compiler->lock);
        compiler->stop = true;
        pthread_cond_broadcast(&compiler->changed);
        while (compiler->threads)
                pw_thread_wait(&compiler->changed, &compiler->lock, UINT64_MAX);
        pthread_mutex_unlock(&compiler->lock);
        if (compiler->event)
                event_free(compiler->event);
        pw_close_fd(&compiler->pipe_fds[0]);
        pw_close_fd(&compiler->pipe_fds[1]);
        pthread_cond_destroy(&compiler->changed);
        pthread_mutex_destroy(&compiler->lock);
        free(compiler);
}

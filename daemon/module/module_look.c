/* The thread that looks, its queue and its pipe. */
#include "daemon/module/module_look.h"

#include "base/memory.h"
#include "daemon/thread.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/syscall.h>

#define LEAVE_US 1000000u /* how long the end waits for the thread */

struct pw_looker {
        struct pw_daemon *daemon;
        pw_looked_fn looked;
        pthread_mutex_t lock;        /* of all that follows */
        pthread_cond_t changed;
        struct pw_list asked, done;  /* looks */
        bool runs, stop;
        int pipe_fds[2];
        struct event *event;
};

static void tell_loop(struct pw_looker *looker)
{
        if (TEMP_FAILURE_RETRY(write(looker->pipe_fds[1], "", 1)) < 0 && errno != EAGAIN)
                looker->stop = true; /* the pipe is gone: so is the loop */
}

static void look_at(struct pw_looker *looker, struct pw_module_look *look)
{
        pw_list_remove(&look->link);
        look->begun = true;
        pthread_mutex_unlock(&looker->lock);
        look->status = pw_module_file_read(&look->query, &look->file, &look->err);
        pthread_mutex_lock(&looker->lock);
        pw_list_append(&looker->done, &look->link);
        tell_loop(looker);
}

static void *look_loop(void *context)
{
        struct pw_looker *looker = context;

        if (geteuid() == 0)
                (void)syscall(SYS_setgroups, 0, NULL); /* of this thread: groups of the daemon's give no executor rights */
        pthread_mutex_lock(&looker->lock);
        while (!looker->stop) {
                if (pw_list_empty(&looker->asked))
                        pw_thread_wait(&looker->changed, &looker->lock, UINT64_MAX);
                else
                        look_at(looker, pw_list_first(&looker->asked, struct pw_module_look, link));
        }
        looker->runs = false;
        pthread_cond_broadcast(&looker->changed);
        pthread_mutex_unlock(&looker->lock);
        return NULL;
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        struct pw_looker *looker = context;
        struct pw_module_look *look;
        struct pw_list finished;
        char bytes[64];

        (void)what;
        pw_woken(&looker->daemon->loop);
        while (read(fd, bytes, sizeof bytes) > 0) {
        }
        pw_list_init(&finished);
        pthread_mutex_lock(&looker->lock);
        pw_list_each(&looker->done, look, struct pw_module_look, link) {
                pw_list_remove(&look->link);
                pw_list_append(&finished, &look->link);
        }
        pthread_mutex_unlock(&looker->lock);
        while (!pw_list_empty(&finished)) {
                look = pw_list_first(&finished, struct pw_module_look, link);
                pw_list_remove(&look->link);
                looker->looked(looker->daemon, look);
        }
        looker->daemon->loop.more = true;
}

enum pw_status pw_looker_new(struct pw_daemon *daemon, pw_looked_fn looked, struct pw_looker **ret_looker, struct pw_error *ret_err)
{
        struct pw_looker *looker = calloc(1, sizeof *looker);
        int number = 0;

        if (!looker)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for modules");
        looker->daemon = daemon;
        looker->looked = looked;
        pthread_mutex_init(&looker->lock, NULL);
        pthread_cond_init(&looker->changed, NULL);
        pw_list_init(&looker->asked);
        pw_list_init(&looker->done);
        if (pipe2(looker->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                number = errno;
                free(looker);
                return pw_error_errno(ret_err, number, "pipe of the thread that reads modules");
        }
        looker->event = event_new(daemon->loop.base, looker->pipe_fds[0], EV_READ | EV_PERSIST, on_done, looker);
        if (!looker->event || event_add(looker->event, NULL) < 0)
                number = ENOMEM;
        else
                number = pw_thread_start(look_loop, looker, 0);
        looker->runs = number == 0;
        if (number) {
                pw_looker_free(looker, NULL);
                return pw_error_errno(ret_err, number, "thread that reads modules");
        }
        *ret_looker = looker;
        return PW_OK;
}

void pw_looker_ask(struct pw_looker *looker, struct pw_module_look *look_keep)
{
        pthread_mutex_lock(&looker->lock);
        look_keep->begun = false;
        look_keep->file.fd = -1;
        pw_list_append(&looker->asked, &look_keep->link);
        pthread_cond_signal(&looker->changed);
        pthread_mutex_unlock(&looker->lock);
}

bool pw_looker_begun(struct pw_looker *looker, const struct pw_module_look *look)
{
        bool begun;

        pthread_mutex_lock(&looker->lock);
        begun = look->begun;
        pthread_mutex_unlock(&looker->lock);
        return begun;
}

static bool stop_thread(struct pw_looker *looker)
{
        uint64_t until_us = pw_now_us() + LEAVE_US;
        bool stopped;

        pthread_mutex_lock(&looker->lock);
        looker->stop = true;
        pthread_cond_broadcast(&looker->changed);
        while (looker->runs && pw_now_us() < until_us)
                pw_thread_wait(&looker->changed, &looker->lock, until_us);
        stopped = !looker->runs;
        pthread_mutex_unlock(&looker->lock);
        return stopped;
}

static void drop_all(struct pw_list *looks, void (*drop)(struct pw_module_look *))
{
        while (!pw_list_empty(looks)) {
                struct pw_module_look *look = pw_list_first(looks, struct pw_module_look, link);

                pw_list_remove(&look->link);
                drop(look);
        }
}

void pw_looker_free(struct pw_looker *looker, void (*drop)(struct pw_module_look *look))
{
        if (!looker)
                return;
        bool stopped = stop_thread(looker);
        if (looker->event)
                event_free(looker->event);
        pthread_mutex_lock(&looker->lock); /* a thread that is held may come back at any time */
        drop_all(&looker->asked, drop);
        drop_all(&looker->done, drop);
        pthread_mutex_unlock(&looker->lock);
        pw_close_fd(&looker->pipe_fds[0]);
        if (!stopped)
                return; /* it is the thread's: the process is about to end */
        pw_close_fd(&looker->pipe_fds[1]);
        pthread_cond_destroy(&looker->changed);
        pthread_mutex_destroy(&looker->lock);
        free(looker);
}

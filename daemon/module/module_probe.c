/* The thread that probes, its queue and its pipe. */
#include "daemon/module/module_probe.h"

#include "base/memory.h"
#include "daemon/thread.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/syscall.h>

#define LEAVE_US 1000000u /* how long the end waits for the thread */

struct pw_prober {
        struct pw_daemon *daemon;
        pw_probed_fn probed;
        pthread_mutex_t lock;        /* of all that follows */
        pthread_cond_t changed;
        struct pw_list asked, done;  /* probes */
        bool runs, stop;
        int pipe_fds[2];
        struct event *event;
};

static void tell_loop(struct pw_prober *prober)
{
        if (TEMP_FAILURE_RETRY(write(prober->pipe_fds[1], "", 1)) < 0 && errno != EAGAIN)
                prober->stop = true; /* the pipe is gone: so is the loop */
}

static void probe_file(struct pw_prober *prober, struct pw_module_probe *probe)
{
        pw_list_remove(&probe->link);
        probe->begun = true;
        pthread_mutex_unlock(&prober->lock);
        probe->status = pw_module_file_read(&probe->query, &probe->file, &probe->err);
        pthread_mutex_lock(&prober->lock);
        pw_list_append(&prober->done, &probe->link);
        tell_loop(prober);
}

static void *probe_loop(void *context)
{
        struct pw_prober *prober = context;

        if (geteuid() == 0)
                (void)syscall(SYS_setgroups, 0, NULL); /* of this thread: groups of the daemon's give no executor rights */
        pthread_mutex_lock(&prober->lock);
        while (!prober->stop) {
                if (pw_list_empty(&prober->asked))
                        pw_thread_wait(&prober->changed, &prober->lock, UINT64_MAX);
                else
                        probe_file(prober, pw_list_first(&prober->asked, struct pw_module_probe, link));
        }
        prober->runs = false;
        pthread_cond_broadcast(&prober->changed);
        pthread_mutex_unlock(&prober->lock);
        return NULL;
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        struct pw_prober *prober = context;
        struct pw_module_probe *probe;
        struct pw_list finished;
        char bytes[64];

        (void)what;
        pw_woken(&prober->daemon->loop);
        while (read(fd, bytes, sizeof bytes) > 0) {
        }
        pw_list_init(&finished);
        pthread_mutex_lock(&prober->lock);
        pw_list_each(&prober->done, probe, struct pw_module_probe, link) {
                pw_list_remove(&probe->link);
                pw_list_append(&finished, &probe->link);
        }
        pthread_mutex_unlock(&prober->lock);
        while (!pw_list_empty(&finished)) {
                probe = pw_list_first(&finished, struct pw_module_probe, link);
                pw_list_remove(&probe->link);
                prober->probed(prober->daemon, probe);
        }
        prober->daemon->loop.more = true;
}

enum pw_status pw_prober_new(struct pw_daemon *daemon, pw_probed_fn probed, struct pw_prober **ret_prober, struct pw_error *ret_err)
{
        struct pw_prober *prober = calloc(1, sizeof *prober);
        int number = 0;

        if (!prober)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for modules");
        prober->daemon = daemon;
        prober->probed = probed;
        pthread_mutex_init(&prober->lock, NULL);
        pthread_cond_init(&prober->changed, NULL);
        pw_list_init(&prober->asked);
        pw_list_init(&prober->done);
        if (pipe2(prober->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                number = errno;
                free(prober);
                return pw_error_errno(ret_err, number, "pipe of the thread that reads modules");
        }
        prober->event = event_new(daemon->loop.base, prober->pipe_fds[0], EV_READ | EV_PERSIST, on_done, prober);
        if (!prober->event || event_add(prober->event, NULL) < 0)
                number = ENOMEM;
        else
                number = pw_thread_start(probe_loop, prober, 0);
        prober->runs = number == 0;
        if (number) {
                pw_prober_free(prober, NULL);
                return pw_error_errno(ret_err, number, "thread that reads modules");
        }
        *ret_prober = prober;
        return PW_OK;
}

void pw_prober_ask(struct pw_prober *prober, struct pw_module_probe *probe_keep)
{
        pthread_mutex_lock(&prober->lock);
        probe_keep->begun = false;
        probe_keep->file.fd = -1;
        pw_list_append(&prober->asked, &probe_keep->link);
        pthread_cond_signal(&prober->changed);
        pthread_mutex_unlock(&prober->lock);
}

bool pw_prober_begun(struct pw_prober *prober, const struct pw_module_probe *probe)
{
        bool begun;

        pthread_mutex_lock(&prober->lock);
        begun = probe->begun;
        pthread_mutex_unlock(&prober->lock);
        return begun;
}

static bool stop_thread(struct pw_prober *prober)
{
        uint64_t until_us = pw_now_us() + LEAVE_US;
        bool stopped;

        pthread_mutex_lock(&prober->lock);
        prober->stop = true;
        pthread_cond_broadcast(&prober->changed);
        while (prober->runs && pw_now_us() < until_us)
                pw_thread_wait(&prober->changed, &prober->lock, until_us);
        stopped = !prober->runs;
        pthread_mutex_unlock(&prober->lock);
        return stopped;
}

static void drop_all(struct pw_list *probes, void (*drop)(struct pw_module_probe *))
{
        while (!pw_list_empty(probes)) {
                struct pw_module_probe *probe = pw_list_first(probes, struct pw_module_probe, link);

                pw_list_remove(&probe->link);
                drop(probe);
        }
}

void pw_prober_free(struct pw_prober *prober, void (*drop)(struct pw_module_probe *probe))
{
        if (!prober)
                return;
        bool stopped = stop_thread(prober);
        if (prober->event)
                event_free(prober->event);
        pthread_mutex_lock(&prober->lock); /* a thread that is held may come back at any time */
        drop_all(&prober->asked, drop);
        drop_all(&prober->done, drop);
        pthread_mutex_unlock(&prober->lock);
        pw_close_fd(&prober->pipe_fds[0]);
        if (!stopped)
                return; /* it is the thread's: the process is about to end */
        pw_close_fd(&prober->pipe_fds[1]);
        pthread_cond_destroy(&prober->changed);
        pthread_mutex_destroy(&prober->lock);
        free(prober);
}

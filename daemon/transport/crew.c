/* A list of works, a few threads, an eventfd that the loop reads. */
#include "daemon/transport/crew.h"

#include "daemon/loop.h"
#include "daemon/thread.h"

#include <errno.h>
#include <event2/event.h>
#include <openssl/crypto.h>
#include <sys/eventfd.h>

#define WORKERS_MAX 4u

struct pw_crew {
        struct pw_loop *loop;
        pthread_mutex_t lock;   /* of all that follows */
        pthread_cond_t changed;
        struct pw_list todo, done; /* works */
        uint32_t todo_count, workers, resting, guests;
        bool stop;
        int wake_fd;
        struct event *event;
};

/* With the lock. */
static void give_back(struct pw_crew *crew, struct pw_crew_work *work)
{
        bool first = pw_list_empty(&crew->done);

        pw_list_append(&crew->done, &work->link);
        if (first)
                (void)!write(crew->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t)); /* it fails at its highest count alone */
}

static void *worker_loop(void *context)
{
        struct pw_crew *crew = context;
        struct pw_crew_work *work;

        pthread_mutex_lock(&crew->lock);
        while (!crew->stop) {
                if (pw_list_empty(&crew->todo)) {
                        crew->resting++;
                        pw_thread_wait(&crew->changed, &crew->lock, UINT64_MAX);
                        crew->resting--;
                        continue;
                }
                work = pw_list_first(&crew->todo, struct pw_crew_work, link);
                pw_list_remove(&work->link);
                crew->todo_count--;
                pthread_mutex_unlock(&crew->lock);
                work->work(work);
                pthread_mutex_lock(&crew->lock);
                give_back(crew, work);
        }
        pthread_mutex_unlock(&crew->lock);
        OPENSSL_thread_stop(); /* who waits for this thread may end the process then */
        pthread_mutex_lock(&crew->lock);
        crew->workers--;
        pthread_cond_broadcast(&crew->changed);
        pthread_mutex_unlock(&crew->lock);
        return NULL;
}

static void *guest_run(void *context)
{
        struct pw_crew_work *work = context;
        struct pw_crew *crew = work->crew;

        work->work(work);
        OPENSSL_thread_stop();
        pthread_mutex_lock(&crew->lock);
        give_back(crew, work);
        crew->guests--;
        pthread_cond_broadcast(&crew->changed);
        pthread_mutex_unlock(&crew->lock);
        return NULL;
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        struct pw_crew *crew = context;
        struct pw_crew_work *work;
        struct pw_list finished;
        uint64_t times;

        (void)what;
        pw_woken(crew->loop);
        (void)!read(fd, &times, sizeof times);
        pw_list_init(&finished);
        pthread_mutex_lock(&crew->lock);
        pw_list_splice(&finished, &crew->done);
        pthread_mutex_unlock(&crew->lock);
        while (!pw_list_empty(&finished)) {
                work = pw_list_first(&finished, struct pw_crew_work, link);
                pw_list_remove(&work->link);
                work->done(work);
        }
        crew->loop->more = true;
}

enum pw_status pw_crew_new(struct pw_loop *loop, struct pw_crew **ret_crew, struct pw_error *ret_err)
{
        struct pw_crew *crew = calloc(1, sizeof *crew);
        int number = 0;

        if (!crew)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a transport");
        crew->loop = loop;
        pthread_mutex_init(&crew->lock, NULL);
        pthread_cond_init(&crew->changed, NULL);
        pw_list_init(&crew->todo);
        pw_list_init(&crew->done);
        crew->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (crew->wake_fd < 0)
                number = errno;
        else if (!(crew->event = event_new(loop->base, crew->wake_fd, EV_READ | EV_PERSIST, on_done, crew)) ||
                 event_add(crew->event, NULL) < 0)
                number = ENOMEM;
        if (number) {
                pw_crew_free(crew);
                return pw_error_errno(ret_err, number, "eventfd of a transport");
        }
        *ret_crew = crew;
        return PW_OK;
}

enum pw_status pw_crew_ask(struct pw_crew *crew, struct pw_crew_work *work_keep, struct pw_error *ret_err)
{
        int number = 0;

        work_keep->crew = crew;
        pthread_mutex_lock(&crew->lock);
        if (crew->todo_count >= crew->resting && crew->workers < WORKERS_MAX) { /* who was woken rests until it runs */
                number = pw_thread_start(worker_loop, crew, 0);
                crew->workers += number == 0;
        }
        if (crew->workers) {
                number = 0; /* without another one it waits for those that there are */
                pw_list_append(&crew->todo, &work_keep->link);
                crew->todo_count++;
                pthread_cond_signal(&crew->changed);
        }
        pthread_mutex_unlock(&crew->lock);
        return number ? pw_error_errno(ret_err, number, "thread of a transport") : PW_OK;
}

enum pw_status pw_crew_ask_guest(struct pw_crew *crew, struct pw_crew_work *work_keep, struct pw_error *ret_err)
{
        int number;

        work_keep->crew = crew;
        pthread_mutex_lock(&crew->lock);
        number = pw_thread_start(guest_run, work_keep, 0);
        crew->guests += number == 0;
        pthread_mutex_unlock(&crew->lock);
        return number ? pw_error_errno(ret_err, number, "thread of a bulk stream") : PW_OK;
}

void pw_crew_free(struct pw_crew *crew)
{
        if (!crew)
                return;
        pthread_mutex_lock(&crew->lock);
        crew->stop = true;
        pthread_cond_broadcast(&crew->changed);
        while (crew->workers || crew->guests)
                pw_thread_wait(&crew->changed, &crew->lock, UINT64_MAX);
        pthread_mutex_unlock(&crew->lock);
        if (crew->event)
                event_free(crew->event);
        pw_close_fd(&crew->wake_fd);
        pthread_cond_destroy(&crew->changed);
        pthread_mutex_destroy(&crew->lock);
        free(crew);
}

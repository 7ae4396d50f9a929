/* Being told: a list of futures that are waited for, a list of those that are ready, and a descriptor that says there are some. */
#include "libclient/object/notify.h"

#include "base/memory.h"
#include "libclient/object/unref.h"
#include "libclient/socket/descriptor.h"
#include "libclient/uncancelled.h"
#include "plane/hint.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/eventfd.h>

struct list {
        struct pw_future **items;
        size_t count, capacity;
};

struct pw_notifier {
        pthread_mutex_t lock; /* guards what follows */
        struct pw_descriptor event; /* readable while something is ready, or the session has ended */
        bool ended, running;
        struct list waiting, ready;
        size_t told; /* of `ready` */
        pthread_t thread;
        _Atomic uint32_t changes; /* of `waiting` by others than the thread, and of `ended`: it sleeps on this word too */
};

static bool list_reserve(struct list *list, size_t count)
{
        if (count <= list->capacity)
                return true;
        size_t capacity = count < 32 ? 32 : 2 * count;
        struct pw_future **items = realloc(list->items, capacity * sizeof *items);
        if (!items)
                return false;
        list->items = items;
        list->capacity = capacity;
        return true;
}

/* An eventfd is told from another one by nothing: whoever closed this one has closed the session's socket too, or broken a rule. */
static bool holds_event(struct pw_session *session)
{
        return pw_connection_holds(session->connection) && pw_descriptor_is_ours(&session->notifier->event);
}

static void signal_event(struct pw_session *session)
{
        uint64_t one = 1;
        if (holds_event(session))
                (void)!write(session->notifier->event.fd, &one, sizeof one);
}

static void wake(struct pw_notifier *notifier)
{
        atomic_fetch_add(&notifier->changes, 1);
        pw_futex_wake(&notifier->changes, INT_MAX);
}

/* --- the thread --------------------------------------------------------------------------------------------------------- */

/* Or its session has ended. The lock is held, which what hears of that end takes: so this asks nobody why. */
static bool is_ready_locked(const struct pw_future *future)
{
        return !pw_session_alive(pw_future_session(future)) || pw_future_status(pw_future_word(future)) != PW_NOT_READY;
}

/* Move what is ready to the other list, which has room for all. The lock is held. */
static void sort_locked(struct pw_session *session)
{
        struct pw_notifier *notifier = session->notifier;
        size_t kept = 0, ready_before = notifier->ready.count;
        for (size_t i = 0; i < notifier->waiting.count; i++) {
                struct pw_future *future = notifier->waiting.items[i];
                if (!is_ready_locked(future))
                        notifier->waiting.items[kept++] = future;
                else
                        notifier->ready.items[notifier->ready.count++] = future;
        }
        notifier->waiting.count = kept;
        if (notifier->ready.count > ready_before)
                signal_event(session);
}

static void *notify(void *argument)
{
        struct pw_session *session = argument;
        struct pw_notifier *notifier = session->notifier;
        struct list mine = { 0 }; /* what it waits for: the lists may move meanwhile */
        bool ended = false;
        while (!ended) {
                pthread_mutex_lock(&notifier->lock);
                uint32_t changes = atomic_load(&notifier->changes);
                sort_locked(session);
                ended = notifier->ended;
                mine.count = list_reserve(&mine, notifier->waiting.count) ? notifier->waiting.count : 0;
                if (mine.count)
                        memcpy(mine.items, notifier->waiting.items, mine.count * sizeof *mine.items);
                bool short_of_memory = mine.count < notifier->waiting.count;
                pthread_mutex_unlock(&notifier->lock);
                if (ended)
                        break;
                bool slept = mine.count && pw_future_await_any(mine.items, mine.count, &notifier->changes, changes) == PW_OK;
                int64_t until_ns = mine.count || short_of_memory ? pw_now_ns() + INT64_C(1000) * PW_SECOND_LOOK_US : INT64_MAX;
                if (!slept)
                        pw_futex_wait(&notifier->changes, changes, until_ns);
        }
        free(mine.items);
        return NULL;
}

static enum pw_status thread_start_locked(struct pw_session *session, struct pw_error *ret_err)
{
        struct pw_notifier *notifier = session->notifier;
        sigset_t all, before;
        if (notifier->running)
                return PW_OK;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's */
        int failed = pthread_create(&notifier->thread, NULL, notify, session);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (failed)
                return pw_error_errno(ret_err, failed, "start the session's thread for notifications");
        pthread_setname_np(notifier->thread, "pathways-notify");
        notifier->running = true;
        return PW_OK;
}

/* --- life cycle --------------------------------------------------------------------------------------------------------- */

static enum pw_status notifier_new(struct pw_notifier **ret_notifier, struct pw_error *ret_err)
{
        struct pw_notifier *notifier = calloc(1, sizeof *notifier);
        if (!notifier)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for notifications");
        notifier->event = pw_descriptor_of(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (notifier->event.fd < 0) {
                int number = errno;
                free(notifier);
                return pw_error_errno(ret_err, number, "eventfd");
        }
        pthread_mutex_init(&notifier->lock, NULL);
        *ret_notifier = notifier;
        return PW_OK;
}

/* The session's, made by the first call. */
static enum pw_status notifier_get(struct pw_session *session, struct pw_notifier **ret_notifier, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        pthread_mutex_lock(&session->lock);
        if (!session->notifier)
                status = notifier_new(&session->notifier, ret_err);
        *ret_notifier = session->notifier;
        pthread_mutex_unlock(&session->lock);
        if (status == PW_OK && !pw_session_alive(session)) /* it may have ended before there was anybody to tell */
                pw_notifier_gone(session);
        return status;
}

void pw_notifier_gone(struct pw_session *session)
{
        pthread_mutex_lock(&session->lock);
        struct pw_notifier *notifier = session->notifier;
        pthread_mutex_unlock(&session->lock);
        if (!notifier)
                return;
        pthread_mutex_lock(&notifier->lock);
        notifier->ended = true;
        signal_event(session);
        pthread_mutex_unlock(&notifier->lock);
        wake(notifier);
}

void pw_notifier_end(struct pw_session *session)
{
        struct pw_notifier *notifier = session->notifier;
        if (!notifier)
                return;
        if (notifier->running)
                pthread_join(notifier->thread, NULL);
        for (size_t i = notifier->told; i < notifier->ready.count; i++)
                pw_future_release(notifier->ready.items[i]);
        for (size_t i = 0; i < notifier->waiting.count; i++)
                pw_future_release(notifier->waiting.items[i]);
        free(notifier->ready.items);
        free(notifier->waiting.items);
        if (holds_event(session))
                pw_descriptor_close(&notifier->event);
        pthread_mutex_destroy(&notifier->lock);
        free(notifier);
        session->notifier = NULL;
}

/* --- public ------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_session_fd(struct pw_session *session, int *ret_fd, struct pw_error *ret_err)
{
        pw_uncancelled;
        struct pw_notifier *notifier;
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_fd, "ret_fd", ret_err);
        if (status == PW_OK)
                status = notifier_get(session, &notifier, ret_err);
        if (status == PW_OK)
                *ret_fd = notifier->event.fd;
        return status;
}

static enum pw_status add(struct pw_session *session, struct pw_notifier *notifier, struct pw_future *future,
                          struct pw_error *ret_err)
{
        size_t left = notifier->ready.count - notifier->told;
        if (notifier->told) {
                memmove(notifier->ready.items, notifier->ready.items + notifier->told, left * sizeof *notifier->ready.items);
                notifier->ready.count = left;
                notifier->told = 0;
        }
        if (!list_reserve(&notifier->waiting, notifier->waiting.count + 1) ||
            !list_reserve(&notifier->ready, notifier->waiting.count + 1 + left))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to note one more future");
        enum pw_status status = thread_start_locked(session, ret_err);
        if (status == PW_OK)
                notifier->waiting.items[notifier->waiting.count++] = pw_ref(future);
        return status;
}

enum pw_status pw_notify(struct pw_future *future, struct pw_error *ret_err)
{
        pw_uncancelled;
        struct pw_notifier *notifier;
        enum pw_status status = pw_future_check(future, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_session *session = pw_future_session(future);
        status = notifier_get(session, &notifier, ret_err);
        if (status != PW_OK)
                return status;
        pthread_mutex_lock(&notifier->lock);
        status = add(session, notifier, future, ret_err);
        pthread_mutex_unlock(&notifier->lock);
        if (status == PW_OK)
                wake(notifier);
        return status;
}

enum pw_status pw_notified(struct pw_session *session, struct pw_future **ret_future, struct pw_error *ret_err)
{
        pw_uncancelled;
        struct pw_notifier *notifier;
        if (!session || atomic_load(session->life) == PW_LIFE_FORKED)
                return pw_session_check(session, ret_err);
        enum pw_status status = pw_given_check(ret_future, "ret_future", ret_err);
        if (status == PW_OK)
                status = notifier_get(session, &notifier, ret_err);
        if (status != PW_OK)
                return status;
        pthread_mutex_lock(&notifier->lock);
        bool any = notifier->told < notifier->ready.count, ended = notifier->ended;
        if (any)
                *ret_future = notifier->ready.items[notifier->told++];
        if (notifier->told == notifier->ready.count && !ended && holds_event(session)) {
                uint64_t count;
                (void)!read(notifier->event.fd, &count, sizeof count);
        }
        pthread_mutex_unlock(&notifier->lock);
        if (any)
                return PW_OK;
        return ended ? pw_session_check(session, ret_err) : pw_error_set(ret_err, PW_NOT_READY, "nothing has become ready");
}

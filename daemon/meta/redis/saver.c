/* A thread that writes a member's file. */
#include "daemon/meta/redis/saver.h"

#include "base/memory.h"
#include "daemon/loop.h"
#include "daemon/meta/redis/state.h"
#include "daemon/thread.h"

#define LEAVE_US 1000000u /* how long the end waits for the thread */

struct pw_redis_saver {
        pthread_mutex_t lock;  /* of all that follows */
        pthread_cond_t changed;
        char *folder, *text;   /* text: what is to be written; NULL where `waits`: the file is to be removed */
        bool waits, runs;      /* something is to be done; there is a thread */
        bool ended, left;      /* the owner wants it to end; it waits no longer, and the thread frees this */
        bool failed;           /* err was not told */
        struct pw_error err;
};

static void free_saver(struct pw_redis_saver *saver)
{
        pthread_cond_destroy(&saver->changed);
        pthread_mutex_destroy(&saver->lock);
        free(saver->text);
        free(saver->folder);
        free(saver);
}

enum pw_status pw_redis_saver_new(const char *folder, struct pw_redis_saver **ret_saver, struct pw_error *ret_err)
{
        struct pw_redis_saver *saver = calloc(1, sizeof *saver);

        if (saver)
                saver->folder = strdup(folder);
        if (!saver || !saver->folder) {
                free(saver);
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for metadata");
        }
        pthread_mutex_init(&saver->lock, NULL);
        pthread_cond_init(&saver->changed, NULL);
        *ret_saver = saver;
        return PW_OK;
}

/* What waits, without the lock. */
static void do_one(struct pw_redis_saver *saver)
{
        struct pw_error err = { PW_OK, "" };
        enum pw_status status = PW_OK;
        char *text = saver->text;

        saver->text = NULL;
        saver->waits = false;
        pthread_mutex_unlock(&saver->lock);
        if (text)
                status = pw_redis_state_write(saver->folder, text, &err);
        else
                pw_redis_state_remove(saver->folder);
        free(text);
        pthread_mutex_lock(&saver->lock);
        saver->failed = status != PW_OK;
        if (saver->failed)
                saver->err = err;
}

static void *save_loop(void *argument)
{
        struct pw_redis_saver *saver = argument;
        bool last;

        pthread_mutex_lock(&saver->lock);
        while (saver->waits || !saver->ended) {
                if (saver->waits)
                        do_one(saver);
                else
                        pw_thread_wait(&saver->changed, &saver->lock, UINT64_MAX);
        }
        saver->runs = false;
        last = saver->left;
        pthread_cond_broadcast(&saver->changed);
        pthread_mutex_unlock(&saver->lock);
        if (last)
                free_saver(saver);
        return NULL;
}

void pw_redis_saver_put(struct pw_redis_saver *saver, char *text_take)
{
        pthread_mutex_lock(&saver->lock);
        free(saver->text);
        saver->text = text_take;
        saver->waits = true;
        if (!saver->runs)
                saver->runs = pw_thread_start(save_loop, saver, 0) == 0;
        if (!saver->runs)
                do_one(saver);
        pthread_cond_broadcast(&saver->changed);
        pthread_mutex_unlock(&saver->lock);
}

bool pw_redis_saver_failed(struct pw_redis_saver *saver, struct pw_error *ret_err)
{
        bool failed;

        pthread_mutex_lock(&saver->lock);
        failed = saver->failed;
        if (failed)
                *ret_err = saver->err;
        saver->failed = false;
        pthread_mutex_unlock(&saver->lock);
        return failed;
}

bool pw_redis_saver_free(struct pw_redis_saver *saver)
{
        uint64_t until_us = pw_now_us() + LEAVE_US;
        bool runs;

        if (!saver)
                return true;
        pthread_mutex_lock(&saver->lock);
        saver->ended = true;
        pthread_cond_broadcast(&saver->changed);
        while (saver->runs && pw_now_us() < until_us)
                pw_thread_wait(&saver->changed, &saver->lock, until_us);
        runs = saver->left = saver->runs;
        pthread_mutex_unlock(&saver->lock);
        if (!runs)
                free_saver(saver);
        return !runs;
}

/* Made once, when the first executor is started. What stands in its way is no reason not to start. */
#include "daemon/child/cuda_cache.h"

#include "base/memory.h"
#include "daemon/child/spawn.h"
#include "daemon/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/fsuid.h>

#define VARIABLE "CUDA_CACHE_PATH"
#define FOLDER_NAME "cuda-cache"

static bool has_gpus(const struct pw_settings *settings)
{
        for (uint32_t i = 0; i < settings->kinds.count; i++)
                if (!strcmp(settings->kinds.of[i].name, "cuda"))
                        return true;
        return false;
}

/* By the rights of executors, which this thread takes meanwhile: a folder above may be closed to them. */
static enum pw_status try_reach(const char *path, const struct pw_executor_user *user, struct pw_error *ret_err)
{
        int fd, number;

        setfsgid(user->gid);
        setfsuid(user->uid);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        number = errno;
        setfsgid(getegid());
        setfsuid(geteuid());
        if (fd < 0)
                return pw_error_set(ret_err, PW_DENIED, "%s: user %u, as whom executors run, does not get there: %s", path,
                                    (unsigned)user->uid, strerror(number));
        close(fd);
        return PW_OK;
}

static enum pw_status make(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_executor_user user;
        pw_auto_free char *path = NULL;
        enum pw_status status = pw_executor_user(daemon, &user, ret_err);

        if (status != PW_OK)
                return status;
        if (!user.change) {
                user.uid = geteuid();
                user.gid = getegid();
        }
        if (asprintf(&path, "%s/" FOLDER_NAME, daemon->state_dir) < 0) {
                path = NULL;
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for its name");
        }
        status = pw_own_folder_for(daemon->state_dir, FOLDER_NAME, user.uid, user.gid, ret_err);
        return status == PW_OK && user.change ? try_reach(path, &user, ret_err) : status;
}

char *pw_cuda_cache(struct pw_daemon *daemon)
{
        struct pw_children *children = &daemon->children;
        const char *given = daemon->environment.cuda_cache;
        struct pw_error err;
        char *text;

        if (!has_gpus(&daemon->settings))
                return NULL;
        if (!given && !children->tried_cache) {
                children->has_cache = make(daemon, &err) == PW_OK;
                if (!children->has_cache)
                        pw_log(&daemon->log, PW_LOG_WARNING,
                               "code for GPUs is compiled anew in each executor, no folder keeps it reason=\"%s\"", err.text);
                children->tried_cache = true;
        }
        if (!given && !children->has_cache)
                return NULL;
        return asprintf(&text, VARIABLE "=%s%s", given ? given : daemon->state_dir, given ? "" : "/" FOLDER_NAME) < 0 ? NULL : text;
}

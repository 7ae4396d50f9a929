/* Made once, when the first executor is started. What stands in its way is no reason not to start. */
#include "daemon/child/cuda_cache.h"

#include "base/memory.h"
#include "daemon/child/spawn.h"
#include "daemon/own_file.h"

#include <stdio.h>

#define VARIABLE "CUDA_CACHE_PATH"
#define FOLDER_NAME "cuda-cache"

static bool has_gpus(const struct pw_settings *settings)
{
        for (uint32_t i = 0; i < settings->kinds.count; i++)
                if (!strcmp(settings->kinds.of[i].name, "cuda"))
                        return true;
        return false;
}

static enum pw_status make(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_executor_user user;
        enum pw_status status = pw_executor_user(daemon, &user, ret_err);

        if (status != PW_OK)
                return status;
        if (!user.change) {
                user.uid = geteuid();
                user.gid = getegid();
        }
        return pw_own_folder_for(daemon->state_dir, FOLDER_NAME, user.uid, user.gid, ret_err);
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

/* What every function does first: it is counted, and fails where the configuration says so. Results have NCCL's texts. */
#include "tests/fake_nccl/fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic uint64_t counts[FAKE_CALLS];
static const char *const names[FAKE_CALLS] = {
#define NAME(name, type, parameters) #name,
        PW_NCCL_FUNCTION_MAP(NAME)
#undef NAME
};
static const char *_Atomic last = "";

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;

/* In the file that the configuration has for a text. */
static FILE *text_append(const char *text)
{
        char path[2 * FAKE_TEXT_BYTES];
        bool is_whole = *text == '/';
        FILE *file;

        snprintf(path, sizeof path, "%s%s%s", is_whole ? "" : fake_conf()->folder, is_whole ? "" : "/", text);
        file = fopen(path, "ae");
        if (!file)
                fake_abort("cannot append to %s", path);
        return file;
}

/* Who ends in the midst of things has no counts: a line for each call, but for those that ask what a communicator does. */
static void trace(enum fake_call call)
{
        FILE *file;

        if (!*fake_conf()->trace || call == FAKE_ncclCommGetAsyncError)
                return;
        file = text_append(fake_conf()->trace);
        fprintf(file, "%d %s\n", (int)getpid(), names[call]);
        fclose(file);
}

__attribute__((noreturn)) static void hang(void)
{
        for (;;)
                pause();
}

enum pw_nccl_result fake_enter(enum fake_call call)
{
        const struct fake_conf *conf = fake_conf();
        uint64_t count = atomic_fetch_add(&counts[call], 1) + 1;

        trace(call);
        for (uint32_t i = 0; i < conf->fail_count; i++)
                if (conf->fails[i].call != call || conf->fails[i].at != count)
                        continue;
                else if (conf->fails[i].result == FAKE_HANGS)
                        hang();
                else
                        return fake_error(conf->fails[i].result, "the configuration has this call fail");
        return PW_NCCL_SUCCESS;
}

enum pw_nccl_result fake_error(enum pw_nccl_result result, const char *text)
{
        last = text;
        return result;
}

uint64_t fake_nccl_calls(const char *name)
{
        for (uint32_t i = 0; i < FAKE_CALLS; i++)
                if (!strcmp(name, names[i]))
                        return counts[i];
        fake_abort("no function %s", name);
}

/* One write of the whole, so that processes do not mix their lines. */
__attribute__((destructor)) void fake_nccl_counts(void)
{
        char text[FAKE_CALLS * 64];
        size_t bytes = 0;
        FILE *file;

        if (!*fake_conf()->counts)
                return;
        for (uint32_t i = 0; i < FAKE_CALLS; i++)
                if (counts[i])
                        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%d %s %" PRIu64 "\n", (int)getpid(), names[i],
                                                  counts[i]);
        file = text_append(fake_conf()->counts);
        setvbuf(file, NULL, _IOFBF, sizeof text);
        fwrite(text, 1, bytes, file);
        fclose(file);
}

enum pw_nccl_result ncclGetVersion(int *ret_version)
{
        enum pw_nccl_result result = fake_enter(FAKE_ncclGetVersion);

        if (!result)
                *ret_version = (int)fake_conf()->version;
        return result;
}

const char *ncclGetErrorString(enum pw_nccl_result result)
{
        fake_enter(FAKE_ncclGetErrorString);
        switch (result) {
        case PW_NCCL_SUCCESS: return "no error";
        case PW_NCCL_UNHANDLED_CUDA_ERROR: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
        case PW_NCCL_SYSTEM_ERROR: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case PW_NCCL_INTERNAL_ERROR: return "internal error - please report this issue to the NCCL developers";
        case PW_NCCL_INVALID_ARGUMENT: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case PW_NCCL_INVALID_USAGE: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case PW_NCCL_REMOTE_ERROR: return "remote process exited or there was a network error";
        case PW_NCCL_IN_PROGRESS: return "NCCL operation in progress";
        }
        return "unknown result code";
}

const char *ncclGetLastError(struct ncclComm *comm)
{
        (void)comm;
        fake_enter(FAKE_ncclGetLastError);
        return last;
}

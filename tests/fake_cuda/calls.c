/* What every function of the driver does first: it is counted, fails where the configuration says so, and where it is called out
 * of its turn. Results have names. */
#include "tests/fake_cuda/fake.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic uint64_t counts[FAKE_CALLS];
static const struct { const char *field, *symbol; } names[FAKE_CALLS] = {
#define NAMES(field, symbol, parameters) { #field, #symbol },
        PW_CUDA_FUNCTION_MAP(NAMES)
#undef NAMES
};
static const struct { enum pw_cuda_result result; const char *name; bool sticks; } results[] = {
        { PW_CUDA_SUCCESS, "CUDA_SUCCESS", false },
#define RESULT(name, number, sticks) { PW_CUDA_##name, "CUDA_ERROR_" #name, sticks },
        PW_CUDA_RESULT_MAP(RESULT)
#undef RESULT
};

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t fake_maps = PTHREAD_RWLOCK_INITIALIZER;

static bool does_stick(enum pw_cuda_result result)
{
        for (size_t i = 0; i < pw_array_count(results); i++)
                if (results[i].result == result)
                        return results[i].sticks;
        return false;
}

/* What the configuration has this call fail with. */
static enum pw_cuda_result fail_find(enum fake_call call, uint64_t count)
{
        const struct fake_conf *conf = fake_conf();

        for (uint32_t i = 0; i < conf->fail_count; i++)
                if (conf->fails[i].call == call && conf->fails[i].at == count)
                        return conf->fails[i].result;
        return PW_CUDA_SUCCESS;
}

static bool is_before_init(enum fake_call call)
{
        return call == FAKE_cuInit || call == FAKE_cuDriverGetVersion || call == FAKE_cuGetErrorName ||
               call == FAKE_cuGetErrorString;
}

enum pw_cuda_result fake_enter(enum fake_call call)
{
        enum pw_cuda_result result = fail_find(call, atomic_fetch_add(&counts[call], 1) + 1);
        struct CUctx_st *context = fake_current();

        if (!is_before_init(call) && !fake_is_started())
                return PW_CUDA_NOT_INITIALIZED;
        if (context && does_stick(result)) {
                pthread_mutex_lock(&fake_lock);
                context->error = context->error ? context->error : result;
                pthread_cond_broadcast(&fake_changed);
                pthread_mutex_unlock(&fake_lock);
        }
        return result;
}

enum pw_cuda_result fake_enter_context(enum fake_call call, struct CUctx_st **ret_context)
{
        enum pw_cuda_result result = fake_enter(call);
        struct CUctx_st *context = fake_current();

        if (result)
                return result;
        if (!context)
                return PW_CUDA_INVALID_CONTEXT;
        pthread_mutex_lock(&fake_lock);
        result = context->holders ? context->error : PW_CUDA_CONTEXT_IS_DESTROYED;
        pthread_mutex_unlock(&fake_lock);
        *ret_context = context;
        return result;
}

uint64_t fake_cuda_calls(const char *name)
{
        for (uint32_t i = 0; i < FAKE_CALLS; i++)
                if (!strcmp(name, names[i].field) || !strcmp(name, names[i].symbol))
                        return counts[i];
        fake_abort("no function %s", name);
}

/* One write of the whole, so that processes do not mix their lines. */
__attribute__((destructor)) void fake_cuda_counts(void)
{
        char path[2 * FAKE_TEXT_BYTES], text[FAKE_CALLS * 64];
        size_t bytes = 0;
        FILE *file;

        if (!*fake_conf()->counts)
                return;
        for (uint32_t i = 0; i < FAKE_CALLS; i++)
                if (counts[i])
                        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%d %s %" PRIu64 "\n", (int)getpid(),
                                                  names[i].field, counts[i]);
        file = fopen(fake_conf_path(fake_conf()->counts, path), "ae");
        if (!file)
                fake_abort("cannot append to %s", path);
        setvbuf(file, NULL, _IOFBF, sizeof text);
        fwrite(text, 1, bytes, file);
        fclose(file);
}

enum pw_cuda_result cuGetErrorName(enum pw_cuda_result result, const char **ret_name)
{
        enum pw_cuda_result failed = fake_enter(FAKE_cuGetErrorName);

        for (size_t i = 0; !failed && i < pw_array_count(results); i++) {
                if (results[i].result == result) {
                        *ret_name = results[i].name;
                        return PW_CUDA_SUCCESS;
                }
        }
        *ret_name = NULL;
        return failed ? failed : PW_CUDA_INVALID_VALUE;
}

/* A real one has sentences. */
enum pw_cuda_result cuGetErrorString(enum pw_cuda_result result, const char **ret_text)
{
        enum pw_cuda_result failed = fake_enter(FAKE_cuGetErrorString);

        *ret_text = NULL;
        for (size_t i = 0; !failed && i < pw_array_count(results); i++)
                if (results[i].result == result)
                        *ret_text = result == PW_CUDA_OUT_OF_MEMORY ? "out of memory" : "an error of the fake";
        if (failed)
                return failed;
        return *ret_text ? PW_CUDA_SUCCESS : PW_CUDA_INVALID_VALUE;
}

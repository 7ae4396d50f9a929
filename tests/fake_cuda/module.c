/* Modules: loaded from PTX. What an entry does is a function of the host, NAME__fake, in one of the libraries that the
 * configuration names. */
#include "tests/fake_cuda/fake.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARIES_MAX 16u

struct CUmod_st {
        struct pw_list link;
        struct CUctx_st *context;
        struct pw_list functions; /* of struct CUfunc_st */
};

static struct pw_list all = { &all, &all };
static void *libraries[LIBRARIES_MAX];
static uint32_t library_count;

void fake_kernels_open(void)
{
        char paths[FAKE_TEXT_BYTES], path[2 * FAKE_TEXT_BYTES], *rest = NULL;

        memcpy(paths, fake_conf()->kernels, sizeof paths);
        for (char *one = strtok_r(paths, ":", &rest); one; one = strtok_r(NULL, ":", &rest)) {
                void *library = dlopen(fake_conf_path(one, path), RTLD_NOW | RTLD_LOCAL);
                void *(**hook)(unsigned long long address);

                if (!library || library_count == LIBRARIES_MAX)
                        fake_abort("kernels = %s: %s", one, library ? "one too many" : dlerror());
                libraries[library_count++] = library;
                hook = dlsym(library, "fake_cuda_at_hook"); /* of kernels that tests/kernels/cuda_shim.h compiled */
                if (hook)
                        *hook = fake_argument_at;
        }
}

static void functions_free(struct pw_list *functions)
{
        struct CUfunc_st *function;

        pw_list_each(functions, function, struct CUfunc_st, link)
                free(function);
}

/* What is wrong goes where the caller asked for it, cut to fit; and its bytes where it said how many fit. */
static void log_write(uint32_t count, const enum pw_cuda_jit_option *options, void **values, const char *why)
{
        uint32_t buffer = count, size = count;
        uintptr_t bytes;

        for (uint32_t i = 0; i < count; i++) {
                buffer = options[i] == PW_CUDA_JIT_ERROR_LOG_BUFFER ? i : buffer;
                size = options[i] == PW_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES ? i : size;
        }
        if (buffer == count || size == count)
                return;
        bytes = (uintptr_t)values[size];
        if (bytes)
                snprintf(values[buffer], bytes, "%s", why);
        values[size] = (void *)(strlen(why) < bytes ? strlen(why) : bytes);
}

static enum pw_cuda_result load(struct CUctx_st *context, const char *text, char why[FAKE_TEXT_BYTES], struct CUmod_st **ret_module)
{
        struct CUmod_st *module = calloc(1, sizeof *module);
        enum pw_cuda_result result;
        struct CUfunc_st *function;

        if (!module)
                return PW_CUDA_OUT_OF_MEMORY;
        pw_list_init(&module->functions);
        module->context = context;
        result = fake_ptx_read(text, &module->functions, why);
        if (result) {
                functions_free(&module->functions);
                free(module);
                return result;
        }
        pw_list_each(&module->functions, function, struct CUfunc_st, link)
                function->context = context;
        *ret_module = module;
        return PW_CUDA_SUCCESS;
}

/* As a driver does: what it has compiled is kept in $CUDA_CACHE_PATH, in a file that is named by what it is of. */
static void cache_write(const char *text)
{
        const char *folder = getenv("CUDA_CACHE_PATH");
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        char path[2 * FAKE_TEXT_BYTES];
        int fd;

        if (!folder || !*folder)
                return;
        for (const char *at = text; *at; at++)
                hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
        (void)mkdir(folder, 0700);
        snprintf(path, sizeof path, "%s/%016llx", folder, (unsigned long long)hash);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0)
                close(fd);
}

/* Loading at once, as we have it, waits for what the device does. */
enum pw_cuda_result cuModuleLoadDataEx(struct CUmod_st **ret_module, const void *image, unsigned option_count,
                                       enum pw_cuda_jit_option *options, void **values)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuModuleLoadDataEx, &context);
        char why[FAKE_TEXT_BYTES] = "";
        struct CUmod_st *module = NULL;

        if (result || !image)
                return result ? result : PW_CUDA_INVALID_VALUE;
        result = load(context, image, why, &module);
        log_write(option_count, options, values, why);
        if (result)
                return result;
        cache_write(image);
        pthread_mutex_lock(&fake_lock);
        result = fake_context_wait(context);
        pw_list_append(&all, &module->link);
        pthread_mutex_unlock(&fake_lock);
        *ret_module = module;
        return result;
}

static bool is_module(const struct CUmod_st *module)
{
        struct CUmod_st *one;

        pw_list_each(&all, one, struct CUmod_st, link)
                if (one == module)
                        return true;
        return false;
}

/* What was launched goes on: it has all that it needs. */
enum pw_cuda_result cuModuleUnload(struct CUmod_st *module)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuModuleUnload, &context);

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (is_module(module)) {
                pw_list_remove(&module->link);
                functions_free(&module->functions);
                free(module);
        } else {
                result = PW_CUDA_INVALID_HANDLE;
        }
        pthread_mutex_unlock(&fake_lock);
        return result;
}

/* Its host form. Kernels that hang or trap need none. */
static bool kernel_find(struct CUfunc_st *function)
{
        const struct fake_conf *conf = fake_conf();
        char symbol[sizeof function->name + 8];
        void *found = NULL;

        snprintf(symbol, sizeof symbol, "%s__fake", function->name);
        for (uint32_t i = 0; i < library_count && !found; i++)
                found = dlsym(libraries[i], symbol);
        memcpy(&function->kernel, &found, sizeof found);
        return found || !strcmp(function->name, conf->hang) || !strcmp(function->name, conf->trap);
}

enum pw_cuda_result cuModuleGetFunction(struct CUfunc_st **ret_function, struct CUmod_st *module, const char *name)
{
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuModuleGetFunction, &context);
        struct CUfunc_st *function, *found = NULL;

        if (result)
                return result;
        pthread_mutex_lock(&fake_lock);
        if (is_module(module))
                pw_list_each(&module->functions, function, struct CUfunc_st, link)
                        if (!strcmp(function->name, name))
                                found = function;
        result = is_module(module) ? PW_CUDA_NOT_FOUND : PW_CUDA_INVALID_HANDLE;
        pthread_mutex_unlock(&fake_lock);
        if (!found)
                return result;
        if (!kernel_find(found))
                fake_abort("entry %s has no host form, %s__fake, in the libraries `kernels`", name, name);
        *ret_function = found;
        return PW_CUDA_SUCCESS;
}

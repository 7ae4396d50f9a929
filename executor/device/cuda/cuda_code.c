/* Code that is loaded on the device, and the kernels in it: found by who launches them, kept for the next time. */
#include "executor/device/cuda_private.h"

#include "base/list.h"
#include "base/memory.h"
#include "base/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CODES_MOST 256u /* that stay loaded */
#define LOG_BYTES 1000u

/* Code of one load of a module. */
struct loaded {
        struct pw_list link; /* the one used longest ago first */
        struct pw_list kernels;
        uint64_t serial;
        const struct pw_code *code;
        struct CUmod_st *module;
};

struct kernel {
        struct pw_list link;
        struct loaded *loaded;
        struct pw_cuda_kernel_of of; /* with a name of its own */
        struct pw_cuda_kernel found;
        char name[];
};

struct pw_cuda_code {
        struct pw_list loaded;
        uint32_t count;
        struct pw_table kernels; /* by a hash of what they are asked for by: the last of each */
};

/* FNV-1a (Fowler, Noll, Vo) of the name, from where its code is. Not 0. */
static uint64_t hash_of(const struct pw_cuda_kernel_of *of)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ of->serial * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)of->code;

        for (const char *at = of->name; *at; at++)
                hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
        return hash | 1;
}

static bool is_same(const struct pw_cuda_kernel_of *a, const struct pw_cuda_kernel_of *b)
{
        return a->serial == b->serial && a->code == b->code && !strcmp(a->name, b->name);
}

/* --- loading ------------------------------------------------------------------------------------------------------------------ */

static void loaded_free(struct pw_exec_device *device, struct loaded *loaded)
{
        struct kernel *kernel;

        pw_list_each(&loaded->kernels, kernel, struct kernel, link) {
                if (pw_table_get(&device->code->kernels, hash_of(&kernel->of)) == kernel)
                        pw_table_remove(&device->code->kernels, hash_of(&kernel->of));
                free(kernel);
        }
        pw_list_remove(&loaded->link);
        device->code->count--;
        (void)device->driver->cuModuleUnload(loaded->module);
        free(loaded);
}

/* Nothing of it may run. */
static void make_way(struct pw_exec_device *device)
{
        if (device->code->count < CODES_MOST)
                return;
        (void)device->driver->cuStreamSynchronize(device->launches);
        loaded_free(device, pw_list_first(&device->code->loaded, struct loaded, link));
}

/* The driver's compiler has a word for PTX of a target that it has not heard of, others for one that this GPU is not. */
static bool is_for_another(enum pw_cuda_result result, const char *log)
{
        return result == PW_CUDA_NO_BINARY_FOR_GPU ||
                (result == PW_CUDA_INVALID_PTX && (strstr(log, "Unsupported .target") || strstr(log, "by .target is higher") ||
                                                   strstr(log, "cannot be compiled to architecture")));
}

/* The driver's log of one load, which has several. */
static void lines_join(char *log)
{
        size_t end = strlen(log);

        while (end && log[end - 1] == '\n')
                log[--end] = 0;
        for (; *log; log++)
                if (*log == '\n')
                        *log = ' ';
}

static enum pw_status say_why(struct pw_exec_device *device, const struct pw_code *code, enum pw_cuda_result result,
                              const char *log, struct pw_error *ret_err)
{
        struct pw_error why;

        if (pw_cuda_failed(device, result, "loading it", &why) == PW_NO_SPACE)
                return pw_error_set(ret_err, PW_NO_SPACE, "code %s: %s", code->name, why.text);
        if (is_for_another(result, log))
                return pw_error_set(ret_err, PW_BAD_MODULE,
                                    "code %s is for another GPU than device %u: build it with PTX for an older "
                                    "architecture%s%.600s", code->name, device->params.number, log[0] ? ": " : "", log);
        if (result == PW_CUDA_UNSUPPORTED_PTX_VERSION)
                return pw_error_set(ret_err, PW_BAD_MODULE,
                                    "code %s is of a newer CUDA than the driver of device %u, %d.%d: build it with an older nvcc, "
                                    "or install a newer driver%s%.600s", code->name, device->params.number,
                                    device->driver->version / 1000, device->driver->version % 1000 / 10, log[0] ? ": " : "", log);
        return pw_error_set(ret_err, PW_BAD_MODULE, "code %s does not load on device %u: %s%s%.600s", code->name,
                            device->params.number, why.text, log[0] ? ": " : "", log);
}

static enum pw_status load(struct pw_exec_device *device, const struct pw_cuda_kernel_of *of, struct loaded **ret_loaded,
                           struct pw_error *ret_err)
{
        enum pw_cuda_jit_option options[] = { PW_CUDA_JIT_ERROR_LOG_BUFFER, PW_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
        char log[LOG_BYTES] = "";
        void *values[] = { log, (void *)(uintptr_t)(sizeof log - 1) };
        struct loaded *loaded;
        enum pw_cuda_result result;

        make_way(device);
        loaded = calloc(1, sizeof *loaded);
        if (!loaded)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for code %s", of->code->name);
        *loaded = (struct loaded){ .serial = of->serial, .code = of->code };
        result = device->driver->cuModuleLoadDataEx(&loaded->module, of->code->image, pw_array_count(options), options, values);
        if (result != PW_CUDA_SUCCESS) {
                free(loaded);
                log[sizeof log - 1] = 0;
                lines_join(log);
                return say_why(device, of->code, result, log, ret_err);
        }
        pw_list_init(&loaded->link);
        pw_list_init(&loaded->kernels);
        pw_list_append(&device->code->loaded, &loaded->link);
        device->code->count++;
        *ret_loaded = loaded;
        return PW_OK;
}

static struct loaded *find_loaded(struct pw_exec_device *device, const struct pw_cuda_kernel_of *of)
{
        struct loaded *loaded;

        pw_list_each(&device->code->loaded, loaded, struct loaded, link)
                if (loaded->serial == of->serial && loaded->code == of->code)
                        return loaded;
        return NULL;
}

static struct kernel *find_kernel(struct loaded *loaded, const struct pw_cuda_kernel_of *of)
{
        struct kernel *kernel;

        pw_list_each(&loaded->kernels, kernel, struct kernel, link)
                if (is_same(&kernel->of, of))
                        return kernel;
        return NULL;
}

static uint32_t count_params(const struct pw_cuda_driver *driver, struct CUfunc_st *function)
{
        enum pw_cuda_result result = PW_CUDA_SUCCESS;
        size_t offset, bytes;
        uint32_t count = 0;

        if (!driver->cuFuncGetParamInfo)
                return PW_CUDA_NOT_SAID;
        while ((result = driver->cuFuncGetParamInfo(function, count, &offset, &bytes)) == PW_CUDA_SUCCESS)
                count++;
        return result == PW_CUDA_INVALID_VALUE ? count : PW_CUDA_NOT_SAID; /* behind the last */
}

static enum pw_status kernel_new(struct pw_exec_device *device, struct loaded *loaded, const struct pw_cuda_kernel_of *of,
                                 struct kernel **ret_kernel, struct pw_error *ret_err)
{
        size_t name_bytes = strlen(of->name) + 1;
        struct kernel *kernel = calloc(1, sizeof *kernel + name_bytes);
        enum pw_cuda_result result;

        if (!kernel)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for kernel %s", of->name);
        kernel->loaded = loaded;
        kernel->of = (struct pw_cuda_kernel_of){ of->serial, of->code, memcpy(kernel->name, of->name, name_bytes) };
        result = device->driver->cuModuleGetFunction(&kernel->found.function, loaded->module, of->name);
        if (result != PW_CUDA_SUCCESS) {
                free(kernel);
                if (result == PW_CUDA_NOT_FOUND)
                        return pw_error_set(ret_err, PW_BAD_MODULE, "code %s has no kernel %s: is it extern \"C\"?", of->code->name,
                                            of->name);
                return pw_cuda_failed(device, result, "finding a kernel", ret_err);
        }
        kernel->found.param_count = count_params(device->driver, kernel->found.function);
        pw_list_init(&kernel->link);
        pw_list_append(&loaded->kernels, &kernel->link);
        *ret_kernel = kernel;
        return PW_OK;
}

/* One that is not the last of its hash. */
static enum pw_status find(struct pw_exec_device *device, const struct pw_cuda_kernel_of *of, struct kernel **ret_kernel,
                           struct pw_error *ret_err)
{
        struct loaded *loaded = find_loaded(device, of);
        enum pw_status status = PW_OK;

        if (!loaded)
                status = load(device, of, &loaded, ret_err);
        if (status != PW_OK)
                return status;
        *ret_kernel = find_kernel(loaded, of);
        return *ret_kernel ? PW_OK : kernel_new(device, loaded, of, ret_kernel, ret_err);
}

enum pw_status pw_cuda_kernel(struct pw_exec_device *device, const struct pw_cuda_kernel_of *of, struct pw_cuda_kernel *ret_kernel,
                              struct pw_error *ret_err)
{
        struct kernel *kernel = pw_table_get(&device->code->kernels, hash_of(of));

        if (!kernel || !is_same(&kernel->of, of)) {
                enum pw_status status = find(device, of, &kernel, ret_err);
                if (status != PW_OK)
                        return status;
                (void)!pw_table_put(&device->code->kernels, hash_of(of), kernel); /* else it is looked for again */
        }
        pw_list_remove(&kernel->loaded->link);
        pw_list_append(&device->code->loaded, &kernel->loaded->link);
        *ret_kernel = kernel->found;
        return PW_OK;
}

enum pw_status pw_cuda_code_open(struct pw_exec_device *device, struct pw_error *ret_err)
{
        device->code = calloc(1, sizeof *device->code);
        if (!device->code)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for code of device %u", device->params.number);
        pw_list_init(&device->code->loaded);
        return PW_OK;
}

void pw_cuda_code_close(struct pw_exec_device *device)
{
        struct loaded *loaded;

        if (!device->code)
                return;
        pw_list_each(&device->code->loaded, loaded, struct loaded, link)
                loaded_free(device, loaded);
        pw_table_done(&device->code->kernels);
        free(device->code);
        device->code = NULL;
}

/* --- launches ----------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_cuda_launch_own(struct pw_exec_device *device, const struct pw_cuda_kernel_of *of, struct pw_cuda_grid grid,
                                  void **args, struct pw_error *ret_err)
{
        struct pw_cuda_kernel kernel;
        enum pw_status status = pw_cuda_kernel(device, of, &kernel, ret_err);

        if (status != PW_OK)
                return status;
        return pw_cuda_check(device, device->driver->cuLaunchKernel(kernel.function, grid.blocks, 1, 1, grid.threads, 1, 1, 0,
                                                                    device->launches, args, NULL),
                             of->name, ret_err);
}

static const struct pw_code *code_of(const struct pw_device_call *call, const char *name)
{
        for (uint32_t i = 0; name && i < call->code_count; i++)
                if (!strcmp(call->codes[i].name, name))
                        return &call->codes[i];
        return NULL;
}

/* The call fails of it, whether its function looks or not: what it launches besides would make a value of nothing. */
static enum pw_status refuse(struct pw_exec_device *device, struct pw_task *task, enum pw_status status, const char *format, ...)
{
        char text[PW_CAUSE_BYTES];
        va_list args;

        if (device->launching && device->refused != PW_OK)
                return status; /* the first has its sentence */
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        (void)pw_task_fail(task, "%s", text);
        if (device->launching)
                device->refused = status;
        return status;
}

static uint32_t size_of(uint32_t size) { return size ? size : 1; }

static bool is_whole(const struct pw_kernel *kernel)
{
        bool is = kernel->name && (!kernel->arg_count || kernel->args);

        for (uint32_t i = 0; is && i < kernel->arg_count; i++)
                is = kernel->args[i];
        return is;
}

/* What the driver says of it does not say what was asked. */
static enum pw_status launch_refused(struct pw_exec_device *device, struct pw_task *task, const struct pw_kernel *kernel,
                                     const struct pw_error *err)
{
        return refuse(device, task, err->status == PW_SYSTEM ? PW_FAILED : err->status,
                      "launching %s, grid %ux%ux%u, block %ux%ux%u, %u bytes of shared memory, %u arguments: %s", kernel->name,
                      size_of(kernel->grid[0]), size_of(kernel->grid[1]), size_of(kernel->grid[2]), size_of(kernel->block[0]),
                      size_of(kernel->block[1]), size_of(kernel->block[2]), (unsigned)kernel->shared_bytes,
                      (unsigned)kernel->arg_count, err->text);
}

enum pw_status pw_cuda_service_launch(struct pw_task *task, const struct pw_kernel *kernel)
{
        struct pw_exec_device *device = pw_container_of(task->services, struct pw_exec_device, services);
        const struct pw_device_call *call = device->launching;
        struct pw_cuda_kernel_of of = { .name = kernel->name };
        struct pw_cuda_kernel found;
        struct pw_error err;
        enum pw_cuda_result result;

        if (!call || !is_whole(kernel))
                return refuse(device, task, PW_FAILED,
                              "a kernel without a name or one of its arguments, or outside of its function");
        of.code = code_of(call, kernel->code);
        of.serial = call->serial;
        if (!of.code)
                return refuse(device, task, PW_BAD_MODULE, "kernel %s: its module has no code %s", kernel->name,
                              kernel->code ? kernel->code : "");
        if (pw_cuda_kernel(device, &of, &found, &err) != PW_OK)
                return refuse(device, task, err.status, "%s", err.text);
        if (found.param_count != PW_CUDA_NOT_SAID && found.param_count != kernel->arg_count)
                return refuse(device, task, PW_FAILED, "kernel %s has %u parameters, and arg_count is %u", kernel->name,
                              (unsigned)found.param_count, (unsigned)kernel->arg_count);
        result = device->driver->cuLaunchKernel(found.function, size_of(kernel->grid[0]), size_of(kernel->grid[1]),
                                                size_of(kernel->grid[2]), size_of(kernel->block[0]), size_of(kernel->block[1]),
                                                size_of(kernel->block[2]), kernel->shared_bytes, device->launches,
                                                (void **)(uintptr_t)kernel->args, NULL);
        return pw_cuda_check(device, result, "the driver", &err) == PW_OK ? PW_OK : launch_refused(device, task, kernel, &err);
}

void pw_cuda_service_sleep(struct pw_task *task, uint64_t us) { (void)task, (void)us; }

enum pw_status pw_cuda_service_copy(struct pw_task *task, void *to, const void *from, uint64_t bytes)
{
        struct pw_exec_device *device = pw_container_of(task->services, struct pw_exec_device, services);
        enum pw_cuda_result result = !bytes ? PW_CUDA_SUCCESS :
                device->driver->cuMemcpyDtoDAsync((uintptr_t)to, (uintptr_t)from, bytes, device->launches);
        struct pw_error err;

        if (pw_cuda_check(device, result, "the driver", &err) == PW_OK)
                return PW_OK;
        return refuse(device, task, err.status == PW_SYSTEM ? PW_FAILED : err.status,
                      "a copy of %llu bytes from %p to %p, both of the device: %s", (unsigned long long)bytes, from, to, err.text);
}

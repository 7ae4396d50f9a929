/* Kernels: their host forms run on the thread of a stream, with copies of what they were launched with. */
#include "tests/fake_cuda/fake.h"

#include <setjmp.h>
#include <stdio.h>

#define PARAM_ALIGN 16u /* of the type with the largest */

enum kernel_kind { RUNS, HANGS, TRAPS };
struct launch {
        struct fake_work work;
        fake_kernel *kernel;
        enum kernel_kind kind;
        unsigned grid[3], block[3];
        void *args[FAKE_PARAMS_MAX];
        _Alignas(PARAM_ALIGN) char bytes[]; /* what args points to */
};
/* What runs on this thread. */
struct running { const struct CUctx_st *context; jmp_buf end; };

static FAKE_OF_THREAD struct running *running;

void *fake_cuda_at(unsigned long long address)
{
        void *memory;

        if (!running)
                fake_abort("fake_cuda_at() is for kernels");
        memory = fake_at(running->context, address, 1, false);
        if (!memory)
                longjmp(running->end, 1);
        return memory;
}

void *fake_argument_at(unsigned long long address) { return address ? fake_cuda_at(address) : NULL; }

static enum pw_cuda_result kernel_call(const struct launch *launch, const struct CUctx_st *context)
{
        struct running own = { .context = context };

        running = &own;
        if (setjmp(own.end)) {
                running = NULL;
                return PW_CUDA_ILLEGAL_ADDRESS;
        }
        launch->kernel(launch->args, launch->grid, launch->block);
        running = NULL;
        return PW_CUDA_SUCCESS;
}

/* Until the context is no more, or broken. */
static enum pw_cuda_result hang(const struct CUctx_st *context)
{
        pthread_mutex_lock(&fake_lock);
        while (context->holders && !context->error)
                pthread_cond_wait(&fake_changed, &fake_lock);
        pthread_mutex_unlock(&fake_lock);
        return PW_CUDA_SUCCESS;
}

static enum pw_cuda_result launch_run(struct fake_work *work, struct CUctx_st *context)
{
        const struct launch *launch = pw_container_of(work, struct launch, work);
        enum pw_cuda_result result;

        if (launch->kind != RUNS)
                return launch->kind == TRAPS ? PW_CUDA_LAUNCH_FAILED : hang(context);
        pthread_rwlock_rdlock(&fake_maps);
        result = kernel_call(launch, context);
        pthread_rwlock_unlock(&fake_maps);
        return result;
}

static void launch_drop(struct fake_work *work) { free(pw_container_of(work, struct launch, work)); }

static enum kernel_kind kind_of(const struct CUfunc_st *function)
{
        if (!strcmp(function->name, fake_conf()->hang))
                return HANGS;
        return strcmp(function->name, fake_conf()->trap) ? RUNS : TRAPS;
}

/* The arguments are the caller's again when the launch returns. NULL: out of memory. */
static struct launch *launch_new(const struct CUfunc_st *function, void **args)
{
        size_t bytes = 0, at = 0;
        struct launch *launch;

        for (uint32_t i = 0; i < function->param_count; i++)
                bytes += pw_round_up(function->param_bytes[i], PARAM_ALIGN);
        launch = aligned_alloc(PARAM_ALIGN, pw_round_up(sizeof *launch + bytes, PARAM_ALIGN));
        if (!launch)
                return NULL;
        launch->work = (struct fake_work){ .run = launch_run, .drop = launch_drop };
        launch->kernel = function->kernel;
        launch->kind = kind_of(function);
        for (uint32_t i = 0; i < function->param_count; i++) {
                launch->args[i] = launch->bytes + at;
                memcpy(launch->args[i], args[i], function->param_bytes[i]);
                at += pw_round_up(function->param_bytes[i], PARAM_ALIGN);
        }
        return launch;
}

static bool sizes_ok(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes)
{
        uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

        return grid[0] && grid[1] && grid[2] && grid[0] <= INT32_MAX && grid[1] <= UINT16_MAX && grid[2] <= UINT16_MAX && threads &&
               block[0] <= 1024 && block[1] <= 1024 && block[2] <= 64 && threads <= 1024 && shared_bytes <= 48u << 10;
}

enum pw_cuda_result cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared_bytes, struct CUstream_st *stream,
                                   void **args, void **extra)
{
        const unsigned grid[3] = { grid_x, grid_y, grid_z }, block[3] = { block_x, block_y, block_z };
        struct CUctx_st *context;
        enum pw_cuda_result result = fake_enter_context(FAKE_cuLaunchKernel, &context);
        struct launch *launch;

        if (!result)
                result = fake_stream_check(stream, "cuLaunchKernel");
        if (!result && (!function || function->context != context || fake_stream_context(stream) != context))
                result = PW_CUDA_INVALID_HANDLE;
        if (result)
                return result;
        if (extra)
                fake_abort("cuLaunchKernel: `extra` is left out");
        if (!sizes_ok(grid, block, shared_bytes) || (function->param_count && !args))
                return PW_CUDA_INVALID_VALUE;
        launch = launch_new(function, args);
        if (!launch)
                return PW_CUDA_OUT_OF_MEMORY;
        memcpy(launch->grid, grid, sizeof grid);
        memcpy(launch->block, block, sizeof block);
        pthread_mutex_lock(&fake_lock);
        fake_submit(stream, &launch->work);
        pthread_mutex_unlock(&fake_lock);
        return PW_CUDA_SUCCESS;
}

enum pw_cuda_result cuFuncGetParamInfo(struct CUfunc_st *function, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
        enum pw_cuda_result result = fake_enter(FAKE_cuFuncGetParamInfo);

        if (result)
                return result;
        if (!function || index >= function->param_count)
                return PW_CUDA_INVALID_VALUE;
        *ret_offset = 0;
        for (size_t i = 0; i <= index; i++)
                *ret_offset = pw_round_up(*ret_offset, function->param_bytes[i]) + (i < index ? function->param_bytes[i] : 0);
        *ret_bytes = function->param_bytes[index];
        return PW_CUDA_SUCCESS;
}

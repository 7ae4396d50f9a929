/* Loads what the shim made of .cu files, and launches it. */
#include "tests/kernels/kernels.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef void fake_kernel(void *const *args, const unsigned grid[3], const unsigned block[3]);

static void *library;

static void *open_built(const char *path)
{
        const char *top = getenv("PW_BUILD");
        char whole[4096];
        void *opened;

        snprintf(whole, sizeof whole, "%s/%s", top ? top : ".", path);
        if (access(whole, F_OK)) {
                printf("there is no %s: is there a C++ compiler?\n", whole);
                exit(77);
        }
        opened = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
        if (!opened) {
                fprintf(stderr, "%s\n", dlerror());
                exit(1);
        }
        return opened;
}

void kernels_open(const char *name)
{
        char path[256];

        snprintf(path, sizeof path, "tests/kernels/%s", name);
        library = open_built(path);
}

void kernels_addresses(void *(*at)(unsigned long long address))
{
        void *(**hook)(unsigned long long) = dlsym(library, "fake_cuda_at_hook");

        assert_non_null(hook);
        *hook = at;
}

static void launch(const char *name, const struct pw_kernel *kernel)
{
        unsigned grid[3], block[3];
        char symbol[200];
        fake_kernel *run;

        snprintf(symbol, sizeof symbol, "%s__fake", name);
        *(void **)(&run) = dlsym(library, symbol);
        if (!run)
                fail_msg("no kernel %s", name);
        for (int i = 0; i < 3; i++) {
                grid[i] = kernel->grid[i] ? kernel->grid[i] : 1;
                block[i] = kernel->block[i] ? kernel->block[i] : 1;
        }
        assert_in_range(block[0] * block[1] * block[2], 1, 1024);
        run((void *const *)kernel->args, grid, block);
}

void kernels_launch(const char *name, const void *const *args, uint32_t grid, uint32_t block)
{
        launch(name, &(struct pw_kernel){ .args = args, .grid = { grid }, .block = { block } });
}

static enum pw_status service_launch(struct pw_task *task, const struct pw_kernel *kernel)
{
        (void)task;
        launch(kernel->name, kernel);
        return PW_OK;
}

static enum pw_status service_copy(struct pw_task *task, void *to, const void *from, uint64_t bytes)
{
        (void)task;
        memcpy(to, from, bytes);
        return PW_OK;
}

static void service_sleep(struct pw_task *task, uint64_t us)
{
        (void)task;
        usleep((useconds_t)us);
}

const struct pw_task_services kernel_services = { .sleep_us = service_sleep, .launch = service_launch, .copy = service_copy };

const struct pw_function *kernels_function(const char *path, const char *name)
{
        const struct pw_module *module = dlsym(open_built(path), PW_MODULE_SYMBOL);

        for (uint32_t i = 0; module && i < module->function_count; i++)
                if (!strcmp(module->functions[i].name, name))
                        return &module->functions[i];
        fail_msg("%s has no function %s", path, name);
        return NULL;
}

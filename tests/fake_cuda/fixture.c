/* Processes with a fake driver. */
#include "tests/fake_cuda/fixture.h"

#include "base/memory.h"
#include "tests/fake_cuda/kernels.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

static const char *build(void) { return getenv("PW_BUILD") ? getenv("PW_BUILD") : "."; }

static void folder_make(struct fake *fake, const char *conf)
{
        char real[4096], path[96];
        FILE *file;

        snprintf(fake->folder, sizeof fake->folder, "/tmp/pw-fake-XXXXXX");
        assert_non_null(mkdtemp(fake->folder));
        snprintf(fake->library, sizeof fake->library, "%s/" PW_CUDA_LIBRARY, fake->folder);
        snprintf(real, sizeof real, "%s/tests/fake_cuda/.libs/" PW_CUDA_LIBRARY, build());
        assert_int_equal(symlink(real, fake->library), 0);
        snprintf(path, sizeof path, "%s/fake_cuda.conf", fake->folder);
        file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file, "# of a test\nkernels = %s/tests/fake_cuda/.libs/kernels.so\n%s", build(), conf);
        assert_int_equal(fclose(file), 0);
}

static void folder_remove(const struct fake *fake)
{
        static const char *const names[] = { PW_CUDA_LIBRARY, "fake_cuda.conf", "stderr", "counts" };
        char path[96];

        for (size_t i = 0; i < pw_array_count(names); i++) {
                snprintf(path, sizeof path, "%s/%s", fake->folder, names[i]);
                unlink(path);
        }
        assert_int_equal(rmdir(fake->folder), 0);
}

static void start(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;

        GOOD(cuda->cuInit(0));
        GOOD(cuda->cuDevicePrimaryCtxRetain(&fake->context, 0));
        GOOD(cuda->cuCtxSetCurrent(fake->context));
        GOOD(cuda->cuStreamCreate(&fake->stream, PW_CUDA_STREAM_NON_BLOCKING));
        GOOD(cuda->cuModuleLoadDataEx(&fake->module, KERNELS_PTX, 0, NULL, NULL));
        GOOD(cuda->cuMemHostAlloc((void **)&fake->word, sizeof *fake->word, 0));
}

/* In the child. A failed assertion ends it. */
static void child(struct fake *fake, bool is_bare, void (*body)(struct fake *fake), const char *log)
{
        struct pw_error err;
        int fd = log ? open(log, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : STDERR_FILENO;

        setenv("CMOCKA_TEST_ABORT", "1", 1);
        if (fd != STDERR_FILENO)
                dup2(fd, STDERR_FILENO);
        if (pw_cuda_driver_open(fake->library, &fake->driver, &err) != PW_OK)
                fail_msg("%s", err.text);
        if (!is_bare)
                start(fake);
        body(fake);
        pw_cuda_driver_close(fake->driver);
        exit(0);
}

static int run(struct fake *fake, bool is_bare, void (*body)(struct fake *fake), const char *log)
{
        int status = 0;
        pid_t pid;

        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (!pid)
                child(fake, is_bare, body, log);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

void fake_try_bare(const char *conf, void (*body)(struct fake *fake))
{
        struct fake fake = { 0 };
        int status;

        folder_make(&fake, conf);
        status = run(&fake, true, body, NULL);
        folder_remove(&fake);
        assert_int_equal(status, 0);
}

void fake_try(const char *conf, void (*body)(struct fake *fake))
{
        struct fake fake = { 0 };
        int status;

        folder_make(&fake, conf);
        status = run(&fake, false, body, NULL);
        folder_remove(&fake);
        assert_int_equal(status, 0);
}

void fake_dies(const char *conf, void (*body)(struct fake *fake), int number, const char *text)
{
        struct fake fake = { 0 };
        char log[96], said[4096] = "";
        int status;
        FILE *file;

        folder_make(&fake, conf);
        snprintf(log, sizeof log, "%s/stderr", fake.folder);
        status = run(&fake, false, body, log);
        file = fopen(log, "re");
        assert_non_null(file);
        said[fread(said, 1, sizeof said - 1, file)] = 0;
        fclose(file);
        folder_remove(&fake);
        /* A sanitizer ends a process itself, where a signal would. */
        assert_true(number == SIGSEGV ? status != 0 : WIFSIGNALED(status) && WTERMSIG(status) == number);
        if (text && !strstr(said, text))
                fail_msg("it said: %s", said);
}

struct CUfunc_st *fake_function(const struct fake *fake, const char *name)
{
        struct CUfunc_st *function;

        GOOD(fake->driver->cuModuleGetFunction(&function, fake->module, name));
        return function;
}

void fake_launch(const struct fake *fake, const char *name, struct CUstream_st *stream, void **args)
{
        GOOD(fake->driver->cuLaunchKernel(fake_function(fake, name), 4, 1, 1, 32, 1, 1, 0, stream, args, NULL));
}

void gate_close(const struct fake *fake, struct CUstream_st *stream)
{
        unsigned long long word;

        __atomic_store_n(fake->word, 0, __ATOMIC_SEQ_CST);
        GOOD(fake->driver->cuMemHostGetDevicePointer(&word, fake->word, 0));
        fake_launch(fake, "gate", stream, (void *[]){ &word });
}

void gate_open(const struct fake *fake) { __atomic_store_n(fake->word, 1, __ATOMIC_SEQ_CST); }

struct pw_cuda_allocation fake_allocation(int device)
{
        return (struct pw_cuda_allocation){ .kind = PW_CUDA_ALLOCATION_PINNED,
                                            .handle_kind = PW_CUDA_HANDLE_FD,
                                            .location = { PW_CUDA_LOCATION_DEVICE, device } };
}

unsigned long long fake_map(const struct fake *fake, uint64_t bytes, unsigned long long *ret_handle)
{
        const struct pw_cuda_allocation allocation = fake_allocation(0);
        const struct pw_cuda_access access = { { PW_CUDA_LOCATION_DEVICE, 0 }, PW_CUDA_ACCESS_READ_WRITE };
        unsigned long long address;

        GOOD(fake->driver->cuMemCreate(ret_handle, bytes, &allocation, 0));
        GOOD(fake->driver->cuMemAddressReserve(&address, bytes, 0, 0, 0));
        GOOD(fake->driver->cuMemMap(address, bytes, 0, *ret_handle, 0));
        GOOD(fake->driver->cuMemSetAccess(address, bytes, &access, 1));
        return address;
}

void *fake_symbol(const struct fake *fake, const char *name)
{
        void *found = dlsym(fake->driver->library, name);

        assert_non_null(found);
        return found;
}

/* Loading the CUDA driver, and its results as statuses. */
#include "executor/device/cuda/cuda_driver.h"

#include "base/library.h"
#include "base/memory.h"

#include <dlfcn.h>

static enum pw_status version_check(struct pw_cuda_driver *driver, const char *name, struct pw_error *ret_err)
{
        enum pw_cuda_result result = driver->cuDriverGetVersion(&driver->version);

        if (result == PW_CUDA_STUB_LIBRARY)
                return pw_error_set(ret_err, PW_UNSUPPORTED,
                                    "%s: is the toolkit's, to link with, and does nothing: let --cuda-driver name a driver's "
                                    "libcuda.so.1, or leave it out", name);
        if (result != PW_CUDA_SUCCESS)
                return pw_cuda_error(driver, result, "the version of the CUDA driver", ret_err);
        if (driver->version >= PW_CUDA_VERSION_MIN)
                return PW_OK;
        return pw_error_set(ret_err, PW_UNSUPPORTED,
                            "%s: driver too old: has CUDA %d.%d, needs %d.%d: install a newer NVIDIA driver", name,
                            driver->version / 1000, driver->version % 1000 / 10, PW_CUDA_VERSION_MIN / 1000,
                            PW_CUDA_VERSION_MIN % 1000 / 10);
}

#define SYMBOL(field, symbol, parameters) { #symbol, offsetof(struct pw_cuda_driver, field) },
static const struct pw_library_symbol needed[] = { PW_CUDA_NEEDED_MAP(SYMBOL) };
static const struct pw_library_symbol optional[] = { PW_CUDA_OPTIONAL_MAP(SYMBOL) };
#undef SYMBOL

/* An old driver lacks symbols, and its version says more than their names. */
static enum pw_status driver_find(struct pw_cuda_driver *driver, const char *name, struct pw_error *ret_err)
{
        const char *missing = pw_library_find(driver->library, needed, pw_array_count(needed), driver);
        enum pw_status status = driver->cuDriverGetVersion ? version_check(driver, name, ret_err) : PW_OK;

        (void)pw_library_find(driver->library, optional, pw_array_count(optional), driver);
        if (status == PW_OK && missing)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "%s: has no %s: this is no CUDA driver of %d.%d or newer: install one",
                                    name, missing, PW_CUDA_VERSION_MIN / 1000, PW_CUDA_VERSION_MIN % 1000 / 10);
        return status;
}

enum pw_status pw_cuda_driver_open(const char *library, struct pw_cuda_driver **ret_driver, struct pw_error *ret_err)
{
        const char *name = library && *library ? library : PW_CUDA_LIBRARY;
        struct pw_cuda_driver *driver = calloc(1, sizeof *driver);
        enum pw_status status;

        if (!driver)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the CUDA driver");
        driver->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!driver->library) {
                const char *why = dlerror();

                free(driver);
                return pw_error_set(ret_err, PW_NOT_FOUND, "no CUDA driver: %s: %s", why ? why : name,
                                    library && *library ? "let --cuda-driver name a driver's libcuda.so.1, or leave it out" :
                                                          "install the NVIDIA driver (Debian: libcuda1)");
        }
        status = driver_find(driver, name, ret_err);
        if (status != PW_OK) {
                pw_cuda_driver_close(driver);
                return status;
        }
        *ret_driver = driver;
        return PW_OK;
}

void pw_cuda_driver_close(struct pw_cuda_driver *driver)
{
        if (!driver)
                return;
        dlclose(driver->library);
        free(driver);
}

bool pw_cuda_is_sticky(enum pw_cuda_result result)
{
        switch (result) {
#define STICKS(name, number, sticks)                                                                                   \
        case PW_CUDA_##name:                                                                                           \
                return sticks;
                PW_CUDA_RESULT_MAP(STICKS)
#undef STICKS
        case PW_CUDA_SUCCESS:
                break;
        }
        return false;
}

enum pw_status pw_cuda_error(const struct pw_cuda_driver *driver, enum pw_cuda_result result, const char *what,
                             struct pw_error *ret_err)
{
        enum pw_status status = PW_SYSTEM;
        const char *name = NULL, *text = NULL;

        if (result == PW_CUDA_OUT_OF_MEMORY)
                status = PW_NO_SPACE;
        else if (pw_cuda_is_sticky(result))
                status = PW_DEVICE_LOST;
        /* Of a driver that was found in part only, either may be missing. */
        if (driver->cuGetErrorString && driver->cuGetErrorString(result, &text) != PW_CUDA_SUCCESS)
                text = NULL;
        if (driver->cuGetErrorName && driver->cuGetErrorName(result, &name) != PW_CUDA_SUCCESS)
                name = NULL;
        return pw_error_set(ret_err, status, "%s: %s (%s, %d)", what, text ? text : "unknown error", name ? name : "CUDA",
                            (int)result);
}

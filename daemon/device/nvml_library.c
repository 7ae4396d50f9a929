/* Loading NVML. */
#include "daemon/device/nvml_library.h"

#include "base/library.h"
#include "base/memory.h"

#include <dlfcn.h>

#define SYMBOL(name, type, parameters) { #name, offsetof(struct pw_nvml_library, name) },
static const struct pw_library_symbol symbols[] = { PW_NVML_FUNCTION_MAP(SYMBOL) };
static const struct pw_library_symbol optional[] = { PW_NVML_OPTIONAL_MAP(SYMBOL) };
#undef SYMBOL

static enum pw_status library_begin(struct pw_nvml_library *library, const char *name, struct pw_error *ret_err)
{
        const char *missing = pw_library_find(library->library, symbols, pw_array_count(symbols), library);
        enum pw_nvml_result result;

        if (missing)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "%s: has no %s: this is no NVML", name, missing);
        (void)pw_library_find(library->library, optional, pw_array_count(optional), library);
        result = library->nvmlInit_v2();
        if (result == PW_NVML_SUCCESS)
                return PW_OK;
        return pw_error_set(ret_err, PW_SYSTEM, "%s: nvmlInit: %s", name, library->nvmlErrorString(result));
}

/* What dlerror() gave is freed by the next call, or as the thread ends, which may be after the process was asked what it leaks. */
static void errors_forget(void)
{
        while (dlerror())
                ;
}

enum pw_status pw_nvml_library_open(const char *name, struct pw_nvml_library **ret_library, struct pw_error *ret_err)
{
        struct pw_nvml_library *library = calloc(1, sizeof *library);
        enum pw_status status;

        name = name && *name ? name : PW_NVML_LIBRARY;
        if (!library)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for NVML");
        library->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!library->library) {
                const char *why = dlerror();

                free(library);
                (void)pw_error_set(ret_err, PW_NOT_FOUND, "no NVML: %s", why ? why : name);
                errors_forget();
                return PW_NOT_FOUND;
        }
        status = library_begin(library, name, ret_err);
        if (status != PW_OK) {
                dlclose(library->library);
                free(library);
                errors_forget();
                return status;
        }
        *ret_library = library;
        return PW_OK;
}

void pw_nvml_library_close(struct pw_nvml_library *library)
{
        if (!library)
                return;
        (void)library->nvmlShutdown(); /* what it says of its end is of no use to anybody */
        dlclose(library->library);
        free(library);
}

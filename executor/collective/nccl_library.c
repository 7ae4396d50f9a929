/* Loading NCCL, and its results as statuses. */
#include "executor/collective/nccl_library.h"

#include "base/library.h"
#include "base/memory.h"

#include <dlfcn.h>

static const struct { enum pw_nccl_result result; enum pw_status status; const char *name, *text; } results[] = {
#define ROW(name, number, theirs, status, text) { PW_NCCL_##name, status, #theirs, text },
        PW_NCCL_RESULT_MAP(ROW)
#undef ROW
};

static enum pw_status version_check(struct pw_nccl_library *library, const char *name, struct pw_error *ret_err)
{
        enum pw_nccl_result result = library->ncclGetVersion(&library->version);

        if (result != PW_NCCL_SUCCESS)
                return pw_nccl_error(library, result, "the version of NCCL", ret_err);
        if (library->version >= PW_NCCL_VERSION_MIN)
                return PW_OK;
        /* Until 2.8 the major number counted 1000. */
        return pw_error_set(ret_err, PW_UNSUPPORTED, "%s: NCCL too old: is %d.%d, needs %d.%d: install a newer one", name,
                            library->version / (library->version < 10000 ? 1000 : 10000),
                            library->version % (library->version < 10000 ? 1000 : 10000) / 100, PW_NCCL_VERSION_MIN / 10000,
                            PW_NCCL_VERSION_MIN % 10000 / 100);
}

static const struct pw_library_symbol symbols[] = {
#define SYMBOL(name, type, parameters) { #name, offsetof(struct pw_nccl_library, name) },
        PW_NCCL_FUNCTION_MAP(SYMBOL)
#undef SYMBOL
};

/* An old one lacks symbols, and its version says more than their names. */
static enum pw_status library_find(struct pw_nccl_library *library, const char *name, struct pw_error *ret_err)
{
        const char *missing = pw_library_find(library->library, symbols, pw_array_count(symbols), library);
        enum pw_status status = library->ncclGetVersion ? version_check(library, name, ret_err) : PW_OK;

        if (status == PW_OK && missing)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "%s: has no %s: this is no NCCL of %d.%d or newer: install one", name,
                                    missing, PW_NCCL_VERSION_MIN / 10000, PW_NCCL_VERSION_MIN % 10000 / 100);
        return status;
}

enum pw_status pw_nccl_library_open(const char *name, struct pw_nccl_library **ret_library, struct pw_error *ret_err)
{
        struct pw_nccl_library *library = calloc(1, sizeof *library);
        bool is_given = name && *name;
        enum pw_status status;

        name = is_given ? name : PW_NCCL_LIBRARY;
        if (!library)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for NCCL");
        library->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!library->library) {
                const char *why = dlerror();

                free(library);
                return pw_error_set(ret_err, PW_NOT_FOUND,
                                    "no NCCL: %s: %sinstall NCCL %d.%d or newer (NVIDIA's package: libnccl2)", why ? why : name,
                                    is_given ? "let --nccl-library name libnccl.so.2, or leave it out and " : "",
                                    PW_NCCL_VERSION_MIN / 10000, PW_NCCL_VERSION_MIN % 10000 / 100);
        }
        status = library_find(library, name, ret_err);
        if (status != PW_OK) {
                pw_nccl_library_close(library);
                return status;
        }
        *ret_library = library;
        return PW_OK;
}

void pw_nccl_library_close(struct pw_nccl_library *library)
{
        if (!library)
                return;
        dlclose(library->library);
        free(library);
}

enum pw_status pw_nccl_error(const struct pw_nccl_library *library, enum pw_nccl_result result, const char *what,
                             struct pw_error *ret_err)
{
        /* Of a library that was found in part only, either may be missing. */
        const char *text = library->ncclGetErrorString ? library->ncclGetErrorString(result) : NULL;
        const char *last = library->ncclGetLastError ? library->ncclGetLastError(NULL) : NULL;
        const char *name = "NCCL", *meaning = "unknown to this version";
        enum pw_status status = PW_SYSTEM;

        for (size_t i = 0; i < pw_array_count(results); i++) {
                if (results[i].result == result) {
                        status = results[i].status;
                        name = results[i].name;
                        meaning = results[i].text;
                }
        }
        /* What NCCL said last may be about another call, long over: it is told where there is an error only. */
        if (result == PW_NCCL_IN_PROGRESS || !last)
                last = "";
        return pw_error_set(ret_err, status, "%s: %s (%s, %d): %s%s%s%.200s", what, text ? text : "unknown error", name,
                            (int)result, meaning, status == PW_SYSTEM ? "; pathwaysd --no-nccl does without NCCL" : "",
                            *last ? ": " : "", last);
}

/* Modules: shared libraries of functions, loaded from descriptors that the daemon hands over, one for each version: versions of one
 * module may be loaded side by side.
 *
 * A version stays loaded while a function of it is held, and a while longer: PW_MODULES_IDLE that nobody holds are kept. Its
 * descriptor is open as long as it is loaded: the loader knows libraries by their path, and /proc/self/fd/N must not name another
 * one later.
 */
#ifndef PW_EXECUTOR_PROGRAM_MODULE_H
#define PW_EXECUTOR_PROGRAM_MODULE_H

#include "base/list.h"
#include "executor/surroundings.h"
#include "pathways_module.h"

#define PW_MODULES_IDLE 16u

struct pw_loaded_module; /* a version of one */

struct pw_exec_modules {
        const struct pw_surroundings *around; /* borrowed */
        struct pw_list loaded;                /* when nobody holds it any more it becomes the last */
        uint32_t idle_count;                  /* that nobody holds */
        uint64_t serial;                      /* of the one that was loaded last */
};

void pw_modules_init(struct pw_exec_modules *modules, const struct pw_surroundings *around);
void pw_modules_done(struct pw_exec_modules *modules);

/* Is the table that a library exports one of module `name`? It is read once, when it is loaded. Errors: PW_BAD_MODULE. */
PW_MUST_CHECK enum pw_status pw_module_check(const struct pw_module *table, const char *name, struct pw_error *ret_err);

struct pw_found_function {
        const struct pw_function *function;
        struct pw_loaded_module *module; /* held until pw_module_release() */
};
/* The function `function` of version `digest` of module `module`.
 * Errors: PW_NOT_FOUND (no such module or function), PW_BAD_MODULE (does not load, other ABI), what the daemon says.
 * Blocks: where the version is not loaded yet. */
PW_MUST_CHECK enum pw_status pw_modules_find(struct pw_exec_modules *modules, const char *module, const char *function,
                                             uint64_t digest, struct pw_found_function *ret_found, struct pw_error *ret_err);
/* Accepts NULL. Functions of it may be gone afterwards. */
/* What a loaded module brings; and a number that no other load in this process has. */
const struct pw_module *pw_module_table_of(const struct pw_loaded_module *module);
uint64_t pw_module_serial(const struct pw_loaded_module *module);
void pw_module_release(struct pw_loaded_module *module);

#endif

/* Modules: shared libraries of functions, loaded from descriptors that the daemon hands over.
 *
 * A module stays loaded for the life of the process, and its descriptor open: the loader knows libraries by their path, and
 * /proc/self/fd/N must not name another one later.
 */
#ifndef PW_EXECUTOR_MODULE_H
#define PW_EXECUTOR_MODULE_H

#include "executor/surroundings.h"
#include "pathways_module.h"

struct pw_loaded_module; /* one that was asked for: its table, or why there is none */

struct pw_modules {
        const struct pw_surroundings *around; /* borrowed */
        struct pw_loaded_module *loaded;      /* latest first */
};

void pw_modules_init(struct pw_modules *modules, const struct pw_surroundings *around);
void pw_modules_done(struct pw_modules *modules);

/* Is the table that a library exports one of module `name`? It is read once, when it is loaded. Errors: PW_BAD_MODULE. */
PW_MUST_CHECK enum pw_status pw_module_check(const struct pw_module *table, const char *name, struct pw_error *ret_err);

struct pw_found_function {
        const struct pw_function *function;
        uint64_t digest; /* of its module */
};
/* The function `function` of module `module`, which must have digest `digest` (0: any).
 * Errors: PW_NOT_FOUND (no such module or function), PW_BAD_MODULE (does not load, other ABI, other digest), what the daemon
 * says.   Blocks: where the module is not loaded yet. */
PW_MUST_CHECK enum pw_status pw_modules_find(struct pw_modules *modules, const char *module, const char *function, uint64_t digest,
                                             struct pw_found_function *ret_found, struct pw_error *ret_err);

#endif

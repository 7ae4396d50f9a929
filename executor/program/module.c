/* Loading modules and finding functions in them. */
#include "executor/program/module.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <inttypes.h>

#define FUNCTIONS_MAX 65536u
#define CODES_MAX 256u

struct pw_loaded_module {
        struct pw_list link;
        struct pw_exec_modules *modules;
        char *name;
        uint64_t digest;
        uint32_t holders;
        uint64_t serial;
        int fd;
        void *handle;
        const struct pw_module *table;
};

void pw_modules_init(struct pw_exec_modules *modules, const struct pw_surroundings *around)
{
        *modules = (struct pw_exec_modules){ .around = around };
        pw_list_init(&modules->loaded);
}

static void fd_path(const struct pw_loaded_module *loaded, char path[40])
{
        snprintf(path, 40, "/proc/self/fd/%d", loaded->fd);
}

/* Did it ask never to be unloaded? Then its path must go on naming it. */
static bool is_still_loaded(const struct pw_loaded_module *loaded)
{
        char path[40];
        void *handle;

        fd_path(loaded, path);
        handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (handle)
                dlclose(handle);
        return handle != NULL;
}

static void loaded_free(struct pw_loaded_module *loaded)
{
        if (loaded->handle)
                dlclose(loaded->handle);
        if (loaded->fd >= 0 && !(loaded->handle && is_still_loaded(loaded)))
                close(loaded->fd);
        free(loaded->name);
        free(loaded);
}

void pw_modules_done(struct pw_exec_modules *modules)
{
        struct pw_loaded_module *loaded;

        pw_list_each(&modules->loaded, loaded, struct pw_loaded_module, link) {
                pw_list_remove(&loaded->link);
                loaded_free(loaded);
        }
}

static struct pw_loaded_module *hold(struct pw_loaded_module *loaded)
{
        if (!loaded->holders++)
                loaded->modules->idle_count--;
        return loaded;
}

static void shed(struct pw_exec_modules *modules)
{
        struct pw_loaded_module *loaded;

        pw_list_each(&modules->loaded, loaded, struct pw_loaded_module, link) {
                if (modules->idle_count <= PW_MODULES_IDLE)
                        return;
                if (loaded->holders)
                        continue;
                pw_list_remove(&loaded->link);
                modules->idle_count--;
                loaded_free(loaded);
        }
}

const struct pw_module *pw_module_table_of(const struct pw_loaded_module *module) { return module->table; }

uint64_t pw_module_serial(const struct pw_loaded_module *module) { return module->serial; }

void pw_module_release(struct pw_loaded_module *module)
{
        if (!module || --module->holders)
                return;
        pw_list_remove(&module->link);
        pw_list_append(&module->modules->loaded, &module->link);
        module->modules->idle_count++;
        shed(module->modules);
}

static enum pw_status function_check(const struct pw_module *table, uint32_t i, struct pw_error *ret_err)
{
        const struct pw_function *function = &table->functions[i];

        if (!function->name || !(function->run || function->cuda) || !function->shape)
                return pw_error_set(ret_err, PW_BAD_MODULE,
                                    "module %s: function %" PRIu32 " (%s) lacks a name, a function or a shape function",
                                    table->name, i, function->name ? function->name : "unnamed");
        for (uint32_t f = 0; f < function->fault_count; f++)
                if (!function->faults || !function->faults[f])
                        return pw_error_set(ret_err, PW_BAD_MODULE, "module %s: function %s has no sentence for fault %" PRIu32,
                                            table->name, function->name, f + 1);
        return PW_OK;
}

static enum pw_status code_check(const struct pw_module *table, uint32_t i, struct pw_error *ret_err)
{
        const struct pw_code *code = &table->codes[i];

        if (code->name && code->image && code->bytes)
                return PW_OK;
        return pw_error_set(ret_err, PW_BAD_MODULE, "module %s: code %" PRIu32 " (%s) lacks a name or an image", table->name, i,
                            code->name ? code->name : "unnamed");
}

enum pw_status pw_module_check(const struct pw_module *table, const char *name, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        if (table->abi != PW_MODULE_ABI)
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s has ABI %" PRIu32 ", this executor has %u: rebuild it", name,
                                    table->abi, PW_MODULE_ABI);
        if (!table->name || strcmp(table->name, name))
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s calls itself %s", name,
                                    table->name ? table->name : "nothing");
        if (table->function_count > FUNCTIONS_MAX || (table->function_count && !table->functions))
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s says that it has %" PRIu32 " functions%s", name,
                                    table->function_count, table->functions ? "" : ", and no table of them");
        if (table->code_count > CODES_MAX || (table->code_count && !table->codes))
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s says that it has %" PRIu32 " codes of GPUs%s", name,
                                    table->code_count, table->codes ? "" : ", and no table of them");
        for (uint32_t i = 0; i < table->function_count && status == PW_OK; i++)
                status = function_check(table, i, ret_err);
        for (uint32_t i = 0; i < table->code_count && status == PW_OK; i++)
                status = code_check(table, i, ret_err);
        return status;
}

/* dlopen() names the file that it was given, here a descriptor. Its copy is called as the file that it was made of. */
static enum pw_status load_error(const struct pw_loaded_module *loaded, const char *path, struct pw_error *ret_err)
{
        static const char copy[] = "/memfd:";
        char link[300];
        const char *why = dlerror(), *file;
        size_t path_bytes = strlen(path), deleted;
        ssize_t bytes = readlink(path, link, sizeof link - 1);

        link[bytes > 0 ? bytes : 0] = 0;
        deleted = strstr(link, " (deleted)") ? strlen(" (deleted)") : 0; /* as every memfd is */
        file = strncmp(link, copy, sizeof copy - 1) ? link : link + sizeof copy - 1;
        if (bytes <= 0 || !why || strncmp(why, path, path_bytes))
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s does not load: %s", loaded->name, why ? why : "");
        return pw_error_set(ret_err, PW_BAD_MODULE, "module %s does not load: %.*s%s", loaded->name,
                            (int)(strlen(file) - deleted), file, why + path_bytes);
}

static enum pw_status loaded_open(struct pw_loaded_module *loaded, struct pw_error *ret_err)
{
        char path[40];

        fd_path(loaded, path);
        loaded->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!loaded->handle)
                return load_error(loaded, path, ret_err);
        loaded->table = dlsym(loaded->handle, PW_MODULE_SYMBOL);
        if (!loaded->table)
                return pw_error_set(ret_err, PW_BAD_MODULE, "module %s is none: it has no " PW_MODULE_SYMBOL " (see PW_MODULE)",
                                    loaded->name);
        return pw_module_check(loaded->table, loaded->name, ret_err);
}

/* Loaded, and held by nobody. */
static enum pw_status load(struct pw_exec_modules *modules, const char *name, uint64_t digest, struct pw_loaded_module **ret_loaded,
                           struct pw_error *ret_err)
{
        struct pw_loaded_module *loaded = calloc(1, sizeof *loaded);
        enum pw_status status = PW_NO_MEMORY;

        if (!loaded)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for module %s", name);
        loaded->fd = -1;
        loaded->modules = modules;
        loaded->serial = ++modules->serial;
        loaded->digest = digest;
        loaded->name = strdup(name);
        if (loaded->name)
                status = modules->around->module(modules->around->context, name, digest, &loaded->fd, ret_err);
        else
                pw_error_set(ret_err, PW_NO_MEMORY, "no memory for module %s", name);
        if (status == PW_OK)
                status = loaded_open(loaded, ret_err);
        if (status != PW_OK) {
                loaded_free(loaded);
                return status;
        }
        pw_list_append(&modules->loaded, &loaded->link);
        modules->idle_count++;
        *ret_loaded = loaded;
        return PW_OK;
}

static struct pw_loaded_module *module_find(const struct pw_exec_modules *modules, const char *name, uint64_t digest)
{
        struct pw_loaded_module *loaded;

        pw_list_each(&modules->loaded, loaded, struct pw_loaded_module, link)
                if (loaded->digest == digest && !strcmp(loaded->name, name))
                        return loaded;
        return NULL;
}

enum pw_status pw_modules_find(struct pw_exec_modules *modules, const char *module, const char *function, uint64_t digest,
                               struct pw_found_function *ret_found, struct pw_error *ret_err)
{
        struct pw_loaded_module *loaded = module_find(modules, module, digest);
        enum pw_status status = loaded ? PW_OK : load(modules, module, digest, &loaded, ret_err);

        if (status != PW_OK)
                return status;
        for (uint32_t i = 0; i < loaded->table->function_count; i++) {
                if (strcmp(loaded->table->functions[i].name, function))
                        continue;
                *ret_found = (struct pw_found_function){ &loaded->table->functions[i], hold(loaded) };
                return PW_OK;
        }
        return pw_error_set(ret_err, PW_NOT_FOUND, "module %s has no function %s", module, function);
}

/* Versions of modules, their users, and the requests that wait for one. */
#include "daemon/module/module.h"

#include "base/memory.h"
#include "base/table.h"
#include "daemon/child/spawn.h"
#include "daemon/install.h"
#include "daemon/module/module_probe.h"
#include "daemon/session/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct pw_module_version {
        struct pw_list link; /* among all; when nobody uses it any more it becomes the last */
        uint64_t digest, bytes;
        uint32_t users;
        int fd;
        char name[];
};

/* What the file of a module was when it was looked at last. */
struct seen { struct pw_module_mark mark; char name[]; };

/* Looks that were begun keep them when the settings get others. */
struct folders { struct pw_text_list list; uint32_t users; };

struct probe {
        struct pw_module_probe at;
        struct pw_list link;    /* among all */
        struct folders *folders;
        struct pw_module_version *known; /* used: what the file was then; NULL: it is to be read */
        struct pw_list askers;
        char name[];
};

struct pw_module_asker { struct pw_list link; pw_module_found_fn done; /* NULL: has left */ void *context; };

struct pw_modules {
        struct pw_daemon *daemon;
        struct folders *folders;
        struct pw_prober *prober;
        struct pw_list probes, versions;
        struct pw_table seen;   /* by name */
        uint32_t count, idle_count;
        uint64_t bytes, idle_bytes;
};

/* --- folders ------------------------------------------------------------------------------------------------------------- */

static void folders_unuse(struct folders *folders)
{
        if (!folders || --folders->users)
                return;
        for (uint32_t i = 0; i < folders->list.count; i++)
                free(folders->list.items[i]);
        free(folders->list.items);
        free(folders);
}

static bool add_folder(struct folders *folders, const char *folder)
{
        uint32_t count = folders->list.count;

        folders->list.items[count] = strdup(folder);
        if (!folders->list.items[count])
                return false;
        folders->list.count++;
        return true;
}

static enum pw_status folders_new(struct pw_daemon *daemon, struct folders **ret_folders, struct pw_error *ret_err)
{
        const struct pw_text_list *given = &daemon->settings.modules;
        struct folders *folders = calloc(1, sizeof *folders);
        char installed[4096];
        bool ok = folders && (folders->list.items = calloc(given->count + 1, sizeof(char *)));

        for (uint32_t i = 0; ok && i < given->count; i++)
                ok = add_folder(folders, given->items[i]);
        for (uint32_t i = 0; ok && i < given->count; i++)
                if (access(given->items[i], R_OK | X_OK) < 0)
                        pw_log(&daemon->log, PW_LOG_WARNING, "folder of modules cannot be read folder=%s reason=\"%s\"",
                               given->items[i], strerror(errno));
        pw_install_path(PW_INSTALL_MODULES, installed, sizeof installed);
        if (folders)
                folders->users = 1;
        if (!ok || !add_folder(folders, installed)) {
                folders_unuse(folders);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the folders of modules");
        }
        *ret_folders = folders;
        return PW_OK;
}

enum pw_status pw_modules_refresh(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct folders *fresh;
        enum pw_status status = folders_new(daemon, &fresh, ret_err);

        if (status != PW_OK)
                return status;
        folders_unuse(daemon->modules->folders);
        daemon->modules->folders = fresh;
        return PW_OK;
}

/* --- versions ------------------------------------------------------------------------------------------------------------ */

static void charge(struct pw_modules *modules, int64_t bytes)
{
        modules->bytes += (uint64_t)bytes;
        pw_store_overhead(modules->daemon->store, bytes);
}

static void version_free(struct pw_modules *modules, struct pw_module_version *version)
{
        pw_list_remove(&version->link);
        modules->count--;
        if (!version->users) {
                modules->idle_count--;
                modules->idle_bytes -= version->bytes;
        }
        charge(modules, -(int64_t)version->bytes);
        close(version->fd);
        free(version);
}

/* The oldest that nobody uses go, until no more than `count` and `bytes` are left of them. */
static void shed(struct pw_modules *modules, uint32_t count, uint64_t bytes)
{
        struct pw_module_version *version;

        pw_list_each(&modules->versions, version, struct pw_module_version, link) {
                if (modules->idle_count <= count && modules->idle_bytes <= bytes)
                        return;
                if (!version->users)
                        version_free(modules, version);
        }
}

static struct pw_module_version *use(struct pw_modules *modules, struct pw_module_version *version)
{
        if (!version->users++) {
                modules->idle_count--;
                modules->idle_bytes -= version->bytes;
        }
        return version;
}

static void unuse(struct pw_modules *modules, struct pw_module_version *version)
{
        if (--version->users)
                return;
        pw_list_remove(&version->link);
        pw_list_append(&modules->versions, &version->link);
        modules->idle_count++;
        modules->idle_bytes += version->bytes;
        shed(modules, PW_MODULE_IDLE_MAX, PW_MODULE_IDLE_BYTES_MAX);
}

static struct pw_module_version *version_find(const struct pw_modules *modules, const char *name, uint64_t digest)
{
        struct pw_module_version *version;

        pw_list_each(&modules->versions, version, struct pw_module_version, link)
                if (version->digest == digest && !strcmp(version->name, name))
                        return version;
        return NULL;
}

static enum pw_status make_room(struct pw_modules *modules, const char *name, uint64_t bytes, struct pw_error *ret_err)
{
        char most[16];

        if (modules->count >= PW_MODULE_VERSIONS_MAX || modules->bytes + bytes > PW_MODULE_VERSIONS_BYTES_MAX)
                shed(modules, 0, 0);
        if (modules->count < PW_MODULE_VERSIONS_MAX && modules->bytes + bytes <= PW_MODULE_VERSIONS_BYTES_MAX)
                return PW_OK;
        return pw_error_set(ret_err, PW_LIMIT,
                            "module %s: programs use %" PRIu32
                            " versions of modules, the most are %u with %s: free programs that are "
                            "no longer run", name, modules->count, PW_MODULE_VERSIONS_MAX,
                            pw_size_format(PW_MODULE_VERSIONS_BYTES_MAX, most));
}

/* The descriptor is the version's if and only if it returns PW_OK. It has no user. */
static enum pw_status version_new(struct pw_modules *modules, const char *name, const struct pw_module_file *file_take,
                                  struct pw_module_version **ret_version, struct pw_error *ret_err)
{
        struct pw_module_version *version;
        enum pw_status status = make_room(modules, name, (uint64_t)file_take->mark.bytes, ret_err);

        if (status != PW_OK)
                return status;
        version = calloc(1, sizeof *version + strlen(name) + 1);
        if (!version)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        strcpy(version->name, name);
        version->digest = file_take->mark.digest;
        version->bytes = (uint64_t)file_take->mark.bytes;
        version->fd = file_take->fd;
        pw_list_append(&modules->versions, &version->link);
        modules->count++;
        modules->idle_count++;
        modules->idle_bytes += version->bytes;
        charge(modules, (int64_t)version->bytes);
        pw_log(&modules->daemon->log, PW_LOG_INFO, "module read name=%s digest=%016" PRIx64 " bytes=%" PRIu64, name,
               version->digest, version->bytes);
        *ret_version = version;
        return PW_OK;
}

uint64_t pw_modules_bytes(const struct pw_modules *modules) { return modules ? modules->bytes : 0; }

uint64_t pw_module_digest(const struct pw_module_version *version) { return version->digest; }

void pw_module_unuse(struct pw_daemon *daemon, struct pw_module_version *version) { unuse(daemon->modules, version); }

/* --- probes -------------------------------------------------------------------------------------------------------------- */

static void probe_free(struct probe *probe)
{
        struct pw_module_asker *asker;

        pw_list_each(&probe->askers, asker, struct pw_module_asker, link)
                free(asker);
        pw_list_remove(&probe->link);
        folders_unuse(probe->folders);
        if (probe->at.file.fd >= 0)
                close(probe->at.file.fd);
        free(probe);
}

static void probe_drop(struct pw_module_probe *at) { probe_free(pw_container_of(at, struct probe, at)); }

/* Without memory for it the file is read again the next time. */
static void remember(struct pw_modules *modules, const struct probe *probe)
{
        uint64_t key = pw_text_key(probe->name);
        struct seen *seen = malloc(sizeof *seen + strlen(probe->name) + 1), *old = pw_table_get(&modules->seen, key);

        if (!seen)
                return;
        seen->mark = probe->at.file.mark;
        strcpy(seen->name, probe->name);
        if (pw_table_put(&modules->seen, key, seen))
                free(old);
        else
                free(seen);
}

/* What was seen is a version: a known one, or a new one. */
static enum pw_status settle(struct pw_modules *modules, struct probe *probe, struct pw_module_version **ret_version,
                             struct pw_error *ret_err)
{
        enum pw_status status;

        if (probe->at.status != PW_OK) {
                *ret_err = probe->at.err;
                return probe->at.status;
        }
        *ret_version = probe->at.file.fd < 0 ? probe->known : version_find(modules, probe->name, probe->at.file.mark.digest);
        if (!*ret_version) {
                status = version_new(modules, probe->name, &probe->at.file, ret_version, ret_err);
                if (status != PW_OK)
                        return status;
                probe->at.file.fd = -1;
        }
        remember(modules, probe);
        return PW_OK;
}

static void probed(struct pw_daemon *daemon, struct pw_module_probe *at)
{
        struct pw_modules *modules = daemon->modules;
        struct probe *probe = pw_container_of(at, struct probe, at);
        struct pw_module_version *version = NULL;
        struct pw_module_asker *asker;
        struct pw_error err;
        enum pw_status status;

        daemon->loop.doing = "a module that was read";
        pw_list_remove(&probe->link);
        status = settle(modules, probe, &version, &err);
        if (version)
                use(modules, version); /* until all are answered */
        pw_list_each(&probe->askers, asker, struct pw_module_asker, link)
                if (asker->done)
                        asker->done(asker->context, status, version ? use(modules, version) : NULL, &err);
        if (version)
                unuse(modules, version);
        if (probe->known)
                unuse(modules, probe->known);
        probe_free(probe);
}

static struct probe *probe_new(struct pw_modules *modules, const char *name)
{
        const struct seen *seen = pw_table_get(&modules->seen, pw_text_key(name));
        struct probe *probe = calloc(1, sizeof *probe + strlen(name) + 1);

        if (!probe)
                return NULL;
        strcpy(probe->name, name);
        pw_list_init(&probe->at.link);
        pw_list_init(&probe->link);
        pw_list_init(&probe->askers);
        probe->folders = modules->folders;
        probe->folders->users++;
        if (seen && !strcmp(seen->name, name))
                probe->known = version_find(modules, name, seen->mark.digest);
        if (probe->known) {
                use(modules, probe->known);
                probe->at.query.known = seen->mark;
        }
        probe->at.query.folders = &probe->folders->list;
        probe->at.query.name = probe->name;
        return probe;
}

static enum pw_status begin_probe(struct pw_modules *modules, const char *name, struct probe **ret_probe, struct pw_error *ret_err)
{
        struct pw_executor_user user;
        enum pw_status status = pw_executor_user(modules->daemon, &user, ret_err);
        struct probe *probe;

        if (status != PW_OK)
                return status;
        probe = probe_new(modules, name);
        if (!probe)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        probe->at.query.change_user = user.change;
        probe->at.query.uid = user.uid;
        probe->at.query.gid = user.gid;
        pw_list_append(&modules->probes, &probe->link);
        pw_prober_ask(modules->prober, &probe->at);
        *ret_probe = probe;
        return PW_OK;
}

/* One that was asked for and is not begun sees what is there now. */
static struct probe *find_probe(const struct pw_modules *modules, const char *name)
{
        struct probe *probe;

        pw_list_each(&modules->probes, probe, struct probe, link)
                if (!strcmp(probe->name, name) && probe->folders == modules->folders &&
                    !pw_prober_begun(modules->prober, &probe->at))
                        return probe;
        return NULL;
}

struct pw_module_asker *pw_module_ask(struct pw_daemon *daemon, const char *name, pw_module_found_fn done, void *context)
{
        struct pw_module_asker *asker = calloc(1, sizeof *asker);
        struct probe *probe = asker ? find_probe(daemon->modules, name) : NULL;
        struct pw_error err;
        enum pw_status status = PW_OK;

        if (!asker)
                status = pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory");
        else if (!probe)
                status = begin_probe(daemon->modules, name, &probe, &err);
        if (status != PW_OK) {
                free(asker);
                done(context, status, NULL, &err);
                return NULL;
        }
        *asker = (struct pw_module_asker){ .done = done, .context = context };
        pw_list_append(&probe->askers, &asker->link);
        return asker;
}

void pw_module_forget(struct pw_module_asker *asker) { asker->done = NULL; }

/* --- uses ---------------------------------------------------------------------------------------------------------------- */

struct pw_module_version *pw_module_uses_find(const struct pw_module_uses *uses, const char *name, size_t length)
{
        for (uint32_t i = 0; uses && i < uses->count; i++)
                if (!strncmp(uses->items[i]->name, name, length) && !uses->items[i]->name[length])
                        return uses->items[i];
        return NULL;
}

bool pw_module_uses_take(struct pw_module_uses **uses, struct pw_module_version *version_take)
{
        uint32_t count = *uses ? (*uses)->count : 0;

        if (!*uses || count == (*uses)->capacity) {
                uint32_t capacity = count ? 2 * count : 4;
                struct pw_module_uses *larger = realloc(*uses, sizeof *larger + capacity * sizeof larger->items[0]);

                if (!larger)
                        return false;
                larger->count = count;
                larger->capacity = capacity;
                *uses = larger;
        }
        (*uses)->items[(*uses)->count++] = version_take;
        return true;
}

void pw_module_uses_drop(struct pw_daemon *daemon, struct pw_module_uses *uses)
{
        for (uint32_t i = 0; uses && i < uses->count; i++)
                unuse(daemon->modules, uses->items[i]);
        if (uses)
                uses->count = 0;
}

/* --- life ---------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_modules_new(struct pw_daemon *daemon, struct pw_modules **ret_modules, struct pw_error *ret_err)
{
        struct pw_modules *modules = calloc(1, sizeof *modules);
        enum pw_status status;

        if (!modules)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for modules");
        modules->daemon = daemon;
        pw_list_init(&modules->probes);
        pw_list_init(&modules->versions);
        status = folders_new(daemon, &modules->folders, ret_err);
        if (status == PW_OK)
                status = pw_prober_new(daemon, probed, &modules->prober, ret_err);
        if (status != PW_OK)
                pw_modules_free(modules);
        else
                *ret_modules = modules;
        return status;
}

void pw_modules_free(struct pw_modules *modules)
{
        struct pw_module_version *version;
        struct seen *seen;

        if (!modules)
                return;
        pw_prober_free(modules->prober, probe_drop);
        pw_list_each(&modules->versions, version, struct pw_module_version, link)
                version_free(modules, version);
        for (uint32_t i = 0; (seen = pw_table_next(&modules->seen, &i));)
                free(seen);
        pw_table_done(&modules->seen);
        folders_unuse(modules->folders);
        free(modules);
}

/* --- executors ----------------------------------------------------------------------------------------------------------- */

void pw_module_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ModuleRequest *request)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Module body = PATHWAYS__WIRE__MODULE__INIT;
        const struct pw_module_version *version = version_find(session->daemon->modules, request->module, request->digest);
        struct pw_error err;

        if (!version) {
                pw_error_set(&err, PW_NOT_FOUND, "module %s: no program uses a version of it with digest %016" PRIx64,
                             request->module, request->digest);
                pw_session_reply_error(session, id, PW_NOT_FOUND, err.text);
                return;
        }
        body.module = request->module;
        body.digest = version->digest;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_MODULE;
        reply.module = &body;
        pw_session_reply(session, id, &reply, &version->fd, 1);
}

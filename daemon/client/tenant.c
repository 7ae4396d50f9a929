/* Tenants by user id. */
#include "daemon/client/tenant.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/client/client.h"
#include "daemon/client/scan.h"
#include "daemon/memory/backing.h"
#include "daemon/memory/freezer/freezer.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/recount.h"
#include "daemon/memory/segment.h"
#include "daemon/settings/quota.h"
#include "daemon/settings/tenants.h"
#include "daemon/settings/weight.h"
#include "daemon/work/compiling.h"
#include "daemon/work/submit.h"

#include <pwd.h>
#include <stdio.h>
#include <sys/mman.h>

#define FUTURES_SLOTS (1u << 20)
#define FUTURES_ARENA_BYTES PW_GIB

static char *user_name(uid_t uid)
{
        char buffer[4096], number[32];
        struct passwd entry, *found = NULL;

        if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found)
                return strdup(found->pw_name);
        snprintf(number, sizeof number, "uid-%u", (unsigned)uid);
        return strdup(number);
}

/* As the operator says, or as the user; but what is another one's by the operator's word is not this user's. */
static char *tenant_name(const struct pw_text_list *lines, uid_t uid)
{
        char *user = user_name(uid), number[32];
        const char *name;
        size_t bytes;

        snprintf(number, sizeof number, "uid-%u", (unsigned)uid);
        name = user ? pw_tenants_name(lines, user) : NULL;
        if (user && !name)
                name = pw_tenants_name(lines, number);
        if (user && !name && pw_tenants_user(lines, user, &bytes))
                name = number;
        if (!name)
                return user;
        free(user);
        return strdup(name);
}

static void free_tenant(struct pw_tenant *tenant)
{
        pw_list_remove(&tenant->speakers.turn); /* who never said Hello may still stand in line */
        pw_recount_free(tenant);
        pw_compiling_free(tenant->compiling);
        for (uint32_t kind = 0; kind < PW_FREEZERS; kind++)
                pw_freezer_free(tenant->freezers[kind]);
        if (tenant->hints)
                munmap(tenant->hints, sizeof *tenant->hints);
        pw_close_fd(&tenant->hints_fd);
        pw_backing_line_unkeep(tenant->line);
        free(tenant->name);
        free(tenant);
}

static enum pw_status make_memory(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err)
{
        struct pw_map map = { 0 };
        enum pw_status status = pw_memfd_create("pathways-hints", sizeof *tenant->hints, &tenant->hints_fd, ret_err);

        if (status == PW_OK)
                status = pw_map_fd(tenant->hints_fd, sizeof *tenant->hints, true, &map, ret_err);
        if (status != PW_OK)
                return status;
        tenant->hints = (struct pw_hint_page *)map.base;
        status = pw_quota_apply(daemon, tenant, ret_err);
        if (status == PW_OK)
                status = pw_weight_apply(daemon, tenant, ret_err);
        if (status != PW_OK)
                return status;
        return pw_segment_new(
                daemon,
                &(struct pw_segment){ .layout = pw_segment_layout(PW_SEGMENT_FUTURES, FUTURES_SLOTS, FUTURES_ARENA_BYTES),
                                      .tenant = tenant },
                &tenant->futures, ret_err);
}

static void drop_memory(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        if (tenant->futures)
                pw_segment_remove(daemon, tenant->futures);
        tenant->futures = NULL;
        if (tenant->hints)
                munmap(tenant->hints, sizeof *tenant->hints);
        tenant->hints = NULL;
        pw_close_fd(&tenant->hints_fd);
        tenant->hints_fd = -1;
}

static struct pw_tenant *new_tenant(const struct pw_daemon *daemon, uid_t uid)
{
        struct pw_tenant *tenant = calloc(1, sizeof *tenant);

        if (!tenant)
                return NULL;
        tenant->uid = uid;
        tenant->hints_fd = -1;
        pw_speakers_init(&tenant->speakers);
        pw_scans_tenant_init(tenant);
        pw_submit_tenant_init(tenant);
        pw_listers_init(&tenant->listers);
        tenant->name = tenant_name(&daemon->settings.tenants, uid);
        tenant->compiling = pw_compiling_new();
        tenant->line = pw_backing_line_new();
        if (tenant->name && tenant->compiling && tenant->line)
                return tenant;
        free_tenant(tenant);
        return NULL;
}

enum pw_status pw_tenant_connect(struct pw_daemon *daemon, uid_t uid, struct pw_tenant **ret_tenant, struct pw_error *ret_err)
{
        uint64_t key = (uint64_t)uid + 1;
        struct pw_tenant *tenant = pw_table_get(&daemon->registry.tenants, key);

        if (!tenant)
                tenant = pw_table_get(&daemon->registry.users, key);
        if (!tenant) {
                tenant = new_tenant(daemon, uid);
                if (!tenant || !pw_table_put(&daemon->registry.users, key, tenant)) {
                        if (tenant)
                                free_tenant(tenant);
                        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a tenant");
                }
        }
        tenant->connections++;
        *ret_tenant = tenant;
        return PW_OK;
}

/* Nobody of it is there, and nothing is kept for it but what serves those who may come again. */
static bool has_left(const struct pw_daemon *daemon, const struct pw_tenant *tenant)
{
        const struct pw_use use = pw_store_use(daemon->store, tenant->name);
        uint64_t kept = use.kept_bytes - use.lasting_bytes;

        return !tenant->connections && !tenant->scan && !tenant->sessions && !tenant->backings && !kept &&
               !pw_compiling_busy(tenant->compiling);
}

static uint32_t device_segments(const struct pw_tenant *tenant)
{
        uint32_t count = 0;

        for (uint32_t device = 0; device < PW_DEVICES_MAX; device++)
                count += tenant->devices[device] != NULL;
        return count;
}

/* Its futures segment is left, and its memory on devices where it had any. */
static bool is_empty(const struct pw_daemon *daemon, const struct pw_tenant *tenant)
{
        return !tenant->freezers[PW_FREEZER_FROZEN] && !tenant->freezers[PW_FREEZER_FETCHED] &&
                tenant->segments == 1 + device_segments(tenant) &&
                pw_store_tenant_empty(daemon->store, tenant->name);
}

static void drop_devices(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        for (uint32_t device = 0; device < PW_DEVICES_MAX; device++)
                if (tenant->devices[device])
                        pw_segment_remove(daemon, tenant->devices[device]);
}

/* False: something of it is left. */
static bool end(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        if (!has_left(daemon, tenant))
                return false;
        pw_freezer_end(daemon, tenant);
        pw_compiling_forget(daemon, tenant);
        if (!is_empty(daemon, tenant) || !pw_scheduler_segments_end(daemon->scheduler, tenant->name))
                return false;
        pw_log(&daemon->log, PW_LOG_DEBUG, "tenant gone tenant=%s uid=%u", tenant->name, (unsigned)tenant->uid);
        pw_table_remove(&daemon->registry.tenants, (uint64_t)tenant->uid + 1);
        drop_devices(daemon, tenant);
        pw_overhead_forget_tenant(daemon, tenant);
        drop_memory(daemon, tenant);
        free_tenant(tenant);
        return true;
}

/* Whoever has nothing left by now. Some of what a tenant had goes later than its last session: at the next one's begin it is
 * gone. */
static void end_empty(struct pw_daemon *daemon)
{
        struct pw_tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->registry.tenants, &i));)
                if (end(daemon, tenant))
                        i = 0; /* a removal may move another behind the cursor */
}

void pw_tenant_disconnect(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        if (--tenant->connections || tenant->begun)
                return;
        pw_table_remove(&daemon->registry.users, (uint64_t)tenant->uid + 1);
        free_tenant(tenant);
}

enum pw_status pw_tenant_begin(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err)
{
        enum pw_status status;

        if (tenant->begun)
                return PW_OK;
        end_empty(daemon);
        status = make_memory(daemon, tenant, ret_err);
        if (status == PW_OK && !pw_table_put(&daemon->registry.tenants, (uint64_t)tenant->uid + 1, tenant))
                status = pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a tenant");
        if (status != PW_OK) {
                drop_memory(daemon, tenant);
                return status;
        }
        pw_table_remove(&daemon->registry.users, (uint64_t)tenant->uid + 1);
        tenant->begun = true;
        pw_log(&daemon->log, PW_LOG_DEBUG, "tenant seen tenant=%s uid=%u", tenant->name, (unsigned)tenant->uid);
        return PW_OK;
}

/* --- of whom nobody is here ------------------------------------------------------------------------------------------------- */

static enum pw_status uid_of(const struct pw_daemon *daemon, const char *name, uid_t *ret_uid, struct pw_error *ret_err)
{
        const struct pw_text_list *lines = &daemon->settings.tenants;
        char buffer[4096], text[256];
        struct passwd entry, *found = NULL;
        const struct pw_tenant *tenant;
        pw_auto_free char *own = NULL;
        const char *user;
        unsigned number;
        int length = 0;
        size_t bytes = 0;

        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->registry.tenants, &i));)
                if (!strcmp(tenant->name, name)) {
                        *ret_uid = tenant->uid;
                        return PW_OK;
                }
        user = pw_tenants_user(lines, name, &bytes);
        snprintf(text, sizeof text, "%.*s", user ? (int)bytes : (int)strlen(name), user ? user : name);
        if (user && sscanf(text, "uid-%u%n", &number, &length) == 1 && !text[length])
                *ret_uid = number;
        else if (getpwnam_r(text, &entry, buffer, sizeof buffer, &found) == 0 && found)
                *ret_uid = entry.pw_uid;
        else
                return pw_error_set(ret_err, PW_DENIED, "tenant %s: this host has no user of that name; see --tenant", name);
        own = tenant_name(lines, *ret_uid);
        if (own && !strcmp(own, name))
                return PW_OK;
        return pw_error_set(ret_err, PW_DENIED, "tenant %s: the user of that name has another tenant on this host, by --tenant",
                            name);
}

static enum pw_status enter(struct pw_daemon *daemon, const char *name, struct pw_tenant **ret_tenant, struct pw_error *ret_err)
{
        struct pw_tenant *tenant;
        uid_t uid;
        enum pw_status status = uid_of(daemon, name, &uid, ret_err);

        if (status == PW_OK)
                status = pw_tenant_connect(daemon, uid, &tenant, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_tenant_begin(daemon, tenant, ret_err);
        if (status == PW_OK)
                *ret_tenant = tenant;
        else
                pw_tenant_disconnect(daemon, tenant);
        return status;
}

const struct pw_tenancy pw_tenants_by_name = { enter, pw_tenant_disconnect };

void pw_tenants_done(struct pw_daemon *daemon)
{
        struct pw_tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->registry.tenants, &i));)
                free_tenant(tenant);
        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->registry.users, &i));)
                free_tenant(tenant);
        pw_table_done(&daemon->registry.tenants);
        pw_table_done(&daemon->registry.users);
}

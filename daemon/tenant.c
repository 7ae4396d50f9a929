/* Tenants by user id. */
#include "daemon/tenant.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/frozen.h"
#include "daemon/program.h"
#include "daemon/quota.h"
#include "daemon/segment.h"

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

static void free_tenant(struct pw_tenant *tenant)
{
        pw_compiling_free(tenant->compiling);
        pw_freezer_free(tenant->freezer);
        if (tenant->hints)
                munmap(tenant->hints, sizeof *tenant->hints);
        pw_close_fd(&tenant->hints_fd);
        free(tenant->name);
        free(tenant);
}

static enum pw_status fill(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err)
{
        struct pw_map map = { 0 };
        enum pw_status status;

        tenant->name = user_name(tenant->uid);
        tenant->compiling = pw_compiling_new();
        if (!tenant->name || !tenant->compiling)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a tenant");
        status = pw_memfd_create("pathways-hints", sizeof *tenant->hints, &tenant->hints_fd, ret_err);
        if (status == PW_OK)
                status = pw_map_fd(tenant->hints_fd, sizeof *tenant->hints, true, &map, ret_err);
        if (status != PW_OK)
                return status;
        tenant->hints = (struct pw_hint_page *)map.base;
        status = pw_quota_apply(daemon, tenant, ret_err);
        if (status != PW_OK)
                return status;
        return pw_segment_new(
                daemon,
                &(struct pw_segment){ .layout = pw_segment_layout(PW_SEGMENT_FUTURES, FUTURES_SLOTS, FUTURES_ARENA_BYTES),
                                      .tenant = tenant },
                &tenant->futures, ret_err);
}

enum pw_status pw_tenant_get(struct pw_daemon *daemon, uid_t uid, struct pw_tenant **ret_tenant, struct pw_error *ret_err)
{
        struct pw_tenant *tenant = pw_table_get(&daemon->tenants, (uint64_t)uid + 1);
        enum pw_status status;

        if (tenant) {
                *ret_tenant = tenant;
                return PW_OK;
        }
        tenant = calloc(1, sizeof *tenant);
        if (!tenant)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a tenant");
        tenant->uid = uid;
        tenant->hints_fd = -1;
        pw_speakers_init(&tenant->speakers);
        pw_list_init(&tenant->listing);
        pw_list_init(&tenant->listers);
        status = fill(daemon, tenant, ret_err);
        if (status == PW_OK && !pw_table_put(&daemon->tenants, (uint64_t)uid + 1, tenant))
                status = pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a tenant");
        if (status != PW_OK) {
                if (tenant->futures)
                        pw_segment_remove(daemon, tenant->futures);
                free_tenant(tenant);
                return status;
        }
        pw_log(&daemon->log, PW_LOG_DEBUG, "tenant seen tenant=%s uid=%u", tenant->name, (unsigned)uid);
        *ret_tenant = tenant;
        return PW_OK;
}

static enum pw_status add_device(struct pw_daemon *daemon, struct pw_tenant *tenant, uint32_t device, struct pw_error *ret_err)
{
        uint64_t bytes = pw_round_up(daemon->settings.device_memory, 4096);
        struct pw_segment *segment;
        enum pw_status status = pw_segment_new(daemon,
                                               &(struct pw_segment){ .layout = pw_segment_layout(PW_SEGMENT_DEVICE, 0, bytes),
                                                                     .tenant = tenant,
                                                                     .device = device },
                                               &segment, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_scheduler_segment(daemon->scheduler, device, tenant->name, segment->number, bytes, ret_err);
        if (status != PW_OK)
                pw_segment_remove(daemon, segment);
        return status;
}

enum pw_status pw_tenant_devices(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t device = 0; status == PW_OK && device < daemon->device_count; device++)
                if (!pw_scheduler_has_segment(daemon->scheduler, device, tenant->name))
                        status = add_device(daemon, tenant, device, ret_err);
        return status;
}

void pw_tenants_done(struct pw_daemon *daemon)
{
        struct pw_tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->tenants, &i));)
                free_tenant(tenant);
        pw_table_done(&daemon->tenants);
}

/* Quotas of device memory. */
#include "scheduler/quota.h"

#include "base/memory.h"
#include "scheduler/state.h"

struct pw_device_quota *pw_quota_of(struct pw_table *quotas, const char *tenant)
{
        uint64_t key = pw_text_key(tenant);
        struct pw_device_quota *quota = pw_table_get(quotas, key);

        if (quota)
                return strcmp(quota->tenant, tenant) ? NULL : quota;
        quota = calloc(1, sizeof *quota);
        if (!quota)
                return NULL;
        quota->bytes = UINT64_MAX;
        quota->tenant = strdup(tenant);
        if (quota->tenant && pw_table_put(quotas, key, quota))
                return quota;
        free(quota->tenant);
        free(quota);
        return NULL;
}

void pw_quotas_done(struct pw_table *quotas)
{
        struct pw_device_quota *quota;

        for (uint32_t i = 0; (quota = pw_table_next(quotas, &i));) {
                free(quota->tenant);
                free(quota);
        }
        pw_table_done(quotas);
}

enum pw_status pw_scheduler_quota(struct pw_scheduler *scheduler, const char *tenant, uint64_t bytes, struct pw_error *ret_err)
{
        struct pw_device_quota *quota = pw_quota_of(&scheduler->quotas, tenant);

        if (!quota)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the quota of tenant %s", tenant);
        quota->bytes = bytes;
        scheduler->look = true; /* at who waits for it */
        return PW_OK;
}

uint64_t pw_scheduler_quota_used(const struct pw_scheduler *scheduler, const char *tenant)
{
        const struct pw_device_quota *quota = pw_table_get(&scheduler->quotas, pw_text_key(tenant));

        return quota && !strcmp(quota->tenant, tenant) ? pw_quota_used(quota) : 0;
}

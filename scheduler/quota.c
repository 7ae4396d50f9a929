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
        quota->weight = 1;
        pw_list_init(&quota->changed);
        pw_list_init(&quota->blocked);
        pw_list_init(&quota->decided);
        pw_list_init(&quota->telling);
        pw_list_init(&quota->turn);
        pw_list_init(&quota->round);
        quota->tenant = strdup(tenant);
        if (quota->tenant && pw_table_put(quotas, key, quota))
                return quota;
        free(quota->tenant);
        free(quota);
        return NULL;
}

/* How far the sum may be from what was said: most runs come and go without a word. */
#define TOLD_BYTES (64 * 1024)

void pw_quota_records(struct pw_scheduler *scheduler, struct pw_device_quota *quota, int64_t bytes)
{
        int64_t more;

        quota->record_bytes = (uint64_t)((int64_t)quota->record_bytes + bytes);
        more = (int64_t)(quota->record_bytes - quota->told_bytes);
        if ((more >= TOLD_BYTES || more <= -TOLD_BYTES || !quota->record_bytes) && pw_list_empty(&quota->changed))
                pw_list_append(&scheduler->changed_quotas, &quota->changed);
}

void pw_scheduler_records(struct pw_scheduler *scheduler, void (*changed)(void *context, const char *tenant, int64_t bytes),
                          void *context)
{
        struct pw_device_quota *quota;

        pw_list_each(&scheduler->changed_quotas, quota, struct pw_device_quota, changed) {
                int64_t more = (int64_t)(quota->record_bytes - quota->told_bytes);

                pw_list_remove(&quota->changed);
                quota->told_bytes = quota->record_bytes;
                if (more)
                        changed(context, quota->tenant, more);
        }
}

void pw_quotas_done(struct pw_table *quotas)
{
        struct pw_device_quota *quota;

        for (uint32_t i = 0; (quota = pw_table_next(quotas, &i));) {
                pw_heap_done(&quota->queues);
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
        scheduler->scan = true; /* at who waits for it */
        return PW_OK;
}

enum pw_status pw_scheduler_weight(struct pw_scheduler *scheduler, const char *tenant, uint32_t weight, struct pw_error *ret_err)
{
        struct pw_device_quota *quota = pw_quota_of(&scheduler->quotas, tenant);

        if (!quota)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the weight of tenant %s", tenant);
        quota->weight = weight;
        return PW_OK;
}

uint64_t pw_scheduler_quota_used(const struct pw_scheduler *scheduler, const char *tenant)
{
        const struct pw_device_quota *quota = pw_table_get(&scheduler->quotas, pw_text_key(tenant));

        return quota && !strcmp(quota->tenant, tenant) ? pw_quota_used(quota) : 0;
}

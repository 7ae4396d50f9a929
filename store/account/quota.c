/* Quotas: what a tenant has been granted, counted as it is granted and taken back; how much more it may have. */
#include "store/account/quota.h"

#include "store/parts.h"

enum pw_status pw_store_quota(struct pw_store *store, const char *name, const struct pw_quota *quota, uint64_t now_us,
                              struct pw_error *ret_err)
{
        struct tenant *tenant = pw_tenant_of(store, name);

        if (!tenant)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the quota of tenant %s", name);
        tenant->quota = *quota;
        store->now_us = now_us;
        pw_room_serve(store);
        return PW_OK;
}

struct pw_use pw_store_use(const struct pw_store *store, const char *name)
{
        const struct tenant *tenant = pw_table_get(&store->tenants, pw_text_key(name));

        struct pw_use use = { .host_bytes = 0 };

        if (!tenant || strcmp(tenant->name, name))
                return use;
        use = (struct pw_use){ .host_bytes = pw_tenant_charged(tenant), .objects = tenant->slots,
                               .kept_bytes = tenant->kept_bytes };
        memcpy(use.kept, tenant->kept, sizeof use.kept);
        use.lasting_bytes = use.kept[PW_KEPT_SHAPES] + use.kept[PW_KEPT_SLOTS] + use.kept[PW_KEPT_FUTURES];
        return use;
}

#define UNASKED_BYTES (512 * PW_KIB) /* beyond a quota: of slots with the rooms that were its last, of a session, of a thread */

static uint64_t left(uint64_t quota, uint64_t used) { return quota > used ? quota - used : 0; }

uint32_t pw_quota_fits(const struct tenant *tenant, uint64_t room_bytes, uint32_t count)
{
        uint64_t fits = pw_min_u64(count, left(tenant->quota.objects, tenant->slots));
        uint64_t page_bytes = left(tenant->quota.host_bytes, pw_tenant_charged(tenant)) / PW_PAGE_BYTES * PW_PAGE_BYTES;

        if (!room_bytes) /* what is kept without a question may make it more: who has much more gets no slots either */
                return left(pw_tenant_charged(tenant), tenant->quota.host_bytes) > UNASKED_BYTES ? 0 : (uint32_t)fits;
        return (uint32_t)pw_min_u64(fits, page_bytes / room_bytes);
}

bool pw_quota_never(const struct tenant *tenant, uint64_t room_bytes)
{
        return pw_round_up(room_bytes, PW_PAGE_BYTES) > tenant->quota.host_bytes || !tenant->quota.objects;
}

/* Which of the two quotas stands in the way of one room more? */
bool pw_quota_of_bytes(const struct tenant *tenant, uint64_t room_bytes)
{
        uint64_t charged = pw_tenant_charged(tenant);

        return left(tenant->quota.objects, tenant->slots) &&
               (charged > tenant->quota.host_bytes ||
                pw_round_up(room_bytes, PW_PAGE_BYTES) > left(tenant->quota.host_bytes, charged));
}

bool pw_store_tenant_empty(const struct pw_store *store, const char *name)
{
        const struct tenant *tenant = pw_table_get(&store->tenants, pw_text_key(name));
        const struct segment *futures = tenant && !strcmp(tenant->name, name) ? tenant->futures : NULL;

        return !futures || (!tenant->host_bytes && !tenant->leaving_bytes && !tenant->slots && !tenant->claims &&
                            tenant->kept_bytes == tenant->kept[PW_KEPT_FUTURES] &&
                            !tenant->over_count && !futures->known_count && !futures->populating_count &&
                            pw_list_empty(&futures->extents));
}

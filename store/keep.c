/* What the daemon keeps because of a tenant, besides its rooms: counted as overhead, charged to its quota of host memory. */
#include "store/parts.h"

uint64_t pw_kept_bytes(const struct pw_store *store)
{
        const struct tenant *tenant;
        uint64_t bytes = 0;

        for (uint32_t i = 0; (tenant = pw_table_next(&store->tenants, &i));)
                bytes += tenant->kept_bytes;
        return bytes;
}

/* Idle pages of rooms go for it where nothing else is free, and what is about to be given back counts. */
static bool is_there(struct pw_store *store, uint64_t bytes)
{
        return bytes <= INT64_MAX && pw_pages_reach(store, NULL, bytes, 0) != PW_NOT_READY;
}

enum pw_status pw_store_may_keep(struct pw_store *store, const char *name, uint64_t bytes, const char *what, struct pw_error *ret_err)
{
        struct tenant *tenant = pw_tenant_of(store, name);
        char holders[240], need[16], used[16], quota[16];
        uint64_t charged;

        if (!tenant)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for tenant %s", name);
        charged = pw_tenant_charged(tenant);
        pw_size_format(bytes, need);
        if (charged > tenant->quota.host_bytes || bytes > tenant->quota.host_bytes - charged) {
                pw_store_holders_text(store, &(struct pw_holders_of){ name, name, store->now_us }, holders, sizeof holders);
                return pw_error_set(ret_err, PW_NO_SPACE, "%s for %s: tenant %s has %s of its quota of %s of host memory: %s; let go of some, or raise --quota",
                                    need, what, name, pw_size_format(charged, used), pw_size_format(tenant->quota.host_bytes, quota), holders);
        }
        if (is_there(store, bytes))
                return PW_OK;
        pw_store_holders_text(store, &(struct pw_holders_of){ NULL, name, store->now_us }, holders, sizeof holders);
        return pw_error_set(ret_err, PW_NO_SPACE, "%s for %s: of host memory on h%u only %s are free: %s; let go of some, or raise --host-memory",
                            need, what, store->params.host, pw_size_format(pw_store_free_bytes(store), used), holders);
}

void pw_store_keep(struct pw_store *store, const char *name, int64_t bytes)
{
        struct tenant *tenant = pw_tenant_of(store, name);

        if (!tenant)
                return;
        tenant->kept_bytes = (uint64_t)((int64_t)tenant->kept_bytes + bytes);
        store->kept_bytes = (uint64_t)((int64_t)store->kept_bytes + bytes);
        store->free_bytes -= bytes;
        if (bytes < 0)
                pw_room_serve(store);
}

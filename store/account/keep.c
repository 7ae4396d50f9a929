/* What the daemon keeps because of a tenant, besides its rooms: counted as overhead, charged to its quota of host memory. */
#include "store/parts.h"

const char *pw_kept_name(enum pw_kept_kind kind)
{
        static const char *const names[PW_KEPT_KINDS] = { "sessions", "requests", "programs", "compiling", "shapes", "traces",
                                                          "names", "runs", "slots", "pages", "futures" };

        return names[kind];
}

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

enum pw_status pw_store_may_keep(struct pw_store *store, const char *name, uint64_t bytes, enum pw_kept_kind kind,
                                 struct pw_error *ret_err)
{
        struct tenant *tenant = pw_tenant_of(store, name);
        char holders[240], need[16], used[16], quota[16];
        uint64_t charged;
        bool over;

        if (!tenant)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for tenant %s", name);
        charged = pw_tenant_charged(tenant);
        over = charged > tenant->quota.host_bytes || bytes > tenant->quota.host_bytes - charged;
        if (!over && is_there(store, bytes))
                return PW_OK;
        if (!ret_err) /* to say who holds it takes long */
                return PW_NO_SPACE;
        pw_size_format(bytes, need);
        if (over) {
                pw_store_holders_text(store, &(struct pw_holders_of){ .tenant = name, .reader = name, .now_us = store->now_us },
                                      holders, sizeof holders);
                return pw_error_set(ret_err, PW_NO_SPACE,
                                    "%s for %s: tenant %s has %s of its quota of %s of host memory: %s; let go of some "
                                    "(pw_program_free), end a "
                                    "session, or raise --quota",
                                    need, pw_kept_name(kind), name, pw_size_format(charged, used),
                                    pw_size_format(tenant->quota.host_bytes, quota), holders);
        }
        pw_store_holders_text(store, &(struct pw_holders_of){ .reader = name, .now_us = store->now_us }, holders, sizeof holders);
        return pw_error_set(ret_err, PW_NO_SPACE,
                            "%s for %s: of host memory on h%u only %s are free: %s; let go of some (pw_program_free), end a "
                            "session, or raise "
                            "--host-memory",
                            need, pw_kept_name(kind), store->params.host,
                            pw_size_format(pw_store_free_bytes(store), used), holders);
}

void pw_keep_count(struct pw_store *store, struct tenant *tenant, enum pw_kept_kind kind, int64_t bytes)
{
        tenant->kept[kind] += (uint64_t)bytes;
        tenant->kept_bytes += (uint64_t)bytes;
        store->kept_bytes += (uint64_t)bytes;
        store->free_bytes -= bytes;
}

void pw_store_keep(struct pw_store *store, const char *name, enum pw_kept_kind kind, int64_t bytes)
{
        struct tenant *tenant = pw_tenant_of(store, name);

        if (!tenant)
                return;
        pw_keep_count(store, tenant, kind, bytes);
        if (bytes < 0)
                pw_room_came(store);
}

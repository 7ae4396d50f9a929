/* What a tenant has under way, and of answers. */
#include "daemon/work/compiling.h"

#include "daemon/session/kept.h"

struct pw_compiling *pw_compiling_new(void)
{
        struct pw_compiling *compiling = calloc(1, sizeof *compiling);

        if (!compiling)
                return NULL;
        pw_compile_lane_init(&compiling->lane);
        pw_list_init(&compiling->waiting);
        pw_shapes_init(&compiling->shapes);
        return compiling;
}

bool pw_compiling_busy(const struct pw_compiling *compiling) { return compiling->begun || !pw_list_empty(&compiling->waiting); }

void pw_compiling_charge(struct pw_daemon *daemon, struct pw_tenant *tenant, uint64_t shapes_bytes)
{
        struct pw_compiling *compiling = tenant->compiling;

        pw_kept_count(daemon, tenant, PW_KEPT_SHAPES, (int64_t)shapes_bytes - (int64_t)compiling->shapes_bytes);
        compiling->shapes_bytes = shapes_bytes;
}

void pw_compiling_forget(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        struct pw_compiling *compiling = tenant->compiling;

        pw_shapes_done(&compiling->shapes);
        pw_shapes_init(&compiling->shapes);
        pw_compiling_charge(daemon, tenant, 0);
}

void pw_compiling_free(struct pw_compiling *compiling)
{
        if (!compiling)
                return;
        pw_shapes_done(&compiling->shapes);
        free(compiling);
}

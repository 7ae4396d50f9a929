/* What the daemon keeps because of a tenant, by kind. */
#include "daemon/session/kept.h"

#include "base/size.h"
#include "daemon/session/tenant.h"

#include <malloc.h>
#include <stdio.h>

enum pw_status pw_kept_ask(struct pw_daemon *daemon, const struct pw_tenant *tenant, enum pw_kept_kind kind, uint64_t bytes,
                           struct pw_error *ret_err)
{
        return pw_store_may_keep(daemon->store, tenant->name, bytes, kind, ret_err);
}

void pw_kept_count(struct pw_daemon *daemon, const struct pw_tenant *tenant, enum pw_kept_kind kind, int64_t bytes)
{
        pw_store_keep(daemon->store, tenant->name, kind, bytes);
}

uint64_t pw_kept_heap_bytes(void *block) { return block ? malloc_usable_size(block) + sizeof(size_t) : 0; }

char *pw_kept_text(const struct pw_use *use, char *text, size_t text_bytes)
{
        char size[16];
        size_t at = 0;

        text[0] = 0;
        for (uint32_t kind = 0; kind < PW_KEPT_KINDS && at < text_bytes; kind++)
                if (use->kept[kind])
                        at += (size_t)snprintf(text + at, text_bytes - at, "%s%s %s", at ? ", " : "", pw_kept_name(kind),
                                               pw_size_format(use->kept[kind], size));
        return text;
}

/* Every kind of metadata. */
#include "base/memory.h"
#include "daemon/meta/kinds.h"

static const struct pw_meta_kind *const kinds[] = { &pw_meta_embedded, &pw_meta_redis };

const struct pw_meta_kind *pw_meta_kind_at(uint32_t i)
{
        return i < pw_array_count(kinds) ? kinds[i] : NULL;
}

const struct pw_meta_kind *pw_meta_kind(const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(kinds); i++)
                if (!strcmp(kinds[i]->name, name))
                        return kinds[i];
        return NULL;
}

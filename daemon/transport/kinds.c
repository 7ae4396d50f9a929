/* Every kind of transport. */
#include "base/memory.h"
#include "daemon/transport/kinds.h"

static const struct pw_transport_kind *const kinds[] = { &pw_transport_unix, &pw_transport_tcp, &pw_transport_tls };

const struct pw_transport_kind *pw_transport_kind_at(uint32_t i)
{
        return i < pw_array_count(kinds) ? kinds[i] : NULL;
}

const struct pw_transport_kind *pw_transport_kind(const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(kinds); i++)
                if (!strcmp(kinds[i]->name, name))
                        return kinds[i];
        return NULL;
}

/* The kinds of collectives. A new kind is a file, and a line here and in kinds.h. */
#include "executor/collective/kinds.h"

#include "base/memory.h"

#include <string.h>

static const struct pw_collective_kind *const kinds[] = { &pw_collective_host, &pw_collective_nccl };

const struct pw_collective_kind *pw_collective_kind(const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(kinds); i++)
                if (!strcmp(kinds[i]->name, name))
                        return kinds[i];
        return NULL;
}

/* The kinds of devices. A new kind is a file, and a line here and in kinds.h. */
#include "executor/device/kinds.h"

#include "base/memory.h"

#include <string.h>

static const struct pw_device_kind *const kinds[] = { &pw_device_cpu, &pw_device_emulated, &pw_device_cuda };

const struct pw_device_kind *pw_device_kind_at(uint32_t i) { return i < pw_array_count(kinds) ? kinds[i] : NULL; }

const struct pw_device_kind *pw_device_kind(const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(kinds); i++)
                if (!strcmp(kinds[i]->name, name))
                        return kinds[i];
        return NULL;
}

#include "tests/world/executor/kind.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[WORLD_KINDS] = { "early", "late", "apart" };
static enum world_kind now;

enum world_kind world_kind(void) { return now; }
const char *world_kind_name(int kind) { return names[kind]; }

bool world_next_kind(int *kind)
{
        const char *only = getenv("PW_WORLD_KIND");

        do
                ++*kind;
        while (*kind < WORLD_KINDS && only && strcmp(only, names[*kind]));
        if (*kind < WORLD_KINDS)
                now = (enum world_kind)*kind;
        return *kind < WORLD_KINDS;
}

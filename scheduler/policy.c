/* Policies: which of a tenant's runs has its gangs ordered first. The table. */
#include "scheduler/island.h"

#include "base/error.h"
#include "scheduler/scheduler.h"

#include <stdio.h>

/* First come is who was admitted first: a run over several islands comes by message, and one that was admitted behind it and has
 * this island alone may be here already. */
static uint64_t fifo_key(const struct pw_part *part) { return part->live->admission; }

static const struct pw_policy policies[] = {
        { "fifo", fifo_key }, /* first come, first served: the simple one */
};

const struct pw_policy *pw_policy_find(const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(policies); i++)
                if (!strcmp(policies[i].name, name))
                        return &policies[i];
        return NULL;
}

enum pw_status pw_policy_check(const char *name, struct pw_error *ret_err)
{
        char names[200] = "";
        size_t used = 0;

        if (pw_policy_find(name))
                return PW_OK;
        for (uint32_t i = 0; i < pw_array_count(policies) && used < sizeof names; i++)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", policies[i].name);
        return pw_error_set(ret_err, PW_INVALID, "--policy \"%.80s\": there %s %s", name,
                            pw_array_count(policies) == 1 ? "is only" : "are", names);
}

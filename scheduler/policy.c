/* Policies: which run's gangs are ordered first. The table. */
#include "scheduler/island.h"

#include "base/error.h"
#include "scheduler/scheduler.h"

#include <stdio.h>

static void fifo_enter(struct pw_island *island, struct pw_part *part) { pw_list_append(&island->parts, &part->link); }

static struct pw_part *fifo_next(struct pw_island *island, struct pw_part *part)
{
        struct pw_list *next = part ? part->link.next : island->parts.next;

        return next == &island->parts ? NULL : pw_list_item(next, struct pw_part, link);
}

static const struct pw_policy policies[] = {
        { "fifo", fifo_enter, fifo_next }, /* first come, first served: the simple one */
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

/* Policies: which run's gangs are ordered first. The table. */
#include "scheduler/island.h"

#include "base/error.h"
#include "scheduler/scheduler.h"

#include <stdio.h>

/* First come is who was admitted first: a run over several islands comes by message, and one that was admitted behind it and has
 * this island alone may be here already. */
static void fifo_enter(struct pw_island *island, struct pw_part *part)
{
        struct pw_list *before = island->parts.prev;

        while (before != &island->parts && pw_list_item(before, struct pw_part, link)->live->admission > part->live->admission)
                before = before->prev;
        pw_list_append(before->next, &part->link);
}

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

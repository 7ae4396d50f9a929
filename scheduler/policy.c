/* Policies: which run's gangs are ordered first. The table. */
#include "scheduler/island.h"

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

/* Dense handles: small numbers that name pointers. */
#include "base/memory.h"
#include "base/table.h"

void pw_handles_done(struct pw_handles *handles)
{
        free(handles->items);
        free(handles->free_list);
        *handles = (struct pw_handles){ 0 };
}

uint32_t pw_handles_add(struct pw_handles *handles, void *item)
{
        if (handles->free_count) {
                uint32_t reused = handles->free_list[--handles->free_count];
                handles->items[reused] = item;
                return reused;
        }
        /* The free list has room for every number, so that giving one back cannot fail. */
        if (handles->top >= UINT32_MAX - 1 ||
            !pw_grow((void **)&handles->free_list, &handles->free_capacity, handles->top + 2, sizeof *handles->free_list) ||
            !pw_grow((void **)&handles->items, &handles->capacity, handles->top + 2, sizeof *handles->items))
                return 0;
        handles->items[++handles->top] = item;
        return handles->top;
}

void pw_handles_remove(struct pw_handles *handles, uint32_t handle)
{
        if (!pw_handles_get(handles, handle))
                return;
        handles->items[handle] = NULL;
        handles->free_list[handles->free_count++] = handle;
}

/* The memory of an executor, less its arena. */
#include "daemon/device/beside.h"

/* A process that is there has something, and no more than the GPU. */
static bool can_be(const struct pw_gpu_facts *facts)
{
        return facts->executor_bytes && (!(facts->known & PW_GPU_MEMORY) || facts->executor_bytes <= facts->total_bytes);
}

/* Is the arena among what the driver counts? False: nobody knows. */
static bool arena_counts(const struct pw_gpu_facts *facts, const struct pw_gpu_arena *arena, bool *ret_counts)
{
        bool fits = arena->bytes <= facts->executor_bytes; /* it can be among them */
        bool is_over = facts->known & PW_GPU_MEMORY &&     /* it must be: both have no room beside each other */
                       (facts->total_bytes < arena->bytes || facts->executor_bytes > facts->total_bytes - arena->bytes);

        *ret_counts = fits;
        return !fits || is_over;
}

bool pw_gpu_beside(const struct pw_gpu_facts *facts, const struct pw_gpu_arena *arena, uint64_t *ret_bytes, const char **ret_why)
{
        bool counts;

        *ret_why = "it is not there: the state in pathways devices says how far it is";
        if (!arena->executor)
                return false;
        *ret_why = "NVML has not been asked since it began: ask again";
        if (facts->executor != arena->executor)
                return false;
        *ret_why = facts->hides;
        if (!(facts->known & PW_GPU_EXECUTOR))
                return false;
        *ret_why = "its driver says that it has nothing, or more than the GPU has";
        if (!can_be(facts))
                return false;
        *ret_why = "its driver may count the memory for rooms as its executor's, or not";
        if (!arena_counts(facts, arena, &counts))
                return false;
        *ret_bytes = facts->executor_bytes - (counts ? arena->bytes : 0);
        return true;
}

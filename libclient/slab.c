/* Slabs of handles: small ones first, then whole huge pages, for a million handles are looked at in any order. */
#include "libclient/slab.h"

#include "base/memory.h"
#include "base/size.h"

#include <sys/mman.h>

#define HUGE_BYTES (2 * PW_MIB)

/* Memory of `bytes`, aligned to it where it is a huge page. NULL: none. */
static void *map_slab(uint64_t bytes)
{
        uint64_t more = bytes == HUGE_BYTES ? HUGE_BYTES : 0;
        uint8_t *start = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (start == MAP_FAILED)
                return NULL;
        if (more) {
                uint8_t *aligned = (uint8_t *)pw_round_up((uintptr_t)start, HUGE_BYTES);
                if (aligned > start)
                        munmap(start, (size_t)(aligned - start));
                if (aligned < start + more)
                        munmap(aligned + bytes, (size_t)(start + more - aligned));
                start = aligned;
                (void)!madvise(start, bytes, MADV_HUGEPAGE); /* small pages serve as well */
        }
        if (madvise(start, bytes, MADV_WIPEONFORK)) {
                munmap(start, bytes);
                return NULL;
        }
        return start;
}

struct pw_slab *pw_slab_new(struct pw_slab *before)
{
        uint64_t bytes = pw_round_up(PW_SLAB_HANDLES * sizeof(struct pw_future), 4096);
        struct pw_slab *slab = calloc(1, sizeof *slab);

        if (before)
                bytes = pw_min_u64(2 * before->bytes, HUGE_BYTES);
        if (slab)
                *slab = (struct pw_slab){ before, map_slab(bytes), (uint32_t)(bytes / sizeof(struct pw_future)), bytes };
        if (slab && slab->handles)
                return slab;
        free(slab);
        return NULL;
}

void pw_slab_forget(struct pw_slab *slab)
{
        for (; slab; slab = slab->next)
                for (uint32_t i = 0; i < slab->count; i++)
                        if (atomic_load(&slab->handles[i].data))
                                atomic_store(&slab->handles[i].data, NULL);
}

void pw_slab_free(struct pw_slab *slab)
{
        while (slab) {
                struct pw_slab *next = slab->next;
                munmap(slab->handles, slab->bytes);
                free(slab);
                slab = next;
        }
}

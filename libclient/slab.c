/* Slabs of handles: small ones first, then whole huge pages, for a million handles are looked at in any order. */
#include "libclient/slab.h"

#include "base/memory.h"
#include "base/size.h"

#include <sys/mman.h>

/* Memory of `bytes`, aligned to PW_SLAB_ALIGN. NULL: none. */
static void *map_slab(uint64_t bytes)
{
        uint8_t *start = mmap(NULL, bytes + PW_SLAB_ALIGN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (start == MAP_FAILED)
                return NULL;
        uint8_t *aligned = (uint8_t *)pw_round_up((uintptr_t)start, PW_SLAB_ALIGN);
        if (aligned > start)
                munmap(start, (size_t)(aligned - start));
        if (aligned < start + PW_SLAB_ALIGN)
                munmap(aligned + bytes, (size_t)(start + PW_SLAB_ALIGN - aligned));
        if (bytes == PW_SLAB_ALIGN)
                (void)!madvise(aligned, bytes, MADV_HUGEPAGE); /* small pages serve as well */
        if (madvise(aligned, bytes, MADV_WIPEONFORK)) {
                munmap(aligned, bytes);
                return NULL;
        }
        return aligned;
}

struct pw_slab *pw_slab_new(struct pw_slab *before, const _Atomic uint32_t *revoked)
{
        uint64_t bytes = pw_round_up((PW_SLAB_HANDLES + 1) * sizeof(struct pw_future), 4096);
        struct pw_slab *slab = calloc(1, sizeof *slab);

        if (before)
                bytes = pw_min_u64(2 * before->bytes, PW_SLAB_ALIGN);
        struct pw_slab_head *head = slab ? map_slab(bytes) : NULL;
        if (!head) {
                free(slab);
                return NULL;
        }
        head->revoked = revoked;
        head->count = (uint32_t)(bytes / sizeof(struct pw_future)) - 1;
        atomic_store(&head->revoked_seen, atomic_load((_Atomic uint32_t *)(uintptr_t)revoked));
        *slab = (struct pw_slab){ before, head, (struct pw_future *)(void *)(head + 1), head->count, bytes };
        return slab;
}

static void forget(struct pw_future *handles, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                if (atomic_load(&handles[i].data))
                        atomic_store(&handles[i].data, NULL);
}

/* Who notes something meanwhile looks at the entry once more: it left READY before the count went up. */
void pw_slab_recheck(struct pw_slab_head *head)
{
        if (!head->revoked)
                return;
        uint32_t revoked = atomic_load((_Atomic uint32_t *)(uintptr_t)head->revoked);
        if (revoked == atomic_load(&head->revoked_seen))
                return;
        forget((struct pw_future *)(void *)(head + 1), head->count);
        atomic_store(&head->revoked_seen, revoked);
}

void pw_slab_forget(struct pw_slab *slab)
{
        for (; slab; slab = slab->next)
                forget(slab->handles, slab->count);
}

void pw_slab_free(struct pw_slab *slab)
{
        while (slab) {
                struct pw_slab *next = slab->next;
                munmap(slab->head, slab->bytes);
                free(slab);
                slab = next;
        }
}

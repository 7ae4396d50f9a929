/* Slabs of handles: memory that a child of fork(2) finds zeroed, so that no handle of the parent's means anything there.
 *
 * A handle without a lane belongs to the parent process. A slab lies within PW_SLAB_ALIGN, so its head is found from any of its
 * handles: there stands whether what is noted in them still counts, in a few lines that every get looks at and that so stay in the
 * cache.
 */
#ifndef PW_LIBCLIENT_SLAB_H
#define PW_LIBCLIENT_SLAB_H

#include "libclient/object/future.h"

#define PW_SLAB_HANDLES 1024u /* of a lane's first slab; each is twice as large as the one before, up to 2 MiB */

#define PW_SLAB_ALIGN (UINT64_C(2) << 20)

/* As large as a handle, so that handles lie in lines as they would without it. */
struct pw_slab_head {
        const _Atomic uint32_t *revoked; /* of the session's control memory; NULL: in the child of a fork */
        _Atomic uint32_t revoked_seen;   /* its count when notes were last thrown away: those in the handles are younger */
        uint32_t count; /* of handles */
        uint32_t zero[8];
};
_Static_assert(sizeof(struct pw_slab_head) == sizeof(struct pw_future), "it takes the place of one");

struct pw_slab {
        struct pw_slab *next;
        struct pw_slab_head *head;
        struct pw_future *handles; /* zeroed */
        uint32_t count;
        uint64_t bytes; /* of the map that they are in */
};

/* The slab after `before` (NULL: the first), in front of it. NULL: out of memory. */
struct pw_slab *pw_slab_new(struct pw_slab *before, const _Atomic uint32_t *revoked);
static inline struct pw_slab_head *pw_slab_head(const struct pw_future *handle)
{
        return (struct pw_slab_head *)((uintptr_t)handle & ~(uintptr_t)(PW_SLAB_ALIGN - 1));
}
/* What is noted in its handles counts: no object of the session was freed by force since. On the path of every get, before the
 * note. */
static inline bool pw_slab_notes_count(const struct pw_slab_head *head)
{
        return head->revoked && atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)head->revoked, memory_order_acquire) ==
                                        atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&head->revoked_seen,
                                                             memory_order_acquire);
}
/* Throw them away if they count no more. */
void pw_slab_recheck(struct pw_slab_head *head);
/* Have gets look again: what is noted in the handles counts no more. With all behind it.   Threads: any. */
void pw_slab_forget(struct pw_slab *slab);
/* With all behind it. */
void pw_slab_free(struct pw_slab *slab);

#endif

/* Slabs of handles: memory that a child of fork(2) finds zeroed, so that no handle of the parent's means anything there.
 *
 * A handle without a lane belongs to the parent process.
 */
#ifndef PW_LIBCLIENT_SLAB_H
#define PW_LIBCLIENT_SLAB_H

#include "libclient/future.h"

#define PW_SLAB_HANDLES 1024u /* of a lane's first slab; each is twice as large as the one before, up to 2 MiB */

struct pw_slab {
        struct pw_slab *next;
        struct pw_future *handles; /* zeroed */
        uint32_t count;
        uint64_t bytes; /* of the map that they are in */
};

/* The slab after `before` (NULL: the first), in front of it. NULL: out of memory. */
struct pw_slab *pw_slab_new(struct pw_slab *before);
/* Have gets look again: what is noted in the handles counts no more. With all behind it.   Threads: any. */
void pw_slab_forget(struct pw_slab *slab);
/* With all behind it. */
void pw_slab_free(struct pw_slab *slab);

#endif

/* Another host, played inside the daemon: it fills the table of daemon/session/foreign.h.
 *
 * What it has is told by the slot of the id; its values are words that say their place. What is opened there under
 * OTHER_DECIDE + slot, or OTHER_LOSE + slot, is no object: it has the host do that to the one of that slot.
 */
#ifndef PW_TESTS_THREADS_OTHER_HOST_H
#define PW_TESTS_THREADS_OTHER_HOST_H

#include "base/id.h"

#include <stdatomic.h>

#define OTHER_HOST 3u
#define OTHER_DECIDE 0x100u
#define OTHER_LOSE 0x200u

enum other_slot {
        OTHER_BYTES = 1, /* OTHER_BYTES_COUNT opaque bytes */
        OTHER_MATRIX,    /* f32 [3 4] */
        OTHER_FAILED,    /* an error */
        OTHER_LATE,      /* PENDING, until it is decided: bytes */
        OTHER_EMPTY,     /* no bytes */
        OTHER_LARGE,     /* OTHER_LARGE_BYTES */
        OTHER_AWAY,      /* bytes; whoever fetches them hears that it is lost */
        OTHER_HUGE,      /* more bytes than this host has */
        OTHER_NONE       /* there is none, here and above */
};
#define OTHER_BYTES_COUNT 4000u
#define OTHER_LARGE_BYTES (8u << 20)

struct pw_daemon;
void other_host_prepare(struct pw_daemon *daemon);

static inline struct pw_id other_id(uint32_t slot) { return pw_id_make(OTHER_HOST, 0x3f2a, 7, slot, 1); }

extern _Atomic uint32_t other_opened, other_fetched, other_freed;

#endif

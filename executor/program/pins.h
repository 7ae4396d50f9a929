/* Memory of clients that the device reaches by itself: ranges of whole pages that were registered with it (`pin` of
 * executor/device/memory.h), as what was moved from or to them needed it.
 *
 * Their pages do not go back to the system before they are let go. So the daemon asks for that first, of every executor whose word
 * says that it may have some: the word is set before the first is pinned, and stays as long as there are any. What is under way is
 * held by its run, so nobody asks for its pages; but a pin may be of more than those.
 * No two overlap. Registering costs as much as copying a good part of the bytes, so a range stays pinned until its pages are asked
 * for, its segment goes, or others need its place: then the one used longest ago goes, but none that is under way.
 * Threads: the launching thread.
 */
#ifndef PW_EXECUTOR_PROGRAM_PINS_H
#define PW_EXECUTOR_PROGRAM_PINS_H

#include "executor/device/memory.h"

#include <stdatomic.h>

#define PW_PINS_MAX 64u
#define PW_PINS_BYTES (UINT64_C(16) << 30)     /* of all together */
#define PW_PINS_MIN_BYTES (UINT64_C(256) << 10) /* what is smaller is copied as fast */

struct pw_pin {
        uint8_t *base;
        uint64_t bytes;
        uint64_t used;   /* the gang that it was for last */
        bool is_refused; /* it could not be pinned: it is not tried again as long as this is here */
};
struct pw_pins {
        const struct pw_device_memory *memory; /* NULL: nothing is pinned */
        struct pw_exec_device *device;
        _Atomic uint32_t *word;                /* `pins` of the own board */
        uint32_t count, pinned;                /* entries; those that are not refused, */
        uint64_t bytes;                        /* and what these have */
        struct pw_pin all[PW_PINS_MAX];        /* in no order */
};

/* All are kept by who calls. */
void pw_pins_init(struct pw_pins *pins, const struct pw_device_memory *memory, struct pw_exec_device *device,
                  _Atomic uint32_t *word);
void pw_pins_done(struct pw_pins *pins);

/* Pin what gang `gang` moves, if that is worth it and can be: what overlaps it otherwise is let go, unless a gang from `in_use` on
 * used it.   Blocks: as pin() does. */
struct pw_pins_wanted { uint8_t *at; uint64_t bytes; bool writable; uint64_t gang, in_use; };
void pw_pins_want(struct pw_pins *pins, const struct pw_pins_wanted *wanted);
/* Did a gang from `since` on use anything of the range? */
bool pw_pins_used(const struct pw_pins *pins, const uint8_t *at, uint64_t bytes, uint64_t since);
/* Let go of all that has any of the range; nothing moves there. */
void pw_pins_drop(struct pw_pins *pins, const uint8_t *at, uint64_t bytes);

#endif

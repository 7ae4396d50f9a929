/* Memory that emulates what the processor does not read: arenas are memfds, and the addresses that are handed out are of pages that
 * nobody may touch. Where the bytes are, only this table knows, and the device, for the functions that it runs.
 */
#ifndef PW_EXECUTOR_DEVICE_MEMORY_APART_H
#define PW_EXECUTOR_DEVICE_MEMORY_APART_H

#include "executor/device/memory.h"

#include <stddef.h>

#define PW_APART_ARENAS 64u

/* Of one device; zeroed: none is mapped. The table finds it in the device, where `apart_of` says. */
struct pw_apart {
        uint32_t count;
        struct pw_apart_arena { uint8_t *base; ptrdiff_t delta; uint64_t bytes; } arenas[PW_APART_ARENAS];
};
struct pw_apart *pw_apart_of(struct pw_exec_device *device);
/* Where the byte at that address is; an address of no arena is one of the processor. */
void *pw_apart_at(const struct pw_apart *apart, const void *address);

extern const struct pw_device_memory pw_memory_apart;

#endif

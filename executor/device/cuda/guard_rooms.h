/* What the kernel of guard.cu takes besides addresses. For the kernel too.
 */
#ifndef PW_EXECUTOR_GUARD_ROOMS_H
#define PW_EXECUTOR_GUARD_ROOMS_H

#include "base/anywhere.h"

#include <stdbool.h>
#include <stdint.h>

#define PW_GUARD_ROOMS 4 /* whose guards one launch looks at, and as many that it sets */

/* The guards of a gang, and the bytes behind each of its outputs in its room; 0: there is no such output. */
struct pw_guard_rooms { uint64_t words[2], rests[PW_GUARD_ROOMS]; };
/* By value: rooms of the gang that has ended, and of the one that begins. */
struct pw_guard_turn {
        struct pw_guard_rooms ended, begins;
        uint64_t number;          /* of the gang that has ended, when all its rooms were looked at; 0: there are more */
        uint32_t first;           /* of its rooms, which the first one here is */
        uint8_t has_ended, is_first; /* there is such a gang; of the one that begins nothing was set yet */
};

/* Memory of the device, of each gang: what its kernels say, and the worst of its rooms so far. */
struct pw_guard_words { uint32_t fault, worst; };

/* What is written then, in one word: the number, the fault, as far as it goes, and the worst room with its enum pw_guard_state. */
#define PW_GUARD_FAULT_MAX 4095u
PW_ANYWHERE uint64_t pw_guard_end(uint64_t number, uint32_t fault, uint32_t room, uint32_t state)
{
        return number << 24 | (uint64_t)(fault < PW_GUARD_FAULT_MAX ? fault : PW_GUARD_FAULT_MAX) << 12 | room << 4 | state;
}
PW_ANYWHERE bool pw_guard_end_is(uint64_t word, uint64_t number) { return word >> 24 == (number & (UINT64_MAX >> 24)); }
PW_ANYWHERE uint32_t pw_guard_end_fault(uint64_t word) { return (uint32_t)(word >> 12) & PW_GUARD_FAULT_MAX; }
PW_ANYWHERE uint32_t pw_guard_end_room(uint64_t word) { return (uint32_t)(word >> 4) & 255; }
PW_ANYWHERE uint32_t pw_guard_end_state(uint64_t word) { return (uint32_t)word & 15; }

#endif

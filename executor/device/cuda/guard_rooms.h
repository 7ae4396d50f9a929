/* What the kernel of guard.cu takes. For the kernel too.
 */
#ifndef PW_EXECUTOR_GUARD_ROOMS_H
#define PW_EXECUTOR_GUARD_ROOMS_H

#include "base/anywhere.h"

#include <stdbool.h>
#include <stdint.h>

#define PW_GUARD_ROOMS 8u /* whose guards one launch looks at, and as many that it sets */
#define PW_GUARD_CALLS 8u /* that end together at most, and that begin together */
#define PW_GUARD_RING 64u /* places for what is said of calls: one has that of its number, modulo this */

/* Behind an output: where the rest of its room begins, for the device, and its bytes, 0: there is no such output; and its guard. */
struct pw_guard_room { uint64_t end, rest, words[2]; };
/* By value: rooms of the calls that have ended, and of those that begin. */
struct pw_guard_turn {
        struct pw_guard_room ended[PW_GUARD_ROOMS], begins[PW_GUARD_ROOMS];
        uint64_t words, ends;                 /* rings, for the device: of struct pw_guard_words; of what pw_guard_end() makes */
        uint64_t ended_number, begins_number; /* of the first call of each */
        uint32_t ended_count, begins_count;   /* calls; 0: there are none */
        uint32_t is_last;                     /* all rooms of those that have ended were looked at */
        uint32_t indexes[PW_GUARD_ROOMS];     /* which one of its call each room is of those that have ended */
};

/* Memory of the device, of each call: what its kernels say, and the worst of the rooms so far, of the first that has ended. */
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

/* What the kernel of guard.cu takes besides addresses. For the kernel too, so it knows no header of ours.
 */
#ifndef PW_EXECUTOR_GUARD_ROOMS_H
#define PW_EXECUTOR_GUARD_ROOMS_H

#include <stdint.h>

#define PW_GUARD_ROOMS 4 /* whose guards one launch looks at, and as many that it sets */

/* The guards of a gang, and the bytes behind each of its outputs in its room; 0: there is no such output. */
struct pw_guard_rooms { uint64_t words[2], rests[PW_GUARD_ROOMS]; };
/* By value: rooms of the gang that has ended, and of the one that begins. */
struct pw_guard_turn { struct pw_guard_rooms ended, begins; };

#endif

/* The guard of an output: bytes behind it, in its own room, by which a function that writes past it is found out.
 *
 * A room has at least PW_ROOM_GUARD bytes behind the value. Guarded are as many right behind the own shard and as many at the end
 * of the room; they may overlap. Where only the former were touched, all that was written lies in the room itself; where the
 * latter were, what lies behind the room may be spoilt, and that may be anybody's.
 */
#ifndef PW_EXECUTOR_GUARD_H
#define PW_EXECUTOR_GUARD_H

#include "plane/image.h"

#include <string.h>

#define PW_GUARD_WORD UINT64_C(0xa7a7a7a7a7a7a7a7) /* one byte repeated, as the two may overlap */

enum pw_guard_state { PW_GUARD_WHOLE, PW_GUARD_TOUCHED, PW_GUARD_PASSED };

struct pw_guard { uint64_t words[PW_ROOM_GUARD / 8]; };

/* `rest` bytes from `end` on are the room's, PW_ROOM_GUARD of them at least. */
static inline void pw_guard_set(uint8_t *end, uint64_t rest)
{
        const struct pw_guard guard = { { PW_GUARD_WORD, PW_GUARD_WORD } };

        memcpy(end, &guard, sizeof guard);
        memcpy(end + rest - sizeof guard, &guard, sizeof guard);
}

static inline uint64_t pw_guard_difference(const uint8_t *at)
{
        struct pw_guard guard;

        memcpy(&guard, at, sizeof guard);
        return (guard.words[0] ^ PW_GUARD_WORD) | (guard.words[1] ^ PW_GUARD_WORD);
}

static inline enum pw_guard_state pw_guard_look(const uint8_t *end, uint64_t rest)
{
        uint64_t behind = pw_guard_difference(end), last = pw_guard_difference(end + rest - PW_ROOM_GUARD);

        if (!(behind | last))
                return PW_GUARD_WHOLE;
        return last ? PW_GUARD_PASSED : PW_GUARD_TOUCHED;
}

#endif

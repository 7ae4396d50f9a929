/* The guard of an output: bytes behind it, in its own room, by which a function that writes past it is found out.
 *
 * A room has at least PW_ROOM_GUARD bytes behind the value. Guarded are as many right behind the own shard and as many at the end
 * of the room; they may overlap. Where only the former were touched, all that was written lies in the room itself; where the
 * latter were, what lies behind the room may be spoilt, and that may be anybody's. What a guard looks like is a secret of the
 * process.
 */
#ifndef PW_EXECUTOR_DEVICE_GUARD_H
#define PW_EXECUTOR_DEVICE_GUARD_H

#include "plane/board/image.h"

#include <stdbool.h>
#include <string.h>

enum pw_guard_state { PW_GUARD_WHOLE, PW_GUARD_TOUCHED, PW_GUARD_PASSED };

/* Of one process, at random: a function may be made to copy what a client chose, and a client must not be able to choose bytes
 * that pass for a guard. */
struct pw_guard_key { uint64_t words[2]; };
/* The guard of one gang. Who reads that of a gang, in a room that a value was in, knows nothing of the next. */
struct pw_guard { uint64_t words[PW_ROOM_GUARD / 8]; };
#define PW_GUARD_NOT_0 UINT64_C(0x0101010101010101)

static inline uint64_t pw_guard_rotate(uint64_t word, uint32_t bits) { return word << bits | word >> (64 - bits); }

/* A round of SipHash (Aumasson, Bernstein, 2012). */
static inline void pw_guard_round(uint64_t v[4])
{
        v[0] += v[1];
        v[2] += v[3];
        v[1] = pw_guard_rotate(v[1], 13) ^ v[0];
        v[3] = pw_guard_rotate(v[3], 16) ^ v[2];
        v[0] = pw_guard_rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[1] = pw_guard_rotate(v[1], 17) ^ v[2];
        v[3] = pw_guard_rotate(v[3], 21) ^ v[0];
        v[2] = pw_guard_rotate(v[2], 32);
}

/* Keyed by the process, different for each gang: SipHash with one round for the message and two at the end, and two words of it. No
 * byte is 0: that is what goes past an end most often, and by one byte. */
static inline struct pw_guard pw_guard_make(const struct pw_guard_key *key, uint64_t seq)
{
        uint64_t v[4] = { key->words[0] ^ UINT64_C(0x736f6d6570736575), key->words[1] ^ UINT64_C(0x646f72616e646f6d),
                          key->words[0] ^ UINT64_C(0x6c7967656e657261), key->words[1] ^ UINT64_C(0x7465646279746573) ^ seq };

        pw_guard_round(v);
        v[0] ^= seq;
        v[2] ^= 0xee;
        pw_guard_round(v);
        pw_guard_round(v);
        return (struct pw_guard){ { (v[0] ^ v[1]) | PW_GUARD_NOT_0, (v[2] ^ v[3]) | PW_GUARD_NOT_0 } };
}

/* `rest` bytes from `end` on are the room's, PW_ROOM_GUARD of them at least. Where the two overlap, the latter is whole. */
static inline void pw_guard_set(const struct pw_guard *guard, uint8_t *end, uint64_t rest)
{
        memcpy(end, guard, sizeof *guard);
        memcpy(end + rest - sizeof *guard, guard, sizeof *guard);
}

static inline bool pw_guard_is(const struct pw_guard *guard, const uint8_t *at)
{
        struct pw_guard seen;

        memcpy(&seen, at, sizeof seen);
        return !((seen.words[0] ^ guard->words[0]) | (seen.words[1] ^ guard->words[1]));
}

static inline enum pw_guard_state pw_guard_check(const struct pw_guard *guard, const uint8_t *end, uint64_t rest)
{
        if (!pw_guard_is(guard, end + rest - sizeof *guard))
                return PW_GUARD_PASSED;
        if (rest >= 2 * sizeof *guard ? pw_guard_is(guard, end) : !memcmp(end, guard, rest - sizeof *guard))
                return PW_GUARD_WHOLE;
        return PW_GUARD_TOUCHED;
}

#endif

/* Whose bytes lie in a device's memory last, where several tenants have rooms in it: ranges of addresses, each with its owner.
 *
 * It errs in one direction only: bytes that it calls an owner's were written by nobody else since, or set to 0 for him. Where that
 * is not so, or not known, they are PW_RESIDUE_UNKNOWN's; and all are, where there are more ranges than it has place for.
 * All numbers are plain: a test compares it with an array.
 * Threads: one.
 */
#ifndef PW_EXECUTOR_PROGRAM_RESIDUE_H
#define PW_EXECUTOR_PROGRAM_RESIDUE_H

#include <stdbool.h>
#include <stdint.h>

#define PW_RESIDUE_RANGES 16384u
#define PW_RESIDUE_UNKNOWN UINT32_MAX /* nobody is that owner */

/* Up to where the next begins, the last one without end. Ascending, the first from 0 on; no two that touch have one owner. */
struct pw_residue_range { uint64_t from; uint32_t owner; };
struct pw_residue {
        uint32_t count; /* 0: not begun */
        struct pw_residue_range ranges[PW_RESIDUE_RANGES];
};

/* All there is is the owner's. */
void pw_residue_begin(struct pw_residue *residue, uint32_t owner);
/* Are all of these bytes the owner's? */
bool pw_residue_is(const struct pw_residue *residue, uint64_t from, uint64_t bytes, uint32_t owner);
/* All of them were written, or set to 0, for the owner. */
void pw_residue_set(struct pw_residue *residue, uint64_t from, uint64_t bytes, uint32_t owner);
/* Some of them may have been written by the owner: those that were not his before are unknown. */
void pw_residue_touch(struct pw_residue *residue, uint64_t from, uint64_t bytes, uint32_t owner);

#endif

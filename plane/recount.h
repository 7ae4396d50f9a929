/* Clearing counts on a hint page that the dead left: what a bucket counts, less what the living note of it.
 *
 *      pw_recount_begin(&recount, page);
 *      for (each lane of each session of the tenant) // at any pace
 *              pw_recount_notes(&recount, notes, PW_NOTES_MAX);
 *      again = pw_recount_end(&recount, page);
 *
 * The page is read before the notes, and `changes` counts up between each change of a count and the note that says it. So if it
 * stays as it was, whoever was counted at the beginning is found noted: what is counted beyond that is nobody's, and is subtracted.
 * It takes no count of the living, so no waker can miss one; notes of who is going or leaving count as if they were counted, and
 * the bucket is looked at again. If the dead's notes are taken back meanwhile, it begins anew.
 */
#ifndef PW_PLANE_RECOUNT_H
#define PW_PLANE_RECOUNT_H

#include "plane/hint.h"

struct pw_recount {
        struct pw_hint_marks marks;                     /* buckets to be looked at */
        struct pw_hint_marks unsure;                    /* those that somebody is going to, or leaving */
        uint32_t counts[PW_HINT_BUCKETS], noted[PW_HINT_BUCKETS];
        uint32_t changes[PW_HINT_CHANGES];
};

void pw_recount_begin(struct pw_recount *recount, const struct pw_hint_page *page);
void pw_recount_notes(struct pw_recount *recount, const _Atomic uint64_t *notes, uint32_t count);
/* Returns whether there are marks left: where a count changed meanwhile, or may be about to. */
bool pw_recount_end(struct pw_recount *recount, struct pw_hint_page *page);

#endif

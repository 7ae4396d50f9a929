/* Counts of the dead on a hint page. */
#include "plane/recount.h"

#include "base/memory.h"
#include "plane/control.h"

static bool has(const struct pw_hint_marks *marks, uint32_t bucket) { return marks->bits[bucket / 64] >> bucket % 64 & 1; }

void pw_recount_begin(struct pw_recount *recount, const struct pw_hint_page *page)
{
        recount->unsure = (struct pw_hint_marks){ .wide = 0 };
        for (uint32_t i = 0; i < PW_HINT_CHANGES; i++)
                recount->changes[i] = atomic_load(&page->changes[i]);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++) {
                recount->counts[i] = has(&recount->marks, i) ? atomic_load(&page->waiters[i]) : 0;
                recount->noted[i] = 0;
        }
}

/* Waiters and wide ones are counted apart, and neither overflows into the other, whatever is noted. */
static void add(struct pw_recount *recount, uint32_t bucket, uint32_t unit, bool sure)
{
        uint32_t *noted = &recount->noted[bucket];

        if (unit == PW_HINT_WIDE ? *noted < UINT32_MAX - PW_HINT_WIDE : *noted % PW_HINT_WIDE < PW_HINT_WIDE - 1)
                *noted += unit;
        if (!sure)
                recount->unsure.bits[bucket / 64] |= UINT64_C(1) << bucket % 64;
}

void pw_recount_notes(struct pw_recount *recount, const _Atomic uint64_t *notes, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                uint64_t note = atomic_load(&notes[i]);
                uint32_t bucket = pw_note_bucket(note);
                bool sure = pw_note_state(note) == PW_NOTE_COUNTED;

                if (pw_note_state(note) == PW_NOTE_NONE)
                        continue;
                if (bucket < PW_HINT_BUCKETS)
                        add(recount, bucket, 1, sure);
                for (bucket = 0; i == 0 && pw_note_bucket(note) == PW_NOTE_EVERY && bucket < PW_HINT_BUCKETS; bucket++)
                        add(recount, bucket, PW_HINT_WIDE, sure);
        }
}

static uint32_t less(uint32_t count, uint32_t by) { return count > by ? count - by : 0; }

/* No count falls below 0: any client may have written it meanwhile. */
static void take_back(_Atomic uint32_t *waiters, uint32_t narrow, uint32_t wide)
{
        uint32_t count = atomic_load(waiters);

        while ((narrow || wide) &&
               !atomic_compare_exchange_weak(waiters, &count, less(count / PW_HINT_WIDE, wide) * PW_HINT_WIDE +
                                                              less(count % PW_HINT_WIDE, narrow)))
                ;
}

bool pw_recount_end(struct pw_recount *recount, struct pw_hint_page *page)
{
        bool left = false;

        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++) {
                uint32_t count = recount->counts[i], noted = recount->noted[i];

                if (!has(&recount->marks, i))
                        continue;
                if (atomic_load(&page->changes[i % PW_HINT_CHANGES]) != recount->changes[i % PW_HINT_CHANGES]) {
                        left = true;
                        continue;
                }
                take_back(&page->waiters[i], less(count % PW_HINT_WIDE, noted % PW_HINT_WIDE),
                          less(count / PW_HINT_WIDE, noted / PW_HINT_WIDE));
                if (has(&recount->unsure, i))
                        left = true;
                else
                        recount->marks.bits[i / 64] &= ~(UINT64_C(1) << i % 64);
        }
        return left;
}

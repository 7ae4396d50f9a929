/* Wide waits: counted in every bucket, asleep on bells. */
#include "plane/wide.h"

#include "plane/control.h"

#include <errno.h>
#include <linux/futex.h>

#define SECOND_LOOK_NS (INT64_C(1000) * PW_SECOND_LOOK_US)

static void note(const struct pw_wide *wide, enum pw_note_state state, uint32_t segment, uint32_t slot)
{
        atomic_store(&wide->place->notes[0], pw_note_make(state, PW_NOTE_EVERY, segment, slot));
}

static void changed(struct pw_hint_page *page)
{
        for (uint32_t i = 0; i < PW_HINT_CHANGES; i++)
                pw_hint_changed(page, i);
}

void pw_wide_begin(struct pw_wide *wide, const struct pw_wait_place *place, uint64_t bells, const struct pw_wait_item *first)
{
        wide->place = place;
        wide->bells = bells;
        wide->unwoken = false;
        note(wide, PW_NOTE_GOING, first->segment, first->slot);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                atomic_fetch_add(&place->page->waiters[i], PW_HINT_WIDE);
        changed(place->page);
        note(wide, PW_NOTE_COUNTED, first->segment, first->slot);
}

void pw_wide_end(const struct pw_wide *wide)
{
        note(wide, PW_NOTE_LEAVING, 0, 0);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                pw_hint_count_down(&wide->place->page->waiters[i], PW_HINT_WIDE);
        changed(wide->place->page);
        atomic_store(&wide->place->notes[0], 0);
}

void pw_wide_arm(struct pw_wide *wide)
{
        for (uint64_t left = wide->bells; left; left &= left - 1) {
                uint32_t i = (uint32_t)__builtin_ctzll(left);
                _Atomic uint32_t *bell = &wide->place->page->bells[i];
                uint32_t before = atomic_load(bell);
                while (!(before & PW_HINT_ARMED) && !atomic_compare_exchange_weak(bell, &before, before + 2 + PW_HINT_ARMED))
                        ;
                wide->armed[i] = before & PW_HINT_ARMED ? before : before + 2 + PW_HINT_ARMED;
        }
}

enum pw_status pw_wide_sleep(struct pw_wide *wide, int64_t deadline_ns)
{
        const struct pw_wait_place *place = wide->place;
        struct futex_waitv on[PW_HINT_BELLS + 1];
        uint32_t count = 0;
        int64_t now_ns = pw_now_ns(), until_ns = now_ns + SECOND_LOOK_NS;

        if (atomic_load(place->life) != place->life_alive)
                return PW_DAEMON_GONE;
        if (now_ns >= deadline_ns)
                return PW_DEADLINE;
        if (until_ns > deadline_ns)
                until_ns = deadline_ns;
        for (uint64_t left = wide->bells; left; left &= left - 1) {
                uint32_t i = (uint32_t)__builtin_ctzll(left);
                on[count++] = (struct futex_waitv){ wide->armed[i], (uintptr_t)&place->page->bells[i], FUTEX_32, 0 };
        }
        on[count++] = (struct futex_waitv){ place->life_alive, (uintptr_t)place->life, FUTEX_32, 0 };
        wide->unwoken = pw_futex_wait_any(on, count, until_ns) == -ETIMEDOUT;
        return PW_OK;
}

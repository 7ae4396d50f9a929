/* Wide waits between two maps of one memory: who decides an entry rings, and no ring is lost. */
#include "plane/wide.h"

#include "plane/control.h"
#include "plane/maps_test.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>

#define SEGMENT 7u
#define OTHER 8u
#define ENTRIES 2000u

struct shared {
        struct pw_entry entries[ENTRIES];
        struct pw_hint_page page;
        _Atomic uint64_t notes[PW_NOTES_MAX];
        _Atomic uint32_t life;
};

static struct maps shared_new(void)
{
        struct maps maps = maps_new(pw_round_up(sizeof(struct shared), 4096));
        struct shared *shared = maps.ours;

        atomic_store(&shared->life, 1);
        for (uint32_t i = 0; i < ENTRIES; i++)
                atomic_store(&shared->entries[i].word, pw_word_make(PW_ENTRY_PENDING, 0, 1, PW_OK));
        return maps;
}

static void assert_no_trace(struct shared *shared)
{
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                assert_int_equal(atomic_load(&shared->page.waiters[i]), 0);
        assert_true(atomic_load(&shared->notes[0]) == 0);
}

static struct pw_wait_place place_of(struct shared *shared)
{
        return (struct pw_wait_place){ &shared->page, shared->notes, &shared->life, 1 };
}

static void begin(struct pw_wide *wide, const struct pw_wait_place *place)
{
        struct pw_wait_item first = { .segment = SEGMENT, .slot = 5 };

        pw_wide_begin(wide, place, pw_wide_bell(SEGMENT), &first);
}

static bool decide(struct shared *shared, uint32_t slot, uint32_t segment)
{
        uint64_t old;

        assert_true(pw_entry_decide(&shared->entries[slot], 1, PW_OK, 0, 1, &old));
        return pw_hint_wake(&shared->page, &shared->entries[slot], segment, slot);
}

/* One ring for each arming, whatever is decided in between; none for segments that nobody waits for; none afterwards. */
static void test_rings_once(void **state)
{
        struct maps maps = shared_new();
        struct shared *ours = maps.ours;
        struct pw_wait_place place = place_of(maps.theirs);
        struct pw_wide wide;

        (void)state;
        begin(&wide, &place);
        assert_int_equal(pw_note_state(atomic_load(&ours->notes[0])), PW_NOTE_COUNTED);
        assert_int_equal(pw_note_slot(atomic_load(&ours->notes[0])), 5);
        pw_wide_arm(&wide);
        assert_false(decide(ours, 0, OTHER));
        assert_true(decide(ours, 1, SEGMENT));
        assert_false(decide(ours, 2, SEGMENT));
        assert_int_equal(pw_wide_sleep(&wide, INT64_MAX), PW_OK);
        pw_wide_arm(&wide);
        assert_true(decide(ours, 3, SEGMENT));
        pw_wide_arm(&wide);
        pw_wide_end(&wide);
        assert_false(decide(ours, 4, SEGMENT));
        assert_no_trace(ours);
        maps_done(&maps);
}

static void test_ends(void **state)
{
        struct maps maps = shared_new();
        struct shared *ours = maps.ours;
        struct pw_wait_place place = place_of(maps.theirs);
        struct pw_wide wide;

        (void)state;
        begin(&wide, &place);
        pw_wide_arm(&wide);
        assert_int_equal(pw_wide_sleep(&wide, pw_now_ns() - 1), PW_DEADLINE);
        assert_int_equal(pw_wide_sleep(&wide, INT64_MAX), PW_OK); /* nobody rings: the second look */
        atomic_store(&ours->life, 2);
        assert_int_equal(pw_wide_sleep(&wide, INT64_MAX), PW_DAEMON_GONE);
        pw_wide_end(&wide);
        assert_no_trace(ours);
        maps_done(&maps);
}

/* The dead: what was counted is taken back, and only once, beside what sleeps on entries. */
static void test_forget(void **state)
{
        struct maps maps = shared_new();
        struct shared *ours = maps.ours;
        struct pw_wait_place place = place_of(maps.theirs);
        struct pw_wide wide;
        struct pw_hint_marks marks = { .wide = 0 };

        (void)state;
        atomic_store(&ours->page.waiters[3], 1);
        begin(&wide, &place);
        atomic_store(&ours->notes[1], pw_note_make(PW_NOTE_COUNTED, PW_NOTE_EVERY, SEGMENT, 0)); /* hostile: it is not the first */
        assert_false(pw_hint_forget(&ours->page, ours->notes, PW_NOTES_MAX, &marks));
        assert_int_equal(marks.wide, 1);
        marks.wide = 3; /* hostile: as many were not counted */
        pw_hint_forget_wide(&ours->page, &marks);
        assert_int_equal(marks.wide, 0);
        assert_int_equal(atomic_load(&ours->page.waiters[3]), 1);
        atomic_store(&ours->page.waiters[3], 0);
        assert_no_trace(ours);
        pw_hint_count_down(&ours->page.waiters[3], PW_HINT_WIDE);
        assert_no_trace(ours);
        maps_done(&maps);
}

/* Waiters that look for all while they are decided one by one. A lost ring costs 50 ms, and there could be thousands. */
struct waiter { struct shared *shared; pthread_t thread; _Atomic uint32_t seen; };

static uint32_t ready_count(const struct shared *shared)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < ENTRIES; i++)
                count += pw_word_state(pw_entry_load(&shared->entries[i])) == PW_ENTRY_READY;
        return count;
}

static void *wait_for_each(void *data)
{
        struct waiter *waiter = data;
        _Atomic uint64_t notes[PW_NOTES_MAX] = { 0 };
        struct pw_wait_place place = { &waiter->shared->page, notes, &waiter->shared->life, 1 };
        struct pw_wide wide;
        uint32_t seen = 0;

        begin(&wide, &place);
        while (seen < ENTRIES) {
                pw_wide_arm(&wide);
                uint32_t count = ready_count(waiter->shared);
                if (count == seen)
                        assert_int_equal(pw_wide_sleep(&wide, INT64_MAX), PW_OK);
                seen = count;
                atomic_store(&waiter->seen, seen);
        }
        pw_wide_end(&wide);
        return NULL;
}

static void test_no_ring_is_lost(void **state)
{
        struct maps maps = shared_new();
        struct shared *ours = maps.ours;
        struct waiter waiters[2];
        int64_t began = pw_now_ns();

        (void)state;
        for (int i = 0; i < 2; i++) {
                waiters[i] = (struct waiter){ .shared = maps.theirs };
                assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_for_each, &waiters[i]), 0);
        }
        for (uint32_t slot = 0; slot < ENTRIES; slot++) {
                decide(ours, slot, SEGMENT);
                for (int i = 0; i < 2; i++)
                        while (atomic_load(&waiters[i].seen) < slot + 1)
                                sched_yield();
        }
        for (int i = 0; i < 2; i++)
                pthread_join(waiters[i].thread, NULL);
        assert_true(pw_now_ns() - began < ENTRIES * INT64_C(10000000));
        assert_no_trace(ours);
        maps_done(&maps);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rings_once),
                cmocka_unit_test(test_ends),
                cmocka_unit_test(test_forget),
                cmocka_unit_test(test_no_ring_is_lost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

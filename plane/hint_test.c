/* Waits and wakes between two maps of one memory. */
#include "plane/hint.h"

#include "plane/control.h"
#include "plane/maps_test.h"
#include "plane/recount.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>

#define SEGMENT 7u
#define ENTRIES 4u

/* What client and daemon share here. */
struct shared {
        struct pw_entry entries[ENTRIES];
        struct pw_hint_page page;
        _Atomic uint64_t notes[PW_NOTES_MAX];
        _Atomic uint32_t life;
};

struct waiter {
        struct shared *shared;
        uint32_t count;
        bool closing;
        int64_t deadline_ns;
        enum pw_status status;
        pthread_t thread;
};

static enum pw_status wait_for(const struct waiter *waiter)
{
        struct shared *shared = waiter->shared;
        struct pw_wait_place place = { &shared->page, shared->notes, &shared->life, 1 };
        struct pw_wait_item items[ENTRIES];

        for (uint32_t i = 0; i < waiter->count; i++)
                items[i] = (struct pw_wait_item){ &shared->entries[i], 1, SEGMENT, i, waiter->closing };
        return pw_wait_any(&place, items, waiter->count, waiter->deadline_ns);
}

static void *wait_in_thread(void *data)
{
        struct waiter *waiter = data;

        waiter->status = wait_for(waiter);
        return NULL;
}

static struct maps shared_new(enum pw_entry_state state)
{
        struct maps maps = maps_new(pw_round_up(sizeof(struct shared), 4096));
        struct shared *shared = maps.ours;

        atomic_store(&shared->life, 1);
        for (uint32_t i = 0; i < ENTRIES; i++)
                atomic_store(&shared->entries[i].word, pw_word_make(state, 0, 1, PW_OK));
        return maps;
}

static void assert_no_trace(struct shared *shared)
{
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                assert_int_equal(atomic_load(&shared->page.waiters[i]), 0);
        for (uint32_t i = 0; i < PW_NOTES_MAX; i++)
                assert_true(atomic_load(&shared->notes[i]) == 0);
}

static void start(struct waiter *waiter) { assert_int_equal(pthread_create(&waiter->thread, NULL, wait_in_thread, waiter), 0); }

/* Until the waiter noted that it is counted for the last of its items: it sleeps, or is about to. */
static void until_counted(struct waiter *waiter)
{
        while (pw_note_state(atomic_load(&waiter->shared->notes[waiter->count - 1])) != PW_NOTE_COUNTED)
                sched_yield();
}

static void test_decided_first(void **state)
{
        struct maps maps = shared_new(PW_ENTRY_PENDING);
        struct shared *ours = maps.ours;
        struct waiter waiter = { .shared = maps.theirs, .count = 1, .deadline_ns = INT64_MAX };
        uint64_t old;

        (void)state;
        assert_true(pw_entry_decide(&ours->entries[0], 1, PW_OK, 0, 1, &old));
        assert_false(pw_hint_wake(&ours->page, &ours->entries[0], SEGMENT, 0)); /* nobody sleeps: no system call */
        assert_int_equal(wait_for(&waiter), PW_OK);
        assert_no_trace(ours);
        atomic_store(&ours->entries[0].word, pw_word_make(PW_ENTRY_PENDING, 0, 2, PW_OK)); /* another generation */
        assert_int_equal(wait_for(&waiter), PW_OK);
        maps_done(&maps);
}

static void test_waited_first(void **state)
{
        (void)state;
        for (uint32_t which = 0; which < ENTRIES; which++) {
                struct maps maps = shared_new(PW_ENTRY_PENDING);
                struct shared *ours = maps.ours;
                struct waiter waiter = { .shared = maps.theirs, .count = ENTRIES, .deadline_ns = INT64_MAX };
                uint64_t old;
                start(&waiter);
                until_counted(&waiter);
                assert_int_equal(pw_note_slot(atomic_load(&ours->notes[which])), which);
                assert_int_equal(pw_note_segment(atomic_load(&ours->notes[which])), SEGMENT);
                assert_true(pw_entry_decide(&ours->entries[which], 1, PW_FAILED, 0, 1, &old));
                assert_true(pw_hint_wake(&ours->page, &ours->entries[which], SEGMENT, which));
                pthread_join(waiter.thread, NULL);
                assert_int_equal(waiter.status, PW_OK);
                assert_no_trace(ours);
                maps_done(&maps);
        }
}

/* Both at once, again and again; no wake-up is lost (one would cost 50 ms, the whole far more than the test may take). */
struct answerer { struct shared *shared; uint32_t rounds; };

static void *answer(void *data)
{
        struct answerer *answerer = data;
        struct shared *shared = answerer->shared;
        uint64_t old;

        for (uint32_t round = 1; round <= answerer->rounds; round++) {
                while (!pw_entry_decide(&shared->entries[0], round, PW_OK, 0, 1, &old))
                        sched_yield();
                pw_hint_wake(&shared->page, &shared->entries[0], SEGMENT, 0);
        }
        return NULL;
}

static void ask_and_answer(void)
{
        struct maps maps = shared_new(PW_ENTRY_FREE);
        struct shared *shared = maps.ours;
        struct pw_wait_place place = { &shared->page, shared->notes, &shared->life, 1 };
        struct answerer answerer = { maps.theirs, 5000 };
        int64_t began;
        pthread_t thread;

        atomic_store(&shared->entries[0].word, 0);
        assert_int_equal(pthread_create(&thread, NULL, answer, &answerer), 0);
        began = pw_now_ns();
        for (uint32_t round = 1; round <= answerer.rounds; round++) {
                struct pw_wait_item item = { &shared->entries[0], round, SEGMENT, 0, false };
                uint32_t generation;
                assert_true(pw_entry_take(&shared->entries[0], &generation));
                assert_int_equal(generation, round);
                assert_int_equal(pw_wait_any(&place, &item, 1, INT64_MAX), PW_OK);
                atomic_store(&shared->entries[0].word, pw_word_make(PW_ENTRY_FREE, 0, round, PW_OK));
        }
        assert_true(pw_now_ns() - began < answerer.rounds * INT64_C(10000000));
        pthread_join(thread, NULL);
        assert_no_trace(shared);
        maps_done(&maps);
}

static void test_at_once(void **state)
{
        (void)state;
        ask_and_answer();
}

/* With one processor for both every wait is a sleep. */
static void test_at_once_on_one_processor(void **state)
{
        cpu_set_t all, one;
        int cpu = 0;

        (void)state;
        assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
        while (!CPU_ISSET(cpu, &all))
                cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        ask_and_answer();
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* A producer that was stopped between swap and wake: the second look sees it. */
static bool second_look(void)
{
        struct maps maps = shared_new(PW_ENTRY_PENDING);
        struct shared *ours = maps.ours;
        struct waiter waiter = { .shared = maps.theirs, .count = 1, .deadline_ns = pw_now_ns() + INT64_C(20000000000) };
        uint64_t old;
        bool looked;

        start(&waiter);
        until_counted(&waiter);
        assert_true(pw_entry_decide(&ours->entries[0], 1, PW_OK, 0, 1, &old));
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.status, PW_OK);
        assert_true(pw_now_ns() < waiter.deadline_ns);
        looked = atomic_load(&ours->page.second_looks) != 0;
        maps_done(&maps);
        return looked;
}

/* Until one was asleep when its word was swapped, and not about to. */
static void test_second_look(void **state)
{
        (void)state;
        while (!second_look())
                ;
}

/* The life word wakes: of many sleeps at least one ends long before its second look. */
static void test_end_wakes(void **state)
{
        int64_t shortest = INT64_MAX;

        (void)state;
        for (int i = 0; i < 20; i++) {
                struct maps maps = shared_new(PW_ENTRY_PENDING);
                struct shared *ours = maps.ours;
                struct waiter waiter = { .shared = maps.theirs, .count = 1, .deadline_ns = INT64_MAX };
                int64_t began = pw_now_ns();
                start(&waiter);
                until_counted(&waiter);
                atomic_store(&ours->life, 2);
                pw_futex_wake(&ours->life, INT_MAX);
                pthread_join(waiter.thread, NULL);
                if (pw_now_ns() - began < shortest)
                        shortest = pw_now_ns() - began;
                maps_done(&maps);
        }
        assert_true(shortest < PW_SECOND_LOOK_US * INT64_C(500));
}

static void test_session_ends(void **state)
{
        struct maps maps = shared_new(PW_ENTRY_PENDING);
        struct shared *ours = maps.ours;
        struct waiter waiter = { .shared = maps.theirs, .count = ENTRIES, .deadline_ns = INT64_MAX };

        (void)state;
        start(&waiter);
        until_counted(&waiter);
        atomic_store(&ours->life, 2);
        pw_futex_wake(&ours->life, INT_MAX);
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.status, PW_DAEMON_GONE);
        assert_no_trace(ours);
        assert_int_equal(wait_for(&waiter), PW_DAEMON_GONE);
        atomic_store(&ours->entries[2].word, pw_word_make(PW_ENTRY_READY, 0, 1, PW_OK));
        assert_int_equal(wait_for(&waiter), PW_OK); /* what is there can be had */
        maps_done(&maps);
}

static void test_deadline(void **state)
{
        struct maps maps = shared_new(PW_ENTRY_PENDING);
        struct waiter waiter = { .shared = maps.theirs, .count = 2 };

        (void)state;
        assert_int_equal(wait_for(&waiter), PW_DEADLINE); /* long past */
        waiter.deadline_ns = pw_now_ns() + 2000000;
        assert_int_equal(wait_for(&waiter), PW_DEADLINE);
        assert_true(pw_now_ns() >= waiter.deadline_ns);
        assert_no_trace(maps.ours);
        maps_done(&maps);
}

static void test_reopened(void **state)
{
        struct maps maps = shared_new(PW_ENTRY_CLOSING);
        struct shared *ours = maps.ours;
        struct waiter waiter = { .shared = maps.theirs, .count = 1, .deadline_ns = INT64_MAX };

        (void)state;
        assert_int_equal(wait_for(&waiter), PW_OK); /* decided, for who does not ask about CLOSING */
        waiter.closing = true;
        start(&waiter);
        until_counted(&waiter);
        atomic_store(&ours->entries[0].word, pw_word_make(PW_ENTRY_READY, 0, 1, PW_OK));
        pw_hint_wake(&ours->page, &ours->entries[0], SEGMENT, 0);
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.status, PW_OK);
        assert_no_trace(ours);
        maps_done(&maps);
}

static void test_read_only_map(void **state)
{
        pw_auto_close int fd = -1, reader_fd = -1;
        struct pw_map writer_map, reader_map;
        struct maps maps = shared_new(PW_ENTRY_PENDING);
        struct shared *shared = maps.ours;
        struct pw_wait_place place = { &shared->page, shared->notes, &shared->life, 1 };
        struct pw_wait_item item = { .generation = 1, .segment = SEGMENT };

        (void)state;
        assert_int_equal(pw_memfd_create("entries", 4096, &fd, NULL), PW_OK);
        assert_int_equal(pw_memfd_readonly(fd, &reader_fd, NULL), PW_OK);
        assert_int_equal(pw_map_fd(fd, 4096, true, &writer_map, NULL), PW_OK);
        assert_int_equal(pw_map_fd(reader_fd, 4096, false, &reader_map, NULL), PW_OK);
        atomic_store(&pw_map_entry(&writer_map, 0)->word, pw_word_make(PW_ENTRY_PENDING, 0, 1, PW_OK));
        item.entry = pw_map_entry(&reader_map, 0);
        assert_int_equal(pw_wait_any(&place, &item, 1, pw_now_ns() + 1000000), PW_DEADLINE); /* futexes work there */
        pw_unmap(&writer_map);
        pw_unmap(&reader_map);
        maps_done(&maps);
}

static void test_forget_the_dead(void **state)
{
        struct maps maps = shared_new(PW_ENTRY_PENDING);
        struct shared *shared = maps.ours;

        (void)state;
        atomic_store(&shared->page.waiters[3], 2);
        atomic_store(&shared->page.waiters[PW_HINT_BUCKETS - 1], 1);
        atomic_store(&shared->notes[0], pw_note_make(PW_NOTE_COUNTED, 3, SEGMENT, 0));
        atomic_store(&shared->notes[1], pw_note_make(PW_NOTE_GOING, 3, SEGMENT, 1));
        atomic_store(&shared->notes[2], pw_note_make(PW_NOTE_LEAVING, 3, SEGMENT, 2));
        atomic_store(&shared->notes[3], pw_note_make(PW_NOTE_COUNTED, 4, SEGMENT, 3)); /* hostile: nothing is counted there */
        atomic_store(&shared->notes[4], pw_note_make(PW_NOTE_COUNTED, 0x2fff, SEGMENT, 4)); /* hostile: no such bucket */
        pw_hint_forget(&shared->page, shared->notes, PW_NOTES_MAX, &(struct pw_hint_marks){ .wide = 0 });
        assert_int_equal(atomic_load(&shared->page.waiters[3]), 1);
        assert_int_equal(atomic_load(&shared->page.waiters[PW_HINT_BUCKETS - 1]), 1);
        atomic_store(&shared->page.waiters[3], 0);
        atomic_store(&shared->page.waiters[PW_HINT_BUCKETS - 1], 0);
        assert_no_trace(shared);
        maps_done(&maps);
}

static void assert_marked(const struct pw_recount *recount, bool marked)
{
        assert_int_equal(recount->marks.bits[0] >> 3 & 1, marked);
}

/* The dead left one of bucket 3, and a wide one everywhere. */
static void test_recount(void **state)
{
        struct maps maps = shared_new(PW_ENTRY_PENDING);
        struct shared *shared = maps.ours;
        struct pw_recount recount = { 0 };
        _Atomic uint64_t dead[2] = { pw_note_make(PW_NOTE_LEAVING, PW_NOTE_EVERY, 0, 0),
                                     pw_note_make(PW_NOTE_GOING, 3, SEGMENT, 0) };

        (void)state;
        assert_true(pw_hint_forget(&shared->page, dead, 2, &recount.marks));
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                atomic_store(&shared->page.waiters[i], PW_HINT_WIDE + (i == 3 ? 3 : 0));
        atomic_store(&shared->notes[1], pw_note_make(PW_NOTE_COUNTED, 3, SEGMENT, 1));
        atomic_store(&shared->notes[2], pw_note_make(PW_NOTE_COUNTED, 3, SEGMENT, 2));
        /* One leaves before its note is read, and another comes after that: nobody may be missed. */
        pw_recount_begin(&recount, &shared->page);
        pw_hint_count_down(&shared->page.waiters[3], 1);
        pw_hint_changed(&shared->page, 3);
        atomic_store(&shared->notes[1], 0);
        pw_recount_notes(&recount, shared->notes, PW_NOTES_MAX);
        atomic_fetch_add(&shared->page.waiters[3], 1);
        pw_hint_changed(&shared->page, 3);
        atomic_store(&shared->notes[1], pw_note_make(PW_NOTE_COUNTED, 3, SEGMENT, 1));
        assert_true(pw_recount_end(&recount, &shared->page));
        assert_int_equal(atomic_load(&shared->page.waiters[3]), PW_HINT_WIDE + 3);
        assert_int_equal(atomic_load(&shared->page.waiters[4]), 0);
        assert_marked(&recount, true);
        /* Who is leaving may be counted, and is looked at again. */
        atomic_store(&shared->notes[2], pw_note_make(PW_NOTE_LEAVING, 3, SEGMENT, 2));
        pw_recount_begin(&recount, &shared->page);
        pw_recount_notes(&recount, shared->notes, PW_NOTES_MAX);
        assert_true(pw_recount_end(&recount, &shared->page));
        assert_int_equal(atomic_load(&shared->page.waiters[3]), 2);
        assert_marked(&recount, true);
        atomic_store(&shared->notes[2], 0);
        pw_recount_begin(&recount, &shared->page);
        pw_recount_notes(&recount, shared->notes, PW_NOTES_MAX);
        assert_false(pw_recount_end(&recount, &shared->page));
        assert_int_equal(atomic_load(&shared->page.waiters[3]), 1);
        assert_marked(&recount, false);
        maps_done(&maps);
}

static void test_raw_futex(void **state)
{
        _Atomic uint32_t word = 5;

        (void)state;
        assert_int_equal(pw_futex_check(NULL), PW_OK);
        assert_int_equal(pw_futex_wait(&word, 4, INT64_MAX), -EAGAIN);
        assert_int_equal(pw_futex_wait(&word, 5, pw_now_ns() + 1000), -ETIMEDOUT);
        assert_int_equal(pw_futex_wait(&word, 5, INT64_MIN), -ETIMEDOUT);
        assert_int_equal(pw_futex_wake(&word, 1), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_decided_first),
                cmocka_unit_test(test_waited_first),
                cmocka_unit_test(test_at_once),
                cmocka_unit_test(test_at_once_on_one_processor),
                cmocka_unit_test(test_second_look),
                cmocka_unit_test(test_end_wakes),
                cmocka_unit_test(test_session_ends),
                cmocka_unit_test(test_deadline),
                cmocka_unit_test(test_reopened),
                cmocka_unit_test(test_read_only_map),
                cmocka_unit_test(test_forget_the_dead),
                cmocka_unit_test(test_recount),
                cmocka_unit_test(test_raw_futex),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

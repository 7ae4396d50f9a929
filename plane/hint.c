/* Waiting for entries, and the futex calls below. */
#include "plane/hint.h"

#include "base/memory.h"
#include "plane/control.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

/* Looks before the question how many processors there are, and after it. A pause takes about 30 ns. */
#ifndef FIRST_LOOKS /* tests/model needs no more than one */
#define FIRST_LOOKS 16u
#endif
#define MORE_LOOKS 2000u
#define GLANCE_NS INT64_C(1000000)
#define SECOND_LOOK_NS (INT64_C(1000) * PW_SECOND_LOOK_US)

int64_t pw_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct timespec *timespec_of(int64_t deadline_ns, struct timespec *ret_at)
{
        if (deadline_ns == INT64_MAX)
                return NULL;
        if (deadline_ns < 0)
                deadline_ns = 0;
        *ret_at = (struct timespec){ deadline_ns / 1000000000, deadline_ns % 1000000000 };
        return ret_at;
}

int pw_futex_wake(const _Atomic uint32_t *word, int count)
{
        return syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0) < 0 ? -errno : 0;
}

int pw_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns)
{
        struct timespec at;

        if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, timespec_of(deadline_ns, &at), NULL, FUTEX_BITSET_MATCH_ANY) < 0)
                return -errno;
        return 0;
}

/* pw_futex_wait_any() by plain futexes. */
static int wait_in_turn(const struct futex_waitv *on, uint32_t count, int64_t deadline_ns)
{
        int number = -ETIMEDOUT;

        for (int64_t now = pw_now_ns(); number == -ETIMEDOUT && now < deadline_ns; now = pw_now_ns()) {
                for (uint32_t i = 1; i < count; i++)
                        if (atomic_load((const _Atomic uint32_t *)(uintptr_t)on[i].uaddr) != on[i].val)
                                return -EAGAIN;
                number = pw_futex_wait((const _Atomic uint32_t *)(uintptr_t)on[0].uaddr, (uint32_t)on[0].val,
                                       deadline_ns - now < GLANCE_NS ? deadline_ns : now + GLANCE_NS);
        }
        return number;
}

int pw_futex_wait_any(struct futex_waitv *on, uint32_t count, int64_t deadline_ns)
{
        struct timespec at;

        if (syscall(SYS_futex_waitv, on, count, 0, timespec_of(deadline_ns, &at), CLOCK_MONOTONIC) >= 0)
                return 0;
        return errno == ENOSYS || errno == EPERM ? wait_in_turn(on, count, deadline_ns) : -errno;
}

enum pw_status pw_futex_check(struct pw_error *ret_err)
{
        if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, CLOCK_MONOTONIC) < 0 && errno == EINVAL)
                return PW_OK;
        return pw_error_set(ret_err, PW_UNSUPPORTED, "the kernel has no futex_waitv: pathways needs Linux 5.16 or later");
}

/* Futexes are of 32 bits: the low half of the word has state, flags and most of the generation. */
static const _Atomic uint32_t *entry_futex(const struct pw_entry *entry)
{
        const _Atomic uint32_t *halves = (const _Atomic uint32_t *)(const void *)&entry->word;

        return halves + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void pw_entry_wake(const struct pw_entry *entry) { pw_futex_wake(entry_futex(entry), INT_MAX); }

/* One system call at most for each time that the bell was armed. */
static bool ring(_Atomic uint32_t *bell)
{
        if (!(atomic_load(bell) & PW_HINT_ARMED) || !(atomic_fetch_and(bell, ~PW_HINT_ARMED) & PW_HINT_ARMED))
                return false;
        pw_futex_wake(bell, INT_MAX);
        return true;
}

bool pw_hint_call(struct pw_hint_page *page, const struct pw_entry *entry, uint32_t segment, uint32_t waiters)
{
        bool called = waiters >= PW_HINT_WIDE && ring(&page->bells[segment % PW_HINT_BELLS]);

        if (waiters % PW_HINT_WIDE) {
                pw_entry_wake(entry);
                called = true;
        }
        return called;
}

void pw_hint_count_down(_Atomic uint32_t *waiters, uint32_t unit)
{
        uint32_t count = atomic_load(waiters);

        while ((unit == PW_HINT_WIDE ? count >= PW_HINT_WIDE : count % PW_HINT_WIDE != 0) &&
               !atomic_compare_exchange_weak(waiters, &count, count - unit))
                ;
}

static void mark(struct pw_hint_marks *marks, uint32_t bucket)
{
        if (bucket < PW_HINT_BUCKETS)
                marks->bits[bucket / 64] |= UINT64_C(1) << bucket % 64;
}

bool pw_hint_forget(struct pw_hint_page *page, _Atomic uint64_t *notes, uint32_t count, struct pw_hint_marks *marks)
{
        bool marked = false;

        for (uint32_t i = 0; i < count; i++) {
                uint64_t note = atomic_load(&notes[i]) ? atomic_exchange(&notes[i], 0) : 0; /* most are none */
                enum pw_note_state state = pw_note_state(note);
                uint32_t bucket = pw_note_bucket(note);
                bool wide = i == 0 && bucket == PW_NOTE_EVERY;

                if (state == PW_NOTE_NONE || (bucket >= PW_HINT_BUCKETS && !wide))
                        continue;
                if (state != PW_NOTE_COUNTED && wide)
                        memset(marks->bits, 0xff, sizeof marks->bits);
                else if (state != PW_NOTE_COUNTED)
                        mark(marks, bucket);
                else if (wide)
                        marks->wide++;
                else
                        pw_hint_count_down(&page->waiters[bucket], 1);
                marked |= state != PW_NOTE_COUNTED;
        }
        return marked;
}

void pw_hint_forget_wide(struct pw_hint_page *page, struct pw_hint_marks *marks)
{
        for (uint32_t i = 0; marks->wide && i < PW_HINT_BUCKETS; i++) {
                uint32_t count = atomic_load(&page->waiters[i]);

                while (count >= PW_HINT_WIDE &&
                       !atomic_compare_exchange_weak(&page->waiters[i], &count,
                                                     count - (uint32_t)pw_min_u64(count / PW_HINT_WIDE, marks->wide) *
                                                     PW_HINT_WIDE))
                        ;
        }
        marks->wide = 0;
}

static bool undecided(const struct pw_wait_item *item, uint64_t word)
{
        return pw_word_state(word) == (item->closing ? PW_ENTRY_CLOSING : PW_ENTRY_PENDING) &&
               pw_word_generation(word) == item->generation;
}

static enum pw_status look(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                if (!undecided(&items[i], pw_entry_load(items[i].entry)))
                        return PW_OK;
        return atomic_load(place->life) == place->life_alive ? PW_NOT_READY : PW_DAEMON_GONE;
}

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        atomic_signal_fence(memory_order_seq_cst);
#endif
}

static enum pw_status look_often(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count,
                                 uint32_t looks)
{
        enum pw_status status = PW_NOT_READY;

        for (; looks && status == PW_NOT_READY; looks--) {
                pause_cpu();
                status = look(place, items, count);
        }
        return status;
}

static bool alone_on_processor(void)
{
        cpu_set_t cpus;

        return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1;
}

/* Look without sleeping for as long as a process that runs on another processor may need to answer. */
static enum pw_status spin(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count)
{
        enum pw_status status = look_often(place, items, count, FIRST_LOOKS / count + 1);

        if (status != PW_NOT_READY || alone_on_processor())
                return status;
        return look_often(place, items, count, MORE_LOOKS / count + 1);
}

static uint64_t note_of(enum pw_note_state state, const struct pw_wait_item *item)
{
        return pw_note_make(state, pw_hint_bucket(item->segment, item->slot), item->segment, item->slot);
}

static void enter(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                atomic_store(&place->notes[i], note_of(PW_NOTE_GOING, &items[i]));
                atomic_fetch_add(&place->page->waiters[pw_hint_bucket(items[i].segment, items[i].slot)], 1);
                pw_hint_changed(place->page, pw_hint_bucket(items[i].segment, items[i].slot));
                atomic_store(&place->notes[i], note_of(PW_NOTE_COUNTED, &items[i]));
        }
}

static void leave(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                atomic_store(&place->notes[i], note_of(PW_NOTE_LEAVING, &items[i]));
                pw_hint_count_down(&place->page->waiters[pw_hint_bucket(items[i].segment, items[i].slot)], 1);
                pw_hint_changed(place->page, pw_hint_bucket(items[i].segment, items[i].slot));
                atomic_store(&place->notes[i], 0);
        }
}

/* One sleep on the words as they were just seen, and on the life word. True: until `until_ns`, and nobody woke it. */
static bool sleep_once(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count, int64_t until_ns)
{
        struct futex_waitv on[PW_NOTES_MAX];

        for (uint32_t i = 0; i < count; i++) {
                uint64_t word = pw_entry_load(items[i].entry);
                if (!undecided(&items[i], word))
                        return false;
                on[i] = (struct futex_waitv){ (uint32_t)word, (uintptr_t)entry_futex(items[i].entry), FUTEX_32, 0 };
        }
        on[count] = (struct futex_waitv){ place->life_alive, (uintptr_t)place->life, FUTEX_32, 0 };
        return pw_futex_wait_any(on, count + 1, until_ns) == -ETIMEDOUT;
}

static enum pw_status sleep_until(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count,
                                  int64_t deadline_ns)
{
        enum pw_status status;
        bool unwoken = false;

        while ((status = look(place, items, count)) == PW_NOT_READY) {
                int64_t now = pw_now_ns();
                if (now >= deadline_ns)
                        return PW_DEADLINE;
                unwoken = sleep_once(place, items, count, deadline_ns - now < SECOND_LOOK_NS ? deadline_ns : now + SECOND_LOOK_NS);
        }
        if (unwoken && status == PW_OK)
                atomic_fetch_add(&place->page->second_looks, 1);
        return status;
}

enum pw_status pw_wait_any(const struct pw_wait_place *place, const struct pw_wait_item *items, uint32_t count,
                           int64_t deadline_ns)
{
        enum pw_status status;

        assert(count && count <= PW_NOTES_MAX - 2);
        status = look(place, items, count);
        if (status != PW_NOT_READY)
                return status;
        if (deadline_ns != INT64_MAX && deadline_ns <= pw_now_ns())
                return PW_DEADLINE;
        status = spin(place, items, count);
        if (status != PW_NOT_READY)
                return status;
        enter(place, items, count);
        status = sleep_until(place, items, count, deadline_ns);
        leave(place, items, count);
        return status;
}

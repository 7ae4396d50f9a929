/* Waiting for other executors and for the order. */
#include "executor/wait.h"

#include "executor/gang/flight.h"

#include <sched.h>

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#else
        atomic_signal_fence(memory_order_seq_cst);
#endif
}

static bool spin(const struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least)
{
        for (uint32_t turn = 0; turn < launch->spin_turns; turn++) {
                if (pw_wait_load(word) >= at_least)
                        return true;
                pause_cpu();
        }
        return false;
}

static bool yield(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least, uint64_t until_ns)
{
        bool is_there = false;

        for (uint64_t now_ns = pw_launch_clock_ns(); !is_there && now_ns < until_ns && pw_yield_may(&launch->yield, now_ns);) {
                uint64_t begun_ns = now_ns;

                sched_yield();
                is_there = pw_wait_load(word) >= at_least;
                now_ns = pw_launch_clock_ns();
                pw_yield_took(&launch->yield, begun_ns, now_ns);
        }
        return is_there;
}

/* Sleep once, unless the word is there once the sleeper's bit is seen, or the bell rang since `seen` was read. */
struct sleep { uint32_t seen; int64_t until_ns; };
static void sleep_until(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least, _Atomic uint64_t *sleepers,
                        const struct sleep *sleep)
{
        atomic_fetch_or(sleepers, UINT64_C(1) << launch->given.device);
        if (sleep->until_ns == INT64_MAX &&
            (pw_launch_has_gone(launch) || pw_launch_serves(launch))) /* in no gang */
                return;
        if (atomic_load((_Atomic uint64_t *)(uintptr_t)word) < at_least)
                pw_bells_sleep(launch->given.bells, launch->given.device, sleep->seen, sleep->until_ns);
}

/* In a gang: what wakes it lies where functions can write. */
static void sleep_once(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least, _Atomic uint64_t *sleepers)
{
        struct sleep sleep = { pw_bells_seen(launch->given.bells, launch->given.device),
                               (int64_t)pw_launch_clock_ns() + PW_BELLS_SLEEP_NS };

        sleep_until(launch, word, at_least, sleepers, &sleep);
}

/* In a gang. What it launched may be what others wait for: it is done first. */
static void begin_wait(struct pw_launch *launch)
{
        if (launch->flights) {
                pw_flights_drain(launch);
                pw_launch_begins(launch, launch->next, pw_launch_clock_ns());
        }
        launch->now_ns = 0;
}

void pw_wait_slow(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least, _Atomic uint64_t *sleepers)
{
        begin_wait(launch);
        if (spin(launch, word, at_least) || yield(launch, word, at_least, pw_launch_clock_ns() + PW_YIELD_NS))
                return;
        while (pw_wait_load(word) < at_least)
                sleep_once(launch, word, at_least, sleepers);
}

/* A member publishes all that others wait for before it is done; who comes after a process that ended in the gang publishes
 * nothing of it. */
static bool is_over(const struct pw_device_board *board, uint64_t seq)
{
        return pw_wait_load(&board->done.seq) >= seq || pw_wait_load(&board->failed.seq) >= seq;
}

bool pw_wait_member_slow(struct pw_launch *launch, uint32_t device, const _Atomic uint64_t *word, uint64_t seq)
{
        begin_wait(launch);
        if (spin(launch, word, seq) || yield(launch, word, seq, pw_launch_clock_ns() + PW_YIELD_NS))
                return true;
        while (pw_wait_load(word) < seq) {
                if (is_over(launch->given.boards[device], seq) && pw_wait_load(word) < seq)
                        return false;
                sleep_once(launch, word, seq, &launch->given.bells->sleepers[device].bits);
        }
        return true;
}

/* Until when nothing comes of the device; INT64_MAX: nothing is under way, it has run out of work, or it rings. */
static int64_t device_until_ns(struct pw_launch *launch)
{
        uint64_t next_ns = UINT64_MAX;

        launch->now_ns = 0;
        if (launch->flights && launch->flights->count)
                next_ns = launch->given.kind->next_ns(launch->given.handle);
        else
                launch->given.kind->idle(launch->given.handle);
        return next_ns >= PW_DEVICE_RINGS ? INT64_MAX : (int64_t)next_ns;
}

/* It may have done something soon: look for a while. True: it has, or the word is there. */
static bool look(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least)
{
        uint64_t until_ns = pw_launch_clock_ns() + PW_YIELD_NS;
        uint32_t count = launch->flights->count;

        while (pw_launch_clock_ns() < until_ns) {
                pw_flights_reap(launch);
                if (launch->flights->count < count || pw_wait_load(word) >= at_least)
                        return true;
                pause_cpu();
        }
        return false;
}

/* Sleep once, as of what was `seen` before the caller looked. */
static void sleep_ahead(struct pw_launch *launch, uint32_t device, const _Atomic uint64_t *word, uint64_t seq, uint32_t seen)
{
        struct sleep sleep = { seen, (int64_t)pw_launch_clock_ns() + PW_BELLS_SLEEP_NS };
        int64_t next_ns = device_until_ns(launch);

        sleep.until_ns = next_ns < sleep.until_ns ? next_ns : sleep.until_ns;
        sleep_until(launch, word, seq, &launch->given.bells->sleepers[device].bits, &sleep);
}

bool pw_wait_member_ahead(struct pw_launch *launch, uint32_t device, const _Atomic uint64_t *word, uint64_t seq)
{
        while (launch->flights->count && pw_wait_load(word) < seq) {
                uint32_t seen = pw_bells_seen(launch->given.bells, launch->given.device);

                if (look(launch, word, seq))
                        continue;
                if (is_over(launch->given.boards[device], seq) && pw_wait_load(word) < seq)
                        return false;
                sleep_ahead(launch, device, word, seq, seen);
        }
        return pw_wait_member(launch, device, word, seq);
}

void pw_wait_rung(struct pw_launch *launch, const _Atomic uint64_t *word, uint64_t at_least, _Atomic uint64_t *sleepers,
                  uint64_t yield_until_ns)
{
        struct sleep sleep = { pw_bells_seen(launch->given.bells, launch->given.device), 0 };

        if (launch->flights && launch->flights->count && launch->programs.kernels && look(launch, word, at_least))
                return;
        sleep.until_ns = device_until_ns(launch);
        yield_until_ns = pw_min_u64(yield_until_ns, (uint64_t)sleep.until_ns);
        if (yield_until_ns > pw_launch_clock_ns() &&
            (spin(launch, word, at_least) || yield(launch, word, at_least, yield_until_ns)))
                return;
        sleep_until(launch, word, at_least, sleepers, &sleep); /* the daemon rings again once it has something to do */
}

/* Floors of several processes over bare shared memory. */
#include "tests/bench/pair.h"

#include "base/memory.h"
#include "tests/bench/bench.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MEMBERS_MAX 64u
#define RING_CELLS 4096u
#define SPIN_TURNS 200u

struct line { _Alignas(64) _Atomic uint32_t word; float number; };
struct cell { uint64_t a, b; };
struct ring {
        struct line written, read;
        struct cell cells[RING_CELLS];
};

/* What the processes share; zero at the start. */
struct shared {
        struct line lines[2][MEMBERS_MAX];
        struct ring there, back;
};

static enum pw_status shared_new(struct shared **ret_shared, struct pw_error *ret_err)
{
        void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                return pw_error_errno(ret_err, errno, "mmap of %zu bytes", sizeof(struct shared));
        memset(memory, 0, sizeof(struct shared));
        *ret_shared = memory;
        return PW_OK;
}

void pw_pair_burn(double seconds)
{
        double start = pw_bench_seconds();

        while (pw_bench_seconds() - start < seconds)
                ;
}

/* --- one word ----------------------------------------------------------------------------------------------------- */

static void word_set(struct line *line, uint32_t value, bool sleeps)
{
        atomic_store(&line->word, value);
        if (sleeps)
                syscall(SYS_futex, &line->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("isb" ::: "memory");
#endif
}

static void word_await(struct line *line, uint32_t value, const struct pw_pair_trips *trips)
{
        for (uint32_t looks = 0; looks < trips->looks && atomic_load(&line->word) != value; looks++)
                pause_cpu();
        while (atomic_load(&line->word) != value)
                if (trips->sleeps)
                        syscall(SYS_futex, &line->word, FUTEX_WAIT, value - 1, NULL, NULL, 0);
}

enum pw_status pw_pair_round_trip(const struct pw_pair_trips *trips, double *ret_us, struct pw_error *ret_err)
{
        struct shared *shared;
        double sum = 0;
        enum pw_status status = shared_new(&shared, ret_err);

        if (status != PW_OK)
                return status;
        pid_t pid = fork();
        for (uint32_t trip = 1; pid == 0 && trip <= trips->count; trip++) {
                word_await(&shared->lines[0][0], trip, trips);
                pw_pair_burn(trips->answer_burns);
                word_set(&shared->lines[0][1], trip, trips->sleeps);
        }
        if (pid == 0)
                _exit(0);
        for (uint32_t trip = 1; pid > 0 && trip <= trips->count; trip++) {
                pw_pair_burn(trips->begin_burns);
                double start = pw_bench_seconds();
                word_set(&shared->lines[0][0], trip, trips->sleeps);
                word_await(&shared->lines[0][1], trip, trips);
                sum += pw_bench_seconds() - start - trips->answer_burns;
        }
        if (pid < 0)
                status = pw_error_errno(ret_err, errno, "fork");
        else
                waitpid(pid, NULL, 0);
        *ret_us = sum * 1e6 / trips->count;
        munmap(shared, sizeof *shared);
        return status;
}

/* --- rings -------------------------------------------------------------------------------------------------------- */

static bool ring_put(struct ring *ring, struct cell cell)
{
        uint32_t at = atomic_load(&ring->written.word);

        if (at - atomic_load(&ring->read.word) == RING_CELLS)
                return false;
        ring->cells[at % RING_CELLS] = cell;
        atomic_store(&ring->written.word, at + 1);
        return true;
}

static bool ring_take(struct ring *ring, struct cell *ret_cell)
{
        uint32_t at = atomic_load(&ring->read.word);

        if (at == atomic_load(&ring->written.word))
                return false;
        *ret_cell = ring->cells[at % RING_CELLS];
        atomic_store(&ring->read.word, at + 1);
        return true;
}

static void echo(struct shared *shared, uint32_t cells)
{
        struct cell cell;

        while (cells) {
                if (!ring_take(&shared->there, &cell)) {
                        sched_yield();
                        continue;
                }
                while (!ring_put(&shared->back, cell))
                        sched_yield();
                cells--;
        }
}

enum pw_status pw_pair_rings(uint32_t cells, uint32_t ahead, double *ret_per_s, struct pw_error *ret_err)
{
        struct shared *shared;
        struct cell cell = { 0 };
        uint32_t sent = 0, came = 0;
        enum pw_status status = shared_new(&shared, ret_err);

        if (status != PW_OK)
                return status;
        pid_t pid = fork();
        if (pid == 0) {
                echo(shared, cells);
                _exit(0);
        }
        double start = pw_bench_seconds();
        while (pid > 0 && came < cells) {
                bool moved = sent < cells && sent - came < ahead && ring_put(&shared->there, (struct cell){ sent, sent });
                sent += moved;
                while (ring_take(&shared->back, &cell)) {
                        came++;
                        moved = true;
                }
                if (!moved)
                        sched_yield();
        }
        *ret_per_s = cells / (pw_bench_seconds() - start);
        if (pid < 0)
                status = pw_error_errno(ret_err, errno, "fork");
        else
                waitpid(pid, NULL, 0);
        munmap(shared, sizeof *shared);
        return status;
}

/* --- all-reduces -------------------------------------------------------------------------------------------------- */

static void line_await(const struct line *line, uint32_t round)
{
        for (uint32_t turn = 0; atomic_load(&line->word) < round; turn++)
                if (turn >= SPIN_TURNS)
                        sched_yield();
}

/* Rounds alternate between two rows of lines: nobody writes one before everybody has read it. */
static void reduce(struct shared *shared, uint32_t rank, uint32_t members, uint32_t rounds)
{
        float number = 0;

        for (uint32_t round = 1; round <= rounds; round++) {
                struct line *lines = shared->lines[round % 2];
                float sum = 0;
                lines[rank].number = number;
                atomic_store(&lines[rank].word, round);
                for (uint32_t i = 0; i < members; i++) {
                        line_await(&lines[i], round);
                        sum += lines[i].number;
                }
                number = sum + 0;
        }
}

enum pw_status pw_pair_reduce(uint32_t members, uint32_t rounds, double *ret_per_s, struct pw_error *ret_err)
{
        pid_t pids[MEMBERS_MAX] = { 0 };
        struct shared *shared;
        enum pw_status status = shared_new(&shared, ret_err);

        if (status != PW_OK)
                return status;
        double start = pw_bench_seconds();
        for (uint32_t rank = 0; rank < members && rank < MEMBERS_MAX && status == PW_OK; rank++) {
                pids[rank] = fork();
                if (pids[rank] == 0) {
                        reduce(shared, rank, members, rounds);
                        _exit(0);
                }
                if (pids[rank] < 0)
                        status = pw_error_errno(ret_err, errno, "fork");
        }
        for (uint32_t rank = 0; rank < members && rank < MEMBERS_MAX; rank++) {
                if (pids[rank] > 0 && status != PW_OK)
                        kill(pids[rank], SIGKILL); /* the others would wait for the one that is missing */
                if (pids[rank] > 0)
                        waitpid(pids[rank], NULL, 0);
        }
        *ret_per_s = rounds / (pw_bench_seconds() - start);
        munmap(shared, sizeof *shared);
        return status;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static void meet(struct shared *shared, uint32_t self, uint32_t round)
{
        word_set(&shared->lines[0][self], round, false);
        while (atomic_load(&shared->lines[0][1 - self].word) < round)
                sched_yield();
}

/* Four rooms: what each has, and what each makes. Rounds begin together. Returns the mean seconds of a round, the first one
 * excepted, in which a process meets the pages. */
static double copy_rounds(struct shared *shared, uint32_t self, uint64_t bytes, uint32_t rounds)
{
        char *rooms = (char *)(shared + 1), *to = rooms + (2 + self) * bytes;
        const char *own = rooms + self * bytes, *other = rooms + (1 - self) * bytes;
        double start = 0;

        for (uint32_t round = 0; round <= rounds; round++) {
                meet(shared, self, round + 1);
                if (round == 1)
                        start = pw_bench_seconds();
                memcpy(to, own, bytes / 2);
                memcpy(to + bytes / 2, other + bytes / 2, bytes - bytes / 2);
        }
        meet(shared, self, rounds + 2);
        return (pw_bench_seconds() - start) / rounds;
}

enum pw_status pw_pair_copies(uint64_t bytes, uint32_t rounds, double *ret_seconds, struct pw_error *ret_err)
{
        size_t all = sizeof(struct shared) + 4 * bytes;
        struct shared *shared = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

        if (shared == MAP_FAILED)
                return pw_error_errno(ret_err, errno, "mmap");
        memset(shared, 0, all);
        pid_t pid = fork();
        if (pid == 0) {
                copy_rounds(shared, 1, bytes, rounds);
                _exit(0);
        }
        *ret_seconds = pid > 0 ? copy_rounds(shared, 0, bytes, rounds) : 0;
        if (pid > 0)
                waitpid(pid, NULL, 0);
        munmap(shared, all);
        return pid < 0 ? pw_error_errno(ret_err, errno, "fork") : PW_OK;
}

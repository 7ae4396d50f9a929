/* What executors published, read and told to the scheduler. */
#include "daemon/board/boards_private.h"

#include "base/size.h"
#include "base/text.h"
#include "scheduler/scheduler.h"

/* How long a board may say what is so only between two writes of its executor, one after the other. */
#define ODD_US 1000000u
#define RING_AGAIN_US ((uint64_t)PW_BELLS_SLEEP_NS / 1000)

/* The last gang that a device did, if it ended its run there, says how much memory was alive. */
static void tell_peak(struct pw_boards *boards, uint32_t device, struct pw_scheduler *scheduler)
{
        struct pw_device_board *board = boards->devices[device].board;
        uint64_t count = atomic_load(&board->history_count);
        const struct pw_history *last = &board->history[(count - 1) % PW_HISTORY];

        if (count && last->peak_bytes)
                pw_scheduler_peak(scheduler, device, last->run, last->peak_bytes);
}

/* What the gangs that it has done since took of it, as its history says. */
static void tell_times(const struct pw_boards *boards, uint32_t device, struct pw_scheduler *scheduler, uint64_t done)
{
        const struct pw_device_board *board = boards->devices[device].board;
        uint64_t first = pw_scheduler_done(scheduler, device).count;

        if (done - first > PW_ORDER_LOG)
                return; /* that cannot be */
        for (uint64_t i = first; i < done; i++) {
                const struct pw_history *past = &board->history[i % PW_HISTORY];

                if (past->end_ns > past->start_ns)
                        pw_scheduler_took(scheduler, device, i, past->end_ns - past->start_ns);
        }
}

static bool take_reports(struct pw_boards *boards, uint32_t device, struct pw_scheduler *scheduler, uint64_t now_us)
{
        struct pw_device_board *board = boards->devices[device].board;
        struct pw_report report;
        bool any = false;

        /* The head is the daemon's word: who writes over it leaves its executor without room for reports. */
        if (board && atomic_load(&board->report_head) != boards->devices[device].report_head)
                boards->wrong |= UINT64_C(1) << device;
        for (; board && pw_report_pop(board, &boards->devices[device].report_head, &report); any = true) {
                pw_text_make_plain(report.text); /* a function says what it likes */
                pw_scheduler_report(scheduler, device, &report, now_us);
        }
        if (any && boards->bells && atomic_load(&board->report_waits))
                pw_bells_ring_one(boards->bells, device);
        if (board && atomic_load(&board->report_tail) - boards->devices[device].report_head > PW_REPORTS)
                boards->wrong |= UINT64_C(1) << device;
        return any;
}

/* What may be seen for a moment: the seq still behind its count; values called spoilt by a process that is about to end. If it
 * stays so, a function has written over the board, and whoever waits for that device would wait for ever. */
static void look_if_odd(struct pw_boards *boards, uint32_t device, uint64_t now_us)
{
        const struct pw_device_board *board = boards->devices[device].board;
        uint64_t *since_us = &boards->devices[device].odd_us;

        if (boards->devices[device].seen_seq == boards->devices[device].done_seq &&
            !atomic_load((_Atomic uint64_t *)(uintptr_t)&board->spoilt_before))
                *since_us = 0;
        else if (!*since_us)
                *since_us = now_us;
        else if (now_us - *since_us >= ODD_US)
                boards->wrong |= UINT64_C(1) << device;
}

/* The count as it is published now, and whether it is news. The seq is read first, as it is written last: it belongs to no later
 * count. Neither goes back. */
static bool count_read(struct pw_boards *boards, uint32_t device, uint64_t *ret_done, uint64_t *ret_seq)
{
        struct pw_device_board *board = boards->devices[device].board;

        *ret_seq = atomic_load(&board->done.seq);
        *ret_done = atomic_load(&board->done.count);
        if (*ret_seq < boards->devices[device].seen_seq)
                boards->wrong |= UINT64_C(1) << device;
        if (*ret_done != boards->devices[device].done)
                return true;
        if (*ret_seq > boards->devices[device].done_seq)
                boards->wrong |= UINT64_C(1) << device;
        else
                boards->devices[device].seen_seq = pw_max_u64(*ret_seq, boards->devices[device].seen_seq);
        return false;
}

/* False: that cannot be. */
static bool progress(struct pw_boards *boards, uint32_t device, struct pw_scheduler *scheduler, uint64_t done, uint64_t seq,
                     uint64_t now_us)
{
        boards->devices[device].done = done;
        tell_peak(boards, device, scheduler);
        if (pw_scheduler_counts(scheduler))
                tell_times(boards, device, scheduler, done);
        if (!pw_scheduler_progress(scheduler, device, done, now_us))
                return false;
        boards->devices[device].done_seq = pw_scheduler_done(scheduler, device).seq;
        if (seq > boards->devices[device].done_seq)
                return false;
        boards->devices[device].seen_seq = pw_max_u64(seq, boards->devices[device].seen_seq);
        return true;
}

/* Ring those that have gangs to do and have done none since the last time. The bell that told them may have been written over, or
 * the bit by which they are known to sleep. */
static void ring_again(struct pw_boards *boards, const struct pw_scheduler *scheduler, uint64_t now_us)
{
        for (uint32_t d = 0; d < boards->device_end; d++) {
                if (boards->bells && boards->devices[d].done == boards->devices[d].rung_done &&
                    pw_scheduler_ring_at(scheduler, d) != UINT64_MAX)
                        pw_bells_ring_one(boards->bells, d);
                boards->devices[d].rung_done = boards->devices[d].done;
        }
        boards->rung_us = now_us;
}

/* All counts are read first, then all reports, then the counts are told: so whatever led to a count that is told, on any device,
 * was reported before. */
bool pw_boards_poll(struct pw_boards *boards, struct pw_scheduler *scheduler, uint64_t now_us)
{
        uint64_t done[PW_DEVICES_MAX], seqs[PW_DEVICES_MAX], news = 0;
        bool any = false;

        for (uint32_t d = 0; d < boards->device_end; d++)
                if (boards->devices[d].board && count_read(boards, d, &done[d], &seqs[d]))
                        news |= UINT64_C(1) << d;
        for (uint32_t d = 0; d < boards->device_end; d++)
                any |= take_reports(boards, d, scheduler, now_us);
        for (uint64_t rest = news; rest; rest &= rest - 1) {
                uint32_t d = (uint32_t)__builtin_ctzll(rest);
                any |= done[d] >= pw_scheduler_ring_at(scheduler, d);
                if (!progress(boards, d, scheduler, done[d], seqs[d], now_us))
                        boards->wrong |= UINT64_C(1) << d;
        }
        for (uint32_t d = 0; d < boards->device_end; d++)
                if (boards->devices[d].board)
                        look_if_odd(boards, d, now_us);
        if (now_us - boards->rung_us >= RING_AGAIN_US)
                ring_again(boards, scheduler, now_us);
        return any;
}

uint64_t pw_boards_wrong(const struct pw_boards *boards) { return boards->wrong; }

void pw_boards_settle(struct pw_boards *boards, const struct pw_scheduler *scheduler, uint32_t device)
{
        struct pw_device_board *board = boards->devices[device].board;
        struct pw_device_done done = pw_scheduler_done(scheduler, device);

        atomic_store(&board->history_count, done.count);
        atomic_store(&board->done.count, done.count);
        atomic_store(&board->done.seq, done.seq);
        atomic_store(&board->report_head, boards->devices[device].report_head);
        atomic_store(&board->report_tail, boards->devices[device].report_head);
        atomic_store(&board->running_since_ns, 0);
        atomic_store(&board->running, 0);
        boards->devices[device].done = done.count;
        boards->devices[device].done_seq = boards->devices[device].seen_seq = done.seq;
        boards->devices[device].odd_us = 0;
        boards->wrong &= ~(UINT64_C(1) << device);
        if (boards->bells) /* who waits for it may have slept while the board said something else */
                pw_bells_ring(boards->bells, &boards->bells->sleepers[device].bits, UINT64_MAX);
}

static void set_asleep(struct pw_boards *boards, uint32_t asleep)
{
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                if (boards->islands[i].board)
                        atomic_store(&boards->islands[i].board->daemon_asleep, asleep);
}

bool pw_boards_sleep(struct pw_boards *boards, struct pw_scheduler *scheduler, uint64_t now_us)
{
        uint64_t ring_at[PW_DEVICES_MAX];
        bool came = pw_scheduler_next_us(scheduler) <= now_us;

        for (uint32_t d = 0; d < boards->device_end; d++) {
                if (!boards->devices[d].board)
                        continue;
                ring_at[d] = pw_scheduler_ring_at(scheduler, d);
                atomic_store(&boards->islands[boards->devices[d].island].board->ring_at[d], ring_at[d]);
        }
        set_asleep(boards, 1);
        for (uint32_t d = 0; d < boards->device_end && !came; d++) {
                uint64_t count = boards->devices[d].board ? atomic_load(&boards->devices[d].board->done.count) :
                        boards->devices[d].done;
                /* what was polled is no news, and may be nonsense */
                came = count != boards->devices[d].done && count >= ring_at[d];
        }
        if (came)
                set_asleep(boards, 0);
        return came;
}

void pw_boards_awake(struct pw_boards *boards) { set_asleep(boards, 0); }

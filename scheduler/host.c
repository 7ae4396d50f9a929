/* The host's end of the scheduler: actions go into the boards, what executors published comes back. */
#include "scheduler/prepare.h"
#include "scheduler/scheduler.h"

#include "base/error.h"
#include "base/memory.h"

/* How long a board may say what is so only between two writes of its executor, one after the other. */
#define ODD_US 1000000u
#define RING_AGAIN_US ((uint64_t)PW_BELLS_SLEEP_NS / 1000)
#define BATCH 256u
_Static_assert(BATCH <= PW_ORDER_REACH, "no more are appended at once than lie in reach");

struct pw_host *pw_host_new(void)
{
        struct pw_host *host = calloc(1, sizeof *host);

        if (host)
                pw_list_init(&host->programs);
        return host;
}

void pw_host_free(struct pw_host *host)
{
        struct pw_host_program *program;

        if (!host)
                return;
        pw_list_each(&host->programs, program, struct pw_host_program, link)
                pw_prepare_free(program);
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++) {
                pw_table_done(&host->islands[i].images);
                pw_range_free(host->islands[i].arena);
        }
        free(host);
}

enum pw_status pw_host_island(struct pw_host *host, uint32_t island, struct pw_island_board *board, uint64_t board_bytes,
                              struct pw_error *ret_err)
{
        if (island >= PW_ISLANDS_MAX || board_bytes <= offsetof(struct pw_island_board, arena))
                return pw_error_set(ret_err, PW_INVALID, "no board for island %u", island);
        host->islands[island].arena = pw_range_new(board_bytes - offsetof(struct pw_island_board, arena), PW_LINE_BYTES);
        if (!host->islands[island].arena)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the board of island %u", island);
        host->islands[island].board = board;
        return PW_OK;
}

enum pw_status pw_host_device(struct pw_host *host, uint32_t device, uint32_t island, struct pw_device_board *board,
                              struct pw_error *ret_err)
{
        if (device >= PW_DEVICES_MAX || island >= PW_ISLANDS_MAX || !host->islands[island].board)
                return pw_error_set(ret_err, PW_INVALID, "no board for device %u of island %u", device, island);
        host->devices[device].board = board;
        host->devices[device].island = island;
        if (device >= host->device_end)
                host->device_end = device + 1;
        return PW_OK;
}

void pw_host_bells(struct pw_host *host, struct pw_bells *bells) { host->bells = bells; }

/* --- actions ---------------------------------------------------------------------------------------------------------------- */

static uint32_t column_of(const struct pw_run *run, uint32_t island)
{
        const struct pw_program *program = pw_live_of(run)->program;
        uint32_t column = 0;

        while (column + 1 < program->plan.column_count && program->plan.columns[column].island != island)
                column++;
        return column;
}

/* The sequence number of a node that others wait for, into the records of all islands of the run. */
static void write_seq(struct pw_host *host, const struct pw_run *run, uint32_t slot, uint32_t column, uint64_t seq)
{
        uint32_t columns = pw_live_of(run)->program->plan.column_count;

        for (uint32_t c = 0; c < columns; c++) {
                struct pw_run_record *record = pw_prepare_record(host, run, c);
                _Atomic uint64_t *seqs = (_Atomic uint64_t *)((char *)record + record->seqs);
                atomic_store_explicit(&seqs[(size_t)slot * columns + column], seq, memory_order_release);
        }
}

static void fill_order(struct pw_host *host, uint32_t island, const struct pw_order_item *item, uint64_t seq,
                       struct pw_order *ret_order)
{
        const struct pw_image_node *node = pw_image_node(item->run->row->image, item->node);
        uint32_t column = column_of(item->run, island);

        if (node->kind == PW_NODE_LOAD)
                pw_prepare_load(host, item->run, column, node->input_index);
        if (node->behind_count)
                pw_prepare_behind(host, item->run, column, node);
        if (node->seq_slot != PW_NO_SEQ)
                write_seq(host, item->run, node->seq_slot, column, seq);
        *ret_order = (struct pw_order){ ((struct pw_host_run *)item->run->host)->records[column].line, item->node, item->members };
}

static void order(struct pw_host *host, const struct pw_action *action)
{
        struct pw_island_board *board = host->islands[action->island].board;
        struct pw_order orders[BATCH];

        for (uint32_t done = 0; done < action->order_count;) {
                uint32_t count = action->order_count - done < BATCH ? action->order_count - done : BATCH;
                for (uint32_t i = 0; i < count; i++)
                        fill_order(host, action->island, &action->orders[done + i], action->seq + done + i, &orders[i]);
                pw_order_append_many(board, orders, count);
                done += count;
        }
        if (action->order_count && host->bells)
                pw_bells_ring(host->bells, &host->bells->order_sleepers[action->island].bits, action->members);
}

/* In the place of a member that is dead: its mark says that it has no value. What it should have written is not touched here: the
 * next process of the device writes the heads of those rooms before anybody may look at them. */
static void fail_gang(struct pw_host *host, const struct pw_action *action)
{
        struct pw_device_board *board = host->devices[action->device].board;
        struct pw_mark *mark = &board->marks[action->seq % PW_ORDER_LOG];

        mark->status = action->status;
        mark->cause_node = action->node;
        mark->cause_device = action->device;
        atomic_store(&mark->seq, action->seq);
        atomic_store(&board->failed.status, action->status);
        atomic_store(&board->failed.seq, action->seq);
        atomic_store(&board->running_since_ns, 0);
        atomic_store(&board->running, 0);
        if (host->bells)
                pw_bells_ring(host->bells, &host->bells->sleepers[action->device].bits, UINT64_MAX);
}

static void lose(struct pw_host *host, const struct pw_action *action)
{
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                if (host->islands[i].board)
                        atomic_store(&host->islands[i].board->lost_before[action->device], action->seq);
}

static void cancel(struct pw_host *host, const struct pw_action *action)
{
        const struct pw_host_run *state = action->run->host;

        for (uint32_t c = 0; state && c < state->column_count; c++)
                if (state->records[c].bytes)
                        __atomic_store_n(&pw_prepare_record(host, action->run, c)->cancelled_at, action->node, __ATOMIC_SEQ_CST);
}

enum pw_status pw_host_apply(struct pw_host *host, const struct pw_action *action, struct pw_error *ret_err)
{
        switch (action->kind) {
        case PW_ACT_PREPARE: return pw_prepare_run(host, action->run, action->island, ret_err);
        case PW_ACT_ORDER: order(host, action); break;
        case PW_ACT_LOST_BEFORE: lose(host, action); break;
        case PW_ACT_FAIL_GANG: fail_gang(host, action); break;
        case PW_ACT_CANCEL: cancel(host, action); break;
        case PW_ACT_PROGRAM_ENDED: pw_prepare_forget(host, action->program); break;
        case PW_ACT_BELL:
                for (uint64_t rest = action->members; host->bells && rest; rest &= rest - 1)
                        pw_bells_ring_one(host->bells, (uint32_t)__builtin_ctzll(rest));
                break;
        default: break;
        }
        return PW_OK;
}

/* --- what comes back ---------------------------------------------------------------------------------------------------------- */

/* The last gang that a device did, if it ended its run there, says how much memory was alive. */
static void tell_peak(struct pw_host *host, uint32_t device, struct pw_scheduler *scheduler)
{
        struct pw_device_board *board = host->devices[device].board;
        uint64_t count = atomic_load(&board->history_count);
        const struct pw_history *last = &board->history[(count - 1) % PW_HISTORY];

        if (count && last->peak_bytes)
                pw_scheduler_peak(scheduler, device, last->run, last->peak_bytes);
}

static bool take_reports(struct pw_host *host, uint32_t device, struct pw_scheduler *scheduler, uint64_t now_us)
{
        struct pw_device_board *board = host->devices[device].board;
        struct pw_report report;
        bool any = false;

        /* The head is the daemon's word: who writes over it leaves its executor without room for reports. */
        if (board && atomic_load(&board->report_head) != host->devices[device].report_head)
                host->wrong |= UINT64_C(1) << device;
        for (; board && pw_report_pop(board, &host->devices[device].report_head, &report); any = true)
                pw_scheduler_report(scheduler, device, &report, now_us);
        if (any && host->bells && atomic_load(&board->report_waits))
                pw_bells_ring_one(host->bells, device);
        if (board && atomic_load(&board->report_tail) - host->devices[device].report_head > PW_REPORTS)
                host->wrong |= UINT64_C(1) << device;
        return any;
}

/* What may be seen for a moment: the seq still behind its count; values called spoilt by a process that is about to end. If it stays
 * so, a function has written over the board, and whoever waits for that device would wait for ever. */
static void look_if_odd(struct pw_host *host, uint32_t device, uint64_t now_us)
{
        const struct pw_device_board *board = host->devices[device].board;
        uint64_t *since_us = &host->devices[device].odd_us;

        if (host->devices[device].seen_seq == host->devices[device].done_seq &&
            !atomic_load((_Atomic uint64_t *)(uintptr_t)&board->spoilt_before))
                *since_us = 0;
        else if (!*since_us)
                *since_us = now_us;
        else if (now_us - *since_us >= ODD_US)
                host->wrong |= UINT64_C(1) << device;
}

/* The count as it is published now, and whether it is news. The seq is read first, as it is written last: it belongs to no later
 * count. Neither goes back. */
static bool count_read(struct pw_host *host, uint32_t device, uint64_t *ret_done, uint64_t *ret_seq)
{
        struct pw_device_board *board = host->devices[device].board;

        *ret_seq = atomic_load(&board->done.seq);
        *ret_done = atomic_load(&board->done.count);
        if (*ret_seq < host->devices[device].seen_seq)
                host->wrong |= UINT64_C(1) << device;
        if (*ret_done != host->devices[device].done)
                return true;
        if (*ret_seq > host->devices[device].done_seq)
                host->wrong |= UINT64_C(1) << device;
        else
                host->devices[device].seen_seq = pw_max_u64(*ret_seq, host->devices[device].seen_seq);
        return false;
}

/* False: that cannot be. */
static bool progress(struct pw_host *host, uint32_t device, struct pw_scheduler *scheduler, uint64_t done, uint64_t seq,
                     uint64_t now_us)
{
        host->devices[device].done = done;
        tell_peak(host, device, scheduler);
        if (!pw_scheduler_progress(scheduler, device, done, now_us))
                return false;
        host->devices[device].done_seq = pw_scheduler_done(scheduler, device).seq;
        if (seq > host->devices[device].done_seq)
                return false;
        host->devices[device].seen_seq = pw_max_u64(seq, host->devices[device].seen_seq);
        return true;
}

/* Ring those that have gangs to do and have done none since the last time. The bell that told them may have been written over, or the
 * bit by which they are known to sleep. */
static void ring_again(struct pw_host *host, const struct pw_scheduler *scheduler, uint64_t now_us)
{
        for (uint32_t d = 0; d < host->device_end; d++) {
                if (host->bells && host->devices[d].done == host->devices[d].rung_done &&
                    pw_scheduler_ring_at(scheduler, d) != UINT64_MAX)
                        pw_bells_ring_one(host->bells, d);
                host->devices[d].rung_done = host->devices[d].done;
        }
        host->rung_us = now_us;
}

/* All counts are read first, then all reports, then the counts are told: so whatever led to a count that is told, on any device,
 * was reported before. */
bool pw_host_poll(struct pw_host *host, struct pw_scheduler *scheduler, uint64_t now_us)
{
        uint64_t done[PW_DEVICES_MAX], seqs[PW_DEVICES_MAX], news = 0;
        bool any = false;

        for (uint32_t d = 0; d < host->device_end; d++)
                if (host->devices[d].board && count_read(host, d, &done[d], &seqs[d]))
                        news |= UINT64_C(1) << d;
        for (uint32_t d = 0; d < host->device_end; d++)
                any |= take_reports(host, d, scheduler, now_us);
        for (uint64_t rest = news; rest; rest &= rest - 1) {
                uint32_t d = (uint32_t)__builtin_ctzll(rest);
                any |= done[d] >= pw_scheduler_ring_at(scheduler, d);
                if (!progress(host, d, scheduler, done[d], seqs[d], now_us))
                        host->wrong |= UINT64_C(1) << d;
        }
        for (uint32_t d = 0; d < host->device_end; d++)
                if (host->devices[d].board)
                        look_if_odd(host, d, now_us);
        if (now_us - host->rung_us >= RING_AGAIN_US)
                ring_again(host, scheduler, now_us);
        return any;
}

uint64_t pw_host_wrong(const struct pw_host *host) { return host->wrong; }

void pw_host_settle(struct pw_host *host, const struct pw_scheduler *scheduler, uint32_t device)
{
        struct pw_device_board *board = host->devices[device].board;
        struct pw_device_done done = pw_scheduler_done(scheduler, device);

        atomic_store(&board->history_count, done.count);
        atomic_store(&board->done.count, done.count);
        atomic_store(&board->done.seq, done.seq);
        atomic_store(&board->report_head, host->devices[device].report_head);
        atomic_store(&board->report_tail, host->devices[device].report_head);
        atomic_store(&board->running_since_ns, 0);
        atomic_store(&board->running, 0);
        host->devices[device].done = done.count;
        host->devices[device].done_seq = host->devices[device].seen_seq = done.seq;
        host->devices[device].odd_us = 0;
        host->wrong &= ~(UINT64_C(1) << device);
        if (host->bells) /* who waits for it may have slept while the board said something else */
                pw_bells_ring(host->bells, &host->bells->sleepers[device].bits, UINT64_MAX);
}

static void set_asleep(struct pw_host *host, uint32_t asleep)
{
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                if (host->islands[i].board)
                        atomic_store(&host->islands[i].board->daemon_asleep, asleep);
}

bool pw_host_sleep(struct pw_host *host, struct pw_scheduler *scheduler, uint64_t now_us)
{
        uint64_t ring_at[PW_DEVICES_MAX];
        bool came = pw_scheduler_next_us(scheduler) <= now_us;

        for (uint32_t d = 0; d < host->device_end; d++) {
                if (!host->devices[d].board)
                        continue;
                ring_at[d] = pw_scheduler_ring_at(scheduler, d);
                atomic_store(&host->islands[host->devices[d].island].board->ring_at[d], ring_at[d]);
        }
        set_asleep(host, 1);
        for (uint32_t d = 0; d < host->device_end && !came; d++) {
                uint64_t count = host->devices[d].board ? atomic_load(&host->devices[d].board->done.count) : host->devices[d].done;
                came = count != host->devices[d].done && count >= ring_at[d]; /* what was polled is no news, and may be nonsense */
        }
        if (came)
                set_asleep(host, 0);
        return came;
}

void pw_host_awake(struct pw_host *host) { set_asleep(host, 0); }

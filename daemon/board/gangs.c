/* The gangs of a device as its board tells them: for listings. */
#include "daemon/board/boards_private.h"

#include "base/memory.h"

/* What is ordered at `seq`, whether or not the device is a member. */
static struct pw_gang_row ordered_row(struct pw_boards *boards, uint32_t device, uint64_t seq)
{
        struct pw_device_board *board = boards->devices[device].board;
        uint32_t island = boards->devices[device].island;
        const struct pw_order *order = &boards->islands[island].board->log[seq % PW_ORDER_LOG];
        const struct pw_run_record *record = pw_boards_at(boards, island, order->run);
        struct pw_gang_row gang = { .seq = seq, .run = record->run, .device = device, .node = order->node,
                                    .running = seq == atomic_load(&board->running), .members = order->members };

        if (gang.running)
                gang.start_ns = atomic_load(&board->started_ns);
        return gang;
}

/* The first that the device has not done, as far as it is in reach. */
static uint64_t first_ordered(const struct pw_boards *boards, uint32_t device, uint64_t head)
{
        uint64_t seq = atomic_load(&boards->devices[device].board->done.seq) + 1;

        return head >= PW_ORDER_REACH ? pw_max_u64(seq, head - PW_ORDER_REACH + 1) : seq;
}

static uint64_t head_of(const struct pw_boards *boards, uint32_t device)
{
        return atomic_load(&boards->islands[boards->devices[device].island].board->head);
}

static void each_ordered(struct pw_boards *boards, uint32_t device, void (*row)(void *, const struct pw_gang_row *), void *context)
{
        uint64_t head = head_of(boards, device);

        for (uint64_t seq = first_ordered(boards, device, head); seq <= head; seq++) {
                struct pw_gang_row gang = ordered_row(boards, device, seq);

                if (gang.members >> device & 1)
                        row(context, &gang);
        }
}

static struct pw_gang_row past_row(const struct pw_device_board *board, uint32_t device, uint64_t at)
{
        const struct pw_history *past = &board->history[at % PW_HISTORY];

        return (struct pw_gang_row){ .seq = past->seq, .run = past->run, .start_ns = past->start_ns, .end_ns = past->end_ns,
                                     .device = device,
                                     .node = past->node, .status = past->status, .done = true, .peak_bytes = past->peak_bytes };
}

static uint64_t first_past(uint64_t count) { return count > PW_HISTORY ? count - PW_HISTORY : 0; }

void pw_boards_each_gang(struct pw_boards *boards, uint32_t device, void (*row)(void *context, const struct pw_gang_row *row),
                       void *context)
{
        struct pw_device_board *board = device < PW_DEVICES_MAX ? boards->devices[device].board : NULL;
        uint64_t count = board ? atomic_load(&board->history_count) : 0;

        for (uint64_t i = first_past(count); i < count; i++) {
                struct pw_gang_row gang = past_row(board, device, i);
                row(context, &gang);
        }
        if (board)
                each_ordered(boards, device, row, context);
}

/* The first of the history behind `seq`; an executor may have written anything there. */
static uint64_t past_behind(const struct pw_device_board *board, uint64_t seq, uint64_t end)
{
        uint64_t first = first_past(end);

        while (first < end) {
                uint64_t middle = first + (end - first) / 2;

                if (board->history[middle % PW_HISTORY].seq > seq)
                        end = middle;
                else
                        first = middle + 1;
        }
        return first;
}

void pw_boards_gangs_begin(const struct pw_boards *boards, uint32_t device, uint64_t seq, struct pw_gang_walk *ret_walk)
{
        const struct pw_device_board *board = device < PW_DEVICES_MAX ? boards->devices[device].board : NULL;
        struct pw_gang_walk walk = { .device = device, .seq = seq };

        if (board) {
                walk.past_end = atomic_load(&board->history_count);
                walk.past = past_behind(board, seq, walk.past_end);
                walk.head = head_of(boards, device);
        }
        *ret_walk = walk;
}

bool pw_boards_gangs(struct pw_boards *boards, struct pw_gang_walk *walk, uint32_t most,
                   bool (*row)(void *context, const struct pw_gang_row *row), void *context)
{
        struct pw_device_board *board = walk->device < PW_DEVICES_MAX ? boards->devices[walk->device].board : NULL;
        struct pw_gang_row gang;

        if (!board)
                return false;
        walk->past = pw_max_u64(walk->past, pw_min_u64(walk->past_end, first_past(atomic_load(&board->history_count))));
        for (; walk->past < walk->past_end; walk->past++) {
                if (!most--)
                        return true;
                gang = past_row(board, walk->device, walk->past);
                if (!row(context, &gang))
                        return true;
                walk->seq = pw_max_u64(walk->seq, gang.seq);
        }
        for (uint64_t seq = pw_max_u64(first_ordered(boards, walk->device, walk->head), walk->seq + 1); seq <= walk->head; seq++) {
                if (!most--)
                        return true;
                gang = ordered_row(boards, walk->device, seq);
                if (gang.members >> walk->device & 1 && !row(context, &gang))
                        return true;
                walk->seq = seq;
        }
        return false;
}

static void keep_first(void *context, const struct pw_gang_row *row)
{
        struct pw_gang_row *first = context;

        if (!first->seq)
                *first = *row;
}

bool pw_boards_next_gang(struct pw_boards *boards, uint32_t device, struct pw_gang_row *ret_row)
{
        struct pw_gang_row first = { 0 };

        if (device < PW_DEVICES_MAX && boards->devices[device].board)
                each_ordered(boards, device, keep_first, &first);
        if (first.seq)
                *ret_row = first;
        return first.seq;
}

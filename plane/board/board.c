/* Boards: appending to the order, ringing bells, passing reports. */
#include "plane/board/board.h"

#include "plane/hint.h"

#include <string.h>

void pw_bells_ring_one(struct pw_bells *bells, uint32_t device)
{
        atomic_fetch_add(&bells->bell[device].word, 1);
        pw_futex_wake(&bells->bell[device].word, 1);
}

void pw_bells_call(struct pw_bells *bells, _Atomic uint64_t *sleepers, uint64_t bits)
{
        bits &= atomic_fetch_and(sleepers, ~bits);
        for (; bits; bits &= bits - 1)
                pw_bells_ring_one(bells, (uint32_t)__builtin_ctzll(bits));
}

void pw_bells_sleep(struct pw_bells *bells, uint32_t self, uint32_t seen, int64_t until_ns)
{
        pw_futex_wait(&bells->bell[self].word, seen, until_ns);
}

uint64_t pw_order_append_many(struct pw_island_board *board, const struct pw_order *orders, uint32_t count)
{
        uint64_t first = atomic_load_explicit(&board->head, memory_order_relaxed) + 1;

        atomic_exchange(&board->written, first + count - 1); /* not a store: the records must not be written before it */
        for (uint32_t i = 0; i < count; i++)
                board->log[(first + i) % PW_ORDER_LOG] = orders[i];
        atomic_store(&board->head, first + count - 1);
        return first;
}

uint64_t pw_order_append(struct pw_island_board *board, struct pw_order order)
{
        return pw_order_append_many(board, &order, 1);
}

bool pw_report_push(struct pw_device_board *board, const struct pw_report *report)
{
        uint32_t tail = atomic_load_explicit(&board->report_tail, memory_order_relaxed);

        if (tail - atomic_load(&board->report_head) >= PW_REPORTS)
                return false;
        board->reports[tail % PW_REPORTS] = *report;
        atomic_store(&board->report_tail, tail + 1);
        return true;
}

bool pw_report_pop(struct pw_device_board *board, uint32_t *head, struct pw_report *ret_report)
{
        uint32_t count = atomic_load(&board->report_tail) - *head;

        if (!count || count > PW_REPORTS)
                return false;
        memcpy(ret_report, &board->reports[*head % PW_REPORTS], sizeof *ret_report);
        ret_report->text[sizeof ret_report->text - 1] = 0;
        atomic_store(&board->report_head, ++*head);
        return true;
}

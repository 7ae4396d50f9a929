/* Messages go into the boards. */
#include "daemon/board/boards_private.h"

#include "base/error.h"
#include "base/memory.h"

#define BATCH 256u
_Static_assert(BATCH <= PW_ORDER_REACH, "no more are appended at once than lie in reach");

struct pw_boards *pw_boards_new(uint32_t host)
{
        struct pw_boards *boards = calloc(1, sizeof *boards);

        if (boards)
                boards->host = host;
        return boards;
}


void pw_boards_free(struct pw_boards *boards)
{
        struct pw_boards_program *program;
        uint32_t cursor = 0;

        if (!boards)
                return;
        while ((program = pw_table_next(&boards->programs, &cursor))) {
                while (program->runs) {
                        struct pw_boards_run *run = program->runs;
                        program->runs = run->next;
                        free(run);
                }
                free(program);
        }
        pw_table_done(&boards->programs);
        free(boards->runs);
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++) {
                pw_table_done(&boards->islands[i].images);
                pw_range_free(boards->islands[i].arena);
        }
        free(boards);
}

enum pw_status pw_boards_island(struct pw_boards *boards, uint32_t island, struct pw_island_board *board, uint64_t board_bytes,
                              struct pw_error *ret_err)
{
        if (island >= PW_ISLANDS_MAX || board_bytes <= offsetof(struct pw_island_board, arena))
                return pw_error_set(ret_err, PW_INVALID, "no board for island %u", island);
        boards->islands[island].arena = pw_range_new(board_bytes - offsetof(struct pw_island_board, arena), PW_LINE_BYTES);
        if (!boards->islands[island].arena)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the board of island %u", island);
        boards->islands[island].board = board;
        return PW_OK;
}

enum pw_status pw_boards_device(struct pw_boards *boards, uint32_t device, uint32_t island, struct pw_device_board *board,
                              struct pw_error *ret_err)
{
        if (device >= PW_DEVICES_MAX || island >= PW_ISLANDS_MAX || !boards->islands[island].board)
                return pw_error_set(ret_err, PW_INVALID, "no board for device %u of island %u", device, island);
        boards->devices[device].board = board;
        boards->devices[device].island = island;
        if (device >= boards->device_end)
                boards->device_end = device + 1;
        return PW_OK;
}

void pw_boards_bells(struct pw_boards *boards, struct pw_bells *bells) { boards->bells = bells; }

/* --- messages --------------------------------------------------------------------------------------------------------------- */

static uint32_t column_of(const struct pw_boards_run *run, uint32_t island)
{
        uint32_t column = 0;

        while (column + 1 < run->column_count && run->records[column].island != island)
                column++;
        return column;
}

/* The sequence number of a node that others wait for, into the records of all islands of the run. */
static void write_seq(struct pw_boards *boards, const struct pw_boards_run *run, uint32_t seq_slot, uint32_t column, uint64_t seq)
{
        for (uint32_t c = 0; c < run->column_count; c++) {
                struct pw_run_record *record = pw_boards_record(boards, run, c);
                _Atomic uint64_t *seqs = (_Atomic uint64_t *)((char *)record + record->seqs);
                atomic_store_explicit(&seqs[(size_t)seq_slot * run->column_count + column], seq, memory_order_release);
        }
}

/* The load of an input: what is known of it now is final. */
static void write_load(struct pw_run_record *record, const struct pw_order_item *item, const struct pw_run_shard *shards)
{
        const struct pw_run_input *input = (struct pw_run_input *)((char *)record + record->inputs) + item->input;

        memcpy((char *)record + input->shards, shards, pw_min_u64(item->shard_count, input->shard_count) * sizeof *shards);
}

/* A node that comes behind nodes of the runs ahead, which are ordered: their numbers are final. */
static void write_behind(struct pw_boards *boards, struct pw_run_record *record, uint32_t column, const struct pw_behind *behind)
{
        const struct pw_boards_run *ahead = pw_boards_run(boards, behind->run, behind->slot);
        size_t bytes = record->island_count * sizeof(uint64_t);
        const struct pw_run_record *theirs;

        if (!ahead || !ahead->records[column].bytes)
                return;
        theirs = pw_boards_record(boards, ahead, column);
        memcpy((char *)record + record->ahead_seqs + behind->seq_slot * bytes,
               (const char *)theirs + theirs->seqs + behind->seq_slot * bytes, bytes);
}

static void fill_order(struct pw_boards *boards, uint32_t island, const struct pw_order_item *item, const uint8_t *bytes,
                       uint64_t seq, struct pw_order *ret_order)
{
        const struct pw_boards_run *run = pw_boards_run(boards, item->run, item->slot);
        const struct pw_run_shard *shards = (const void *)(bytes + item->at);
        const struct pw_behind *behind = (const void *)(shards + item->shard_count);
        struct pw_run_record *record;
        uint32_t column;

        if (!run) { /* never prepared: its place in the order stays, and nobody's is in it */
                *ret_order = (struct pw_order){ 0, item->node, 0 };
                return;
        }
        column = column_of(run, island);
        record = pw_boards_record(boards, run, column);
        if (item->shard_count)
                write_load(record, item, shards);
        for (uint32_t i = 0; i < item->behind_count; i++)
                write_behind(boards, record, column, &behind[i]);
        if (item->seq_slot != PW_NO_SEQ)
                write_seq(boards, run, item->seq_slot, column, seq);
        *ret_order = (struct pw_order){ run->records[column].line, item->node, item->members };
}

static void order(struct pw_boards *boards, const struct pw_message *message, const struct pw_message_pools *pools)
{
        struct pw_island_board *board = boards->islands[message->island].board;
        const struct pw_order_item *items = pools->orders + message->first_order;
        struct pw_order orders[BATCH];

        for (uint32_t done = 0; done < message->order_count;) {
                uint32_t count = message->order_count - done < BATCH ? message->order_count - done : BATCH;
                for (uint32_t i = 0; i < count; i++)
                        fill_order(boards, message->island, &items[done + i], pools->bytes, message->seq + done + i, &orders[i]);
                pw_order_append_many(board, orders, count);
                done += count;
        }
        if (message->order_count && boards->bells)
                pw_bells_ring(boards->bells, &boards->bells->order_sleepers[message->island].bits, message->members);
}

/* In the place of a member that is dead: its mark says that it has no value. What it should have written is not touched here: the
 * next process of the device writes the heads of those rooms before anybody may look at them. */
static void fail_gang(struct pw_boards *boards, const struct pw_message *message)
{
        struct pw_device_board *board = boards->devices[message->device].board;
        struct pw_mark *mark = &board->marks[message->seq % PW_ORDER_LOG];

        mark->status = message->status;
        atomic_store(&mark->broken, PW_OK);
        mark->cause_node = message->node;
        mark->cause_device = (struct pw_device_id){ (uint16_t)message->host, (uint16_t)message->device };
        atomic_store(&mark->seq, message->seq);
        atomic_store(&board->failed.status, message->status);
        atomic_store(&board->failed.seq, message->seq);
        atomic_store(&board->running_since_ns, 0);
        atomic_store(&board->running, 0);
        if (boards->bells)
                pw_bells_ring(boards->bells, &boards->bells->sleepers[message->device].bits, UINT64_MAX);
}

static void lose(struct pw_boards *boards, const struct pw_message *message)
{
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                if (boards->islands[i].board)
                        atomic_store(&boards->islands[i].board->lost_before[message->device], message->seq);
}

static void cancel(struct pw_boards *boards, const struct pw_message *message)
{
        const struct pw_boards_run *run = pw_boards_run(boards, message->run.run, message->run.slot);

        for (uint32_t c = 0; run && c < run->column_count; c++)
                if (run->records[c].bytes)
                        __atomic_store_n(&pw_boards_record(boards, run, c)->cancelled_at, message->node, __ATOMIC_SEQ_CST);
}

/* No executor has looked at the record. */
static void fail_input(struct pw_boards *boards, const struct pw_message *message)
{
        const struct pw_boards_run *run = pw_boards_run(boards, message->run.run, message->run.slot);

        for (uint32_t c = 0; run && c < run->column_count; c++) {
                struct pw_run_record *record = run->records[c].bytes ? pw_boards_record(boards, run, c) : NULL;
                struct pw_run_input *input = record ? (struct pw_run_input *)((char *)record + record->inputs) +
                        message->node : NULL;
                if (!input)
                        continue;
                input->status = message->status;
                input->in_place = 0;
                input->shard_count = 0;
        }
}

enum pw_status pw_boards_apply(struct pw_boards *boards, const struct pw_message *message, const struct pw_message_pools *pools,
                               struct pw_error *ret_err)
{
        switch (message->kind) {
        case PW_MSG_PREPARE: return pw_boards_prepare(boards, message, pools, ret_err);
        case PW_MSG_ORDER: order(boards, message, pools); break;
        case PW_MSG_LOST_BEFORE: lose(boards, message); break;
        case PW_MSG_FAIL_GANG: fail_gang(boards, message); break;
        case PW_MSG_CANCEL: cancel(boards, message); break;
        case PW_MSG_INPUT: fail_input(boards, message); break;
        case PW_MSG_PROGRAM_ENDED: pw_boards_forget(boards, message->run.program); break;
        case PW_MSG_BELL:
                for (uint64_t rest = message->members; boards->bells && rest; rest &= rest - 1)
                        pw_bells_ring_one(boards->bells, (uint32_t)__builtin_ctzll(rest));
                break;
        }
        return PW_OK;
}

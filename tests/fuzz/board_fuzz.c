/* The board of an executor whose module writes over all that it may: counts, reports, history, marks, bells. It harms the gangs of
 * its own device at most: what runs beside it ends well, and once its process has ended all of it is settled. */
#include "daemon/client/lane.h"
#include "daemon/inspect/trace/trace.h"
#include "tests/fuzz/stand_in/host.h"

#include <assert.h>

#define HOSTILE 1u

static void scribble_counts(struct pw_device_board *board, struct fuzz_bytes *bytes)
{
        uint8_t shape = (uint8_t)fuzz_take(bytes, 1);
        uint64_t any = fuzz_take(bytes, shape & 0x80 ? 8 : 1);

        switch (shape % 10) {
        case 0: atomic_store(&board->done.seq, any); break;
        case 1: atomic_store(&board->done.count, any); break;
        case 2: atomic_store(&board->running, any); break;
        case 3: atomic_store(&board->running_since_ns, any); break;
        case 4: atomic_store(&board->report_tail, (uint32_t)any); break;
        case 5: atomic_store(&board->report_head, (uint32_t)any); break;
        case 6: atomic_store(&board->report_waits, (uint32_t)any); break;
        case 7: atomic_store(&board->history_count, any); break;
        case 8: atomic_store(&board->failed.seq, any); break;
        default: atomic_store(&board->started_ns, any);
        }
}

static void report(struct pw_device_board *board, struct fuzz_bytes *bytes)
{
        struct pw_report report = { .run = fuzz_take(bytes, 1) % 8, .node = (uint32_t)fuzz_take(bytes, 1),
                                    .status = (uint32_t)fuzz_take(bytes, 1) };
        uint8_t shape = (uint8_t)fuzz_take(bytes, 1);

        report.result = shape & 1 ? PW_NODE_NONE : shape >> 1 & 3;
        report.cause_node = shape & 8 ? PW_NODE_NONE : shape >> 4;
        report.cause_device.device = (uint16_t)fuzz_take(bytes, 1);
        memset(report.text, 'x', sizeof report.text); /* without an end */
        (void)!pw_report_push(board, &report);
}

static void remember(struct pw_device_board *board, struct fuzz_bytes *bytes)
{
        uint64_t count = atomic_load(&board->history_count);
        uint8_t shape = (uint8_t)fuzz_take(bytes, 1);

        board->history[count % PW_HISTORY] = (struct pw_history){ .seq = fuzz_take(bytes, 1) % 32, .run = shape % 8,
                                                                  .node = (uint32_t)fuzz_take(bytes, shape & 8 ? 4 : 1),
                                                                  .peak_bytes = fuzz_take(bytes, 2), .start_ns = shape >> 4,
                                                                  .end_ns = shape & 16,
                                                                  .status = (uint32_t)fuzz_take(bytes, 1) };
        atomic_store(&board->history_count, count + 1);
}

static void row(void *context, const struct pw_gang_row *row)
{
        struct fuzz_host *host = context;
        const struct pw_image_node *node;
        const char *name;
        uint64_t run;

        if (pw_child_gang(&host->daemon, row->device, row->seq, &node, &name, &run))
                assert(strlen(name) < 256 && node->kind);
}

/* Who lists, asks why, and traces. */
static void look(struct fuzz_host *host, struct fuzz_bytes *bytes)
{
        struct pw_gang_row next;
        struct pw_child_order order;
        Pathways__Wire__TraceRequest request = PATHWAYS__WIRE__TRACE_REQUEST__INIT;

        pw_boards_each_gang(host->daemon.boards, HOSTILE, row, host);
        (void)pw_boards_next_gang(host->daemon.boards, HOSTILE, &next);
        (void)pw_child_order(&host->daemon, HOSTILE, fuzz_take(bytes, 1), &order);
        request.last = fuzz_take(bytes, 1) % 8 == 0;
        pw_trace_request(&host->clients[1].session, 5, &request);
}

/* A run that has the device as a member, on the value that is kept. */
static void submit(struct fuzz_host *host, struct fuzz_bytes *bytes, uint32_t *used)
{
        struct fuzz_client *client = &host->clients[1];
        uint32_t program = 1 + fuzz_take(bytes, 1) % 2;
        struct pw_cell inputs[2] = { fuzz_host_operand(host->kept), fuzz_host_operand(host->kept) }, results[2];

        if (*used + 2 > FUZZ_SLOTS || !pw_table_get(&client->session.programs, host->programs[program]))
                return;
        for (uint32_t i = 0; i < 2; i++)
                results[i] = fuzz_host_operand(fixture_future(&host->fixture, client->futures.first_slot + *used + i));
        *used += 3 - program;
        fuzz_host_run(client, 0, &(struct fuzz_run){ host->programs[program], inputs, 3 - program, results, 3 - program });
        pw_lanes_rung(&client->session);
}

/* A program goes, and its images and records with it: others will lie there. */
static void forget(struct fuzz_host *host, struct fuzz_bytes *bytes)
{
        uint32_t program = 1 + fuzz_take(bytes, 1) % 2;

        pw_lanes_drain(&host->clients[1].session); /* as for the request */
        if (pw_table_remove(&host->clients[1].session.programs, host->programs[program]))
                pw_scheduler_program_free(host->daemon.scheduler, host->programs[program]);
}

static void one_step(struct fuzz_host *host, struct fuzz_bytes *bytes, uint32_t *used)
{
        struct pw_device_board *board = host->daemon.children.all[HOSTILE].board;
        uint8_t op = (uint8_t)fuzz_take(bytes, 1);

        switch (op % 16) {
        case 0:
        case 1:
        case 2: scribble_counts(board, bytes); break;
        case 3:
        case 4: report(board, bytes); break;
        case 5: remember(board, bytes); break;
        case 6: atomic_store(&host->daemon.children.bells->sleepers[op >> 4].bits, fuzz_take(bytes, 8)); break;
        case 7: memset((uint8_t *)board + fuzz_take(bytes, 3) % sizeof *board / 64 * 64, op, 64); break;
        case 8:
        case 9: fuzz_host_work(host, op >> 4 & 3); break;
        case 10: look(host, bytes); break;
        case 11: host->now_us += fuzz_take(bytes, 4); break;
        case 12: submit(host, bytes, used); break;
        case 13: fuzz_host_kill_device(host, HOSTILE); break;
        case 14: forget(host, bytes); break;
        default: fuzz_host_turn(host);
        }
        assert(!(pw_boards_wrong(host->daemon.boards) & ~(UINT64_C(1) << HOSTILE)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
        static struct fuzz_host host;
        struct fuzz_bytes bytes = { data, count };
        uint32_t used = 1;

        fuzz_host_open(&host);
        while (bytes.left)
                one_step(&host, &bytes, &used);
        fuzz_host_turn(&host);
        fuzz_host_kill_device(&host, HOSTILE);
        fuzz_host_close(&host);
        return 0;
}

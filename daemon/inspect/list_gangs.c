/* The listing of gangs: device by device, the newest of each, none that is under way left out for what is only ordered behind
 * it. */
#include "base/memory.h"
#include "daemon/child/blocked.h"
#include "daemon/child/child.h"
#include "daemon/inspect/find.h"
#include "daemon/inspect/list.h"
#include "daemon/session/kept.h"

#include <stdlib.h>

struct pw_gang_lister {
        uint32_t device, last;       /* where it is; the last one asked for */
        uint32_t pages;              /* of the device, so far */
        bool counting;               /* its gangs, before they are shown */
        bool left_out;               /* some of them, since only so many were asked for */
        struct pw_gang_walk walk;
        uint64_t count, done, skip;  /* of the device: gangs there are, of them done; the oldest, that are left out */
        uint64_t room;               /* rows of it that may still be shown */
        uint64_t run;                /* whose program was looked up last */
        const char *program, *tenant;
};

/* Where a page begins, lister->at: device, pages of it, whether any were left out, the last gang seen. It only grows, and says when
 * a device has had as many pages as it ever has gangs, however many it does meanwhile. */
#define SEQ_BITS 50u
#define PAGES_MAX ((PW_HISTORY + PW_ORDER_LOG) / PW_LIST_PAGE_ROWS + 1)
_Static_assert(PAGES_MAX < 64 && PW_DEVICES_MAX <= 64, "as wide as they are in where a page begins");
#define AT_MAKE(device, pages, left_out, seq) \
        ((uint64_t)(device) << 57 | (uint64_t)(pages) << 51 | (uint64_t)(left_out) << SEQ_BITS | \
         ((seq) & ((UINT64_C(1) << SEQ_BITS) - 1)))
#define AT_DEVICE(at) ((uint32_t)((at) >> 57))
#define AT_PAGES(at) ((uint32_t)((at) >> 51 & 63))
#define AT_LEFT_OUT(at) ((at) >> SEQ_BITS & 1)
#define AT_SEQ(at) ((at) & ((UINT64_C(1) << SEQ_BITS) - 1))

void pw_gang_lister_free(struct pw_gang_lister *gangs) { free(gangs); }

/* Program and tenant of a run, as long as it is remembered. Gangs of one run follow each other, so the last answer is kept. */
static void look_up_run(struct pw_lister *lister, uint64_t run)
{
        struct pw_gang_lister *gangs = lister->gangs;
        struct pw_run_row row;

        if (gangs->run == run)
                return;
        gangs->run = run;
        gangs->program = gangs->tenant = NULL;
        if (pw_scheduler_run_known(lister->daemon->scheduler, run, &row)) {
                gangs->program = row.program;
                gangs->tenant = row.tenant;
        }
}

static bool is_visible(struct pw_lister *lister, const struct pw_gang_row *row)
{
        look_up_run(lister, row->run);
        return lister->operator_ || (lister->gangs->tenant && pw_list_visible(lister, lister->gangs->tenant));
}

static bool count_gang(void *context, const struct pw_gang_row *row)
{
        struct pw_lister *lister = context;
        bool visible = is_visible(lister, row);

        lister->gangs->done += visible && row->done;
        lister->gangs->count += visible;
        return true;
}

static const char *state_text(const struct pw_daemon *daemon, const struct pw_gang_row *row)
{
        struct pw_blocked blocked;

        if (row->done)
                return row->status == PW_OK ? "done" : "failed";
        if (!row->running)
                return "ordered";
        return pw_blocked_device(daemon, row->device, row->seq, &blocked) ? "waiting" : "running";
}

/* Of one that is not done, up to now; of one that has not begun, nothing. */
static void times(struct pw_lister *lister, const struct pw_gang_row *row)
{
        uint64_t start_us = row->start_ns / 1000, end_us = row->done ? row->end_ns / 1000 : lister->now_us;

        pw_rows_number(lister->rows, "start_us", start_us);
        pw_rows_number(lister->rows, "end_us", row->end_ns / 1000);
        if (start_us)
                pw_rows_number(lister->rows, "took_us", end_us - pw_min_u64(start_us, end_us));
}

/* Too old, or over the device's share of the rows. */
static bool is_left_out(struct pw_gang_lister *gangs)
{
        uint64_t *left = gangs->skip ? &gangs->skip : &gangs->room;
        bool shown = !gangs->skip && gangs->room;

        *left -= *left > 0;
        gangs->left_out |= !shown;
        return !shown;
}

static bool gang_row(void *context, const struct pw_gang_row *row)
{
        struct pw_lister *lister = context;
        struct pw_rows *rows = lister->rows;
        const struct pw_image_node *node;
        const char *name = NULL;
        uint64_t run;

        if (!is_visible(lister, row) || is_left_out(lister->gangs))
                return true;
        if (!pw_rows_begin(rows))
                return false;
        pw_rows_text(rows, "device", "h%u:%u", lister->daemon->host, row->device);
        pw_rows_number(rows, "seq", row->seq);
        pw_rows_number(rows, "run", row->run);
        pw_rows_text(rows, "program", "%s", lister->gangs->program ? lister->gangs->program : "-");
        if (pw_child_gang(lister->daemon, row->device, row->seq, &node, &name, &run) && run == row->run)
                pw_rows_text(rows, "node", "%u %s", row->node, name);
        else
                pw_rows_text(rows, "node", "%u", row->node);
        pw_rows_text(rows, "state", "%s", state_text(lister->daemon, row));
        times(lister, row);
        return true;
}

/* An equal share of the rows that are left for this device and those behind it. */
static uint64_t share_of(const struct pw_lister *lister)
{
        uint64_t rows = lister->rows->limit - pw_min_u64(lister->rows->limit, lister->rows->count);

        return pw_max_u64(rows / (lister->gangs->last - lister->gangs->device + 1), 1);
}

/* Where there is a row for each that it can have, they need not be counted. */
static void begin_device(struct pw_lister *lister, uint64_t seq)
{
        struct pw_gang_lister *gangs = lister->gangs;

        gangs->count = gangs->done = gangs->skip = 0;
        gangs->room = share_of(lister);
        gangs->counting = gangs->room < PW_HISTORY + PW_ORDER_LOG;
        pw_boards_gangs_begin(lister->daemon->boards, gangs->device, seq, &gangs->walk);
}

static bool begin(struct pw_lister *lister)
{
        uint32_t first = 0, last = lister->daemon->device_count - 1;

        if (lister->filter[0] && pw_find_device(lister->daemon, lister->filter, &first, lister->err) != PW_OK)
                return false;
        lister->gangs = calloc(1, sizeof *lister->gangs);
        if (!lister->gangs) {
                lister->rows->failed = true;
                return false;
        }
        lister->gangs->last = lister->filter[0] ? first : last;
        lister->gangs->device = (uint32_t)pw_max_u64(first, AT_DEVICE(lister->at));
        lister->gangs->pages = AT_PAGES(lister->at);
        lister->gangs->left_out = AT_LEFT_OUT(lister->at);
        pw_lister_keep(lister, pw_kept_heap_bytes(lister->gangs));
        if (lister->gangs->device <= lister->gangs->last)
                begin_device(lister, AT_SEQ(lister->at));
        return true;
}

/* What comes next: the rows of the device, or the next device. False: that was the last. */
static bool go_on(struct pw_lister *lister)
{
        struct pw_gang_lister *gangs = lister->gangs;

        if (gangs->counting) {
                gangs->counting = false;
                gangs->skip = pw_min_u64(gangs->count - pw_min_u64(gangs->count, gangs->room), gangs->done);
                pw_boards_gangs_begin(lister->daemon->boards, gangs->device, AT_SEQ(lister->at), &gangs->walk);
                return true;
        }
        gangs->device++;
        gangs->pages = 0;
        lister->at = AT_MAKE(gangs->device, 0, gangs->left_out, UINT64_C(0));
        if (gangs->device > gangs->last) {
                lister->rows->truncated |= gangs->left_out;
                return false;
        }
        begin_device(lister, 0);
        return true;
}

bool pw_list_gangs_step(struct pw_lister *lister, uint32_t slots)
{
        struct pw_gang_lister *gangs;

        if (!lister->gangs && !begin(lister))
                return false;
        gangs = lister->gangs;
        gangs->run = 0; /* what was looked up in another turn may be gone */
        if (gangs->device > gangs->last)
                return false;
        if (gangs->pages >= PAGES_MAX ||
            !pw_boards_gangs(lister->daemon->boards, &gangs->walk, slots, gangs->counting ? count_gang : gang_row, lister))
                return go_on(lister);
        if (!gangs->counting)
                lister->at = AT_MAKE(gangs->device, gangs->pages + 1, gangs->left_out, gangs->walk.seq);
        return true;
}

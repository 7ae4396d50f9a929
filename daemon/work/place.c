/* Places of programs in boards. */
#include "daemon/work/place.h"

#include "base/memory.h"
#include "daemon/session/kept.h"
#include "daemon/work/compiler.h"
#include "plane/segment.h"

#include <sys/mman.h>

#define PAGE_BYTES 4096u

enum pw_status pw_program_place(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_program_row *row,
                                struct pw_error *ret_err)
{
        uint64_t plan_bytes = pw_program_bytes(row) - row->image->bytes;
        enum pw_status status = pw_boards_image_reserve(daemon->boards, row, &row->placed_bytes, ret_err);

        if (status == PW_OK)
                status = pw_kept_ask(daemon, tenant, PW_KEPT_PROGRAMS, row->placed_bytes + plan_bytes, ret_err);
        if (status != PW_OK) {
                row->placed_bytes = 0;
                return status;
        }
        row->payer = tenant;
        row->kept_bytes = row->placed_bytes + plan_bytes;
        daemon->memory.placed_bytes += row->placed_bytes;
        pw_kept_count(daemon, tenant, PW_KEPT_PROGRAMS, (int64_t)row->kept_bytes);
        return PW_OK;
}

/* A place in a board that goes back, once the system has its pages. */
struct leaving {
        struct pw_compile_work work; /* first */
        struct pw_daemon *daemon;
        struct pw_list link;         /* in daemon->work.leaving */
        struct pw_tenant *payer;     /* NULL: nobody was charged */
        uint64_t kept_bytes, placed_bytes;
        struct pw_image_place range;
};

static void give_pages(struct pw_compile_work *work)
{
        const struct leaving *leaving = (struct leaving *)work;
        const struct pw_image_place *range = &leaving->range;
        struct pw_error err; /* who takes the place has the pages then */

        if (range->bytes)
                (void)!pw_memfd_punch(leaving->daemon->children.islands[range->island].fd, (uint64_t)range->line * PW_LINE_BYTES,
                                      range->bytes, &err);
}

static void give_place(const struct leaving *leaving)
{
        pw_boards_image_give(leaving->daemon->boards, &leaving->range);
        leaving->daemon->memory.placed_bytes -= leaving->placed_bytes;
        if (leaving->payer)
                pw_kept_count(leaving->daemon, leaving->payer, PW_KEPT_PROGRAMS, -(int64_t)leaving->kept_bytes);
}

static void let_go(struct leaving *leaving)
{
        give_place(leaving);
        pw_list_remove(&leaving->link);
        free(leaving);
}

static void pages_given(struct pw_compile_work *work) { let_go((struct leaving *)work); }

/* Without memory to remember it others take the place as it is. */
void pw_program_unplace(struct pw_daemon *daemon, struct pw_program_row *row)
{
        struct leaving now = { .daemon = daemon, .payer = row->payer, .kept_bytes = row->kept_bytes,
                               .placed_bytes = row->placed_bytes };
        struct leaving *leaving = daemon->work.compiler ? malloc(sizeof *leaving) : NULL;

        now.range = pw_boards_image_detach(daemon->boards, row);
        row->payer = NULL;
        row->kept_bytes = row->placed_bytes = 0;
        if (!leaving) {
                give_place(&now);
                return;
        }
        *leaving = now;
        pw_list_init(&leaving->link);
        pw_list_append(&daemon->work.leaving, &leaving->link);
        leaving->work = (struct pw_compile_work){ .lane = pw_compiler_lane(daemon->work.compiler), .work = give_pages,
                                                  .done = pages_given };
        pw_list_init(&leaving->work.link);
        pw_compiler_ask(daemon->work.compiler, &leaving->work);
}

void pw_program_ended(struct pw_daemon *daemon, struct pw_program_row *row)
{
        if (row->placed_bytes || row->payer)
                pw_program_unplace(daemon, row);
}

void pw_program_detach(const struct pw_daemon *daemon, const struct pw_program_row *row)
{
        struct pw_image_place range = row->place;
        uint64_t begin = (uint64_t)range.line * PW_LINE_BYTES;
        uint64_t from = pw_round_up(begin, PAGE_BYTES), end = (begin + range.bytes) & ~(uint64_t)(PAGE_BYTES - 1);

        if (from < end)
                (void)madvise((char *)daemon->children.islands[range.island].board + from, end - from, MADV_DONTNEED);
}

void pw_program_places_done(struct pw_daemon *daemon)
{
        while (!pw_list_empty(&daemon->work.leaving))
                let_go(pw_list_first(&daemon->work.leaving, struct leaving, link));
}

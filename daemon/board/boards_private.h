/* The boards' own records: what lies in the arenas of islands, for whom. Private to daemon/board/. */
#ifndef PW_DAEMON_BOARD_BOARDS_PRIVATE_H
#define PW_DAEMON_BOARD_BOARDS_PRIVATE_H

#include "base/range.h"
#include "base/table.h"
#include "daemon/board/boards.h"

struct pw_boards_island {
        struct pw_island_board *board; /* NULL: none */
        struct pw_range *arena;
        struct pw_table images; /* line -> serial number: images that lie in the arena now */
};

struct pw_boards_record { uint32_t island, line, bytes; }; /* bytes 0: none */

/* A run's records, by column of its program. They stay for the next run of the program at its slot. */
struct pw_boards_run {
        struct pw_boards_run *next;
        uint64_t run;
        uint32_t slot, column_count;
        struct pw_boards_record records[];
};
struct pw_boards_program { struct pw_boards_run *runs; };

struct pw_boards {
        uint32_t host;
        struct pw_boards_island islands[PW_ISLANDS_MAX];
        struct {
                struct pw_device_board *board;
                uint32_t island, report_head;
                uint64_t done, done_seq; /* as polled: the count, and the seq that it means */
                uint64_t seen_seq;       /* as published, seen last: it never goes back */
                uint64_t rung_done;      /* as `done` at rung_us */
                uint64_t odd_us;         /* since when the board says what may be so for a moment only; 0: it does not */
        } devices[PW_DEVICES_MAX];
        uint32_t device_end;          /* one more than the highest number */
        uint64_t wrong;               /* devices whose boards say what cannot be */
        struct pw_bells *bells;
        uint64_t rung_us;             /* when who had gangs to do was rung last, though there was nothing to tell */
        struct pw_table programs;     /* number -> struct pw_boards_program: those with records */
        struct pw_boards_run **runs;  /* by slot */
        uint32_t run_capacity;
        uint32_t image_serial;
};

static inline void *pw_boards_at(const struct pw_boards *boards, uint32_t island, uint32_t line)
{
        return (char *)boards->islands[island].board + (uint64_t)line * PW_LINE_BYTES;
}

/* Errors: PW_NO_SPACE (arena), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_boards_prepare(struct pw_boards *boards, const struct pw_message *message,
                                               const struct pw_message_pools *pools, struct pw_error *ret_err);
/* NULL: none, or another's by now */
struct pw_boards_run *pw_boards_run(const struct pw_boards *boards, uint64_t run, uint32_t slot);
static inline struct pw_run_record *pw_boards_record(const struct pw_boards *boards, const struct pw_boards_run *run,
                                                     uint32_t column)
{
        return pw_boards_at(boards, run->records[column].island, run->records[column].line);
}
void pw_boards_forget(struct pw_boards *boards, uint32_t program); /* the records of its runs */

#endif

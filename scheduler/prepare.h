/* Writing what executors need of a program and of a run into the arena of an island's board. Private to host*.c, prepare.c.
 */
#ifndef PW_SCHEDULER_PREPARE_H
#define PW_SCHEDULER_PREPARE_H

#include "base/range.h"
#include "base/table.h"
#include "scheduler/host.h"
#include "scheduler/live.h"

struct pw_host_island {
        struct pw_island_board *board; /* NULL: none */
        struct pw_range *arena;
        struct pw_table images; /* line -> struct pw_host_program: images that lie in the arena now */
};

struct pw_host_record { uint32_t line, bytes; }; /* bytes 0: none */

/* The image and the slice records of a program, in the board of one of its islands; and the records of its runs. */
struct pw_host_program {
        struct { uint32_t island, line, serial, bytes, slices; } image; /* bytes 0: none; slices: line of the first slice record */
        struct pw_host_run *runs; /* all that were made for it */
        struct pw_list link;
};

/* A run's records, by column. They stay for the next run that is kept in the same struct pw_run. */
struct pw_host_run {
        struct pw_host_run *next;
        uint32_t column_count;
        struct pw_host_record records[];
};

struct pw_host {
        struct pw_host_island islands[PW_ISLANDS_MAX];
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
        struct pw_list programs;      /* struct pw_host_program */
        uint32_t image_serial;
};

static inline void *pw_host_at(const struct pw_host *host, uint32_t island, uint32_t line)
{
        return (char *)host->islands[island].board + (uint64_t)line * PW_LINE_BYTES;
}

/* Write the record of `run` for `island`, and the image if no run was here before. Errors: PW_NO_SPACE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_prepare_run(struct pw_host *host, struct pw_run *run, uint32_t island, struct pw_error *ret_err);
/* The load of an input is about to be ordered: what is known of it now is final. */
void pw_prepare_load(struct pw_host *host, struct pw_run *run, uint32_t column, uint32_t input);
/* A node is about to be ordered that comes behind nodes of the runs ahead, which are: their numbers are final. */
void pw_prepare_behind(struct pw_host *host, struct pw_run *run, uint32_t column, const struct pw_image_node *node);
struct pw_run_record *pw_prepare_record(const struct pw_host *host, const struct pw_run *run, uint32_t column);
void pw_prepare_forget(struct pw_host *host, struct pw_program_row *program);
void pw_prepare_free(struct pw_host_program *program); /* its memory, not its rooms in boards */

#endif

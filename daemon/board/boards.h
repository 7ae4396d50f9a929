/* The boards that executors and the daemon share: what the scheduler's messages say is written there, what executors published is
 * read.
 *
 * It works on maps that it was handed; no descriptor, clock or thread. Each host of a cluster has one, wherever a run is decided.
 */
#ifndef PW_DAEMON_BOARD_BOARDS_H
#define PW_DAEMON_BOARD_BOARDS_H

#include "plane/board/board.h"
#include "scheduler/message.h"
#include "scheduler/run.h"

struct pw_boards;

struct pw_boards *pw_boards_new(uint32_t host); /* whose they are. NULL: out of memory */
void pw_boards_free(struct pw_boards *boards);
PW_MUST_CHECK enum pw_status pw_boards_island(struct pw_boards *boards, uint32_t island, struct pw_island_board *board,
                                            uint64_t board_bytes, struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_boards_device(struct pw_boards *boards, uint32_t device, uint32_t island,
                                              struct pw_device_board *board,
                                            struct pw_error *ret_err);
void pw_boards_bells(struct pw_boards *boards, struct pw_bells *bells);

/* Do what a message says; `pools` came with it. The room of a run's record stays for the next run at its slot, until PROGRAM_ENDED.
 * What is said of a run that has no record, or no longer, does nothing: an order of it has no members.
 * Errors: PW_NO_SPACE (arena), PW_NO_MEMORY, PW_INVALID: only of PREPARE, nothing of the run is then to be ordered. */
PW_MUST_CHECK enum pw_status pw_boards_apply(struct pw_boards *boards, const struct pw_message *message,
                                             const struct pw_message_pools *pools, struct pw_error *ret_err);
/* The image and slice records of a program that is made (pw_program_make()), put where the executors of all of its islands read
 * them, before anything of it is prepared: one copy, and no other. Reserve first: row->place; *ret_bytes: what that takes.
 * Errors: PW_NO_SPACE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_boards_image_reserve(struct pw_boards *boards, struct pw_program_row *row, uint64_t *ret_bytes,
                                                     struct pw_error *ret_err);
/* Then write.   Threads: any, nobody else reads that place. */
void pw_boards_image_fill(const struct pw_boards *boards, const struct pw_program_row *row);
/* Then row->image is the copy there. Own: what it was is the caller's. */
struct pw_image *pw_boards_image_settle(const struct pw_boards *boards, struct pw_program_row *row);
/* Nobody looks there any more. The place is given back by the caller, when its pages are. */
struct pw_image_place pw_boards_image_detach(struct pw_boards *boards, struct pw_program_row *row);
void pw_boards_image_give(struct pw_boards *boards, const struct pw_image_place *place);
/* Feeds reports, then progress, of each device into the scheduler. Did anything come that somebody waited for? Gangs that end
 * within the window of their device are no news. Cheap when nothing came. */
struct pw_scheduler;
bool pw_boards_poll(struct pw_boards *boards, struct pw_scheduler *scheduler, uint64_t now_us);
/* Devices, a bit each, whose boards say what cannot be: counts or seqs beyond what they were given, or that went back, or that do
 * not belong together and stay so for a second; another head of the reports than the daemon's. Nothing of that is taken; their
 * processes are to be ended. While runs are in flight the boards are to be polled once in a second at least: nobody rings for what
 * is wrong. */
uint64_t pw_boards_wrong(const struct pw_boards *boards);
/* The process of a device is dead, and what it published was polled for the last time. Its board says from now on what was taken of
 * that and nothing else: a gang that it counted is done, one that it left half published is not, and nonsense is forgotten. */
void pw_boards_settle(struct pw_boards *boards, const struct pw_scheduler *scheduler, uint32_t device);
/* Before the daemon sleeps: write ring_at and asleep of every island, then look again. True: something came, do not sleep. */
bool pw_boards_sleep(struct pw_boards *boards, struct pw_scheduler *scheduler, uint64_t now_us);
void pw_boards_awake(struct pw_boards *boards);

/* The image that begins in this line of the island's board and has this serial number, as run records name it; NULL: it is gone. */
const struct pw_image *pw_boards_image(const struct pw_boards *boards, uint32_t island, uint32_t line, uint32_t serial);
/* The gangs that a device ran or will run, oldest first, from its history and the log: for listings. */
struct pw_gang_row {
        uint64_t seq, run, start_ns, end_ns;
        uint64_t members; /* of one that is not done */
        uint32_t device, node, status;
        bool done, running;
        uint64_t peak_bytes;
};
/* The first that it has not done, if it is ordered. */
bool pw_boards_next_gang(struct pw_boards *boards, uint32_t device, struct pw_gang_row *ret_row);
void pw_boards_each_gang(struct pw_boards *boards, uint32_t device, void (*row)(void *context, const struct pw_gang_row *row),
                       void *context);
/* In parts: the next of those that there were when the walk began, behind the gang `seq`, so many looks at most; to what returns
 * false. True: there are more. */
struct pw_gang_walk {
        uint32_t device;
        uint64_t seq;            /* the last one seen */
        uint64_t past, past_end; /* of its history */
        uint64_t head;           /* of the order */
};
void pw_boards_gangs_begin(const struct pw_boards *boards, uint32_t device, uint64_t seq, struct pw_gang_walk *ret_walk);
bool pw_boards_gangs(struct pw_boards *boards, struct pw_gang_walk *walk, uint32_t most,
                   bool (*row)(void *context, const struct pw_gang_row *row), void *context);

#endif

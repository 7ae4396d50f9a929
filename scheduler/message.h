/* What the scheduler says: to the boards of a host, and its cores to each other. Values, with no pointer into anybody's heap.
 *
 * What has no fixed size lies in the pools that come with a board's messages (struct pw_message_pools), at an offset. To boards a
 * run is known by its number; its slot is where they keep what they have of it, and is used again once the run has ended.
 */
#ifndef PW_SCHEDULER_MESSAGE_H
#define PW_SCHEDULER_MESSAGE_H

#include "base/error.h"
#include "base/memory.h"
#include "plane/board.h"

/* Of the record of a slice beside the image, whole lines. */
static inline uint64_t pw_slice_record_bytes(uint32_t device_count)
{
        const struct pw_slice_record *record;

        return pw_round_up(sizeof *record + device_count * sizeof record->places[0], PW_LINE_BYTES);
}

struct pw_run_ref { uint64_t run; uint32_t slot, program; };

/* Where the image of a program lies with its slice records: in the board of an island, in lines. bytes 0: nowhere yet. */
struct pw_image_place { uint32_t island, line, serial, bytes, slices; /* slices: line of the first slice record */ };

enum pw_message_kind {
        /* the record of `run` for `island`, column `column` of its program: struct pw_run_record as executors read it, `bytes`
         * bytes in the pool. One per run, island and host; to be answered: pw_scheduler_prepared() */
        PW_MSG_PREPARE = 1,
        /* append `order_count` orders, from `seq` on, to the log of `island` and ring `members`; one per turn, island and host */
        PW_MSG_ORDER,
        PW_MSG_LOST_BEFORE, /* what `device` wrote before `seq` is lost */
        /* the dead member `device` of gang `seq` of its island: write its mark in error, so that peers go on, and `failed`; done
         * follows from the next process, which first writes the heads of what it should have written. It failed in `node` */
        PW_MSG_FAIL_GANG,
        PW_MSG_BELL,        /* ring the executors in `members` */
        PW_MSG_CANCEL,      /* tell the records of `run`: nodes from `node` on are skipped where they are ordered at all */
        /* before a gang of `run` is ordered: its input `node` never comes, and is loaded as an error of `status` */
        PW_MSG_INPUT,
        /* nothing of run.program will be prepared or ordered again: its image, at `image`, and the records of its runs go */
        PW_MSG_PROGRAM_ENDED,
};

struct pw_message {
        enum pw_message_kind kind;
        enum pw_status status;
        uint32_t island, column, host, device, node; /* host: of the device that failed */
        uint32_t first_order, order_count; /* in the pool of orders */
        uint32_t bytes;                    /* in the pool of bytes, from `at` on */
        uint64_t at, seq, members;
        struct pw_run_ref run;
        struct pw_image_place image;
};

/* A gang in its place. What a load reads of other runs' results is final now: struct pw_run_shard, so are the numbers of the runs
 * that it comes behind: struct pw_behind; one list after the other in the pool of bytes, from `at` on. */
struct pw_order_item {
        uint64_t run, members, at;
        uint32_t slot, node;
        uint32_t seq_slot;                 /* of the node: others wait for its number; PW_NO_SEQ: nobody does */
        uint32_t input, shard_count, behind_count;
};
struct pw_behind { uint64_t run; uint32_t slot, seq_slot; };

/* --- between the cores ------------------------------------------------------------------------------------------------------ */

/* A run, whoever speaks of it: of this coordinator, a host, in this epoch of its. Never used again. */
struct pw_run_id { uint32_t coordinator, epoch; uint64_t number; };

/* What comes twice, too early, or of a run that has ended changes nothing: pw_scheduler_deliver(). */
enum pw_core_kind {
        PW_CORE_PREPARE = 1, /* to `island`: write the record of the run there; to be answered by */
        /* from `island`: it is written, or with another status why it is not, in a sentence that comes along */
        PW_CORE_PREPARED,
        PW_CORE_START,       /* to `island`: all of the run's records are written, gangs of it may be ordered */
        PW_CORE_NOTICE,      /* to `island`: gangs of the run up to `node` are ordered in `from` */
        /* To its host: what is ordered is skipped where it has not begun. `node` 1: nothing more is ordered, as nobody reads its
         * results; 0: it goes on, and who reads them finds errors there. A run that waits for rooms is over. */
        PW_CORE_CANCEL,
        PW_CORE_STOP,        /* to its host: nothing more is ordered, whoever reads its results; what is ordered goes on */
        /* to its host: the maker of input `node` orders nothing more; what is not ordered by now is loaded as an error of
         * `status` */
        PW_CORE_INPUT,
        /* to its host, the `node`th time, from 1 on: members that are in a function of it are ended with their processes; a
         * sentence says why */
        PW_CORE_EXPIRED,
        PW_CORE_RESERVED,    /* from its host: all its rooms are there */
        PW_CORE_DONE,        /* from its host: it is over there; `node` gangs were to be ordered, `from` of them were */
        PW_CORE_FAILED,      /* from its host: `node` failed on `device`, in a sentence that comes along */
};
#define PW_CORE_KINDS PW_CORE_FAILED

struct pw_core_message {
        enum pw_core_kind kind;
        enum pw_status status;
        uint32_t island, from, node;
        struct pw_device_id device;
        struct pw_run_id run;
};

#define PW_CORE_TEXT_MAX 499u /* bytes of a sentence, as long as a struct pw_error has */
#define PW_CORE_BYTES_MAX (40u + PW_CORE_TEXT_MAX)
/* As bytes, which mean the same on every host; returns how many. `text` comes along, cut where it is too long; may be NULL. */
size_t pw_core_encode(const struct pw_core_message *message, const char *text, uint8_t ret_bytes[PW_CORE_BYTES_MAX]);
/* *ret_text has the sentence that came along. Errors: PW_PROTOCOL: another version, kind, status or length; nothing of it is to be
 * believed. */
PW_MUST_CHECK enum pw_status pw_core_decode(const uint8_t *bytes, size_t length, struct pw_core_message *ret_message,
                                            struct pw_error *ret_text, struct pw_error *ret_err);

struct pw_message_pools { const struct pw_order_item *orders; const uint8_t *bytes; };

#endif

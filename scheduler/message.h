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
         * bytes in the pool */
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
static inline bool pw_same_run(const struct pw_run_id *a, const struct pw_run_id *b)
{
        return a->number == b->number && a->coordinator == b->coordinator && a->epoch == b->epoch;
}

/* What comes twice, too early, or of a run that has ended changes nothing: pw_scheduler_deliver(). */
enum pw_core_kind {
        /* to its host: a run of program `node` is to come, with such inputs; unless it can never fit there, nothing is answered */
        PW_CORE_EXPECT = 1,
        /* to its host, the `serial`th that this coordinator asks for: all its rooms there or none; `from`: enum pw_core_reserve.
         * `arrival`: its number in the host's queue, as that said before; 0: it has none yet */
        PW_CORE_RESERVE,
        /* from its host: where result `node` is going to be there; its rooms come along, in the order of its places */
        PW_CORE_PLACED,
        /* from its host: all its rooms there are there. Slots come along: of the runs whose blocks it took over, and which were not
         * prepared there by then */
        PW_CORE_RESERVED,
        PW_CORE_DEFERRED,    /* from its host: it waits for room there that no run will give back */
        /* from its host: it has nothing of the run, for `status`, in a sentence that comes along. `node`: enum pw_core_refusal */
        PW_CORE_REFUSED,
        /* to its host: what it has of the run goes, a place in its queue or rooms, and with these the runs that took over their
         * blocks, which are refused. Before a PREPARE */
        PW_CORE_GIVE_BACK,
        PW_CORE_OVERDUE,     /* to its host: if it waits for rooms it does so no longer, and is refused */
        PW_CORE_PREPARE,     /* to its host: write the record of the run in each island; to be answered by */
        /* from its host: they are written, or with another status why one is not, in a sentence that comes along */
        PW_CORE_PREPARED,
        PW_CORE_START,       /* to its host: all of the run's records are written, gangs of it may be ordered */
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
        PW_CORE_FAILED,      /* from its host: `node` failed on `device`, in a sentence that comes along */
        /* from its host: result `from` is going to be an error of `status`, as `node` failed on `device`. A sentence comes along
         * where the device was lost */
        PW_CORE_SPOILED,
        PW_CORE_RESULT,      /* from its host: nobody writes result `node` any more: it is what it is */
        /* From its host: result `node`, which was there, lies on `device` no more. PW_OK: in place `from`, and others hold the
         * same; else it is lost for `status`, in a sentence that comes along. */
        PW_CORE_LOST,
        PW_CORE_LET_GO,      /* to its host: nobody wants result `node` but runs that read it */
        PW_CORE_RELEASE,     /* to its host: nor does any read it any more: its rooms go once nobody writes them */
        PW_CORE_DONE,        /* from its host: it is over there; `node` gangs were to be ordered, `from` of them were */
};
#define PW_CORE_KINDS PW_CORE_DONE

/* How rooms are reserved: bits. */
enum pw_core_reserve {
        PW_RESERVE_SEQUENTIAL = 1, /* its nodes are ordered one by one */
        PW_RESERVE_AT_ONCE = 2,    /* or refused, where it would wait */
        PW_RESERVE_SHARED = 4,     /* it has rooms on other hosts too */
};
#define PW_RESERVE_BITS 7u
enum pw_core_refusal {
        PW_REFUSED_EXPECTED = 0,   /* it never fits */
        PW_REFUSED_RESERVED,       /* it never fits, or no longer waits */
        PW_REFUSED_NOW,            /* it would wait; or it had rooms, and the run whose blocks it took over gave them back */
        PW_REFUSALS
};

struct pw_core_message {
        enum pw_core_kind kind;
        enum pw_status status;
        uint32_t host;           /* whose part of the run it is about: it is told, or tells */
        uint32_t island, from, node;
        uint32_t slot;           /* where its coordinator finds the run; LOST, LET_GO, RELEASE: the result, which may outlive it */
        struct pw_device_id device;
        struct pw_run_id run;
        uint64_t serial;         /* of the RESERVE; what answers it has the same */
        uint64_t arrival;
};
/* What a host says to a coordinator; all else is for hosts. A bit for each kind. */
#define PW_CORE_ANSWERS                                                                                                 \
        (1u << PW_CORE_PLACED | 1u << PW_CORE_RESERVED | 1u << PW_CORE_DEFERRED | 1u << PW_CORE_REFUSED |               \
         1u << PW_CORE_PREPARED | 1u << PW_CORE_FAILED | 1u << PW_CORE_SPOILED | 1u << PW_CORE_RESULT |                 \
         1u << PW_CORE_LOST | 1u << PW_CORE_DONE)
_Static_assert(PW_CORE_KINDS < 32, "a bit for each kind");
/* The host where it is to be delivered. */
static inline uint32_t pw_core_destination(const struct pw_core_message *message)
{
        return PW_CORE_ANSWERS >> message->kind & 1 ? message->run.coordinator : message->host;
}

/* What a run reads. */
enum pw_core_source { PW_SOURCE_ERROR = 0, PW_SOURCE_HOST, PW_SOURCE_RESULT };
struct pw_core_input {
        enum pw_core_source source;
        enum pw_status status;   /* of PW_SOURCE_ERROR: it is loaded as that */
        bool given;              /* away, to this run alone: it may be updated in place */
        /* PW_SOURCE_HOST: one whole value, in `value` or in a segment of host memory */
        bool is_inline;
        uint8_t value[24];
        uint32_t segment;
        uint64_t offset, bytes;
        /* PW_SOURCE_RESULT */
        struct pw_run_id run;
        uint32_t result, slot;
};

/* On a device of `host`; where it is said by another one, no more than that is known. */
struct pw_room { uint16_t host, device; uint32_t segment; uint64_t offset, bytes; };
static inline struct pw_device_id pw_room_device(const struct pw_room *room)
{
        return (struct pw_device_id){ room->host, room->device };
}

/* What comes along with a message and has no fixed size; who tells keeps it. All zero: nothing. */
struct pw_core_body {
        const char *text;                   /* a sentence; NULL: none */
        const struct pw_core_input *inputs; /* RESERVE, EXPECT: all of the run's */
        const uint32_t *slots;              /* at its coordinator. RESERVE: of its results; RESERVED: of runs */
        const struct pw_room *rooms;        /* PLACED: per place on that host */
        uint32_t input_count, slot_count, room_count;
};

static inline const char *pw_core_text(const struct pw_core_body *body) { return body->text ? body->text : ""; }

#define PW_CORE_TEXT_MAX 499u /* bytes of a sentence, as long as a struct pw_error has */
#define PW_CORE_INPUTS_MAX UINT16_MAX
#define PW_CORE_ROOMS_MAX 4096u
/* As bytes, which mean the same on every host: so many, then they are written. A longer sentence is cut. */
size_t pw_core_bytes(const struct pw_core_body *body);
void pw_core_encode(const struct pw_core_message *message, const struct pw_core_body *body, uint8_t *ret_bytes);
/* Own: *ret_space is freed by the caller; `ret_body` points there. Errors: PW_PROTOCOL: another version, kind, status or length,
 * nothing of it is to be believed; PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_core_decode(const uint8_t *bytes, size_t length, struct pw_core_message *ret_message,
                                            struct pw_core_body *ret_body, void **ret_space, struct pw_error *ret_err);

struct pw_message_pools { const struct pw_order_item *orders; const uint8_t *bytes; };

#endif

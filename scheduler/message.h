/* What the scheduler says: to the boards of a host (struct pw_message), and its two cores, coordinator and host (scheduler.h), to
 * each other (struct pw_core_message). Values, with no pointer into anybody's heap.
 *
 * What has no fixed size lies in the pools that come with a board's messages (struct pw_message_pools), at an offset. Boards know a
 * run by its number (struct pw_host_run's), and keep what they have of it at its slot, which a later run may have. A core message
 * names a run by struct pw_run_id; its slot is another one: where the coordinator keeps the run.
 */
#ifndef PW_SCHEDULER_MESSAGE_H
#define PW_SCHEDULER_MESSAGE_H

#include "base/error.h"
#include "base/memory.h"
#include "plane/board/board.h"

/* Bytes of a slice's record, which lies beside the image: whole lines. */
static inline uint64_t pw_slice_record_bytes(uint32_t device_count)
{
        const struct pw_slice_record *record;

        return pw_round_up(sizeof *record + device_count * sizeof record->places[0], PW_LINE_BYTES);
}

struct pw_run_ref { uint64_t run; uint32_t slot, program; };

/* Where the image of a program and its slice records lie: in the board of `island`, from `line` on (a line is 64 bytes). bytes 0:
 * nowhere yet. */
struct pw_image_place { uint32_t island, line, serial, bytes, slices; /* slices: line of the first slice record */ };

enum pw_message_kind {
        /* the record of `run` for `island`, column `column` of its program: struct pw_run_record as executors read it, `bytes`
         * bytes in the pool */
        PW_MSG_PREPARE = 1,
        /* append `order_count` gangs to the log of `island`, the first as `seq`, and ring `members`; one message per turn of an
         * island */
        PW_MSG_ORDER,
        PW_MSG_LOST_BEFORE, /* what `device` wrote before `seq` is lost */
        /* `device` died in gang `seq` of its island, at `node`: set its mark to an error, so that the gang's other members go on,
         * and `failed` in its board. Its next process writes the heads of the gang's outputs as errors, then it is done */
        PW_MSG_FAIL_GANG,
        PW_MSG_BELL,        /* ring the executors in `members` */
        PW_MSG_CANCEL,      /* write to the records of `run`: nodes from `node` on are skipped if they are ordered at all */
        /* before any gang of `run` is ordered: its input `node` never comes, and is loaded as an error of `status` */
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

/* A gang in its place in the order. Two lists come with it, one after the other in the pool of bytes, from `at` on, both final now:
 * of a load, the shards that it reads (struct pw_run_shard); and the nodes behind which it comes of the runs whose blocks its run
 * took over (struct pw_behind). */
struct pw_order_item {
        uint64_t run, members, at;
        uint32_t slot, node;
        uint32_t seq_slot;                 /* where the gang's seq is written for those who wait for it; PW_NO_SEQ: nobody does */
        uint32_t input, shard_count, behind_count;
};
struct pw_behind { uint64_t run; uint32_t slot, seq_slot; };

/* --- between the cores ------------------------------------------------------------------------------------------------------ */

/* A run, whoever speaks of it. coordinator: the number of its coordinator's host; epoch: of that host. Never used again. */
struct pw_run_id { uint32_t coordinator, epoch; uint64_t number; };
static inline bool pw_same_run(const struct pw_run_id *a, const struct pw_run_id *b)
{
        return a->number == b->number && a->coordinator == b->coordinator && a->epoch == b->epoch;
}

/* `to its host` and `from its host`: between the run's coordinator and one of the hosts on whose devices it runs. A message that
 * comes twice, too early, or for a run that has ended changes nothing: pw_scheduler_deliver(). */
enum pw_core_kind {
        /* to its host: a run of `program` waits for inputs; what is known of them comes along. It is answered only if the run
         * can never fit there, by REFUSED */
        PW_CORE_EXPECT = 1,
        /* to its host: reserve all rooms of a run of `program` there, or none; `how`: bits of enum pw_core_reserve. `serial`
         * grows with each RESERVE of this coordinator. `arrival`: the run's number in the host's queue, as the host said in an
         * earlier answer; 0: it has none yet. Inputs, and slots of results, come along */
        PW_CORE_RESERVE,
        /* from its host: where `result` is going to be there: its rooms there come along, in the order of their places */
        PW_CORE_PLACED,
        /* from its host: all its rooms there are reserved. Slots come along: of the runs whose blocks it took over and that had had
         * no PREPARE there by then */
        PW_CORE_RESERVED,
        PW_CORE_DEFERRED,    /* from its host: it waits for room there that no admitted run will give back */
        /* from its host: it has nothing of the run; why is in `status` and a sentence that comes along. `refusal`: enum
         * pw_core_refusal */
        PW_CORE_REFUSED,
        /* to its host, before PREPARE: what it has of the run goes, its place in the queue or its rooms. Runs that took over blocks
         * in these rooms lose theirs too, and are refused */
        PW_CORE_GIVE_BACK,
        /* to its host, at the run's deadline: if it still waits for rooms it is refused; if it has them, and no PREPARE came,
         * PLACED and RESERVED are said again */
        PW_CORE_OVERDUE,
        PW_CORE_PREPARE,     /* to its host: write the record of the run in each island; PREPARED is the answer */
        /* from its host: the records are written; or one is not, and why is in `status` and a sentence that comes along */
        PW_CORE_PREPARED,
        PW_CORE_START,       /* to its host: all of the run's records are written, gangs of it may be ordered */
        PW_CORE_NOTICE,      /* to `island`: gangs of the run up to `node` are ordered in island `from` of the same host */
        /* to its host: what is ordered and has not begun is skipped. `unread` 1: nothing more is ordered, as no run reads its
         * results; 0: the rest is ordered and skipped too, and runs that read its results find errors there. A run that still
         * waits for rooms is over */
        PW_CORE_CANCEL,
        PW_CORE_STOP,        /* to its host: nothing more is ordered, whoever reads its results; what is ordered goes on */
        /* to its host, before START: the run that makes `input` orders nothing more. If the input is not ordered everywhere by
         * now, it is loaded as an error of `status` */
        PW_CORE_INPUT,
        /* to its host: end the processes of members that are in a function of the run; a sentence that comes along says why. It is
         * the `nth` of these messages of the run, from 1 on */
        PW_CORE_EXPIRED,
        PW_CORE_FAILED,      /* from its host: `node` failed on `device`, in a sentence that comes along */
        /* from its host: `result` is going to be an error of `status`, as `node` failed on `device`; or, `node` PW_NODE_NONE,
         * as the device was lost: then a sentence comes along */
        PW_CORE_SPOILED,
        PW_CORE_RESULT,      /* from its host: all members there of the writer of `result` are done: nobody writes it now */
        /* from its host: `result`, which was there, is on `device` no more. `status` PW_OK: only its `place` is
         * lost, and others hold the same; else the result is lost: its error is `status`, with a sentence that comes along */
        PW_CORE_LOST,
        PW_CORE_LET_GO,      /* to its host: only runs that read `result` still want it */
        PW_CORE_RELEASE,     /* to its host: nor do runs any more: the rooms of `result` go once nobody writes them */
        PW_CORE_DONE,        /* from its host: the run is over there; of its `gangs` so many were `ordered`, or passed over */
};
#define PW_CORE_KINDS PW_CORE_DONE

/* How rooms are reserved: bits. */
enum pw_core_reserve {
        PW_RESERVE_SEQUENTIAL = 1, /* its nodes are ordered one by one */
        PW_RESERVE_AT_ONCE = 2,    /* it is refused (PW_REFUSED_NOW) if it would have to wait for rooms */
        PW_RESERVE_SHARED = 4,     /* it has rooms on other hosts too */
};
#define PW_RESERVE_BITS 7u
enum pw_core_refusal {
        PW_REFUSED_EXPECTED = 0,   /* answers EXPECT: it never fits */
        PW_REFUSED_RESERVED,       /* for good: it never fits, may wait no longer, or the RESERVE was wrong */
        PW_REFUSED_NOW,            /* it would wait; or it had rooms, and the run whose blocks it took over gave them back */
        PW_REFUSALS
};

struct pw_core_message {
        enum pw_core_kind kind;
        enum pw_status status;
        uint32_t host;           /* the one of the run's hosts that is told, or tells */
        uint32_t island;         /* START, NOTICE: for this one */
        /* What it is about, and what is said of that: each kind has one or none of either. */
        union { uint32_t about, program, result, input, from, refusal, unread, nth, gangs; };
        union { uint32_t detail, node, place, how, ordered; };
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
static inline bool pw_core_is_answer(const struct pw_core_message *message) { return PW_CORE_ANSWERS >> message->kind & 1; }
/* The host where it is to be delivered. */
static inline uint32_t pw_core_destination(const struct pw_core_message *message)
{
        return pw_core_is_answer(message) ? message->run.coordinator : message->host;
}
/* Who said it, as the link knows that it came by, whatever the message says: a host's own number for what its own queue had. */
struct pw_arrival { uint32_t from; uint64_t now_us; };

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

/* On a device of `host`. Who is not of that host knows no more of it than what is written here. */
struct pw_room { uint16_t host, device; uint32_t segment; uint64_t offset, bytes; };
static inline struct pw_device_id pw_room_device(const struct pw_room *room)
{
        return (struct pw_device_id){ room->host, room->device };
}

/* A status that a message may have, of its own or of an input: an error becomes that of a value, which can only be an error that
 * values are ready with. */
static inline bool pw_core_status(uint32_t number) { return number == PW_OK || pw_status_of_value(number); }

/* What comes along with a message and has no fixed size; borrowed for the call from who sends it. All zero: nothing. */
struct pw_core_body {
        const char *text;                   /* a sentence; NULL: none */
        const struct pw_core_input *inputs; /* RESERVE, EXPECT: all of the run's */
        const uint32_t *slots;              /* where the coordinator has them. RESERVE: results of the run; RESERVED: other runs */
        const struct pw_room *rooms;        /* PLACED: one per place on that host */
        uint32_t input_count, slot_count, room_count;
};

static inline const char *pw_core_text(const struct pw_core_body *body) { return body->text ? body->text : ""; }

#define PW_CORE_TEXT_MAX 499u /* bytes of a sentence, as long as a struct pw_error has */
#define PW_CORE_INPUTS_MAX UINT16_MAX
#define PW_CORE_ROOMS_MAX 4096u
/* A message as bytes, which mean the same on every host: how many they are, and writing them. A longer sentence is cut. */
size_t pw_core_bytes(const struct pw_core_body *body);
void pw_core_encode(const struct pw_core_message *message, const struct pw_core_body *body, uint8_t *ret_bytes);
/* Own: *ret_space is freed by the caller; `ret_body` points there. Errors: PW_PROTOCOL: another version, kind, status or length,
 * nothing of it is to be believed; PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_core_decode(const uint8_t *bytes, size_t length, struct pw_core_message *ret_message,
                                            struct pw_core_body *ret_body, void **ret_space, struct pw_error *ret_err);

struct pw_message_pools { const struct pw_order_item *orders; const uint8_t *bytes; };

#endif

/* The submission ring of a lane: one client thread writes, the daemon reads.
 *
 * Cells of 16 bytes; `tail` and `head` count cells and wrap at 2^32. A record is one or more consecutive cells, visible as
 * a whole when tail passes its last. The daemon copies a cell once before it looks at it, and treats every field as hostile.
 *
 *   DROP  1 cell   give one reference of the session to {segment, slot, generation} back
 *   REF   1 cell   take one. The published record is the pin: the daemon, having swapped an entry to CLOSING, reads the
 *                  rings of everybody who may refer to it up to the tails it then sees before it frees: of the
 *                  session that was granted the slot, and of those that asked for the segment's descriptor, as one
 *                  does before it names an object there. So the client publishes REF, then looks at the entry.
 *                  READY, ERROR, LOST or PENDING of the generation: the reference is taken. CLOSING: the word will
 *                  leave CLOSING: reopened (taken) or of another generation (gone). Else: gone.
 *   RUN   2 + inputs + results cells: header, options, then per input and per result one cell {segment, slot, generation}.
 *
 * Records of a lane are read in order. A DROP may be late, never early.
 */
#ifndef PW_PLANE_RING_H
#define PW_PLANE_RING_H

#include "base/memory.h"
#include "pathways_types.h"

#include <stdatomic.h>

#ifndef PW_RING_CELLS
#define PW_RING_CELLS 8192u /* a power of two; a few in tests/model */
#endif

enum pw_ring_op { PW_RING_DROP = 1, PW_RING_REF = 2, PW_RING_RUN = 3 };

enum pw_ring_run_flag { PW_RUN_SEQUENTIAL = 1 };
enum pw_ring_input_flag { PW_RUN_INPUT_DONATED = 1 }; /* in the top byte of an input's cell */

struct pw_cell { uint64_t a, b; };

/* Object cells: a = op or flags 8 | zero 8 | segment 24 | slot 24; b = generation. */
static inline struct pw_cell pw_cell_object(uint8_t op, uint32_t segment, uint32_t slot, uint32_t generation)
{
        return (struct pw_cell){ (uint64_t)op << 56 | (uint64_t)segment << 24 | slot, generation };
}
/* RUN header: a = op 8 | flags 8 | inputs 16 | results 16 | zero 16, b = program handle; options: a = deadline us, b = priority. */
static inline struct pw_cell pw_cell_run(uint8_t flags, uint16_t inputs, uint16_t results, uint32_t program)
{
        return (struct pw_cell){ (uint64_t)PW_RING_RUN << 56 | (uint64_t)flags << 48 | (uint64_t)inputs << 32 |
                                         (uint64_t)results << 16, program };
}
static inline uint8_t pw_cell_top(struct pw_cell cell) { return (uint8_t)(cell.a >> 56); }
static inline uint32_t pw_cell_segment(struct pw_cell cell) { return (uint32_t)(cell.a >> 24) & 0xffffff; }
static inline uint32_t pw_cell_slot(struct pw_cell cell) { return (uint32_t)cell.a & 0xffffff; }
static inline uint32_t pw_cell_generation(struct pw_cell cell) { return (uint32_t)cell.b; }
static inline uint8_t pw_cell_run_flags(struct pw_cell cell) { return (uint8_t)(cell.a >> 48); }
static inline uint16_t pw_cell_run_inputs(struct pw_cell cell) { return (uint16_t)(cell.a >> 32); }
static inline uint16_t pw_cell_run_results(struct pw_cell cell) { return (uint16_t)(cell.a >> 16); }

/* When the daemon wants the doorbell. A lane that the daemon has not seen yet is HUNGRY.
 * The daemon says how it sleeps; who then rings sets WATCHED, so that one doorbell is enough until the daemon has looked. */
enum pw_ring_watch {
        PW_RING_RESTING = 0, /* at once for work, at half a ring of unread cells for others */
        PW_RING_HUNGRY = 1,  /* at once for everything: somebody queues for room */
        PW_RING_WATCHED = 2, /* not: the daemon looks at the ring, or was called */
};

struct pw_ring {
        _Alignas(64) _Atomic uint32_t tail;   /* client */
        _Alignas(64) _Atomic uint32_t head;   /* daemon: cells before it are read */
        _Alignas(64) _Atomic uint32_t watch;  /* enum pw_ring_watch: both; the doorbell is wanted or not */
        _Alignas(64) struct pw_cell cells[PW_RING_CELLS];
};

/* --- client's side; `tail` and `head_seen` are the writer's own copies ------------------------------------------- */
struct pw_ring_writer {
        struct pw_ring *ring;
        uint32_t tail, head_seen;
};
/* Room for `cells` more? Looks at head only when its copy says no. */
static inline bool pw_ring_has_room(struct pw_ring_writer *writer, uint32_t cells)
{
        if (PW_RING_CELLS - (writer->tail - writer->head_seen) >= cells)
                return true;
        writer->head_seen = atomic_load_explicit(&writer->ring->head, memory_order_acquire);
        return PW_RING_CELLS - (writer->tail - writer->head_seen) >= cells;
}
/* Write the next cell; not visible before pw_ring_publish(). The caller knows that there is room. */
static inline void pw_ring_write(struct pw_ring_writer *writer, struct pw_cell cell)
{
        writer->ring->cells[writer->tail++ & (PW_RING_CELLS - 1)] = cell;
}
/* Whether the daemon, which watches as `watch` says, is to be called; if so, note that it was. */
bool pw_ring_call(struct pw_ring_writer *writer, uint32_t watch, bool at_once);
/* Make the cells written so far visible. True: ring the doorbell now. `at_once`: this is work, not only DROP or REF; also who
 * saw CLOSING after a REF publishes once more, at once. */
static inline bool pw_ring_publish(struct pw_ring_writer *writer, bool at_once)
{
        uint32_t watch;

        atomic_store(&writer->ring->tail, writer->tail);
        watch = atomic_load(&writer->ring->watch);
        return watch != PW_RING_WATCHED && pw_ring_call(writer, watch, at_once);
}

/* --- daemon's side; `head` is its own copy, never read back from the ring ---------------------------------------- */
struct pw_ring_reader {
        struct pw_ring *ring;
        uint32_t head;
};
/* Cells that are there, at most PW_RING_CELLS. False: tail is impossible, the session broke the protocol. */
bool pw_ring_available(const struct pw_ring_reader *reader, uint32_t *ret_cells);
static inline struct pw_cell pw_ring_peek(const struct pw_ring_reader *reader, uint32_t index)
{
        const volatile struct pw_cell *cell = &reader->ring->cells[(reader->head + index) & (PW_RING_CELLS - 1)];
        return (struct pw_cell){ cell->a, cell->b };
}
/* `cells` cells are read: their place may be written again. */
static inline void pw_ring_consume(struct pw_ring_reader *reader, uint32_t cells)
{
        reader->head += cells;
        atomic_store_explicit(&reader->ring->head, reader->head, memory_order_release);
}
/* Say that a doorbell is wanted, and how soon (`hungry`: somebody queues for room, so also for a DROP); false if cells came
 * meanwhile: read them, do not sleep. */
bool pw_ring_sleep(struct pw_ring_reader *reader, bool hungry);
static inline void pw_ring_wake(struct pw_ring_reader *reader)
{
        atomic_store_explicit(&reader->ring->watch, PW_RING_WATCHED, memory_order_relaxed);
}

/* --- return ring of an extent: the daemon gives slots back, one client thread takes them ------------------------- */
/* All slots of a fresh extent are the client's, in order; only what was used and is free again comes through the ring. */
/* Capacity = slots of the extent rounded up to a power of two, so it cannot overflow: a slot is in it at most once. */
struct pw_return_ring {
        _Alignas(64) _Atomic uint32_t tail; /* daemon */
        uint32_t mask;                      /* capacity - 1; the client keeps its own copy from the grant */
        _Atomic uint32_t slots[];           /* first in, first out */
};
static inline uint64_t pw_return_ring_bytes(uint32_t slot_count)
{
        uint32_t capacity = 1;
        while (capacity < slot_count)
                capacity <<= 1;
        return pw_round_up(sizeof(struct pw_return_ring) + (uint64_t)capacity * 4, 64);
}

/* Daemon: `tail` and `mask` are its own copies, never read back. */
struct pw_return_writer {
        struct pw_return_ring *ring;
        uint32_t tail, mask;
};
/* An empty ring for `slot_count` slots, in zeroed or used memory. */
struct pw_return_writer pw_return_ring_init(struct pw_return_ring *ring, uint32_t slot_count);
static inline void pw_return_give(struct pw_return_writer *writer, uint32_t slot)
{
        atomic_store_explicit(&writer->ring->slots[writer->tail++ & writer->mask], slot, memory_order_relaxed);
        atomic_store_explicit(&writer->ring->tail, writer->tail, memory_order_release);
}
/* Client: one thread of it takes. */
struct pw_return_reader {
        struct pw_return_ring *ring;
        uint32_t head, tail_seen, mask;
};
/* The slot given back first; false if none is there. Looks at tail only when its copy says so. */
static inline bool pw_return_take(struct pw_return_reader *reader, uint32_t *ret_slot)
{
        if (reader->head == reader->tail_seen) {
                reader->tail_seen = atomic_load_explicit(&reader->ring->tail, memory_order_acquire);
                if (reader->head == reader->tail_seen)
                        return false;
        }
        *ret_slot = atomic_load_explicit(&reader->ring->slots[reader->head++ & reader->mask], memory_order_relaxed);
        return true;
}

#endif

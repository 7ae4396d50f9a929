/* Submission rings: the parts that are rare, and what ends a sleep. */
#include "plane/ring.h"

bool pw_ring_call(struct pw_ring_writer *writer, uint32_t watch, bool at_once)
{
        struct pw_ring *ring = writer->ring;

        if (!at_once && watch != PW_RING_HUNGRY) {
                if (writer->tail - writer->head_seen < PW_RING_CELLS / 2)
                        return false;
                writer->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
                if (writer->tail - writer->head_seen < PW_RING_CELLS / 2)
                        return false;
        }
        return atomic_exchange(&ring->watch, PW_RING_WATCHED) != PW_RING_WATCHED;
}

bool pw_ring_available(const struct pw_ring_reader *reader, uint32_t *ret_cells)
{
        uint32_t cells = atomic_load(&reader->ring->tail) - reader->head;

        if (cells > PW_RING_CELLS)
                return false;
        *ret_cells = cells;
        return true;
}

bool pw_ring_sleep(struct pw_ring_reader *reader, bool hungry)
{
        atomic_store(&reader->ring->watch, hungry ? PW_RING_HUNGRY : PW_RING_RESTING);
        if (atomic_load(&reader->ring->tail) == reader->head)
                return true;
        pw_ring_wake(reader);
        return false;
}

struct pw_return_writer pw_return_ring_init(struct pw_return_ring *ring, uint32_t slot_count)
{
        uint32_t capacity = 1;

        while (capacity < slot_count)
                capacity <<= 1;
        ring->mask = capacity - 1;
        atomic_store(&ring->tail, 0);
        return (struct pw_return_writer){ .ring = ring, .mask = capacity - 1 };
}

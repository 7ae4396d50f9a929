/* Two producers and a reclaimer, as threads over one mapped segment, at full speed: what is put is opened by id by the other
 * producer, read, and given back; the reclaimer counts references, closes, looks, frees, and returns the slots. Made for the
 * thread sanitizer: every byte of a value is plain memory, ordered by entries and rings alone. */
#include "base/memory.h"
#include "plane/control.h"
#include "plane/hint.h"
#include "plane/segment.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include <cmocka.h>

#define PRODUCERS 2u
#define SLOTS 16u /* of each producer: few, so that they come round often */
#define PUTS 20000u

struct producer {
        struct stress *stress;
        uint32_t number, fresh, opened, gone;
        struct pw_ring_writer writer;
        struct pw_return_reader returned;
        struct pw_return_writer returns;    /* the reclaimer's */
        struct pw_ring_reader reader;       /* likewise */
        uint64_t kept;                      /* slot and generation of what it holds still; 0: nothing */
        _Atomic uint64_t offer;             /* slot and generation of what it put last, for the other one */
        pthread_t thread;
};

struct stress {
        struct pw_map map;
        struct pw_control *control;
        struct pw_hint_page *hints;
        _Atomic uint32_t life;
        int doorbell;
        struct producer producers[PRODUCERS];
        _Atomic uint32_t running;
        struct { uint32_t generation, refs; bool known, closing; } objects[PRODUCERS * SLOTS]; /* the reclaimer's own */
        uint32_t freed, reopened;
};

static struct pw_entry *entry_of(const struct stress *stress, uint32_t slot) { return pw_map_entry(&stress->map, slot); }

/* --- producers --------------------------------------------------------------------------------------------------------------- */

static void ring(const struct stress *stress)
{
        assert_int_equal(write(stress->doorbell, &(uint64_t){ 1 }, 8), 8);
}

static void publish(struct producer *producer, uint8_t op, uint32_t slot, uint32_t generation, bool at_once)
{
        while (!pw_ring_has_room(&producer->writer, 1))
                if (pw_ring_publish(&producer->writer, true))
                        ring(producer->stress);
        pw_ring_write(&producer->writer, pw_cell_object(op, 0, slot, generation));
        if (pw_ring_publish(&producer->writer, at_once))
                ring(producer->stress);
}

static bool take_slot(struct producer *producer, uint32_t *ret_slot)
{
        if (producer->fresh < SLOTS) {
                *ret_slot = producer->number * SLOTS + producer->fresh++;
                return true;
        }
        return pw_return_take(&producer->returned, ret_slot);
}

/* What was kept so that the other producer has time to open it. */
static void drop_kept(struct producer *producer)
{
        if (producer->kept)
                publish(producer, PW_RING_DROP, (uint32_t)producer->kept, (uint32_t)(producer->kept >> 32), false);
        producer->kept = 0;
}

static void put(struct producer *producer, uint64_t value)
{
        struct stress *stress = producer->stress;
        uint32_t slot, generation = 0;
        uint64_t old;

        while (!take_slot(producer, &slot))
                if (pw_ring_publish(&producer->writer, true))
                        ring(stress);
        assert_true(pw_entry_take(entry_of(stress, slot), &generation));
        atomic_store(&producer->offer, (uint64_t)generation << 32 | slot);
        entry_of(stress, slot)->bytes = value;
        memcpy(entry_of(stress, slot)->body.value, &value, sizeof value);
        assert_true(pw_entry_decide(entry_of(stress, slot), generation, PW_OK, 0, UINT32_MAX, &old));
        pw_hint_wake(stress->hints, entry_of(stress, slot), 0, slot);
        drop_kept(producer);
        producer->kept = (uint64_t)generation << 32 | slot;
        if (value % 2) /* goes while it is being opened */
                drop_kept(producer);
}

static void read_value(const struct pw_entry *entry)
{
        uint64_t value;

        memcpy(&value, entry->body.value, sizeof value);
        assert_true(value == entry->bytes);
}

/* Wait until the word leaves `closing` ? CLOSING : PENDING. */
static void await(struct producer *producer, uint32_t slot, uint32_t generation, bool closing)
{
        struct stress *stress = producer->stress;
        struct pw_lane *lane = &stress->control->lanes[producer->number];
        struct pw_wait_place place = { stress->hints, lane->notes, &stress->life, 1 };
        struct pw_wait_item item = { entry_of(stress, slot), generation, 0, slot, closing };

        if (closing && pw_ring_publish(&producer->writer, true))
                ring(stress);
        assert_int_equal(pw_wait_any(&place, &item, 1, INT64_MAX), PW_OK);
}

/* What the other one has put last, by its id. */
static void open_other(struct producer *producer, const struct producer *other)
{
        uint64_t offer = atomic_load(&((struct producer *)(uintptr_t)other)->offer);
        uint32_t slot = (uint32_t)offer, generation = (uint32_t)(offer >> 32);
        struct pw_entry *entry = entry_of(producer->stress, slot);
        uint64_t word;

        if (!offer)
                return;
        publish(producer, PW_RING_REF, slot, generation, false);
        while (word = pw_entry_load(entry), pw_word_generation(word) == generation &&
                                            (pw_word_state(word) == PW_ENTRY_CLOSING || pw_word_state(word) == PW_ENTRY_PENDING))
                await(producer, slot, generation, pw_word_state(word) == PW_ENTRY_CLOSING);
        if (pw_word_generation(word) != generation || pw_word_state(word) < PW_ENTRY_READY) {
                producer->gone++;
                return;
        }
        read_value(entry);
        producer->opened++;
        publish(producer, PW_RING_DROP, slot, generation, false);
}

static void *produce(void *context)
{
        struct producer *producer = context;

        for (uint32_t i = 0; i < PUTS; i++) {
                put(producer, (uint64_t)producer->number << 32 | i);
                open_other(producer, &producer->stress->producers[!producer->number]);
        }
        drop_kept(producer);
        if (pw_ring_publish(&producer->writer, true))
                ring(producer->stress);
        atomic_fetch_sub(&producer->stress->running, 1);
        ring(producer->stress);
        return NULL;
}

/* --- the reclaimer ----------------------------------------------------------------------------------------------------------- */

static void reopen(struct stress *stress, uint32_t slot)
{
        uint64_t word = pw_entry_load(entry_of(stress, slot));

        stress->objects[slot].closing = false;
        stress->reopened++;
        assert_true(pw_entry_swap(entry_of(stress, slot), &word, pw_word_with_state(word, PW_ENTRY_READY)));
        pw_hint_wake(stress->hints, entry_of(stress, slot), 0, slot);
}

static void take_record(struct stress *stress, struct pw_cell cell)
{
        uint32_t slot = pw_cell_slot(cell), generation = pw_cell_generation(cell);
        uint64_t word = pw_entry_load(entry_of(stress, slot));

        if (pw_word_generation(word) != generation || pw_word_state(word) < PW_ENTRY_PENDING)
                return; /* a REF that came too late: its sender reads so in the entry */
        if (!stress->objects[slot].known) {
                stress->objects[slot].known = true;
                stress->objects[slot].refs = 1; /* its producer's */
                stress->objects[slot].generation = generation;
        }
        if (pw_cell_top(cell) == PW_RING_DROP) {
                stress->objects[slot].refs--;
                return;
        }
        stress->objects[slot].refs++;
        if (stress->objects[slot].closing)
                reopen(stress, slot);
}

static uint32_t read_rings(struct stress *stress)
{
        uint32_t cells, records = 0;

        for (uint32_t i = 0; i < PRODUCERS; i++) {
                struct pw_ring_reader *reader = &stress->producers[i].reader;

                for (assert_true(pw_ring_available(reader, &cells)); cells; cells--, records++) {
                        take_record(stress, pw_ring_peek(reader, 0));
                        pw_ring_consume(reader, 1);
                }
        }
        return records;
}

static void free_one(struct stress *stress, uint32_t slot)
{
        uint64_t word = pw_entry_load(entry_of(stress, slot));

        stress->objects[slot].known = stress->objects[slot].closing = false;
        assert_true(pw_entry_swap(entry_of(stress, slot), &word, pw_word_with_state(word, PW_ENTRY_FREE)));
        pw_hint_wake(stress->hints, entry_of(stress, slot), 0, slot);
        pw_return_give(&stress->producers[slot / SLOTS].returns, slot);
        stress->freed++;
}

static void reclaim(struct stress *stress)
{
        bool any = false;

        for (uint32_t i = 0; i < PRODUCERS * SLOTS; i++) {
                uint64_t word = pw_entry_load(entry_of(stress, i));

                if (!stress->objects[i].known || stress->objects[i].refs)
                        continue;
                assert_true(pw_entry_swap(entry_of(stress, i), &word, pw_word_with_state(word, PW_ENTRY_CLOSING)));
                stress->objects[i].closing = any = true;
        }
        if (any)
                read_rings(stress);
        for (uint32_t i = 0; any && i < PRODUCERS * SLOTS; i++)
                if (stress->objects[i].closing)
                        free_one(stress, i);
}

/* Sleep on the doorbell, unless records came since the last look. */
static void rest(struct stress *stress)
{
        uint64_t rung;

        for (uint32_t i = 0; i < PRODUCERS; i++)
                if (!pw_ring_sleep(&stress->producers[i].reader, false))
                        return;
        if (atomic_load(&stress->running))
                assert_int_equal(read(stress->doorbell, &rung, 8), 8);
        for (uint32_t i = 0; i < PRODUCERS; i++)
                pw_ring_wake(&stress->producers[i].reader);
}

/* --- the test ---------------------------------------------------------------------------------------------------------------- */

static void build(struct stress *stress)
{
        struct pw_segment_layout layout = pw_segment_layout(PW_SEGMENT_CLIENT, PRODUCERS * SLOTS, 0);
        int fd = -1;

        assert_int_equal(pw_memfd_create("stress", layout.bytes, &fd, NULL), PW_OK);
        assert_int_equal(pw_map_fd(fd, layout.bytes, true, &stress->map, NULL), PW_OK);
        pw_close_fd(&fd);
        stress->control = aligned_alloc(64, sizeof *stress->control);
        stress->hints = calloc(1, sizeof *stress->hints);
        stress->doorbell = eventfd(0, EFD_CLOEXEC);
        assert_true(stress->control && stress->hints && stress->doorbell >= 0);
        memset(stress->control, 0, sizeof *stress->control);
        stress->life = 1;
        stress->running = PRODUCERS;
        for (uint32_t i = 0; i < PRODUCERS; i++) {
                struct producer *producer = &stress->producers[i];
                struct pw_return_ring *returned = aligned_alloc(64, pw_return_ring_bytes(SLOTS));

                assert_non_null(returned);
                producer->stress = stress;
                producer->number = i;
                producer->returns = pw_return_ring_init(returned, SLOTS);
                producer->returned = (struct pw_return_reader){ .ring = returned, .mask = SLOTS - 1 };
                producer->writer.ring = producer->reader.ring = &stress->control->lanes[i].ring;
        }
}

static void unbuild(struct stress *stress)
{
        for (uint32_t i = 0; i < PRODUCERS; i++)
                free(stress->producers[i].returns.ring);
        pw_close_fd(&stress->doorbell);
        pw_unmap(&stress->map);
        free(stress->control);
        free(stress->hints);
}

static void every_value_is_read_whole_and_freed_once(void **state)
{
        static struct stress stress;

        (void)state;
        build(&stress);
        for (uint32_t i = 0; i < PRODUCERS; i++)
                assert_int_equal(pthread_create(&stress.producers[i].thread, NULL, produce, &stress.producers[i]), 0);
        while (atomic_load(&stress.running)) {
                uint32_t records = read_rings(&stress);

                reclaim(&stress);
                if (!records)
                        rest(&stress);
        }
        for (uint32_t i = 0; i < PRODUCERS; i++)
                pthread_join(stress.producers[i].thread, NULL);
        read_rings(&stress);
        reclaim(&stress);
        assert_int_equal(stress.freed, PRODUCERS * PUTS);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                assert_int_equal(stress.hints->waiters[i], 0);
        print_message("opened %u, gone %u, reopened %u\n", stress.producers[0].opened + stress.producers[1].opened,
                      stress.producers[0].gone + stress.producers[1].gone, stress.reopened);
        unbuild(&stress);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(every_value_is_read_whole_and_freed_once) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rings: order, wrap-around, hostile tails, doorbells, and the race between a REF and a CLOSING. */
#include "plane/ring.h"

#include "plane/entry.h"
#include "plane/maps_test.h"

static void start_at(struct pw_ring *ring, uint32_t at, struct pw_ring_writer *writer, struct pw_ring_reader *reader)
{
        atomic_store(&ring->tail, at);
        atomic_store(&ring->head, at);
        *writer = (struct pw_ring_writer){ .ring = ring, .tail = at, .head_seen = at };
        *reader = (struct pw_ring_reader){ .ring = ring, .head = at };
}

static void test_cells(void **state)
{
        struct pw_cell object = pw_cell_object(PW_RING_REF, 0xabcdef, 0x123456, 0xfedcba98);
        struct pw_cell run = pw_cell_run(PW_RUN_SEQUENTIAL, 0xfffe, 0x1234, 77);

        (void)state;
        assert_int_equal(pw_cell_top(object), PW_RING_REF);
        assert_int_equal(pw_cell_segment(object), 0xabcdef);
        assert_int_equal(pw_cell_slot(object), 0x123456);
        assert_int_equal(pw_cell_generation(object), 0xfedcba98);
        assert_int_equal(pw_cell_top(run), PW_RING_RUN);
        assert_int_equal(pw_cell_run_flags(run), PW_RUN_SEQUENTIAL);
        assert_int_equal(pw_cell_run_inputs(run), 0xfffe);
        assert_int_equal(pw_cell_run_results(run), 0x1234);
        assert_int_equal(run.b, 77);
}

struct flow {
        struct pw_ring_writer writer;
        uint32_t count;
};

/* Records of 1 to 3 cells, numbered; each is published as a whole. */
static void *write_records(void *data)
{
        struct flow *flow = data;

        for (uint32_t i = 0; i < flow->count; i++) {
                uint32_t cells = 1 + i % 3;
                while (!pw_ring_has_room(&flow->writer, cells))
                        sched_yield();
                for (uint32_t c = 0; c < cells; c++)
                        pw_ring_write(&flow->writer, (struct pw_cell){ i, c });
                pw_ring_publish(&flow->writer, false);
        }
        return NULL;
}

static void test_order_over_the_wrap(void **state)
{
        struct maps maps = maps_new(sizeof(struct pw_ring));
        struct pw_ring_reader reader;
        struct flow flow = { .count = 300000 };
        pthread_t thread;
        uint32_t cells = 0, took = 0;

        (void)state;
        start_at(maps.ours, UINT32_MAX - PW_RING_CELLS, &flow.writer, &reader);
        flow.writer.ring = maps.theirs;
        pw_ring_wake(&reader);
        assert_int_equal(pthread_create(&thread, NULL, write_records, &flow), 0);
        for (uint32_t i = 0; i < flow.count; i++) {
                for (; took == cells; took = 0) {
                        pw_ring_consume(&reader, cells);
                        while (assert_true(pw_ring_available(&reader, &cells)), !cells)
                                sched_yield();
                }
                for (uint32_t c = 0; c < 1 + i % 3; c++) {
                        struct pw_cell cell = pw_ring_peek(&reader, took++);
                        assert_int_equal(cell.a, i);
                        assert_int_equal(cell.b, c);
                }
                assert_in_range(took, 0, cells);
        }
        pthread_join(thread, NULL);
        maps_done(&maps);
}

static void test_hostile_tails(void **state)
{
        struct maps maps = maps_new(sizeof(struct pw_ring));
        struct pw_ring *ring = maps.ours;
        struct pw_ring_reader reader = { .ring = maps.theirs, .head = UINT32_MAX - 10 };
        uint32_t cells = 99;

        (void)state;
        atomic_store(&ring->tail, reader.head + PW_RING_CELLS + 1);
        assert_false(pw_ring_available(&reader, &cells));
        atomic_store(&ring->tail, reader.head - 1);
        assert_false(pw_ring_available(&reader, &cells));
        assert_false(pw_ring_sleep(&reader, false));
        assert_int_equal(cells, 99);
        atomic_store(&ring->tail, reader.head + PW_RING_CELLS);
        assert_true(pw_ring_available(&reader, &cells));
        assert_int_equal(cells, PW_RING_CELLS);
        pw_ring_peek(&reader, UINT32_MAX); /* stays in the ring */
        maps_done(&maps);
}

static bool publish_one(struct pw_ring_writer *writer, bool at_once)
{
        assert_true(pw_ring_has_room(writer, 1));
        pw_ring_write(writer, pw_cell_object(PW_RING_DROP, 1, 2, 3));
        return pw_ring_publish(writer, at_once);
}

static void read_all(struct pw_ring_reader *reader)
{
        uint32_t cells;

        assert_true(pw_ring_available(reader, &cells));
        pw_ring_consume(reader, cells);
}

static void test_doorbell(void **state)
{
        struct maps maps = maps_new(sizeof(struct pw_ring));
        struct pw_ring_writer writer;
        struct pw_ring_reader reader;

        (void)state;
        start_at(maps.ours, 0, &writer, &reader);
        assert_true(publish_one(&writer, true)); /* a lane that the daemon has not seen yet */
        assert_false(publish_one(&writer, true)); /* it is called already */
        assert_false(pw_ring_sleep(&reader, false)); /* cells came */
        read_all(&reader);
        assert_true(pw_ring_sleep(&reader, false));
        for (uint32_t i = 1; i < PW_RING_CELLS / 2; i++)
                assert_false(publish_one(&writer, false));
        assert_true(publish_one(&writer, false)); /* half a ring */
        assert_false(publish_one(&writer, false));
        read_all(&reader);
        assert_true(pw_ring_sleep(&reader, true));
        assert_true(publish_one(&writer, false)); /* somebody queues for room */
        read_all(&reader);
        pw_ring_wake(&reader);
        assert_false(publish_one(&writer, true)); /* the daemon looks anyway */
        read_all(&reader);
        assert_true(pw_ring_sleep(&reader, false));
        assert_false(publish_one(&writer, false));
        assert_true(pw_ring_publish(&writer, true)); /* nothing new, but now it matters */
        maps_done(&maps);
}

/* The daemon sleeps whenever it may; a doorbell is a count. No record is left lying while nobody is called. */
struct bell_flow {
        struct pw_ring_writer writer;
        _Atomic uint32_t rung;
        uint32_t count;
};

static void *write_and_ring(void *data)
{
        struct bell_flow *flow = data;

        for (uint32_t i = 0; i < flow->count; i++) {
                while (!pw_ring_has_room(&flow->writer, 1))
                        sched_yield();
                pw_ring_write(&flow->writer, (struct pw_cell){ i, 0 });
                if (pw_ring_publish(&flow->writer, true))
                        atomic_fetch_add(&flow->rung, 1);
        }
        return NULL;
}

static void test_no_lost_doorbell(void **state)
{
        struct maps maps = maps_new(sizeof(struct pw_ring));
        struct pw_ring_reader reader;
        struct bell_flow flow = { .count = 200000 };
        pthread_t thread;
        uint32_t cells, read = 0, answered = 0;

        (void)state;
        start_at(maps.ours, 0, &flow.writer, &reader);
        flow.writer.ring = maps.theirs;
        assert_int_equal(pthread_create(&thread, NULL, write_and_ring, &flow), 0);
        while (read < flow.count) {
                if (pw_ring_sleep(&reader, false)) {
                        while (atomic_load(&flow.rung) == answered)
                                sched_yield();
                        answered = atomic_load(&flow.rung);
                        pw_ring_wake(&reader);
                }
                assert_true(pw_ring_available(&reader, &cells));
                for (uint32_t i = 0; i < cells; i++)
                        assert_int_equal(pw_ring_peek(&reader, i).a, read++);
                pw_ring_consume(&reader, cells);
        }
        pthread_join(thread, NULL);
        maps_done(&maps);
}

static void test_return_order(void **state)
{
        enum { SLOTS = 5 };
        struct maps maps = maps_new(4096);
        struct pw_return_writer writer = pw_return_ring_init(maps.ours, SLOTS);
        struct pw_return_reader reader = { .ring = maps.theirs, .mask = writer.mask };
        uint32_t slot;

        (void)state;
        assert_int_equal(writer.mask, 7);
        assert_true(pw_return_ring_bytes(SLOTS) >= sizeof(struct pw_return_ring) + 8 * sizeof(uint32_t));
        atomic_store(&reader.ring->tail, UINT32_MAX - 3); /* the counters wrap on the way */
        writer.tail = reader.head = reader.tail_seen = UINT32_MAX - 3;
        assert_false(pw_return_take(&reader, &slot));
        for (uint32_t i = 0; i < SLOTS; i++)
                pw_return_give(&writer, i);
        for (uint32_t i = 0; i < 1000; i++) { /* first in, first out */
                assert_true(pw_return_take(&reader, &slot));
                assert_int_equal(slot, i % SLOTS);
                pw_return_give(&writer, slot);
        }
        maps_done(&maps);
}

/* The race of ring.h: a client takes a reference by id while the daemon closes the entry. What the client concludes from the
 * word is what the daemon counts from the ring. */
struct closing {
        struct pw_ring_writer writer;
        struct pw_entry *entry;
        pthread_barrier_t barrier;
        uint32_t rounds;
        bool taken; /* of this round */
};

static bool take_reference(struct closing *closing, uint32_t generation)
{
        uint64_t word;

        while (!pw_ring_has_room(&closing->writer, 1))
                sched_yield();
        pw_ring_write(&closing->writer, pw_cell_object(PW_RING_REF, 0, 0, generation));
        pw_ring_publish(&closing->writer, false);
        do
                word = pw_entry_load(closing->entry);
        while (pw_word_generation(word) == generation && pw_word_state(word) == PW_ENTRY_CLOSING);
        return pw_word_generation(word) == generation && pw_word_state(word) >= PW_ENTRY_PENDING;
}

static void *client_of_closing(void *data)
{
        struct closing *closing = data;

        for (uint32_t round = 1; round <= closing->rounds; round++) {
                pthread_barrier_wait(&closing->barrier);
                for (volatile uint32_t i = 0; i < round % 64; i++)
                        ;
                closing->taken = take_reference(closing, round);
                pthread_barrier_wait(&closing->barrier);
        }
        return NULL;
}

/* Read the ring up to the tail seen now; true: a REF of the generation was there. */
static bool read_reference(struct pw_ring_reader *reader, uint32_t generation)
{
        uint32_t cells;
        bool found = false;

        assert_true(pw_ring_available(reader, &cells));
        for (uint32_t i = 0; i < cells; i++)
                found = found || pw_cell_generation(pw_ring_peek(reader, i)) == generation;
        pw_ring_consume(reader, cells);
        return found;
}

/* The last reference was dropped: close, look, reopen or free. */
static bool close_entry(struct pw_entry *entry, struct pw_ring_reader *reader, uint32_t generation)
{
        uint64_t word = pw_word_make(PW_ENTRY_READY, 0, generation, PW_OK);
        bool found;

        assert_true(pw_entry_swap(entry, &word, pw_word_with_state(word, PW_ENTRY_CLOSING)));
        word = pw_word_with_state(word, PW_ENTRY_CLOSING);
        found = read_reference(reader, generation);
        assert_true(pw_entry_swap(entry, &word, pw_word_with_state(word, found ? PW_ENTRY_READY : PW_ENTRY_FREE)));
        return found;
}

static void test_reference_against_closing(void **state)
{
        struct maps rings = maps_new(sizeof(struct pw_ring)), entries = maps_new(4096);
        struct closing closing = { .entry = entries.theirs, .rounds = 20000 };
        struct pw_entry *entry = entries.ours;
        struct pw_ring_reader reader;
        uint32_t generation = 0, outcomes[2] = { 0, 0 };
        uint64_t word;
        pthread_t thread;

        (void)state;
        start_at(rings.ours, 0, &closing.writer, &reader);
        closing.writer.ring = rings.theirs;
        pthread_barrier_init(&closing.barrier, NULL, 2);
        assert_int_equal(pthread_create(&thread, NULL, client_of_closing, &closing), 0);
        for (uint32_t round = 1; round <= closing.rounds; round++) {
                bool counted;
                assert_true(pw_entry_take(entry, &generation));
                assert_int_equal(generation, round);
                assert_true(pw_entry_decide(entry, generation, PW_OK, 0, 1, &word));
                pthread_barrier_wait(&closing.barrier);
                for (volatile uint32_t i = 0; i < round / 64 % 64; i++)
                        ;
                counted = close_entry(entry, &reader, generation);
                pthread_barrier_wait(&closing.barrier);
                assert_int_equal(closing.taken, counted);
                outcomes[counted]++;
                atomic_store(&entry->word, pw_word_make(PW_ENTRY_FREE, 0, generation, PW_OK));
                read_reference(&reader, 0);
        }
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&closing.barrier);
        print_message("references found %u, gone %u\n", outcomes[1], outcomes[0]);
        maps_done(&entries);
        maps_done(&rings);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cells),
                cmocka_unit_test(test_order_over_the_wrap),
                cmocka_unit_test(test_hostile_tails),
                cmocka_unit_test(test_doorbell),
                cmocka_unit_test(test_no_lost_doorbell),
                cmocka_unit_test(test_return_order),
                cmocka_unit_test(test_reference_against_closing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

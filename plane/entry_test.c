/* Entries: each way from one word to another, two who decide at once, fields that cannot be. */
#include "plane/entry.h"

#include "plane/maps_test.h"

#define ROUNDS 20000u

static void test_word_parts(void **state)
{
        uint64_t word = pw_word_make(PW_ENTRY_ERROR, PW_ENTRY_RING | PW_ENTRY_SHARDED, 0xfedcba98, PW_DEVICE_LOST);

        (void)state;
        assert_int_equal(pw_word_state(word), PW_ENTRY_ERROR);
        assert_int_equal(pw_word_flags(word), PW_ENTRY_RING | PW_ENTRY_SHARDED);
        assert_int_equal(pw_word_generation(word), 0xfedcba98);
        assert_int_equal(pw_word_status(word), PW_DEVICE_LOST);
        word = pw_word_with_state(word, PW_ENTRY_CLOSING);
        assert_int_equal(pw_word_state(word), PW_ENTRY_CLOSING);
        assert_int_equal(pw_word_generation(word), 0xfedcba98);
}

/* Whatever a client writes is an error, and none that a reader takes for the state of its own wait or session. */
static void test_word_error(void **state)
{
        (void)state;
        for (uint32_t status = 0; status < 256; status++) {
                uint64_t word = pw_word_make(PW_ENTRY_ERROR, 0, 1, (enum pw_status)status);
                bool can_be = pw_status_known(status) && status != PW_OK && status != PW_NOT_READY && status != PW_DAEMON_GONE &&
                              status != PW_FORKED;

                assert_int_equal(pw_word_error(word), can_be ? status : PW_PROTOCOL);
        }
}

static void test_take(void **state)
{
        struct pw_entry entry = { .word = pw_word_make(PW_ENTRY_FREE, 0, 0xffffff, PW_OK) };
        uint32_t generation = 0;

        (void)state;
        assert_true(pw_entry_take(&entry, &generation));
        assert_int_equal(generation, 0x1000000);
        assert_true(pw_entry_load(&entry) == pw_word_make(PW_ENTRY_PENDING, 0, 0x1000000, PW_OK));
        assert_false(pw_entry_take(&entry, &generation));
        entry.word = pw_word_make(PW_ENTRY_TAKEN, 0, 1, PW_OK);
        assert_false(pw_entry_take(&entry, &generation));
        entry.word = pw_word_make(PW_ENTRY_FREE, 0, UINT32_MAX, PW_OK);
        assert_false(pw_entry_take(&entry, &generation));
        assert_int_equal(generation, 0x1000000);
}

static void test_decide(void **state)
{
        struct pw_entry entry = { .word = pw_word_make(PW_ENTRY_PENDING, PW_ENTRY_RING, 5, PW_OK) };
        uint64_t old = 0;

        (void)state;
        assert_false(pw_entry_decide(&entry, 4, PW_OK, 0, UINT32_MAX, &old));
        assert_false(pw_entry_decide(&entry, 5, PW_OK, 0, 0, &old));
        assert_true(pw_entry_decide(&entry, 5, PW_OK, PW_ENTRY_SHARDED, UINT32_MAX, &old));
        assert_true(old == pw_word_make(PW_ENTRY_PENDING, PW_ENTRY_RING, 5, PW_OK));
        assert_true(pw_entry_load(&entry) == pw_word_make(PW_ENTRY_READY, PW_ENTRY_RING | PW_ENTRY_SHARDED, 5, PW_OK));
        assert_false(pw_entry_decide(&entry, 5, PW_FAILED, 0, UINT32_MAX, &old));
        entry.word = pw_word_make(PW_ENTRY_PENDING, 0, 6, PW_OK);
        assert_true(pw_entry_decide(&entry, 6, PW_CRASHED, 0, UINT32_MAX, &old));
        assert_true(pw_entry_load(&entry) == pw_word_make(PW_ENTRY_ERROR, 0, 6, PW_CRASHED));
}

static void test_flag(void **state)
{
        struct pw_entry entry = { .word = pw_word_make(PW_ENTRY_READY, PW_ENTRY_RING, 5, PW_OK) };

        (void)state;
        assert_true(pw_entry_flag(&entry, PW_ENTRY_READY, 5, PW_ENTRY_DONATED, true));
        assert_true(pw_entry_flag(&entry, PW_ENTRY_READY, 5, PW_ENTRY_RING, false));
        assert_true(pw_entry_load(&entry) == pw_word_make(PW_ENTRY_READY, PW_ENTRY_DONATED, 5, PW_OK));
        assert_false(pw_entry_flag(&entry, PW_ENTRY_PENDING, 5, PW_ENTRY_DONATED, false));
        assert_false(pw_entry_flag(&entry, PW_ENTRY_READY, 6, PW_ENTRY_DONATED, false));
}

/* One of two decides each entry; both say the same about who it was. Flags set in between disturb neither. */
struct race {
        struct pw_entry *entries;
        pthread_barrier_t *start;
        enum pw_status status;
        uint32_t won;
};

static void *race_to_decide(void *data)
{
        struct race *race = data;
        uint64_t old;

        pthread_barrier_wait(race->start);
        for (uint32_t i = 0; i < ROUNDS; i++) {
                pw_entry_flag(&race->entries[i], PW_ENTRY_PENDING, 1, PW_ENTRY_RING, true);
                if (!pw_entry_decide(&race->entries[i], 1, race->status, 0, UINT32_MAX, &old))
                        continue;
                race->won++;
                race->entries[i].label = race->status;
        }
        return NULL;
}

static void test_one_decides(void **state)
{
        struct maps maps = maps_new(ROUNDS * sizeof(struct pw_entry));
        struct pw_entry *entries = maps.ours;
        pthread_barrier_t start;
        struct race ours = { entries, &start, PW_OK, 0 }, theirs = { maps.theirs, &start, PW_CANCELLED, 0 };
        pthread_t thread;
        uint32_t generation;

        (void)state;
        for (uint32_t i = 0; i < ROUNDS; i++)
                assert_true(pw_entry_take(&entries[i], &generation));
        pthread_barrier_init(&start, NULL, 2);
        assert_int_equal(pthread_create(&thread, NULL, race_to_decide, &theirs), 0);
        race_to_decide(&ours);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&start);
        assert_int_equal(ours.won + theirs.won, ROUNDS);
        for (uint32_t i = 0; i < ROUNDS; i++)
                assert_int_equal(pw_word_status(pw_entry_load(&entries[i])), entries[i].label);
        maps_done(&maps);
}

static void fill_and_describe(enum pw_dtype dtype, struct pw_dims dims, uint64_t bytes)
{
        uint64_t map[64] = { 0 };
        struct pw_entry entry = { 0 };
        uint64_t room_bytes = pw_entry_room_bytes(bytes, dtype, &dims);
        struct pw_described in = { bytes, 64, 9, dtype, dims, room_bytes == 0 }, out;

        pw_entry_fill(&entry, &in, (uint8_t *)map + 64);
        assert_int_equal(pw_entry_describe(&entry, (uint8_t *)map, 64 + room_bytes, &out), PW_OK);
        assert_int_equal(out.bytes, bytes);
        assert_int_equal(out.dtype, dtype);
        assert_int_equal(out.room_offset, room_bytes ? 64 : 0);
        assert_int_equal(out.room_segment, 9);
        assert_int_equal(out.is_inline, room_bytes == 0);
        assert_int_equal(out.dims.rank, dims.rank);
        assert_memory_equal(out.dims.dim, dims.dim, dims.rank * sizeof(uint64_t));
        if (room_bytes)
                assert_int_equal(pw_entry_describe(&entry, (uint8_t *)map, 63 + room_bytes, &out),
                                 bytes && room_bytes >= bytes && (bytes == room_bytes || dims.rank > PW_ENTRY_DIMS) ? PW_PROTOCOL
                                                                                                                    : PW_OK);
}

static void test_fields(void **state)
{
        (void)state;
        fill_and_describe(PW_OPAQUE, PW_DIMS(0), 0);
        fill_and_describe(PW_OPAQUE, PW_DIMS(24), 24);
        fill_and_describe(PW_OPAQUE, PW_DIMS(25), 25);
        fill_and_describe(PW_F64, PW_SCALAR, 8);
        fill_and_describe(PW_F32, PW_DIMS(6), 24);
        fill_and_describe(PW_F32, PW_DIMS(7), 28);
        fill_and_describe(PW_F32, PW_DIMS(2, 3), 24);
        fill_and_describe(PW_F32, PW_DIMS(0, 3), 0);
        fill_and_describe(PW_U8, PW_DIMS(2, 3, 5), 30);
        fill_and_describe(PW_U8, PW_DIMS(3, 1, 1, 7), 21);
        fill_and_describe(PW_F16, PW_DIMS(1, 2, 1, 3, 1, 1, 2, 1), 24);
        assert_true(pw_entry_room_bytes(UINT64_MAX - 8, PW_U8, &PW_DIMS(1, 1, 1, 1)) == UINT64_MAX);
}

static void test_high_rank_without_map(void **state)
{
        struct pw_entry entry = { .bytes = 16, .room_offset = 64, .dtype = PW_U8, .rank = 4 };
        struct pw_described out;

        (void)state;
        assert_int_equal(pw_entry_describe(&entry, NULL, 4096, &out), PW_OK);
        assert_int_equal(out.dtype, PW_OPAQUE);
        assert_int_equal(out.dims.rank, 1);
        assert_int_equal(out.dims.dim[0], 16);
}

static void test_fields_that_cannot_be(void **state)
{
        static const struct pw_entry bad[] = {
                { .bytes = 100, .room_offset = 4000 },
                { .bytes = UINT64_MAX, .room_offset = 64 },
                { .bytes = 1, .room_offset = UINT64_MAX },
                { .bytes = 25, .is_inline = 1 },
                { .bytes = 8, .is_inline = 1, .dtype = PW_F32, .rank = 2, .body.dims = { 1, 2 } },
                { .bytes = 8, .room_offset = 64, .dtype = 77 },
                { .bytes = 8, .room_offset = 64, .dtype = PW_F32, .rank = 9 },
                { .bytes = 8, .room_offset = 64, .dtype = PW_U8, .rank = 255 },
                { .bytes = 8, .room_offset = 64, .dtype = PW_F32, .rank = 2, .body.dims = { 1, 3 } },
                { .bytes = 0, .room_offset = 64, .dtype = PW_F32, .rank = 2, .body.dims = { UINT64_C(1) << 62, 4 } },
                { .bytes = 6, .room_offset = 64, .dtype = PW_F32, .rank = 1 },
                { .bytes = 8, .room_offset = 64, .dtype = PW_F32 },
                { .bytes = 8, .room_offset = 4084, .dtype = PW_U8, .rank = 4 },
                { .bytes = 8, .room_offset = 4080, .dtype = PW_U8, .rank = 4 },
                { .bytes = 8, .room_offset = 65, .dtype = PW_U8, .rank = 4 },
        };
        uint64_t map[512] = { [9] = 256, [10] = 256, [11] = 256, [12] = 256 * 8 }; /* 1, 1, 1, 8 from offset 73 */
        struct pw_described out;

        (void)state;
        for (size_t i = 0; i < pw_array_count(bad); i++)
                assert_int_equal(pw_entry_describe(&bad[i], (uint8_t *)map, sizeof map, &out), PW_PROTOCOL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_word_parts),
                cmocka_unit_test(test_word_error),
                cmocka_unit_test(test_take),
                cmocka_unit_test(test_decide),
                cmocka_unit_test(test_flag),
                cmocka_unit_test(test_one_decides),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_high_rank_without_map),
                cmocka_unit_test(test_fields_that_cannot_be),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Segments of host memory: how many stay mapped, which goes, and what a gang under way keeps. Rooms of devices, and their heads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/program/segments.h"

#include "base/memory.h"

#include <stdio.h>
#include <sys/mman.h>

/* Addresses: the first bytes of each can be read, and say its number. */
struct host { uint64_t bytes; uint32_t asked, full_after, gone; };

static enum pw_status map_numbered(void *context, uint32_t segment, struct pw_map *ret_map, struct pw_error *ret_err)
{
        struct host *host = context;
        void *base;

        if (host->full_after && host->asked >= host->full_after) {
                host->full_after = 0;
                return pw_error_set(ret_err, PW_SYSTEM, "no addresses");
        }
        base = mmap(NULL, host->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
                return pw_error_set(ret_err, PW_SYSTEM, "mmap");
        host->asked++;
        *(uint32_t *)base = segment;
        *ret_map = (struct pw_map){ base, host->bytes, true };
        return PW_OK;
}

/* Each in a file of its own, from its second page on. */
static enum pw_status map_lent(void *context, uint32_t segment, struct pw_host_map *ret_map, struct pw_error *ret_err)
{
        ret_map->file = segment;
        ret_map->offset = 4096;
        return map_numbered(context, segment, &ret_map->map, ret_err);
}

static enum pw_status map_rooms(void *context, uint32_t segment, struct pw_rooms_map *ret_map, struct pw_error *ret_err)
{
        struct host *host = context;
        enum pw_status status = map_numbered(context, segment, &ret_map->rooms, ret_err);

        if (status != PW_OK)
                return status;
        ret_map->heads = (struct pw_map){ mmap(NULL, pw_segment_heads(host->bytes), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                                          pw_segment_heads(host->bytes), false };
        assert_ptr_not_equal(ret_map->heads.base, MAP_FAILED);
        return PW_OK;
}

static bool tell_gone(void *context, uint32_t *ret_segment)
{
        struct host *host = context;

        *ret_segment = host->gone;
        host->gone = 0;
        return *ret_segment;
}

static struct pw_segments *segments_new(struct host *host, struct pw_surroundings *around)
{
        struct pw_segments *segments = malloc(sizeof *segments);

        *around = (struct pw_surroundings){ .context = host, .segment = map_lent, .rooms = map_rooms, .gone = tell_gone };
        pw_segments_init(segments, around);
        return segments;
}

static void segments_free(struct pw_segments *segments)
{
        pw_segments_done(segments);
        free(segments);
}

static const uint32_t *lend(struct pw_segments *segments, uint32_t number, uint64_t gang)
{
        struct pw_segments_range part = { number, 0, sizeof number };
        struct pw_error err;
        uint8_t *at = NULL;

        segments->in_use = gang;
        if (pw_segments_lend(segments, &part, gang, &at, &err) != PW_OK)
                fail_msg("segment %u: %s", number, err.text);
        assert_int_equal(*(const uint32_t *)at, number);
        return (const uint32_t *)at;
}

/* However many are used, a bounded number is mapped, and the one used again and again is asked for once. */
static void test_count(void **state)
{
        struct host host = { .bytes = 4096 };
        struct pw_surroundings around;
        struct pw_segments *segments = segments_new(&host, &around);
        uint64_t gang = 0;
        (void)state;

        for (uint32_t i = 1; i <= 10 * PW_SEGMENTS_LENT; i++) {
                lend(segments, i, ++gang);
                lend(segments, 1, ++gang);
                assert_true(segments->lent.count <= PW_SEGMENTS_LENT);
                assert_true(segments->lent_bytes == segments->lent.count * host.bytes);
        }
        assert_int_equal(host.asked, 10 * PW_SEGMENTS_LENT);
        lend(segments, 10 * PW_SEGMENTS_LENT - PW_SEGMENTS_LENT + 2, ++gang); /* the oldest but for that one */
        assert_int_equal(host.asked, 10 * PW_SEGMENTS_LENT);
        lend(segments, 2, ++gang);
        assert_int_equal(host.asked, 10 * PW_SEGMENTS_LENT + 1);
        segments_free(segments);
}

/* Few large ones are bounded by their addresses, and one larger than the bound is mapped alone. */
static void test_bytes(void **state)
{
        struct host host = { .bytes = PW_SEGMENTS_LENT_BYTES / 8 };
        struct pw_surroundings around;
        struct pw_segments *segments = segments_new(&host, &around);
        (void)state;

        for (uint32_t i = 1; i <= 100; i++) {
                lend(segments, i, i);
                assert_true(segments->lent_bytes <= PW_SEGMENTS_LENT_BYTES);
        }
        assert_int_equal(segments->lent.count, 8);
        host.bytes = PW_SEGMENTS_LENT_BYTES + 4096;
        lend(segments, 200, 200);
        assert_int_equal(segments->lent.count, 1);
        segments_free(segments);
}

/* What one gang reads stays until another is lent something, if it is more than the bound. */
static void test_gang(void **state)
{
        struct host host = { .bytes = 4096 };
        struct pw_surroundings around;
        struct pw_segments *segments = segments_new(&host, &around);
        const uint32_t *at[2 * PW_SEGMENTS_LENT];
        (void)state;

        lend(segments, 1000000, 1);
        for (uint32_t i = 0; i < pw_array_count(at); i++)
                at[i] = lend(segments, i, 2);
        for (uint32_t i = 0; i < pw_array_count(at); i++)
                assert_int_equal(*at[i], i);
        assert_int_equal(segments->lent.count, pw_array_count(at));
        lend(segments, 1000000, 3);
        assert_int_equal(segments->lent.count, PW_SEGMENTS_LENT);
        segments_free(segments);
}

/* All of a device's segment are rooms, each with a head in memory of its own; elsewhere none begins. */
static void test_heads(void **state)
{
        static const struct pw_segments_range bad[] = { { 5, 128, 8 }, { 5, 4 * 4096, 1 }, { 5, 4096, 3 * 4096 + 1 },
                                                        { 5, UINT64_MAX - 255, 256 } };
        struct host host = { .bytes = 4 * 4096 };
        struct pw_surroundings around;
        struct pw_segments *segments = segments_new(&host, &around);
        struct pw_place place, next;
        struct pw_error err;
        (void)state;

        assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 5, 0, 4 * 4096 }, &place, &err), PW_OK);
        assert_int_equal((uintptr_t)place.head % 4096, 0);
        for (uint64_t offset = 0; offset < 4 * 4096; offset += PW_ROOM_ALIGN) {
                assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 5, offset, 1 }, &next, &err), PW_OK);
                assert_ptr_equal(next.data, place.data + offset);
                assert_ptr_equal(next.head, place.head + offset / PW_ROOM_ALIGN);
                assert_true((uint8_t *)(next.head + 1) <= (uint8_t *)place.head + pw_segment_heads(host.bytes));
                assert_ptr_equal(pw_place_behind(&place, offset).data, next.data);
                assert_ptr_equal(pw_place_behind(&place, offset).head, next.head);
        }
        for (uint32_t i = 0; i < pw_array_count(bad); i++)
                assert_int_equal(pw_segments_at(segments, &bad[i], &next, &err), PW_PROTOCOL);
        assert_int_equal(host.asked, 1);
        segments_free(segments);
}

/* Without addresses what nobody reads goes: for one of host memory, and for one of a device. */
static void test_full(void **state)
{
        struct host host = { .bytes = 4096 };
        struct pw_surroundings around;
        struct pw_segments *segments = segments_new(&host, &around);
        struct pw_error err;
        const uint32_t *kept;
        struct pw_place device;
        (void)state;

        for (uint32_t i = 1; i <= 10; i++)
                lend(segments, i, i);
        kept = lend(segments, 3, 11);
        host.full_after = 10;
        lend(segments, 20, 11);
        assert_int_equal(segments->lent.count, 2);
        assert_int_equal(*kept, 3);
        lend(segments, 21, 12);
        host.full_after = 1;
        assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 30, 0, 4 }, &device, &err), PW_OK);
        assert_int_equal(segments->lent.count, 1);
        host.full_after = 1; /* nothing to give back is left */
        assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 31, 0, 4 }, &device, &err), PW_SYSTEM);
        assert_int_equal(segments->lent.count, 1);
        segments_free(segments);
}

/* Memory of a device whose tenant has ended is unmapped when it is let go; asked for again it is another's. */
static void test_gone(void **state)
{
        struct host host = { .bytes = 4096 };
        struct pw_surroundings around;
        struct pw_segments *segments = segments_new(&host, &around);
        struct pw_error err;
        struct pw_place first, second, again;
        unsigned char there;
        (void)state;

        assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 30, 0, 4 }, &first, &err), PW_OK);
        host.gone = 30;
        assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 31, 0, 4 }, &second, &err), PW_OK);
        pw_segments_let_go(segments);
        assert_int_equal(host.gone, 0);
        assert_int_equal(mincore(first.data, host.bytes, &there), -1);
        assert_int_equal(mincore(second.data, host.bytes, &there), 0);
        assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 31, 0, 4 }, &again, &err), PW_OK);
        assert_ptr_equal(again.data, second.data);
        assert_int_equal(host.asked, 2);
        host.gone = 1000000; /* never mapped */
        pw_segments_let_go(segments);
        assert_int_equal(host.gone, 0);
        assert_int_equal(pw_segments_at(segments, &(struct pw_segments_range){ 30, 0, 4 }, &again, &err), PW_OK);
        assert_int_equal(host.asked, 3);
        segments_free(segments);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_count), cmocka_unit_test(test_bytes), cmocka_unit_test(test_gang),
                                            cmocka_unit_test(test_heads), cmocka_unit_test(test_full),
                                            cmocka_unit_test(test_gone) };

        return cmocka_run_group_tests_name("segments", tests, NULL, NULL);
}

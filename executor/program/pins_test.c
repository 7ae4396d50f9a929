/* What of clients' memory is pinned: how much, which goes, what a gang under way keeps, and that the word says so first. And of a
 * segment's, which pages leave. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/program/segments.h"

#include "base/memory.h"

#include <sys/mman.h>

#define KIB UINT64_C(1024)
#define MIB (KIB << 10)
#define LENT_BYTES (8 * MIB)
#define AT(offset) ((uint8_t *)0x100000000 + (offset))

/* A device that pins; what it has overlaps nowhere. */
struct pw_exec_device {
        uint32_t count, pins, refusals; /* pins: asked for; refusals: to come */
        _Atomic uint32_t word;
        struct { uint8_t *base; uint64_t bytes; } all[2 * PW_PINS_MAX];
};

static bool pin(struct pw_exec_device *device, uint8_t *base, uint64_t bytes, bool writable)
{
        (void)writable;
        device->pins++;
        assert_true(atomic_load(&device->word) > device->count);
        assert_int_equal(((uintptr_t)base | bytes) % 4096, 0);
        for (uint32_t i = 0; i < device->count; i++)
                assert_true(device->all[i].base + device->all[i].bytes <= base || base + bytes <= device->all[i].base);
        if (device->refusals) {
                device->refusals--;
                return false;
        }
        device->all[device->count].base = base;
        device->all[device->count++].bytes = bytes;
        return true;
}

static void unpin(struct pw_exec_device *device, uint8_t *base, uint64_t bytes)
{
        uint32_t i = 0;

        while (i < device->count && device->all[i].base != base)
                i++;
        assert_true(i < device->count);
        assert_true(device->all[i].bytes == bytes);
        assert_true(atomic_load(&device->word) > 0);
        device->all[i] = device->all[--device->count];
}

static const struct pw_device_memory memory = { .pin = pin, .unpin = unpin };

static bool has(const struct pw_exec_device *device, const uint8_t *at)
{
        for (uint32_t i = 0; i < device->count; i++)
                if (device->all[i].base <= at && at < device->all[i].base + device->all[i].bytes)
                        return true;
        return false;
}

static void want(struct pw_pins *pins, uint64_t offset, uint64_t bytes, uint64_t gang)
{
        pw_pins_want(pins, &(struct pw_pins_wanted){ AT(offset), bytes, false, gang, gang });
        assert_int_equal(pins->pinned, pins->device->count);
        assert_int_equal(atomic_load(&pins->device->word), pins->device->count);
}

/* Whole pages, once; nothing small. */
static void test_pages(void **state)
{
        struct pw_exec_device device = { 0 };
        struct pw_pins pins;
        (void)state;

        pw_pins_init(&pins, &memory, &device, &device.word);
        want(&pins, 100, PW_PINS_MIN_BYTES - 1, 1);
        assert_int_equal(device.pins, 0);
        want(&pins, 4096 + 100, MIB, 1);
        assert_true(device.all[0].base == AT(4096));
        assert_true(device.all[0].bytes == MIB + 4096);
        want(&pins, 4096, MIB + 4096, 2);
        assert_int_equal(device.pins, 1);
        want(&pins, 4096 + MIB / 2, MIB / 2, 3);
        assert_int_equal(device.pins, 1);
        assert_false(pw_pins_used(&pins, AT(0), 4096, 0));
        assert_true(pw_pins_used(&pins, AT(0), 4097, 3));
        assert_false(pw_pins_used(&pins, AT(0), 4097, 4));
        pw_pins_drop(&pins, AT(0), 4096);
        assert_int_equal(device.count, 1);
        pw_pins_drop(&pins, AT(MIB), 1);
        assert_int_equal(device.count, 0);
        assert_int_equal(atomic_load(&device.word), 0);
        pw_pins_done(&pins);
}

/* What overlaps gives way, but not under a gang that uses it. */
static void test_overlaps(void **state)
{
        struct pw_exec_device device = { 0 };
        struct pw_pins pins;
        (void)state;

        pw_pins_init(&pins, &memory, &device, &device.word);
        want(&pins, 0, 2 * MIB, 1);
        want(&pins, 2 * MIB, 2 * MIB, 2);
        pw_pins_want(&pins, &(struct pw_pins_wanted){ AT(MIB), 2 * MIB, false, 3, 2 });
        assert_int_equal(device.pins, 2);
        want(&pins, MIB, 2 * MIB, 3);
        assert_int_equal(device.count, 1);
        assert_false(has(&device, AT(0)));
        assert_true(has(&device, AT(2 * MIB)));
        pw_pins_done(&pins);
        assert_int_equal(device.count, 0);
}

/* A refusal is heard once. */
static void test_refused(void **state)
{
        struct pw_exec_device device = { .refusals = 1 };
        struct pw_pins pins;
        (void)state;

        pw_pins_init(&pins, &memory, &device, &device.word);
        for (uint64_t gang = 1; gang < 10; gang++)
                want(&pins, 0, MIB, gang);
        assert_int_equal(device.pins, 1);
        assert_int_equal(device.count, 0);
        pw_pins_drop(&pins, AT(0), 4096); /* its pages are others now */
        want(&pins, 0, MIB, 10);
        assert_int_equal(device.count, 1);
        pw_pins_done(&pins);
}

/* As many and as much as there may be: who was used longest ago goes, but nothing that is in use. */
static void test_bounds(void **state)
{
        struct pw_exec_device device = { 0 };
        struct pw_pins pins;
        (void)state;

        pw_pins_init(&pins, &memory, &device, &device.word);
        for (uint64_t i = 0; i < PW_PINS_MAX; i++)
                want(&pins, i * MIB, MIB, i + 1);
        want(&pins, 0, MIB, 100);
        want(&pins, 1000 * MIB, MIB, 101);
        assert_int_equal(device.count, PW_PINS_MAX);
        assert_true(has(&device, AT(0)));
        assert_false(has(&device, AT(MIB)));
        pw_pins_want(&pins, &(struct pw_pins_wanted){ AT(2000 * MIB), MIB, false, 102, 3 });
        assert_false(has(&device, AT(2000 * MIB)));
        want(&pins, 2000 * MIB, PW_PINS_BYTES + 1, 103);
        assert_int_equal(device.count, PW_PINS_MAX);
        want(&pins, 2000 * MIB, PW_PINS_BYTES, 104);
        assert_int_equal(device.count, 1);
        assert_true(pins.bytes == PW_PINS_BYTES);
        pw_pins_done(&pins);
}

/* Memory of a device to which all is alike. */
static void test_nothing(void **state)
{
        struct pw_exec_device device = { 0 };
        struct pw_pins pins;
        (void)state;

        pw_pins_init(&pins, &pw_memory_host, &device, &device.word);
        want(&pins, 0, MIB, 1);
        assert_int_equal(pins.count, 0);
        pw_pins_done(&pins);
}

/* --- segments ----------------------------------------------------------------------------------------------------------------- */

/* Each in a file of its own, from its second page on. */
static enum pw_status map_lent(void *context, uint32_t segment, struct pw_host_map *ret_map, struct pw_error *ret_err)
{
        void *base = mmap(NULL, LENT_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        (void)context;
        if (base == MAP_FAILED)
                return pw_error_set(ret_err, PW_SYSTEM, "mmap");
        *ret_map = (struct pw_host_map){ { base, LENT_BYTES, false }, segment, 4096 };
        return PW_OK;
}

static uint32_t going;
static bool tell_gone(void *context, uint32_t *ret_segment)
{
        (void)context;
        *ret_segment = going;
        going = 0;
        return *ret_segment != 0;
}

static uint8_t *pin_part(struct pw_segments *segments, uint32_t segment, uint64_t offset, uint64_t gang)
{
        struct pw_segments_range part = { segment, offset, MIB };
        struct pw_error err;
        uint8_t *at = NULL;

        assert_int_equal(pw_segments_lend(segments, &part, gang, &at, &err), PW_OK);
        pw_segments_pin(segments, &part, gang);
        return at;
}

/* The pages that leave are those of the file, wherever the segment begins in it; and a segment that goes takes its pins along. */
static void test_leaving(void **state)
{
        const struct pw_surroundings around = { .segment = map_lent, .gone = tell_gone };
        struct pw_leaving leaving = { .count = 1, .pages = { { 2, 0, 4096 } } };
        struct pw_segments *segments = malloc(sizeof *segments);
        struct pw_exec_device device = { 0 };
        const uint8_t *first, *second;
        (void)state;

        pw_segments_init(segments, &around);
        pw_pins_init(&segments->pins, &memory, &device, &device.word);
        pin_part(segments, 1, MIB, 5);
        first = pin_part(segments, 2, 0, 5);
        second = pin_part(segments, 2, MIB, 6);
        assert_false(pw_segments_leaving_used(segments, &leaving, 0));
        pw_segments_leave(segments, &leaving);
        assert_int_equal(device.count, 3);
        leaving.pages[0] = (struct pw_leaving_pages){ 2, MIB + 4096, 4096 };
        assert_true(pw_segments_leaving_used(segments, &leaving, 6));
        assert_false(pw_segments_leaving_used(segments, &leaving, 7));
        pw_segments_leave(segments, &leaving);
        assert_int_equal(device.count, 2);
        assert_true(has(&device, first));
        assert_false(has(&device, second));
        going = 1;
        pw_segments_let_go(segments);
        assert_int_equal(device.count, 1);
        leaving = (struct pw_leaving){ .all = true };
        pw_segments_leave(segments, &leaving);
        assert_int_equal(device.count, 0);
        pin_part(segments, 2, MIB, 7);
        pw_segments_done(segments);
        assert_int_equal(device.count, 0);
        assert_int_equal(atomic_load(&device.word), 0);
        free(segments);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_pages),  cmocka_unit_test(test_overlaps),
                                            cmocka_unit_test(test_refused), cmocka_unit_test(test_bounds),
                                            cmocka_unit_test(test_nothing), cmocka_unit_test(test_leaving) };

        return cmocka_run_group_tests_name("pins", tests, NULL, NULL);
}

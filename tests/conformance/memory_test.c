/* What every memory of a device keeps: boxes are copied and reduced as the processor does it, from its memory, which may be pinned
 * in parts, and from the device's; bytes come out as they are there; an arena is zeroed, and is the same for who maps it by its
 * descriptor, after its maker, too. GPUs are those of the fake driver.
 */
#include "base/memory.h"
#include "executor/device/device.h"
#include "executor/device/memory_apart.h"
#include "tests/integration/gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARENA_BYTES (UINT64_C(16) << 20)
#define ROOM_BYTES (UINT64_C(1) << 20)

static struct it_gpus gpus;

/* One device, with an arena of its own where it has such, else with memory of this process. */
struct site {
        const struct pw_device_kind *kind;
        struct pw_exec_device *device;
        const struct pw_device_memory *memory;
        bool apart;
        int fd;
        uint8_t *base;
};

static void no_ring(void *context) { (void)context; }
__attribute__((noreturn)) static void lost(void *context, const char *how)
{
        (void)context;
        fail_msg("the device is lost: %s", how);
        abort();
}

/* False: it is not on this host. */
static bool site_open(struct site *site, const struct pw_device_kind *kind, uint64_t apart)
{
        struct pw_device_params params = { .apart = apart, .ring = no_ring, .lost = lost };
        struct pw_error err;

        *site = (struct site){ .kind = kind, .fd = -1 };
        if (!strcmp(kind->name, "cuda"))
                snprintf(params.library, sizeof params.library, "%s", gpus.driver);
        if (kind->open(&params, &site->device, &err) != PW_OK)
                fail_msg("%s: %s", kind->name, err.text);
        site->memory = kind->memory(site->device);
        site->apart = kind->caps(site->device) & PW_DEVICE_APART;
        if (!site->apart) {
                site->base = calloc(1, ARENA_BYTES);
                return site->base != NULL;
        }
        assert_int_equal(site->memory->make(site->device, ARENA_BYTES, &site->fd, &err), PW_OK);
        assert_int_equal(site->memory->map(site->device, &(struct pw_arena){ site->fd, true, ARENA_BYTES }, &site->base, &err),
                         PW_OK);
        return true;
}

static void site_close(struct site *site)
{
        if (site->apart)
                site->memory->unmap(site->device, site->base, ARENA_BYTES);
        else
                free(site->base);
        if (site->fd >= 0)
                close(site->fd);
        site->kind->close(site->device);
}

/* Each memory that there is: of cpu, of emulated devices that are read and that are not, of a GPU. */
static void each_memory(void (*check)(struct site *site))
{
        const struct pw_device_kind *kind;
        struct site site;

        for (uint32_t i = 0; (kind = pw_device_kind_at(i)); i++)
                for (uint64_t apart = 0; apart <= !strcmp(kind->name, "emulated"); apart++)
                        if (site_open(&site, kind, apart)) {
                                check(&site);
                                site_close(&site);
                        }
}

static enum pw_status nothing(const struct pw_device_call *call)
{
        (void)call;
        return PW_OK;
}

static bool is_gpu(const struct site *site) { return !strcmp(site->kind->name, "cuda"); }

/* All that was asked for is done. */
static void settle(const struct site *site)
{
        const struct pw_device_call call = { .move = nothing };
        struct pw_device_end end;

        assert_int_equal(site->kind->launch(site->device, &call, &end), PW_OK);
        if (site->kind->caps(site->device) & PW_DEVICE_SYNCHRONOUS)
                return;
        while (!site->kind->done(site->device, &end))
                sched_yield();
        assert_int_equal(end.status, PW_OK);
}

static void read_out(const struct site *site, void *to, uint64_t offset, uint64_t bytes)
{
        struct pw_error err;

        settle(site);
        assert_int_equal(site->memory->copy_out(site->device, to, site->base + offset, bytes, &err), PW_OK);
}

/* --- boxes -------------------------------------------------------------------------------------------------------------------- */

static uint64_t seed;
static uint32_t below(uint32_t bound)
{
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)((seed >> 33) % bound);
}

/* A part of both; each array has up to two elements more on either side of an axis. */
struct boxes { struct pw_box to, from, part; };
static void random_boxes(struct boxes *boxes, uint32_t most)
{
        uint32_t rank = below(4);

        *boxes = (struct boxes){ .to.rank = rank, .from.rank = rank, .part.rank = rank };
        for (uint32_t i = 0; i < rank; i++) {
                struct pw_box *both[] = { &boxes->to, &boxes->from };

                boxes->part.start[i] = 3;
                boxes->part.size[i] = 1 + below(most);
                for (uint32_t b = 0; b < 2; b++) {
                        both[b]->start[i] = 3 - below(3);
                        both[b]->size[i] = 3 - both[b]->start[i] + boxes->part.size[i] + below(3);
                }
        }
}

static void put(struct site *site, uint64_t offset, const void *from, uint64_t bytes)
{
        struct pw_box all = { .rank = 1, .size = { bytes } };
        struct pw_error err;

        assert_int_equal(site->memory->copy_box(site->device, &(struct pw_box_move){ site->base + offset, from, &all, &all, &all,
                                                                                     PW_U8, true }, &err), PW_OK);
}

/* Copied and reduced where they lie, against the same by the processor. */
static void check_move(struct site *site, bool from_host, bool reduces)
{
        static const enum pw_dtype dtypes[] = { PW_U8, PW_I32, PW_F32, PW_F64, PW_F16, PW_BF16, PW_I64 };
        static const enum pw_op ops[] = { PW_SUM, PW_MAX, PW_MIN };
        enum pw_dtype dtype = dtypes[below(pw_array_count(dtypes))];
        enum pw_op op = ops[below(pw_array_count(ops))];
        size_t element = pw_dtype_bytes(dtype);
        struct boxes boxes;
        struct pw_error err;
        uint64_t to_bytes, from_bytes;
        uint8_t *to, *from, *seen;

        random_boxes(&boxes, 9);
        to_bytes = pw_box_elements(&boxes.to) * element;
        from_bytes = pw_box_elements(&boxes.from) * element;
        to = malloc(to_bytes);
        from = malloc(from_bytes);
        seen = malloc(to_bytes);
        for (uint64_t i = 0; i < to_bytes; i++)
                to[i] = (uint8_t)below(60); /* no NaN of any of them */
        for (uint64_t i = 0; i < from_bytes; i++)
                from[i] = (uint8_t)below(60);
        put(site, 0, to, to_bytes);
        put(site, ROOM_BYTES, from, from_bytes);
        struct pw_box_move move = { site->base, from_host ? from : site->base + ROOM_BYTES, &boxes.to, &boxes.from, &boxes.part,
                                    dtype, from_host };
        if (reduces) {
                assert_int_equal(site->memory->reduce_box(site->device, &move, op, &err), PW_OK);
                assert_int_equal(pw_box_reduce(to, &boxes.to, from, &boxes.from, &boxes.part, dtype, op), PW_OK);
        } else {
                assert_int_equal(site->memory->copy_box(site->device, &move, &err), PW_OK);
                pw_box_copy(to, &boxes.to, from, &boxes.from, &boxes.part, element);
        }
        read_out(site, seen, 0, to_bytes);
        assert_memory_equal(seen, to, to_bytes);
        free(to);
        free(from);
        free(seen);
}

static void check_boxes(struct site *site)
{
        for (uint32_t i = 0; i < 120; i++)
                check_move(site, i & 1, i & 2);
}

/* What is asked for is done in order: what was there is gone when the zeroes are read. */
static void check_order(struct site *site)
{
        struct pw_box all = { .rank = 1, .size = { 64 } };
        uint8_t ones[64], zeroes[64] = { 0 }, seen[64];
        struct pw_box_move again = { site->base + ROOM_BYTES, site->base, &all, &all, &all, PW_U8, false };
        struct pw_error err;

        memset(ones, 1, sizeof ones);
        for (uint32_t i = 0; i < 100; i++) {
                put(site, 0, ones, sizeof ones);
                assert_int_equal(site->memory->zero(site->device, site->base, sizeof ones, &err), PW_OK);
                assert_int_equal(site->memory->copy_box(site->device, &again, &err), PW_OK);
                put(site, 0, ones, sizeof ones);
                read_out(site, seen, ROOM_BYTES, sizeof seen);
                assert_memory_equal(seen, zeroes, sizeof seen);
                read_out(site, seen, 0, sizeof seen);
                assert_memory_equal(seen, ones, sizeof seen);
        }
}

/* More than goes by a stage at once, in rows with gaps. */
#define ROWS 3000u
#define COLUMNS 2000u
#define LARGE_BYTES (ROWS * COLUMNS)

static void check_large(struct site *site)
{
        struct pw_box all = { .rank = 2, .size = { ROWS, COLUMNS } }, part = { .rank = 2, .size = { ROWS, COLUMNS - 1 } };
        uint8_t *from = malloc(LARGE_BYTES), *seen = malloc(LARGE_BYTES), *to = site->base + 8 * ROOM_BYTES;
        struct pw_error err;

        for (uint32_t i = 0; i < LARGE_BYTES; i++)
                from[i] = (uint8_t)(i * 7 + i / COLUMNS);
        put(site, ROOM_BYTES, from, LARGE_BYTES);
        for (uint32_t host = 0; host < 2; host++) {
                struct pw_box_move move = { to, host ? from : site->base + ROOM_BYTES, &all, &all, &part, PW_U8, host };

                assert_int_equal(site->memory->zero(site->device, to, LARGE_BYTES, &err), PW_OK);
                assert_int_equal(site->memory->copy_box(site->device, &move, &err), PW_OK);
                read_out(site, seen, 8 * ROOM_BYTES, LARGE_BYTES);
                for (uint32_t row = 0; row < ROWS; row++) {
                        assert_memory_equal(seen + row * COLUMNS, from + row * COLUMNS, COLUMNS - 1);
                        assert_int_equal(seen[row * COLUMNS + COLUMNS - 1], 0);
                }
        }
        free(from);
        free(seen);
}

static void test_boxes(void **state)
{
        (void)state;
        each_memory(check_boxes);
        each_memory(check_order);
        each_memory(check_large);
}

/* --- pinned pages ------------------------------------------------------------------------------------------------------------- */

#define PAGES_BYTES (UINT64_C(5) << 20)

/* In and out, over the borders of what is pinned. */
static void check_crossing(struct site *site, uint8_t *pages, uint64_t from, uint64_t bytes)
{
        uint8_t *seen = malloc(bytes);

        for (uint64_t i = 0; i < bytes; i++)
                pages[from + i] = (uint8_t)below(256);
        put(site, 4096, pages + from, bytes);
        read_out(site, seen, 4096, bytes);
        assert_memory_equal(seen, pages + from, bytes);
        memset(pages + from, 0, bytes);
        read_out(site, pages + from, 4096, bytes);
        assert_memory_equal(seen, pages + from, bytes);
        free(seen);
}

static void check_pins(struct site *site)
{
        static const struct { uint64_t at, bytes; } pins[] = { { 2 << 20, 1 << 20 }, { 3 << 20, 8192 }, { 0, 4096 } };
        int fd = memfd_create("pages", MFD_CLOEXEC);
        uint8_t *pages, *read_only;
        bool is_pinned;

        assert_int_equal(ftruncate(fd, PAGES_BYTES), 0);
        pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        read_only = mmap(NULL, PAGES_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        for (uint32_t i = 0; i < pw_array_count(pins); i++)
                assert_int_equal(site->memory->pin(site->device, pages + pins[i].at, pins[i].bytes, true), is_gpu(site));
        if (is_gpu(site))
                assert_false(site->memory->pin(site->device, pages + (3 << 20) + 4096, 8192, true));
        check_crossing(site, pages, 0, PAGES_BYTES);
        for (uint32_t i = 0; i < 40; i++) {
                uint64_t from = below(PAGES_BYTES / 2);
                check_crossing(site, pages, from, 1 + below((uint32_t)(PAGES_BYTES - from)));
        }
        for (uint32_t i = 0; i < pw_array_count(pins); i++)
                site->memory->unpin(site->device, pages + pins[i].at, pins[i].bytes);
        is_pinned = site->memory->pin(site->device, read_only, PAGES_BYTES, false);
        assert_true(is_pinned == is_gpu(site) || it_gpus_given()); /* some hardware pins nothing that is read alone */
        pages[PAGES_BYTES - 1] = 77;
        put(site, 0, read_only, PAGES_BYTES);
        read_out(site, pages, PAGES_BYTES - 1, 1);
        assert_int_equal(pages[0], 77);
        if (is_pinned)
                site->memory->unpin(site->device, read_only, PAGES_BYTES);
        munmap(pages, PAGES_BYTES);
        munmap(read_only, PAGES_BYTES);
        close(fd);
}

static void test_pins(void **state)
{
        (void)state;
        each_memory(check_pins);
}

/* --- refusals, arenas --------------------------------------------------------------------------------------------------------- */

static void check_refusals(struct site *site)
{
        struct pw_box one = { .rank = 1, .size = { 8 } };
        struct pw_box_move move = { site->base, site->base + ROOM_BYTES, &one, &one, &one, PW_OPAQUE, false };
        struct pw_error err;

        assert_int_equal(site->memory->reduce_box(site->device, &move, PW_SUM, &err), PW_UNSUPPORTED);
        assert_non_null(strstr(err.text, "opaque"));
        assert_int_equal(site->memory->zero(site->device, site->base, 0, &err), PW_OK);
        assert_int_equal(site->memory->copy_out(site->device, NULL, site->base, 0, &err), PW_OK);
}

/* Zeroed as it is made, and the same bytes for the next who maps it. */
static void check_arena(struct site *site)
{
        uint8_t zeroes[64] = { 0 }, seen[64], again[64], *base;
        struct pw_error err;
        int fd = -1;

        if (!site->apart) {
                assert_int_equal(site->memory->make(site->device, ARENA_BYTES, &fd, &err), PW_UNSUPPORTED);
                return;
        }
        read_out(site, seen, ARENA_BYTES - sizeof seen, sizeof seen);
        assert_memory_equal(seen, zeroes, sizeof seen);
        memset(seen, 0x5a, sizeof seen);
        put(site, 4096, seen, sizeof seen);
        settle(site);
        site->memory->unmap(site->device, site->base, ARENA_BYTES);
        assert_int_equal(site->memory->map(site->device, &(struct pw_arena){ site->fd, true, ARENA_BYTES }, &site->base, &err),
                         PW_OK);
        assert_int_equal(site->memory->map(site->device, &(struct pw_arena){ site->fd, false, ARENA_BYTES }, &base, &err),
                         PW_OK);
        read_out(site, again, 4096, sizeof again);
        assert_memory_equal(again, seen, sizeof seen);
        assert_int_equal(site->memory->copy_out(site->device, again, base + 4096, sizeof again, &err), PW_OK);
        assert_memory_equal(again, seen, sizeof seen);
        site->memory->unmap(site->device, base, ARENA_BYTES);
        fd = open("/dev/null", O_RDONLY);
        assert_int_not_equal(site->memory->map(site->device, &(struct pw_arena){ fd, false, ARENA_BYTES }, &base, &err), PW_OK);
        close(fd);
}

#define REFUSED 3 /* the exit status of who tries: at once, or by the loss of the device */
__attribute__((noreturn)) static void lost_by_writing(void *context, const char *how)
{
        (void)context;
        (void)how;
        _exit(REFUSED);
}

/* In a process of its own. */
static void write_to_others(bool own)
{
        struct pw_device_params params = { .ring = no_ring, .lost = lost_by_writing };
        struct site site = { .kind = pw_device_kind("cuda") };
        struct pw_error err;

        snprintf(params.library, sizeof params.library, "%s", gpus.driver);
        if (site.kind->open(&params, &site.device, &err) != PW_OK)
                _exit(1);
        site.memory = site.kind->memory(site.device);
        if (site.memory->make(site.device, ARENA_BYTES, &site.fd, &err) != PW_OK ||
            site.memory->map(site.device, &(struct pw_arena){ site.fd, own, ARENA_BYTES }, &site.base, &err) != PW_OK)
                _exit(1);
        if (site.memory->zero(site.device, site.base, 64, &err) != PW_OK)
                _exit(REFUSED);
        settle(&site);
        _exit(0);
}

/* The memory of another GPU is there to be read. */
static void test_memory_of_others(void **state)
{
        (void)state;
        for (uint32_t own = 0; own < 2; own++) {
                pid_t pid = fork();
                int status = -1;

                if (!pid)
                        write_to_others(own);
                while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                        ;
                assert_true(WIFEXITED(status));
                assert_int_equal(WEXITSTATUS(status), own ? 0 : REFUSED);
        }
}

static void test_rest(void **state)
{
        (void)state;
        each_memory(check_refusals);
        each_memory(check_arena);
}

static int begin(void **state)
{
        (void)state;
        it_gpus_init(&gpus, "delay_us = 5\n");
        return 0;
}

static int end(void **state)
{
        (void)state;
        it_gpus_done(&gpus);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_memory_of_others),
                cmocka_unit_test(test_boxes),
                cmocka_unit_test(test_pins),
                cmocka_unit_test(test_rest),
        };

        return cmocka_run_group_tests_name("memories of devices", tests, begin, end);
}

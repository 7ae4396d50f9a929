/* Pages are given back once every executor that may have them registered has let go; what is in their place waits behind, and
 * nothing else does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/memory/backing.h"
#include "daemon/memory/worker.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES 3u
#define KIB UINT64_C(1024)

/* --- what is called ----------------------------------------------------------------------------------------------------------- */

static uint64_t asked[2 * PW_UNPIN_MOST]; /* offsets of works, as the worker was asked */
static uint32_t asked_count;

void pw_worker_ask(struct pw_worker *worker, const struct pw_memory_work *work)
{
        (void)worker;
        assert_true(work->unpinned);
        asked[asked_count++] = work->offset;
}
void pw_backing_work(struct pw_backing *backing) { backing->works++; }
void pw_backing_worked(struct pw_backing *backing) { backing->works--; }

/* --- the tests ---------------------------------------------------------------------------------------------------------------- */

struct place {
        struct pw_daemon daemon;
        struct pw_child children[DEVICES + 1];
        struct pw_device_board *boards[DEVICES];
        struct pw_backing backings[2];
};

static void *zeroed(size_t align, size_t bytes)
{
        void *memory = aligned_alloc(align, pw_round_up(bytes, align));

        assert_non_null(memory);
        return memset(memory, 0, bytes);
}

static int begin(void **state)
{
        struct place *place = calloc(1, sizeof *place);

        asked_count = 0;
        place->daemon.device_count = DEVICES;
        place->daemon.children.all = place->children;
        place->daemon.children.bells = zeroed(64, sizeof *place->daemon.children.bells);
        place->daemon.children.islands[0].board = zeroed(4096, sizeof(struct pw_island_board));
        pw_list_init(&place->daemon.memory.pinned);
        for (uint32_t i = 0; i < DEVICES; i++)
                place->boards[i] = zeroed(64, sizeof *place->boards[i]);
        for (uint32_t i = 0; i <= DEVICES; i++)
                place->children[i] = (struct pw_child){ .daemon = &place->daemon, .number = i,
                                                        .board = i < DEVICES ? place->boards[i] : NULL };
        place->backings[0].file = 10;
        place->backings[1].file = 11;
        for (uint32_t i = 0; i < DEVICES; i++)
                for (uint32_t k = 0; k < 2; k++)
                        pw_child_unpin_may(&place->daemon, i, place->backings[k].file);
        *state = place;
        return 0;
}

static int end(void **state)
{
        struct place *place = *state;

        for (uint32_t i = 0; i < DEVICES; i++) {
                pw_child_unpin_none(&place->children[i]);
                free(place->boards[i]);
        }
        free(place->daemon.children.islands[0].board);
        free(place->daemon.children.bells);
        free(place);
        return 0;
}

static enum pw_work_way ask(struct place *place, uint32_t backing, bool punch, uint64_t offset, uint64_t bytes)
{
        const struct pw_memory_work work = { .punch = punch, .backing = &place->backings[backing], .offset = offset, .bytes = bytes,
                                             .leaving = { NULL, punch ? bytes : 0 } };

        return pw_pinned_keep(&place->daemon, &work);
}

static uint64_t counter(const struct place *place, uint32_t device)
{
        return atomic_load(&place->daemon.children.islands[0].board->leaving[device]);
}

/* What the executor is told; it says that it has let go of all up to `upto`. */
static struct pw_child_unpins hear(struct place *place, uint32_t device, uint64_t upto)
{
        struct pw_child_unpins unpins = *pw_child_unpinned(&place->daemon, device, upto);

        pw_child_unpin_told(&place->daemon, device);
        pw_pinned_turn(&place->daemon);
        return unpins;
}

/* Where nobody has pins nothing waits, and nobody is asked. */
static void test_nobody(void **state)
{
        struct place *place = *state;

        assert_int_equal(ask(place, 0, true, 0, 64 * KIB), PW_WORK_NOW);
        assert_int_equal(ask(place, 0, false, 0, 64 * KIB), PW_WORK_NOW);
        for (uint32_t i = 0; i < DEVICES; i++)
                assert_int_equal(counter(place, i), 0);
}

/* Who was not given the file has none of its pages, and may be kept by anything: nobody waits for it. */
static void test_files(void **state)
{
        struct place *place = *state;

        for (uint32_t i = 0; i < DEVICES; i++)
                pw_child_unpin_none(&place->children[i]);
        atomic_store(&place->boards[0]->pins, 1);
        atomic_store(&place->boards[1]->pins, 1);
        pw_child_unpin_may(&place->daemon, 0, 11);
        pw_child_unpin_may(&place->daemon, 1, 10);
        assert_int_equal(ask(place, 1, true, 0, 4096), PW_WORK_LATER);
        assert_int_equal(counter(place, 0), 1);
        assert_int_equal(counter(place, 1), 0);
        hear(place, 0, hear(place, 0, 0).asked);
        assert_int_equal(asked_count, 1);
        pw_child_unpin_none(&place->children[0]);
        assert_int_equal(ask(place, 1, true, 0, 4096), PW_WORK_NOW);
        for (uint64_t file = 100; file < 100 + PW_UNPIN_FILES; file++) /* too many to be told apart */
                pw_child_unpin_may(&place->daemon, 1, file);
        assert_int_equal(ask(place, 1, true, 0, 4096), PW_WORK_LATER);
        assert_int_equal(counter(place, 1), 1);
        hear(place, 1, hear(place, 1, 0).asked);
}

/* One that does not answer holds back what it was asked of, and not what came later and others were asked of. */
static void test_one_is_stuck(void **state)
{
        struct place *place = *state;

        for (uint32_t i = 0; i < DEVICES; i++)
                pw_child_unpin_none(&place->children[i]);
        for (uint32_t i = 0; i < 2; i++) {
                atomic_store(&place->boards[i]->pins, 1);
                pw_child_unpin_may(&place->daemon, i, place->backings[i].file);
        }
        assert_int_equal(ask(place, 0, true, 0, 4096), PW_WORK_LATER);
        assert_int_equal(ask(place, 1, true, 8192, 4096), PW_WORK_LATER);
        hear(place, 1, hear(place, 1, 0).asked);
        assert_int_equal(asked_count, 1);
        assert_int_equal(asked[0], 8192);
        hear(place, 0, hear(place, 0, 0).asked);
        assert_int_equal(asked_count, 2);
}

/* Those who have are asked, once until they hear of it; each must answer what it has heard. */
static void test_answers(void **state)
{
        struct place *place = *state;
        struct pw_child_unpins unpins;

        atomic_store(&place->boards[0]->pins, 1);
        atomic_store(&place->boards[2]->pins, 5);
        assert_int_equal(ask(place, 0, true, 4096, 4096), PW_WORK_LATER);
        assert_int_equal(ask(place, 0, true, 8192, 4096), PW_WORK_LATER);
        assert_int_equal(ask(place, 1, true, 64 * KIB, 4096), PW_WORK_LATER);
        assert_int_equal(place->backings[0].works, 2);
        assert_true(place->backings[0].leaving_bytes == 8192);
        for (uint32_t i = 0; i < DEVICES; i++)
                assert_int_equal(counter(place, i), i != 1);
        unpins = hear(place, 0, 100); /* of nothing that it was told */
        assert_int_equal(unpins.count, 2);
        assert_true(unpins.pages[0].file == 10 && unpins.pages[0].offset == 4096 && unpins.pages[0].bytes == 8192);
        assert_true(unpins.pages[1].file == 11 && unpins.pages[1].offset == 64 * KIB);
        assert_int_equal(hear(place, 0, unpins.asked).count, 0);
        assert_int_equal(asked_count, 0);
        unpins = hear(place, 2, 0);
        assert_int_equal(ask(place, 1, true, 0, 4096), PW_WORK_LATER);
        assert_int_equal(counter(place, 0), 2);
        assert_int_equal(counter(place, 2), 2);
        hear(place, 2, unpins.asked);
        assert_int_equal(asked_count, 3);
        assert_true(asked[0] == 4096 && asked[1] == 8192 && asked[2] == 64 * KIB);
        assert_int_equal(place->backings[0].works, 0);
        assert_true(place->backings[0].leaving_bytes == 0);
        hear(place, 0, hear(place, 0, 0).asked);
        assert_int_equal(asked_count, 3);
        hear(place, 2, hear(place, 2, 0).asked);
        assert_int_equal(asked_count, 4);
}

/* What makes pages where some leave comes behind that; elsewhere, and in other memfds, it does not wait. */
static void test_behind(void **state)
{
        struct place *place = *state;
        struct pw_memory_work copy = { .backing = &place->backings[1], .from = &place->backings[0], .from_offset = 12 * KIB,
                                       .offset = 512 * KIB, .bytes = 4096 };

        atomic_store(&place->boards[1]->pins, 1);
        atomic_store(&place->boards[2]->pins, 1);
        assert_int_equal(ask(place, 0, true, 8 * KIB, 8 * KIB), PW_WORK_LATER);
        atomic_store(&place->boards[1]->pins, 0); /* it answers all the same */
        atomic_store(&place->boards[2]->pins, 0);
        assert_int_equal(ask(place, 0, false, 0, 8 * KIB), PW_WORK_NOW);
        assert_int_equal(ask(place, 0, false, 16 * KIB, 8 * KIB), PW_WORK_NOW);
        assert_int_equal(ask(place, 1, false, 8 * KIB, 8 * KIB), PW_WORK_NOW);
        assert_int_equal(ask(place, 0, false, 12 * KIB, 64 * KIB), PW_WORK_LATER);
        assert_int_equal(ask(place, 0, true, 32 * KIB, 4 * KIB), PW_WORK_LATER); /* behind that one */
        assert_int_equal(pw_pinned_keep(&place->daemon, &copy), PW_WORK_LATER);
        hear(place, 2, hear(place, 2, 0).asked);
        assert_int_equal(asked_count, 0);
        hear(place, 1, hear(place, 1, 0).asked);
        assert_int_equal(asked_count, 4);
        assert_true(asked[0] == 8 * KIB && asked[1] == 12 * KIB && asked[2] == 32 * KIB && asked[3] == 512 * KIB);
}

/* Who ends has let go of all. */
static void test_end(void **state)
{
        struct place *place = *state;

        atomic_store(&place->boards[0]->pins, 1);
        atomic_store(&place->boards[1]->pins, 1);
        assert_int_equal(ask(place, 0, true, 0, 4096), PW_WORK_LATER);
        hear(place, 0, hear(place, 0, 0).asked);
        assert_int_equal(asked_count, 0);
        pw_child_unpin_none(&place->children[DEVICES]); /* the describer has nothing */
        pw_child_unpin_none(&place->children[1]);
        pw_pinned_turn(&place->daemon);
        assert_int_equal(asked_count, 1);
        assert_int_equal(atomic_load(&place->boards[1]->pins), 0);
        assert_int_equal(hear(place, 1, 0).count, 0);
}

/* Nobody has let go of what he has not heard of. */
static void test_ahead(void **state)
{
        struct place *place = *state;

        atomic_store(&place->boards[0]->pins, 1);
        assert_int_equal(ask(place, 0, true, 0, 4096), PW_WORK_LATER);
        assert_int_equal(hear(place, 0, UINT64_MAX).count, 1);
        assert_int_equal(asked_count, 0);
        hear(place, 0, 1);
        assert_int_equal(asked_count, 1);
}

/* More than is kept is all. */
static void test_many(void **state)
{
        struct place *place = *state;
        struct pw_child_unpins unpins;

        atomic_store(&place->boards[0]->pins, 1);
        for (uint64_t i = 0; i <= PW_UNPIN_MOST; i++)
                assert_int_equal(ask(place, 0, true, i * 8192, 4096), PW_WORK_LATER);
        unpins = hear(place, 0, 0);
        assert_true(unpins.all);
        assert_false(hear(place, 0, unpins.asked).all);
        assert_int_equal(asked_count, PW_UNPIN_MOST + 1);
        assert_int_equal(ask(place, 0, true, 0, 4096), PW_WORK_LATER);
        pw_pinned_done(&place->daemon);
        assert_int_equal(place->backings[0].works, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_nobody, begin, end),
                                            cmocka_unit_test_setup_teardown(test_one_is_stuck, begin, end),
                                            cmocka_unit_test_setup_teardown(test_files, begin, end),
                                            cmocka_unit_test_setup_teardown(test_answers, begin, end),
                                            cmocka_unit_test_setup_teardown(test_behind, begin, end),
                                            cmocka_unit_test_setup_teardown(test_end, begin, end),
                                            cmocka_unit_test_setup_teardown(test_ahead, begin, end),
                                            cmocka_unit_test_setup_teardown(test_many, begin, end) };

        return cmocka_run_group_tests_name("unpin", tests, NULL, NULL);
}

/* Messages to boards: what they write, what is refused, and that nothing is believed of a run that has no record there. */
#include "daemon/board/boards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARENA 4096u
#define RECORD 512u
#define PROGRAM 7u
#define NODE 3u

/* One island with one device; a pool with a record in it, and an order. */
struct scene {
        struct pw_boards *boards;
        struct pw_island_board *board;
        struct pw_device_board *device;
        union { struct pw_run_record record; uint8_t bytes[RECORD + 256]; } pool;
        struct pw_order_item item;
};

static void open_scene(struct scene *scene)
{
        size_t bytes = offsetof(struct pw_island_board, arena) + ARENA;

        memset(scene, 0, sizeof *scene);
        scene->board = aligned_alloc(4096, bytes);
        scene->device = aligned_alloc(4096, (sizeof *scene->device + 4095) / 4096 * 4096);
        scene->boards = pw_boards_new(0);
        assert_true(scene->board && scene->device && scene->boards);
        memset(scene->board, 0, bytes);
        memset(scene->device, 0, sizeof *scene->device);
        assert_int_equal(pw_boards_island(scene->boards, 0, scene->board, bytes, NULL), PW_OK);
        assert_int_equal(pw_boards_device(scene->boards, 0, 0, scene->device, NULL), PW_OK);
        /* Numbers of two nodes that others wait for, and those of the run ahead. */
        scene->pool.record.island_count = 1;
        scene->pool.record.seqs = sizeof scene->pool.record;
        scene->pool.record.ahead_seqs = sizeof scene->pool.record + 16;
}

static void close_scene(struct scene *scene)
{
        pw_boards_free(scene->boards);
        free(scene->board);
        free(scene->device);
}

static enum pw_status apply(struct scene *scene, const struct pw_message *message, struct pw_error *ret_err)
{
        struct pw_message_pools pools = { &scene->item, scene->pool.bytes };

        return pw_boards_apply(scene->boards, message, &pools, ret_err);
}

static enum pw_status prepare(struct scene *scene, uint64_t run, uint32_t slot, uint32_t bytes, struct pw_error *ret_err)
{
        scene->pool.record.run = run;
        return apply(scene, &(struct pw_message){ .kind = PW_MSG_PREPARE, .bytes = bytes, .run = { run, slot, PROGRAM },
                                                  .image.bytes = 64 },
                     ret_err);
}

/* Order a gang of the run; what the log says of it. */
static struct pw_order order(struct scene *scene, uint64_t run, uint32_t slot, uint64_t seq)
{
        scene->item.run = run;
        scene->item.slot = slot;
        scene->item.node = NODE;
        scene->item.members = 1;
        assert_int_equal(apply(scene, &(struct pw_message){ .kind = PW_MSG_ORDER, .seq = seq, .order_count = 1, .members = 1 },
                               NULL), PW_OK);
        assert_int_equal(scene->board->head, seq);
        return scene->board->log[seq % PW_ORDER_LOG];
}

static uint64_t *record_at(const struct scene *scene, uint32_t line)
{
        return (uint64_t *)(void *)((char *)scene->board + (size_t)line * PW_LINE_BYTES);
}
static uint64_t seq_of(const struct scene *scene, uint32_t line, uint32_t offset, uint32_t slot)
{
        return record_at(scene, line)[offset / 8 + slot];
}

static void test_order(void **state)
{
        struct scene scene;
        struct pw_order first;

        (void)state;
        open_scene(&scene);
        assert_int_equal(prepare(&scene, 41, 0, RECORD, NULL), PW_OK);
        scene.item.seq_slot = 1;
        first = order(&scene, 41, 0, 1);
        assert_int_equal(first.node, NODE);
        assert_int_equal(first.members, 1);
        assert_int_equal(*record_at(&scene, first.run), 41);
        assert_int_equal(seq_of(&scene, first.run, scene.pool.record.seqs, 0), 0);
        assert_int_equal(seq_of(&scene, first.run, scene.pool.record.seqs, 1), 1);
        close_scene(&scene);
}

static void test_unknown_runs(void **state)
{
        struct scene scene;

        (void)state;
        open_scene(&scene);
        scene.item.seq_slot = PW_NO_SEQ;
        assert_int_equal(order(&scene, 41, 0, 1).members, 0);           /* nothing is prepared */
        assert_int_equal(order(&scene, 41, UINT32_MAX, 2).members, 0);
        assert_int_equal(prepare(&scene, 42, 0, RECORD, NULL), PW_OK);
        assert_int_equal(order(&scene, 41, 0, 3).members, 0);           /* it has ended, another has its slot */
        assert_int_equal(apply(&scene, &(struct pw_message){ .kind = PW_MSG_CANCEL, .run = { 41, 0, PROGRAM }, .node = 5 }, NULL),
                         PW_OK);
        assert_int_equal(((struct pw_run_record *)(void *)record_at(&scene, order(&scene, 42, 0, 4).run))->cancelled_at, 0);
        assert_int_equal(apply(&scene, &(struct pw_message){ .kind = PW_MSG_CANCEL, .run = { 42, 0, PROGRAM }, .node = 5 }, NULL),
                         PW_OK);
        assert_int_equal(((struct pw_run_record *)(void *)record_at(&scene, order(&scene, 42, 0, 5).run))->cancelled_at, 5);
        close_scene(&scene);
}

/* The numbers of a run ahead, as long as its record is there. */
static void test_behind(void **state)
{
        struct scene scene;
        struct pw_behind *behind;
        uint32_t line;

        (void)state;
        open_scene(&scene);
        assert_int_equal(prepare(&scene, 41, 0, RECORD, NULL), PW_OK);
        assert_int_equal(prepare(&scene, 42, 1, RECORD, NULL), PW_OK);
        order(&scene, 41, 0, 1); /* writes number 0 of run 41 */
        scene.item.seq_slot = PW_NO_SEQ;
        scene.item.at = RECORD;
        scene.item.behind_count = 1;
        behind = (struct pw_behind *)(void *)(scene.pool.bytes + RECORD);
        *behind = (struct pw_behind){ 40, 0, 0 }; /* the run before at that slot: it is done */
        line = order(&scene, 42, 1, 2).run;
        assert_int_equal(seq_of(&scene, line, scene.pool.record.ahead_seqs, 0), 0);
        behind->run = 41;
        line = order(&scene, 42, 1, 3).run;
        assert_int_equal(seq_of(&scene, line, scene.pool.record.ahead_seqs, 0), 1);
        close_scene(&scene);
}

static void test_refused(void **state)
{
        struct scene scene;
        struct pw_error err;

        (void)state;
        open_scene(&scene);
        assert_int_equal(prepare(&scene, 41, 0, 2 * ARENA, &err), PW_NO_SPACE);
        assert_string_equal(err.text, "the board of island 0 has no room for run 41");
        assert_int_equal(order(&scene, 41, 0, 1).members, 0);
        assert_int_equal(prepare(&scene, 42, 0, RECORD, NULL), PW_OK); /* the slot is as good as new */
        scene.pool.record.island_count = 2;
        assert_int_equal(prepare(&scene, 43, 0, RECORD, &err), PW_INVALID);
        assert_string_equal(err.text, "slot 0 has records for 1 islands, run 43 has 2");
        assert_int_equal(apply(&scene, &(struct pw_message){ .kind = PW_MSG_PREPARE, .bytes = RECORD, .run = { 44, 1, PROGRAM } },
                               &err), PW_NO_SPACE);
        assert_non_null(strstr(err.text, "no room for the program of run 44"));
        close_scene(&scene);
}

/* A record's room is the slot's for the next run, and goes with the program. */
static void test_room(void **state)
{
        struct scene scene;
        uint32_t line;

        (void)state;
        open_scene(&scene);
        scene.item.seq_slot = PW_NO_SEQ;
        assert_int_equal(prepare(&scene, 41, 0, RECORD, NULL), PW_OK);
        line = order(&scene, 41, 0, 1).run;
        assert_int_equal(prepare(&scene, 42, 0, RECORD, NULL), PW_OK);
        assert_int_equal(order(&scene, 42, 0, 2).run, line);
        for (uint32_t slot = 1; slot < ARENA / RECORD; slot++)
                assert_int_equal(prepare(&scene, 42 + slot, slot, RECORD, NULL), PW_OK);
        assert_int_equal(prepare(&scene, 60, 60, RECORD, NULL), PW_NO_SPACE);
        assert_int_equal(apply(&scene, &(struct pw_message){ .kind = PW_MSG_PROGRAM_ENDED, .run.program = PROGRAM }, NULL), PW_OK);
        for (uint32_t slot = 0; slot < ARENA / RECORD; slot++)
                assert_int_equal(prepare(&scene, 70 + slot, slot, RECORD, NULL), PW_OK);
        close_scene(&scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_order),   cmocka_unit_test(test_unknown_runs), cmocka_unit_test(test_behind),
                cmocka_unit_test(test_refused), cmocka_unit_test(test_room),
        };

        return cmocka_run_group_tests_name("boards", tests, NULL, NULL);
}

/* Boards: orders over the wrap of the log, bells that no publication gets lost on, reports. */
#include "plane/board/board.h"

#include "plane/maps_test.h"

static void test_order_over_the_wrap(void **state)
{
        struct maps maps = maps_new(pw_round_up(sizeof(struct pw_island_board), 4096));
        struct pw_island_board *board = maps.ours, *seen = maps.theirs;
        struct pw_order many[3] = { { 1, 10, 1 }, { 1, 11, 1 }, { 1, 12, 3 } };

        (void)state;
        assert_int_equal(pw_order_append(board, (struct pw_order){ 1, 9, 1 }), 1);
        assert_int_equal(atomic_load(&seen->head), 1);
        assert_int_equal(seen->log[1].node, 9);
        atomic_store(&board->head, PW_ORDER_LOG - 3);
        assert_int_equal(pw_order_append_many(board, many, 3), PW_ORDER_LOG - 2);
        assert_int_equal(atomic_load(&seen->head), PW_ORDER_LOG);
        assert_int_equal(atomic_load(&seen->written), PW_ORDER_LOG);
        assert_int_equal(seen->log[PW_ORDER_LOG - 2].node, 10);
        assert_int_equal(seen->log[PW_ORDER_LOG - 1].node, 11);
        assert_int_equal(seen->log[0].node, 12);
        assert_int_equal(seen->log[0].members, 3);
        maps_done(&maps);
}

/* One who lags is overtaken by the log: a record whose place `written` has not reached again is whole, and the one expected. */
static void *append_all(void *data)
{
        struct pw_island_board *board = data;

        for (uint32_t seq = 1; seq <= 100 * PW_ORDER_LOG; seq++)
                pw_order_append(board, (struct pw_order){ seq, seq, seq });
        return NULL;
}

static void test_lagging_reader(void **state)
{
        struct maps maps = maps_new(pw_round_up(sizeof(struct pw_island_board), 4096));
        struct pw_island_board *board = maps.ours;
        uint64_t head = 0, whole = 0;
        pthread_t thread;

        (void)state;
        assert_int_equal(pthread_create(&thread, NULL, append_all, maps.theirs), 0);
        while (head < 100 * PW_ORDER_LOG) {
                head = atomic_load(&board->head);
                for (uint64_t seq = head > PW_ORDER_LOG ? head - PW_ORDER_LOG + 1 : 1; seq <= head; seq++) {
                        volatile struct pw_order *place = &board->log[seq % PW_ORDER_LOG];
                        struct pw_order order = { place->run, place->node, place->members };
                        if (atomic_load(&board->written) >= seq + PW_ORDER_LOG)
                                continue;
                        whole++;
                        assert_int_equal(order.run, seq);
                        assert_int_equal(order.node, seq);
                        assert_int_equal(order.members, seq);
                }
        }
        assert_true(whole >= PW_ORDER_LOG);
        pthread_join(thread, NULL);
        maps_done(&maps);
}

static void test_who_is_rung(void **state)
{
        struct maps maps = maps_new(pw_round_up(sizeof(struct pw_bells), 4096));
        struct pw_bells *bells = maps.ours, *seen = maps.theirs;
        uint64_t last = UINT64_C(1) << (PW_DEVICES_MAX - 1);

        (void)state;
        atomic_store(&bells->sleepers[5].bits, 1 | 4 | last);
        pw_bells_ring(bells, &bells->sleepers[5].bits, 2 | 4 | last);
        assert_true(atomic_load(&seen->sleepers[5].bits) == 1); /* not a member: it keeps its bit */
        assert_int_equal(pw_bells_seen(seen, 0), 0);
        assert_int_equal(pw_bells_seen(seen, 1), 0); /* a member that does not sleep */
        assert_int_equal(pw_bells_seen(seen, 2), 1);
        assert_int_equal(pw_bells_seen(seen, PW_DEVICES_MAX - 1), 1);
        pw_bells_ring_one(bells, 1);
        assert_int_equal(pw_bells_seen(seen, 1), 1);
        pw_bells_sleep(bells, 1, 0, INT64_MAX); /* rung since: does not sleep */
        maps_done(&maps);
}

/* Two executors in turn wait for each other's done word, asleep each time. */
struct player {
        struct pw_bells *bells;
        struct pw_device_board *boards; /* of both */
        uint32_t self, rounds;
};

static void wait_done(struct player *player, uint32_t device, uint64_t seq)
{
        struct pw_bells *bells = player->bells;
        struct pw_device_board *board = &player->boards[device];

        while (atomic_load(&board->done.seq) < seq) {
                uint32_t seen = pw_bells_seen(bells, player->self);
                atomic_fetch_or(&bells->sleepers[device].bits, UINT64_C(1) << player->self);
                if (atomic_load(&board->done.seq) < seq)
                        pw_bells_sleep(bells, player->self, seen, INT64_MAX);
        }
}

static void *play(void *data)
{
        struct player *player = data;

        for (uint64_t seq = 1; seq <= player->rounds; seq++) {
                if (player->self)
                        wait_done(player, 0, seq);
                atomic_store(&player->boards[player->self].done.seq, seq);
                pw_bells_ring(player->bells, &player->bells->sleepers[player->self].bits, 3);
                if (!player->self)
                        wait_done(player, 1, seq);
        }
        return NULL;
}

static void test_no_lost_bell(void **state)
{
        struct maps bells = maps_new(pw_round_up(sizeof(struct pw_bells), 4096));
        struct maps boards = maps_new(pw_round_up(2 * sizeof(struct pw_device_board), 4096));
        struct player players[2] = { { bells.ours, boards.ours, 0, 5000 }, { bells.theirs, boards.theirs, 1, 5000 } };
        pthread_t thread;

        (void)state;
        assert_int_equal(pthread_create(&thread, NULL, play, &players[1]), 0);
        play(&players[0]);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&players[0].boards[1].done.seq), 5000);
        maps_done(&boards);
        maps_done(&bells);
}

struct reporter { struct pw_device_board *board; uint32_t count; };

static void *report_all(void *data)
{
        struct reporter *reporter = data;
        struct pw_report report = { .status = PW_FAILED };

        memset(report.text, 'x', sizeof report.text); /* without an end */
        for (report.run = 0; report.run < reporter->count; report.run++)
                while (!pw_report_push(reporter->board, &report))
                        sched_yield();
        return NULL;
}

static void test_reports_in_order(void **state)
{
        struct maps maps = maps_new(pw_round_up(sizeof(struct pw_device_board), 4096));
        struct pw_device_board *board = maps.ours;
        struct reporter reporter = { maps.theirs, 20000 };
        uint32_t head = UINT32_MAX - 100;
        struct pw_report report;
        pthread_t thread;

        (void)state;
        atomic_store(&board->report_tail, head);
        atomic_store(&board->report_head, head);
        assert_false(pw_report_pop(board, &head, &report));
        assert_int_equal(pthread_create(&thread, NULL, report_all, &reporter), 0);
        for (uint64_t run = 0; run < reporter.count; run++) {
                while (!pw_report_pop(board, &head, &report))
                        sched_yield();
                assert_int_equal(report.run, run);
                assert_int_equal(report.status, PW_FAILED);
                assert_int_equal(strlen(report.text), sizeof report.text - 1);
        }
        pthread_join(thread, NULL);
        assert_false(pw_report_pop(board, &head, &report));
        maps_done(&maps);
}

static void test_report_bounds(void **state)
{
        struct maps maps = maps_new(pw_round_up(sizeof(struct pw_device_board), 4096));
        struct pw_device_board *board = maps.ours;
        struct pw_report report = { 0 };
        uint32_t head = 0;

        (void)state;
        for (uint32_t i = 0; i < PW_REPORTS; i++)
                assert_true(pw_report_push(board, &report));
        assert_false(pw_report_push(board, &report));
        assert_true(pw_report_pop(board, &head, &report));
        assert_true(pw_report_push(board, &report));
        atomic_store(&board->report_tail, head + PW_REPORTS + 1); /* impossible */
        assert_false(pw_report_pop(board, &head, &report));
        assert_int_equal(head, 1);
        maps_done(&maps);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_order_over_the_wrap),
                cmocka_unit_test(test_lagging_reader),
                cmocka_unit_test(test_who_is_rung),
                cmocka_unit_test(test_no_lost_bell),
                cmocka_unit_test(test_reports_in_order),
                cmocka_unit_test(test_report_bounds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
